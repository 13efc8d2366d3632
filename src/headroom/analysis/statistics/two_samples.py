"""Compare two lists of measured values without assuming a distribution.

The ratio within pairs uses signed ranks on its logarithm: exact if the systems are equal or differ
by a factor, and a drift of the machine cancels. The shift of unpaired lists is that of Mann and
Whitney. It assumes equal shapes, so it is shown but decides nothing.

Invariant: exchanging the lists turns ratios upside down, and shifts and deltas round.

Sources: order statistics as in David and Nagaraja, *Order Statistics* (2003), section 7.1; Hodges
and Lehmann, *Estimates of Location Based on Rank Tests* (1963), with the interval by the null
distribution of Mann and Whitney (1947); delta by Cliff, *Dominance Statistics* (1993), its words by
Romano et al. (2006).
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.analysis.statistics.signed_ranks import signed_rank_interval
from headroom.experiment.protocol.run import FloatArray

_EXACT_AT_MOST = 40
"""Values of a list up to which the null distribution is counted out; normal beyond."""
_WORDS = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))


def ratio_within_pairs(
    first: FloatArray, second: FloatArray, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the typical ratio first / second of pairs with its interval.

    Parameters
    ----------
    first, second
        Shape (n,), n >= 1, all above zero; values at one place belong together.

    Examples
    --------
    >>> old = np.array([10.0, 11.0, 10.5, 12.0, 11.5, 10.0])
    >>> found = ratio_within_pairs(1.5 * old, old)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (1.5, 1.5, 1.5)
    """
    interval = signed_rank_interval(np.log(first / second), confidence=confidence)
    if interval.low is None or interval.high is None:
        return replace(interval, value=math.exp(interval.value))
    return replace(
        interval,
        value=math.exp(interval.value),
        low=math.exp(interval.low),
        high=math.exp(interval.high),
    )


def shift_between(
    first: FloatArray, second: FloatArray, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the Hodges-Lehmann shift: the median of all differences first - second.

    Its interval is exact where both lists have the same distribution except for the shift, and
    needs four values of each at 95%.

    Examples
    --------
    >>> found = shift_between(np.array([5.0, 6.0, 7.0, 8.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> found.value, found.low, found.high
    (4.0, 1.0, 7.0)
    """
    gaps = np.sort(np.subtract.outer(first, second).ravel())
    value = float(np.median(gaps))
    small, large = sorted((first.size, second.size))
    below = _ranks_below(small, large, (1.0 - confidence) / 2.0)
    if below < 1:
        reason = NoInterval(code="few_for_shift", count=first.size, other_count=second.size)
        return Interval(value=value, low=None, high=None, method="none", reason=reason)
    return Interval(
        value=value,
        low=float(gaps[below - 1]),
        high=float(gaps[gaps.size - below]),
        method="order statistics",
    )


@lru_cache(maxsize=1024)
def _ranks_below(small: int, large: int, tail: float) -> int:
    """Return the rank of the lower bound: the largest k with P(U <= k - 1) <= tail."""
    if large > _EXACT_AT_MOST:
        spread = math.sqrt(small * large * (small + large + 1) / 12.0)
        return int(small * large / 2.0 + float(scipy.special.ndtri(tail)) * spread)
    counts = _null_counts(small, large)
    shares = np.cumsum(counts) / math.comb(small + large, small)
    return int(np.count_nonzero(shares <= tail))


def _null_counts(small: int, large: int) -> FloatArray:
    """Return how many orders of two lists give each value of U, by its generating function."""
    counts = np.zeros(small * large + 1)
    counts[0] = 1.0
    for step in range(1, small + 1):
        for place in range(counts.size - 1, large + step - 1, -1):
            counts[place] -= counts[place - large - step]
        for place in range(step, counts.size):
            counts[place] += counts[place - step]
    return counts


def dominance(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Return Cliff's delta of `first` over `second`, and the p-value of Mann and Whitney.

    Delta is the probability that a value of `first` is larger than one of `second`, less that of
    the opposite: 1 where all are larger, 0 if neither prevails. The p-value is two-sided.

    Examples
    --------
    >>> delta, p = dominance(np.array([5.0, 6.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    >>> delta, round(p, 3)
    (1.0, 0.1)
    """
    if np.ptp(np.concatenate([first, second])) == 0.0:
        return 0.0, 1.0
    found = scipy.stats.mannwhitneyu(first, second, alternative="two-sided")
    delta = 2.0 * float(found.statistic) / (first.size * second.size) - 1.0
    return delta, min(float(found.pvalue), 1.0)


def delta_in_words(delta: float) -> str:
    """Return the customary word for the size of Cliff's delta.

    Examples
    --------
    >>> [delta_in_words(delta) for delta in (0.1, -0.3, 0.4, -1.0)]
    ['negligible', 'small', 'medium', 'large']
    """
    return next((word for bound, word in _WORDS if abs(delta) < bound), "large")
