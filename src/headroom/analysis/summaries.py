"""From the kept part of a run to one number per metric.

Metric names are those that the systems declare: ``throughput``, ``response_s_mean``,
``response_s_p95``, ``jobs_mean``; the same per class as ``class.NAME.…``; per resource
``station.NAME.…`` and ``pool.NAME.…``. Units are s, 1/s and 1.

Invariant: a metric that a run cannot give (the mean wait at a station that nobody visited) is
absent, never zero or not-a-number.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from headroom.analysis.distributions import PERCENTS, Bins, percentiles
from headroom.analysis.windows import Window, per_second
from headroom.experiment.run import FloatArray, ResourceTable

T = TypeVar("T")


def run_values(window: Window, bins: Mapping[str, Bins]) -> dict[str, float]:
    """Return every metric of one replication after the warm-up cut.

    Parameters
    ----------
    window
        Kept part of the run.
    bins
        Kept distributions of the same window, by metric.
    """
    values = dict(window.run.values)
    values.update(_series_means(window))
    values.update(_percentiles(window, bins))
    stations, pools = window.table("station"), window.table("pool")
    if stations is not None:
        values.update(_named("station", stations.names, station_columns(stations, window)))
    if pools is not None:
        values.update(_named("pool", pools.names, pool_columns(pools, window)))
    classes = window.table("class")
    if classes is not None:
        values.update(_class_values(classes, window))
    return {name: value for name, value in values.items() if np.isfinite(value)}


def without_classes(found: Mapping[str, T], classes: Sequence[str]) -> dict[str, T]:
    """Return metrics without those that belong to one of `classes`.

    Examples
    --------
    >>> without_classes({"throughput": 2, "class.a.throughput": 1}, ["a"])
    {'throughput': 2}
    """
    prefixes = tuple(f"class.{name}." for name in classes)
    return {name: value for name, value in found.items() if not name.startswith(prefixes)}


def station_columns(table: ResourceTable, window: Window) -> dict[str, FloatArray]:
    """Return each metric of all stations over `window`; not-a-number where undefined."""
    gained = window.increments(table)
    completions = gained["completion_count"]
    return {
        "utilization": _share(gained["busy_s"], table.capacity, window),
        "queue_len_mean": per_second(gained, "queue_s", window),
        "jobs_mean": per_second(gained, "jobs_s", window),
        "wait_s_mean": _quotient(gained["wait_s_sum"], completions),
        "response_s_mean": _quotient(gained["response_s_sum"], completions),
        "throughput": per_second(gained, "completion_count", window),
    }


def pool_columns(table: ResourceTable, window: Window) -> dict[str, FloatArray]:
    """Return each metric of all pools over `window`; not-a-number where undefined."""
    gained = window.increments(table)
    return {
        "utilization": _share(gained["held_s"], table.capacity, window),
        "queue_len_mean": per_second(gained, "queue_s", window),
        "wait_s_mean": _quotient(gained["wait_s_sum"], gained["grant_count"]),
        "throughput": per_second(gained, "grant_count", window),
    }


def _class_values(table: ResourceTable, window: Window) -> dict[str, float]:
    gained = window.increments(table)
    total = {name: column.sum(keepdims=True) for name, column in gained.items()}
    whole = {name: float(column[0]) for name, column in _flow(total, window).items()}
    return {**whole, **_named("class", table.names, _flow(gained, window))}


def _flow(gained: Mapping[str, FloatArray], window: Window) -> dict[str, FloatArray]:
    return {
        "throughput": per_second(gained, "completion_count", window),
        "response_s_mean": _quotient(gained["response_s_sum"], gained["completion_count"]),
        "jobs_mean": per_second(gained, "jobs_s", window),
    }


def _percentiles(window: Window, bins: Mapping[str, Bins]) -> dict[str, float]:
    values = {}
    for metric, counted in bins.items():
        for percent, value in zip(PERCENTS, percentiles(counted), strict=True):
            values[f"{metric}_p{percent}"] = value
    classes = window.table("class")
    if classes is not None and len(classes.names) == 1:
        prefix = f"class.{classes.names[0]}."
        values.update({prefix + name: value for name, value in values.items()
                       if name.startswith("response_s_")})  # fmt: skip
    return values


def _series_means(window: Window) -> dict[str, float]:
    """Return the mean of each series after the cut, for systems that keep no tables."""
    means = {}
    for series in window.run.series:
        kept = series.values
        if series.end_times_s is not None:
            kept = kept[series.end_times_s > window.start_s]
        if kept.size:
            means[f"{series.metric}_mean"] = float(kept.mean())
    return means


def _named(
    kind: str, names: tuple[str, ...], columns: Mapping[str, FloatArray]
) -> dict[str, float]:
    return {
        f"{kind}.{name}.{metric}": float(column[place])
        for metric, column in columns.items()
        for place, name in enumerate(names)
    }


def _share(busy_s: FloatArray, capacity: FloatArray, window: Window) -> FloatArray:
    """Return the busy share of a finite capacity; not-a-number for an unlimited one."""
    with np.errstate(invalid="ignore"):
        share = busy_s / (capacity * window.length_s)
    return np.where(np.isfinite(capacity), share, np.nan)


def _quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), np.nan)
