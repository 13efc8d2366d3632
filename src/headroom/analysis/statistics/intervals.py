"""Intervals over independent replications: means, medians, and contrasts of several samples.

Every interval in Headroom comes from here. A `Sample` holds the values of one metric in the
replications of one point. A contrast is a weighted sum of samples of different points and covers
differences, orderings and comparisons with a mean. If the batches of the replications give the
error of an estimate (`headroom.analysis.statistics.spread`), that error is used.

Invariants: where the data do not allow an interval, `low` and `high` are None and `reason` says
why; an interval never leaves out its own `value`.

Sources: Student's t and Welch's degrees of freedom as in Law, *Simulation Modeling and Analysis*
(2015), chapters 9 and 10; order-statistic intervals as in David and Nagaraja, *Order Statistics*
(2003), section 7.1; quotients by Fieller, *Some Problems in Interval Estimation* (1954); two
intervals as one by Zou and Donner, *Construction of Confidence Limits about Effect Measures*
(2008); sectioning by Asmussen and Glynn, *Stochastic Simulation* (2007), section III.5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import scipy

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.parts import Parts, spread_of_parts, weighted, welch_degrees
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.run import FloatArray

CONFIDENCE = 0.95

Centre: TypeAlias = Literal["mean", "median", "pooled"]
Method: TypeAlias = Literal[
    "student-t",
    "batch means",
    "order statistics",
    "signed ranks",
    "two intervals",
    "jackknife",
    "none",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value with its confidence interval, or without one and a `reason` that says why.

    Parameters
    ----------
    value
        The estimate, in the unit of the observations.
    low, high
        Bounds of the interval, both None if there is none.
    method
        How the interval was made.
    reason
        Why there is no interval; None if there is one.
    """

    value: float
    low: float | None
    high: float | None
    method: Method
    reason: NoInterval | None = None

    def relative_half_width(self) -> float | None:
        """Return half the width divided by the size of the value; None if undefined.

        Examples
        --------
        >>> Interval(value=10.0, low=9.0, high=11.0, method="student-t").relative_half_width()
        0.1
        """
        if self.low is None or self.high is None:
            return None
        if self.high == self.low:
            return 0.0
        return (self.high - self.low) / 2.0 / abs(self.value) if self.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The values of one metric in the replications of one point.

    Parameters
    ----------
    values
        Shape (n,), n >= 1. One value per replication.
    centre
        What estimates the metric: the mean, the median, or one `pooled` value computed from all
        replications together (a percentile of merged histograms).
    pooled
        The pooled value; needed for, and only for, that centre.
    spread
        Error of the estimate from the batches of all replications; None if only the
        replications themselves tell.
    parts
        Of a derived quantity: the estimates that its `spread` comes from.
    """

    values: FloatArray
    centre: Centre = "mean"
    pooled: float | None = None
    spread: Spread | None = None
    parts: Parts | None = None

    @property
    def count(self) -> int:
        """Number of replications."""
        return int(self.values.size)

    @property
    def value(self) -> float:
        """The estimate."""
        if self.pooled is not None:
            return self.pooled
        if self.centre == "median":
            return median_of_sorted(np.sort(self.values))
        return mean_of(self.values)

    @property
    def standard_error(self) -> float:
        """Standard error of the estimate: from batches, else from the replications.

        For a pooled value the latter is sectioning: the spread of the replications around the
        pooled value, not around their own mean, so that the bias of a short replication widens
        the interval.
        """
        if self.spread is not None:
            return self.spread.standard_error
        return math.sqrt(squares_around(self.values, self.value) / (self.count - 1) / self.count)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the standard error; 0 if there is none."""
        return self.count - 1 if self.spread is None else self.spread.degrees

    @property
    def third_cumulant(self) -> float:
        """Third cumulant of the estimate, 0 where it is not known."""
        spread = self.spread
        return 0.0 if spread is None else spread.skewness * spread.standard_error**3

    @property
    def is_unbounded(self) -> bool:
        """True where the metric grows without bound: the response time of a saturated point."""
        return math.isinf(self.value)

    def interval(self, *, confidence: float = CONFIDENCE) -> Interval:
        """Return the estimate with its interval; infinite where the metric has no bound.

        Examples
        --------
        >>> Sample(values=np.array([9.0, 10.0, 11.0])).interval().high
        12.48...
        """
        if self.is_unbounded:
            return _without_bound()
        if self.centre == "median":
            return median_interval(self.values, confidence=confidence)
        if self.spread is not None:
            quantile = t_quantile(degrees=self.spread.degrees, confidence=confidence)
            low, high = self.spread.bounds(self.value, quantile)
            method: Method = "batch means" if self.parts is None else "jackknife"
            return Interval(value=self.value, low=low, high=high, method=method)
        return _t_interval(self.value, self, confidence)


# Ten thousand points with thirty metrics of five values each spend their time in NumPy's checks
# of arguments, not in sums; these four skip the checks and give the same bits.


def mean_of(values: FloatArray) -> float:
    """Return the mean of one value or more."""
    return float(np.add.reduce(values)) / values.size


def squares_around(values: FloatArray, centre: float) -> float:
    """Return the sum of the squared distances from `centre`."""
    distances = values - centre
    return float(np.add.reduce(distances * distances))


def mean_deviation_of(values: FloatArray, mean: float) -> float:
    """Return the mean distance of one value or more from their mean.

    Examples
    --------
    >>> mean_deviation_of(np.array([1.0, 2.0, 6.0]), 3.0)
    2.0
    """
    return float(np.add.reduce(np.abs(values - mean))) / values.size


def median_of_sorted(ordered: FloatArray) -> float:
    """Return the median of one value or more in ascending order.

    Examples
    --------
    >>> median_of_sorted(np.array([1.0, 2.0, 4.0])), median_of_sorted(np.array([1.0, 2.0]))
    (2.0, 1.5)
    """
    low, high = (ordered.size - 1) // 2, ordered.size // 2
    return float(ordered[low] if low == high else (ordered[low] + ordered[high]) / 2.0)


@lru_cache(maxsize=4096)
def t_quantile(*, degrees: float, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t.

    Examples
    --------
    >>> round(t_quantile(degrees=9), 3)
    2.262
    """
    return float(scipy.special.stdtrit(degrees, 0.5 + confidence / 2.0))


def mean_interval(values: FloatArray, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean over independent replications with its Student-t interval.

    Parameters
    ----------
    values
        Shape (n,), n >= 1.
    confidence
        Probability with which the interval covers the true mean, between 0 and 1.

    Examples
    --------
    >>> interval = mean_interval(np.array([4.0, 5.0, 6.0]))
    >>> round(interval.low, 3), round(interval.high, 3)
    (2.516, 7.484)
    """
    return Sample(values=values).interval(confidence=confidence)


@lru_cache(maxsize=4096)
def median_ranks(count: int, *, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the 1-based ranks of the order statistics that bound the median, or None.

    The ranks j and n + 1 - j cover the median of any distribution with probability
    1 - 2 P(B <= j - 1), B binomial (n, 1/2); j is the largest that keeps `confidence`.

    Examples
    --------
    >>> median_ranks(10), median_ranks(5)
    ((2, 9), None)
    """
    tail = (1.0 - confidence) / 2.0
    below = scipy.special.bdtr(np.arange(max(count // 2, 1), dtype=float), count, 0.5)
    rank = int(np.count_nonzero(below <= tail))
    return (rank, count + 1 - rank) if rank else None


def median_interval(values: FloatArray, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the median with its exact, distribution-free order-statistic interval.

    Examples
    --------
    >>> interval = median_interval(np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]))
    >>> interval.value, interval.low, interval.high
    (3.5, 1.0, 6.0)
    """
    ordered = np.sort(values)
    median = median_of_sorted(ordered)
    ranks = median_ranks(values.size, confidence=confidence)
    if ranks is None:
        return Interval(
            value=median, low=None, high=None, method="none",
            reason=_too_few_for_a_median(values.size, confidence),
        )  # fmt: skip
    low, high = float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])
    return Interval(value=median, low=low, high=high, method="order statistics")


def contrast(
    samples: Sequence[Sample], weights: Sequence[float], *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the weighted sum of the estimates of independent samples with its interval.

    Means and pooled values: normal theory with Welch's degrees of freedom. As soon as one
    sample is a median: the squares of the distances from each sample's value to the ends of its
    own interval add up, as variances do (Zou and Donner 2008).

    Parameters
    ----------
    samples
        Independent samples, at least one.
    weights
        One finite weight per sample, in the same order.
    confidence
        Probability with which the interval covers the true weighted sum.

    Examples
    --------
    >>> old, new = Sample(values=np.array([9.0, 10.0, 11.0])), Sample(values=np.array([5.0, 6.0]))
    >>> difference = contrast([old, new], [1.0, -1.0])
    >>> difference.value
    4.5
    """
    if any(sample.is_unbounded for sample in samples):
        return _unbounded_contrast(samples, weights, confidence)
    value = float(sum(w * s.value for s, w in zip(samples, weights, strict=True)))
    if len(samples) > 1 and any(sample.centre == "median" for sample in samples):
        return _together(samples, weights, value, confidence)
    if len(samples) == 1:
        return _scaled(samples[0].interval(confidence=confidence), weights[0])
    if _have_parts(samples):
        return _by_parts(samples, weights, value, confidence)
    return _welch(samples, weights, value, confidence)


def difference(first: Sample, second: Sample, *, confidence: float = CONFIDENCE) -> Interval:
    """Return `first` minus `second` for two independent samples.

    Examples
    --------
    >>> round(difference(Sample(values=np.array([3.0, 5.0])),
    ...                  Sample(values=np.array([1.0, 3.0]))).low, 2)
    -4.08...
    """
    return contrast([first, second], [1.0, -1.0], confidence=confidence)


def ratio(first: Sample, second: Sample, *, confidence: float = CONFIDENCE) -> Interval:
    """Return `first` divided by `second` for two independent samples.

    Means and pooled values by Fieller: the interval holds every r for which the contrast
    ``first - r * second`` does not exclude zero. Medians: both intervals on a logarithmic scale,
    as for `contrast`. No interval where `second` may be zero.

    Examples
    --------
    >>> ratio(Sample(values=np.array([19.9, 20.0, 20.1])),
    ...       Sample(values=np.array([9.9, 10.0, 10.1]))).value
    2.0
    """
    if second.value == 0.0:
        return _no_interval(float("nan"), NoInterval(code="zero_divisor"))
    if first.is_unbounded and second.is_unbounded:
        return _no_interval(float("nan"), NoInterval(code="both_unbounded"))
    if first.is_unbounded:
        return _without_bound()
    if second.is_unbounded:
        return Interval(value=0.0, low=0.0, high=0.0, method="none")
    value = first.value / second.value
    if "median" in (first.centre, second.centre):
        return quotient(*(sample.interval(confidence=confidence) for sample in (first, second)))
    ratio_of = _ratio_by_parts if _have_parts([first, second]) else _fieller
    return ratio_of(first, second, value, confidence)


def _have_parts(samples: Sequence[Sample]) -> bool:
    return all(sample.parts is not None for sample in samples)


def _by_parts(
    samples: Sequence[Sample], slopes: Sequence[float], value: float, confidence: float
) -> Interval:
    """Return the interval of a function of derived quantities, which may have common parts."""
    spread = spread_of_parts(weighted([sample.parts or {} for sample in samples], slopes))
    quantile = t_quantile(degrees=spread.degrees, confidence=confidence)
    low, high = spread.bounds(value, quantile)
    return Interval(value=value, low=low, high=high, method="jackknife")


def _ratio_by_parts(first: Sample, second: Sample, value: float, confidence: float) -> Interval:
    bounds = second.interval(confidence=confidence)
    if bounds.low is None or bounds.high is None or bounds.low <= 0.0 <= bounds.high:
        return _no_interval(value, bounds.reason or NoInterval(code="divisor_near_zero"))
    slopes = (1.0 / second.value, -value / second.value)
    return _by_parts([first, second], slopes, value, confidence)


def _welch(
    samples: Sequence[Sample], weights: Sequence[float], value: float, confidence: float
) -> Interval:
    if min(sample.degrees for sample in samples) < 1:
        return _no_interval(value, NoInterval(code="one_replication"))
    variances = [(w * s.standard_error) ** 2 for s, w in zip(samples, weights, strict=True)]
    degrees = welch_degrees(variances, [sample.degrees for sample in samples])
    third = sum(w**3 * s.third_cumulant for s, w in zip(samples, weights, strict=True))
    error = math.sqrt(sum(variances))
    spread = Spread(error, max(degrees, 1.0), third / error**3 if error**3 else 0.0)
    low, high = spread.bounds(value, t_quantile(degrees=degrees, confidence=confidence))
    return Interval(value=value, low=low, high=high, method="student-t")


def _t_interval(value: float, sample: Sample, confidence: float) -> Interval:
    """Return the interval of one sample, which needs no approximate degrees of freedom."""
    count = sample.count
    if count < 2:  # noqa: PLR2004 - a variance needs two
        return _no_interval(value, NoInterval(code="one_replication"))
    error = math.sqrt(squares_around(sample.values, value) / (count - 1) / count)
    half_width = t_quantile(degrees=count - 1, confidence=confidence) * error
    return Interval(
        value=value, low=value - half_width, high=value + half_width, method="student-t"
    )


def _together(
    samples: Sequence[Sample], weights: Sequence[float], value: float, confidence: float
) -> Interval:
    below = above = 0.0
    for sample, weight in zip(samples, weights, strict=True):
        scaled = _scaled(sample.interval(confidence=confidence), weight)
        if scaled.low is None or scaled.high is None:
            return _no_interval(value, scaled.reason)
        below += (scaled.value - scaled.low) ** 2
        above += (scaled.high - scaled.value) ** 2
    return Interval(
        value=value,
        low=value - math.sqrt(below),
        high=value + math.sqrt(above),
        method="two intervals",
    )


def _scaled(interval: Interval, weight: float) -> Interval:
    if interval.low is None or interval.high is None:
        return _no_interval(weight * interval.value, interval.reason)
    bounds = sorted((weight * interval.low, weight * interval.high))
    return Interval(
        value=weight * interval.value, low=bounds[0], high=bounds[1], method=interval.method
    )


def quotient(above: Interval, below: Interval) -> Interval:
    """Return ``above / below`` of two independent estimates, with an interval from both of theirs.

    Both intervals are taken on a logarithmic scale and combined by their squares.

    Examples
    --------
    >>> sides = (Interval(value=v, low=0.9 * v, high=1.1 * v, method="none") for v in (4.0, 2.0))
    >>> found = quotient(*sides)
    >>> found.value, round(found.low or 0.0, 3), round(found.high or 0.0, 3)
    (2.0, 1.735, 2.305)
    """
    value = above.value / below.value if below.value else float("nan")
    if above.low is None or above.high is None or below.low is None or below.high is None:
        return _no_interval(value, above.reason or below.reason)
    if below.low <= 0.0 <= below.high:
        return _no_interval(value, NoInterval(code="divisor_near_zero"))
    if above.low <= 0.0 or below.low <= 0.0:
        return _no_interval(value, NoInterval(code="zero_inside"))
    down = math.hypot(math.log(above.value / above.low), math.log(below.high / below.value))
    up = math.hypot(math.log(above.high / above.value), math.log(below.value / below.low))
    return Interval(
        value=value,
        low=value * math.exp(-down),
        high=value * math.exp(up),
        method="two intervals",
    )


def _fieller(first: Sample, second: Sample, value: float, confidence: float) -> Interval:
    if min(first.degrees, second.degrees) < 1:
        return _no_interval(value, NoInterval(code="one_replication"))
    variance_first, variance_second = first.standard_error**2, second.standard_error**2
    degrees = welch_degrees(
        [variance_first, value**2 * variance_second], [first.degrees, second.degrees]
    )
    t_squared = t_quantile(degrees=degrees, confidence=confidence) ** 2
    shrink = second.value**2 - t_squared * variance_second
    if shrink <= 0.0:
        return _no_interval(value, NoInterval(code="divisor_near_zero"))
    constant = first.value**2 - t_squared * variance_first
    middle = first.value * second.value
    root = float(np.sqrt(max(middle**2 - shrink * constant, 0.0)))
    return Interval(
        value=value,
        low=min((middle - root) / shrink, value),
        high=max((middle + root) / shrink, value),
        method="student-t",
    )


def _unbounded_contrast(
    samples: Sequence[Sample], weights: Sequence[float], confidence: float
) -> Interval:
    """Return a contrast of samples some of which grow without bound; those may weigh nothing."""
    counted = [(s, w) for s, w in zip(samples, weights, strict=True) if w or not s.is_unbounded]
    if not any(sample.is_unbounded for sample, _ in counted):
        return contrast(*zip(*counted, strict=True), confidence=confidence)
    value = float(sum(w * s.value for s, w in counted))
    if math.isnan(value):
        return _no_interval(value, NoInterval(code="both_unbounded"))
    return _without_bound(value)


def _without_bound(value: float = math.inf) -> Interval:
    return Interval(value=value, low=value, high=value, method="none")


def _no_interval(value: float, reason: NoInterval | None) -> Interval:
    return Interval(value=value, low=None, high=None, method="none", reason=reason)


def _too_few_for_a_median(count: int, confidence: float) -> NoInterval:
    needed = int(np.ceil(np.log2(2.0 / (1.0 - confidence))))
    return NoInterval(code="few_for_median", count=count, needed=needed, confidence=confidence)
