"""Models of the corpus: numbers within their bounds, near a simulation, or refused."""

import math

import pytest

from benches.solver_models import KINDS, model_of
from headroom.simulation import Model, exponential, simulate
from headroom.solvers import Solution, solve
from headroom.solvers.reasons import MOST_ERROR

ALWAYS_REFUSED = frozenset({"priorities, closed", "limited sharing"})


def in_bounds(solution: Solution) -> None:
    for one, bounds in zip(solution.classes, solution.bounds, strict=True):
        for value, low, high in (
            (one.throughput_per_s, bounds.throughput_per_s_low, bounds.throughput_per_s_high),
            (one.response_s, bounds.response_s_low, bounds.response_s_high),
        ):
            is_within = low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
            assert math.isnan(value) or is_within, solution
    for station in solution.stations:
        assert not station.utilization > 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_is_near_a_simulation_and_inside_bounds_that_hold(kind: str) -> None:
    """One run of 150,000 completions for each of two models."""
    for seed in (11, 12):
        model = model_of(kind, seed)
        solution, run = solve(model), simulate(model, seed=1, completions=150_000)
        in_bounds(solution)
        counts = run.classes.columns["completion_count"][-1]
        throughput = float(counts.sum() / run.snapshot_times_s[-1])
        response_s = float(run.classes.columns["response_s_sum"][-1].sum() / counts.sum())
        most = math.fsum(one.throughput_per_s_high for one in solution.bounds)
        least = min(one.response_s_low for one in solution.bounds)
        assert throughput <= most * 1.05
        assert response_s >= least * 0.95
        assert bool(solution.refused) >= (kind in ALWAYS_REFUSED)
        if solution.refused:
            assert not [name for name in solution.metrics() if "_s_" in name or "mean" in name]
        else:
            assert abs(solution.response_s / response_s - 1) <= MOST_ERROR
            assert abs(solution.throughput_per_s / throughput - 1) <= MOST_ERROR / 2


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
