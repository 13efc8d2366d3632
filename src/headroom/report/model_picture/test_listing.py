"""The listing contains everything that determines the behaviour of a model."""

import json

from headroom.report.model_picture import list_model
from headroom.simulation import Model, canonical_json, discrete, exponential, schedule


def test_the_listing_hides_nothing_that_a_run_depends_on() -> None:
    """Cause: policies, routes, pauses, repairs, counts and starts were kept back."""
    model = Model("shop", time_unit="ms")
    cpu, disk = model.station("cpu", buffer=3), model.station("disk")
    model.breakdowns(disk, time_to_failure=exponential(1000), repair=exponential(10), unit="each")
    size = model.attribute("size")
    program = model.program("visit")
    program.set(size, discrete([1, 10], weights=[9, 1]))
    program.use_one_of([cpu, disk], size * 2, policy="two_choices")
    with program.branch("hash", by=size) as branch, branch.case():
        program.delay(1)
    with program.attempt(timeout=5, tries=2, pause=exponential(3)) as attempt, attempt.work():
        program.use(disk, 1)
    with program.network() as net:
        with net.node("a", to={"b": 0.25, net.leave: 0.75}):
            program.use(cpu, 1, reserve=False)
        with net.node("b", to=net.leave):
            program.delay(2)
    model.closed_class("users", program, population=9, start="ready", placed={disk: 2})
    model.late_after("users", 2.5)
    listing = list_model(json.loads(canonical_json(model)))
    for words in (
        "late\n  users after 2.5 ms",
        "3 may wait, else blocks",
        "each server fails after 1 s; repaired in 10 ms",
        "ready at first",
        "2 at disk at first",
        "first 0\n",
        "set size to 1.9 discrete",
        "branch, shortest of 2 drawn queues",
        "use cpu for (size \N{MULTIPLICATION SIGN} 2) ms",
        "branch, hash of size",
        "attempt, 2 tries, at most 5 ms, pause 3 ms exponential, then lost",
        "node a; then to b with probability 0.25, out with probability 0.75",
    ):
        assert words in listing, words


def test_a_mix_is_told_with_the_share_of_each_class() -> None:
    model = Model("shop", time_unit="ms")
    look, buy = model.program("look"), model.program("buy")
    look.delay(1)
    buy.delay(2)
    members = {"looking": (look, 3), "buying": (buy, 1)}
    model.closed_mix("users", members, population=7, think=9, priorities={"buying": 2})
    lines = list_model(model.to_data()).splitlines()
    assert lines[1:3] == [
        "mixes",
        "  mix users; 7 jobs; think 9 ms; each walk drawn by chance; 75% looking, walks look; "
        "25% buying, walks buy, priority 2",
    ]


def test_what_changes_and_who_loses_patience_is_said() -> None:
    model = Model("centre", time_unit="s")
    day = schedule([(0, 2), (8, 6)], period=24)
    desk = model.station("desk", servers=day)
    pool = model.pool("lines", tokens=schedule([(0, 3), (9, 5)]))
    cpu = model.station("cpu")
    call, scale = model.program("call"), model.program("scale")
    with call.holding(pool, patience=4):
        call.use(desk, exponential(5), patience=exponential(30))
        call.use(cpu, 1)
    scale.set_speed(cpu, model.jobs(cpu) + 1)
    model.controller("governor", scale, every=10)
    model.open_class("callers", call, interarrival=exponential(9))
    listing = list_model(json.loads(canonical_json(model)))
    for words in (
        "desk; 2 to 6 servers by schedule, every 24 s; patience 30 s",
        "lines; 3 to 5 tokens by schedule; patience 4 s",
        "cpu; 1 server; speed set by scale",
        "governor; every 10 s; walks scale",
        "use desk for 5 s exponential, patience 30 s exponential",
        "acquire lines, patience 4 s",
        "set speed of cpu to ",
    ):
        assert words in listing, f"{words} is not in\n{listing}"
