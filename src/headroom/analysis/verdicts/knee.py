"""The knee of a curve: the level of a numeric factor at which its two asymptotes meet.

The asymptotes are straight lines, weighted by the intervals of the levels. Each is fitted to the
longest stretch, from its own end of the curve, that a straight line explains within those intervals
(a lack-of-fit test by Johansen's approximation for unequal variances). The rounded part of the
curve between the two stretches belongs to neither. The interval of the knee has two parts, added in
squares. Fieller's interval for the abscissa at which two fitted lines meet covers the noise of the
replications. The jackknife over blocks of neighbouring levels covers the effect of the choice of
levels on a rounded bend.

For the throughput of a closed system over its users, this is the classical saturation point N* = (D
+ Z) / Dmax, provided that the levels cover both light and heavy load.

Invariant: no knee is reported for a curve that one straight line explains, nor for one that a
smooth law (a parabola, a power, an exponential, a hyperbola) explains better than two lines.

Sources: Kastenbaum, *A Confidence Interval on the Abscissa of the Point of Intersection of Two
Fitted Linear Regressions*, Biometrics 15 (1959); Johansen, *The Welch-James Approximation to the
Distribution of the Residual Sum of Squares in a Weighted Linear Regression*, Biometrika 67
(1980); Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 11; Denning and
Buzen, *The Operational Analysis of Queueing Network Models* (1978).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from headroom.analysis.evidence import NoKnee
from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.analysis.statistics.smooth_laws import why_no_corner
from headroom.experiment.protocol.run import FloatArray

FEWEST_LEVELS = 5
"""Two levels for each asymptote and one between them."""
FEWEST_TOLD = 4
"""Levels from which a missing knee is worth a word, with the levels that would show it."""
FEWEST_REPLICATIONS = 3
"""Two give an interval, but no idea of the scatter: it may be a hundred times too small."""
CURVE_SIGNIFICANCE = 0.01
"""A curve is called bent where a straight line would look so bent in 1 of 100 studies."""
STRETCH_SIGNIFICANCE = 0.05
SMALLEST_ERROR = 1e-6
"""Standard error, relative to the largest value, below which a level is assumed to be exact."""


MOST_BLOCKS = 10
"""Blocks of the jackknife; with fewer levels each level is a block."""
Z_QUANTILE = 1.959964
"""Two-sided 95% quantile of the normal distribution, for the jackknife's standard error."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Levels in ascending order with value, standard error and degrees of freedom of each."""

    levels: FloatArray
    values: FloatArray
    errors: FloatArray
    degrees: FloatArray


@dataclass(frozen=True, slots=True)
class KneeFit:
    """The knee, or the `reason` why there is none: then `level` is None."""

    level: float | None = None
    low: float | None = None
    high: float | None = None
    value: float | None = None
    is_cut: bool = False
    """Whether the interval ends with the levels."""
    without: Sequence[float] = ()
    """Levels that are not usable."""
    reason: NoKnee | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A weighted least-squares line ``offset + slope * x`` with the covariance of both."""

    offset: float
    slope: float
    covariance: FloatArray
    misfit: float
    leverages: FloatArray

    def at(self, level: float) -> float:
        return self.offset + self.slope * level


def is_usable(sample: Sample) -> bool:
    """Return whether a level with this sample has scatter enough to be a part of a curve."""
    interval = sample.interval()
    has_interval = interval.low is not None and interval.high is not None
    return has_interval and not sample.is_unbounded and _degrees(sample) >= FEWEST_REPLICATIONS - 1


def _degrees(sample: Sample) -> float:
    """Return the degrees of freedom: a derived value is one, made of many replications."""
    return sample.count - 1.0 if sample.parts is None else sample.degrees


def curve_of(levels: Sequence[float], samples: Sequence[Sample]) -> Curve | None:
    """Return the curve in ascending order of levels, None if a level is not usable."""
    if not all(map(is_usable, samples)):
        return None
    order = np.argsort(np.asarray(levels, dtype=np.float64), kind="stable")
    values, errors, degrees = [], [], []
    for place in order.tolist():
        sample = samples[place]
        interval = sample.interval()
        values.append(interval.value)
        quantile = t_quantile(degrees=_degrees(sample))
        errors.append(((interval.high or 0.0) - (interval.low or 0.0)) / 2.0 / quantile)
        degrees.append(_degrees(sample))
    floor = SMALLEST_ERROR * max((abs(value) for value in values), default=0.0)
    return Curve(
        np.asarray(levels, dtype=np.float64)[order],
        np.array(values),
        np.maximum(errors, floor if floor > 0.0 else SMALLEST_ERROR),
        np.array(degrees),
    )


def knee_over(curve: Mapping[float, Sample | None]) -> KneeFit:
    """Return the knee over the levels that have results; `without` names the others.

    Parameters
    ----------
    curve
        Sample by level, None if a level has no results.
    """
    usable = {level: s for level, s in curve.items() if s is not None and is_usable(s)}
    if not usable:
        reason = NoKnee(code="few_replications", needed=FEWEST_REPLICATIONS)
        return KneeFit(reason=reason, without=sorted(curve))
    prepared = curve_of(list(usable), list(usable.values()))
    fit = KneeFit() if prepared is None else find_knee(prepared)
    return replace(fit, without=sorted(level for level in curve if level not in usable))


def find_knee(curve: Curve) -> KneeFit:
    """Return the knee of a curve with its 95% interval, or the reason why there is none.

    Examples
    --------
    >>> levels = np.arange(1.0, 11.0)
    >>> bent = Curve(levels, np.minimum(levels, 5.5), np.full(10, 0.01), np.full(10, 9.0))
    >>> round(find_knee(bent).level, 6)
    5.5
    >>> straight = Curve(levels, 2 * levels, np.full(10, 0.01), np.full(10, 9.0))
    >>> find_knee(straight).reason.code
    'straight'
    """
    count = curve.levels.size
    if count < FEWEST_LEVELS:
        return KneeFit(
            reason=NoKnee(
                code="few_levels",
                count=count,
                needed=FEWEST_LEVELS,
                add=_levels_to_add(curve.levels),
            )
        )
    if _is_straight(curve, slice(None), CURVE_SIGNIFICANCE):
        return KneeFit(reason=NoKnee(code="straight"))
    if reason := why_no_corner(curve):
        return KneeFit(reason=reason)
    fit = _meeting_of_asymptotes(curve)
    if fit.level is None or fit.low is None or fit.high is None:
        return fit
    choice = Z_QUANTILE * _error_of_choosing_levels(curve)
    low = fit.level - math.hypot(fit.level - fit.low, choice)
    high = fit.level + math.hypot(fit.high - fit.level, choice)
    return _within_levels(curve, replace(fit, low=low, high=high))


def _levels_to_add(levels: FloatArray) -> list[float]:
    """Return which levels would make a curve long enough: the middles of the widest gaps."""
    wanted = FEWEST_LEVELS - levels.size
    gaps = np.diff(levels)
    if not 0 < wanted <= gaps.size:
        return []
    widest = np.sort(np.argsort(-gaps, kind="stable")[:wanted])
    return [float(levels[place] + gaps[place] / 2.0) for place in widest]


def _within_levels(curve: Curve, fit: KneeFit) -> KneeFit:
    first, last = float(curve.levels[0]), float(curve.levels[-1])
    low, high = fit.low or 0.0, fit.high or 0.0
    if low <= first and high >= last:
        return KneeFit(reason=NoKnee(code="unsettled", low=first, high=last))
    if low < first or high > last:
        return replace(fit, low=max(low, first), high=min(high, last), is_cut=True)
    return fit


def _meeting_of_asymptotes(curve: Curve) -> KneeFit:
    count = curve.levels.size
    left, right = _stretches(curve)
    first, last = _line(curve, slice(0, left)), _line(curve, slice(count - right, count))
    degrees = float(curve.degrees[:left].sum() + curve.degrees[count - right :].sum())
    return _meeting(curve, first, last, degrees)


def _error_of_choosing_levels(curve: Curve) -> float:
    """Return the jackknife standard error of the knee over blocks of neighbouring levels."""
    blocks = np.array_split(np.arange(curve.levels.size), min(curve.levels.size, MOST_BLOCKS))
    levels = [
        fit.level
        for fit in (_meeting_of_asymptotes(_without(curve, block)) for block in blocks)
        if fit.level is not None
    ]
    count = len(levels)
    if count < 2:  # noqa: PLR2004 - a spread needs two
        return float("inf")
    return math.sqrt((count - 1) * float(np.var(levels)))


def _without(curve: Curve, block: npt.NDArray[np.intp]) -> Curve:
    kept = np.setdiff1d(np.arange(curve.levels.size), block)
    return Curve(curve.levels[kept], curve.values[kept], curve.errors[kept], curve.degrees[kept])


def _stretches(curve: Curve) -> tuple[int, int]:
    """Return how many levels from each end the two asymptotes explain."""
    count = curve.levels.size
    left = _straight_from(curve, [slice(0, k) for k in range(3, count)])
    right = _straight_from(curve, [slice(count - k, count) for k in range(3, count)])
    if left + right <= count:
        return left, right
    splits = range(2, count - 1)
    best = min(splits, key=lambda k: _misfit(curve, slice(0, k)) + _misfit(curve, slice(k, count)))
    return best, count - best


def _straight_from(curve: Curve, growing: Sequence[slice]) -> int:
    """Return the length of the longest of the growing stretches that a line explains."""
    longest = 2
    for part in growing:
        if not _is_straight(curve, part, STRETCH_SIGNIFICANCE):
            break
        longest += 1
    return longest


def _misfit(curve: Curve, part: slice) -> float:
    return _line(curve, part).misfit


def _line(curve: Curve, part: slice) -> _Line:
    levels, values = curve.levels[part], curve.values[part]
    weights = curve.errors[part] ** -2
    design = np.column_stack([np.ones_like(levels), levels])
    covariance = np.asarray(np.linalg.inv(design.T @ (weights[:, None] * design)), np.float64)
    offset, slope = covariance @ (design.T @ (weights * values))
    residuals = values - offset - slope * levels
    leverages = weights * np.einsum("ij,jk,ik->i", design, covariance, design)
    misfit = float(np.sum(weights * residuals**2))
    return _Line(float(offset), float(slope), covariance, misfit, leverages)


def _is_straight(curve: Curve, part: slice, significance: float) -> bool:
    """Return whether a line explains a part of the curve (Johansen's lack-of-fit test)."""
    line = _line(curve, part)
    free = line.leverages.size - 2
    unsure = float(np.sum((1.0 - line.leverages) ** 2 / curve.degrees[part]))
    scale = free + 2.0 * unsure - 6.0 * unsure / (free + 2.0)
    limit = scipy.special.fdtri(free, free * (free + 2.0) / (3.0 * unsure), 1.0 - significance)
    return line.misfit <= scale * float(limit)


def _meeting(curve: Curve, first: _Line, last: _Line, degrees: float) -> KneeFit:
    """Return where two lines meet, with Fieller's interval."""
    rise, turn = last.offset - first.offset, first.slope - last.slope
    spread = first.covariance + last.covariance
    t_squared = t_quantile(degrees=degrees) ** 2
    shrink = turn**2 - t_squared * spread[1, 1]
    if shrink <= 0.0:
        return KneeFit(reason=NoKnee(code="parallel"))
    level = rise / turn
    if not curve.levels[0] < level < curve.levels[-1]:
        return KneeFit(reason=NoKnee(code="outside", meets_at=float(level)))
    # Every x with (rise - x turn)^2 <= t^2 Var(rise - x turn); the variance is that of the
    # distance between the two lines at x.
    middle = rise * turn + t_squared * spread[0, 1]
    constant = rise**2 - t_squared * spread[0, 0]
    root = float(np.sqrt(max(middle**2 - shrink * constant, 0.0)))
    low, high = (middle - root) / shrink, (middle + root) / shrink
    return KneeFit(level, min(low, level), max(high, level), first.at(level))
