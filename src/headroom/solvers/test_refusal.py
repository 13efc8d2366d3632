"""Random models for each reason: numbers within their bounds, close to the truth, or refused."""

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest

from headroom.simulation import (
    Model,
    Program,
    constant,
    exponential,
    hyperexponential,
    mmpp,
    simulate,
)
from headroom.solvers import Solution, solve
from headroom.solvers.reasons import FACTOR

Middle = Callable[[Model, Program, Random], None]


def plain(model: Model, program: Program, random: Random) -> None:
    program.use(model.station("middle", servers=random.randint(1, 3)), exponential(0.5))


def breaking(model: Model, program: Program, random: Random) -> None:
    station = model.station("middle")
    up = random.uniform(10, 1000)
    model.breakdowns(station, time_to_failure=exponential(up), repair=exponential(up / 3))
    program.use(station, exponential(0.5))


def batched(model: Model, program: Program, random: Random) -> None:
    program.use(model.station("middle", batch=(1, random.randint(2, 6))), exponential(1.2))


def shortest(model: Model, program: Program, random: Random) -> None:
    stations = [model.station(f"queue{n}") for n in range(random.randint(2, 5))]
    program.use_one_of(stations, exponential(0.9), policy="shortest_queue")


def forked(model: Model, program: Program, random: Random) -> None:
    with program.fork() as fork:
        for n in range(random.randint(2, 6)):
            with fork.arm():
                program.use(model.station(f"arm{n}"), constant(0.5))


def nested(model: Model, program: Program, random: Random) -> None:
    outer, inner = (model.pool(name, tokens=random.randint(2, 9)) for name in ("outer", "inner"))
    with program.holding(outer):
        program.use(model.station("middle"), exponential(0.2))
        with program.holding(inner):
            program.use(model.station("inside"), exponential(0.3))


REFUSED: Mapping[str, Middle] = {
    "breakdowns": breaking,
    "batches": batched,
    "shortest queue": shortest,
    "even forks": forked,
    "nested pools": nested,
    "bursts": plain,
    "loss": plain,
}


def model_of(kind: str, seed: int, *, is_open: bool) -> Model:
    """Return a station, what `kind` says, and a station; each job walks through all three."""
    random = Random(f"{kind} {seed}")  # noqa: S311 - no secret
    model = Model(kind, time_unit="s")
    program = model.program("walk")
    room: dict[str, Any] = {"buffer": 1, "when_full": "reject"} if kind == "loss" else {}
    program.use(model.station("first", **room), exponential(random.uniform(0.1, 0.9)))
    REFUSED.get(kind, plain)(model, program, random)
    program.use(model.station("last"), exponential(random.uniform(0.1, 0.9)))
    rate = random.uniform(0.3, 1.0)
    if not is_open and kind != "bursts":
        jobs = random.randint(10, 40)
        model.closed_class("jobs", program, population=jobs, think=exponential(jobs / rate / 2))
    elif kind == "bursts":
        bursts = mmpp(rates=[2 * rate, 0.0], switch_rates=[[0, 0.01], [0.01, 0]])
        model.open_class("jobs", program, interarrival=bursts)
    else:
        model.open_class("jobs", program, interarrival=exponential(1 / rate))
    return model


def in_bounds(solution: Solution) -> None:
    (one,), (bounds,) = solution.classes, solution.bounds
    for value, low, high in (
        (one.throughput_per_s, bounds.throughput_per_s_low, bounds.throughput_per_s_high),
        (one.response_s, bounds.response_s_low, bounds.response_s_high),
    ):
        assert math.isnan(value) or low * (1 - 1e-9) <= value <= high * (1 + 1e-9), solution
    for station in solution.stations:
        assert not station.utilization > 1 + 1e-9
        if station.name in {"first", "last"}:
            assert station.throughput_per_s == pytest.approx(one.throughput_per_s)


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_reason_that_may_be_far_off_gives_bounds_and_flows_alone(
    kind: str, *, is_open: bool
) -> None:
    for seed in range(12):
        solution = solve(model_of(kind, seed, is_open=is_open))
        in_bounds(solution)
        assert solution.refused
        assert not [name for name in solution.metrics() if "_s_" in name or "mean" in name]
        if not (is_open or kind == "bursts"):
            assert not solution.metrics()
        elif kind != "nested pools":
            assert solution.metrics()["throughput"] > 0


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_product_form_is_solved_as_before(*, is_open: bool) -> None:
    for seed in range(12):
        solution = solve(model_of("product form", seed, is_open=is_open))
        in_bounds(solution)
        assert solution.is_exact
        assert not solution.refused


def variable(kind: str) -> Model:
    model = Model(kind, time_unit="s")
    program = model.program("walk")
    laws = (hyperexponential(0.7, c2=5), constant(0.6), exponential(0.5))
    for n, law in enumerate(laws[::-1] if kind == "reversed" else laws):
        program.use(model.station(f"s{n}"), law)
    if kind == "closed":
        model.closed_class("jobs", program, population=6, think=exponential(2))
    else:
        model.open_class("jobs", program, interarrival=exponential(1))
    return model


@pytest.mark.parametrize(
    "model",
    [variable("open"), variable("reversed"), variable("closed")]
    + [model_of(kind, 3, is_open=is_open) for kind in REFUSED for is_open in (True, False)],
    ids=lambda model: model.name,
)
def test_what_is_printed_is_close_to_simulation_and_the_truth_is_inside_the_bounds(
    model: Model,
) -> None:
    """One run of 40,000 completions; 5% for its chance."""
    solution, run = solve(model), simulate(model, seed=1, completions=40_000)
    count = run.classes.columns["completion_count"][-1, 0]
    throughput = float(count / run.snapshot_times_s[-1])
    response_s = float(run.classes.columns["response_s_sum"][-1, 0] / count)
    (one,), (bounds,) = solution.classes, solution.bounds
    for value, truth in ((one.throughput_per_s, throughput), (one.response_s, response_s)):
        assert math.isnan(value) or 1 / FACTOR <= value / truth <= FACTOR
    assert throughput <= bounds.throughput_per_s_high * 1.05
    assert response_s >= bounds.response_s_low * 0.95


def test_rejected_work_does_not_arrive_downstream() -> None:
    """Oracle: M/M/1/2 with a = 2.77 x 0.6 loses a^2 / (1 + a + a^2)."""
    model = Model("loss", time_unit="s")
    program = model.program("walk")
    program.use(model.station("gate", buffer=1, when_full="reject"), exponential(0.6))
    program.use(model.station("next"), exponential(0.6))
    model.open_class("jobs", program, interarrival=exponential(1 / 2.77))
    found, a = solve(model).metrics(), 2.77 * 0.6
    through = 2.77 * (1 - a * a / (1 + a + a * a))
    for name in ("throughput", "station.gate.throughput", "station.next.throughput"):
        assert found[name] == pytest.approx(through)
    assert found["station.next.utilization"] == pytest.approx(through * 0.6)
