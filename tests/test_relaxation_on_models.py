"""Correlation times of simulated queues against the closed form."""

import pytest

from headroom.analysis.run.relaxation import jobs_over_time, times_beyond_one
from headroom.simulation import Model, exponential, simulate
from headroom.systems.model.conversion import run_of


def test_the_correlation_time_of_a_queue_is_that_of_the_formula() -> None:
    """M/M/1, number of jobs: 2 rho (1 + rho) / (1 - rho)^4 over rho / (1 - rho)^2, in services."""
    model = Model("queue", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("server"), exponential(1.0))
    model.open_class("jobs", visit, interarrival=exponential(1.0 / 0.8))
    runs = [run_of(simulate(model, seed=seed, completions=2_000)) for seed in range(100)]
    course = jobs_over_time(runs)
    assert course is not None
    jobs, step_s = course
    expected_s = 2.0 * 1.8 / 0.2**2
    assert times_beyond_one(jobs[..., 5:]) * step_s == pytest.approx(expected_s, rel=0.25)
