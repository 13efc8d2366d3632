"""Windows of a run: metrics of a peak hour, of each interval, or of the worst interval.

A run keeps its cumulative statistics at the ends of intervals, and the completions within each. A
window consists of whole intervals, so every metric of a run is also available for a window.
Responses belong to the window in which they *complete*. Hence every completion counts in exactly
one interval, the windows of a run add up to the run, and throughput and response times cover the
same jobs.

Invariant: a window that a run did not reach gives nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isclose

import numpy as np

from headroom.analysis.run.distributions import kept_bins
from headroom.analysis.run.estimates import samples_of
from headroom.analysis.run.rare import RARE_SUFFIX
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.run import Histogram, Intervals, ResourceTable, Run
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.windows import Window as DeclaredWindow
from headroom.experiment.study.windows import window_metric

_ROUNDING = 1e-9


def part_of(run: Run, *, from_s: float, to_s: float) -> Window | None:
    """Return a stretch of a run's time, None if the run keeps no intervals or ended before.

    Parameters
    ----------
    run
        The run.
    from_s, to_s
        Ends of intervals (s); a run that ended in between gives what it has.
    """
    kept = run.intervals
    if kept is None or not kept.times_s.size:
        return None
    first, last = _place_of(kept, from_s), _place_of(kept, to_s)
    start_s = 0.0 if first < 0 else float(kept.times_s[first])
    end_s = float(kept.times_s[last])
    if last <= first or end_s <= start_s:
        return None
    part = replace(
        run,
        values={},
        series=(),
        snapshot_times_s=kept.times_s[: last + 1],
        resources=tuple(_table_until(table, kept, first, last) for table in kept.tables),
        histograms=tuple(_histogram_until(histogram, last) for histogram in kept.histograms),
    )
    return Window(run=part, first=first, start_s=start_s, end_s=end_s)


def _place_of(kept: Intervals, time_s: float) -> int:
    """Return the interval that ends at `time_s`, the last one where the run ended before; or -1."""
    if time_s <= 0.0:
        return -1
    place = int(np.searchsorted(kept.times_s, time_s * (1.0 - _ROUNDING)))
    return min(place, int(kept.times_s.size) - 1)


def _table_until(table: ResourceTable, kept: Intervals, first: int, last: int) -> ResourceTable:
    longest = kept.queue_len_max.get(table.kind)
    within = None if longest is None else longest[first + 1 : last + 1]
    return replace(
        table,
        columns={name: column[: last + 1] for name, column in table.columns.items()},
        maxima={} if within is None or not within.size else {"queue_len": within.max(axis=0)},
    )


def _histogram_until(histogram: Histogram, last: int) -> Histogram:
    return replace(
        histogram,
        counts=histogram.counts[: last + 1],
        segment_end_times_s=histogram.segment_end_times_s[: last + 1],
    )


def values_of_parts(parts: Iterable[Window]) -> list[dict[str, float]]:
    """Return the metrics of a window of each run, those at the rarest percentile left out."""
    found = (run_values(part, kept_bins(part)) for part in parts)
    return [
        {name: value for name, value in one.items() if not name.endswith(RARE_SUFFIX)}
        for one in found
    ]


def over_replications(values: Sequence[Mapping[str, float]], column: Column) -> dict[str, Sample]:
    """Return one sample per metric in which each replication is one observation.

    A percentile is that of each replication, averaged over them: the p95 of a day. The percentile
    of all replications together is another quantity, and no interval for it from a few runs holds
    what it promises: it depends on the worst of them. Measured: `benches/terminating.py`.
    """
    return samples_of(values, {}, column)


def window_values(runs: Sequence[Run], windows: Iterable[DeclaredWindow]) -> list[dict[str, float]]:
    """Return for each run the metrics of all declared windows that it reached.

    Examples
    --------
    >>> window_values([Run()], [DeclaredWindow(name="peak", from_s=10, to_s=20)])
    [{}]
    """
    found: list[dict[str, float]] = [{} for _ in runs]
    for window in windows:
        for values, run in zip(found, runs, strict=True):
            part = part_of(run, from_s=window.from_s, to_s=window.to_s)
            if part is None or not _reaches(part, window.to_s):
                continue
            (of_part,) = values_of_parts([part])
            values.update({window_metric(window.name, name): one for name, one in of_part.items()})
    return found


def _reaches(part: Window, end_s: float) -> bool:
    """Return whether a run lasted to the end of a window; a part of it would say too little."""
    return part.end_s >= end_s or isclose(part.end_s, end_s, rel_tol=_ROUNDING)


def common_ends_s(runs: Sequence[Run]) -> list[float]:
    """Return the ends (s) of the intervals that all runs have; nothing where some keep none."""
    kept = [run.intervals for run in runs]
    if not runs or any(one is None for one in kept):
        return []
    shared = set.intersection(*(set(one.times_s.tolist()) for one in kept if one is not None))
    return sorted(shared)
