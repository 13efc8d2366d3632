"""Dispersion of all metrics: names, hand-made batches, percentiles against a closed form."""

from dataclasses import replace

import numpy as np
import pytest

from headroom.analysis.run.batches import spreads_of
from headroom.analysis.run.distributions import kept_bins, merge_by_metric
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import Window, open_window
from headroom.simulation import Model, exponential, simulate
from headroom.systems.model.conversion import run_of


def windows(count: int, *, completions: int = 5_000, load: float = 0.5) -> list[Window]:
    """Return the kept parts of independent M/M/1 queues of mean service 1 s."""
    model = Model("queue", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("server"), exponential(1.0))
    model.open_class("jobs", visit, interarrival=exponential(1.0 / load))
    runs = [run_of(simulate(model, seed=seed, completions=completions)) for seed in range(count)]
    found = [open_window(run, cut_s=50.0) for run in runs]
    return [window for window in found if window is not None]


def test_every_mean_and_percentile_of_a_simulated_queue_has_a_spread() -> None:
    kept = windows(2)
    bins = [kept_bins(window) for window in kept]
    spreads = spreads_of(kept, merge_by_metric(bins), batches=10)
    means = ("utilization", "throughput", "queue_len_mean", "jobs_mean", "_s_mean")
    expected = {
        metric
        for metric, value in run_values(kept[0], bins[0]).items()
        if value
        and metric.endswith((*means, "_p50", "_p95", "_p99"))
        and not metric.startswith("visit.")
    }
    assert {"throughput", "response_s_p99", "station.server.utilization"} <= expected
    missing = {name for name in expected - set(spreads) if "time_s" not in name}
    assert not missing


def test_the_share_of_jobs_turned_away_has_a_spread_that_reaches_the_known_loss() -> None:
    """Oracle: M/M/1/5 at load 0.8 loses 0.088819 of its jobs."""
    model = Model("door", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("door", buffer=4, when_full="reject"), exponential(1.0))
    model.open_class("jobs", visit, interarrival=exponential(1.25))
    run = run_of(simulate(model, seed=1, completions=50_000))
    window = open_window(run, cut_s=50.0)
    assert window is not None
    values, found = run_values(window, {}), spreads_of([window], {}, batches=20)
    for metric in ("class.jobs.lost_ratio", "station.door.reject_ratio"):
        low, high = found[metric].bounds(values[metric], 3.9)
        assert low < 0.088819 < high
        assert 0.001 < high - low < 0.03
    assert "station.door.down_ratio" not in found


def test_the_error_of_a_utilization_is_that_of_its_snapshots_taken_one_by_one() -> None:
    """Oracle: as many batches as intervals; weighted squares around the common mean."""
    (window,) = windows(1)
    table = window.table("station")
    assert table is not None
    busy_s = np.diff(window.snapshots(table.columns["busy_s"])[:, 0])
    lengths_s = np.diff(window.times_s())
    mean = busy_s.sum() / lengths_s.sum()
    shares = lengths_s / lengths_s.sum()
    residuals = (busy_s - mean * lengths_s) / lengths_s.sum()
    variance = np.sum(residuals**2 / shares) / (lengths_s.size - 1)
    found = spreads_of([window], {}, batches=100 * lengths_s.size)["station.server.utilization"]
    assert found.standard_error == pytest.approx(np.sqrt(variance))
    assert found.degrees == pytest.approx(
        1.0 / (1.0 / (lengths_s.size - 1) + found.skewness**2 / 4.0)
    )


def test_errors_agree_with_the_spread_of_many_independent_experiments() -> None:
    """Standard errors of mean and p95, averaged, against the deviation of 60 estimates."""
    errors, values = [], []
    for window in windows(60):
        bins = kept_bins(window)
        spread = spreads_of([window], bins, batches=20)
        value = run_values(window, bins)
        names = ("response_s_mean", "response_s_p95", "station.server.queue_len_mean")
        errors.append([spread[name].standard_error for name in names])
        values.append([value[name] for name in names])
    deviations = np.std(values, axis=0, ddof=1)
    assert np.mean(errors, axis=0) == pytest.approx(deviations, rel=0.3)


def test_runs_with_other_classes_than_the_first_have_no_spread_by_class() -> None:
    """Cause: a measured run too short for one sync has no class of syncs, and the sums broke."""
    first, second = windows(2)
    (classes,) = [table for table in second.run.resources if table.kind == "class"]
    other = replace(classes, names=("others",))
    rest = tuple(table for table in second.run.resources if table.kind != "class")
    changed = replace(second, run=replace(second.run, resources=(*rest, other)))
    spreads = spreads_of([first, changed], {}, batches=10)
    assert "station.server.utilization" in spreads
    assert not any(name.startswith("class.") for name in spreads)
