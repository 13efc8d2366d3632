"""The registered models against their formulas."""

from pathlib import Path

import pytest

from benches.known.formulas import mmc_wait, mva
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationError, simulate
from headroom.systems.model import ModelSystem, library
from headroom.systems.model.system import ModelSetup

TOLERANCE = 0.03
"""Relative; a run of 400,000 jobs, the first quarter of which is discarded."""


def run_model(name: str, **levels: Value) -> Run:
    system = ModelSystem.load(ModelSetup(model=name, completions=400_000), base=Path())
    config = {p.name: p.default for p in system.parameters() if p.default is not None}
    return system.run({**config, **levels}, seed=11)


def steady(run: Run) -> tuple[float, float]:
    """Return throughput (1/s) and mean response time (s) of the last three quarters."""
    (classes,) = (table for table in run.resources if table.kind == "class")
    start = len(run.snapshot_times_s) // 4
    span_s = run.snapshot_times_s[-1] - run.snapshot_times_s[start]
    gained = {name: column[-1, 0] - column[start, 0] for name, column in classes.columns.items()}
    completions = gained["completion_count"]
    return completions / span_s, gained["response_s_sum"] / completions


@pytest.mark.parametrize("utilization", [0.3, 0.5, 0.8])
def test_mm1_agrees_with_the_closed_form(utilization: float) -> None:
    """Oracle: R = S / (1 - U)."""
    _, response_s = steady(run_model("mm1", utilization=utilization, service_s=0.01))
    assert response_s == pytest.approx(0.01 / (1 - utilization), rel=TOLERANCE)


@pytest.mark.parametrize(("servers", "utilization"), [(2, 0.7), (8, 0.8)])
def test_mmc_agrees_with_erlang_c(servers: int, utilization: float) -> None:
    expected_s = 0.01 * (1 + mmc_wait(servers, servers * utilization))
    _, response_s = steady(run_model("mmc", servers=servers, utilization=utilization))
    assert response_s == pytest.approx(expected_s, rel=TOLERANCE)


@pytest.mark.parametrize("jobs", [1, 4, 16])
def test_central_server_agrees_with_mean_value_analysis(jobs: int) -> None:
    """Oracle: one CPU of 10 x 2 ms and four disks of 10 x 10 ms / 4 each."""
    expected, _ = mva([0.02, *[0.025] * 4], 0.0, jobs)
    throughput, _ = steady(run_model("central_server", jobs=jobs))
    assert throughput == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("users", [5, 21, 60])
def test_interactive_agrees_with_mean_value_analysis_and_its_law(users: int) -> None:
    """Oracle: exact throughput, and R = users / X - think time."""
    throughput, response_s = steady(run_model("interactive", users=users))
    expected, _ = mva([0.05], 1.0, users)
    assert throughput == pytest.approx(expected, rel=TOLERANCE)
    assert response_s == pytest.approx(users / throughput - 1.0, rel=2 * TOLERANCE, abs=0.01)


@pytest.mark.parametrize("clients", [4, 30])
def test_a_database_without_row_and_log_is_interactive(clients: int) -> None:
    there = run_model("interactive", users=clients, think_s=0.01, service_s=0.0005, servers=2)
    here = run_model("database", clients=clients, think_s=0.01, service_s=0.0005, servers=2)
    assert steady(here) == pytest.approx(steady(there), rel=TOLERANCE)


@pytest.mark.parametrize(
    ("lock_s", "flush_s", "expected"),
    [(0.002, 0.0, 500.0), (0.002, 0.002, 250.0), (0.0, 0.01, 8 / 0.01), (0.0, 0.0, 2 / 0.0002)],
)
def test_a_full_database_keeps_to_its_bounds(
    lock_s: float, flush_s: float, expected: float
) -> None:
    """The row, the row until the flush, half the clients in a flush, and processors."""
    run = run_model("database", think_s=0.0, lock_s=lock_s, flush_s=flush_s)
    throughput, _ = steady(run)
    assert 0.9 * expected <= throughput <= (1.0 + TOLERANCE) * expected


@pytest.mark.parametrize("servers", [1, 10_000])
@pytest.mark.parametrize("utilization", [0.001, 0.999])
@pytest.mark.parametrize("service_s", [1e-6, 3600.0])
def test_every_corner_of_the_declared_ranges_has_the_arrivals_that_it_asks_for(
    servers: int, utilization: float, service_s: float
) -> None:
    model = library.mmc(servers=servers, utilization=utilization, service_s=service_s)
    run = simulate(model, seed=1, completions=20_000)
    arrivals = run.stations.columns["arrival_count"][-1, 0] / run.snapshot_times_s[-1]
    assert arrivals == pytest.approx(servers * utilization / service_s, rel=TOLERANCE)


def test_a_law_that_headroom_builds_names_no_line_of_headroom() -> None:
    with pytest.raises(SimulationError) as caught:
        library.mm1(utilization=0.5, service_s=-1.0)
    assert caught.value.message.startswith("exponential(mean=")
