"""The warm-up of a point: one cut for all its replications.

The series are averaged over the replications (truncated to the shortest, batch sizes aligned by
merging), because a separate cut for each replication biases short runs. The report shows a chart of
the average.

The automatic rule cuts a few correlation times of the response times and of the numbers of jobs at
the stations. It cuts more only if the start clearly differs from the rest; MSER-5 then determines
the amount. MSER alone is biased: without a transient it tends to drop a burst, because that
steadies the mean, and bursts are large.

A class with too few completions to detect its steady state is left out by name. The other classes,
whose jobs use the same stations, determine the cut.

Invariant: a cut is either a time at which the averaged series had reached its steady state, or
`is_steady` is False and nothing of the point may be reported.

Sources: MSER of White (1997), *An effective truncation heuristic for bias reduction in
simulation output*, Simulation 69; on means of five as White, Cobb and Spratt, WSC 2000;
correlation times as in `headroom.analysis.run.relaxation`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from msgspec.structs import replace

from headroom.analysis.evidence import WarmUpEvidence
from headroom.analysis.results import WarmUpCut
from headroom.analysis.run.meanless import has_no_mean
from headroom.analysis.run.relaxation import (
    WARM_UP_TIMES,
    correlation_time,
    jobs_over_time,
    joined,
    settle,
    times_beyond_one,
)
from headroom.experiment.protocol.run import FloatArray, Run, Series
from headroom.experiment.study.study import WarmUp

MSER_BATCH = 5
"""Observations per mean in MSER-5."""
FEWEST_BATCHES = 10
"""Below ten means, MSER has at most five places to choose from: too few to call it a choice."""
FEWEST_OBSERVATIONS = FEWEST_BATCHES * MSER_BATCH
PICTURE_POINTS = 100
"""Most points of the warm-up picture; neighbours are averaged beyond that."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """How many leading values to drop, and whether a steady state was seen at all."""

    dropped: int
    is_steady: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragedSeries:
    """A series averaged over replications.

    `values` and `end_times_s` (mean end of each batch) have shape (n,); `latest_end_times_s`
    is the end of each batch in the slowest replication. `parts` has shape (replications, n):
    what `values` is the average of.
    """

    metric: str
    values: FloatArray
    parts: FloatArray
    batch_size: int
    end_times_s: FloatArray
    latest_end_times_s: FloatArray


def mser(values: FloatArray) -> Truncation:
    """Return the MSER truncation point of `values` in O(n).

    Minimises the variance of the mean of what is kept, z(d) = sum of squared deviations of the
    last n - d values over (n - d) squared, for 0 <= d <= n / 2. A minimum at n / 2 means that
    the variance still falls: no steady state was reached.

    Examples
    --------
    >>> mser(np.concatenate([np.full(20, 9.0), np.tile([1.0, 2.0], 40)]))
    Truncation(dropped=20, is_steady=True)
    >>> mser(np.arange(100.0)).is_steady
    False
    """
    count = values.size
    last = count // 2
    centred = values - np.mean(values)
    kept = count - np.arange(last + 1)
    sums = np.cumsum(centred[::-1])[::-1][: last + 1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1][: last + 1]
    spread = np.maximum(squares - sums**2 / kept, 0.0)
    spread[spread <= _rounding(values, centred)] = 0.0
    dropped = int(np.argmin(spread / kept.astype(np.float64) ** 2))
    return Truncation(dropped, is_steady=dropped < last)


def _rounding(values: FloatArray, centred: FloatArray) -> float:
    """Return the sum of squares below which a spread is nothing but rounding."""
    epsilon = float(np.finfo(np.float64).eps)
    of_values = values.size * (epsilon * float(np.max(np.abs(values)))) ** 2
    of_sums = values.size * epsilon * float(np.sum(centred**2))
    return of_values + of_sums


def average_over_replications(series: Sequence[Series]) -> AveragedSeries | None:
    """Return the mean of the i-th batch over replications, None without a common clock.

    Batch sizes are aligned by merging neighbours up to their least common multiple; every
    series is cut to the length of the shortest.

    Examples
    --------
    >>> fine = Series(metric="response_s", values=np.array([1.0, 3.0, 5.0, 7.0]), batch_size=1,
    ...               end_times_s=np.array([1.0, 2.0, 3.0, 4.0]))
    >>> coarse = Series(metric="response_s", values=np.array([4.0]), batch_size=2,
    ...                 end_times_s=np.array([2.5]))
    >>> average = average_over_replications([fine, coarse])
    >>> average.values, average.latest_end_times_s
    (array([3.]), array([2.5]))
    """
    if not series or any(one.end_times_s is None for one in series):
        return None
    size = int(np.lcm.reduce([one.batch_size for one in series]))
    merged = [_merged(one, size // one.batch_size) for one in series]
    shortest = min(values.size for values, _ in merged)
    if shortest == 0:
        return None
    parts = np.array([values[:shortest] for values, _ in merged])
    ends_s = np.array([ends[:shortest] for _, ends in merged])
    return AveragedSeries(
        metric=series[0].metric,
        values=parts.mean(axis=0),
        parts=parts,
        batch_size=size,
        end_times_s=ends_s.mean(axis=0),
        latest_end_times_s=ends_s.max(axis=0),
    )


def _merged(series: Series, group: int) -> tuple[FloatArray, FloatArray]:
    ends_s = np.empty(0) if series.end_times_s is None else series.end_times_s
    return _grouped_means(series.values, group), ends_s[group - 1 :: group]


def _grouped_means(values: FloatArray, group: int) -> FloatArray:
    whole = values.size // group * group
    means: FloatArray = values[:whole].reshape(-1, group).mean(axis=1)
    return means


def choose_cut(rule: WarmUp, runs: Sequence[Run]) -> WarmUpCut | None:
    """Return the warm-up cut of a point, None if its runs have neither clock nor series.

    Parameters
    ----------
    rule
        The `warm_up` table of the experiment.
    runs
        All sound replications of the point.
    """
    averages = _averages(runs)
    clocks = [float(run.snapshot_times_s[-1]) for run in runs if run.snapshot_times_s.size]
    if not averages and not clocks:
        return None
    shortest_s = min(clocks or [float(average.end_times_s[-1]) for average in averages])
    cut = _cut_by(rule, averages, runs, shortest_s)
    return replace(cut, correlation_s=_correlation_s(averages, runs, cut)) if cut.is_steady else cut


def _cut_by(
    rule: WarmUp, averages: Sequence[AveragedSeries], runs: Sequence[Run], shortest_s: float
) -> WarmUpCut:
    if rule.method == "mser5":
        return _found_cut("mser5", averages, shortest_s, _mser_cut)
    if rule.method == "automatic":
        cut = _found_cut("automatic", averages, shortest_s, _settled_cut)
        settled_s = min(_stations_settled_s(runs), shortest_s / 2.0)
        return replace(cut, cut_s=max(cut.cut_s, settled_s)) if cut.is_steady else cut
    cut_s = (rule.seconds or 0.0) if rule.method == "fixed" else 0.0
    picture = averages[0] if averages else None
    is_steady = cut_s < shortest_s
    too_long = WarmUpEvidence(code="too_long", run_s=shortest_s, cut_s=cut_s)
    return _result(
        rule.method, picture, cut_s, shortest_s,
        is_steady=is_steady, evidence=None if is_steady else too_long,
    )  # fmt: skip


def _averages(runs: Sequence[Run]) -> list[AveragedSeries]:
    """Return the averaged series of every metric that all runs have."""
    if not runs:
        return []
    by_metric = [{one.metric: one for one in run.series} for run in runs]
    shared = [
        name
        for name in by_metric[0]
        if all(name in names for names in by_metric) and not has_no_mean(name + "_mean", runs[0])
    ]
    found = (average_over_replications([names[m] for names in by_metric]) for m in shared)
    return [average for average in found if average is not None]


def _found_cut(
    method: str,
    averages: Sequence[AveragedSeries],
    run_s: float,
    cut_of: Callable[[AveragedSeries], tuple[float, bool]],
) -> WarmUpCut:
    """Return the latest of the cuts of all series: the slowest class settles the point."""
    if not averages:
        nothing = WarmUpEvidence(code="no_series")
        return _result(method, None, 0.0, run_s, is_steady=True, evidence=nothing)
    long = [average for average in averages if _means(average).size >= FEWEST_BATCHES]
    if not long:
        few = WarmUpEvidence(code="few_completions", run_s=run_s, needed=FEWEST_OBSERVATIONS)
        return _result(method, averages[0], 0.0, run_s, is_steady=False, evidence=few)
    rare = [average for average in averages if not any(average is one for one in long)]
    cuts = [(*cut_of(average), average) for average in long]
    unsteady = next((average for _, is_steady, average in cuts if not is_steady), None)
    if unsteady is not None:
        settles = WarmUpEvidence(code="still_settles", run_s=run_s, metric=unsteady.metric)
        return _result(method, unsteady, 0.0, run_s, is_steady=False, evidence=settles)
    cut_s, _, latest = max(cuts, key=lambda cut: cut[0])
    classes = [class_of(average.metric) for average in rare]
    left_out = WarmUpEvidence(
        code="rare_classes", needed=FEWEST_OBSERVATIONS, classes=tuple(classes)
    )
    found = _result(
        method, latest, cut_s, run_s, is_steady=True, evidence=left_out if classes else None
    )
    return replace(found, classes_left_out=classes)


def class_of(metric: str) -> str:
    """Return the class that a metric belongs to, nothing where it belongs to all.

    Examples
    --------
    >>> class_of("class.writers.response_s"), class_of("response_s")
    ('writers', '')
    """
    return metric.removeprefix("class.").rpartition(".")[0] if metric.startswith("class.") else ""


def _means(average: AveragedSeries) -> FloatArray:
    return _grouped_means(average.values, _group(average))


def _group(average: AveragedSeries) -> int:
    return -(-MSER_BATCH // average.batch_size)


def _mser_cut(average: AveragedSeries) -> tuple[float, bool]:
    """Return the end (s) of the warm-up of one series, and whether a steady state was seen."""
    truncation = mser(_means(average))
    if not truncation.is_steady:
        return 0.0, False
    return _end_s(average, truncation.dropped * _group(average)), True


def _settled_cut(average: AveragedSeries) -> tuple[float, bool]:
    """Return the same by correlation times, and by MSER where the start is unlike the rest."""
    truncation = mser(_means(average))
    if not truncation.is_steady:
        return 0.0, False
    values, group = joined(average.parts)
    settling = settle(values)
    count = (settling.start + ceil(WARM_UP_TIMES * settling.correlation_time)) * group
    if settling.start > 0:
        count = max(count, truncation.dropped * _group(average))
    return _end_s(average, min(count, average.values.size // 2)), True


def _end_s(average: AveragedSeries, count: int) -> float:
    """Return when (s) the first `count` batches were complete in every replication."""
    return float(average.latest_end_times_s[count - 1]) if count > 0 else 0.0


def _stations_settled_s(runs: Sequence[Run]) -> float:
    """Return when (s) the numbers of jobs at the stations have settled.

    Response times do not tell: where many queues fill slowly while one empties, each job waits
    for about as long, and so does the next.
    """
    course = jobs_over_time(runs)
    if course is None:
        return 0.0
    jobs, step_s = course
    if times_beyond_one(jobs) == 0.0:
        return 0.0
    start = settle(jobs).start
    return (start + WARM_UP_TIMES * times_beyond_one(jobs[..., start:])) * step_s


def _correlation_s(
    averages: Sequence[AveragedSeries], runs: Sequence[Run], cut: WarmUpCut
) -> float:
    """Return the longest correlation time (s) after the cut: of the responses, of the jobs."""
    times_s = [_response_correlation_s(average, cut.cut_s) for average in averages
               if class_of(average.metric) not in cut.classes_left_out]  # fmt: skip
    course = jobs_over_time(runs)
    if course is not None:
        jobs, step_s = course
        kept = jobs[..., int(cut.cut_s / step_s) :]
        times_s.append(times_beyond_one(kept) * step_s)
    return max(times_s, default=0.0)


def _response_correlation_s(average: AveragedSeries, cut_s: float) -> float:
    first = int(np.searchsorted(average.latest_end_times_s, cut_s, side="right"))
    kept_s = float(average.end_times_s[-1]) - (
        float(average.end_times_s[first - 1]) if first else 0.0
    )
    values, group = joined(average.parts[:, first:])
    if values.shape[-1] < FEWEST_BATCHES:
        return 0.0
    each_s = kept_s / (average.values.size - first)
    return correlation_time(values) * group * each_s


def _result(
    method: str, average: AveragedSeries | None, cut_s: float, run_s: float,
    *, is_steady: bool, evidence: WarmUpEvidence | None,
) -> WarmUpCut:  # fmt: skip
    times_s, values = ([], []) if average is None else _picture(average)
    return WarmUpCut(
        method=method,  # type: ignore[arg-type]
        cut_s=cut_s,
        run_s=run_s,
        is_steady=is_steady,
        evidence=evidence,
        times_s=times_s,
        values=values,
        metric="" if average is None else average.metric,
    )


def _picture(average: AveragedSeries) -> tuple[list[float], list[float]]:
    group = max(1, -(-average.values.size // PICTURE_POINTS))
    values = _grouped_means(average.values, group)
    return _drawn(average.end_times_s[group - 1 :: group]), _drawn(values)


def _drawn(numbers: FloatArray) -> list[float]:
    """Return numbers for a picture: six digits are finer than any screen."""
    return [float(f"{number:.6g}") for number in numbers]
