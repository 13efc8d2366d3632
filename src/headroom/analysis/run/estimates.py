"""Compute estimates with intervals, and the list of resources, from the replications of a point.

The centre depends on the column. A simulated metric is a mean with an interval from the batches of
its replications. A measured metric is a median with an order-statistic interval, because other
activity on the machine skews measurements. Settings that a system chose have neither
(`headroom.analysis.run.choices`). A percentile of a simulated histogram is read from the
merged counts of all replications, and its interval from their segments.

Invariant: an estimate is of `count` replications; those that could not give the metric are not
counted.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from headroom.analysis.results import Estimate, Resource
from headroom.analysis.run.choices import with_choices
from headroom.analysis.run.distributions import Bins, statistic_of
from headroom.analysis.statistics.intervals import (
    Centre,
    Sample,
    mean_deviation_of,
    mean_of,
    median_of_sorted,
    squares_around,
)
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.asked_metrics import asked_metric, is_share_within, statistics_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Direction, Metric

_UNITS_BY_ENDING: dict[str, tuple[str, Direction]] = {
    "throughput": ("1/s", "high"),
    "utilization": ("1", "none"),
    "utilization_max": ("1", "none"),
    "queue_len_mean": ("1", "low"),
    "queue_len_max": ("1", "low"),
    "jobs_mean": ("1", "none"),
    "wait_s_mean": ("s", "low"),
    "response_s_mean": ("s", "low"),
}
_NEVER_BELOW_ZERO = (
    "_ratio", "_share", "failed_tries_mean", "utilization", "throughput",
    "queue_len_mean", "queue_len_max", "jobs_mean", "wait_s_mean", "response_s_mean",
)  # fmt: skip
"""Endings of shares, rates, numbers of jobs and times that jobs spend."""
_RESOURCE_KINDS: tuple[Literal["station", "pool"], ...] = ("station", "pool")
_SHARE = ".utilization"
_STATION_METRICS = tuple(_UNITS_BY_ENDING)
_POOL_METRICS = ("utilization", "queue_len_mean", "queue_len_max", "wait_s_mean", "throughput")


def samples_of(
    values: Sequence[Mapping[str, float]],
    merged: Mapping[str, Bins],
    column: Column,
    spreads: Mapping[str, Spread] | None = None,
    asked: Collection[str] = (),
) -> dict[str, Sample]:
    """Return one sample per metric that at least one replication gave.

    Parameters
    ----------
    values
        Metrics of each sound replication.
    merged
        Distributions merged over the same replications, for percentiles.
    column
        Whether means or medians speak for the point.
    spreads
        Errors from the batches of all replications, by metric, where they are known.
    asked
        Percentiles and shares of the distributions besides those of every point.
    """
    centre: Centre = "median" if column is Column.MEASURE else "mean"
    samples = {}
    for metric in dict.fromkeys(name for value in values for name in value):
        found = np.array([value[metric] for value in values if metric in value])
        samples[metric] = Sample(values=found, centre=centre)
    if column is not Column.MODEL:
        return samples
    samples.update(_pooled_percentiles(samples, merged, asked))
    return {
        name: replace(sample, spread=(spreads or {}).get(name))
        if sample.count == len(values)
        else sample
        for name, sample in samples.items()
    }


def _pooled_percentiles(
    samples: Mapping[str, Sample], merged: Mapping[str, Bins], asked: Collection[str]
) -> dict[str, Sample]:
    pooled = {}
    for metric, bins in merged.items():
        for statistic in statistics_of(metric, asked):
            value = statistic_of(bins, statistic)
            for same in _names_of_the_same(statistic.metric(metric), samples):
                pooled[same] = Sample(values=samples[same].values, centre="pooled", pooled=value)
    return pooled


def _names_of_the_same(name: str, samples: Mapping[str, Sample]) -> Iterable[str]:
    """Return `name` and, with a single class, the name of the same metric of that class."""
    if name in samples:
        yield name
    aliases = [other for other in samples if other.startswith("class.") and other.endswith(name)]
    if len(aliases) == 1 and name.startswith("response_"):
        yield from aliases


def estimate_of(metric: Metric, sample: Sample) -> Estimate:
    """Return the estimate of one metric with its 95% interval.

    Examples
    --------
    >>> sample = Sample(values=np.array([1.0, 2.0, 3.0]), centre="median")
    >>> estimate_of(Metric(name="wall_s", unit="s", better="low"), sample).reason.code
    'few_for_median'
    """
    interval = sample.interval()
    ordered = np.sort(sample.values)
    mean = mean_of(sample.values)
    spread = squares_around(sample.values, mean) / max(sample.count - 1, 1)
    return Estimate(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        count=sample.count,
        value=interval.value,
        low=_at_least_none(metric, interval.low),
        high=_at_most_full(metric, interval.high),
        method=interval.method,
        centre=sample.centre,
        mean=mean,
        median=median_of_sorted(ordered),
        stdev=math.sqrt(spread),
        minimum=float(ordered[0]),
        maximum=float(ordered[-1]),
        mean_deviation=mean_deviation_of(sample.values, mean),
        reason=interval.reason,
    )


def _at_most_full(metric: Metric, high: float | None) -> float | None:
    """Return the upper end of an interval; no station or pool is ever busier than full."""
    is_busy = metric.name.startswith(("station.", "pool.")) and metric.name.endswith(_SHARE)
    is_share = is_busy or is_share_within(metric.name)
    return min(high, 1.0) if high is not None and is_share else high


def _at_least_none(metric: Metric, low: float | None) -> float | None:
    """Return the lower end of an interval; some quantities are never below zero."""
    is_never_less = metric.name.endswith(_NEVER_BELOW_ZERO) or asked_metric(metric.name)
    return max(low, 0.0) if low is not None and is_never_less else low


def estimates_of(declared: Iterable[Metric], samples: Mapping[str, Sample]) -> dict[str, Estimate]:
    """Return one estimate for each metric that has a sample, in declared order."""
    found = {
        name: estimate_of(metric, samples[name])
        for name, metric in _by_name(declared).items()
        if name in samples
    }
    return with_choices(found, samples)


def _by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Return the metrics by name; the first of a name says what it means."""
    found: dict[str, Metric] = {}
    for metric in metrics:
        found.setdefault(metric.name, metric)
    return found


def resources_of(run: Run) -> list[Resource]:
    """Return the stations and pools of a point, stations first.

    Parameters
    ----------
    run
        Any sound run of the point, for names and capacities.
    """
    return [
        Resource(
            kind=kind, name=name, capacity=float(capacity) if math.isfinite(capacity) else None
        )
        for kind in _RESOURCE_KINDS
        for table in run.resources
        if table.kind == kind
        for name, capacity in zip(table.names, table.capacity, strict=True)
    ]


def resource_metrics(resources: Iterable[Resource]) -> Iterator[Metric]:
    """Yield every metric that the analysis knows of the resources, qualified."""
    for resource in resources:
        names = _STATION_METRICS if resource.kind == "station" else _POOL_METRICS
        for name in names:
            unit, better = _UNITS_BY_ENDING[name]
            yield Metric(name=f"{resource.kind}.{resource.name}.{name}", unit=unit, better=better)
