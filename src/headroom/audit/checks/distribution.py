"""Mean, deviation, percentiles and extremes of one distribution: bounds that hold for all.

With Q the quantile function, the mean is the integral of Q, and Q never falls: percentiles and
extremes bound it. A percentile of n samples may be off by one rank, or by the tool's own error.

Sources: Cantelli's inequality; Samuelson, *How Deviant Can You Be?* (1968); Bhatia and Davis,
*A Better Bound on the Variance* (2000); order statistics as in David and Nagaraja (2003), 7.1.
"""

import math
from itertools import pairwise

import numpy as np
import scipy

from headroom.audit.result import Checked, Finding, Level, Result, Stated, Unchecked

TAIL = 0.025
"""Probability on each side of a 95% interval."""
_CURE = "compute all figures of one distribution from the same responses, and check their units"


def order(result: Result) -> Checked:
    """Hold extremes, percentiles and mean against their order."""
    percentiles = [(f"p{100 * share:g}", one) for share, one in sorted(result.percentiles.items())]
    ends = (("minimum", result.low),), (("maximum", result.high),)
    known = [(name, one) for name, one in (*ends[0], *percentiles, *ends[1]) if one is not None]
    if len(known) < 2:  # noqa: PLR2004 - a pair
        return Unchecked(check="order of percentiles", result=result.name, missing="percentiles")
    pairs = [*pairwise(known)]
    if result.mean is not None:
        pairs += [(one, ("mean", result.mean)) for one in known if one[0] == "minimum"]
        pairs += [(("mean", result.mean), one) for one in known if one[0] == "maximum"]
    return [
        _contradiction(
            result, "order of percentiles",
            f"{name} {_time(first)} is above {later} {_time(second)}",
            "percentiles never fall; the mean is between minimum and maximum",
        )
        for (name, first), (later, second) in pairs
        if first.low > second.high * (1.0 + 1e-9)
    ]  # fmt: skip


def mean(result: Result) -> Checked:
    """Hold the mean against the bounds that percentiles and extremes set."""
    if result.mean is None or result.mean_is_derived or not result.percentiles:
        missing = "percentiles" if result.mean is not None else "mean response time"
        return Unchecked(check="mean", result=result.name, missing=missing)
    low, high = mean_bounds(result)
    if result.mean.high >= low * (1.0 - 1e-9) and result.mean.low <= high * (1.0 + 1e-9):
        return []
    reach = f"at least {_time(Stated(low))}" + (
        "" if math.isinf(high) else f", at most {_time(Stated(high))}"
    )
    return [
        _contradiction(
            result, "mean", f"mean {_time(result.mean)}, but its percentiles make it {reach}",
            "the mean is the integral of the percentiles",
        )
    ]  # fmt: skip


def mean_bounds(result: Result) -> tuple[float, float]:
    """Return the least and the largest mean (s) that percentiles and extremes allow.

    Examples
    --------
    >>> result = Result(tool="", source="", name="", percentiles={0.5: Stated(2.0)},
    ...                 low=Stated(1.0), high=Stated(4.0), samples=10**9)
    >>> [round(bound, 6) for bound in mean_bounds(result)]
    [1.5, 3.0]
    """
    slack = _slack(result)
    low = high = 0.0
    reached_low = reached_high = 0.0
    floor = result.low.low if result.low is not None else 0.0
    for share, one in sorted(result.percentiles.items()):
        up, down = min(share + slack, 1.0), max(share - slack, 0.0)
        low += max(up - reached_low, 0.0) * floor
        high += max(down - reached_high, 0.0) * one.high
        floor, reached_low, reached_high = one.low, up, max(down, reached_high)
    low += (1.0 - reached_low) * floor
    top = result.high.high if result.high is not None else math.inf
    return low, high + (1.0 - reached_high) * top


def deviation(result: Result) -> Checked:
    """Hold the standard deviation against mean, extremes and percentiles."""
    s, m, n = result.stdev, result.mean, result.sample_count
    if s is None or m is None or (result.high is None and not result.percentiles):
        missing = {"standard deviation": s, "mean response time": m}
        absent = [name for name, one in missing.items() if one is None] or ["percentiles"]
        return Unchecked(check="deviation", result=result.name, missing=", ".join(absent))
    broken = [*_of_extremes(result, s, m, n), *_of_percentiles(result, s, m)]
    return broken[:1]


def _of_extremes(result: Result, s: Stated, m: Stated, n: int | None) -> list[Finding]:
    if result.high is None:
        return []
    found = []
    least = result.low.low if result.low is not None else 0.0
    sample = n / (n - 1) if n is not None and n > 1 else 1.0
    area = max(result.high.high - m.low, 0.0) * max(m.high - least, 0.0) * sample
    if s.low > math.sqrt(area) * (1.0 + 1e-9) + 1e-12:
        found.append(
            _contradiction(
                result, "deviation",
                f"standard deviation {_time(s)}, at most {math.sqrt(area) * 1e3:.4g} ms is possible "
                f"with mean {_time(m)} and maximum {_time(result.high)}",
                "variance ≤ (maximum − mean) (mean − minimum)",
            )
        )  # fmt: skip
    if n is not None and result.high.low - m.high > s.high * math.sqrt(n) * (1.0 + 1e-9) + 1e-12:
        found.append(
            _contradiction(
                result, "deviation",
                f"maximum {_time(result.high)} of {n} responses with mean {_time(m)} and standard "
                f"deviation {_time(s)}",
                "no value of n is further than √n standard deviations from the mean",
            )
        )  # fmt: skip
    return found


def _of_percentiles(result: Result, s: Stated, m: Stated) -> list[Finding]:
    slack = _slack(result)
    found = []
    for share, one in sorted(result.percentiles.items(), reverse=True):
        above, below = 1.0 - share - slack, share - slack
        is_far = above > 0.0 and one.low - m.high > s.high * math.sqrt((1 - above) / above)
        is_near = below > 0.0 and m.low - one.high > s.high * math.sqrt((1 - below) / below)
        if is_far or is_near:
            found.append(
                _contradiction(
                    result, "deviation",
                    f"p{100 * share:g} {_time(one)} with mean {_time(m)} and standard deviation {_time(s)}",
                    "Cantelli: a share q of values is at most √((1 − q) / q) deviations from the mean",
                )
            )  # fmt: skip
    return found


def recomputed(result: Result) -> Checked:
    """Hold stated figures against those of the single times in the same file."""
    if not result.runs_s.size:
        spectrum = result.settings
        if "spectrum_mean_s" not in spectrum:
            return None
        low, high, stated = (
            float(spectrum[f"spectrum_{name}_s"]) for name in ("low", "high", "mean")
        )
        pairs = [] if low <= stated <= high else [("mean", stated, (low + high) / 2.0)]
    else:
        pairs = _differing(result)
    return [
        _contradiction(
            result, "recomputed", f"{name} {_time(Stated(stated))}, but the times give {_time(Stated(own))}",
            "a statistic of the times is a function of the times",
        )
        for name, stated, own in pairs
    ]  # fmt: skip


def _differing(result: Result) -> list[tuple[str, float, float]]:
    runs = result.runs_s
    own = {
        "mean": (result.mean, runs.mean()), "minimum": (result.low, runs.min()),
        "maximum": (result.high, runs.max()), "median": (result.percentiles.get(0.5), np.median(runs)),
        "standard deviation": (result.stdev, np.std(runs, ddof=1) if runs.size > 1 else 0.0),
    }  # fmt: skip
    return [
        (name, stated.value, float(value))
        for name, (stated, value) in own.items()
        if stated is not None and abs(stated.value - value) > 1e-6 * max(float(runs.max()), 1e-9)
    ]


def samples(result: Result) -> Checked:
    """Hold each percentile against the number of responses that it needs.

    The 95% interval of a percentile p by order statistics has an upper end only if p^n <= 0.025.
    """
    n = result.sample_count
    if not result.percentiles:
        return Unchecked(check="samples", result=result.name, missing="percentiles")
    if n is None:
        return Unchecked(check="samples", result=result.name, missing="number of responses")
    weak = [share for share in result.percentiles if max(share, 1.0 - share) ** n > TAIL]
    if not weak:
        return []
    worst = max(weak, key=lambda share: abs(share - 0.5))
    edge = max(worst, 1.0 - worst)
    needed = math.ceil(math.log(TAIL) / math.log(edge))
    rank = max(float(scipy.special.bdtrik(TAIL, n, edge)), 0.0)
    names = ", ".join(f"p{100 * share:g}" for share in sorted(weak))
    side = f"from p{100 * rank / n:.4g}" if worst > 0.5 else f"up to p{100 - 100 * rank / n:.4g}"  # noqa: PLR2004
    beyond = "the largest" if worst > 0.5 else "the smallest"  # noqa: PLR2004
    return [
        Finding(
            level=Level.DOUBTFUL, check="samples", result=result.name,
            figure=f"{names} of {n} responses: the 95% interval of p{100 * worst:g} reaches {side} of "
            f"them to beyond {beyond}",
            law=f"an interval of p{100 * worst:g} by order statistics needs {needed} responses",
            cure="leave the percentile out, or run for longer",
        )
    ]  # fmt: skip


def _slack(result: Result) -> float:
    n = result.sample_count
    return result.rank_error + (1.0 / n if n else 0.0)


def _contradiction(result: Result, check: str, figure: str, law: str) -> Finding:
    return Finding(
        level=Level.CONTRADICTION, check=check, result=result.name, figure=figure, law=law, cure=_CURE
    )  # fmt: skip


def _time(one: Stated) -> str:
    return f"{one.value:.4g} s" if one.value >= 1.0 else f"{one.value * 1e3:.4g} ms"
