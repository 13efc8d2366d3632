"""Metrics from tables and histograms: against visits known individually."""

from typing import Literal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.results import Resource
from headroom.analysis.run.distributions import (
    MOST_BINS,
    Bins,
    kept_bins,
    merge,
    percentiles,
    thinned,
)
from headroom.analysis.run.estimates import (
    estimate_of,
    estimates_of,
    resource_metrics,
    resources_of,
    samples_of,
)
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import open_window
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.run import FloatArray, Histogram, ResourceTable, Run, Series
from headroom.experiment.protocol.system import Column, Metric
from tests.support.example_runs import mm1_run, queue, station_run

STATION_COLUMNS = ("busy_s", "queue_s", "jobs_s", "wait_s_sum", "response_s_sum",
                   "arrival_count", "completion_count")  # fmt: skip
POOL_COLUMNS = ("held_s", "queue_s", "wait_s_sum", "grant_count")


def values_after(run: Run, cut_s: float) -> dict[str, float]:
    window = open_window(run, cut_s=cut_s)
    assert window is not None
    return run_values(window, kept_bins(window))


def test_the_metrics_of_a_window_are_those_of_the_visits_within_it() -> None:
    """Three jobs arrive at 1, 2, 3 s and need 2 s each: service 1-3, 3-5, 5-7 s."""
    visits = queue(np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]))
    values = values_after(station_run({"cpu": visits}, np.array([4.0, 8.0])), 4.0)
    assert values["throughput"] == 2 / 4
    assert values["station.cpu.utilization"] == 3 / 4
    assert values["station.cpu.response_s_mean"] == (3 + 4) / 2
    assert values["station.cpu.queue_len_mean"] == 1 / 4
    assert values["station.cpu.jobs_mean"] == values["jobs_mean"] == (1 + 3) / 4
    assert values["class.jobs.throughput"] == values["throughput"]
    assert values["class.jobs.response_s_p99"] == values["response_s_p99"]


def test_a_window_starts_at_the_first_snapshot_at_or_after_the_cut() -> None:
    run = station_run({"cpu": queue(np.ones(9), np.full(9, 0.5))}, np.arange(1.0, 11.0))
    for cut_s, start_s in ((0.0, 0.0), (2.0, 2.0), (2.1, 3.0), (8.9, 9.0)):
        window = open_window(run, cut_s=cut_s)
        assert window is not None
        assert window.start_s == start_s
    assert open_window(run, cut_s=9.5) is None
    assert open_window(run, cut_s=99.0) is None


def test_a_metric_that_nobody_could_observe_is_absent() -> None:
    visits = queue(np.array([1.0]), np.array([1.0]))
    idle = np.array([[50.0, 50.0, 51.0]])
    values = values_after(station_run({"cpu": visits, "disk": idle}, np.array([5.0, 9.0])), 0.0)
    assert values["station.disk.utilization"] == 0.0
    assert "station.disk.wait_s_mean" not in values
    assert all(np.isfinite(value) for value in values.values())


def test_a_pool_is_reported_by_tokens_and_grants() -> None:
    table = ResourceTable(
        kind="pool",
        names=("connections",),
        capacity=np.array([4.0]),
        columns={
            "grant_count": np.array([[0.0], [10.0]]),
            "wait_s_sum": np.array([[0.0], [5.0]]),
            "held_s": np.array([[0.0], [20.0]]),
            "queue_s": np.array([[0.0], [6.0]]),
        },
    )
    values = values_after(Run(snapshot_times_s=np.array([5.0, 15.0]), resources=(table,)), 5.0)
    assert values == {
        "pool.connections.utilization": 0.5,
        "pool.connections.queue_len_mean": 0.6,
        "pool.connections.wait_s_mean": 0.5,
        "pool.connections.throughput": 1.0,
    }


def idle_table(kind: Literal["station", "pool"], columns: tuple[str, ...]) -> ResourceTable:
    return ResourceTable(
        kind=kind,
        names=("x", "y"),
        capacity=np.ones(2),
        columns={name: np.zeros((2, 2)) for name in columns},
        maxima={"queue_len": np.array([7.0, 0.0])},
    )


def test_the_longest_queue_is_that_of_the_whole_run() -> None:
    tables = (idle_table("station", STATION_COLUMNS), idle_table("pool", POOL_COLUMNS))
    run = Run(snapshot_times_s=np.array([1.0, 2.0]), resources=tables)
    values = values_after(run, 1.0)
    longest = {name: value for name, value in values.items() if name.endswith("queue_len_max")}
    assert longest == {
        "station.x.queue_len_max": 7.0,
        "station.y.queue_len_max": 0.0,
        "pool.x.queue_len_max": 7.0,
        "pool.y.queue_len_max": 0.0,
    }
    samples = samples_of([values], {}, Column.MODEL)
    estimates = estimates_of(resource_metrics(resources_of(run)), samples)
    assert estimates["station.x.queue_len_max"].value == 7.0
    assert estimates["pool.x.queue_len_max"].unit == "1"


def test_a_series_without_tables_reports_its_mean_after_the_cut() -> None:
    series = Series(
        metric="response_s", values=np.array([9.0, 1.0, 3.0]), end_times_s=np.array([1.0, 2.0, 3.0])
    )
    assert values_after(Run(series=(series,)), 1.0)["response_s_mean"] == 2.0


@given(st.lists(st.floats(0.0, 50.0), min_size=1, max_size=300), st.sampled_from([5, 50, 95, 99]))
def test_a_percentile_is_off_by_less_than_two_bins(values: list[float], percent: int) -> None:
    """Oracle: the order statistics on both sides of the rank, from the raw values."""
    width = 0.5
    places = np.floor(np.array(values) / width)
    low, counts = np.unique(places, return_counts=True)
    bins = Bins(low * width, (low + 1) * width, counts.astype(np.float64))
    ordered = np.sort(values)
    rank = percent / 100 * len(values)
    below = ordered[max(int(np.ceil(rank)) - 1, 0)]
    above = ordered[min(int(np.floor(rank)), len(values) - 1)]
    assert below - width <= percentiles(bins, [percent])[0] <= above + width


def test_merged_histograms_give_the_percentile_of_all_and_not_the_mean_of_percentiles() -> None:
    """99 quick requests in one run, 1 slow one in the other: half of all p50 values mislead."""
    quick = Bins(np.array([0.0]), np.array([1.0]), np.array([99.0]))
    slow = Bins(np.array([100.0]), np.array([101.0]), np.array([1.0]))
    assert percentiles(merge([quick, slow]), [50])[0] < 1.0
    assert (percentiles(quick, [50])[0] + percentiles(slow, [50])[0]) / 2 > 50.0


@given(st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=50), min_size=1, max_size=5))
def test_merging_and_thinning_keep_every_count(runs: list[list[int]]) -> None:
    parts = []
    for places in runs:
        low, counts = np.unique(places, return_counts=True)
        parts.append(Bins(low.astype(np.float64), low + 1.0, counts.astype(np.float64)))
    merged = merge(parts)
    assert merged.total == sum(len(places) for places in runs)
    assert np.all(np.diff(merged.low) > 0)
    drawn = thinned(merged)
    assert drawn.total == merged.total
    assert drawn.counts.size <= MOST_BINS
    assert (drawn.low[0], drawn.high[-1]) == (merged.low[0], merged.high[-1])


def test_a_cut_drops_whole_segments_of_a_histogram() -> None:
    histogram = Histogram(
        metric="response_s",
        bin_low=np.array([0.0, 5.0]),
        bin_high=np.array([1.0, 6.0]),
        counts=np.array([[0, 9], [4, 0], [6, 0]]),
        segment_end_times_s=np.array([1.0, 2.0, 3.0]),
    )
    run = Run(histograms=(histogram,), snapshot_times_s=np.array([0.5, 1.5, 3.0]))
    for cut_s, expected in ((0.0, 19), (0.5, 10), (1.5, 6)):
        window = open_window(run, cut_s=cut_s)
        assert window is not None
        assert kept_bins(window)["response_s"].total == expected


def test_several_classes_are_merged_into_the_response_of_all() -> None:
    histograms = tuple(
        Histogram(
            metric=f"class.{name}.response_s",
            bin_low=np.array([low]),
            bin_high=np.array([low + 1.0]),
            counts=np.array([[count]]),
            segment_end_times_s=np.array([1.0]),
        )
        for name, low, count in (("read", 0.0, 90), ("write", 7.0, 10))
    )
    window = open_window(Run(histograms=histograms, snapshot_times_s=np.array([1.0])), cut_s=0.0)
    assert window is not None
    bins = kept_bins(window)
    assert bins["response_s"].total == 100
    assert percentiles(bins["response_s"], [95])[0] > 7.0


def runs_of(values: FloatArray, metric: str) -> list[dict[str, float]]:
    return [{metric: float(value)} for value in values]


def test_a_measured_metric_is_a_median_and_a_simulated_one_a_mean() -> None:
    values = runs_of(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 8.0]), "wall_s")
    metric = Metric(name="wall_s", unit="s", better="low")
    measured = estimate_of(metric, samples_of(values, {}, Column.MEASURE)["wall_s"])
    simulated = estimate_of(metric, samples_of(values, {}, Column.MODEL)["wall_s"])
    assert (measured.value, measured.centre, measured.method) == (1.0, "median", "order statistics")
    assert (simulated.value, simulated.centre, simulated.method) == (2.0, "mean", "student-t")
    assert measured.mean == simulated.value


def test_a_metric_that_some_replications_lack_counts_the_others() -> None:
    values = [{"a": 1.0}, {}, {"a": 3.0}]
    assert samples_of(values, {}, Column.MODEL)["a"].count == 2


def test_a_resource_finds_its_estimates_among_those_of_the_point() -> None:
    run = mm1_run(load=0.5, jobs=200, seed=1)
    window = open_window(run, cut_s=0.0)
    assert window is not None
    values = [run_values(window, kept_bins(window))] * 2
    (cpu,) = resources_of(run)
    estimates = estimates_of(resource_metrics([cpu]), samples_of(values, {}, Column.MODEL))
    found = cpu.estimates_among({**estimates, "throughput": estimates["station.cpu.throughput"]})
    assert {f"station.cpu.{metric}" for metric in found} == set(estimates)
    assert found["utilization"].value == values[0]["station.cpu.utilization"]


def test_a_station_whose_name_starts_like_another_keeps_to_itself() -> None:
    metric = Metric(name="station.cpu.cache.throughput", unit="1/s")
    estimates = {metric.name: estimate_of(metric, Sample(values=np.array([1.0, 2.0])))}
    cpu, cache = (Resource(kind="station", name=n, capacity=1.0) for n in ("cpu", "cpu.cache"))
    assert not cpu.estimates_among(estimates)
    assert set(cache.estimates_among(estimates)) == {"throughput"}
