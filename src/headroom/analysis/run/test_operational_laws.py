"""Operational laws: exact on visits known individually, broken by wrong accounting."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.evidence import Fault
from headroom.analysis.run.operational_laws import LawReport, check_laws
from headroom.analysis.run.windows import open_window
from headroom.experiment.protocol.run import ResourceTable, Run
from tests.support.example_runs import mm1_run, queue, station_run

positive = st.floats(0.01, 10.0)
jobs = st.lists(st.tuples(positive, positive), min_size=1, max_size=40).map(np.array)


def laws_of(run: Run, cut_s: float = 0.0) -> LawReport:
    window = open_window(run, cut_s=cut_s)
    assert window is not None
    return check_laws(window)


def with_columns(run: Run, kind: str, scale: Mapping[str, float]) -> Run:
    """Return the run with some cumulative columns of one table miscounted by a factor."""
    tables = tuple(
        replace(
            table,
            columns={n: column * scale.get(n, 1.0) for n, column in table.columns.items()},
        )
        if table.kind == kind
        else table
        for table in run.resources
    )
    return replace(run, resources=tables)


@given(jobs, st.integers(1, 4), st.integers(2, 30), st.floats(0.0, 0.9))
def test_every_queue_obeys_the_laws_wherever_it_is_cut(
    times_s: np.ndarray, servers: int, snapshots: int, share: float
) -> None:
    """For all arrivals and services, and without any tolerance but rounding."""
    visits = queue(times_s[:, 0], times_s[:, 1], servers=servers)
    end_s = 0.9 * float(visits[-1, 2]) + 1e-3
    run = station_run(
        {"cpu": visits},
        np.linspace(0.0, end_s, snapshots + 1)[1:],
        capacity={"cpu": float(servers)},
    )
    window = open_window(run, cut_s=share * end_s)
    if window is not None:
        assert check_laws(window).faults == ()


@pytest.mark.parametrize("load", [0.3, 0.8, 0.99])
@pytest.mark.parametrize("column", ["jobs_s", "response_s_sum", "age_s"])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_an_accounting_error_of_1_percent_is_a_fault(
    load: float, column: str, factor: float
) -> None:
    run = mm1_run(load=load, jobs=5_000, seed=4)
    assert laws_of(run, 100.0).faults == ()
    report = laws_of(with_columns(run, "class", {column: factor}), 100.0)
    assert Fault(code="little") in report.faults


def test_a_waiting_time_that_is_1_percent_too_long_is_a_fault() -> None:
    run = with_columns(mm1_run(load=0.8, jobs=5_000, seed=4), "station", {"wait_s_sum": 1.01})
    assert laws_of(run).faults == (Fault(code="little_of_queue", kind="station", name="cpu"),)


def test_a_run_that_recorded_no_ages_is_not_checked_against_them() -> None:
    """Runs stored by earlier versions have none."""
    run = mm1_run(load=0.8, jobs=500, seed=1)
    tables = tuple(
        replace(t, columns={n: c for n, c in t.columns.items() if not n.endswith("age_s")})
        for t in run.resources
    )
    report = laws_of(replace(run, resources=tables))
    assert (report.gaps, report.faults) == ((), ())


def test_a_station_busy_for_longer_than_time_passes_is_a_fault() -> None:
    run = mm1_run(load=0.99, jobs=2_000, seed=1)
    report = laws_of(with_columns(run, "station", {"busy_s": 1.1}))
    assert Fault(code="busy", kind="station", name="cpu") in report.faults


def test_busy_time_that_no_job_spent_in_service_is_a_fault() -> None:
    report = laws_of(with_columns(mm1_run(load=0.3, jobs=500, seed=1), "station", {"busy_s": 1.1}))
    assert report.faults == (Fault(code="utilization_law", kind="station", name="cpu"),)


@given(jobs, st.integers(2, 20))
def test_utilization_is_throughput_times_service_time_and_at_most_one(
    times_s: np.ndarray, snapshots: int
) -> None:
    """Utilization law over the whole run: U = X S, exactly, when all jobs have left."""
    visits = queue(times_s[:, 0], times_s[:, 1])
    run = station_run({"cpu": visits}, np.linspace(0.0, visits[-1, 2], snapshots + 1)[1:])
    columns = run.resources[0].columns
    service_s = columns["response_s_sum"][-1, 0] - columns["wait_s_sum"][-1, 0]
    assert columns["busy_s"][-1, 0] == pytest.approx(service_s)
    assert columns["busy_s"][-1, 0] <= visits[-1, 2] * (1 + 1e-9)


def test_more_tokens_held_than_there_are_is_a_fault() -> None:
    pool = ResourceTable(
        kind="pool",
        names=("connections",),
        capacity=np.array([2.0]),
        columns={
            "grant_count": np.array([[4.0], [9.0]]),
            "wait_s_sum": np.zeros((2, 1)),
            "held_s": np.array([[10.0], [25.0]]),
            "queue_s": np.zeros((2, 1)),
        },
    )
    run = Run(snapshot_times_s=np.array([5.0, 10.0]), resources=(pool,))
    assert laws_of(run).faults == (Fault(code="busy", kind="pool", name="connections"),)


def test_each_class_is_checked_by_itself_where_errors_cancel_in_the_sum() -> None:
    run = mm1_run(load=0.5, jobs=3_000, seed=6)
    table = next(table for table in run.resources if table.kind == "class")
    halves = {name: np.hstack([column, column]) for name, column in table.columns.items()}
    halves["jobs_s"] = halves["jobs_s"] * np.array([1.2, 0.8])
    both = replace(table, names=("a", "b"), capacity=np.array([np.inf, np.inf]), columns=halves)
    assert laws_of(replace(run, resources=(both,))).faults == (
        Fault(code="little", kind="class", name="a"),
        Fault(code="little", kind="class", name="b"),
    )


def test_a_run_without_tables_has_nothing_to_check() -> None:
    report = laws_of(Run(values={"wall_s": 1.0}))
    assert (report.gaps, report.faults, report.worst()) == ((), (), None)
