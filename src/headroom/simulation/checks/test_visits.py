"""Quantities known without running: visits, demands, loads, overload.

The oracles are traffic equations solved by hand and Little's law.
"""

import pytest

from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    constant,
    discrete,
    exponential,
    uniform,
)
from headroom.simulation.checks.capacity import offered_loads
from headroom.simulation.checks.check import refuse_overload
from headroom.simulation.checks.visits import expected_visits


def one_class(model: Model, program: Program, *, interarrival: float = 1000.0) -> Model:
    model.open_class("jobs", program, interarrival=exponential(interarrival))
    return model


def counts(model: Model) -> dict[str, float]:
    return dict(expected_visits(model).counts["jobs"])


def test_probabilities_loops_and_calls_multiply() -> None:
    model = Model("product")
    cpu, disk = model.station("cpu"), model.station("disk")
    inner, program = model.program("inner"), model.program("p")
    with inner.loop(discrete([1, 3], weights=[1, 1])):
        inner.use(disk, 2)
    with program.loop(4), program.branch() as branch:
        with branch.case(0.25):
            program.call(inner)
        with branch.otherwise():
            program.use(cpu, exponential(3))
    one_class(model, program)
    assert counts(model) == {"cpu": 3.0, "disk": 2.0}
    assert expected_visits(model).demands["jobs"] == {"cpu": 9.0, "disk": 4.0}
    assert expected_visits(model).is_exact == {"jobs": True}


def test_a_network_is_solved_as_traffic_equations() -> None:
    """v1 = 1 + 0.2 v1 + 0.5 v2, v2 = 0.7 v1 + 0.1 v2 by hand: v1 = 90/37, v2 = 70/37."""
    model = Model("jackson")
    cpu, disk = model.station("cpu"), model.station("disk")
    program = model.program("p")
    with program.network() as net:
        with net.node("one", to={"one": 0.2, "two": 0.7, net.leave: 0.1}):
            program.use(cpu, 1)
        with net.node("two", to={"two": 0.1, "one": 0.5, net.leave: 0.4}):
            program.use(disk, 1)
    one_class(model, program)
    assert counts(model) == pytest.approx({"cpu": 90 / 37, "disk": 70 / 37})


def test_round_robin_is_exact_and_queues_are_shared_equally() -> None:
    model = Model("shares")
    stations = [model.station(name) for name in "abcd"]
    program = model.program("p")
    program.use_one_of(stations, 1, policy="round_robin")
    one_class(model, program)
    assert counts(model) == dict.fromkeys("abcd", 0.25)
    assert expected_visits(model).is_exact["jobs"]
    program.use_one_of(stations, 1, policy="shortest_queue")
    assert counts(model) == dict.fromkeys("abcd", 0.5)
    assert not expected_visits(model).is_exact["jobs"]
    assert expected_visits(model).groups == (frozenset("abcd"),)


def test_a_condition_counts_what_every_case_has() -> None:
    model = Model("conditions")
    cpu, disk, x = model.station("cpu"), model.station("disk"), model.attribute("x")
    program = model.program("p")
    program.set(x, exponential(1))
    with program.branch() as branch:
        with branch.when(x > 1):
            program.use(cpu, 5)
            program.use(disk, 1)
        with branch.otherwise():
            program.use(cpu, 3)
    one_class(model, program)
    assert counts(model) == {"cpu": 1.0}
    assert expected_visits(model).demands["jobs"] == {"cpu": 3.0}
    assert not expected_visits(model).is_exact["jobs"]


def test_attributes_are_known_where_they_were_set() -> None:
    model = Model("sizes")
    disk, size, fixed = model.station("disk"), model.attribute("size"), model.attribute("fixed")
    program = model.program("p")
    program.set(size, uniform(2, 6))
    program.set(size, size * 2 + 1)
    program.use(disk, size * 0.5 + fixed)
    one_class(model, program)
    assert expected_visits(model).demands["jobs"] == {"disk": 4.5}
    assert expected_visits(model).is_exact["jobs"]


def test_an_attribute_that_a_condition_chose_by_is_no_longer_known() -> None:
    """If x > 9 the mean of x is not that of all jobs; after the branch it is again."""
    model = Model("selection")
    cpu, x = model.station("cpu"), model.attribute("x")
    program = model.program("p")
    program.set(x, exponential(1))
    with program.branch() as branch:
        with branch.when(x > 9):
            program.use(cpu, x)
        with branch.otherwise():
            program.use(cpu, x)
    one_class(model, program)
    assert expected_visits(model).demands["jobs"] == {}
    program.use(cpu, x)
    assert expected_visits(model).demands["jobs"] == {"cpu": 1.0}


def test_an_attribute_that_a_loop_changes_is_not_known_inside() -> None:
    model = Model("growth")
    cpu, x = model.station("cpu"), model.attribute("x", initial=1)
    program = model.program("p")
    program.set(x, 1)
    with program.loop(3):
        program.use(cpu, x)
        program.set(x, x * 2)
    one_class(model, program)
    assert counts(model) == {"cpu": 3.0}
    assert expected_visits(model).demands["jobs"] == {"cpu": 0.0}


def test_jobs_that_are_started_count_for_who_started_them() -> None:
    """Each job starts another of its kind with probability 1/2: two walks in all."""
    model = Model("cascade")
    cpu = model.station("cpu")
    program = model.program("p")
    program.use(cpu, 1)
    with program.branch() as branch:
        with branch.case(0.5):
            program.start(program)
        with branch.otherwise():
            pass
    one_class(model, program)
    assert counts(model) == pytest.approx({"cpu": 2.0})


def test_jobs_that_multiply_without_end_are_refused() -> None:
    model = Model("explosion")
    program = model.program("p")
    program.delay(1)
    program.start(program)
    one_class(model, program)
    with pytest.raises(SimulationError, match="jobs multiply without end") as caught:
        expected_visits(model)
    assert "test_visits.py:" in caught.value.message


def test_a_rejecting_station_may_end_the_way() -> None:
    model = Model("loss")
    full, cpu = model.station("full", buffer=0, when_full="reject"), model.station("cpu")
    program = model.program("p")
    program.use(full, 5)
    program.use(cpu, 1)
    one_class(model, program, interarrival=1)
    assert counts(model) == {"full": 1.0}
    refuse_overload(model)


def test_a_time_out_may_end_the_work_but_not_what_follows() -> None:
    model = Model("impatient")
    cpu, disk = model.station("cpu"), model.station("disk")
    program = model.program("p")
    with program.attempt(timeout=1) as attempt:
        with attempt.work():
            program.use(cpu, 5)
        with attempt.failed():
            pass
    program.use(disk, 1)
    one_class(model, program)
    assert counts(model) == {"disk": 1.0}


def test_who_fails_with_the_last_try_needs_nothing_that_follows() -> None:
    model = Model("impatient")
    cpu, disk = model.station("cpu"), model.station("disk")
    program = model.program("p")
    with program.attempt(timeout=1) as attempt, attempt.work():
        program.use(cpu, 5)
    program.use(disk, 1)
    one_class(model, program)
    found = expected_visits(model)
    assert (found.counts["jobs"], found.may_be_lost["jobs"]) == ({}, True)


def test_loads_take_speeds_batches_breakdowns_and_infinity_into_account() -> None:
    model = Model("loads")
    fast = model.station("fast", servers=2, speeds=[1, 3])
    bus = model.station("bus", batch=(1, 5))
    frail = model.station("frail")
    cloud = model.station("cloud", discipline="infinite")
    model.breakdowns(frail, time_to_failure=exponential(30), repair=10)
    program = model.program("p")
    for station in (fast, bus, frail, cloud):
        program.use(station, 6)
    model.open_class("jobs", program, interarrival=exponential(20), batch=2)
    assert offered_loads(model) == pytest.approx(
        {"fast": 0.15, "bus": 0.12, "frail": 0.8, "cloud": 0.0}
    )


@pytest.mark.parametrize(("interarrival", "is_refused"), [(2.4, True), (2.6, False)])
def test_a_choice_by_queue_is_refused_when_no_split_has_room(
    *, interarrival: float, is_refused: bool
) -> None:
    """Four servers of 10 ms: an arrival each 2.5 ms fills them all."""
    model = Model("farm")
    servers = [model.station(name) for name in "abcd"]
    program = model.program("p")
    program.use_one_of(servers, 10)
    one_class(model, program, interarrival=interarrival)
    if not is_refused:
        refuse_overload(model)
        return
    with pytest.raises(SimulationError, match="its queue grows without bound"):
        refuse_overload(model)


def test_a_slow_station_among_fast_ones_is_no_overload() -> None:
    """An equal split would fill the slow one; the shortest queue sends it less."""
    model = Model("uneven")
    slow, fast = model.station("slow", speeds=[0.5]), model.station("fast", speeds=[4])
    program = model.program("p")
    program.use_one_of([slow, fast], 1)
    one_class(model, program, interarrival=0.5)
    assert offered_loads(model)["slow"] == 2.0
    refuse_overload(model)


@pytest.mark.parametrize(("interarrival", "is_refused"), [(5.9, True), (6.1, False)])
def test_a_pool_held_longer_than_it_can_be_is_refused(
    *, interarrival: float, is_refused: bool
) -> None:
    """12 ms with 1 of 3 tokens, 3 ms with 2 of 3 more: 18 token-ms, so one job each 6 ms."""
    model = Model("pool")
    cpu, pool = model.station("cpu", servers=9), model.pool("connections", tokens=3)
    program = model.program("p")
    with program.holding(pool):
        program.use(cpu, exponential(4))
        program.delay(8)
    with program.holding(pool, 2):
        program.delay(3)
    one_class(model, program, interarrival=interarrival)
    assert expected_visits(model).pool_times["jobs"] == {"connections": 18.0}
    if not is_refused:
        refuse_overload(model)
        return
    with pytest.raises(SimulationError, match="times the tokens of pool 'connections'") as caught:
        refuse_overload(model)
    assert "test_visits.py:" in caught.value.message


def test_a_caller_holds_until_the_reply_and_a_parent_until_its_last_arm() -> None:
    model = Model("spans")
    pool, other = model.pool("k", tokens=9), model.program("other")
    other.delay(2)
    other.reply()
    other.delay(100)
    program = model.program("p")
    with program.holding(pool):
        program.call(other)
        with program.fork() as fork:
            for time in (3, 7, 5):
                with fork.arm():
                    program.delay(time)
    one_class(model, program)
    assert expected_visits(model).pool_times["jobs"] == {"k": 2.0 + 7.0}


def test_the_message_of_an_overload_names_the_line_of_the_class() -> None:
    model = Model("busy")
    program = model.program("p")
    program.use(model.station("cpu"), constant(2))
    one_class(model, program, interarrival=1)
    line = one_class.__code__.co_firstlineno + 1
    with pytest.raises(SimulationError, match=f"test_visits.py:{line}: model 'busy': open classes"):
        refuse_overload(model)
