"""Two systems under common random numbers: differences and ratios of paired replications.

Replication i of both systems runs with the same seed, so randomness affects both in the same way,
and much of it cancels in the difference. The *variance reduction* measures how much: the variance
of the difference of independent replications divided by that of the pairs. A value below one means
that common random numbers hurt, which happens if the systems respond in opposite ways to the same
random numbers.

Systems with independent seeds are compared by `headroom.analysis.statistics.intervals.difference`
(Welch) and `ratio` (Fieller).

Invariants: exchanging the systems turns a difference round and a ratio upside down, interval
included; where the data allow no interval, its `note` says why.

Sources: paired t as in Law, *Simulation Modeling and Analysis* (2015), section 10.2.1, and common
random numbers in section 11.2; quotients of correlated means by Fieller, *Some Problems in
Interval Estimation* (1954).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval, t_quantile
from headroom.experiment.protocol.run import FloatArray

FEWEST_PAIRS = 2
"""A variance needs two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two systems by paired replications.

    Parameters
    ----------
    interval
        The difference or the ratio with its interval, in the unit of the observations or as a
        plain number.
    pairs
        Pairs of replications, >= 1.
    correlation
        Correlation of the two systems over the pairs, -1 to 1; None if one of them does not
        vary or there is a single pair.
    variance_reduction
        Variance that independent replications would have given, divided by that of the pairs:
        4.0 means that pairs save three of four replications. Infinite where the pairs cancel
        all chance; None if nothing varies or there is a single pair.
    """

    interval: Interval
    pairs: int
    correlation: float | None
    variance_reduction: float | None


def paired_difference(
    a: Sequence[float] | FloatArray,
    b: Sequence[float] | FloatArray,
    *,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Return the mean of `a` minus the mean of `b` with the paired Student-t interval.

    Parameters
    ----------
    a, b
        One finite value per replication and system, of equal length; those at one place ran
        with the same seed.
    confidence
        Probability with which the interval covers the true difference, between 0 and 1.

    Raises
    ------
    ValueError
        The lengths differ, there is no pair, or a value is not finite.

    Examples
    --------
    >>> old, new = [10.0, 12.0, 11.0, 13.0], [9.0, 10.9, 10.1, 12.0]
    >>> found = paired_difference(old, new)
    >>> round(found.interval.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (1.0, 0.87, 1.13)
    >>> round(found.variance_reduction)
    491
    """
    first, second = _checked_pairs(a, b)
    gaps = first - second
    value = float(np.mean(gaps))
    if gaps.size < FEWEST_PAIRS:
        return _single(value)
    variance = float(np.var(gaps, ddof=1))
    half_width = _t(gaps.size, confidence) * math.sqrt(variance / gaps.size)
    independent = float(np.var(first, ddof=1) + np.var(second, ddof=1))
    return Comparison(
        interval=Interval(
            value=value, low=value - half_width, high=value + half_width, method="student-t"
        ),
        pairs=gaps.size,
        correlation=_correlation(first, second),
        variance_reduction=_quotient(independent, variance),
    )


def paired_ratio(
    a: Sequence[float] | FloatArray,
    b: Sequence[float] | FloatArray,
    *,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Return the mean of `a` divided by the mean of `b` with Fieller's interval for pairs.

    The interval holds every r for which the paired t-test does not reject that the mean of
    ``a - r * b`` is zero. It is not symmetric around the ratio, and there is none where the mean
    of `b` may be zero.

    Parameters
    ----------
    a, b
        One finite value per replication and system, of equal length; those at one place ran
        with the same seed.
    confidence
        Probability with which the interval covers the true ratio, between 0 and 1.

    Raises
    ------
    ValueError
        The lengths differ, there is no pair, or a value is not finite.

    Examples
    --------
    >>> old, new = [10.0, 12.0, 11.0, 13.0], [5.0, 6.1, 5.4, 6.5]
    >>> found = paired_ratio(old, new)
    >>> round(found.interval.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (2.0, 1.958, 2.05)
    """
    first, second = _checked_pairs(a, b)
    above, below = float(np.mean(first)), float(np.mean(second))
    if below == 0.0:
        return _without_interval(first, second, float("nan"), NoInterval(code="zero_divisor"))
    value = above / below
    if first.size < FEWEST_PAIRS:
        return _single(value)
    bounds = _fieller_bounds(first, second, _t(first.size, confidence))
    if bounds is None:
        reason = NoInterval(code="divisor_near_zero")
        return _without_interval(first, second, value, reason)
    low, high = min(bounds[0], value), max(bounds[1], value)
    return Comparison(
        interval=Interval(value=value, low=low, high=high, method="student-t"),
        pairs=first.size,
        correlation=_correlation(first, second),
        variance_reduction=_reduction_of_a_ratio(first, second, value),
    )


def variance_quantile(*, pairs: int, confidence: float = CONFIDENCE) -> float:
    """Return how many times too large or small a quotient of two variances may be (Fisher's F).

    Examples
    --------
    >>> round(variance_quantile(pairs=10), 2)
    4.03
    """
    return float(scipy.special.fdtri(pairs - 1, pairs - 1, (1.0 + confidence) / 2.0))


def _checked_pairs(
    a: Sequence[float] | FloatArray, b: Sequence[float] | FloatArray
) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise ValueError(
            f"pairs need two equally long lists of values, got {first.shape} and {second.shape}"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("a value of a pair is not finite: leave out the replication in both")
    return first, second


def _t(count: int, confidence: float) -> float:
    return t_quantile(degrees=count - 1, confidence=confidence)


def _fieller_bounds(
    first: FloatArray, second: FloatArray, quantile: float
) -> tuple[float, float] | None:
    """Return the roots of (A - r B)^2 = t^2 var(A - r B) in r; None if they bound no interval.

    A and B are the means; both sides are divided by the square of B, which keeps the roots exact
    for values of any size.
    """
    above, below = float(np.mean(first)), float(np.mean(second))
    value = above / below
    scaled, unit = first / below, second / below
    weight = quantile**2 / (first.size * (first.size - 1))
    rest, spread = scaled - value * unit, unit - 1.0
    # In d = r - value: (d)^2 = weight * sum((rest - d * spread)^2), as rest has mean zero.
    square = 1.0 - weight * float(spread @ spread)
    if square <= 0.0:
        return None
    middle = -weight * float(rest @ spread)
    constant = -weight * float(rest @ rest)
    root = math.sqrt(max(middle**2 - square * constant, 0.0))
    return value + (middle - root) / square, value + (middle + root) / square


def _reduction_of_a_ratio(first: FloatArray, second: FloatArray, value: float) -> float | None:
    """Return the variance reduction of the linearised ratio, A - value * B."""
    independent = float(np.var(first, ddof=1) + value**2 * np.var(second, ddof=1))
    return _quotient(independent, float(np.var(first - value * second, ddof=1)))


def _quotient(independent: float, paired: float) -> float | None:
    if independent == 0.0:
        return None
    return independent / paired if paired > 0.0 else math.inf


def _correlation(first: FloatArray, second: FloatArray) -> float | None:
    one, other = first - np.mean(first), second - np.mean(second)
    size = math.sqrt(float(one @ one) * float(other @ other))
    if size == 0.0:
        return None
    return min(max(float(one @ other) / size, -1.0), 1.0)


def _without_interval(
    first: FloatArray, second: FloatArray, value: float, reason: NoInterval
) -> Comparison:
    return Comparison(
        interval=Interval(value=value, low=None, high=None, method="none", reason=reason),
        pairs=first.size,
        correlation=_correlation(first, second),
        variance_reduction=None,
    )


def _single(value: float) -> Comparison:
    reason = NoInterval(code="one_replication")
    return Comparison(
        interval=Interval(value=value, low=None, high=None, method="none", reason=reason),
        pairs=1,
        correlation=None,
        variance_reduction=None,
    )
