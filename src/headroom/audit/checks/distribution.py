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

from headroom.audit.result import (
    Checked,
    Finding,
    Result,
    Stated,
    Unchecked,
    contradiction,
    doubt,
    in_words,
    lacking,
)

TAIL = 0.025
"""Probability on each side of a 95% interval."""
MEDIAN = 0.5
FIXED_LISTS = {"fio", "hdrhistogram", "oha", "scylla-bench", "wrk2"}
"""Tools that print percentiles up to p99.999 of every run, however short."""
CUSTOMARY = 0.991
"""Percentile above which nobody chose what they print."""
_BITS = 1.0 + 1e-9
_CURE = "compute all figures from the same responses, and check their units"


def order(result: Result) -> Checked:
    """Hold extremes, percentiles and mean against their order."""
    ranked = sorted(result.percentiles.items())
    percentiles = [(f"p{100 * share:g}", one) for share, one in ranked]
    named = [("minimum", result.low), *percentiles, ("maximum", result.high)]
    known = [(name, one) for name, one in named if one is not None]
    if not percentiles and len(known) == 0:
        return Unchecked(missing="percentiles")
    pairs = [*pairwise(known)]
    if result.mean is not None:
        own = ("mean", result.mean)
        pairs += [(one, own) for one in known if one[0] == "minimum"]
        pairs += [(own, one) for one in known if one[0] == "maximum"]
    law = "percentiles never fall; the mean is between minimum and maximum"
    return [
        contradiction(f"{name} {in_words(a)} is above {later} {in_words(b)}", law, _CURE)
        for (name, a), (later, b) in pairs
        if a.low > b.high * _BITS
    ]


def mean(result: Result) -> Checked:
    """Hold the mean against the bounds that percentiles and extremes set."""
    if result.mean is None or result.mean_is_derived:
        return Unchecked(missing="mean response time")
    if not result.percentiles:
        return Unchecked(missing="percentiles")
    low, high = mean_bounds(result)
    if result.mean.high * _BITS >= low and result.mean.low <= high * _BITS:
        return []
    reach = f"at least {in_words(low)}"
    reach += "" if math.isinf(high) else f" and at most {in_words(high)}"
    figure = f"mean {in_words(result.mean)}, but its percentiles make it {reach}"
    return [contradiction(figure, "the mean is the integral of the percentiles", _CURE)]


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
    low = high = reached_low = reached_high = 0.0
    floor = result.low.low if result.low is not None else 0.0
    for share, one in sorted(result.percentiles.items()):
        up, down = min(share + slack, 1.0), max(share - slack, reached_high)
        low += (up - reached_low) * floor
        high += (down - reached_high) * one.high
        floor, reached_low, reached_high = one.low, up, down
    low += (1.0 - reached_low) * floor
    top = result.high.high if result.high is not None else math.inf
    return low, high + (1.0 - reached_high) * top


def deviation(result: Result) -> Checked:
    """Hold the standard deviation against mean, extremes and percentiles."""
    s, m = result.stdev, result.mean
    if s is None or m is None:
        return lacking({"standard deviation": s, "mean response time": m})
    if result.high is None and not result.percentiles:
        return Unchecked(missing="percentiles")
    return [*_of_extremes(result, s, m), *_of_percentiles(result, s, m)][:1]


def _of_extremes(result: Result, s: Stated, m: Stated) -> list[Finding]:
    top, n = result.high, result.sample_count
    if top is None:
        return []
    least = result.low.low if result.low is not None else 0.0
    sample = n / (n - 1) if n is not None and n > 1 else 1.0
    most_s = math.sqrt(max(top.high - m.low, 0.0) * max(m.high - least, 0.0) * sample)
    about = f"mean {in_words(m)}, standard deviation {in_words(s)} and maximum {in_words(top)}"
    if s.low > most_s * _BITS + 1e-12:
        law = "variance <= (maximum - mean) (mean - minimum)"
        return [contradiction(f"{about}; the deviation is at most {in_words(most_s)}", law, _CURE)]
    if n is not None and top.low - m.high > s.high * math.sqrt(n) * _BITS + 1e-12:
        law = "no value of n is further than √n standard deviations from the mean"
        return [contradiction(f"{about} of {n} responses", law, _CURE)]
    return []


def _of_percentiles(result: Result, s: Stated, m: Stated) -> list[Finding]:
    slack = _slack(result)
    law = "Cantelli: a share q of values is √((1 - q) / q) deviations from the mean at most"
    found = []
    for share, one in sorted(result.percentiles.items(), reverse=True):
        above, below = 1.0 - share - slack, share - slack
        is_far = above > 0.0 and one.low - m.high > s.high * math.sqrt((1 - above) / above)
        is_near = below > 0.0 and m.low - one.high > s.high * math.sqrt((1 - below) / below)
        if is_far or is_near:
            about = f"mean {in_words(m)} and standard deviation {in_words(s)}"
            figure = f"p{100 * share:g} {in_words(one)} with {about}"
            found.append(contradiction(figure, law, _CURE))
    return found


def recomputed(result: Result) -> Checked:
    """Hold stated figures against those of the single times in the same file."""
    law = "a statistic of the times is a function of the times"
    if result.runs_s.size:
        return [
            contradiction(f"{name} {in_words(a)}, but the times give {in_words(b)}", law, _CURE)
            for name, a, b in _differing(result)
        ]
    if result.spectrum_s is None or result.mean is None:
        return None
    low, high = result.spectrum_s
    if low <= result.mean.high and result.mean.low <= high:
        return []
    figure = f"mean {in_words(result.mean)}, but its spectrum makes it {in_words(low)} to "
    return [contradiction(f"{figure}{in_words(high)}", law, _CURE)]


def _differing(result: Result) -> list[tuple[str, Stated, float]]:
    runs = result.runs_s
    own = (
        ("mean", result.mean, runs.mean()),
        ("minimum", result.low, runs.min()),
        ("maximum", result.high, runs.max()),
        ("median", result.percentiles.get(MEDIAN), np.median(runs)),
        ("standard deviation", result.stdev, np.std(runs, ddof=1) if runs.size > 1 else 0.0),
    )
    near = 1e-6 * float(runs.max()) + 1e-12
    return [
        (name, stated, float(value))
        for name, stated, value in own
        if stated is not None and abs(stated.value - value) > near
    ]


def samples(result: Result) -> Checked:
    """Hold each percentile against the number of responses that it needs.

    The 95% interval of a percentile p by order statistics has an upper end only if p^n <= 0.025.
    """
    n = result.sample_count
    if not result.percentiles:
        return Unchecked(missing="percentiles")
    if not n:
        return Unchecked(missing="number of responses")
    weak = [share for share in result.percentiles if max(share, 1.0 - share) ** n > TAIL]
    if not weak:
        return []
    if result.tool in FIXED_LISTS and min(weak) > CUSTOMARY:
        return Unchecked(missing=f"responses for p{100 * min(weak):g} and above ({n})")
    worst = max(weak, key=lambda share: abs(share - MEDIAN))
    edge = max(worst, 1.0 - worst)
    rank = 100.0 * max(float(scipy.special.bdtrik(TAIL, n, edge)), 0.0) / n
    ends = (f"p{rank:.4g}", "largest") if worst > MEDIAN else (f"p{100 - rank:.4g}", "smallest")
    names = ", ".join(f"p{100 * share:g}" for share in sorted(weak))
    figure = f"{names} of {n} responses: p{100 * worst:g} is anywhere from {ends[0]} of them to "
    needed = math.ceil(math.log(TAIL) / math.log(edge))
    law = f"a 95% interval of p{100 * worst:g} by order statistics needs {needed} responses"
    figure += f"beyond the {ends[1]}"
    return [doubt(figure, law, "leave the percentile out, or run for longer")]


def _slack(result: Result) -> float:
    n = result.sample_count
    return result.rank_error + (1.0 / n if n else 0.0)
