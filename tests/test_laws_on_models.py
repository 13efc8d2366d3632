"""Operational laws on simulated runs: no run is refused for what is slow or rare in it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headroom.analysis.operational_laws import LawReport, check_laws
from headroom.analysis.windows import open_window
from headroom.experiment.run import Run
from headroom.simulation import Model, constant, exponential, pareto, simulate
from headroom.systems.model.conversion import run_of


def laws_of(run: Run, cut_s: float = 0.0) -> LawReport:
    window = open_window(run, cut_s=cut_s)
    assert window is not None
    return check_laws(window)


def with_responses_too_long(run: Run) -> Run:
    """Return the run with the responses at its stations miscounted by 1 %."""
    tables = (
        replace(
            table,
            columns={**table.columns, "response_s_sum": 1.01 * table.columns["response_s_sum"]},
        )
        if table.kind == "station"
        else table
        for table in run.resources
    )
    return replace(run, resources=tuple(tables))


def with_a_slow_class() -> Model:
    """Ten users, and four jobs that last longer than most runs."""
    model = Model("slow class", time_unit="s")
    cpu = model.station("cpu")
    request = model.program("request")
    request.use(cpu, exponential(1))
    report = model.program("report")
    report.delay(exponential(5000))
    model.closed_class("users", request, population=10, think=exponential(1))
    model.closed_class("reports", report, population=4)
    return model


def with_a_rare_branch() -> Model:
    """Two jobs in a thousand go to a station that takes 900 s."""
    model = Model("rare branch", time_unit="s")
    cpu, archive = model.station("cpu"), model.station("archive", servers=50)
    request = model.program("request")
    request.use(cpu, exponential(0.5))
    with request.branch() as branch:
        with branch.case(0.002):
            request.use(archive, constant(900))
        with branch.otherwise():
            request.use(cpu, exponential(0.1))
    model.closed_class("users", request, population=10, think=exponential(1))
    return model


def with_a_heavy_tail() -> Model:
    """Service times whose variance does not exist."""
    model = Model("heavy tail", time_unit="s")
    request = model.program("request")
    request.use(model.station("cpu", servers=2), pareto(0.1, shape=1.2))
    model.closed_class("users", request, population=10, think=exponential(1))
    return model


@pytest.mark.parametrize("build", [with_a_slow_class, with_a_rare_branch, with_a_heavy_tail])
@pytest.mark.parametrize("completions", [3000, 20_000])
def test_no_run_is_refused_for_what_its_edges_cut(
    build: Callable[[], Model], completions: int
) -> None:
    for seed in range(10):
        run = run_of(simulate(build(), seed=seed, completions=completions))
        for share in (0.0, 0.3, 0.7):
            assert laws_of(run, share * run.snapshot_times_s[-1]).faults == (), (seed, share)
        faults = laws_of(with_responses_too_long(run)).faults
        assert any("Little's law fails for station cpu" in fault for fault in faults)


def test_the_gap_of_n_and_x_times_r_is_what_the_edges_account_for() -> None:
    """Four jobs that outlast the run are in N and not in X R."""
    report = laws_of(run_of(simulate(with_a_slow_class(), seed=1, completions=3000)))
    worst = report.worst()
    assert worst is not None
    assert worst.place == "class reports"
    assert worst.gap > 0.1
    assert worst.gap == pytest.approx(worst.tolerance, rel=1e-9)
    assert worst.passed
