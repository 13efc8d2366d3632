"""The level at which a limit breaks, and the headroom up to that load.

How a curve runs between two levels is said in `limit_curve`. At a saturated level the metric is
unbounded, and across a jump nothing is known, so neither has a point estimate: the limit breaks
somewhere between the last level that keeps it and the first that breaks it. Nor has a break that
would be printed as a level that keeps the limit.

Of a load, less is better: a limit is kept below its break. Of servers, tokens or speed more is
better, and it is kept above. The levels themselves show the side, where some keep it and some do
not; else the resources that grow with the factor, or the way in which the metric goes. A curve that
is kept above is looked at from its other end, with negative levels.

Invariant: no level is reported outside of the levels that were run.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.evidence import CrossingEvidence, UndecidedCode
from headroom.analysis.results import LimitCrossing, Verdict
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.limit_curve import HIGH, LAWS, LOW, LimitCurve
from headroom.analysis.verdicts.many_levels import first_break, taken_together
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import Limit, in_base_units

State: TypeAlias = Literal["breaks", "holds", "broken", "unclear"]
Kept: TypeAlias = Literal["below", "above", "between"]
_NO_EVIDENCE = CrossingEvidence()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where a limit breaks; `level` is None unless it breaks between two levels.

    It is also None beside a saturated level, across a jump, and if it would be printed as a level
    that keeps the limit: only `low` and `high` are known then. `holds_at` is the nearest level on
    the side where the limit is kept that surely keeps it, `breaks_at` the nearest on the other side
    that surely breaks it. Of a limit that is kept ``between`` two levels, `low` and `high` are the
    first and the last that surely keep it.
    """

    state: State
    kept: Kept = "below"
    level: float | None = None
    low: float | None = None
    high: float | None = None
    evidence: CrossingEvidence = _NO_EVIDENCE
    holds_at: float | None = None
    breaks_at: float | None = None


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
    side = _beside(at_most, at_least, curve)
    if not side.levels:
        nothing = CrossingEvidence(unclear="no_results", without=sorted(curve))
        return Crossing(state="unclear", evidence=nothing)
    kept = _kept_side(side, is_more_better=is_more_better)
    if kept == "between":
        found = _window(side)
    elif kept == "above":
        found = _mirrored(_first_crossing(_turned(side)))
    else:
        found = _first_crossing(side)
    evidence = msgspec.structs.replace(
        found.evidence,
        **levels_by_side(side.levels, side.bounds),
        without=sorted(level for level, sample in curve.items() if sample is None),
    )
    return replace(found, evidence=evidence)


def _beside(
    at_most: float | None, at_least: float | None, curve: Mapping[float, Sample | None]
) -> LimitCurve:
    """Return the levels that have results beside the limit."""
    limit = at_most if at_most is not None else at_least
    if limit is None:
        raise ValueError("a limit needs at_most or at_least")
    known = sorted(
        ((level, sample) for level, sample in curve.items() if sample is not None),
        key=lambda pair: pair[0],
    )
    levels, samples = zip(*known, strict=True) if known else ((), ())
    return LimitCurve(levels, samples, limit, 1.0 if at_most is not None else -1.0)


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


def _kept_side(side: LimitCurve, *, is_more_better: bool | None) -> Kept:
    """Return on which side of its break a limit is kept."""
    places = range(len(side.levels))
    kept = [side.excess(place) <= 0.0 for place in places]
    if kept[0] != kept[-1]:
        return "below" if kept[0] else "above"
    if not kept[0] and any(side.bounds[place][1] <= 0.0 for place in places):
        return "between"
    if is_more_better is None:
        is_more_better = side.excess(places[-1]) < side.excess(0)
    return "above" if is_more_better else "below"


def _turned(side: LimitCurve) -> LimitCurve:
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


def _window(side: LimitCurve) -> Crossing:
    """Return the levels between which alone a limit is kept: more and less are both worse."""
    kept = [level for n, level in enumerate(side.levels) if side.bounds[n][1] <= 0.0]
    evidence = CrossingEvidence(before=kept[0], after=kept[-1])
    return Crossing(state="breaks", kept="between", low=kept[0], high=kept[-1], evidence=evidence)


def _first_crossing(curve: LimitCurve) -> Crossing:
    place = first_break(curve)
    if place is None:
        sure = [n for n in range(len(curve.levels)) if curve.bounds[n][1] <= 0.0]
        if not sure:
            return _unclear(curve.levels[-1])
        return Crossing(state="holds", evidence=CrossingEvidence(at=curve.levels[sure[-1]]))
    if place == 0:
        if curve.bounds[0][0] <= 0.0:
            return _unclear(curve.levels[0])
        return Crossing(state="broken", evidence=CrossingEvidence(at=curve.levels[0]))
    return _between(curve, place)


def _unclear(level: float) -> Crossing:
    return Crossing(state="unclear", evidence=CrossingEvidence(unclear="near_limit", at=level))


def _between(single: LimitCurve, first: int) -> Crossing:
    """Return the crossing between a level that keeps the limit and the next, which breaks it."""
    curve, place = taken_together(single, first)
    pair = curve.samples[place - 1 : place + 1]
    is_saturated, is_jump = any(one.is_unbounded for one in pair), curve.is_jump(place)
    level = math.nan if is_saturated else curve.crossing(place)
    if curve is not single:
        first = bisect_right(single.levels, level)
    holds_at, breaks_at = _bracket(single, first)
    evidence = CrossingEvidence(
        before=single.levels[first - 1],
        after=single.levels[first],
        is_saturated=is_saturated,
        is_jump=is_jump,
        lacks_interval=not is_saturated and any(one.interval().low is None for one in pair),
    )
    found = Crossing(state="breaks", evidence=evidence, holds_at=holds_at, breaks_at=breaks_at)
    if is_saturated or is_jump:
        low = single.levels[0] if holds_at is None else holds_at
        return replace(found, low=low, high=single.levels[-1] if breaks_at is None else breaks_at)
    if evidence.lacks_interval:
        return replace(found, level=level, holds_at=None)
    low = min(level, *(curve.search(place, law, HIGH) for law in LAWS))
    high = max(level, *(curve.search(place, law, LOW) for law in LAWS))
    if curve is not single:  # The curve is surer than any of its levels.
        ends = bisect_right(single.levels, low), bisect_left(single.levels, high)
        found = replace(
            found, holds_at=single.levels[ends[0] - 1], breaks_at=single.levels[ends[1]]
        )
    evidence = msgspec.structs.replace(evidence, is_cut=high >= curve.levels[-1])
    return _as_printed(replace(found, level=level, low=low, high=high, evidence=evidence))


def _as_printed(found: Crossing) -> Crossing:
    """Return a crossing without its level if that is printed as one that surely keeps the limit.

    A level is printed in the digits that its interval supports, three at most.
    """
    if None in (found.level, found.low, found.high, found.holds_at) or not found.level:
        return found
    half_width = (found.high - found.low) / 2.0  # type: ignore[operator]
    places = [math.floor(math.log10(one)) for one in (abs(found.level), half_width) if one]
    place = max([places[0] - 2, *places[1:]])
    if round(found.level, -place) > found.holds_at:  # type: ignore[operator]
        return found
    step = 10.0**place
    high = round(math.ceil(found.high / step) * step, -place)  # type: ignore[operator]
    return replace(found, level=None, low=found.holds_at, high=high)


def _bracket(curve: LimitCurve, place: int) -> tuple[float | None, float | None]:
    """Return the last level before `place` that surely keeps, the first from it that breaks."""
    kept = [n for n in range(place) if curve.bounds[n][1] <= 0.0]
    broken = [n for n in range(place, len(curve.levels)) if curve.bounds[n][0] > 0.0]
    return (
        curve.levels[kept[-1]] if kept else None,
        curve.levels[broken[0]] if broken else None,
    )


def verdict_at(
    level: float,
    curve: Mapping[float, Sample | None],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> tuple[Verdict, UndecidedCode]:
    """Return whether a curve keeps its limit at a level, and why that is not known if so.

    Between two levels all laws must agree; outside of the levels nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> curve = {level: Sample(values=np.array([level - 0.01, level + 0.01]))
    ...          for level in (10.0, 20.0)}
    >>> verdict_at(12.0, curve, at_most=18.0), verdict_at(19.0, curve, at_most=18.0)[0]
    (('holds', ''), 'differs')
    """
    side = _beside(at_most, at_least, curve)
    levels = side.levels
    if not levels or not levels[0] <= level <= levels[-1]:
        return "undecided", "no_level_near"
    after = bisect_left(levels, level)
    near = side.samples[after - (levels[after] != level) : after + 1]
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


def _excess_at(side: LimitCurve, after: int, level: float) -> list[float]:
    """Return the bounds of the excess at a level by every law; `after` is the next level."""
    if side.levels[after] == level:
        return [*side.bounds[after]]
    before = side.levels[after - 1]
    share = (level - before) / (side.levels[after] - before)
    found = [side.law(after, law)(share) for law in LAWS]
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
