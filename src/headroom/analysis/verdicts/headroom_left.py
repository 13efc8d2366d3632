"""The load at which a limit breaks, and the headroom up to that load.

Between two levels the curve is assumed to lie between a straight line and the straight line of its
reciprocal. The first is correct if the response time grows with the number of users behind a
saturated station (R = N D - Z), the second for an open queue (1 / R falls with the arrival rate).
The level comes from the straight line. Its interval contains every level at which the limit lies
within the 95% interval of the curve, by either line.

At a saturated level the metric is unbounded, so no line leads to it: the limit breaks somewhere
between the last level that keeps it and the saturated level.

Of a load, less is better: a limit is kept below its break. Of servers, tokens or speed more is
better, and it is kept above. The levels themselves show the side, where some keep it and some do
not; else the resources that grow with the factor, or the way in which the metric goes. A curve that
is kept above is looked at from its other end, with negative levels.

Invariant: no level is reported outside of the levels that were run.

Sources: inverse estimation by inverting the test as in Fieller, *Some Problems in Interval
Estimation* (1954); the two laws as in Lazowska et al., *Quantitative System Performance* (1984).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.evidence import CrossingEvidence, UndecidedCode
from headroom.analysis.results import LimitCrossing, Verdict
from headroom.analysis.statistics.intervals import Sample, contrast
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import Limit, in_base_units

State: TypeAlias = Literal["breaks", "holds", "broken", "unclear"]
Kept: TypeAlias = Literal["below", "above", "between"]
_STEPS = 50
"""Halvings of a search: more than a float has bits."""
_NOTHING = 1e-100
"""Share of a value at which its reciprocal says nothing more."""
_NO_EVIDENCE = CrossingEvidence()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where a limit breaks; `level` is None unless it breaks between two levels.

    It is also None if a level is saturated: no line leads there, so only `low` and `high` are
    known. `holds_at` is the nearest level on the side where the limit is kept that surely keeps
    it, `breaks_at` the nearest on the other side that surely breaks it. Of a limit that is kept
    ``between`` two levels, `low` and `high` are the first and the last that surely keep it.
    """

    state: State
    kept: Kept = "below"
    level: float | None = None
    low: float | None = None
    high: float | None = None
    evidence: CrossingEvidence = _NO_EVIDENCE
    holds_at: float | None = None
    breaks_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    """A curve as excess over the limit: above zero where the limit is broken."""

    levels: tuple[float, ...]
    samples: tuple[Sample, ...]
    limit: float
    sign: float

    def excess(self, place: int) -> float:
        return self.sign * (self.samples[place].value - self.limit)

    def worst(self, place: int) -> float:
        """Return the largest excess within the interval of a level."""
        return max(self._bounds(place))

    def best(self, place: int) -> float:
        return min(self._bounds(place))

    def _bounds(self, place: int) -> tuple[float, float]:
        interval = self.samples[place].interval()
        low = interval.value if interval.low is None else interval.low
        high = interval.value if interval.high is None else interval.high
        return self.sign * (low - self.limit), self.sign * (high - self.limit)


def limit_crossing(
    curve: Mapping[float, Sample | None],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    is_more_better: bool | None = None,
) -> Crossing:
    """Return at which level a curve breaks its limit for the first time.

    Parameters
    ----------
    curve
        Sample by level of the load, None if a level has no results.
    at_most, at_least
        The limit; one of the two.
    is_more_better
        Whether the factor is a resource or a load, where the levels do not tell; None if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> curve = {level: Sample(values=np.array([level - 0.01, level + 0.01]))
    ...          for level in (10.0, 20.0)}
    >>> round(limit_crossing(curve, at_most=15.0).level, 6)
    15.0
    >>> found = limit_crossing(curve, at_most=25.0)
    >>> found.state, found.evidence.at
    ('holds', 20.0)
    """
    limit = at_most if at_most is not None else at_least
    if limit is None:
        raise ValueError("a limit needs at_most or at_least")
    known = {level: sample for level, sample in curve.items() if sample is not None}
    if not known:
        nothing = CrossingEvidence(unclear="no_results", without=sorted(curve))
        return Crossing(state="unclear", evidence=nothing)
    levels = tuple(sorted(known))
    sign = 1.0 if at_most is not None else -1.0
    side = _Side(levels, tuple(known[level] for level in levels), limit, sign)
    kept = _kept_side(side, is_more_better=is_more_better)
    if kept == "between":
        found = _window(side)
    elif kept == "above":
        found = _mirrored(_first_crossing(_turned(side)))
    else:
        found = _first_crossing(side)
    bounds = [(side.best(place), side.worst(place)) for place in range(len(levels))]
    evidence = msgspec.structs.replace(
        found.evidence,
        **levels_by_side(levels, bounds),
        without=sorted(level for level in curve if level not in known),
    )
    return replace(found, evidence=evidence)


def levels_by_side(
    levels: Sequence[float], bounds: Sequence[tuple[float, float]]
) -> dict[str, list[float]]:
    """Return the levels that keep a limit, break it, or are undecided, as fields of the evidence.

    Parameters
    ----------
    levels
        In order.
    bounds
        Least and largest excess over the limit at each: above zero it is broken.
    """
    pairs = list(zip(levels, bounds, strict=True))
    return {
        "kept_at": [level for level, (_, worst) in pairs if worst <= 0.0],
        "broken_at": [level for level, (best, _) in pairs if best > 0.0],
        "undecided_at": [level for level, (best, worst) in pairs if best <= 0.0 < worst],
    }


def _kept_side(side: _Side, *, is_more_better: bool | None) -> Kept:
    """Return on which side of its break a limit is kept."""
    places = range(len(side.levels))
    kept = [side.excess(place) <= 0.0 for place in places]
    if kept[0] != kept[-1]:
        return "below" if kept[0] else "above"
    if not kept[0] and any(side.worst(place) <= 0.0 for place in places):
        return "between"
    if is_more_better is None:
        is_more_better = side.excess(places[-1]) < side.excess(0)
    return "above" if is_more_better else "below"


def _turned(side: _Side) -> _Side:
    """Return a curve as seen from its other end: more is worse there."""
    levels = tuple(-level for level in reversed(side.levels))
    return replace(side, levels=levels, samples=side.samples[::-1])


def _mirrored(found: Crossing) -> Crossing:
    """Return the crossing of a turned curve with the levels of the curve itself."""

    def turned(level: float | None) -> float | None:
        return None if level is None else -level

    evidence = msgspec.structs.replace(
        found.evidence,
        at=turned(found.evidence.at),
        before=turned(found.evidence.after),
        after=turned(found.evidence.before),
    )
    return replace(
        found,
        kept="above",
        level=turned(found.level),
        low=turned(found.high),
        high=turned(found.low),
        holds_at=turned(found.holds_at),
        breaks_at=turned(found.breaks_at),
        evidence=evidence,
    )


def _window(side: _Side) -> Crossing:
    """Return the levels between which alone a limit is kept: more and less are both worse."""
    kept = [level for n, level in enumerate(side.levels) if side.worst(n) <= 0.0]
    evidence = CrossingEvidence(before=kept[0], after=kept[-1])
    return Crossing(state="breaks", kept="between", low=kept[0], high=kept[-1], evidence=evidence)


def _first_crossing(side: _Side) -> Crossing:
    places = range(len(side.levels))
    first = next((n for n in places if side.excess(n) > 0.0), None)
    if first is None:
        sure = [n for n in places if side.worst(n) <= 0.0]
        if not sure:
            return _unclear(side.levels[-1])
        return Crossing(state="holds", evidence=CrossingEvidence(at=side.levels[sure[-1]]))
    if first == 0:
        if side.best(0) <= 0.0:
            return _unclear(side.levels[0])
        return Crossing(state="broken", evidence=CrossingEvidence(at=side.levels[0]))
    return _between(side, first)


def _unclear(level: float) -> Crossing:
    return Crossing(state="unclear", evidence=CrossingEvidence(unclear="near_limit", at=level))


def _between(side: _Side, place: int) -> Crossing:
    """Return the crossing between a level that keeps the limit and the next, which breaks it."""
    lows = [_search(side, place, law, _HIGH) for law in (_linear, _reciprocal)]
    highs = [_search(side, place, law, _LOW) for law in (_linear, _reciprocal)]
    holds_at, breaks_at = _bracket(side, place)
    evidence = CrossingEvidence(before=side.levels[place - 1], after=side.levels[place])
    if side.samples[place].is_unbounded:
        return Crossing(
            state="breaks",
            low=min(lows),
            high=side.levels[place],
            evidence=msgspec.structs.replace(evidence, is_saturated=True),
            holds_at=holds_at,
            breaks_at=breaks_at,
        )
    level = _solve(side, place, partial(_bound, side, place, _linear, _VALUE))
    neighbours = side.samples[place - 1 : place + 1]
    evidence = msgspec.structs.replace(
        evidence,
        is_cut=max(level, *highs) >= side.levels[-1],
        lacks_interval=any(neighbour.interval().low is None for neighbour in neighbours),
    )
    if evidence.lacks_interval:
        return Crossing(state="breaks", level=level, evidence=evidence, breaks_at=breaks_at)
    return Crossing(
        state="breaks",
        level=level,
        low=min(level, *lows),
        high=max(level, *highs),
        evidence=evidence,
        holds_at=holds_at,
        breaks_at=breaks_at,
    )


def _bracket(side: _Side, place: int) -> tuple[float | None, float | None]:
    """Return the last level before `place` that surely keeps, the first from it that breaks."""
    kept = [n for n in range(place) if side.worst(n) <= 0.0]
    broken = [n for n in range(place, len(side.levels)) if side.best(n) > 0.0]
    return (
        side.levels[kept[-1]] if kept else None,
        side.levels[broken[0]] if broken else None,
    )


_VALUE, _LOW, _HIGH = 0, 1, 2
_Law: TypeAlias = Callable[[_Side, int, float], tuple[float, float, float]]
"""Excess, and the bounds of its interval, at a share of the way from one level to the next."""


def _linear(side: _Side, place: int, share: float) -> tuple[float, float, float]:
    before, after = side.samples[place - 1], side.samples[place]
    difference = contrast([before, after], [1.0 - share, share])
    low = difference.value if difference.low is None else difference.low
    high = difference.value if difference.high is None else difference.high
    bounds = [side.sign * (value - side.limit) for value in (low, high)]
    return side.sign * (difference.value - side.limit), min(bounds), max(bounds)


def _reciprocal(side: _Side, place: int, share: float) -> tuple[float, float, float]:
    """Return the same by the line of the reciprocals, with errors to first order."""
    before, after = side.samples[place - 1], side.samples[place]
    least = _NOTHING * max(before.value, after.value)
    if min(before.value, after.value) <= least or after.is_unbounded or before.is_unbounded:
        return _linear(side, place, share)
    value = 1.0 / ((1.0 - share) / before.value + share / after.value)
    weights = (
        (1.0 - share) * (value / before.value) ** 2,
        share * (value / after.value) ** 2,
    )
    difference = contrast([before, after], weights)
    half = (
        0.0
        if difference.low is None or difference.high is None
        else (difference.high - difference.low) / 2.0
    )
    excess = side.sign * (value - side.limit)
    return excess, excess - half, excess + half


def _bound(side: _Side, place: int, law: _Law, bound: int, share: float) -> float:
    return law(side, place, share)[bound]


def _search(side: _Side, place: int, law: _Law, bound: int) -> float:
    """Return where a bound of the curve crosses the limit, maybe before or after `place`.

    It goes one way only: the bounds of two laws, or of a level seen from both of its sides, may
    differ, so that going back would never end.
    """
    is_over = _bound(side, place, law, bound, 0.0) > 0.0
    step, end = (-1, 0.0) if is_over else (1, 1.0)
    here = place
    while 1 <= here < len(side.levels) and is_over == (_bound(side, here, law, bound, end) > 0.0):
        here += step
    if here < 1:
        return side.levels[0]
    if here >= len(side.levels):
        return side.levels[-1]
    if side.samples[here].is_unbounded:
        return side.levels[here if bound == _LOW else here - 1]
    return _solve(side, here, partial(_bound, side, here, law, bound))


def _solve(side: _Side, place: int, excess: Callable[[float], float]) -> float:
    """Return the level at which a rising excess is zero, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if excess(middle) > 0.0 else (middle, high)
    first, last = side.levels[place - 1], side.levels[place]
    return first + (low + high) / 2.0 * (last - first)


def verdict_at(
    level: float,
    curve: Mapping[float, Sample | None],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> tuple[Verdict, UndecidedCode]:
    """Return whether a curve keeps its limit at a level, and why that is not known if so.

    Between two levels both laws must agree; outside of the levels nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> curve = {level: Sample(values=np.array([level - 0.01, level + 0.01]))
    ...          for level in (10.0, 20.0)}
    >>> verdict_at(12.0, curve, at_most=18.0), verdict_at(19.0, curve, at_most=18.0)[0]
    (('holds', ''), 'differs')
    """
    limit = at_most if at_most is not None else at_least
    if limit is None:
        raise ValueError("a limit needs at_most or at_least")
    known = {load: sample for load, sample in curve.items() if sample is not None}
    levels = tuple(sorted(known))
    if not levels or not levels[0] <= level <= levels[-1]:
        return "undecided", "no_level_near"
    sign = 1.0 if at_most is not None else -1.0
    side = _Side(levels, tuple(known[load] for load in levels), limit, sign)
    after = next(place for place, load in enumerate(levels) if load >= level)
    near = (
        [known[levels[after]]]
        if levels[after] == level
        else list(side.samples[after - 1 : after + 1])
    )
    if any(one.interval().low is None for one in near):
        return "undecided", "few_replications"
    if len(near) > 1 and any(one.is_unbounded for one in near):
        return "undecided", "next_to_saturated"
    excess = _excess_at(side, after, level)
    if max(excess) <= 0.0:
        return "holds", ""
    if min(excess) > 0.0:
        return "differs", ""
    return "undecided", "includes_limit"


def _excess_at(side: _Side, after: int, level: float) -> list[float]:
    """Return the bounds of the excess at a level by every law; `after` is the next level."""
    if side.levels[after] == level:
        return [side.best(after), side.worst(after)]
    before = side.levels[after - 1]
    share = (level - before) / (side.levels[after] - before)
    found = [law(side, after, share) for law in (_linear, _reciprocal)]
    return [bound for one in found for bound in one[1:]]


def crossing_of(
    limit: Limit,
    factor: str,
    where: dict[str, Value],
    curve: Mapping[float, Sample | None],
    unit: str,
    *,
    is_resource: bool = False,
) -> LimitCrossing:
    """Return where a limit of a study breaks on one curve, and the headroom left until there.

    Parameters
    ----------
    limit
        The limit of the study.
    factor
        Name of the factor that is the load.
    where
        Levels of the other factors.
    curve
        Sample of the limited metric by level of the load.
    unit
        Unit of the metric.
    is_resource
        Whether servers or tokens grow with the factor: more of it is better.
    """
    at_most, at_least = in_base_units(limit.at_most), in_base_units(limit.at_least)
    crossing = limit_crossing(
        curve, at_most=at_most, at_least=at_least, is_more_better=is_resource or None
    )
    verdict: Verdict | None = None
    undecided: UndecidedCode = ""
    if limit.current is not None:
        verdict, undecided = verdict_at(limit.current, curve, at_most=at_most, at_least=at_least)
    current = limit.current if crossing.kept == "below" else None
    headroom, low, high = (
        None if level is None or current is None else level / current
        for level in (crossing.level, crossing.low, crossing.high)
    )
    return LimitCrossing(
        metric=limit.metric,
        unit=unit,
        at_most=at_most,
        at_least=at_least,
        factor=factor,
        where=where,
        state=crossing.state,
        kept=crossing.kept,
        is_resource=is_resource,
        level=crossing.level,
        level_low=crossing.low,
        level_high=crossing.high,
        current=limit.current,
        headroom=headroom,
        headroom_low=low,
        headroom_high=high,
        holds_at=crossing.holds_at,
        breaks_at=crossing.breaks_at,
        verdict=verdict,
        evidence=msgspec.structs.replace(crossing.evidence, undecided=undecided),
    )
