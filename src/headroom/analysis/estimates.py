"""From the replications of a point to estimates with intervals, and rows for its resources.

The centre depends on the column: a simulated metric is a mean with a Student-t interval, a
measured one a median with an order-statistic interval, because measurements are skewed by
whatever else the machine does. A percentile of a simulated histogram is read from the merged
counts of all replications; its interval comes from their spread around it (sectioning).

Invariant: an estimate is of `count` replications; those that could not give the metric are not
counted.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headroom.analysis.distributions import PERCENTS, Bins, percentile
from headroom.analysis.intervals import Centre, Sample
from headroom.analysis.results import Estimate, Resource
from headroom.experiment.run import Run
from headroom.experiment.system import Column, Metric

_UNITS_BY_ENDING = {
    "throughput": ("1/s", "high"),
    "utilization": ("1", "none"),
    "queue_len_mean": ("1", "low"),
    "jobs_mean": ("1", "none"),
    "wait_s_mean": ("s", "low"),
    "response_s_mean": ("s", "low"),
}
_STATION_METRICS = tuple(_UNITS_BY_ENDING)
_POOL_METRICS = ("utilization", "queue_len_mean", "wait_s_mean", "throughput")


def samples_of(
    values: Sequence[Mapping[str, float]], merged: Mapping[str, Bins], column: Column
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
    """
    centre: Centre = "median" if column is Column.MEASURE else "mean"
    samples = {}
    for metric in dict.fromkeys(name for one in values for name in one):
        found = np.array([one[metric] for one in values if metric in one])
        samples[metric] = Sample(values=found, centre=centre)
    if column is Column.MODEL:
        samples.update(_pooled_percentiles(samples, merged))
    return samples


def _pooled_percentiles(
    samples: Mapping[str, Sample], merged: Mapping[str, Bins]
) -> dict[str, Sample]:
    pooled = {}
    for metric, bins in merged.items():
        for percent in PERCENTS:
            name = f"{metric}_p{percent}"
            value = percentile(bins, percent)
            for same in _names_of_the_same(name, samples):
                pooled[same] = Sample(values=samples[same].values, centre="pooled", pooled=value)
    return pooled


def _names_of_the_same(name: str, samples: Mapping[str, Sample]) -> Iterable[str]:
    """Return `name` and, with a single class, the name of the same metric of that class."""
    if name in samples:
        yield name
    aliases = [other for other in samples if other.startswith("class.") and other.endswith(name)]
    if len(aliases) == 1 and name.startswith("response_s_"):
        yield from aliases


def estimate_of(metric: Metric, sample: Sample) -> Estimate:
    """Return the estimate of one metric with its 95 % interval.

    Examples
    --------
    >>> sample = Sample(values=np.array([1.0, 2.0, 3.0]), centre="median")
    >>> estimate_of(Metric(name="wall_s", unit="s", better="low"), sample).note
    '3 replications give no 95 % interval of the median: run 6 or more'
    """
    interval = sample.interval()
    values = sample.values
    return Estimate(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        count=sample.count,
        value=interval.value,
        low=interval.low,
        high=interval.high,
        method=interval.method,
        centre=sample.centre,
        mean=float(np.mean(values)),
        median=float(np.median(values)),
        stdev=float(np.std(values, ddof=1)) if sample.count > 1 else 0.0,
        minimum=float(np.min(values)),
        maximum=float(np.max(values)),
        note=interval.note,
    )


def estimates_of(declared: Iterable[Metric], samples: Mapping[str, Sample]) -> dict[str, Estimate]:
    """Return the estimate of each declared metric that has a sample, in declared order."""
    return {
        metric.name: estimate_of(metric, samples[metric.name])
        for metric in declared
        if metric.name in samples
    }


def resources_of(run: Run, samples: Mapping[str, Sample]) -> list[Resource]:
    """Return one row per station and pool of a point, stations first.

    Parameters
    ----------
    run
        Any sound run of the point, for names and capacities.
    samples
        Samples by qualified name, e.g. ``station.cpu.utilization``.
    """
    rows = []
    for table in sorted(run.resources, key=lambda table: table.kind, reverse=True):
        if table.kind == "class":
            continue
        metrics = _STATION_METRICS if table.kind == "station" else _POOL_METRICS
        for name, capacity in zip(table.names, table.capacity, strict=True):
            estimates = _unqualified(f"{table.kind}.{name}.", metrics, samples)
            rows.append(
                Resource(kind=table.kind, name=name, capacity=float(capacity), estimates=estimates)
            )
    return rows


def _unqualified(
    prefix: str, metrics: Iterable[str], samples: Mapping[str, Sample]
) -> dict[str, Estimate]:
    return {
        name: estimate_of(_resource_metric(name), samples[prefix + name])
        for name in metrics
        if prefix + name in samples
    }


def _resource_metric(name: str) -> Metric:
    unit, better = _UNITS_BY_ENDING[name]
    return Metric(name=name, unit=unit, better=better)  # type: ignore[arg-type]
