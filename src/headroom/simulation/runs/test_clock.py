"""Durations beyond the clock: each path gives the message of a clock that runs out."""

from collections.abc import Callable

import pytest

from headroom.simulation import (
    Distribution,
    Model,
    Program,
    SimulationError,
    changing_rate,
    constant,
    draw,
    exponential,
    mixture,
    mmpp,
    simulate,
    trace,
)

SHORT = constant(1.0)
LONG = {
    "just beyond": constant(1.9e10),
    "far beyond": constant(1e300),
    "drawn": exponential(1e15),
    "one of two": mixture([constant(1), constant(1e12)], weights=[1, 1]),
}
Build = Callable[[Model, Program, Distribution], None]


def served(**station: object) -> Build:
    def build(model: Model, program: Program, law: Distribution) -> None:
        program.use(model.station("server", **station), law)  # type: ignore[arg-type] # any
        model.closed_class("users", program, population=3)

    return build


def delayed(time: Callable[[Model, Program, Distribution], object]) -> Build:
    def build(model: Model, program: Program, law: Distribution) -> None:
        program.delay(time(model, program, law))  # type: ignore[arg-type] # any
        model.closed_class("users", program, population=1)

    return build


def thinking(model: Model, program: Program, law: Distribution) -> None:
    program.delay(SHORT)
    model.closed_class("users", program, population=1, think=law)


def arriving(model: Model, program: Program, law: Distribution) -> None:
    program.delay(SHORT)
    model.open_class("users", program, interarrival=law)


def repaired(model: Model, program: Program, law: Distribution) -> None:
    server = model.station("server")
    program.use(server, SHORT)
    model.breakdowns(server, time_to_failure=SHORT, repair=law)
    model.closed_class("users", program, population=1)


def by_attribute(model: Model, program: Program, law: Distribution) -> object:
    wait = model.attribute("wait")
    program.set(wait, law.mean)
    return wait


PATHS: dict[str, Build] = {
    "service": served(),
    "shared service": served(discipline="ps"),
    "faster service": served(speeds=[100.0]),
    "slower service": served(speeds=[0.5]),
    "interrupted service": served(discipline="lcfs_preempt"),
    "limited room": served(servers=1, buffer=5),
    "delay": delayed(lambda _, __, law: law),
    "expression": delayed(lambda _, __, law: draw(law) * 0.9),
    "attribute": delayed(by_attribute),
    "think time": thinking,
    "arrivals": arriving,
    "repair": repaired,
}


@pytest.mark.parametrize("law", LONG)
@pytest.mark.parametrize("path", PATHS)
def test_a_duration_beyond_the_clock_ends_the_run_with_a_message(path: str, law: str) -> None:
    model = Model("long", time_unit="s")
    PATHS[path](model, model.program("visit"), LONG[law])
    with pytest.raises(SimulationError, match="simulated time passed 18446744073") as caught:
        simulate(model, seed=1, completions=1_000)
    assert "choose a larger time_unit" in caught.value.cure


@pytest.mark.parametrize(
    "arrivals",
    [
        trace([0.0, 1.9e10]),
        changing_rate(times=[0.0, 3.0], rates=[1.0, 1e-30]),
        mmpp(rates=[1.0, 1e-30], switch_rates=[[0.0, 1.0], [1e-30, 0.0]]),
    ],
)
def test_an_arrival_beyond_the_clock_does_too_unless_the_run_ends_before(arrivals: object) -> None:
    model = Model("late", time_unit="s")
    program = model.program("visit")
    program.delay(SHORT)
    model.open_class("users", program, interarrival=arrivals)  # type: ignore[arg-type] # any
    with pytest.raises(SimulationError, match="simulated time passed"):
        simulate(model, seed=1, completions=1_000)
    assert simulate(model, seed=1, time=100.0).snapshot_times_s[-1] == 100.0


@pytest.mark.parametrize("size", [2e10, exponential(1e13)])
def test_a_number_that_ticks_cannot_count_is_never_cut(size: Distribution | float) -> None:
    model = Model("files", time_unit="s")
    program = model.program("read")
    size_bytes = model.attribute("size_bytes")
    program.set(size_bytes, size)
    program.delay(size_bytes / 1e10)
    model.closed_class("users", program, population=1)
    if isinstance(size, float):
        assert simulate(model, seed=1, completions=100).snapshot_times_s[-1] == 200.0
        return
    with pytest.raises(SimulationError, match=r"drew a number above 1\.8e10") as caught:
        simulate(model, seed=1, completions=100)
    assert "larger unit" in caught.value.cure
