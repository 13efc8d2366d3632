"""The error of an estimate from the batches of its replications.

Each replication is split into a few long batches. The spread of all batches of all replications
around the common estimate gives its standard error. This gives more degrees of freedom than the
replications alone, and an interval even for a single run. The batches are as long as the
correlation time requires, so they are nearly independent.

Queues produce skewed estimates. A run with a rare long burst overestimates with a large error; a
run without one underestimates and seems precise. Student's interval then misses on one side. The
interval here is Student's, put through Hall's transformation, which removes the skewness of the
studentised mean. It is longer on the side to which the estimate is skewed.

Known biases are corrected first, since each quantity is too small on average: the variance of
batches that are not yet independent, the skewness of few values, and the uncertainty of a variance
from skewed values.

Every metric is a quotient of two sums (response time over completions, busy time over time), so a
batch contributes its *residual*, numerator - estimate x denominator.

Invariants: the residuals of an estimate add up to zero; a standard error is never negative; the
transformation is bounded, because a skewness that was estimated from few batches is itself noise.

Sources: batch means as in Schmeiser, *Batch Size Effects in the Analysis of Simulation Output*
(1982); over replications as in Argon and Andradottir, *Replicated Batch Means for Steady-State
Simulations* (2006); Hall, *On the Removal of Skewness by Transformation* (1992), as in the
skewness adjustment of Tafazzoli and Wilson, *Skart* (2011); the bias of batch means as in Goldsman
and Meketon, *A Comparison of Several Variance Estimators* (1986), with the memory of a busy queue
by Abate and Whitt on regulated Brownian motion (Adv. Appl. Prob. 19, 1987); the bias of a sample
skewness by Bobee and Robitaille, *Correction of Bias in the Estimation of the Coefficient of
Skewness* (1975); degrees of freedom by two moments as in Satterthwaite (1946).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.experiment.protocol.run import FloatArray

BATCH_TIMES = 12.0
"""Correlation times that a batch lasts at least, where the runs are long enough."""
FEWEST_BATCHES = 10
MOST_BATCHES = 30
"""Batches in all: fewer make the interval wide, more only add correlation (Schmeiser)."""
SKEWNESS_BATCHES = 48
"""Batches from which the skewness is estimated."""
RELAXATION = 0.625
"""Relaxation time over correlation time of a busy queue, see `shortfall`."""
SKEWNESS_SEEN = 0.77
"""Share of its skewness that a run of a queue shows after all corrections: measured."""
MOST_SAMPLED = 3.0
"""Most skewness of a sample whose bias is known."""
MOST_DOUBT = 0.35
"""Most skewness that lessens the degrees of freedom: beyond, its estimate is noise itself."""
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
        Degrees of freedom of the standard error, >= 1; not whole where the values are skewed.
    skewness
        Skewness of the estimate: its third cumulant over the cube of its standard error.
    least_root
        Bound of Hall's transformation, see `LEAST_ROOT`.
    bursts
        Of a percentile: independent bursts beyond it that the runs should have; infinite for means.
    tail_index
        Of a percentile: how heavy the tail of its observations is; infinite for means.
    is_far
        Whether it is a percentile of the far tail. Beyond what the runs have seen, that may be a
        power law, on which log values are straight: the upper end is as much longer as there.
    """

    standard_error: float
    degrees: float
    skewness: float
    least_root: float = LEAST_ROOT
    bursts: float = math.inf
    tail_index: float = math.inf
    is_far: bool = False

    def bounds(self, value: float, quantile: float) -> tuple[float, float]:
        """Return the interval around `value` for a two-sided quantile of Student's t.

        Examples
        --------
        >>> Spread(1.0, 19, 0.0).bounds(10.0, 2.0)
        (8.0, 12.0)
        >>> low, high = Spread(1.0, 19, 0.3).bounds(10.0, 2.0)
        >>> round(low, 2), round(high, 2)
        (8.34, 12.73)
        >>> Spread(1.0, 19, 0.0, is_far=True).bounds(10.0, 2.0)
        (8.0, 12.2)
        """
        if self.standard_error == 0.0:
            return value, value
        below = unskewed(quantile, self.skewness, least_root=self.least_root)
        above = -unskewed(-quantile, self.skewness, least_root=self.least_root)
        low, high = value - below * self.standard_error, value + above * self.standard_error
        if self.is_far and value > 0.0:
            high += (high - value) ** 2 / (2.0 * value)  # exp(x) = 1 + x + x^2 / 2 + ...
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


def shortfall(*, times: float, batches: int, replications: int) -> float:
    """Return the mean share of the true variance that the variance of batches shows.

    The mean of m correlation times of a process with autocorrelations exp(-t / c) has the share
    f(m) = 1 - c (1 - exp(-m / c)) / m of the variance that it would have if the correlations before
    its start counted too. The batches vary around the mean of their runs, which takes a little
    more. A busy queue (a regulated Brownian motion: the limit of each single queue under a high
    load) has c = `RELAXATION` correlation times, a single exponential 1/2.

    Parameters
    ----------
    times
        Length of all kept parts together, in correlation times.
    batches, replications
        Their numbers; as many replications as batches leave no shortfall.

    Examples
    --------
    >>> round(shortfall(times=120.0, batches=10, replications=1), 3)
    0.948
    >>> shortfall(times=120.0, batches=10, replications=10)
    1.0
    """
    if batches <= replications or not math.isfinite(times):
        return 1.0
    each, whole = _seen(times / batches), _seen(times / replications)
    return (batches * each - whole) / ((batches - 1) * whole)


def _seen(times: float) -> float:
    lasts = max(times, 1e-3) / RELAXATION
    return 1.0 + math.expm1(-lasts) / lasts


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
    parts: Sequence[Residuals],
    denominators: FloatArray,
    *,
    batches: int,
    times: float = math.inf,
) -> list[Spread | None]:
    """Return the spread of each estimate; None if it cannot be known.

    Parameters
    ----------
    parts
        One entry per replication.
    denominators
        Shape (estimates,): denominator over all replications.
    batches
        Batches in all.
    times
        Length of all parts together, in correlation times; infinite if nothing hangs together.
    """
    coarse, shares = _batched(parts, batches)
    count = coarse.shape[0]
    if count < 2:  # noqa: PLR2004 - a variance needs two
        return [None] * denominators.size
    seen = shortfall(times=times, batches=count, replications=len(parts))
    variances = _variances(coarse, shares) / seen
    skews = _skewness(*_batched(parts, max(SKEWNESS_BATCHES, batches)), variances)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(variances) / np.abs(denominators)
    return [
        Spread(float(error), _degrees(count, float(skew)), float(skew))
        if np.isfinite(error)
        else None
        for error, skew in zip(errors, skews, strict=True)
    ]


def _degrees(batches: int, skewness: float) -> float:
    """Return the degrees of freedom of a variance of batches whose mean has this skewness.

    A variance V of b normal values has the relative variance 2 / (b - 1); that of others has the
    excess kurtosis of their mean besides, 3/2 of the squared skewness s where the values are gamma
    distributed. Of that, s^2 moves with the mean and is Hall's part; s^2 / 2 is left.
    """
    doubt = min(abs(skewness), MOST_DOUBT) ** 2 / 2.0
    return max(2.0 / (2.0 / (batches - 1) + doubt), 1.0)


def _variances(batches: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the variance of each column's sum, from its batches."""
    variances: FloatArray = np.sum(batches**2 / shares[:, None], axis=0) / (shares.size - 1)
    return variances


def _skewness(batches: FloatArray, shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the skewness of each column's sum, from many short batches.

    Short batches are correlated and show too little of it. What correlation adds to the variance,
    a factor r between long and short batches, it adds about squared to the third cumulant: in a
    process that only remembers r times longer, two lags take the place of one. The bursts of a
    busy queue hang together for longer than that, which leaves the share `SKEWNESS_SEEN`.
    """
    count = max(shares.size, 3)
    thirds = count**2 / ((count - 1.0) * (count - 2.0)) * np.sum(batches**3, axis=0)
    short = _variances(batches, shares)
    with np.errstate(invalid="ignore", divide="ignore"):
        longer = np.sqrt(np.maximum(variances / short, 1.0)) / SKEWNESS_SEEN
        sampled = np.where(short > 0.0, math.sqrt(count) * thirds / short**1.5, 0.0)
        whole = _unbiased(sampled, count) / math.sqrt(count)
        found: FloatArray = np.where(short > 0.0, whole * longer, 0.0)
    return found


def _unbiased(skewness: FloatArray, count: int) -> FloatArray:
    """Return the skewness of a distribution from that of `count` of its values.

    A sample of 48 shows five sixths of a skewness of 2. Bobee and Robitaille (1975) start from the
    quotient of the plain moments, `sampled`; their correction holds for gamma distributions.
    """
    sampled = skewness * (count - 2.0) / math.sqrt(count * (count - 1.0))
    size = 1.0 + 6.51 / count + 20.20 / count**2
    growth = 1.48 / count + 6.77 / count**2
    found: FloatArray = sampled * (size + growth * np.minimum(sampled**2, MOST_SAMPLED**2))
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
