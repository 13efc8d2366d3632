"""Time by state: shares add up and classes stay distinct; the oracles are sums by hand."""

import numpy as np
import pytest

from headroom.analysis.run.distributions import kept_bins, kept_occupancies
from headroom.analysis.run.estimates import resources_of, samples_of
from headroom.analysis.run.states import MOST_PLACES, state_metrics, state_values
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import Window, open_window
from headroom.experiment.protocol.run import Histogram, ResourceKind, ResourceTable, Run
from headroom.experiment.protocol.system import Column


def table(kind: ResourceKind, names: list[str], **columns: list[float]) -> ResourceTable:
    """Return a table at one snapshot."""
    return ResourceTable(
        kind=kind,
        names=tuple(names),
        capacity=np.full(len(names), 2.0),
        columns={name: np.array([column]) for name, column in columns.items()},
    )


def window_of(*tables: ResourceTable, histograms: tuple[Histogram, ...] = ()) -> Window:
    run = Run(snapshot_times_s=np.array([100.0]), resources=tables, histograms=histograms)
    window = open_window(run, cut_s=0.0)
    assert window is not None
    return window


CLASSES = {
    "completion_count": [9.0, 20.0],
    "jobs_s": [100.0, 50.0],
    "delay_s": [10.0, 0.0],
    "join_s": [5.0, 0.0],
    "outside_s": [0.0, 5.0],
    "lost_count": [1.0, 0.0],
    "failed_try_count": [5.0, 0.0],
}
VISITS = table(
    "visit", ["cpu.class.web", "cpu.class.batch"],
    completion_count=[20.0, 10.0], wait_s_sum=[38.0, 10.0], queue_age_s=[2.0, 0.0],
    response_s_sum=[75.0, 40.0], age_s=[5.0, 5.0], blocked_s_sum=[0.0, 15.0],
)  # fmt: skip
REQUESTS = table(
    "pool_visit", ["locks.class.web", "locks.class.batch"],
    grant_count=[5.0, 0.0], wait_s_sum=[5.0, 0.0], queue_age_s=[0.0, 0.0],
)  # fmt: skip


def test_the_time_of_each_class_is_divided_among_its_states() -> None:
    values = state_values(window_of(table("class", ["web", "batch"], **CLASSES), VISITS, REQUESTS))
    shares = {name: value for name, value in values.items() if name.endswith("_share") and value}
    assert shares == pytest.approx(
        {
            "class.web.station.cpu.wait_share": 0.40,
            "class.web.station.cpu.service_share": 0.40,
            "class.web.pool.locks.wait_share": 0.05,
            "class.web.delay_share": 0.10,
            "class.web.join_share": 0.05,
            "class.batch.station.cpu.wait_share": 0.20,
            "class.batch.station.cpu.service_share": 0.40,
            "class.batch.station.cpu.blocked_share": 0.30,
            "class.batch.outside_share": 0.10,
        }
    )


def test_with_one_class_the_table_of_the_stations_is_that_of_the_class() -> None:
    one = {name: column[:1] for name, column in CLASSES.items()}
    stations = table(
        "station", ["cpu"], arrival_count=[20.0], completion_count=[20.0], wait_s_sum=[40.0],
        queue_age_s=[0.0], response_s_sum=[90.0], age_s=[0.0], blocked_s=[10.0], busy_s=[40.0],
    )  # fmt: skip
    values = state_values(window_of(table("class", ["users"], **one), stations))
    assert values["class.users.station.cpu.wait_share"] == pytest.approx(0.4)
    assert values["class.users.station.cpu.service_share"] == pytest.approx(0.4)
    assert values["class.users.station.cpu.blocked_share"] == pytest.approx(0.1)
    assert values["station.cpu.blocked_ratio"] == pytest.approx(10 / 200)


def test_classes_are_told_apart_at_each_station_and_pool() -> None:
    values = state_values(window_of(VISITS, REQUESTS))
    assert values["station.cpu.class.web.wait_s_mean"] == pytest.approx(38 / 20)
    assert values["station.cpu.class.batch.response_s_mean"] == pytest.approx(4.0)
    assert values["station.cpu.class.web.jobs_mean"] == pytest.approx(0.8)
    assert values["station.cpu.class.web.queue_len_mean"] == pytest.approx(0.4)
    assert values["pool.locks.class.web.wait_s_mean"] == pytest.approx(1.0)
    assert "pool.locks.class.batch.wait_s_mean" not in values


def ended(names: list[str], **columns: list[float]) -> dict[str, float]:
    """Return the metrics of a run of 100 s from what became of its jobs."""
    times = {"response_s_sum": [1.0] * len(names)}
    return run_values(window_of(table("class", names, **times, **columns)), {})


def test_what_became_of_the_jobs_is_told_of_each_class_and_of_all() -> None:
    """100 jobs of a class come: 70 complete, 7 of them late, and 20, 6 and 2 are lost."""
    lost = {"reject_count": [20.0], "abandon_count": [6.0], "fail_count": [2.0]}
    values = ended(
        ["web"],
        **lost,
        arrival_count=[100.0],
        completion_count=[70.0],
        jobs_s=[5.0],
        lost_count=[28.0],
        late_count=[7.0],
        failed_try_count=[49.0],
    )
    expected = {
        "throughput": 0.7,
        "offered": 1.0,
        "goodput": 0.63,
        "lost_ratio": 28 / 98,
        "reject_ratio": 20 / 98,
        "abandon_ratio": 6 / 98,
        "fail_ratio": 2 / 98,
        "late_ratio": 7 / 98,
        "failed_tries_mean": 0.5,
    }
    for owner in ("", "class.web."):
        assert {name: values[owner + name] for name in expected} == pytest.approx(expected)


def test_losses_and_failed_tries_are_per_job() -> None:
    values = ended(["web", "batch"], **CLASSES)
    assert values["class.web.lost_ratio"] == pytest.approx(0.1)
    assert values["class.web.failed_tries_mean"] == pytest.approx(0.5)
    assert values["class.batch.lost_ratio"] == 0.0


def test_a_replication_without_losses_counts_as_none_lost() -> None:
    """Cause: it was left out, so the mean was that of the replications with losses alone."""
    counts = {"completion_count": [90.0], "jobs_s": [5.0], "failed_try_count": [0.0]}
    values = [ended(["web"], **counts, lost_count=[lost]) for lost in (10.0, 0.0)]
    samples = samples_of(values, {}, Column.MODEL)
    assert samples["class.web.lost_ratio"].value == pytest.approx(0.05)
    names = [state_metric.name for state_metric in state_metrics(samples)]
    assert names == ["lost_ratio", "class.web.lost_ratio"]


def test_rejected_arrivals_count_beside_those_that_came_in() -> None:
    stations = table("station", ["cpu"], arrival_count=[30.0], reject_count=[10.0], down_s=[20.0])
    values = state_values(window_of(stations))
    assert values == pytest.approx(
        {"station.cpu.reject_ratio": 0.25, "station.cpu.down_ratio": 0.1}
    )


def test_a_run_that_recorded_none_of_this_gives_nothing() -> None:
    classes = table("class", ["users"], completion_count=[3.0], jobs_s=[5.0])
    stations = table("station", ["cpu"], arrival_count=[3.0], completion_count=[3.0])
    assert state_values(window_of(classes, stations)) == {}


def test_too_many_pairs_have_no_figures_of_their_own() -> None:
    names = [f"s{n}.class.a" for n in range(MOST_PLACES + 1)]
    ones = [1.0] * len(names)
    assert (
        state_values(window_of(table("visit", names, completion_count=ones, wait_s_sum=ones))) == {}
    )


def test_every_figure_has_a_unit() -> None:
    values = state_values(window_of(table("class", ["web", "batch"], **CLASSES), VISITS, REQUESTS))
    samples = samples_of([values], {}, Column.MODEL)
    found = {metric.name: metric.unit for metric in state_metrics(samples)}
    assert set(found) == {name for name, value in values.items() if value}
    assert found["station.cpu.class.web.wait_s_mean"] == "s"
    others = samples_of([{"class.web.response_s_mean": 1.0, "throughput": 1.0}], {}, Column.MODEL)
    assert list(state_metrics(others)) == []


def test_tables_by_class_are_no_resources() -> None:
    run = window_of(VISITS, REQUESTS, table("station", ["cpu"], busy_s=[1.0])).run
    assert [resource.name for resource in resources_of(run)] == ["cpu"]


def test_times_by_jobs_present_are_parts_of_the_time_and_no_observations() -> None:
    ticks = Histogram(
        metric="station.cpu.jobs", bin_low=np.array([0.0, 1.0]), bin_high=np.array([1.0, 2.0]),
        counts=np.array([[30, 10], [30, 30]]), segment_end_times_s=np.array([50.0, 100.0]),
    )  # fmt: skip
    window = window_of(histograms=(ticks,))
    assert kept_bins(window) == {}
    assert kept_occupancies(window)["station.cpu.jobs"].counts.tolist() == [0.6, 0.4]


def test_the_time_of_a_job_leaves_out_the_work_that_it_does_not_wait_for() -> None:
    """Cause: a log that is written in the background took 188% of the time of a request."""
    log = table(
        "visit", ["log.class.web"], completion_count=[9.0], wait_s_sum=[900.0],
        queue_age_s=[0.0], response_s_sum=[990.0], age_s=[0.0], blocked_s_sum=[0.0],
    )  # fmt: skip
    run = Run(
        snapshot_times_s=np.array([100.0]),
        resources=(table("class", ["web", "batch"], **CLASSES), log),
        unawaited={"station": ("log",)},
    )
    window = open_window(run, cut_s=0.0)
    assert window is not None
    assert not [
        name for name in state_values(window) if ".station.log." in name and "share" in name
    ]
