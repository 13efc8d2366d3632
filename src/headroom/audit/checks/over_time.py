"""Whether a run was steady: first run, warm-up, trend, two kinds of runs.

Warm-up is found as in the analysis of Headroom's own runs. A trend is Kendall's rank test at four
standard errors, widened by the correlation time of what is left after a line; the change must be 5%
too, because a long enough run shows every trifle.

Sources: Kendall, *Rank Correlation Methods* (1970); Hamed and Rao, *A Modified Mann-Kendall Trend
Test for Autocorrelated Data* (1998); Ashman, Bird and Zepf, *Detecting Bimodality* (1994).
"""

import math

import numpy as np

from headroom.analysis.run.relaxation import correlation_time, joined, settle
from headroom.analysis.statistics.two_kinds import two_kinds
from headroom.audit.result import Checked, Finding, Result, Unchecked, doubt, in_words
from headroom.experiment.protocol.run import FloatArray

MIN_VALUES = 20
MIN_RUNS = 5
MAX_MEANS = 200
ERRORS = 4.0
"""Standard errors of a trend: one false alarm in 16,000 independent series."""
MATTERS = 0.05
PAUSE = 0.02
"""Share of the run from which a pause decides p99 of steady arrivals."""
CHANCE = 1e-3
"""Expected pauses of that length by chance, which leaves some intervals empty at low rates."""
WARM_UP_MATTERS = 0.1
FAR = 10.0
"""Deviations of a normal distribution, by the median deviation, of an outlier."""
SHORT_S = 0.005
"""The shell's start takes 1 to 5 ms and varies as much."""


def steady(result: Result) -> Checked:
    """Hold throughput, or the times of repeated runs, against a warm-up and a trend."""
    values = next((one for one in (result.rates, result.responses_s) if one.size), result.runs_s)
    if result.runs_s.size and values.size < MIN_VALUES:
        return Unchecked(missing=f"{MIN_VALUES} runs or more")
    if values.size < MIN_VALUES or np.min(values) < 0.0 or not np.any(values):
        return Unchecked(missing=f"throughput of {MIN_VALUES} intervals (--progress, a log)")
    what = "time" if result.runs_s.size else "throughput" if result.rates.size else "response time"
    return _warm_up(values, what) or _trend(values, what)


def _warm_up(values: FloatArray, what: str) -> list[Finding]:
    means, group = joined(values[None, :], most=MAX_MEANS)
    start = settle(means).start
    if start == 0 or means.shape[1] - start < MIN_VALUES // 2:
        return []
    first, rest = means[0, :start], means[0, start:]
    error = float(np.std(rest)) * math.sqrt(correlation_time(rest[None, :]) / start)
    difference = float(first.mean() - rest.mean())
    if abs(difference) < max(WARM_UP_MATTERS * float(rest.mean()), ERRORS * error):
        return []
    change = f"{difference / float(rest.mean()):+.0%}" if rest.mean() else "nothing like"
    figure = f"{what} of the first {start * group} of {values.size} values is {change} of the rest"
    law = "a mean describes a steady state; a warm-up belongs to none"
    return [doubt(figure, law, "cut the warm-up, or state that the run includes it")]


def _trend(values: FloatArray, what: str) -> list[Finding]:
    series = joined(values[None, :], most=MAX_MEANS)[0][0]
    n, third = series.size, series.size // 3
    score = float(np.sum(np.sign(np.triu(series[None, :] - series[:, None]))))
    line = np.polyval(np.polyfit(np.arange(n), series, 1), np.arange(n))
    rest = series - line
    is_straight = np.ptp(rest) <= 1e-9 * np.ptp(series)
    correlation = 1.0 if is_straight else correlation_time(rest[None, :])
    error = math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0 * correlation)
    first, last = float(np.median(series[:third])), float(np.median(series[-third:]))
    if abs(score) < ERRORS * error or abs(last - first) <= MATTERS * first:
        return []
    figure = f"{what} drifts: {last / first - 1.0:+.0%} from the first third to the last"
    law = f"Kendall's test: a trend by {abs(score) / error:.1f} standard errors"
    return [doubt(figure, law, "run until it is steady, or report the course, not one mean")]


def pauses(result: Result) -> Checked:
    """Hold intervals with completions against a pause: they are missing for too long."""
    ends = result.windows_s
    if ends.size < MIN_VALUES:
        return Unchecked(missing=f"{MIN_VALUES} intervals") if ends.size else None
    gaps = np.diff(ends)
    place, window = int(np.argmax(gaps)), float(np.median(gaps))
    pause, span = float(gaps[place]) - window, float(ends[-1] - ends[0])
    if pause < PAUSE * span or _by_chance(gaps / window, place) > CHANCE:
        return []
    figure = f"nothing completed for {in_words(pause)}, {pause / span:.0%} of the run, "
    figure += f"from {in_words(float(ends[place]))} on"
    law = "a request that had to be sent meanwhile waits for half of that on average"
    cure = "find what stalled, and report the pause beside the percentiles, which do not show it"
    return [doubt(figure, law, cure)]


def _by_chance(gaps: FloatArray, longest: int) -> float:
    """Return how many pauses as long as the longest gap (intervals) chance alone would make."""
    empty = np.rint(gaps) - 1.0
    others = float(np.rint(gaps).sum() - np.rint(gaps[longest]))
    share = (float(empty.sum() - empty[longest]) + 1.0) / (others + 1.0)
    return float(others * share ** empty[longest])


def repeated_runs(result: Result) -> Checked:
    """Hold repeated runs of a program against a first run, outliers, two modes, short times."""
    runs = result.runs_s
    if runs.size < MIN_RUNS:
        return None if not runs.size else Unchecked(missing=f"{MIN_RUNS} runs or more")
    median = float(np.median(runs))
    if result.tool == "hyperfine" and median < SHORT_S:
        figure = f"median {in_words(median)}: the start of the shell is of the same size"
        law = "hyperfine subtracts a mean start of its shell, which varies by milliseconds"
        cure = "use -N (no shell; then this does not apply), or repeat the work in the command"
        return [doubt(figure, law, cure)]
    if median <= 0.0:
        return Unchecked(missing="times above 0")
    return [*_outliers(runs, median), *_modes(runs)]


def _outliers(runs: FloatArray, median: float) -> list[Finding]:
    deviation = max(1.4826 * float(np.median(np.abs(runs - median))), 0.01 * median)
    far = np.flatnonzero(np.abs(runs - median) > FAR * deviation)
    if not far.size:
        return []
    if far.tolist() == [0]:
        figure = f"the first run takes {runs[0] / median:.3g} times the median {in_words(median)}"
        law = "runs are exchangeable; a cold cache makes the first one differ"
        return [doubt(figure, law, "add --warmup 3, or measure cold runs with --prepare")]
    furthest = runs[far].max() / median
    figure = f"{far.size} of {runs.size} runs are outliers, up to {furthest:.3g} times the median"
    law = f"they are more than {FAR:g} standard deviations, by the median one, from the median"
    return [doubt(figure, law, "run it again on a quiet machine, and compare medians")]


def _modes(runs: FloatArray) -> list[Finding]:
    """Return whether runs are of two clearly separate kinds."""
    found = two_kinds(runs, matters=MATTERS)
    if found is None:
        return []
    figure = f"two kinds of runs, around {in_words(found.low)} and {in_words(found.high)}"
    law = f"their means are {found.apart:.2g} deviations apart: no run takes the mean"
    cure = "find what alternates (caches, frequency, placement), and report the two apart"
    return [doubt(figure, law, cure)]
