"""Both formats, and what each part of a layered network becomes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.lqn import read_lqn
from headroom.simulation import (
    Model,
    constant,
    expected_visits,
    exponential,
    gamma,
    geometric,
    hyperexponential,
    model_data,
)
from headroom.simulation.language.stations import COUNTING

XML = """<?xml version="1.0"?>
<lqn-model name="shop">
  <solver-params comment="a shop" conv_val="1e-05" it_limit="50"/>
  <processor name="desk" scheduling="inf">
    <result-processor utilization="1"/>
    <task name="users" scheduling="ref" multiplicity="10" think-time="2">
      <entry name="browse" type="PH1PH2">
        <entry-phase-activities>
          <activity name="browse_1" phase="1" host-demand-mean="0.5" host-demand-cvsq="0">
            <synch-call dest="page" calls-mean="1.5"/>
            <asynch-call dest="note" calls-mean="0.5"/>
          </activity>
        </entry-phase-activities>
      </entry>
    </task>
  </processor>
  <processor name="cpu" scheduling="ps" multiplicity="2" speed-factor="2" quantum="0.001">
    <task name="web" multiplicity="4">
      <entry name="page" type="NONE"/>
      <entry name="note" type="PH1PH2">
        <entry-phase-activities>
          <activity name="note_1" phase="1" host-demand-mean="0.02" host-demand-cvsq="4"/>
        </entry-phase-activities>
      </entry>
      <task-activities>
        <activity name="parse" bound-to-entry="page" host-demand-mean="0.1" think-time="0.3"/>
        <activity name="hit" host-demand-mean="0.2" host-demand-cvsq="0.4"/>
        <activity name="miss" host-demand-mean="0.4" call-order="DETERMINISTIC">
          <synch-call dest="get" calls-mean="1"/>
        </activity>
        <activity name="log" host-demand-mean="0.02"/>
        <precedence><pre><activity name="parse"/></pre>
          <post-OR><activity name="hit" prob="0.7"/><activity name="miss" prob="0.3"/></post-OR>
        </precedence>
        <precedence><pre-OR><activity name="hit"/><activity name="miss"/></pre-OR>
          <post><activity name="log"/></post></precedence>
        <reply-entry name="page">
          <reply-activity name="hit"/><reply-activity name="miss"/>
        </reply-entry>
      </task-activities>
    </task>
  </processor>
  <processor name="disk">
    <task name="db"><entry name="get" type="PH1PH2"><entry-phase-activities>
      <activity name="get_1" phase="1" host-demand-mean="0.1"/>
      <activity name="get_2" phase="2" host-demand-mean="0.3"/>
    </entry-phase-activities></entry></task>
  </processor>
</lqn-model>
"""
TEXT = """# the same shop
$users = 10
G "" 1e-05 50 10 0.9 -1
P 3
  p desk i
  p cpu s 0.001 m 2 R 2
  p disk f
-1
T 3
  t users r browse -1 desk z 2 m $users
  t web n page note -1 cpu m 4
  t db n get -1 disk
-1
E 4
  s browse 0.5 -1
  c browse 0 -1
  y browse page 1.5 -1
  z browse note 0.5 -1
  A page parse
  s note 0.02 -1
  c note 4 -1
  s get 0.1 0.3 -1
-1
A web
  s parse 0.1   Z parse 0.3
  s hit 0.2     c hit 0.4
  s miss 0.4    f miss 1    y miss get 1
  s log 0.02
:
  parse -> (0.7)hit + (0.3)miss;
  hit[page] + miss[page] -> log
-1
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Model]:
    def reading(text: str, name: str = "shop.lqn") -> Model:
        path = tmp_path / name
        path.write_text(text)
        return read_lqn(path)

    return reading


def shop() -> Model:
    """Return the model that the files mean."""
    model = Model("shop", time_unit="s")
    desk = model.station("desk", discipline="infinite")
    cpu = model.station("cpu", servers=2, discipline="ps")
    disk = model.station("disk")
    browse, page, note, get = map(model.program, ("browse", "page", "note", "get"))
    browse.use(desk, constant(0.5 / 3))
    with browse.loop(geometric(2, low=0)):
        with browse.branch() as branch:
            with branch.case(0.75):
                browse.call(page)
            with branch.case(0.25):
                browse.start(note)
        browse.use(desk, constant(0.5 / 3))
    model.closed_class("users", browse, population=10, think=exponential(2))
    threads, pages = model.pool("web", tokens=4), model.pool("page", tokens=COUNTING)
    page.acquire(threads)
    page.acquire(pages)
    page.delay(exponential(0.3))
    page.use(cpu, exponential(0.05))
    with page.branch() as branch:
        with branch.case(0.7):
            page.use(cpu, gamma(0.1, 0.4))
            page.reply()
            page.use(cpu, exponential(0.01))
        with branch.case(0.3):
            page.use(cpu, exponential(0.1))
            page.call(get)
            page.use(cpu, exponential(0.1))
            page.reply()
            page.use(cpu, exponential(0.01))
    page.release(pages)
    page.release(threads)
    notes = model.pool("note", tokens=COUNTING)
    note.acquire(threads)
    note.acquire(notes)
    note.use(cpu, hyperexponential(0.01, 4))
    note.release(notes)
    note.release(threads)
    thread = model.pool("db", tokens=1)
    get.acquire(thread)
    get.use(disk, exponential(0.1))
    get.reply()
    get.use(disk, exponential(0.3))
    get.release(thread)
    return model


def test_each_part_of_a_network_is_a_part_of_a_model(read: Callable[..., Model]) -> None:
    assert model_data(read(XML, "shop.lqnx")) == model_data(shop())


def test_both_formats_say_the_same(read: Callable[..., Model]) -> None:
    assert model_data(read(TEXT)) == model_data(read(XML, "shop.lqnx"))


def test_messages_of_the_model_speak_of_the_file(read: Callable[..., Model]) -> None:
    model = read(TEXT)
    assert model.pools["db"].location.endswith("shop.lqn:12")
    assert model.programs["get"].steps[1].location.endswith("shop.lqn:22")


def test_short_times_are_counted_in_a_smaller_unit(read: Callable[..., Model]) -> None:
    model = read(TEXT.replace("s log 0.02", "s log 0.00002"))
    assert model.time_unit == "ms"
    long = TEXT.replace("s log 0.02", "s log 0.00002").replace("desk z 2", "desk z 20000")
    assert read(long).time_unit == "s"  # runs would pass the end of a clock of milliseconds
    assert expected_visits(model).demands["users"]["desk"] == pytest.approx(500.0)


def test_branches_may_join_late_or_never(read: Callable[..., Model]) -> None:
    """An or-join of three branches after a choice in a choice: each path has its own demand."""
    text = TEXT.replace(
        "parse -> (0.7)hit + (0.3)miss;",
        "parse -> (0.5)hit + (0.5)more; more -> (0.4)hit + (0.6)miss;",
    ).replace("s log 0.02", "s log 0.02 s more 0")
    demands = expected_visits(read(text)).demands["users"]
    # Half of 0.1 of parse, and per page 0.7 hits, 0.3 misses of twice 0.1, log, and the notes.
    assert demands["cpu"] == pytest.approx(1.5 * (0.05 + 0.07 + 0.06 + 0.01) + 0.5 * 0.01)


def test_a_task_without_limit_is_counted_and_an_idle_processor_is_no_station(
    read: Callable[..., Model],
) -> None:
    model = read("""
        P 3 p a i p b f p c f -1
        T 3 t u r e -1 a t s i f -1 b t n n g -1 c -1
        E 3 s e 1 -1 y e f 1 -1 s f 1 -1 y f g 1 -1 s g 0 -1 -1
        """)
    assert list(model.stations) == ["a", "b"]
    assert {name: one.tokens for name, one in model.pools.items()} == {"s": COUNTING, "n": 1}


def test_what_nothing_calls_is_left_out(read: Callable[..., Model]) -> None:
    model = read("""
        P 2 p a i p b f -1
        T 3 t u r e -1 a t n n f g -1 b t idle n h -1 b -1
        E 4 s e 1 -1 y e f 1 -1 s f 1 -1 s g 1 -1 y g h 1 -1 s h 1 -1 -1
        """)
    assert (list(model.programs), list(model.pools)) == (["e", "f"], ["n"])
