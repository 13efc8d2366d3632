"""Times without a mean: rejected where averages are needed, and only there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    bounded_pareto,
    draw,
    exponential,
    mixture,
    pareto,
    simulate,
)

Write = Callable[[Model, Program], object]
ENDLESS = pareto(1, shape=1)


def model_with(write: Write) -> Model:
    model = Model("shop", time_unit="ms")
    program = model.program("request")
    program.use(model.station("web"), exponential(1))
    write(model, program)
    if not model.classes:
        model.closed_class("users", program, population=2, think=exponential(1))
    return model


def of_a_service(model: Model, program: Program) -> None:
    program.use(model.stations["web"], ENDLESS)


def of_a_delay(_model: Model, program: Program) -> None:
    program.delay(mixture([exponential(1), ENDLESS], weights=[9, 1]))


def of_an_expression(model: Model, program: Program) -> None:
    program.use(model.stations["web"], draw(ENDLESS) * 2 + 1)


def of_a_called_program(model: Model, program: Program) -> None:
    inner = model.program("inner")
    inner.delay(ENDLESS)
    program.call(inner)


def of_thinking(model: Model, program: Program) -> None:
    model.closed_class("users", program, population=2, think=ENDLESS)


def of_arrivals(model: Model, program: Program) -> None:
    model.open_class("users", program, interarrival=ENDLESS)


def of_a_repair(model: Model, _program: Program) -> None:
    web = model.stations["web"]
    model.breakdowns(web, time_to_failure=exponential(9), repair=ENDLESS)


def of_an_open_service(model: Model, program: Program) -> None:
    program.use(model.stations["web"], ENDLESS)
    model.open_class("users", program, interarrival=exponential(100))


@pytest.mark.parametrize(
    "write",
    [
        of_a_service,
        of_a_delay,
        of_an_expression,
        of_a_called_program,
        of_thinking,
        of_arrivals,
        of_a_repair,
        of_an_open_service,
    ],
)
def test_a_time_without_a_mean_is_refused_unless_the_run_stops_by_time(write: Write) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(model_with(write), seed=1, completions=100)
    place, _, what = caught.value.message.partition(": ")
    first = write.__code__.co_firstlineno
    assert Path(place.rpartition(":")[0]).name == Path(__file__).name
    assert first < int(place.rpartition(":")[2]) <= first + 4
    assert "pareto(low=1.0, shape=1.0)" in what
    assert "has no mean" in what
    assert "bounded_pareto" in caught.value.cure
    assert simulate(model_with(write), seed=1, time=50).snapshot_times_s[-1] == 0.05


def cut_by_an_attempt(_model: Model, program: Program) -> None:
    with program.attempt(timeout=10) as attempt, attempt.work():
        program.delay(ENDLESS)


def the_time_out_itself(_model: Model, program: Program) -> None:
    with program.attempt(timeout=ENDLESS) as attempt, attempt.work():
        program.delay(1)


def a_long_tail_with_a_mean(_model: Model, program: Program) -> None:
    program.delay(pareto(1, shape=1.1))
    program.delay(bounded_pareto(1, 1e6, shape=0.5))


def never_taken(_model: Model, program: Program) -> None:
    with program.branch() as branch:
        with branch.case(0.0):
            program.delay(ENDLESS)
        with branch.otherwise():
            program.delay(1)


@pytest.mark.parametrize(
    "write", [cut_by_an_attempt, the_time_out_itself, a_long_tail_with_a_mean, never_taken]
)
def test_a_time_that_something_ends_needs_no_mean(write: Write) -> None:
    result = simulate(model_with(write), seed=1, completions=50)
    assert result.classes.columns["completion_count"][-1, 0] == 50
