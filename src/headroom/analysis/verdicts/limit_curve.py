"""A curve beside its limit: how it may run between two levels, and where it crosses the limit.

The share u of the way between two levels and the share s of the way between their values are
u = k s / (1 + (k - 1) s) on every curve (a + b x) / (1 + c x). The *bend* k is 1 on a straight
line, correct if the response time grows with the number of users behind a saturated station
(R = N D - Z), and y2 / y1 if the reciprocal is straight, correct for an open queue (1 / R falls
with the arrival rate). A third level gives the bend of the curve itself. The crossing comes from
the bends by the level before and by the level after, its interval from all four laws together.

Invariant: no crossing lies outside of the levels.

Sources: inverse estimation by inverting the test as in Fieller, *Some Problems in Interval
Estimation* (1954); the two laws as in Lazowska et al., *Quantitative System Performance* (1984).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

from headroom.analysis.statistics.intervals import Sample, contrast

MANY = 20
"""Levels from which on some exceed the limit by chance: one is sure by a wider interval then."""
SURE_OF_MANY = 2.5
"""Times the 95% interval that such an interval is."""
LOW, HIGH = 1, 2
LAWS = range(4)
"""Straight, straight reciprocal, least and greatest bend by a third level."""
_RECIPROCAL = 1
_STEPS = 32
"""Halvings of a search: to a billionth of the distance between two levels."""
_NOTHING = 1e-100
"""Share of a value at which its reciprocal says nothing more."""
_FURTHER = 1.3
"""Times more or less that a curve may bend whose other side is unknown: measured at queues."""
_FAR = 3.0
"""Times beyond both laws up to which a bend is believed."""
_JUMP = 10.0
"""Ratio of neighbouring values that may be a jump."""
_Law: TypeAlias = Callable[[float], tuple[float, float, float]]
"""Excess, and the bounds of its interval, at a share of the way from one level to the next."""


@dataclass(frozen=True)
class LimitCurve:
    """A curve as excess over the limit: above zero where the limit is broken."""

    levels: tuple[float, ...]
    samples: tuple[Sample, ...]
    limit: float
    sign: float

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The estimates."""
        return tuple(sample.value for sample in self.samples)

    @property
    def is_of_many(self) -> bool:
        """Whether so many levels were run that some are beyond the limit by chance."""
        return len(self.levels) > MANY

    def excess(self, place: int) -> float:
        """Return the excess at a level."""
        return self.sign * (self.values[place] - self.limit)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest excess within the interval of each level."""
        found, wide = [], SURE_OF_MANY if self.is_of_many else 1.0
        for sample, value in zip(self.samples, self.values, strict=True):
            interval = sample.interval()
            ends = [value if end in {None, value} else value + wide * (end - value)
                    for end in (interval.low, interval.high)]  # fmt: skip
            least, largest = sorted(self.sign * (end - self.limit) for end in ends)
            found.append((least, largest))
        return tuple(found)

    @cached_property
    def half_widths(self) -> list[float]:
        """Distance of each excess from the end of its interval that is on the limit's side."""
        pairs = [(self.excess(place), *ends) for place, ends in enumerate(self.bounds)]
        return [abs(at - (best if at > 0.0 else worst)) if math.isfinite(at) else 0.0
                for at, best, worst in pairs]  # fmt: skip

    def crossing(self, place: int) -> float:
        """Return where the curve crosses the limit between the level before a place and it."""
        before, after = self.excess(place - 1), self.excess(place)
        way = -before / (after - before)
        least, most = self._laws_of(place)
        bends = [min(max(bend, least), most) for bend in self._bends(place)]
        bend = math.exp(sum(map(math.log, bends)) / len(bends)) if bends else 1.0
        return self._level(place, bend * way / (1.0 + (bend - 1.0) * way))

    def is_jump(self, place: int) -> bool:
        """Return whether values differ ten times where the levels around do not tell how."""
        before, after = self.values[place - 1], self.values[place]
        if min(before, after) <= 0.0 or math.isinf(max(before, after)):
            return False
        bends = self._bends(place)
        is_told = len(bends) > 1 and max(bends) <= _FAR**2 * min(bends)
        return max(before, after) >= _JUMP * min(before, after) and not is_told

    def _bends(self, place: int) -> list[float]:
        """Return the bend between two levels, by the level before them and by that after them."""
        found = (self._bend(place, third) for third in (place - 2, place + 1))
        return [bend for bend in found if bend is not None]

    def _bend(self, place: int, third: int) -> float | None:
        """Return the bend by a third level; None if there is none, or no rise or fall to it."""
        if not 0 <= third < len(self.levels):
            return None
        before, after, value = (self.values[n] for n in (place - 1, place, third))
        if math.isinf(value):  # A queue that has no steady state there.
            return after / before if min(before, after) > 0.0 and math.isfinite(after) else None
        start, end = self.levels[place - 1], self.levels[place]
        along, way = (self.levels[third] - start) / (end - start), value - before
        if after == before or math.isinf(after) or math.isinf(before):
            return None
        way /= after - before
        if way * along <= 0.0 or (way - 1.0) * (along - 1.0) <= 0.0:
            return None
        return along * (1.0 - way) / (way * (1.0 - along))

    def _laws_of(self, place: int) -> tuple[float, float]:
        """Return the least and the greatest bend by a law: of the values, or of the levels."""
        (before, after), (start, end) = (
            x[place - 1 : place + 1] for x in (self.values, self.levels)
        )
        ratios = [1.0, *([after / before] if before * after > 0.0 else [])]
        ratios += [start / end, end / start] if start * end > 0.0 else []
        return min(ratios), max(ratios)

    def law(self, place: int, law: int) -> _Law:
        """Return one of `LAWS` between the level before a place and it."""
        before, after = self.values[place - 1 : place + 1]
        is_finite, bends = math.isfinite(before) and math.isfinite(after), self._bends(place)
        if law == _RECIPROCAL and is_finite and min(before, after) > _NOTHING * max(before, after):
            return partial(self._at, place, after / before, 1.0)
        if law <= _RECIPROCAL or not is_finite or not bends:
            return partial(self._at, place, 1.0, 0.0)
        further, (least, most) = _FURTHER if len(bends) == 1 else 1.0, self._laws_of(place)
        bend = min(bends) / further if law == LAWS[-1] else max(bends) * further
        return partial(self._at, place, min(max(bend, least / _FAR), most * _FAR), 0.0)

    def _at(
        self, place: int, bend: float, power: float, share: float
    ) -> tuple[float, float, float]:
        """Return an excess with its bounds; `power` 1 is that of errors of reciprocals."""
        pair, ends = self.samples[place - 1 : place + 1], self.values[place - 1 : place + 1]
        way = share / (bend - (bend - 1.0) * share)
        found, shift = contrast(pair, [1.0 - way, way]), 0.0
        if power:
            value = found.value
            found = contrast(pair, [(1.0 - way) * value / ends[0], way * value / ends[1]])
            shift = value - found.value
        bounds = [found.value if x is None else x for x in (found.low, found.high)]
        least, largest = sorted(self.sign * (x + shift - self.limit) for x in bounds)
        return self.sign * (found.value + shift - self.limit), least, largest

    def search(self, place: int, law: int, bound: int) -> float:
        """Return where a bound of the curve crosses the limit, maybe before or after `place`.

        It goes one way only: the bounds of two laws, or of a level seen from both of its sides,
        may differ, so that going back would never end.
        """
        is_over = self.law(place, law)(0.0)[bound] > 0.0
        step, end = (-1, 0.0) if is_over else (1, 1.0)
        here, last = place, len(self.levels)
        while 1 <= here < last and is_over == (self.law(here, law)(end)[bound] > 0.0):
            here += step
        if here < 1:
            return self.levels[0]
        if here >= last:
            return self.levels[-1]
        if self.samples[here].is_unbounded:
            return self.levels[here if bound == LOW else here - 1]
        curve, low, high = self.law(here, law), 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if curve(middle)[bound] > 0.0 else (middle, high)
        return self._level(here, (low + high) / 2.0)

    def _level(self, place: int, share: float) -> float:
        first, last = self.levels[place - 1], self.levels[place]
        return first + share * (last - first)
