"""Where the limits of a study are kept: one statement for all limits of an experiment.

Over a load the limit that breaks first decides, over servers or tokens the one that needs most;
if one limit asks for more and another one for less, the levels that keep both are the answer.

Invariant: a level is called kept, or broken, only if its whole interval says so for every limit.
"""

from collections.abc import Sequence
from math import ceil

import msgspec

from headroom.analysis.answer.asks.cells import cells_of
from headroom.analysis.answer_evidence import (
    Bounded,
    Level,
    OtherCurves,
    Statement,
    Target,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, LimitCrossing


def target_of(experiment: ExperimentResult) -> Target | Undecided | None:
    """Return where the limits of the study break, on the curve that keeps them least.

    None if it sets no limit. Limits over other factors than the first one's are left out.
    """
    if not experiment.limits:
        return None
    curves = _curves(experiment)
    least = _of_curve(min(curves, key=_rank_of), experiment)
    return (
        msgspec.structs.replace(least, curves=len(curves)) if isinstance(least, Target) else least
    )


def other_curves(experiment: ExperimentResult, statement: Statement) -> OtherCurves | None:
    """Return where the limits are kept on the curves beside that of a statement about them.

    None if there are no others, or if it is about something else.
    """
    is_of_limits = isinstance(statement, Target | Undecided) and experiment.limits
    if not is_of_limits or getattr(statement, "code", "target") != "target":
        return None
    where = getattr(statement, "where", {})
    others = [one for one in _curves(experiment) if one[0].where != where]
    return OtherCurves(of=[_of_curve(one, experiment) for one in others]) if others else None


def _curves(experiment: ExperimentResult) -> list[list[LimitCrossing]]:
    """Return the limits over the first one's factor, those of each curve together."""
    curves: dict[tuple[tuple[str, object], ...], list[LimitCrossing]] = {}
    for found in experiment.limits:
        if found.factor == experiment.limits[0].factor:
            curves.setdefault(tuple(sorted(found.where.items())), []).append(found)
    return list(curves.values())


def _rank_of(limits: Sequence[LimitCrossing]) -> tuple[int, float]:
    return _rank(_decisive(limits))


def _rank(found: LimitCrossing) -> tuple[int, float]:
    """Return a number that is low where a limit leaves least: first what is never kept."""
    state = ("broken", "breaks", "unclear", "holds").index(found.state)
    level = next((one for one in (found.level, found.level_low) if one is not None), 0.0)
    return state, -level if found.kept == "above" else level


def _decisive(limits: Sequence[LimitCrossing]) -> LimitCrossing:
    return min(limits, key=_rank)


def _of_curve(limits: Sequence[LimitCrossing], experiment: ExperimentResult) -> Target | Undecided:
    first = _decisive(limits)
    if first.state == "unclear":
        return _unclear(first)
    sides = {one.kept for one in limits if one.state == "breaks"}
    kept = first.kept if len(sides) < 2 else "between"  # noqa: PLR2004
    known = [one for one in limits if one.evidence.kept_at or one.evidence.broken_at]
    kept_at = sorted(
        set[float].intersection(*(set(one.evidence.kept_at) for one in known or limits))
    )
    broken_at = sorted({level for one in known for level in one.evidence.broken_at})
    undecided = {level for one in known for level in one.evidence.undecided_at} - {*broken_at}
    state = (
        "broken" if first.state == "breaks" and kept == "between" and not kept_at else first.state
    )
    level = _level(first, experiment, kept, kept_at)
    headroom = None
    if first.headroom is not None:
        headroom = Bounded(value=first.headroom, low=first.headroom_low, high=first.headroom_high)
    beyond = _beyond(kept, level, kept_at, broken_at)
    return Target(
        metric=first.metric,
        unit=first.unit,
        bound=_bound(first),
        is_upper=first.at_most is not None,
        state=state,
        level=level,
        is_between=state == "breaks" and kept == "below" and first.level is None,
        is_open=first.evidence.is_cut and kept == "below" and first.level_high in undecided,
        kept=kept,
        is_resource=first.is_resource,
        value=_value(level, first, experiment),
        kept_at=kept_at,
        beyond=beyond,
        undecided=sorted(undecided),
        limits=len({(one.metric, one.at_most, one.at_least) for one in limits}),
        headroom=headroom,
        current=first.current,
        verdict=first.verdict or "",
        where=first.where,
    )


def _level(
    found: LimitCrossing, experiment: ExperimentResult, kept: str, kept_at: Sequence[float]
) -> Level:
    """Return the level that a statement names: of a break, or the lowest that is enough."""
    axis = next((one for one in experiment.factors if one.name == found.factor), None)
    unit = "1" if axis is None else axis.unit
    low, high = found.level_low, found.level_high
    if found.state != "breaks":
        at, low, high = found.evidence.at, None, None
    elif kept == "between" and kept_at:
        at, low, high = kept_at[0], kept_at[0], kept_at[-1]
    elif kept == "above" and found.holds_at is not None:
        at, low, high = found.holds_at, None, None
    elif kept == "above" and found.level is None:
        at = low if found.evidence.after is None else found.evidence.after
    else:
        at = found.level if found.level is not None else low
    if at is None:
        raise AssertionError(f"the limit of {found.metric} has no level")
    if found.is_resource and axis is not None and all(isinstance(x, int) for x in axis.levels):
        low, high = (None if end is None else float(ceil(end)) for end in (low, high))
        at = float(ceil(at))
    return Level(factor=found.factor, unit=unit, value=at, low=low, high=high)


def _beyond(
    kept: str, level: Level, kept_at: Sequence[float], broken_at: Sequence[float]
) -> list[float]:
    """Return the nearest levels that surely break a limit, on the sides where it is not kept."""
    first = kept_at[0] if kept == "between" and kept_at else float(level.value)
    last = kept_at[-1] if kept == "between" and kept_at else float(level.value)
    below = [at for at in broken_at if at < first] if kept != "below" else []
    above = [at for at in broken_at if at > last] if kept != "above" else []
    return [*below[-1:], *above[:1]]


def _value(level: Level, limit: LimitCrossing, experiment: ExperimentResult) -> Bounded | None:
    """Return the value of a metric, or derived quantity, at a level; None if it was not run."""
    at = {**limit.where, level.factor: level.value}
    cells = cells_of(experiment, limit.metric)
    return next((one.value for one in cells if at.items() <= one.levels.items()), None)


def _bound(found: LimitCrossing) -> float:
    bound = found.at_most if found.at_most is not None else found.at_least
    if bound is None:
        raise AssertionError(f"the limit of {found.metric} has no bound")
    return bound


def _unclear(found: LimitCrossing) -> Undecided:
    at = found.evidence.at
    return Undecided(
        code="target",
        metric=found.metric,
        level=None if at is None else Level(factor=found.factor, unit="1", value=at),
        bound=_bound(found),
        better="low" if found.at_most is not None else "high",
        unit=found.unit,
        where=found.where,
    )
