"""Paired comparison: how much larger one side is, from signed ranks of the differences.

The estimate is the Hodges-Lehmann estimate, the median of the means of all pairs of differences
(Walsh averages). Its interval inverts Wilcoxon's signed-rank test, with the exact null
distribution. It assumes that the differences are distributed symmetrically. That holds if both
systems are equal, whatever their distribution, because the two sides of a block can be exchanged.
It also holds for the logarithms of the ratios if the systems differ by a factor. With normal
values, 20 pairs are as good as 30 for the interval of their median.

Ties and zeros keep the interval valid: it includes its ends and is then at most too wide.

Invariant: values turned to their negatives turn value and interval round.

Sources: Hodges and Lehmann, *Estimates of Location Based on Rank Tests* (1963); Hollander, Wolfe
and Chicken, *Nonparametric Statistical Methods* (2014), section 3.3; ties by Noether, *Wilcoxon
Confidence Intervals for Location Parameters in the Discrete Case* (1967).
"""

import math
from functools import lru_cache

import numpy as np

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.intervals import (
    CONFIDENCE,
    Interval,
    median_of_sorted,
    t_quantile,
)
from headroom.experiment.protocol.run import FloatArray

_EXACT_UP_TO = 60
"""Pairs up to which the null distribution is counted out; normal beyond."""
_NORMAL_DEGREES = math.inf


def fewest_pairs(confidence: float = CONFIDENCE) -> int:
    """Return how many pairs give an interval at all: with fewer nothing can ever be decided.

    Examples
    --------
    >>> fewest_pairs(0.95), fewest_pairs(1.0 - 0.05 / 3)
    (6, 7)
    """
    count = 1
    while signed_rank(count, confidence=confidence) == 0:
        count += 1
    return count


def signed_rank_interval(values: FloatArray, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the Hodges-Lehmann centre of differences with its interval.

    Parameters
    ----------
    values
        Differences of pairs, shape (n,), n >= 1.
    confidence
        Probability with which the interval covers the centre.

    Examples
    --------
    >>> found = signed_rank_interval(np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]))
    >>> found.value, found.low, found.high
    (3.5, 1.0, 6.0)
    """
    averages = walsh_averages(values)
    value = median_of_sorted(averages)
    rank = signed_rank(values.size, confidence=confidence)
    if rank == 0:
        needed = fewest_pairs(confidence)
        return Interval(
            value=value, low=None, high=None, method="none",
            reason=NoInterval(code="few_pairs", count=values.size, needed=needed),
        )  # fmt: skip
    return Interval(
        value=value,
        low=float(averages[rank - 1]),
        high=float(averages[averages.size - rank]),
        method="signed ranks",
    )


def walsh_averages(values: FloatArray) -> FloatArray:
    """Return the means of all pairs of values, each value with itself too, in ascending order.

    Parameters
    ----------
    values
        Shape (..., n); the answer has n (n + 1) / 2 in its place.

    Examples
    --------
    >>> walsh_averages(np.array([1.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    above, below = np.triu_indices(values.shape[-1])
    return np.sort((values[..., above] + values[..., below]) / 2.0, axis=-1)


@lru_cache(maxsize=1024)
def signed_rank(count: int, *, confidence: float = CONFIDENCE) -> int:
    """Return the rank k of the Walsh average that bounds the interval from below; 0 without one.

    It is the number of values t with P(T <= t) at most half of what the confidence leaves.

    Examples
    --------
    >>> signed_rank(5), signed_rank(6), signed_rank(10), signed_rank(20)
    (0, 1, 9, 53)
    """
    tail = (1.0 - confidence) / 2.0
    if count > _EXACT_UP_TO:
        mean = count * (count + 1) / 4.0
        spread = math.sqrt(mean * (2 * count + 1) / 6.0)
        return int(mean - t_quantile(degrees=_NORMAL_DEGREES, confidence=confidence) * spread)
    return int(np.count_nonzero(null_shares(count) <= tail + 1e-12))


@lru_cache(maxsize=128)
def null_shares(count: int) -> FloatArray:
    """Return P(T <= t) for t = 0, 1, ... of equal systems: T is a sum of some of 1 ... count.

    Examples
    --------
    >>> null_shares(2).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, count + 1):
        ways[rank:] += ways[:-rank].copy()
    return np.cumsum(ways) / 2.0**count


def signed_rank_p(values: FloatArray) -> float:
    """Return the two-sided p-value of the centre zero, the dual of the interval.

    Examples
    --------
    >>> signed_rank_p(np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]))
    0.03125
    """
    averages = walsh_averages(values)
    rarer = min(np.count_nonzero(averages <= 0.0), np.count_nonzero(averages >= 0.0))
    if values.size > _EXACT_UP_TO:
        mean = values.size * (values.size + 1) / 4.0
        spread = math.sqrt(mean * (2 * values.size + 1) / 6.0)
        return math.erfc(max(mean - rarer, 0.0) / spread / math.sqrt(2.0))
    return min(2.0 * float(null_shares(values.size)[rarer]), 1.0)
