"""The limits of an experiment: bottlenecks, saturation, and those that its study sets.

Invariant: a part is said to limit from a level on only if it limits at every judged level from
there; a knee is its level only if its interval reaches to both levels around the change.
"""

from collections.abc import Sequence

from headroom.analysis.answer.changes import changes_at, part_of
from headroom.analysis.answer.design import Curve, axis_of, curves_of, setting_of
from headroom.analysis.answer.numbers import bounded, has_results, main_metric
from headroom.analysis.answer_evidence import (
    Bounded,
    Busiest,
    Level,
    Limit,
    NoLimit,
    Part,
    Saturated,
    Target,
    Undecided,
)
from headroom.analysis.evidence import AppliedChange
from headroom.analysis.results import (
    Bottleneck,
    ExperimentResult,
    Knee,
    LimitCrossing,
    PointResult,
    Saturation,
    StudyResult,
)


def target_of(experiment: ExperimentResult) -> Target | Undecided | None:
    """Return where the first limit of the study breaks, on the curve on which it breaks first."""
    if not experiment.limits:
        return None
    metric = experiment.limits[0].metric
    own = [found for found in experiment.limits if found.metric == metric]
    for state in ("broken", "breaks", "unclear", "holds"):
        alike = [found for found in own if found.state == state]
        if alike:
            first = min(alike, key=_break_of)
            return _unclear_target(first) if state == "unclear" else _target(first, experiment)
    return None


def _break_of(found: LimitCrossing) -> float:
    return next((one for one in (found.level, found.level_low) if one is not None), 0.0)


def _target(found: LimitCrossing, experiment: ExperimentResult) -> Target:
    if found.state == "unclear":
        raise AssertionError("an unclear limit is no target")
    unit = next((one.unit for one in experiment.factors if one.name == found.factor), "1")
    at = found.level if found.state == "breaks" else found.evidence.at
    ends = (found.level_low, found.level_high) if found.state == "breaks" else (None, None)
    middle = at if at is not None else ends[0]
    if middle is None:
        raise AssertionError(f"the limit of {found.metric} has no level")
    headroom = None
    if found.headroom is not None:
        headroom = Bounded(value=found.headroom, low=found.headroom_low, high=found.headroom_high)
    return Target(
        metric=found.metric,
        unit=found.unit,
        bound=_bound(found),
        is_upper=found.at_most is not None,
        state=found.state,
        level=Level(factor=found.factor, unit=unit, value=middle, low=ends[0], high=ends[1]),
        is_between=found.state == "breaks" and found.level is None,
        headroom=headroom,
        current=found.current,
        verdict=found.verdict or "",
        where=found.where,
    )


def _bound(found: LimitCrossing) -> float:
    bound = found.at_most if found.at_most is not None else found.at_least
    if bound is None:
        raise AssertionError(f"the limit of {found.metric} has no bound")
    return bound


def _unclear_target(found: LimitCrossing) -> Undecided:
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


def saturated_of(experiment: ExperimentResult) -> Saturated | None:
    """Return from which level on an experiment is saturated, on the first curve that is."""
    full = [point for point in experiment.points if point.saturation is not None]
    if not full:
        return None
    everywhere = len(full) == sum(map(has_results, experiment.points))
    axis = axis_of(experiment)
    for curve in curves_of(experiment, axis) if axis else []:
        first = _first_saturated(curve)
        if first is not None and first.saturation is not None:
            free = [curve.number(p) for p in curve.points if curve.number(p) < curve.number(first)]
            return _saturated(
                first,
                first.saturation,
                level=curve.level(first),
                last_steady=max(free, default=None),
                is_everywhere=everywhere,
                curve=curve,
            )
    first = full[0]
    if first.saturation is None:
        raise AssertionError("a saturated point has a saturation")
    return _saturated(first, first.saturation, level=None, is_everywhere=everywhere)


def _first_saturated(curve: Curve) -> PointResult | None:
    """Return the point from which on all points with results are saturated."""
    first = None
    for point in reversed(curve.points):
        if point.saturation is None and has_results(point):
            break
        first = point if point.saturation is not None else first
    return first


def _saturated(
    point: PointResult,
    found: Saturation,
    *,
    level: Level | None,
    is_everywhere: bool,
    last_steady: float | None = None,
    curve: Curve | None = None,
) -> Saturated:
    load = None
    if found.load is not None:
        load = Bounded(value=found.load, low=found.load_low, high=found.load_high)
    return Saturated(
        level=level,
        last_steady=last_steady,
        part=Part(kind=found.kind, name=found.name),
        load=load,
        steadied_by=_steadied_by(curve.points if curve else [point]),
        is_everywhere=is_everywhere,
        where=curve.where if curve else {},
    )


def _steadied_by(points: Sequence[PointResult]) -> list[AppliedChange]:
    """Return a change that gives the highest saturated level a steady state, if one was tried."""
    for point in reversed(points):
        for found in point.what_ifs if point.saturation is not None else []:
            is_steady = found.why_empty is not None and found.why_empty.code == "steady_then"
            if found.saturation is None and (is_steady or found.reached):
                return found.applied
    return []


def limit_of(study: StudyResult, experiment: ExperimentResult) -> Limit | NoLimit | None:
    """Return which part limits, from which level on; None if unknown."""
    judged = [point for point in experiment.points if point.bottleneck is not None]
    if not judged:
        return None
    if not any(map(_is_limited, judged)):
        return _no_limit(experiment, judged)
    axis = axis_of(experiment)
    if axis is None:
        return _limit_without_axis(study, experiment, judged)
    found = (limit_on(study, experiment, curve) for curve in curves_of(experiment, axis))
    return next(one for one in found if one is not None)


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
    own = [point for point in judged if _limits(point, part)]
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
        level=level,
        last_free=last_free,
        end=None if is_to_end else curve.level(last),
        metric=knee.metric if knee else main_metric(experiment),
        points=len(own),
        judged=len(judged),
        best=changes.best if changes and not is_part_of(curve.axis.name, last) else None,
        where=curve.where,
    )


def is_part_of(factor: str, point: PointResult) -> bool:
    """Return whether a factor is the size of a part: then its level is the advice."""
    names = {resource.name for resource in point.resources}
    return factor in names or any(factor.startswith(f"{name}_") for name in names)


def _limits(point: PointResult, part: Part) -> bool:
    verdict = _verdict(point)
    return verdict.limits and (verdict.kind, verdict.name) == (part.kind, part.name)


def _start_of_run(judged: Sequence[PointResult], last: PointResult, part: Part) -> PointResult:
    """Return the lowest level from which on the part limits up to `last`."""
    first = last
    for point in reversed(judged[: judged.index(last) + 1]):
        if not _limits(point, part):
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
        level=None,
        metric=main_metric(experiment),
        points=len(own),
        judged=len(judged),
        best=changes.best if changes else None,
        where={} if is_everywhere else setting_of(experiment, last),
    )


def _no_limit(experiment: ExperimentResult, judged: Sequence[PointResult]) -> NoLimit:
    parts = [part for point in judged if (part := busiest_at(point)) is not None]
    axis = axis_of(experiment)
    level = None
    if axis is not None:
        top = max(float(point.levels[axis.name]) for point in judged)
        level = Level(factor=axis.name, unit=axis.unit, value=top)
    return NoLimit(level=level, part=max(parts, key=_share, default=None))


def busiest_at(point: PointResult) -> Part | None:
    """Return the busiest station or pool of a point; None if no shares are known."""
    found: list[Part] = []
    for resource in point.resources:
        share = resource.estimates_among(point.estimates).get("utilization")
        if share is not None:
            part = Part(kind=resource.kind, name=resource.name, utilization=bounded(share))
            found.append(part)
    stations = [part for part in found if part.kind == "station"] or found
    return max(stations, key=_share, default=None)


def _share(part: Part) -> float:
    return part.utilization.value if part.utilization else 0.0


def busiest_of(experiment: ExperimentResult, level: Level | None) -> Busiest | None:
    """Return the limiting part at the first level where one limits, else the busiest at the end."""
    axis = axis_of(experiment)
    if axis is None or level is None:
        return None
    curve = curves_of(experiment, axis)[0]
    limited = next((point for point in curve.points if _is_limited(point)), None)
    if limited is not None:
        return Busiest(part=_part(limited), level=curve.level(limited), is_limiting=True)
    part = busiest_at(curve.points[-1])
    if part is None:
        return None
    return Busiest(part=part, level=curve.level(curve.points[-1]), is_limiting=False)
