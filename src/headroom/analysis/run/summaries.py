"""Reduce the kept part of a run to one number per metric.

Metric names are those that the systems declare: ``throughput``, ``response_s_mean``,
``response_s_p95``, ``jobs_mean``; the same per class as ``class.NAME.…``; and per resource
``station.NAME.…`` and ``pool.NAME.…``. Units are s, 1/s and 1.

Invariant: a metric that a run cannot give (the mean wait at a station that nobody visited) is
absent, never zero or not-a-number.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np

from headroom.analysis.run.distributions import Bins, statistic_of
from headroom.analysis.run.states import state_values
from headroom.analysis.run.windows import Window
from headroom.experiment.protocol.asked_metrics import statistics_of
from headroom.experiment.protocol.run import FloatArray, ResourceKind, ResourceTable

T = TypeVar("T")


def run_values(
    window: Window, bins: Mapping[str, Bins], asked: Collection[str] = ()
) -> dict[str, float]:
    """Return every metric of one replication after the warm-up cut.

    Parameters
    ----------
    window
        Kept part of the run.
    bins
        Kept distributions of the same window, by metric.
    asked
        Percentiles and shares to return besides those of every run.
    """
    values = dict(window.run.values)
    values.update(_series_means(window))
    values.update(_percentiles(window, bins, asked))
    stations, pools = window.table("station"), window.table("pool")
    if stations is not None:
        values.update(_named("station", stations.names, resource_columns(stations, window)))
    if pools is not None:
        values.update(_named("pool", pools.names, resource_columns(pools, window)))
    classes = window.table("class")
    if classes is not None:
        values.update(_class_values(classes, window))
    for table in (stations, pools):
        if table is not None and "queue_len" in table.maxima:
            longest = {"queue_len_max": table.maxima["queue_len"]}
            values.update(_named(table.kind, table.names, longest))
        if table is not None and "lag_s" in table.maxima:
            values.update(_named(table.kind, table.names, {"lag_s_max": table.maxima["lag_s"]}))
        if table is not None and "busy_share" in table.maxima:
            shares = table.maxima["busy_share"]
            busiest = {"utilization_max": np.where(shares > 0.0, shares, np.nan)}
            values.update(_named(table.kind, table.names, busiest))
    values.update(state_values(window))
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


TIME, CAPACITY, UP = "time", "capacity", "up"
"""Denominators that are no column: the length of the window (s), that times the capacity, and the
part of it in which servers are not broken."""

STATION_RATIOS = {
    "utilization": ("busy_s", UP),
    "queue_len_mean": ("queue_s", TIME),
    "jobs_mean": ("jobs_s", TIME),
    "wait_s_mean": ("wait_s_sum", "completion_count"),
    "response_s_mean": ("response_s_sum", "completion_count"),
    "throughput": ("completion_count", TIME),
}
POOL_RATIOS = {
    "utilization": ("held_s", CAPACITY),
    "queue_len_mean": ("queue_s", TIME),
    "wait_s_mean": ("wait_s_sum", "grant_count"),
    "throughput": ("grant_count", TIME),
}
_LEFT_RATIOS: Mapping[ResourceKind, dict[str, tuple[str, str]]] = {
    "station": {
        "servers_mean": ("capacity_s", TIME),
        "wait_s_mean": ("served_wait_s_sum", "completion_count"),
        "abandon_ratio": ("left_count", "arrival_count"),
        "abandon_rate": ("left_count", TIME),
        "abandon_wait_s_mean": ("left_wait_s_sum", "left_count"),
    },
    "pool": {
        "utilization": ("held_s", "capacity_s"),
        "tokens_mean": ("capacity_s", TIME),
        "wait_s_mean": ("served_wait_s_sum", "grant_count"),
        "abandon_ratio": ("abandon_count", "request_count"),
        "abandon_rate": ("abandon_count", TIME),
        "abandon_wait_s_mean": ("left_wait_s_sum", "abandon_count"),
    },
}
"""Where jobs leave lines or capacities change: the wait is that of those who are served."""
LEFT_METRICS = ("abandon_ratio", "abandon_rate", "abandon_wait_s_mean")
"""What only those have who leave a line before it is their turn."""


def more_ratios(
    kind: ResourceKind, columns: Mapping[str, FloatArray]
) -> Mapping[str, tuple[str, str]]:
    """Return the ratios that a table has instead of, or besides, those of every run.

    Examples
    --------
    >>> more_ratios("station", {"busy_s": np.zeros((1, 1))})
    {}
    """
    if "served_wait_s_sum" not in columns:
        return {}
    up_s = "capacity_s-down_s" if "down_s" in columns else "capacity_s"
    return _LEFT_RATIOS[kind] | ({"utilization": ("busy_s", up_s)} if kind == "station" else {})


ENDED = "completion_count+lost_count"
OUTCOME_RATIOS = {
    "offered": ("arrival_count", TIME),
    "goodput": ("completion_count-late_count", TIME),
    "lost_ratio": ("lost_count", ENDED),
    "reject_ratio": ("reject_count", ENDED),
    "abandon_ratio": ("abandon_count", ENDED),
    "fail_ratio": ("fail_count", ENDED),
    "late_ratio": ("late_count", ENDED),
    "failed_tries_mean": ("failed_try_count", ENDED),
}
"""What became of the jobs of a class, and of all: the shares are those of the jobs that ended."""


def outcome_ratios(columns: Collection[str]) -> Mapping[str, tuple[str, str]]:
    """Return those of `OUTCOME_RATIOS` that a table of classes can give.

    Examples
    --------
    >>> list(outcome_ratios(["arrival_count", "completion_count", "lost_count"]))
    ['lost_ratio']
    """
    names = OUTCOME_RATIOS if "fail_count" in columns else ("lost_ratio", "failed_tries_mean")
    return {
        name: OUTCOME_RATIOS[name]
        for name in names
        if "lost_count" in columns and OUTCOME_RATIOS[name][0].partition("-")[0] in columns
    }


def has_columns(gained: Collection[str], columns: str) -> bool:
    """Return whether all columns are there that an expression names."""
    return all(name in gained for name in re.split(r"[+-]", columns))


def column_of(gained: Mapping[str, FloatArray], columns: str) -> FloatArray:
    """Return the sum, or difference, of columns that an expression names.

    Examples
    --------
    >>> gained = {"completion_count": np.array([7.0]), "late_count": np.array([2.0])}
    >>> column_of(gained, "completion_count-late_count")
    array([5.])
    """
    first, *others = re.split(r"([+-])", columns)
    total = gained[first]
    for sign, name in zip(others[::2], others[1::2], strict=True):
        total = total + gained[name] if sign == "+" else total - gained[name]
    return total


CLASS_RATIOS = {
    "throughput": ("completion_count", TIME),
    "response_s_mean": ("response_s_sum", "completion_count"),
    "jobs_mean": ("jobs_s", TIME),
}
"""Each metric as numerator and denominator: columns of the table, or the time."""
MOVED_RATIOS = {"bytes_per_s": ("bytes", TIME)}
"""The same of classes whose jobs move bytes."""


def resource_columns(table: ResourceTable, window: Window) -> dict[str, FloatArray]:
    """Return each metric of all stations or pools over `window`; not-a-number where undefined."""
    ratios = STATION_RATIOS if table.kind == "station" else POOL_RATIOS
    return quotients(
        {**ratios, **more_ratios(table.kind, table.columns)},
        window.increments(table),
        capacity=table.capacity,
        length_s=window.length_s,
    )


def quotients(
    ratios: Mapping[str, tuple[str, str]],
    gained: Mapping[str, FloatArray],
    *,
    capacity: FloatArray,
    length_s: float,
) -> dict[str, FloatArray]:
    """Return each metric of all resources; not-a-number where undefined.

    Parameters
    ----------
    ratios
        Metric to its numerator and denominator.
    gained
        What each column gained, shape (resources,), or (intervals, resources) of intervals of
        equal length.
    capacity
        Shape (resources,).
    length_s
        Length (s) of the window, or of each interval.

    Examples
    --------
    >>> gained = {"busy_s": np.array([[1.0], [0.5]])}
    >>> quotients({"utilization": ("busy_s", CAPACITY)}, gained, capacity=np.ones(1), length_s=2.0)
    {'utilization': array([[0.5 ],
           [0.25]])}
    """
    found = {}
    for metric, (above, below) in ratios.items():
        if below == TIME:
            found[metric] = column_of(gained, above) / length_s
        elif below in {CAPACITY, UP}:
            down_s = gained.get("down_s", 0.0) if below == UP else 0.0
            found[metric] = _share(gained[above], capacity * length_s - down_s)
        else:
            found[metric] = _quotient(gained[above], column_of(gained, below))
    return found


def _class_values(table: ResourceTable, window: Window) -> dict[str, float]:
    gained = window.increments(table)
    total = {name: column.sum(keepdims=True) for name, column in gained.items()}
    length_s = window.length_s
    ratios = {**CLASS_RATIOS, **(MOVED_RATIOS if "bytes" in gained else {})}
    ratios |= outcome_ratios(gained)
    flow = quotients(ratios, gained, capacity=table.capacity, length_s=length_s)
    of_all = quotients(ratios, total, capacity=table.capacity, length_s=length_s)
    whole = {name: float(column[0]) for name, column in of_all.items()}
    return {**whole, **_named("class", table.names, flow)}


def _percentiles(
    window: Window, bins: Mapping[str, Bins], asked: Collection[str]
) -> dict[str, float]:
    values = {
        statistic.metric(metric): statistic_of(counted, statistic)
        for metric, counted in bins.items()
        for statistic in statistics_of(metric, asked)
    }
    classes = window.table("class")
    if classes is not None and len(classes.names) == 1:
        prefix = f"class.{classes.names[0]}."
        values.update({prefix + name: value for name, value in values.items()
                       if name.startswith("response_")})  # fmt: skip
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


def _share(busy_s: FloatArray, capacity_s: FloatArray) -> FloatArray:
    """Return the busy share of a finite capacity; not-a-number for an unlimited one, or none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = busy_s / capacity_s
    return np.where(np.isfinite(capacity_s) & (capacity_s > 0.0), share, np.nan)


def _quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), np.nan)
