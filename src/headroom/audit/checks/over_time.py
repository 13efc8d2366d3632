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
from headroom.audit.result import Checked, Finding, Level, Result, Unchecked
from headroom.experiment.protocol.run import FloatArray

MIN_VALUES = 20
ERRORS = 4.0
"""Standard errors of a trend: one false alarm in 16,000 independent series."""
MATTERS = 0.05
WARM_UP_MATTERS = 0.1
FAR = 10.0
"""Deviations of a normal distribution, by the median deviation, of an outlier."""
MODES_APART = 5.0
"""Ashman's D; a normal distribution cut in two has 2.7, an exponential one 3.5."""
SMALLER_MODE = 0.2
SHORT_S = 0.005
"""The shell's start takes 1 to 5 ms and varies as much."""


def steady(result: Result) -> Checked:
    """Hold throughput, or the times of repeated runs, against a warm-up and a trend."""
    values = result.rates if result.rates.size else result.runs_s
    if values.size < MIN_VALUES or not np.any(values):
        missing = f"throughput of {MIN_VALUES} intervals or more, such as a log gives"
        if result.tool == "hyperfine":
            missing = f"{MIN_VALUES} runs or more"
        return Unchecked(check="steady state", result=result.name, missing=missing)
    what = "throughput" if result.rates.size else "time"
    return _warm_up(result, values, what) or _trend(result, values, what)


def _warm_up(result: Result, values: FloatArray, what: str) -> list[Finding]:
    means, group = joined(values[None, :], most=200)
    start = settle(means).start
    if start == 0 or means.shape[1] - start < MIN_VALUES // 2:
        return []
    first, rest = means[0, :start], means[0, start:]
    error = float(np.std(rest)) * math.sqrt(correlation_time(rest[None, :]) / start)
    change = float(first.mean() / rest.mean() - 1.0)
    if abs(change) < WARM_UP_MATTERS or abs(first.mean() - rest.mean()) < ERRORS * error:
        return []
    return [
        Finding(
            level=Level.DOUBTFUL, check="steady state", result=result.name,
            figure=f"{what} of the first {start * group} of {values.size} values is {change:+.0%} of the rest",
            law="a mean describes a steady state; a warm-up belongs to none",
            cure="cut the warm-up, or state that the run includes it",
        )
    ]  # fmt: skip


def _trend(result: Result, values: FloatArray, what: str) -> list[Finding]:
    means, _ = joined(values[None, :], most=200)
    series = means[0]
    n, third = series.size, series.size // 3
    score = float(sum(np.sign(series[k + 1 :] - series[k]).sum() for k in range(n - 1)))
    line = np.polyval(np.polyfit(np.arange(n), series, 1), np.arange(n))
    correlation = correlation_time((series - line)[None, :])
    error = math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0 * correlation)
    first = float(np.median(series[:third]))
    if first == 0.0:
        return []
    change = float(np.median(series[-third:])) / first - 1.0
    if abs(score) < ERRORS * error or abs(change) < MATTERS:
        return []
    return [
        Finding(
            level=Level.DOUBTFUL, check="steady state", result=result.name,
            figure=f"{what} drifts: {change:+.0%} from the first third to the last",
            law=f"Kendall's test: {abs(score) / error:.1f} standard errors",
            cure="run until it is steady, or report the course instead of one mean",
        )
    ]  # fmt: skip


def repeated_runs(result: Result) -> Checked:
    """Hold repeated runs of a program against a first run, outliers, two modes, short times."""
    runs = result.runs_s
    if not runs.size:
        return None
    found: list[Finding] = []
    median = float(np.median(runs))
    if result.tool == "hyperfine" and median < SHORT_S:
        return [
            _doubt(
                result, f"median {median * 1e3:.3g} ms: the start of the shell is of the same size",
                "hyperfine subtracts a mean start of its shell, which varies by milliseconds",
                "use -N (no shell; then this does not apply), or repeat the work within the command",
            )
        ]  # fmt: skip
    deviation = 1.4826 * float(np.median(np.abs(runs - median)))
    far = np.flatnonzero(np.abs(runs - median) > FAR * max(deviation, 0.01 * median))
    if runs.size >= 5 and far.size == 1 and far[0] == 0:  # noqa: PLR2004 - a median deviation
        found.append(
            _doubt(
                result, f"the first run takes {runs[0] / median:.3g}× the median of {median * 1e3:.4g} ms",
                "runs are exchangeable; only a cold cache makes the first one differ",
                "add --warmup 3, or measure cold runs with --prepare",
            )
        )  # fmt: skip
    elif far.size and runs.size >= 5:  # noqa: PLR2004 - as above
        found.append(
            _doubt(
                result, f"{far.size} of {runs.size} runs are outliers, the furthest "
                f"{runs[far].max() / median:.3g}× the median",
                f"more than {FAR:g} deviations from the median", "run it again on a quiet machine; compare medians",
            )
        )  # fmt: skip
    if runs.size >= MIN_VALUES and (modes := _modes(np.sort(runs))):
        low, high = modes
        found.append(
            _doubt(
                result, f"two kinds of runs, around {low * 1e3:.4g} ms and {high * 1e3:.4g} ms",
                f"their means are {MODES_APART:g} deviations apart or more: no run takes the mean",
                "find what alternates (caches, frequency, placement) and report the two apart",
            )
        )  # fmt: skip
    return found


def _modes(ordered: FloatArray) -> tuple[float, float] | None:
    """Return the means of two clearly separate modes, None without them."""
    n = ordered.size
    least = math.ceil(SMALLER_MODE * n)
    cuts = np.arange(least, n - least + 1)
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    low, high = sums[cuts - 1] / cuts, (sums[-1] - sums[cuts - 1]) / (n - cuts)
    below = np.maximum(squares[cuts - 1] / cuts - low**2, 0.0)
    above = np.maximum((squares[-1] - squares[cuts - 1]) / (n - cuts) - high**2, 0.0)
    apart = math.sqrt(2.0) * (high - low) / np.sqrt(np.maximum(below + above, 1e-300))
    best = int(np.argmax(apart))
    is_clear = apart[best] > MODES_APART and high[best] > low[best] * (1.0 + MATTERS)
    return (float(low[best]), float(high[best])) if is_clear else None


def _doubt(result: Result, figure: str, law: str, cure: str) -> Finding:
    return Finding(
        level=Level.DOUBTFUL, check="repeated runs", result=result.name, figure=figure, law=law, cure=cure
    )  # fmt: skip
