"""The advisor refuses what cannot be, finds a known best, and says how sure it is."""

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as asked
from typer.testing import CliRunner

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.records.advisor import configurations, machine, system
from headroom.systems.records.advisor import search as searching
from headroom.systems.records.advisor.advice import Advice, checked_space, on_cpu
from headroom.systems.records.advisor.command import app
from headroom.systems.records.advisor.configurations import (
    Configuration,
    Space,
    fits,
    footprint,
    paper_configuration,
    search_space,
    size_text,
    table_config,
)
from headroom.systems.records.advisor.question import Question, parse_mix
from headroom.systems.records.advisor.reason import CAUSES, Reason, explain, fitted_machine
from headroom.systems.records.advisor.search import Searcher, paired_ratio
from headroom.systems.records.advisor.shown import answer_text, margin_text, notes_of, reason_text
from headroom.systems.records.advisor.timing import Effort, Timing, cell_of, time_mix
from headroom.systems.records.model import ModelSetup, RecordsModel

ASKED = Question(record_bytes=64, records=2000, mix="lookup=0.5,scan=0.2,insert=0.3")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a pair"),
        ("lookup", "not a pair"),
        ("lookup=x", "the share of `lookup` is 'x'"),
        ("lookup=-1", "the share of `lookup` is '-1'"),
        ("lookup=nan", "the share of `lookup` is 'nan'"),
        ("lookup=inf", "the share of `lookup` is 'inf'"),
        ("lookup=1,lookup=2", "twice"),
        ("lookup=0", "all shares are 0"),
        ("insrt=1", "there is no operation `insrt`"),
    ],
)
def test_a_mix_that_is_none_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(StudyError, match=reason) as caught:
        parse_mix(text)
    assert caught.value.cure


@pytest.mark.parametrize("record_bytes", [8, 64, 250, 5000, 65_000, 1 << 20])
@pytest.mark.parametrize("layout", ["array", "slotted", "sorted"])
def test_every_record_has_nodes_in_every_layout(record_bytes: int, layout: str) -> None:
    question = asked(ASKED, record_bytes=record_bytes)
    space = search_space(question)
    assert fits(question, space.start(layout))
    assert fits(question, paper_configuration(space, question))


def test_sizes_of_nodes_are_those_that_hold_a_record_of_every_layout() -> None:
    """By hand: 8 B more than a record, and a node of four that is wider than all usual ones."""
    assert search_space(asked(ASKED, record_bytes=64)).nodes[:2] == [256, 512]
    found = search_space(asked(ASKED, record_bytes=250))
    assert found.nodes[0] == 512
    assert found.left_out[0] == "nodes below 512 B hold no record"
    assert search_space(asked(ASKED, record_bytes=248)).nodes[0] == 256
    wide = search_space(asked(ASKED, record_bytes=100_000))
    assert wide.nodes == [100_096, 400_128]
    assert wide.left_out[0] == "nodes below 100008 B hold no record"
    assert paper_configuration(wide, asked(ASKED, record_bytes=100_000)).node_bytes == 100_096
    assert paper_configuration(search_space(ASKED), ASKED).node_bytes == 8192


def test_a_search_steps_to_the_neighbours_that_there_are() -> None:
    space = Space(layouts=("array",), nodes=(256, 1024, 4096), indexes=(64, 256), pages=("small",))
    corner = Configuration("array", 256, 64, "small")
    sizes = {(one.node_bytes, one.index_bytes) for one in space.around(corner)}
    assert sizes == {(256, 64), (256, 256), (1024, 64), (1024, 256)}
    middle = Configuration("array", 1024, 64, "small")
    assert len([*space.around(middle)]) == 6
    every = space.all(ASKED)
    assert {one.layout for one in every} == {"array"}
    assert len(every) == 6
    assert space.start("array") == Configuration("array", 4096, 256, "small")
    for factor, count in (("node_bytes", 3), ("index_bytes", 2), ("pages", 1)):
        found = [*space.along(corner, factor)]
        fixed: dict[str, Any] = {factor: 0}
        assert (len(found), len({replace(one, **fixed) for one in found})) == (count, 1)


def test_huge_pages_are_needed_for_nodes_and_index_of_the_largest_table(tmp_path: Path) -> None:
    """Oracle: whole pages of 2 MiB for the area, and for twice the index."""
    question = asked(ASKED, records=500_000)
    needed = max(
        -(-taken["area_bytes"] // (2 << 20)) + -(-2 * taken["index_bytes"] // (2 << 20))
        for layout in ("array", "slotted", "sorted")
        for node in (256, 65536)
        for index in (64, 4096)
        if (taken := footprint(question, Configuration(layout, node, index, "huge")))
    )
    assert configurations._set_aside_needed(question, [256, 1024, 65536]) == needed
    free = tmp_path / "meminfo"
    free.write_text("HugePages_Total:  9\nHugePages_Free:     7\nHugePages_Rsvd: 0\n")
    assert configurations.free_huge_pages(free) == 7
    free.write_text("MemFree: 1 kB\n")
    assert configurations.free_huge_pages(free) == 0


def test_a_machine_is_probed_once_and_its_last_cache_says_how_large_a_table_is() -> None:
    sizes = {f"cache{number}_bytes": float(size << 20) for number, size in ((1, 1), (2, 9), (3, 0))}
    assert [machine.sweep_bytes({**sizes, "cache2_bytes": size * 2.0**20}) / 2**20
            for size in (1, 9, 99)] == [32.0, 36.0, 128.0]  # fmt: skip
    known: dict[str, Value] = {"page_bytes": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "_PROBED", SimpleNamespace(config=None))
        patch.setattr(machine, "_fitted", lambda **_: known)
        assert machine.probed_machine(is_quick=True, say=print) is known
        patch.setattr(machine, "_fitted", None)  # another probe would fail
        assert machine.probed_machine(is_quick=True, say=print) is known


def test_a_table_beyond_memory_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(EnvironmentUnfitError, match="MiB left"):
        checked_space(asked(ASKED, records=4_000_000_000, record_bytes=4096))


def test_the_allocator_has_small_pages_only_and_it_is_said(tmp_path: Path) -> None:
    space = search_space(asked(ASKED, placement="malloc"))
    assert space.pages == ["small"]
    assert any("allocator" in reason for reason in space.left_out)
    mode = tmp_path / "enabled"
    mode.write_text("always madvise [never]\n")
    without = search_space(ASKED, mode)
    assert "transparent" not in without.pages
    assert any("joins none" in reason for reason in without.left_out)


def test_an_operation_visits_exactly_the_records_that_its_share_says() -> None:
    """Oracle: ten scans of 100 of 2,000 records visit 1,000."""
    scan = cell_of(ASKED, "scan", 1000, 2)
    assert (int(scan["share"] * 2000), scan["scans"], scan["ahead"]) == (100, 10, 2)
    insert = cell_of(ASKED, "insert", 10_000, 0)
    assert int(insert["share"] * 2000) == 500
    assert cell_of(asked(ASKED, record_bytes=1 << 20), "lookup", 10_000, 1)["lookups"] == 16
    whole = cell_of(asked(ASKED, records=30), "scan", 10, 0)
    assert (int(whole["share"] * 30), whole["scans"]) == (30, 1)


def test_the_time_of_a_mix_is_the_sum_of_its_shares() -> None:
    one = Configuration("sorted", 1024, 64, "small")
    found = time_mix(ASKED, one, Effort(visits=500, rounds=1), seed=1, clock=lambda: 0.0)
    assert set(found.each_s) == set(ASKED.shares)
    total = sum(ASKED.shares[name] * taken for name, taken in found.each_s.items())
    assert found.operation_s == pytest.approx(total)
    assert found.alone_s is not None
    assert found.alone_s >= found.operation_s


Truth = Callable[[Configuration], float]


def searched(
    monkeypatch: pytest.MonkeyPatch, truth: Truth, noise: float = 0.0, time_s: float = 60.0
) -> Any:
    """Return the choice of a search on a machine whose times are known."""
    state = SimpleNamespace(now=0.0)

    def timed(_question: Question, one: Configuration, _effort: Effort, **how: Any) -> Timing:
        state.now += 0.001
        drawn = zlib.crc32(f"{one} {how['seed']}".encode()) / 2**31 - 1.0
        taken = truth(one) * (1.0 + noise * drawn)
        return Timing(operation_s=taken, each_s={"lookup": taken}, batch=16, ahead=0,
                      alone_s=3.0 * taken, build_s=0.001)  # fmt: skip

    monkeypatch.setattr(searching, "time_mix", timed)
    space = Space(layouts=("array", "slotted", "sorted"), nodes=(256, 1024, 4096, 16384),
                  indexes=(64, 256, 1024), pages=("small", "transparent"))  # fmt: skip
    searcher = Searcher(question=ASKED, space=space, time_s=time_s, sweep_bytes=1e6, seed=3,
                        clock=lambda: state.now)  # fmt: skip
    return searcher.search()


def bowl(one: Configuration) -> float:
    """Return a time (s) with one best configuration, and another for each layout."""
    layout = {"array": 1.6, "slotted": 2.0, "sorted": 1.0}[one.layout]
    best = 1024 if one.layout == "sorted" else 16384
    node = 1.0 + 0.3 * abs(best.bit_length() - one.node_bytes.bit_length()) / 2
    index = 1.0 + 0.2 * abs(one.index_bytes.bit_length() - 9) / 2
    return 1e-7 * layout * node * index * (1.5 if one.pages == "small" else 1.0)


def test_the_best_of_a_known_machine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = searched(monkeypatch, bowl)
    assert choice.best.configuration == Configuration("sorted", 1024, 256, "transparent")
    assert choice.is_clear
    assert choice.paper.ratio.value == pytest.approx(3 * 1.6 * 1.4 * 1.5 / 1.0, rel=0.3)
    assert "faster than the paper's array" in answer_text(choice)


def test_layouts_that_are_equal_are_undecided_and_not_decided_by_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choice = searched(monkeypatch, lambda _one: 1e-7, noise=0.01)
    assert not choice.is_clear
    assert {other.verdict for other in choice.others} <= {"alike", "undecided"}
    assert margin_text(choice).startswith("Undecided")


def test_who_dropped_out_of_the_race_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: against a new leader a loser was undecided again, and could win with fewer rounds."""

    def nearly_flat(one: Configuration) -> float:
        return 1e-7 * (1.0 + 0.01 * (one.node_bytes.bit_length() % 3))

    choice = searched(monkeypatch, nearly_flat, noise=0.02)
    assert len(choice.best.timings) == choice.rounds
    assert min(len(other.timings) for other in choice.others) < choice.rounds


def test_too_few_rounds_give_no_interval_and_no_verdict() -> None:
    assert paired_ratio([1.0, 2.0], [1.0, 1.0]).low is None
    clear = paired_ratio([2.0] * 8, [1.0] * 8)
    assert (clear.value, clear.low, clear.high) == pytest.approx((2.0, 2.0, 2.0))


def test_the_causes_of_a_small_table_are_not_its_memory() -> None:
    """Oracle: 500 records of 8 B fit into every cache, so that nothing comes from memory."""
    model = RecordsModel.load(ModelSetup(machine="fitted"), base=Path())
    machine = {one.name: one.default for one in model.parameters()}
    small = Question(record_bytes=8, records=500, mix="lookup=1")
    one = Configuration("array", 4096, 64, "small")
    found = explain(small, one, machine, batch=1, ahead=0, seed=1)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert set(found.shares) == set(CAUSES)
    assert (found.lines, found.tlb_misses) == (0.0, 0.0)
    large = asked(small, record_bytes=256, records=200_000)
    assert explain(large, one, machine, batch=1, ahead=0, seed=1).largest != "copies"
    allocated, slabs = (
        explain(asked(large, placement=name), one, machine, batch=1, ahead=0, seed=1)
        for name in ("malloc", "size_classes")
    )
    assert allocated == slabs


@pytest.mark.parametrize(
    ("mix", "index"),
    [("lookup=0.9,insert=0.1", "grown"), ("delete=1", "grown"),
     ("lookup=0.5,update=0.5", "full"), ("scan=1,insert=0", "full")],
)  # fmt: skip
def test_an_index_is_as_insertions_leave_it_if_records_come_and_go(mix: str, index: str) -> None:
    question = asked(ASKED, mix=mix)
    assert table_config(question, Configuration("array", 1024, 64, "small"))["index"] == index


def test_costs_of_a_search_are_found_again_and_predict_the_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Oracle: the times are those of the model on a known machine, which the fit has not seen."""
    model = RecordsModel.load(ModelSetup(machine="fitted"), base=Path())
    start = {one.name: one.default for one in model.parameters()}
    truth = {**start, "comparison_s": 2e-9, "index_node_s": 9e-9, "record_s": 6e-9}

    def taken(one: Configuration) -> float:
        return explain(ASKED, one, truth, batch=16, ahead=0, seed=1).operation_s

    choice = searched(monkeypatch, bowl)
    like = [one for one in choice.seen if one.layout == choice.best.configuration.layout]
    timings = {}
    for one in like:
        each = {
            name: explain(asked(ASKED, mix=f"{name}=1"), one, truth, batch=16, ahead=0,
                          seed=1).operation_s for name in ASKED.shares
        }  # fmt: skip
        timings[one] = Timing(operation_s=taken(one), each_s=each, batch=16, ahead=0, alone_s=None,
                              build_s=0.0)  # fmt: skip
    choice = replace(choice, seen=timings, others=[], paper=None, sweep_records=2000)
    fitted = fitted_machine(choice, start, seed=1)
    best = choice.best.configuration
    found = explain(ASKED, best, fitted, batch=16, ahead=0, seed=1)
    assert found.operation_s == pytest.approx(taken(best), rel=0.05)
    unfitted = explain(ASKED, best, start, batch=16, ahead=0, seed=1)
    assert unfitted.operation_s != pytest.approx(taken(best), rel=0.2)


def test_a_configuration_without_memory_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cause: huge pages that another program took in the meantime ended the whole search."""

    def truth(one: Configuration) -> float:
        if one.pages == "transparent":
            raise EnvironmentUnfitError("no memory", cure="free some")
        return bowl(one)

    choice = searched(monkeypatch, truth)
    assert choice.best.configuration == Configuration("sorted", 1024, 256, "small")
    assert set(choice.refused) == {"no memory"}
    noted = list(notes_of(Advice(choice=choice, reason=None)))
    assert noted == [f"left out: no memory, and {len(choice.refused) - 1} more"]

    def nothing(_one: Configuration) -> float:
        raise EnvironmentUnfitError("no memory", cure="free some")

    with pytest.raises(EnvironmentUnfitError, match="no memory"):
        searched(monkeypatch, nothing)


def test_a_short_search_has_fewer_finalists(monkeypatch: pytest.MonkeyPatch) -> None:
    def many(_one: Configuration) -> float:
        return 1e-7

    assert len(searched(monkeypatch, many).others) == searching.MOST_FINALISTS - 1
    assert len(searched(monkeypatch, many, time_s=0.09).others) < searching.MOST_FINALISTS - 1


def test_a_model_that_is_far_off_is_called_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = searched(monkeypatch, bowl)
    shares = dict.fromkeys(CAUSES, 0.1) | {"tlbs": 0.6}
    taken = choice.best.operation_s
    for modelled, is_hint in ((1.1 * taken, False), (3.0 * taken, True), (0.2 * taken, True)):
        reason = Reason(shares=shares, operation_s=modelled, lines=1.0, tlb_misses=2.0)
        text = reason_text(Advice(choice=choice, reason=reason))
        assert "60% of the time goes to misses of the TLBs, 10% to" in text
        assert "a model predicts" in text
        assert ("take it as a hint" in text) is is_hint


def test_a_processor_that_is_not_ours_is_refused() -> None:
    with pytest.raises(EnvironmentUnfitError, match="may not use processor"), on_cpu(100_000):
        pass


@pytest.mark.deep
def test_the_command_prints_its_answer_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ["advise", "--records", "3000", "--time", "2", "--quick", "--quiet"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "an operation" in done.stdout
    assert "Timed" in done.stdout


def test_the_document_holds_choice_rivals_and_everything_that_was_timed() -> None:
    arguments = [
        "advise",
        "--records",
        "2e3",
        "--mix",
        "update=1",
        "--time",
        "2",
        "--quick",
        "--json",
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)["content"]
    assert content["choice"]["ratio"] == 1.0
    assert len(content["choice"]["rounds_s"]) == content["rounds"]
    assert min(one["operation_s"] for one in content["seen"]) == content["seen"][0]["operation_s"]
    assert content["question"]["records"] == 2000


@pytest.mark.parametrize("text", ["0", "1.5", "many", "1e12", "nan"])
def test_a_number_of_records_that_is_none_is_refused(text: str) -> None:
    done = CliRunner().invoke(app, ["advise", "--records", text])
    assert isinstance(done.exception, StudyError)
    assert f"`--records {text}`" in done.exception.message


def loaded(**setup: Any) -> tuple[system.RecordsAdvisor, dict[str, Value]]:
    """Return the advisor with the defaults of its parameters."""
    advisor = system.RecordsAdvisor.load(system.AdvisorSetup(**setup), base=Path())
    return advisor, {p.name: p.default for p in advisor.parameters() if p.default is not None}


@pytest.mark.deep
def test_a_search_notes_its_choice_as_a_user_sets_it() -> None:
    advisor, config = loaded(seconds=1.0, quick=True)
    found = advisor.run({**config, "records": 2000}, seed=1)
    (chose,) = (note for note in found.notes if note.startswith("chose "))
    size = size_text(int(found.values["chosen_node_bytes"]))
    assert f" nodes of {size}, index nodes of " in chose
    assert "an operation" not in chose
    assert set(found.values) <= {metric.name for metric in advisor.metrics(config)}
