"""Terminating runs over time: each metric in each interval, over all replications.

Intervals are joined until a typical interval of a replication has enough completions for a p95.

Invariant: a value is the mean over replications of what each had in the interval, with Student's
interval; an interval that some replication cannot tell of has no value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from headroom.analysis.results import IntervalLine, OverTime
from headroom.analysis.run.time_windows import common_ends_s, part_of, values_of_parts
from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.experiment.protocol.run import FloatArray, Run
from headroom.experiment.study.windows import WORST, WORST_ENDINGS, window_metric

COMPLETIONS = 200
"""Completions of a replication in a typical interval: ten of them lie beyond the p95."""
MOST_JOINED = 8
LINES_AT_MOST = 24
_DIGITS = 5
_FIRST = (
    "response_s_p95",
    "response_s_p99",
    "response_s_p50",
    "response_s_mean",
    "throughput",
    "jobs_mean",
)
_ENDINGS = {
    "throughput": "1/s",
    "response_s_mean": "s",
    "response_s_p50": "s",
    "response_s_p95": "s",
    "response_s_p99": "s",
    "wait_s_mean": "s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The metrics of each interval and replication.

    Parameters
    ----------
    ends_s
        End (s) of each interval.
    values
        Metric to its values, shape (replications, intervals); not-a-number where it has none.
    """

    ends_s: FloatArray
    values: Mapping[str, FloatArray]


def course_of(runs: Sequence[Run], *, most_joined: int = MOST_JOINED) -> Course | None:
    """Return how `runs` go over time, None if they keep no intervals.

    Parameters
    ----------
    runs
        Replications.
    most_joined
        Intervals that are joined at most, for want of completions.
    """
    ends_s = np.array(common_ends_s(runs))
    if not ends_s.size:
        return None
    ends_s = _joined(ends_s, runs, most_joined)
    starts_s = np.concatenate([[0.0], ends_s[:-1]])
    found: dict[str, FloatArray] = {}
    for row, run in enumerate(runs):
        for place, (start_s, end_s) in enumerate(zip(starts_s, ends_s, strict=True)):
            part = part_of(run, from_s=float(start_s), to_s=float(end_s))
            values = {} if part is None else values_of_parts([part])[0]
            for metric, value in values.items():
                column = found.setdefault(metric, np.full((len(runs), ends_s.size), np.nan))
                column[row, place] = value
    return Course(ends_s=ends_s, values=found)


def _joined(ends_s: FloatArray, runs: Sequence[Run], most_joined: int) -> FloatArray:
    """Return fewer ends, so that most intervals have enough completions."""
    counts = np.mean([_completions(run, ends_s) for run in runs], axis=0)
    group = 1
    while group < most_joined and _typical(counts, group) < COMPLETIONS:
        group *= 2
    kept = ends_s[group - 1 :: group]
    return kept if kept[-1] == ends_s[-1] else np.append(kept, ends_s[-1])


def _completions(run: Run, ends_s: FloatArray) -> FloatArray:
    if run.intervals is None:
        raise AssertionError("only runs with intervals have a course")
    table = next(one for one in run.intervals.tables if one.kind == "class")
    rows = np.searchsorted(run.intervals.times_s, ends_s)
    total = table.columns["completion_count"][rows].sum(axis=1)
    gained: FloatArray = np.diff(total, prepend=0.0)
    return gained


def _typical(counts: FloatArray, group: int) -> float:
    firsts = np.arange(0, counts.size, group)
    return float(np.median(np.add.reduceat(counts, firsts)))


def worst_samples(course: Course) -> dict[str, Sample]:
    """Return each metric in the interval that is worst for it, by its mean over replications.

    The interval is chosen by the same runs, so the value is a little too high on average: by less
    than the half-width of its interval, which does not count the choice.
    """
    found = {}
    for metric, values in course.values.items():
        is_bad = metric.endswith(WORST_ENDINGS)
        known = ~np.isnan(values).any(axis=0)
        if is_bad and known.any():
            means = np.where(known, values.mean(axis=0), -np.inf)
            worst = values[:, int(np.argmax(means))]
            found[window_metric(WORST, metric)] = Sample(values=worst.copy())
    return found


def pictured_course(course: Course) -> OverTime:
    """Return the lines that a page draws: the whole first, then the fullest resources."""
    metrics = list(_pictured(course))[:LINES_AT_MOST]
    return OverTime(
        ends_s=course.ends_s.tolist(),
        lines=[_line(metric, course.values[metric]) for metric in metrics],
    )


def _pictured(course: Course) -> Iterator[str]:
    yield from (metric for metric in _FIRST if metric in course.values)
    shares = [
        metric
        for metric in course.values
        if metric.startswith(("station.", "pool.")) and metric.endswith(".utilization")
    ]
    for metric in sorted(shares, key=lambda metric: -float(np.nanmax(course.values[metric]))):
        yield metric
        queue = metric.removesuffix("utilization") + "queue_len_mean"
        if queue in course.values:
            yield queue


def _line(metric: str, values: FloatArray) -> IntervalLine:
    count = values.shape[0]
    means = values.mean(axis=0)
    half = np.full(means.shape, np.nan)
    if count > 1:
        quantile = t_quantile(degrees=count - 1)
        half = quantile * values.std(axis=0, ddof=1) / np.sqrt(count)
    return IntervalLine(
        metric=metric,
        unit=_ENDINGS.get(metric.rpartition(".")[2], "1"),
        values=_rounded(means),
        low=_rounded(np.maximum(means - half, 0.0)),
        high=_rounded(means + half),
    )


def _rounded(values: FloatArray) -> list[float | None]:
    return [float(f"{one:.{_DIGITS}g}") if isfinite(one) else None for one in values.tolist()]
