"""Tried changes and their effects: what-if runs, and points of other experiments.

An experiment whose points change the parameters of another one, and has the other one's own values
among its points, tries changes of it: a list of purchases, say.

Invariant: a change is recommended only if the whole interval of its gain is above one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer.numbers import Better, gain, is_gain, is_no_gain, ratio_of
from headroom.analysis.answer_evidence import Bounded, Changes, Part, TriedChange
from headroom.analysis.evidence import AppliedChange
from headroom.analysis.results import (
    Bottleneck,
    Effect,
    Estimate,
    ExperimentResult,
    PointResult,
    StudyResult,
    WhatIfResult,
)
from headroom.experiment.protocol.system import Value


def changes_at(
    study: StudyResult, experiment: ExperimentResult, point: PointResult, *, moved: str = ""
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
    """
    chosen = [
        change
        for other in study.experiments
        if other is not experiment
        for change in _of_points(other, values_at(experiment, point), moved)
    ]
    if not any(change.is_gain for change in chosen):
        chosen += _of_what_ifs(experiment, point)
    return summary(chosen, setting_of(experiment, point)) if chosen else None


def changes_among(
    experiment: ExperimentResult, values: Mapping[str, Value], *, moved: str = ""
) -> Changes | None:
    """Return the gains of the points of an experiment over the one with the given values."""
    found = list(_of_points(experiment, values, moved))
    return summary(found, {}) if found else None


def summary(tried: Sequence[TriedChange], levels: Mapping[str, Value]) -> Changes:
    """Return the best change of one thing, a surely better one of several, and those in vain."""
    single = [change for change in tried if _size(change) == 1]
    best = _best(change for change in single if change.is_gain)
    several = [change for change in tried if change.is_gain and _size(change) > 1]
    further = _best(several)
    if best is None:
        best, further = further, None
    if further is not None and best is not None and not _is_surely_better(further, best):
        further = None
    return Changes(
        best=best,
        further=further,
        no_gain=[change for change in tried if change.is_no_gain and not _is_less(change)],
        unclear=sum(not change.is_gain and not change.is_no_gain for change in tried),
        levels=dict(levels),
    )


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
    """Return whether a change is one of speed, which comes after one of counts that is as good."""
    return any(one.aspect == "speed" for one in change.applied)


def _is_surely_better(change: TriedChange, other: TriedChange) -> bool:
    low, high = change.gain.low, other.gain.high
    return low is not None and high is not None and low > high


def values_at(experiment: ExperimentResult, point: PointResult) -> dict[str, Value]:
    """Return the parameters of a point, without unknown ones."""
    known = {use.name: use.value for use in experiment.parameters if use.value is not None}
    return {**known, **point.levels}


def _of_points(
    experiment: ExperimentResult, values: Mapping[str, Value], moved: str
) -> Iterator[TriedChange]:
    """Yield the gains of the points of an experiment over the one with these values."""
    if moved in {factor.name for factor in experiment.factors}:
        return
    fixed = {use.name: use.value for use in experiment.parameters if use.origin != "factor"}
    same = all(values.get(name, value) in {None, value} for name, value in fixed.items())
    base = next((point for point in experiment.points if _is_at(point, values)), None)
    if base is None or not same or not experiment.factors:
        return
    metric, better = _metric_of(experiment, base)
    for point in experiment.points:
        if point is not base and metric in point.estimates and better != "none":
            ratio = ratio_of(point.estimates[metric], base.estimates[metric])
            yield _tried(
                _applied(base, point),
                gain(ratio, better),
                before=base.estimates[metric],
                after=point.estimates[metric].value,
                experiment=experiment.name,
                levels=setting_of(experiment, point),
                then=point.bottleneck,
            )


def _is_at(point: PointResult, values: Mapping[str, Value]) -> bool:
    return all(values.get(name) == level for name, level in point.levels.items())


def _metric_of(experiment: ExperimentResult, point: PointResult) -> tuple[str, Better]:
    """Return the first response of a point that should be high; else the first with a direction."""
    found = [
        (metric, point.estimates[metric].better)
        for metric in experiment.responses
        if metric in point.estimates
    ]
    ranked = sorted(found, key=lambda pair: ("high", "low", "none").index(pair[1]))
    return ranked[0] if ranked else ("", "none")


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


def _of_what_ifs(experiment: ExperimentResult, point: PointResult) -> Iterator[TriedChange]:
    for found in point.what_ifs:
        effect = _effect_of(experiment, found)
        if effect is not None and effect.better != "none":
            ratio = Bounded(value=effect.ratio, low=effect.low, high=effect.high)
            yield _tried(
                found.applied,
                gain(ratio, effect.better),
                before=effect,
                after=effect.after,
                experiment=experiment.name,
                levels={},
                then=found.bottleneck,
            )


def _effect_of(experiment: ExperimentResult, found: WhatIfResult) -> Effect | None:
    own = [effect for effect in found.effects if effect.metric in experiment.responses]
    ranked = sorted(own, key=lambda effect: ("high", "low", "none").index(effect.better))
    return ranked[0] if ranked else None


def _tried(
    applied: Sequence[AppliedChange],
    ratio: Bounded,
    *,
    before: Estimate | Effect,
    after: float,
    experiment: str,
    levels: Mapping[str, Value],
    then: Bottleneck | None,
) -> TriedChange:
    if before.better == "none":
        raise AssertionError(f"{before.metric} has no direction")
    return TriedChange(
        applied=list(applied),
        levels=dict(levels),
        experiment=experiment,
        gain=ratio,
        metric=before.metric,
        unit=before.unit,
        better=before.better,
        before=before.value if isinstance(before, Estimate) else before.before,
        after=after,
        then=part_of(then),
        is_gain=is_gain(ratio),
        is_no_gain=is_no_gain(ratio),
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
