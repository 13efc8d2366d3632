"""Many noisy levels: which of them is the first that breaks a limit, and levels taken together.

The sum of all excesses, each in units of its 95% interval, is least where an isotonic curve would
cross the limit. The first least sum is the answer from which the sum surely rises again, so a level
that exceeds the limit by chance decides nothing.

Near the crossing as many levels are taken together on each side as it takes to tell both sides
apart. Their means and errors are a curve of fewer levels, with the same laws between them.

Invariant: the cost grows with the number of levels, not with its square.

Sources: isotonic regression as the slope of the greatest convex minorant of the sums, as in
Robertson, Wright and Dykstra, *Order Restricted Statistical Inference* (1988).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.analysis.statistics.spread import Spread
from headroom.analysis.verdicts.limit_curve import SURE_OF_MANY, LimitCurve
from headroom.experiment.protocol.run import FloatArray

_LARGEST = 5.0
"""Most that a single level counts, in units of its interval."""
_APART = 3.0
"""Units of their interval from which levels taken together are clearly on one side."""
_AT_MOST = 10
"""Levels taken together are one part in so many at most."""
_NEAR = 21
"""Levels whose scatter tells the error of those that have no interval."""


def first_break(curve: LimitCurve) -> int | None:
    """Return the place of the first level that breaks its limit; None if none does.

    Examples
    --------
    >>> samples = tuple(Sample(values=x + np.array([-0.3, 0.3])) for x in (1.0, 3.1, 2.0, 3.2, 9.0))
    >>> first_break(LimitCurve((1.0, 2.0, 3.0, 4.0, 5.0), samples, 3.0, 1.0))
    3
    """
    sure = SURE_OF_MANY if curve.is_of_many else 1.0
    total = least = 0.0
    place = 0
    for here, half_width in enumerate(curve.half_widths):
        excess, most = curve.excess(here), _LARGEST * half_width
        is_clear = abs(excess) >= most
        total += (math.copysign(_LARGEST, excess) if is_clear else excess / half_width) * bool(
            excess
        )
        if total <= least:
            least, place = total, here + 1
        elif total - least > sure * math.sqrt(here + 1 - place):
            return place
    return place if place < len(curve.levels) else None


def taken_together(curve: LimitCurve, place: int) -> tuple[LimitCurve, int]:
    """Return a curve of fewer levels that are clearly before or after the break, and its place.

    Of a few levels, or if the levels around the break are clear, it is the curve itself.
    """
    size = _size(curve, place)
    if size == 1:
        return curve, place
    count = len(curve.levels)
    edges = sorted({0, count, *range(place, 0, -size), *range(place, count, size)})
    parts = [slice(*pair) for pair in pairwise(edges)]
    levels = tuple(float(np.mean(curve.levels[part])) for part in parts)
    samples = tuple(_together(curve.samples[part]) for part in parts)
    return replace(curve, levels=levels, samples=samples), edges.index(place)


def _size(curve: LimitCurve, place: int) -> int:
    """Return how many levels on each side it takes to tell both sides apart."""
    count = len(curve.levels)
    most = min(count // _AT_MOST, place, count - place) if curve.is_of_many else 1
    sides = [0.0, 0.0]
    noise = [0.0, 0.0]
    for size in range(1, most + 1):
        for side, here in enumerate((place - size, place + size - 1)):
            sides[side] += curve.excess(here)
            noise[side] += curve.half_widths[here] ** 2
        if math.isinf(sum(sides)):
            return max(size - 1, 1)
        clear = (abs(x) >= _APART * math.sqrt(y) for x, y in zip(sides, noise, strict=True))
        if all(clear):
            return size
    return max(most, 1)


def _together(samples: Sequence[Sample]) -> Sample:
    """Return independent samples as one of their mean."""
    value = float(np.mean([sample.value for sample in samples]))
    errors = [_error(sample) for sample in samples]
    if math.isinf(value) or None in errors:
        return Sample(values=np.array([value]))
    error = math.sqrt(sum((x or 0.0) ** 2 for x in errors)) / len(samples)
    degrees = sum(max(sample.degrees, 1.0) for sample in samples)
    return Sample(values=np.array([value]), spread=Spread(error, degrees, 0.0))


def _error(sample: Sample) -> float | None:
    found = sample.interval()
    if found.low is None or found.high is None:
        return None
    return (found.high - found.low) / 2.0 / t_quantile(degrees=max(sample.degrees, 1.0))


def with_errors(curve: LimitCurve) -> LimitCurve:
    """Return a curve of many levels with errors from the scatter around it, if it has none."""
    is_known = all(x.is_unbounded or x.interval().low is not None for x in curve.samples)
    if is_known or not curve.is_of_many:
        return curve
    errors = _scatter(np.array(curve.values))
    return replace(curve, samples=tuple(
        Sample(values=np.array([value]), spread=Spread(float(error), _NEAR / 2, 0.0))
        for value, error in zip(curve.values, errors, strict=True)
    ))  # fmt: skip


def _scatter(values: FloatArray) -> FloatArray:
    """Return the standard error of each value by the second differences of its neighbours.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(0.0, 2.0, 4000)
    >>> bool(abs(_scatter(noise + np.arange(4000.0)).mean() - 2.0) < 0.1)
    True
    """
    with np.errstate(invalid="ignore"):
        squares = np.pad(np.diff(values, 2) ** 2 / 6.0, 1, mode="edge")
    known = np.isfinite(squares)
    near = np.ones(_NEAR)
    sums = np.convolve(np.where(known, squares, 0.0), near, "same")
    return np.sqrt(sums / np.maximum(np.convolve(known.astype(float), near, "same"), 1.0))
