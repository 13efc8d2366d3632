"""Many noisy levels: which of them is the first that breaks a limit, and levels taken together.

The sum of all excesses, in units of the noise, is least where an isotonic curve crosses the limit.
The break is at the first least sum from which it surely rises again, so a level that exceeds the
limit by chance decides nothing. Around it as many levels are taken together as it takes to tell
both sides apart: a curve of fewer levels, with the same laws between them.

Invariant: the cost grows with the number of levels, not with its square.

Source: isotonic regression as the slope of the greatest convex minorant of the sums, as in
Robertson, Wright and Dykstra, *Order Restricted Statistical Inference* (1988).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.analysis.statistics.spread import Spread
from headroom.analysis.verdicts.limit_curve import LimitCurve

_LARGEST = 3.0
"""Most that a single level counts, in half widths of the interval by which it is sure."""
_APART = 1.2
"""Such half widths from which levels taken together are clearly on one side."""
_PARTS = 10
"""Levels taken together are one part in so many at most."""


def first_break(curve: LimitCurve) -> int | None:
    """Return the place of the first level that breaks its limit; None if none does.

    Examples
    --------
    >>> samples = tuple(Sample(values=x + np.array([-0.3, 0.3])) for x in (1.0, 3.1, 2.0, 3.2, 9.0))
    >>> first_break(LimitCurve((1.0, 2.0, 3.0, 4.0, 5.0), samples, 3.0, 1.0))
    3
    """
    total = least = 0.0
    place = 0
    for here, half_width in enumerate(curve.half_widths):
        excess = curve.excess(here)
        if abs(excess) < _LARGEST * half_width:
            total += excess / half_width
        elif excess:
            total += math.copysign(_LARGEST, excess)
        if total <= least:
            least, place = total, here + 1
        elif total - least > math.sqrt(here + 1 - place):
            return place
    return place if place < len(curve.levels) else None


def taken_together(curve: LimitCurve, place: int) -> tuple[LimitCurve, int]:
    """Return a curve of fewer levels that are clearly before or after the break, and its place.

    Of a few levels, or if the levels around the break are clear, it is the curve itself.
    """
    size = _size(curve, place) if curve.is_of_many else 1
    if size == 1:
        return curve, place
    count = len(curve.levels)
    edges = sorted({0, count, *range(place, 0, -size), *range(place, count, size)})
    parts = [slice(*pair) for pair in pairwise(edges)]
    samples = tuple(_together(curve.samples[part]) for part in parts)
    levels = tuple(float(np.mean(curve.levels[part])) for part in parts)
    return replace(curve, levels=levels, samples=samples), edges.index(place)


def _size(curve: LimitCurve, place: int) -> int:
    """Return how many levels on each side it takes to tell both sides apart."""
    count, size = len(curve.levels), 1
    sums, squares = np.zeros(2), np.zeros(2)
    for size in range(1, min(count // _PARTS, place, count - place) + 1):
        ends = [place - size, place + size - 1]
        sums += [curve.excess(end) for end in ends]
        squares += [curve.half_widths[end] ** 2 for end in ends]
        if not np.isfinite(sums).all():
            return max(size - 1, 1)
        if (np.abs(sums) >= _APART * np.sqrt(squares)).all():
            break
    return size


def _together(samples: Sequence[Sample]) -> Sample:
    """Return independent samples as one of their mean; without an error if one has none."""
    values = np.array([np.mean([sample.value for sample in samples])])
    degrees = [max(sample.degrees, 1.0) for sample in samples]
    intervals = [sample.interval() for sample in samples]
    errors = [
        (found.high - found.low) / 2.0 / t_quantile(degrees=count)
        for found, count in zip(intervals, degrees, strict=True)
        if found.low is not None and found.high is not None
    ]
    if np.isinf(values).any() or len(errors) < len(samples):
        return Sample(values=values)
    spread = Spread(math.hypot(*errors) / len(samples), sum(degrees), 0.0)
    return Sample(values=values, spread=spread)
