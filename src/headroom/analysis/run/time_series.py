"""Time series of a run: the metrics of each station, pool and class, interval by interval.

The samples of a run are cumulative, so each interval is the difference of two samples. A value
belongs to the interval that ends at its time. The warm-up is included, because readers want to see
it.

Invariant: the metrics are those of `headroom.analysis.run.summaries`, over one interval instead of
over the kept part of a run; a value that an interval cannot give is not-a-number.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from headroom.analysis.results import SeriesLine, TimeSeries
from headroom.analysis.run.summaries import (
    CAPACITY,
    CLASS_RATIOS,
    POOL_RATIOS,
    STATION_RATIOS,
    TIME,
    UP,
    has_columns,
    more_ratios,
    quotients,
)
from headroom.experiment.protocol.run import FloatArray, ResourceTable, Run, TimeSamples

PARTS_AT_MOST = 6
"""Stations and pools of a point whose series are stored as a picture."""
CLASSES_AT_MOST = 4
"""Classes whose series are stored as well."""
VALUES_AT_MOST = 200
"""Values of a series that is stored as a picture."""
_DIGITS = 5
_RATIOS: dict[str, Mapping[str, tuple[str, str]]] = {
    "station": STATION_RATIOS,
    "pool": POOL_RATIOS,
    "class": CLASS_RATIOS,
}
_UNITS = {"throughput": "1/s", "response_s_mean": "s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSeries:
    """One metric of one station, pool or class over time.

    Parameters
    ----------
    kind, name
        The part.
    metric
        Metric without ``KIND.NAME.``.
    unit
        Its unit.
    values
        Shape (intervals,). The metric over each interval, not-a-number where it has none.
    """

    kind: str
    name: str
    metric: str
    unit: str
    values: FloatArray

    @property
    def full_name(self) -> str:
        """The metric as studies name it, e.g. ``station.cpu.utilization``."""
        return f"{self.kind}.{self.name}.{self.metric}"


def part_series(samples: TimeSamples) -> Iterator[PartSeries]:
    """Yield the series of each part: stations, then pools, then classes.

    Examples
    --------
    >>> table = ResourceTable(kind="pool", names=("locks",), capacity=np.array([2.0]), columns={
    ...     "held_s": np.array([[1.0], [1.0]]), "queue_s": np.array([[0.0], [0.0]]),
    ...     "grant_count": np.array([[3.0], [4.0]])})
    >>> for one in part_series(TimeSamples(times_s=np.array([0.5, 1.0]), tables=(table,))):
    ...     print(one.full_name, one.values)
    pool.locks.utilization [1. 0.]
    pool.locks.queue_len_mean [0. 0.]
    pool.locks.throughput [6. 2.]
    """
    if not samples.times_s.size:
        return
    for table in samples.tables:
        columns = _columns(table, float(samples.times_s[0]))
        for place, name in enumerate(table.names):
            for metric, column in columns.items():
                values = column[:, place]
                if np.isfinite(values).any():
                    unit = _UNITS.get(metric, "1")
                    yield PartSeries(
                        kind=table.kind, name=name, metric=metric, unit=unit, values=values
                    )


def _columns(table: ResourceTable, length_s: float) -> dict[str, FloatArray]:
    """Return each metric that the columns of `table` give, shape (intervals, parts)."""
    gained = {
        name: np.diff(column, axis=0, prepend=np.zeros((1, column.shape[1])))
        for name, column in table.columns.items()
    }
    more = more_ratios(table.kind, table.columns)
    given = {
        metric: ratio
        for metric, ratio in {**_RATIOS[table.kind], **more}.items()
        if ratio[0] in gained
        and (ratio[1] in {TIME, CAPACITY, UP} or has_columns(gained, ratio[1]))
    }
    return quotients(given, gained, capacity=table.capacity, length_s=length_s)


def thinned_samples(samples: TimeSamples, *, at_most: int) -> TimeSamples:
    """Return the samples at a multiple of their distance, so that there are at most `at_most`."""
    step = -(-samples.times_s.size // at_most)
    if step <= 1:
        return samples
    kept = np.arange(step - 1, samples.times_s.size, step)
    return TimeSamples(
        times_s=samples.times_s[kept],
        tables=tuple(
            ResourceTable(
                kind=table.kind,
                names=table.names,
                capacity=table.capacity,
                columns={name: column[kept] for name, column in table.columns.items()},
            )
            for table in samples.tables
        ),
    )


def pictured_series(runs: Sequence[Run]) -> TimeSeries | None:
    """Return the picture of the first run that kept its samples, None if none did.

    Kept are the `PARTS_AT_MOST` stations and pools that are busiest, and the `CLASSES_AT_MOST`
    classes with the most jobs.
    """
    found = next((run.samples for run in runs if run.samples is not None), None)
    if found is None or not found.times_s.size:
        return None
    samples = thinned_samples(found, at_most=VALUES_AT_MOST)
    series = list(part_series(samples))
    classes = [one for one in series if one.kind == "class"]
    others = [one for one in series if one.kind != "class"]
    kept = _fullest(others, "utilization", PARTS_AT_MOST)
    kept |= _fullest(classes, "jobs_mean", CLASSES_AT_MOST)
    parts = {(one.kind, one.name) for one in series}
    return TimeSeries(
        step_s=float(samples.times_s[0]),
        count=int(samples.times_s.size),
        lines=[
            SeriesLine(
                kind=one.kind,
                name=one.name,
                metric=one.metric,
                unit=one.unit,
                values=[_rounded(value) for value in one.values.tolist()],
            )
            for one in series
            if (one.kind, one.name) in kept
        ],
        parts_left_out=len(parts) - len(kept),
    )


def _fullest(series: Sequence[PartSeries], metric: str, at_most: int) -> set[tuple[str, str]]:
    """Return the parts with the largest mean of `metric`; those without it come last."""
    parts = list(dict.fromkeys((one.kind, one.name) for one in series))
    means = {
        (one.kind, one.name): float(np.nanmean(one.values))
        for one in series
        if one.metric == metric
    }
    return set(sorted(parts, key=lambda part: -means.get(part, -1.0))[:at_most])


def _rounded(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if isfinite(value) else None
