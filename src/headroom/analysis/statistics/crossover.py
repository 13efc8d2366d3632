"""Crossover: the level of a numeric factor from which one alternative beats another.

Between neighbouring levels, the logarithm of the ratio is assumed to be linear in the level or in
its logarithm. Its interval there follows from the intervals of both levels by the method of
variance estimates recovery, which keeps asymmetric intervals asymmetric. The answer consists of all
levels whose interval contains a ratio of one. Between a range in which the ratio is surely below
one and a range in which it is surely above, these levels are the interval of the crossover;
elsewhere they are undecided. Inverting the test in this way is Fieller's argument. It also works if
the ratio crosses one several times or not at all.

Intervals widened as for a normal distribution decide whether there is a crossover. All n of them
hold together (Bonferroni), so that an error at one of many levels does not produce a crossover. The
position of a crossover is read from the original intervals.

Invariant: ranges and crossovers are in ascending order and do not overlap.

Sources: Fieller, *Some Problems in Interval Estimation* (1954); Zou and Donner, *Construction of
confidence limits about effect measures: a general approach*, Statistics in Medicine 27 (2008).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

import numpy as np
import scipy

from headroom.analysis.statistics.intervals import Interval
from headroom.experiment.protocol.run import FloatArray

Side: TypeAlias = Literal[-1, 0, 1]
"""Whether a ratio surely lies below one, perhaps equals one, or surely lies above."""
FEWEST_LEVELS = 2
_STEPS = 100
"""Places between two levels at which the interval is looked at."""
_BY_RATIO = 2.0
"""Upper over lower level from which the middle of two levels is the geometric one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioAt:
    """The ratio of two things at one level of a factor, with its interval.

    Parameters
    ----------
    level
        Level of the factor.
    ratio, low, high
        Above zero; without an interval nothing is known there. Zero or infinite if only one of
        both has a bound.
    """

    level: float
    ratio: float
    low: float | None
    high: float | None


def ratio_at(level: float, found: Interval) -> RatioAt:
    """Return a ratio with its interval at a level; nothing is known there without a number."""
    if found.value != found.value or found.value < 0.0:
        return RatioAt(level=level, ratio=1.0, low=None, high=None)
    low = None if found.low is None or found.low <= 0.0 else found.low
    return RatioAt(level=level, ratio=found.value, low=low, high=found.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A range of levels in which the ratio is on one side of one, or undecided."""

    low: float
    high: float
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where the ratio crosses one, and the side on which it is beyond.

    `level` is None if one of two neighbours has no ratio, so that no line joins them.
    """

    level: float | None
    low: float
    high: float
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossings:
    """All that is known about a ratio over a factor."""

    crossings: tuple[Crossing, ...]
    stretches: tuple[Stretch, ...]


def crossings_of(curve: Sequence[RatioAt], *, confidence: float = 0.95) -> Crossings:
    """Return where a ratio crosses one, and where it surely lies above or below.

    Parameters
    ----------
    curve
        Two levels or more, in any order.
    confidence
        Confidence of each interval of `curve`; the answer has the same.

    Examples
    --------
    >>> curve = [RatioAt(level=level, ratio=level / 30, low=level / 31, high=level / 29)
    ...          for level in (10.0, 20.0, 40.0, 80.0)]
    >>> (found,) = crossings_of(curve).crossings
    >>> found.low < 30 < found.high, found.side
    (True, 1)
    """
    points = sorted(curve, key=lambda one: one.level)
    widening = _widening(len(points), confidence)
    bands = [_band(point) for point in points]
    places = [
        place
        for ends, neighbours in zip(pairwise(points), pairwise(bands), strict=True)
        for place in _places(ends[0].level, ends[1].level, *neighbours, widening)
    ]
    runs = [(side, list(run)) for side, run in groupby(places, key=lambda place: place.side)]
    crossings, stretches = [], []
    for number, (side, run) in enumerate(runs):
        before: Side = runs[number - 1][0] if number else 0
        after: Side = runs[number + 1][0] if number + 1 < len(runs) else 0
        if side == 0 and before * after < 0:
            crossings.append(_crossing(run, after))
        else:
            stretches.append(Stretch(low=run[0].low, high=run[-1].high, side=side))
    return Crossings(crossings=tuple(crossings), stretches=tuple(stretches))


def _widening(count: int, confidence: float) -> float:
    """Return by how much intervals grow, so that those of `count` levels hold together."""
    each, all_ = (scipy.special.ndtri(1.0 - (1.0 - confidence) / 2.0 / n) for n in (1, count))
    return float(all_ / each)


@dataclass(frozen=True, slots=True)
class _Band:
    """The logarithm of a ratio, and how far its interval reaches to both sides."""

    value: float
    below: float
    above: float


def _band(one: RatioAt) -> _Band:
    value = _log(one.ratio)
    if math.isinf(value):
        return _Band(value, 0.0, 0.0)
    if one.low is None or one.high is None:
        return _Band(value, math.inf, math.inf)
    return _Band(value, value - _log(one.low), _log(one.high) - value)


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf


@dataclass(frozen=True, slots=True)
class _Place:
    """A short piece of the factor: from `low` to `high`, by either law, and what is known there."""

    low: float
    high: float
    level: float
    value: float
    side: Side
    may_cross: bool


def _places(start: float, end: float, first: _Band, last: _Band, widening: float) -> list[_Place]:
    """Return the pieces from one level to the next."""
    if math.isinf(first.value) or math.isinf(last.value):
        before, after = _side_at(first, widening), _side_at(last, widening)
        if before == after:
            return [_bare(start, end, before)]
        return [_bare(start, start, before), _bare(start, end, 0), _bare(end, end, after)]
    shares = np.linspace(0.0, 1.0, _STEPS + 1)
    values = (1.0 - shares) * first.value + shares * last.value
    below = _reach(shares, first.below, last.below)
    above = _reach(shares, first.above, last.above)
    sides = _sides(values - widening * below, values + widening * above)
    near = _sides(values - below, values + above)
    by_line = start + shares * (end - start)
    by_ratio = start * (end / start) ** shares if start > 0.0 else by_line
    levels = by_ratio if start > 0.0 and end / start > _BY_RATIO else by_line
    return [
        _Place(
            low=float(min(by_line[n], by_ratio[n])),
            high=float(max(by_line[n + 1], by_ratio[n + 1])),
            level=float(levels[n]),
            value=float(values[n]),
            side=sides[n],
            may_cross=near[n] == 0,
        )
        for n in range(_STEPS)
    ]


def _bare(low: float, high: float, side: Side) -> _Place:
    """Return a piece of which only the side is known."""
    return _Place(low, high, math.nan, math.nan, side, may_cross=side == 0)


def _reach(shares: FloatArray, first: float, last: float) -> FloatArray:
    """Return how far the interval of a weighted mean of two independent values reaches."""
    if math.isinf(first) or math.isinf(last):
        return np.full(shares.shape, math.inf)
    reach: FloatArray = np.hypot((1.0 - shares) * first, shares * last)
    return reach


def _sides(lows: FloatArray, highs: FloatArray) -> list[Side]:
    """Return the side of each piece between two neighbouring places."""
    return [
        _side(min(lows[n], lows[n + 1]), max(highs[n], highs[n + 1])) for n in range(lows.size - 1)
    ]


def _side_at(band: _Band, widening: float) -> Side:
    return _side(band.value - widening * band.below, band.value + widening * band.above)


def _side(low: float, high: float) -> Side:
    if low > 0.0:
        return 1
    return -1 if high < 0.0 else 0


def _crossing(run: Sequence[_Place], after: Side) -> Crossing:
    """Return the crossover within pieces that may hold it: in the middle, if there are several."""
    found = [
        one.level for one, next_one in pairwise(run) if (one.value > 0.0) != (next_one.value > 0.0)
    ]
    found = found if all(math.isfinite(one.value) for one in run) else []
    level = (found[0] + found[-1]) / 2.0 if found else None
    near = [one for one in run if one.may_cross] or run
    return Crossing(level=level, low=near[0].low, high=near[-1].high, side=after)
