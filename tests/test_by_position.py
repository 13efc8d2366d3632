"""Stations that serve by position: seek distances against formulas, and every option with them.

The formulas are for `waiting` requests at random places of a track of length 1; each served request
immediately asks for another random place. So for each request served a new one arrives, uniformly
over all places, and a place collects requests in proportion to the time, counted in requests, since
the head was there.

*One way* (C-LOOK): a place is visited once per round. Of N requests per round, those ahead of the
head at a distance d arrived within the last 1 - d rounds, so N (1 - d) wait there: N / 2 in all. A
round goes up and back, 2 / N = 1 / waiting for each request.

*Both ways* (LOOK): let c(h) requests be served on the way up to h, N of them up to the top. At h
the head finds the requests that arrived since it was there on the way down, c' = c(h) + N - c(1 -
h), so c = N h^2, and a place waits 2 N h on one side and 2 N (1 - h) on the other: 2 N / 3 in all.
One way has length 1: 2 / (3 waiting) for each request.
"""

from collections.abc import Callable

import pytest

from headroom.jmt import jsimg_text
from headroom.simulation import (
    Model,
    SimulationError,
    constant,
    exponential,
    simulate,
    uniform,
)
from headroom.simulation.checks.remarks import remarks
from headroom.simulation.language.stations import BY_POSITION, Discipline
from headroom.solvers import solve

DISCIPLINES = sorted(BY_POSITION)
MANY = 400
BEGIN_SERVICE = 3


def seek(discipline: Discipline, waiting: int, *, requests: int = 40_000) -> float:
    """Return the mean distance to the next request, with `waiting` requests in the queue."""
    model = Model("disk", time_unit="s")
    arm = model.mechanism("arm", kind="arm", parameters={"speed": 1})
    place = model.attribute("place")
    position = None if discipline == "fcfs" else place
    disk = model.station("disk", discipline=discipline, position=position)
    request = model.program("request")
    request.set(place, uniform(0, 1))
    request.use(disk, arm.call("travel", place))
    model.closed_class("readers", request, population=waiting + 1)
    result = simulate(model, seed=2, completions=requests)
    return float(result.snapshot_times_s[-1]) / requests


@pytest.mark.parametrize("discipline", ["fcfs", *DISCIPLINES])
def test_without_a_choice_the_head_goes_a_third_of_the_way(discipline: Discipline) -> None:
    """Oracle: two independent places are 1/3 apart; with one waiting request there is no choice."""
    assert seek(discipline, 1) == pytest.approx(1 / 3, rel=0.02)


def test_in_order_of_arrival_a_longer_line_does_not_help() -> None:
    assert seek("fcfs", 50) == pytest.approx(1 / 3, rel=0.02)


def test_one_way_the_seek_distance_falls_as_one_by_those_waiting() -> None:
    assert seek("elevator", MANY) == pytest.approx(1 / MANY, rel=0.02)


def test_both_ways_the_seek_distance_is_a_third_shorter() -> None:
    assert seek("elevator_two_way", MANY) == pytest.approx(2 / (3 * MANY), rel=0.02)


def test_the_nearest_request_is_nearer_than_the_next_one_of_an_elevator() -> None:
    distances = [seek(one, 20) for one in ("nearest", "elevator", "fcfs")]
    assert distances == sorted(distances)


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_an_order_that_does_not_know_the_service_times_keeps_the_mean(
    discipline: Discipline,
) -> None:
    """Oracle: M/M/1 with load 0.8 has R = 1 / (1 - 0.8) mean service times in any such order."""
    model = Model("order", time_unit="s")
    server = model.station("server", discipline=discipline, position=uniform(0, 1))
    visit = model.program("visit")
    visit.use(server, exponential(0.8))
    model.open_class("jobs", visit, interarrival=exponential(1))
    columns = simulate(model, seed=3, completions=400_000).classes.columns
    response_s = columns["response_s_sum"][-1, 0] / columns["completion_count"][-1, 0]
    assert response_s == pytest.approx(4.0, rel=0.04)


def trace_of(discipline: Discipline, places: list[float]) -> list[float]:
    """Return the places in the order in which they are served; all but the first wait for it."""
    model = Model("disk", time_unit="s")
    place = model.attribute("place")
    disk = model.station("disk", discipline=discipline, position=place)
    for number, where in enumerate(places):
        program = model.program(f"{number}")
        program.delay(0.1 * number)
        program.set(place, where)
        program.use(disk, 100)
        program.delay(1e6)
        model.closed_class(f"{number}", program, population=1, start="ready")
    result = simulate(model, seed=1, time=1000, trace=1000)
    assert result.trace is not None
    begun = result.trace.klass[result.trace.kind == BEGIN_SERVICE]
    return [places[int(one)] for one in begun]


@pytest.mark.parametrize(
    ("discipline", "order"),
    [
        ("elevator", [50, 60, 90, 10, 40, 45]),
        ("elevator_two_way", [50, 60, 90, 45, 40, 10]),
        ("nearest", [50, 45, 40, 60, 90, 10]),
    ],
)
def test_the_head_goes_as_the_textbook_says(discipline: Discipline, order: list[float]) -> None:
    assert trace_of(discipline, [50, 90, 10, 60, 40, 45]) == order


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_all_options_of_a_station_go_together_with_positions(discipline: Discipline) -> None:
    """The kernel checks Little's law and all counts at the end of the run."""
    model = Model("disks", time_unit="ms")
    place = model.attribute("place")
    disks = model.station(
        "disks", servers=2, discipline=discipline, position=place - 10, speeds=[1, 2], buffer=3
    )
    tape = model.station(
        "tape", discipline=discipline, position=place, batch=(1, 3), buffer=2, when_full="reject"
    )
    model.breakdowns(disks, time_to_failure=exponential(50), repair=exponential(5), unit="each")
    request = model.program("request")
    request.set(place, uniform(0, 20))
    with request.attempt(timeout=exponential(20), tries=2) as attempt:
        with attempt.work():
            request.use(disks, exponential(2))
        with attempt.failed():
            request.delay(1)
    with request.attempt() as attempt:
        with attempt.work():
            request.use(tape, exponential(3))
        with attempt.failed():
            request.delay(1)
    model.closed_class("users", request, population=9, placed={})
    result = simulate(model, seed=5, completions=20_000)
    assert result.stations.columns["abandon_count"][-1].sum() > 0
    assert result.stations.columns["reject_count"][-1].sum() > 0
    assert result.stations.columns["down_s"][-1].sum() > 0


def test_jobs_that_are_placed_at_a_station_know_their_position() -> None:
    model = Model("disk", time_unit="s")
    arm = model.mechanism("arm", kind="arm", parameters={"start": 1})
    place = model.attribute("place", initial=7)
    disk = model.station("disk", discipline="elevator", position=arm.call("distance", place))
    request = model.program("request")
    request.use(disk, arm.call("position"))
    model.closed_class("readers", request, population=1, placed={disk: 1})
    assert simulate(model, seed=1, completions=3).snapshot_times_s[-1] == 3 * 7


def disk(discipline: Discipline = "elevator") -> Model:
    model = Model("disk", time_unit="ms")
    place = model.attribute("place")
    request = model.program("request")
    request.use(model.station("disk", discipline=discipline, position=place), exponential(5))
    model.closed_class("readers", request, population=4)
    return model


def test_a_position_that_nobody_sets_is_remarked_upon() -> None:
    assert any("attribute 'place' is never set" in remark for remark in remarks(disk()))


def test_formulas_take_an_elevator_for_any_order_and_say_so() -> None:
    answer = solve(disk())
    assert not answer.is_exact
    assert any("serves by the position of jobs" in reason for reason in answer.reasons)


def test_jmt_is_told_of_no_elevator() -> None:
    with pytest.raises(SimulationError, match=r"test_by_position.py:\d+: station 'disk' serves by"):
        jsimg_text(disk())


def without_place(model: Model) -> object:
    return model.station("disk", discipline="elevator")


def place_in_vain(model: Model) -> object:
    return model.station("disk", position=3)


def no_place(model: Model) -> object:
    return model.station("disk", discipline="nearest", position="here")  # type: ignore[arg-type]


def place_of_another(model: Model) -> object:
    return model.station("disk", discipline="elevator", position=Model("b").attribute("place"))


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (without_place, "has no positions of jobs"),
        (place_in_vain, "but its discipline is fcfs"),
        (no_place, "cannot compute with 'here'"),
        (place_of_another, "refers to another model"),
    ],
)
def test_a_position_that_makes_no_sense_is_refused(
    write: Callable[[Model], object], why: str
) -> None:
    with pytest.raises(SimulationError, match=rf"test_by_position.py:\d+: .*{why}"):
        write(Model("disk"))


def test_a_position_that_is_no_number_ends_the_run_with_its_line() -> None:
    model = Model("disk", time_unit="ms")
    place = model.attribute("place", initial=1)
    request = model.program("request")
    request.use(model.station("disk", discipline="elevator", position=place % 0), constant(1))
    model.closed_class("readers", request, population=1)
    with pytest.raises(
        SimulationError, match=r"\d+: .*the position at station 'disk' was computed"
    ):
        simulate(model, seed=1)
