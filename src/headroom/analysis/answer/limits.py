"""The limits of an experiment: bottlenecks and saturation.

Invariant: a part is said to limit from a level on only if it limits at every judged level from
there; a knee is its level only if its interval reaches to both levels around the change.
"""

from collections.abc import Mapping, Sequence

import msgspec

from headroom.analysis.answer.changes import changes_at, part_of
from headroom.analysis.answer.design import Curve, axis_of, curves_of, setting_of
from headroom.analysis.answer.losses import losses_of
from headroom.analysis.answer.numbers import bounded, has_results, main_metric
from headroom.analysis.answer_evidence import (
    Bounded,
    Busiest,
    Down,
    Level,
    Limit,
    Losses,
    NoLimit,
    Part,
    Saturated,
    Statement,
)
from headroom.analysis.evidence import AppliedChange, Limiting
from headroom.analysis.results import (
    Bottleneck,
    ExperimentResult,
    Knee,
    PointResult,
    StudyResult,
)
from headroom.analysis.verdicts.directions import is_resource
from headroom.analysis.verdicts.downtime import downtime_of
from headroom.experiment.protocol.system import Value

_AS_BUSY = 0.99
"""Share of the highest utilization from which another one is called the same."""
_MAYBE_AS_BUSY = 0.95
"""The same, where their intervals overlap."""


def saturated_of(
    experiment: ExperimentResult, where: Mapping[str, Value] | None = None
) -> Saturated | None:
    """Return from which level on an experiment is saturated, or up to which one.

    Parameters
    ----------
    experiment
        Any.
    where
        The curve to look at; None for the first one that is saturated at one end.
    """
    full = [point for point in experiment.points if point.saturation is not None]
    if not full:
        return None
    axis = axis_of(experiment)
    for curve in curves_of(experiment, axis) if axis else []:
        if where is not None and not curve.is_at(where):
            continue
        start = _saturated_end(curve, is_up_to=True)
        found = _saturated_end(curve, is_up_to=False) or start
        if found is not None:
            low, high = (float(x.level.value) if x and x.level else 0.0 for x in (start, found))
            if start is not None and low < high:
                found = msgspec.structs.replace(found, also_up_to=low)
            everywhere = len(full) == sum(map(has_results, experiment.points))
            return msgspec.structs.replace(found, is_everywhere=everywhere)
    if where is not None:
        return None
    return _saturated(full[0], experiment.points)


def _saturated_end(curve: Curve, *, is_up_to: bool) -> Saturated | None:
    """Return the stretch of saturated levels at an end of a curve; None if there is none."""
    inwards = curve.points if is_up_to else curve.points[::-1]
    last = None
    for point in inwards:
        if point.saturation is None and has_results(point):
            break
        last = point if point.saturation is not None else last
    if last is None:
        return None
    at, levels = curve.number(last), map(curve.number, curve.points)
    free = [level for level in levels if (level > at if is_up_to else level < at)]
    found = _saturated(last, curve.points)
    return msgspec.structs.replace(
        found,
        level=curve.level(last),
        is_up_to=is_up_to,
        last_steady=(min if is_up_to else max)(free, default=None),
        steadied_by=_steadied_by(curve.points[::-1] if is_up_to else curve.points),
        where=curve.where,
    )


def _saturated(point: PointResult, points: Sequence[PointResult]) -> Saturated:
    found = point.saturation
    if found is None:
        raise AssertionError("a saturated point has a saturation")
    load = None
    if found.load is not None:
        load = Bounded(value=found.load, low=found.load_low, high=found.load_high)
    return Saturated(
        level=None,
        part=Part(kind=found.kind, name=found.name),
        ties=[Part(kind=kind, name=name) for kind, name in found.ties],
        load=load,
        steadied_by=_steadied_by([point]),
        points=sum(one.saturation is not None for one in points),
        judged=sum(map(has_results, points)),
    )


def _steadied_by(points: Sequence[PointResult]) -> list[AppliedChange]:
    """Return a change that gives the most saturated level a steady state, if one was tried."""
    for point in reversed(points):
        for found in point.what_ifs if point.saturation is not None else []:
            is_steady = found.why_empty is not None and found.why_empty.code == "steady_then"
            if found.saturation is None and (is_steady or found.reached):
                return found.applied
    return []


def limit_of(study: StudyResult, experiment: ExperimentResult) -> Limit | NoLimit | Losses | None:
    """Return which part limits, from which level on; None if unknown.

    Where none does and work is lost, that is the limit.
    """
    judged = [point for point in experiment.points if point.bottleneck is not None]
    if not judged:
        return None
    if not any(map(_is_limited, judged)):
        return losses_of(experiment) or _no_limit(experiment, judged)
    axis = axis_of(experiment)
    if axis is None:
        return _limit_without_axis(study, experiment, judged)
    found = [limit_on(study, experiment, curve) for curve in curves_of(experiment, axis)]
    limits = [one for one in found if one is not None]
    first = limits[0]
    if len(limits) == len(found) and all(_is_everywhere(one, first) for one in limits):
        return msgspec.structs.replace(
            first,
            where={},
            points=sum(one.points for one in limits),
            judged=sum(one.judged for one in limits),
        )
    return first


def _is_everywhere(found: Limit, first: Limit) -> bool:
    """Return whether the part of the first curve limits at every level of another one too."""
    same = (found.part.kind, found.part.name) == (first.part.kind, first.part.name)
    return same and found.level is None and found.end is None and found.points == found.judged


def _is_limited(point: PointResult) -> bool:
    return point.bottleneck is not None and point.bottleneck.limits


def _verdict(point: PointResult) -> Bottleneck:
    if point.bottleneck is None:
        raise AssertionError("a judged point has a verdict")
    return point.bottleneck


def _part(point: PointResult) -> Part:
    found = part_of(point.bottleneck)
    if found is None:
        raise AssertionError("a limited point has a limiting part")
    return found


def limit_on(study: StudyResult, experiment: ExperimentResult, curve: Curve) -> Limit | None:
    """Return which part limits on a curve, from which level on; None if none does."""
    judged = [point for point in curve.points if point.bottleneck is not None]
    last = next((point for point in reversed(judged) if _is_limited(point)), None)
    if last is None:
        return None
    part = _part(last)
    own = [point for point in judged if _limits(point, part) or _is_renamed(point, last)]
    first = _start_of_run(judged, last, part)
    is_to_end = last is judged[-1]
    below = [point for point in judged if curve.number(point) < curve.number(first)]
    last_free = curve.number(below[-1]) if below and is_to_end else None
    knee = _knee_at(experiment, curve, last_free, curve.number(first))
    level = curve.level(first) if last_free is not None else None
    if knee is not None and level is not None and knee.level is not None:
        level = Level(
            factor=level.factor,
            unit=level.unit,
            value=knee.level,
            low=knee.level_low,
            high=knee.level_high,
        )
    changes = changes_at(study, experiment, last, moved=curve.axis.name)
    return Limit(
        part=part,
        ties=_ties(last),
        level=level,
        last_free=last_free,
        end=None if is_to_end else curve.level(last),
        metric=knee.metric if knee else main_metric(experiment),
        points=len(own),
        judged=len(judged),
        down=_down_at(last),
        best=changes.best if changes and not is_part_of(curve.axis.name, last) else None,
        where=curve.where,
    )


def _ties(point: PointResult) -> list[Part]:
    """Return the parts that limit a point together with the one that its verdict names."""
    if point.saturation is not None:
        return [Part(kind=kind, name=name) for kind, name in point.saturation.ties]
    evidence = _verdict(point).evidence
    if not isinstance(evidence, Limiting):
        return []
    return [Part(kind=one.kind, name=one.name) for one in evidence.ties]


def _down_at(point: PointResult) -> Down | None:
    """Return for how long the part that limits a point is down, if it limits because of that."""
    verdict = point.bottleneck
    if verdict is None or not isinstance(verdict.evidence, Limiting):
        return None
    if verdict.evidence.why != "down":
        return None
    return Down(share=verdict.evidence.cause.down, held=min(verdict.wait_share or 0.0, 1.0))


def is_part_of(factor: str, point: PointResult) -> bool:
    """Return whether a factor is the size of a part: then its level is the advice."""
    names = {resource.name for resource in point.resources}
    return factor in names or any(factor.startswith(f"{name}_") for name in names)


def _limits(point: PointResult, part: Part) -> bool:
    verdict = _verdict(point)
    return verdict.limits and (verdict.kind, verdict.name) == (part.kind, part.name)


def _is_renamed(point: PointResult, last: PointResult) -> bool:
    """Return whether what limits here and what limits at `last` are each unknown at the other.

    A model may number its parts where it has several: ``server/cpu`` becomes ``server 1/cpu``.
    """
    pairs = ((_verdict(point), last), (_verdict(last), point))
    return _verdict(point).limits and all(
        found.name not in {one.name for one in other.resources} for found, other in pairs
    )


def _start_of_run(judged: Sequence[PointResult], last: PointResult, part: Part) -> PointResult:
    """Return the lowest level from which on the part limits up to `last`."""
    first = last
    for point in reversed(judged[: judged.index(last) + 1]):
        if not (_limits(point, part) or _is_renamed(point, last)):
            break
        first = point
    return first


def _knee_at(
    experiment: ExperimentResult, curve: Curve, last_free: float | None, first: float
) -> Knee | None:
    """Return the first knee of a response that is where the limit begins."""
    for knee in experiment.knees:
        is_here = knee.factor == curve.axis.name and _is_where(knee, curve)
        if not (knee.found and is_here) or knee.is_cut or last_free is None:
            continue
        if knee.metric not in experiment.responses or "." in knee.metric:
            continue
        low, high = knee.level_low, knee.level_high
        if low is not None and high is not None and low <= first and high >= last_free:
            return knee
    return None


def _is_where(knee: Knee, curve: Curve) -> bool:
    return all(knee.where.get(name) == level for name, level in curve.where.items())


def _limit_without_axis(
    study: StudyResult, experiment: ExperimentResult, judged: Sequence[PointResult]
) -> Limit:
    last = next(point for point in reversed(judged) if _is_limited(point))
    part = _part(last)
    changes = changes_at(study, experiment, last)
    own = [point for point in judged if _limits(point, part)]
    is_everywhere = len(own) == len(judged)
    return Limit(
        part=part,
        ties=_ties(last),
        level=None,
        metric=main_metric(experiment),
        points=len(own),
        judged=len(judged),
        down=_down_at(last),
        best=changes.best if changes else None,
        where={} if is_everywhere else setting_of(experiment, last),
    )


def _no_limit(experiment: ExperimentResult, judged: Sequence[PointResult]) -> NoLimit:
    axis = axis_of(experiment)
    level = None
    if axis is not None:
        top = max(float(point.levels[axis.name]) for point in judged)
        level = Level(factor=axis.name, unit=axis.unit, value=top)
    down = _down_most(judged)
    if down is not None:
        return NoLimit(level=level, part=down[0], down=down[1])
    parts = [part for point in judged if (part := busiest_at(point)) is not None]
    return NoLimit(level=level, part=max(parts, key=_share, default=None))


def _down_most(judged: Sequence[PointResult]) -> tuple[Part, Down] | None:
    """Return the station whose downtime hinders most at any point; None if none does."""
    found = []
    for point in judged:
        values = {name: one.value for name, one in point.estimates.items()}
        down = downtime_of(values)
        if down is not None:
            name = f"station.{down.name}.utilization"
            busy = bounded(point.estimates[name]) if name in point.estimates else None
            part = Part(kind="station", name=down.name, utilization=busy)
            found.append((part, Down(share=down.down, held=min(down.held, 1.0))))
    return max(found, key=lambda one: one[1].share * one[1].held, default=None)


def busiest_at(point: PointResult) -> Part | None:
    """Return the busiest station or pool of a point; None if no shares are known."""
    return max(_used_at(point), key=_share, default=None)


def _used_at(point: PointResult) -> list[Part]:
    """Return the stations of a point with their shares; its pools if no station has one."""
    found: list[Part] = []
    for resource in point.resources:
        share = resource.estimates_among(point.estimates).get("utilization")
        if share is not None:
            part = Part(kind=resource.kind, name=resource.name, utilization=bounded(share))
            found.append(part)
    return [part for part in found if part.kind == "station"] or found


def _as_busy(point: PointResult, part: Part) -> list[Part]:
    """Return the other parts of a point that are as busy as one of them, or offered as much."""
    offered = point.saturation.ties if point.saturation is not None else []
    return [
        one
        for one in _used_at(point)
        if (one.kind, one.name) != (part.kind, part.name)
        and (_is_as_busy(one, part) or (one.kind, one.name) in offered)
    ]


def _is_as_busy(one: Part, part: Part) -> bool:
    """Return whether a part cannot be told apart from a busy one by its share."""
    high = one.utilization.high if one.utilization else None
    low = part.utilization.low if part.utilization else None
    is_apart = high is None or low is None or high < low
    return _share(one) >= (_AS_BUSY if is_apart else _MAYBE_AS_BUSY) * _share(part)


def _share(part: Part) -> float:
    return part.utilization.value if part.utilization else 0.0


def busiest_of(experiment: ExperimentResult, statement: Statement | None) -> Busiest | None:
    """Return the part that limits first, else the busiest one of all levels.

    Parameters
    ----------
    experiment
        Any.
    statement
        What the answer says: its part is the one, and its curve is looked at; None if it is about
        something else.
    """
    axis = axis_of(experiment)
    if axis is None:
        return None
    where = getattr(statement, "where", {})
    curves = [one for one in curves_of(experiment, axis) if one.is_at(where)]
    named = statement.part if isinstance(statement, Limit) else None
    limited = [
        (curve, point)
        for curve in curves
        for point in _from_idle(curve)
        if _is_limited(point) and (named is None or _limits(point, named))
    ]
    if limited:
        curve, point = limited[0]
        part: Part = _part(point)
    else:
        busy = [(c, p, found) for c in curves for p in c.points if (found := busiest_at(p))]
        if not busy:
            return None
        curve, point, part = max(busy, key=lambda row: _share(row[2]))
    return Busiest(
        part=part,
        ties=_as_busy(point, part),
        level=curve.level(point),
        is_limiting=bool(limited),
        where=curve.where,
    )


def _from_idle(curve: Curve) -> Sequence[PointResult]:
    """Return the points of a curve from the end with less work for each part."""
    is_of_parts = is_resource(curve.axis.name, curve.points, declared=curve.axis.direction)
    return curve.points[::-1] if is_of_parts else curve.points
