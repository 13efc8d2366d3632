"""The error of an estimate from the batches of its replications.

Each replication is split into a few long batches, and the spread of all batches of all
replications around the common estimate gives its standard error: more degrees of freedom than
the replications alone, and an interval also for a single run. The batches are as long as the
correlation time asks, so they are nearly independent.

Queues make skewed estimates: a run with a rare long burst says too much and says it with a large
error, one without says too little and seems sure. Student's interval then misses on one side.
The interval here is Student's, put through Hall's transformation, which undoes the skewness of
the studentised mean; it is longer on the side to which the estimate is skewed.

Every metric is a quotient of two sums (response time over completions, busy time over time), so
a batch contributes its *residual*, numerator - estimate x denominator.

Invariants: the residuals of an estimate add up to zero; a standard error is never negative; the
transformation is bounded, because a skewness that was estimated from few batches is itself noise.

Sources: batch means as in Schmeiser, *Batch Size Effects in the Analysis of Simulation Output*
(1982); over replications as in Argon and Andradottir, *Replicated Batch Means for Steady-State
Simulations* (2006); Hall, *On the Removal of Skewness by Transformation* (1992), as in the
skewness adjustment of Tafazzoli and Wilson, *Skart* (2011).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.experiment.run import FloatArray

BATCH_TIMES = 12.0
"""Correlation times that a batch lasts at least, where the runs are long enough."""
FEWEST_BATCHES = 10
MOST_BATCHES = 30
"""Batches in all: fewer make the interval wide, more only add correlation (Schmeiser)."""
SKEWNESS_BATCHES = 48
"""Batches from which the skewness is estimated."""
LEAST_ROOT = 0.2
"""Least value under the root of Hall's transformation: beyond it the interval would explode."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How sure an estimate is.

    Parameters
    ----------
    standard_error
        In the unit of the estimate, >= 0.
    degrees
        Degrees of freedom of the standard error, >= 1.
    skewness
        Skewness of the estimate: its third cumulant over the cube of its standard error.
    least_root
        Bound of Hall's transformation, see `LEAST_ROOT`.
    """

    standard_error: float
    degrees: int
    skewness: float
    least_root: float = LEAST_ROOT

    def bounds(self, value: float, quantile: float) -> tuple[float, float]:
        """Return the interval around `value` for a two-sided quantile of Student's t.

        Examples
        --------
        >>> Spread(1.0, 19, 0.0).bounds(10.0, 2.0)
        (8.0, 12.0)
        >>> low, high = Spread(1.0, 19, 0.3).bounds(10.0, 2.0)
        >>> round(low, 2), round(high, 2)
        (8.34, 12.73)
        """
        if self.standard_error == 0.0:
            return value, value
        below = unskewed(quantile, self.skewness, least_root=self.least_root)
        above = -unskewed(-quantile, self.skewness, least_root=self.least_root)
        low, high = value - below * self.standard_error, value + above * self.standard_error
        return min(low, value), max(high, value)


def unskewed(quantile: float, skewness: float, *, least_root: float = LEAST_ROOT) -> float:
    """Return the quantile of a studentised mean of this skewness, from Student's quantile.

    Inverse of Hall's transformation g(t) = ((1 + 2 b t)^3 - 1) / (6 b) + b with b = skewness / 6.

    Examples
    --------
    >>> unskewed(2.0, 0.0)
    2.0
    >>> b, t = 0.05, unskewed(2.0, 0.3)
    >>> round(((1 + 2 * b * t) ** 3 - 1) / (6 * b) + b, 9)
    2.0
    """
    size = abs(quantile)
    most = (math.sqrt(size * size + 4.0 * (1.0 - least_root) / 6.0) - size) / 2.0
    b = min(max(skewness / 6.0, -most), most)
    if abs(b) < 1e-9:  # noqa: PLR2004 - the limit of the formula below
        return quantile
    return (math.cbrt(1.0 + 6.0 * b * (quantile - b)) - 1.0) / (2.0 * b)


def batch_count(*, kept: float, replications: int) -> int:
    """Return the number of batches in all: long ones, as many as the runs allow.

    Parameters
    ----------
    kept
        Length of all kept parts together, in correlation times.
    replications
        Number of replications; each gives one batch at least.

    Examples
    --------
    >>> [batch_count(kept=kept, replications=1) for kept in (50.0, 200.0, 1e6)]
    [10, 16, 30]
    >>> batch_count(kept=1e6, replications=100)
    100
    """
    wanted = int(min(max(kept / BATCH_TIMES, FEWEST_BATCHES), MOST_BATCHES))
    return max(wanted, replications)


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals of several estimates in one replication, interval by interval.

    Parameters
    ----------
    values
        Shape (intervals, estimates): numerator - estimate x denominator.
    lengths
        Shape (intervals,), above zero: how much of the run each interval is.
    """

    values: FloatArray
    lengths: FloatArray


def spreads(
    parts: Sequence[Residuals], denominators: FloatArray, *, batches: int
) -> list[Spread | None]:
    """Return the spread of each estimate; None where it cannot be known.

    Parameters
    ----------
    parts
        One entry per replication.
    denominators
        Shape (estimates,): denominator over all replications.
    batches
        Batches in all.
    """
    coarse, shares = _batched(parts, batches)
    count = coarse.shape[0]
    if count < 2:  # noqa: PLR2004 - a variance needs two
        return [None] * denominators.size
    variances = _variances(coarse, shares)
    skews = _skewness(*_batched(parts, max(SKEWNESS_BATCHES, batches)), variances)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(variances) / np.abs(denominators)
    return [
        Spread(float(error), count - 1, float(skew)) if np.isfinite(error) else None
        for error, skew in zip(errors, skews, strict=True)
    ]


def _variances(batches: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the variance of each column's sum, from its batches."""
    found: FloatArray = np.sum(batches**2 / shares[:, None], axis=0) / (shares.size - 1)
    return found


def _skewness(batches: FloatArray, shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the skewness of each column's sum, from many short batches.

    Short batches are correlated and show too little of it. What correlation adds to the variance,
    a factor r between long and short batches, it adds about squared to the third cumulant: in a
    process that only remembers r times longer, two lags take the place of one.
    """
    count = max(shares.size, 3)
    thirds = count**2 / ((count - 1.0) * (count - 2.0)) * np.sum(batches**3, axis=0)
    short = _variances(batches, shares)
    with np.errstate(invalid="ignore", divide="ignore"):
        longer = np.maximum(variances / short, 1.0)
        found: FloatArray = np.where(short > 0.0, thirds / short**1.5 * np.sqrt(longer), 0.0)
    return found


def _batched(parts: Sequence[Residuals], total: int) -> tuple[FloatArray, FloatArray]:
    """Return the residuals of about `total` batches and the share of all runs that each is."""
    each = max(round(total / len(parts)), 1)
    values, lengths = zip(*(_split(part, each) for part in parts), strict=True)
    shares = np.concatenate(lengths)
    return np.concatenate(values), shares / shares.sum()


def _split(part: Residuals, count: int) -> tuple[FloatArray, FloatArray]:
    """Return a replication in `count` batches of whole intervals, as equal as they allow."""
    ends = np.cumsum(part.lengths)
    targets = ends[-1] * np.arange(1, count) / count
    firsts = np.unique(np.concatenate([[0], _nearest(ends, targets) + 1]))
    firsts = firsts[firsts < ends.size]
    return np.add.reduceat(part.values, firsts, axis=0), np.add.reduceat(part.lengths, firsts)


def _nearest(ends: FloatArray, targets: FloatArray) -> FloatArray:
    """Return for each target the index of the nearest end."""
    after = np.minimum(np.searchsorted(ends, targets), ends.size - 1)
    before = np.maximum(after - 1, 0)
    is_before = targets - ends[before] < ends[after] - targets
    chosen: FloatArray = np.where(is_before, before, after)
    return chosen
