"""Bounds are bounds: no run is above the highest throughput or below the lowest response time."""

import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    SimulationResult,
    Station,
    constant,
    exponential,
    hyperexponential,
    simulate,
)
from headroom.simulation.runs.run import ready, run_ready
from headroom.solvers import Bounds, network_of
from headroom.solvers.bounds.class_bounds import STARVED, bounds_of
from headroom.solvers.bounds.needs import LEFT_OUT, MAY_BE_LOST, needs_of
from tests.support.fake_programs import Outline, Parts, outlines, write

RUN_TIME = 20_000.0
"""Units of the model's time (s) that a random model runs for."""
ROOM = 0.08
"""Relative error that chance may make in a run of a random model."""

STATIONS: dict[str, Callable[[Model, str], Station]] = {
    "plain": lambda model, name: model.station(name),
    "speeds": lambda model, name: model.station(name, servers=3, speeds=[0.5, 3, 1]),
    "limited": lambda model, name: model.station(name, servers=2, discipline="ps", limit=3),
    "urgent first": lambda model, name: model.station(name, discipline="priority"),
    "preemptive": lambda model, name: model.station(name, discipline="priority_preempt"),
    "latest": lambda model, name: model.station(name, discipline="lcfs"),
    "batches": lambda model, name: model.station(name, batch=(1, 3)),
    "rejects": lambda model, name: model.station(name, buffer=1, when_full="reject"),
    "blocks": lambda model, name: model.station(name, buffer=1),
    "infinite": lambda model, name: model.station(name, discipline="infinite"),
    "breaks": lambda model, name: _broken(model, model.station(name), "all"),
    "each breaks": lambda model, name: _broken(model, model.station(name, servers=2), "each"),
}


def _broken(model: Model, station: Station, unit: str) -> Station:
    failure, repair = exponential(6), exponential(2)
    model.breakdowns(station, time_to_failure=failure, repair=repair, unit=unit)  # type: ignore[arg-type]  # one of two
    return station


def bounds_in(model: Model) -> tuple[Bounds, ...]:
    network = network_of(model)
    return bounds_of(network, needs_of(model, network))


def measured(result: SimulationResult, place: int) -> tuple[float, float]:
    """Return throughput (1/s) and mean response (s) of a class, the start of the run included."""
    columns = {name: values[-1, place] for name, values in result.classes.columns.items()}
    completed = float(columns["completion_count"])
    response_s = float(columns["response_s_sum"]) / completed if completed else math.inf
    return completed / float(result.snapshot_times_s[-1]), response_s


@st.composite
def languages(draw: st.DrawFn) -> Model:
    """Return a model of random stations, programs that call and start each other, and classes."""
    model = Model("random", time_unit="s", may_deadlock=True)
    for number in range(4):
        STATIONS[draw(st.sampled_from(sorted(STATIONS)))](model, f"s{number}")
    for name, tokens in (("k0", 1), ("k1", 3), ("k2", 2)):
        model.pool(name, tokens=tokens)
    model.attribute("x")
    other = draw(st.sampled_from(["", "call", "start"]))
    reached = _reached(model, other, draw) if other else None
    for number in range(draw(st.integers(1, 2))):
        program = _program(model, f"p{number}", draw(outlines(2)))
        if reached is not None:
            (program.call if other == "call" else program.start)(reached)
        program.use(model.stations["s3"], draw(st.sampled_from(LAWS)))
        _class(model, program, draw(st.sampled_from(["closed", "closed", "open"])), draw)
    return model


LAWS = (exponential(1), constant(2), hyperexponential(0.5, c2=4))


def _program(model: Model, name: str, outline: Outline) -> Program:
    program = model.program(name)
    write(Parts(model, program), outline)
    return program


def _reached(model: Model, how: str, draw: st.DrawFn) -> Program:
    """Return a program that is called and continues after its reply, or one that is started."""
    program = _program(model, "other", draw(outlines(1)))
    program.use(model.stations["s2"], draw(st.sampled_from(LAWS)))
    if how == "call":
        program.reply()
        write(Parts(model, program), draw(outlines(1)))
    return program


def _class(model: Model, program: Program, kind: str, draw: st.DrawFn) -> None:
    priority = draw(st.integers(0, 1))
    if kind == "open":
        rate = draw(st.sampled_from([0.05, 0.3]))
        model.open_class(
            program.name, program, interarrival=exponential(1 / rate), priority=priority
        )
        return
    think = draw(st.sampled_from([exponential(0.05), exponential(5)]))
    model.closed_class(
        program.name,
        program,
        population=draw(st.integers(1, 9)),
        think=think,
        priority=priority,
    )


def one_class(population: int, write_steps: Callable[[Model, Program], None]) -> Model:
    model = Model("one class", time_unit="s")
    program = model.program("walk")
    write_steps(model, program)
    model.closed_class("users", program, population=population)
    return model


def test_servers_of_different_speed_are_bounded_by_the_sum_and_by_the_fastest() -> None:
    """Oracle: one job runs at speed 4, many at 4 + 1; inside a pool of two tokens alike."""

    def write_steps(model: Model, program: Program) -> None:
        disks = model.station("disks", servers=2, speeds=[4, 1])
        with program.holding(model.pool("threads", tokens=2)):
            program.use(disks, exponential(2))

    assert bounds_in(one_class(1, write_steps))[0].throughput_per_s_high == pytest.approx(4 / 2)
    many = one_class(20, write_steps)
    bounds = bounds_in(many)[0]
    assert bounds.throughput_per_s_high == pytest.approx(5 / 2)
    throughput, _ = measured(simulate(many, seed=1, completions=40_000), 0)
    assert throughput == pytest.approx(5 / 2, rel=0.02)
    assert bounds.station == "disks"


def test_a_pool_before_a_fast_and_a_slow_server_does_not_lower_the_bound() -> None:
    """A token is held for 2 / 4 where the fast server is free; at a mean speed it would be 0.8."""

    def write_steps(model: Model, program: Program) -> None:
        with program.holding(model.pool("threads", tokens=1)):
            program.use(model.station("disks", servers=2, speeds=[4, 1]), exponential(2))

    model = one_class(9, write_steps)
    bounds = bounds_in(model)[0]
    throughput, _ = measured(simulate(model, seed=1, completions=40_000), 0)
    assert bounds.throughput_per_s_high == pytest.approx(2.0)
    assert throughput == pytest.approx(2.0, rel=0.02)


def test_batches_and_breakdowns_change_what_a_station_can_do() -> None:
    def batches(model: Model, program: Program) -> None:
        program.use(model.station("bus", batch=(1, 3)), exponential(1))

    def breakdowns(model: Model, program: Program) -> None:
        cpu = model.station("cpu")
        model.breakdowns(cpu, time_to_failure=exponential(9), repair=exponential(1))
        program.use(cpu, exponential(1))

    assert bounds_in(one_class(9, batches))[0].throughput_per_s_high == pytest.approx(3.0)
    assert bounds_in(one_class(9, breakdowns))[0].throughput_per_s_high == pytest.approx(0.9)


def test_jobs_that_choose_the_shortest_queue_are_bounded_by_all_queues_together() -> None:
    def write_steps(model: Model, program: Program) -> None:
        servers = [model.station("slow"), model.station("fast", servers=1, speeds=[3])]
        program.use_one_of(servers, exponential(1), policy="shortest_queue")

    model = one_class(9, write_steps)
    bounds = bounds_in(model)[0]
    assert bounds.throughput_per_s_high == pytest.approx(4.0)
    assert bounds.station == "slow and fast"
    throughput, _ = measured(simulate(model, seed=1, completions=40_000), 0)
    assert 3.0 < throughput <= 4.0 * 1.01


def test_what_may_time_out_has_no_bound_and_the_reason_is_given() -> None:
    def write_steps(model: Model, program: Program) -> None:
        with program.attempt(timeout=0.1) as attempt, attempt.work():
            program.use(model.station("cpu"), exponential(1))

    bounds = bounds_in(one_class(9, write_steps))[0]
    assert math.isinf(bounds.throughput_per_s_high)
    assert bounds.notes == (LEFT_OUT, MAY_BE_LOST)


def test_jobs_that_may_be_lost_have_no_least_response_and_the_reason_is_given() -> None:
    def write_steps(model: Model, program: Program) -> None:
        program.use(model.station("cpu", buffer=1, when_full="reject"), exponential(1))

    bounds = bounds_in(one_class(9, write_steps))[0]
    assert bounds.throughput_per_s_high == pytest.approx(1.0)
    assert bounds.response_s_low == 0.0
    assert MAY_BE_LOST in bounds.notes


def test_an_open_class_that_starves_is_not_taken_off_the_capacity() -> None:
    """The closed class is served first: nothing of the station is left to the arrivals."""
    model = Model("starved", time_unit="s")
    cpu, program = model.station("cpu", discipline="priority_preempt"), model.program("walk")
    program.use(cpu, exponential(1))
    model.closed_class("urgent", program, population=3, priority=1)
    model.open_class("patient", program, interarrival=exponential(2))
    found = {bound.class_name: bound for bound in bounds_in(model)}
    assert found["urgent"].throughput_per_s_high == pytest.approx(1.0)
    assert STARVED in found["urgent"].notes
    throughput, _ = measured(simulate(model, seed=1, completions=20_000), 0)
    assert throughput == pytest.approx(1.0, rel=0.03)


def test_a_lowest_throughput_counts_the_slowest_server() -> None:
    """Two jobs at servers of speed 4 and 1: X D is at least 1 while a job is there."""

    def write_steps(model: Model, program: Program) -> None:
        program.use(model.station("cpu", servers=2, speeds=[4, 1]), exponential(2))

    bounds = bounds_in(one_class(2, write_steps))[0]
    assert bounds.throughput_per_s_low == pytest.approx(0.5)


@pytest.mark.deep
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(languages())
def test_no_run_leaves_the_bounds_whatever_the_model_says(model: Model) -> None:
    """Soundness over the whole language; what cannot be bounded has no bound."""
    try:
        found = bounds_in(model)
        result = run_ready(ready(model), seed=1, time=RUN_TIME, completions=200_000)
    except SimulationError:
        reject()
    for place, bounds in enumerate(found):
        throughput, response_s = measured(result, place)
        assert throughput <= bounds.throughput_per_s_high * (1 + ROOM) + 10 / RUN_TIME, bounds
        assert response_s >= bounds.response_s_low * (1 - ROOM) - 10 / RUN_TIME, bounds
