"""The smallest and largest of n replications, as tables of n runs report them.

An extreme is not a property of a system: it moves outwards with the number of runs. A published
extreme can be compared only with the extreme of samples of the same size n. The distribution of
that extreme has the median m with F(m)^n = 1/2 for the largest, (1 - F(m))^n = 1/2 for the
smallest. So it is the quantile of single runs at 2^(-1/n), or at 1 - 2^(-1/n).

The value is the median of the extremes of all samples of n among the N >= n replications of
Headroom (drawn without replacement), computed exactly by counting. The interval is the
order-statistic interval of the quantile, valid for any distribution. If 2^(-N/n) > 0.025, that is N
< 5.32 n, none of the N values lies beyond the quantile with sufficient confidence, and there is no
interval.

Invariants: the smallest of negated values is the negated largest, interval included; with N = n
the value is the extreme itself; an interval never leaves out its own value.

Sources: David and Nagaraja, *Order Statistics* (2003), sections 2.1 and 7.1.
"""

import math

import numpy as np
import scipy

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.study.study import Extreme


def extreme_interval(
    values: FloatArray, extreme: Extreme, *, of: int, confidence: float = CONFIDENCE
) -> Interval:
    """Return the median of the extreme of `of` replications, with its interval.

    Parameters
    ----------
    values
        One of each replication, shape (N,), N >= 1.
    extreme
        Which one.
    of
        Size n of the samples, >= 1.
    confidence
        Probability with which the interval covers the true median.

    Examples
    --------
    >>> found = extreme_interval(np.arange(1.0, 201.0), "minimum", of=20)
    >>> found.value, found.low, found.high
    (7.0, 2.0, 13.0)
    """
    if extreme == "maximum":
        mirrored = extreme_interval(-values, "minimum", of=of, confidence=confidence)
        low, high = mirrored.high, mirrored.low
        return Interval(
            value=-mirrored.value,
            low=None if low is None else -low,
            high=None if high is None else -high,
            method=mirrored.method,
            reason=mirrored.reason,
        )
    ordered = np.sort(values)
    value = float(ordered[_median_rank(ordered.size, of) - 1])
    ranks = _ranks(ordered.size, of, confidence)
    if ranks is None:
        return Interval(
            value=value, low=None, high=None, method="none",
            reason=_too_few(ordered.size, of, confidence),
        )  # fmt: skip
    low, high = (float(ordered[rank - 1]) for rank in ranks)
    return Interval(
        value=value, low=min(low, value), high=max(high, value), method="order statistics"
    )


def _median_rank(count: int, of: int) -> int:
    """Return the rank of the median of the least of `of` among `count` values, all if fewer.

    The least of a sample is beyond the i-th value with probability C(N - i, n) / C(N, n).
    """
    size = min(of, count)
    beyond = 1.0
    for rank in range(1, count + 1):
        beyond *= max(count - rank + 1 - size, 0) / (count - rank + 1)
        if beyond <= 0.5:  # noqa: PLR2004 - the median
            return rank
    return count


def _ranks(count: int, of: int, confidence: float) -> tuple[int, int] | None:
    """Return the 1-based ranks that bound the median of the least of `of`; None without any."""
    tail = (1.0 - confidence) / 2.0
    share = -math.expm1(-math.log(2.0) / of)
    # Chance that at most k of our values lie below the quantile.
    at_most = scipy.special.bdtr(np.arange(count, dtype=float), count, share)
    low = int(np.count_nonzero(at_most <= tail))
    high = int(np.count_nonzero(at_most < 1.0 - tail)) + 1
    return (low, high) if low >= 1 and high <= count else None


def fewest_for_extreme(of: int, confidence: float = CONFIDENCE) -> int:
    """Return how many replications give an interval of the extreme of `of`.

    Examples
    --------
    >>> fewest_for_extreme(20)
    107
    """
    return math.ceil(-math.log2((1.0 - confidence) / 2.0) * of)


def _too_few(count: int, of: int, confidence: float) -> NoInterval:
    needed = fewest_for_extreme(of, confidence)
    return NoInterval(code="few_for_extreme", count=count, needed=needed, extreme_of=of)
