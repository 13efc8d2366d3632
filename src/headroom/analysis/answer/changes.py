"""Tried changes and their effects: what-if runs, and points of other experiments.

An experiment whose points change the parameters of another one, and has the other one's own values
among its points, tries changes of it: a list of purchases, say.

A change is judged by the metric whose limit the study sets; without one by the first response that
a change can move: throughput, or a time where the load fixes the throughput. Of the changes after
which the limit is kept the smallest is the best: fewest parts, then the least growth of a number.

Invariant: a change is recommended only if the whole interval of its gain is above one, or if the
whole interval of the metric keeps the limit after it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from headroom.analysis.answer.design import axis_of, setting_of
from headroom.analysis.answer.numbers import gain, is_gain, is_no_gain, ratio_of
from headroom.analysis.answer_evidence import (
    Bounded,
    Changes,
    Limit,
    Part,
    Saturated,
    Statement,
    Target,
    TriedChange,
)
from headroom.analysis.evidence import AppliedChange
from headroom.analysis.results import (
    Bottleneck,
    Effect,
    Estimate,
    ExperimentResult,
    PointResult,
    StudyResult,
)
from headroom.experiment.protocol.system import Value

_Tried: TypeAlias = dict[str, list[TriedChange]]
"""Changes by the metric that judges them."""
_MOST_LOOKED = 100
"""Points at which purchases of other experiments are looked for."""
_SLIGHT = 0.5
"""Share of what a change of several things gains that one of them must gain to be advised alone."""


def changes_at(
    study: StudyResult,
    experiment: ExperimentResult,
    point: PointResult,
    *,
    moved: str = "",
    target: Target | None = None,
) -> Changes | None:
    """Return the effects of changes at a point; None if none was tried.

    Points of another experiment come before what-if runs: a user chose them.

    Parameters
    ----------
    study
        All experiments, which may have tried changes of the point.
    experiment, point
        What is changed.
    moved
        The factor of the load: an experiment that changes it tries no change; empty if there is
        none.
    target
        The limit of the study by which changes are judged; None if it sets none.
    """
    values = values_at(experiment, point)
    chosen = [
        change
        for other in study.experiments
        if other.name != experiment.name  # Which may be a part of one.
        for change in _judged(_of_points(other, values, moved), other.responses, target)
    ]
    if target is not None or not any(change.is_gain for change in chosen):
        chosen += _judged(_of_what_ifs(experiment, point), experiment.responses, target)
    return summary(chosen, setting_of(experiment, point), target) if chosen else None


def changes_of(
    study: StudyResult, experiment: ExperimentResult, statement: Statement
) -> Changes | None:
    """Return the effects of changes where a limit of the study breaks, or a part limits.

    Without either, those at the last point at which some were tried.
    """
    axis = axis_of(experiment)
    moved = axis.name if axis else ""
    if isinstance(statement, Target):
        if statement.is_resource and statement.state == "breaks":
            return None  # The question was how many are enough, and it has its answer.
        tried = (
            changes_at(study, experiment, point, moved=moved, target=statement)
            for point in _broken_points(experiment, statement)
        )
        return next((found for found in tried if found is not None), None)
    if isinstance(statement, Limit | Saturated):
        points = [p for p in experiment.points if p.bottleneck is not None and p.bottleneck.limits]
    else:
        points = [p for p in experiment.points if p.what_ifs or p.estimates]
    if not points:
        return None
    top = max(points, key=lambda p: float(p.levels[axis.name])) if axis else points[-1]
    return changes_at(study, experiment, top, moved=moved)


def _broken_points(experiment: ExperimentResult, target: Target) -> list[PointResult]:
    """Return the points of a target's curve that break it, the nearest to the break first.

    Points of which that is not known come last.
    """
    factor, at = target.level.factor, float(target.level.value)
    points = [
        point
        for point in experiment.points
        if factor in point.levels
        and float(point.levels[factor]) not in target.kept_at
        and all(point.levels.get(name) == level for name, level in target.where.items())
    ]

    def rank(point: PointResult) -> tuple[bool, float]:
        level = float(point.levels[factor])
        return level in target.undecided, abs(level - at)

    ranked = enumerate(sorted(points, key=rank))
    return [point for place, point in ranked if place < _MOST_LOOKED or point.what_ifs]


def _judged(
    tried: _Tried, responses: Sequence[str], target: Target | None
) -> Iterator[TriedChange]:
    """Yield the changes as one metric judges them: that of the target, or the first that moves."""
    if target is not None:
        for change in tried.get(target.metric, []):
            yield replace(change, meets=_keeps(change, target))
        return
    directed = {metric: tried[metric][0].better for metric in responses if tried.get(metric)}
    ranked = sorted(directed, key=lambda metric: directed[metric] != "high")
    moved = [metric for metric in ranked if any(one.is_gain for one in tried[metric])]
    for metric in (moved or ranked)[:1]:
        yield from tried[metric]


def _keeps(change: TriedChange, target: Target) -> bool:
    """Return whether the whole interval of a metric keeps a limit after a change."""
    low, high = change.after_low, change.after_high
    if target.is_upper:
        return (change.after if high is None else high) <= target.bound
    return (change.after if low is None else low) >= target.bound


def changes_among(
    experiment: ExperimentResult, values: Mapping[str, Value], *, moved: str = ""
) -> Changes | None:
    """Return the gains of the points of an experiment over the one with the given values."""
    found = list(_judged(_of_points(experiment, values, moved), experiment.responses, None))
    return summary(found, {}) if found else None


def summary(
    tried: Sequence[TriedChange], levels: Mapping[str, Value], target: Target | None = None
) -> Changes:
    """Return the best change, a surely better one of several things, and those in vain."""
    meeting = sorted((change for change in tried if change.meets), key=_cost)
    single = [change for change in tried if _size(change) == 1]
    best = _best(change for change in single if change.is_gain)
    further = _best(change for change in tried if change.is_gain and _size(change) > 1)
    if best is None or (further is not None and _is_slight(best, further)):
        best, further = further, None
    if further is not None and best is not None and not _is_surely_better(further, best):
        further = None
    if meeting:
        best, further = meeting[0], None
    return Changes(
        best=best,
        further=further,
        no_gain=[change for change in tried if change.is_no_gain and not _is_less(change)],
        unclear=sum(not change.is_gain and not change.is_no_gain for change in tried),
        levels=dict(levels),
        also=meeting[1:],
        bound=target.bound if target else None,
        is_upper=target.is_upper if target else True,
    )


def _is_slight(alone: TriedChange, together: TriedChange) -> bool:
    """Return whether one change gains little of what it gains together with others."""
    if not _is_surely_better(together, alone) or alone.gain is None or together.gain is None:
        return False
    return alone.gain.value - 1.0 < _SLIGHT * (together.gain.value - 1.0)


def _cost(change: TriedChange) -> tuple[int, bool, float]:
    """Return how much is changed: the parts, whether their speed, and how far."""
    return _size(change), _is_of_speed(change), max(map(_growth, change.applied), default=1.0)


def _growth(one: AppliedChange) -> float:
    """Return how many times larger, or smaller, a number becomes; infinite if it is unknown."""
    if one.factor:
        return max(one.factor, 1.0 / one.factor)
    before, after = one.before, one.after
    if isinstance(before, int | float) and isinstance(after, int | float) and before and after:
        ratio = abs(after / before)
        return max(ratio, 1.0 / ratio)
    return float("inf")


def _size(change: TriedChange) -> int:
    return max(len({one.name for one in change.applied}), 1)


def _is_less(change: TriedChange) -> bool:
    """Return whether a change lowers all numbers: a gain is not expected of that."""
    pairs = [(one.before, one.after) for one in change.applied]
    return all(
        isinstance(before, int | float) and isinstance(after, int | float) and after < before
        for before, after in pairs
    )


def _best(changes: Iterable[TriedChange]) -> TriedChange | None:
    """Return the first change that no other one is surely better than."""
    best: TriedChange | None = None
    for change in sorted(changes, key=_is_of_speed):
        if best is None or _is_surely_better(change, best):
            best = change
    return best


def _is_of_speed(change: TriedChange) -> bool:
    """Return whether a change is one of speed, which comes after another one that is as good."""
    return any(one.aspect == "speed" for one in change.applied)


def _is_surely_better(change: TriedChange, other: TriedChange) -> bool:
    """Return whether one change is better by its gain, or by what the metric is after it.

    Gains of one noisy value before them overlap where the values after them do not.
    """
    if change.gain is None or other.gain is None:
        return change.gain is None and other.gain is not None
    if change.metric != other.metric:
        return _is_above(change.gain.low, other.gain.high)
    if change.better == "low":
        after = _is_above(other.after_low, change.after_high)
    else:
        after = _is_above(change.after_low, other.after_high)
    return after or _is_above(change.gain.low, other.gain.high)


def _is_above(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low > high


def values_at(experiment: ExperimentResult, point: PointResult) -> dict[str, Value]:
    """Return the parameters of a point, without unknown ones."""
    known = {use.name: use.value for use in experiment.parameters if use.value is not None}
    return {**known, **point.levels}


def _of_points(experiment: ExperimentResult, values: Mapping[str, Value], moved: str) -> _Tried:
    """Return the gains of the points of an experiment over the one with these values."""
    if moved in {factor.name for factor in experiment.factors}:
        return {}
    fixed = {use.name: use.value for use in experiment.parameters if use.origin != "factor"}
    same = all(values.get(name, value) in {None, value} for name, value in fixed.items())
    base = next((point for point in experiment.points if _is_at(point, values)), None)
    if base is None or not same or not experiment.factors:
        return {}
    found: _Tried = {}
    for metric in experiment.responses:
        for point in experiment.points:
            if point is base or metric not in point.estimates or metric not in base.estimates:
                continue
            after, before = point.estimates[metric], base.estimates[metric]
            if before.better != "none":
                change = _tried(
                    _applied(base, point),
                    ratio_of(after, before),
                    metric=before,
                    ends=(before.value, after.value, after.low, after.high),
                    experiment=experiment.name,
                    levels=setting_of(experiment, point),
                    then=point.bottleneck,
                )
                found.setdefault(metric, []).append(change)
    return found


def _is_at(point: PointResult, values: Mapping[str, Value]) -> bool:
    return all(values.get(name) == level for name, level in point.levels.items())


def _applied(base: PointResult, point: PointResult) -> list[AppliedChange]:
    """Return the numbers that differ between two points; the words, if no number does."""
    changed = [
        AppliedChange(
            kind="parameter", name=name, aspect="value", before=base.levels[name], after=level
        )
        for name, level in point.levels.items()
        if level != base.levels[name]
    ]
    numbers = [one for one in changed if not isinstance(one.after, str)]
    return numbers or changed


def _of_what_ifs(experiment: ExperimentResult, point: PointResult) -> _Tried:
    """Return the gains of the what-if runs of a point, also of metrics that it gives a bound."""
    tried: _Tried = {}
    for found in point.what_ifs:
        for effect in found.effects:
            if effect.better != "none":
                change = _tried(
                    found.applied,
                    Bounded(value=effect.ratio, low=effect.low, high=effect.high),
                    metric=effect,
                    ends=(effect.before, effect.after, effect.after_low, effect.after_high),
                    experiment=experiment.name,
                    levels={},
                    then=found.bottleneck,
                )
                tried.setdefault(effect.metric, []).append(change)
        for now in found.reached:
            if now.better != "none":
                change = _tried(
                    found.applied,
                    None,
                    metric=now,
                    ends=(None, now.value, now.low, now.high),
                    experiment=experiment.name,
                    levels={},
                    then=found.bottleneck,
                )
                tried.setdefault(now.metric, []).append(change)
    return tried


def _tried(
    applied: Sequence[AppliedChange],
    ratio: Bounded | None,
    *,
    metric: Estimate | Effect,
    ends: tuple[float | None, float, float | None, float | None],
    experiment: str,
    levels: Mapping[str, Value],
    then: Bottleneck | None,
) -> TriedChange:
    """Return a change with the ratio after over before; None where before has no bound.

    Where nothing is left of a metric no ratio says by how much that is better.
    """
    if metric.better == "none":
        raise AssertionError(f"{metric.metric} has no direction")
    before, after, low, high = ends
    is_none_left = metric.better == "low" and after == high == 0.0 and bool(before)
    gained = None if ratio is None or is_none_left else gain(ratio, metric.better)
    return TriedChange(
        applied=list(applied),
        levels=dict(levels),
        experiment=experiment,
        gain=gained,
        metric=metric.metric,
        unit=metric.unit,
        better=metric.better,
        before=before,
        after=after,
        after_low=low,
        after_high=high,
        then=part_of(then),
        is_gain=gained is None or is_gain(gained),
        is_no_gain=gained is not None and is_no_gain(gained),
    )


def part_of(verdict: Bottleneck | None) -> Part | None:
    """Return the part that limits by a verdict, with its utilization; None if none does."""
    if verdict is None or not verdict.limits or verdict.kind == "none":
        return None
    share = Bounded(
        value=verdict.utilization,
        low=verdict.utilization_low,
        high=verdict.utilization_high,
        metric=f"{verdict.kind}.{verdict.name}.utilization",
    )
    return Part(kind=verdict.kind, name=verdict.name, utilization=share)
