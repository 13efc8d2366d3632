"""The statement of one experiment: the statement that fits its design and its verdicts.

In this order: the limit that its study sets, saturation, the comparison that its study asks for,
the best of settings that words name, what limits over a factor, how a metric moves over it.

Invariant: a statement of a lower rank never hides that an experiment is saturated, except a decided
limit of the study: what is saturated follows it.
"""

from headroom.analysis.answer.compared import compared_of
from headroom.analysis.answer.curves import best_of
from headroom.analysis.answer.design import Curve, axis_of, curves_of, has_words
from headroom.analysis.answer.limits import limit_of, saturated_of
from headroom.analysis.answer.losses import losses_of
from headroom.analysis.answer.numbers import bounded, goals_of, has_results, main_metric, ratio_of
from headroom.analysis.answer.targets import target_of
from headroom.analysis.answer_evidence import (
    Incomplete,
    Losses,
    SinglePoint,
    Statement,
    Sweep,
    Target,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, PointResult, StudyResult

_VALUES = 3


def statement_of(study: StudyResult, experiment: ExperimentResult) -> Statement:
    """Return the first that an experiment has: missed target, saturation, comparison, design."""
    if not any(map(has_results, experiment.points)):
        return without_results(study, experiment)
    target = target_of(experiment)
    if isinstance(target, Target):
        return target
    saturated = saturated_of(experiment)
    if saturated is not None:
        return saturated
    compared = compared_of(experiment)
    found = target or compared  # A limit that is not decided, now.
    if found is not None:
        return found
    return _by_design(study, experiment)


def _by_design(study: StudyResult, experiment: ExperimentResult) -> Statement:
    if has_words(experiment):
        best = best_of(experiment)
        if best is not None:
            return best
    limit = limit_of(study, experiment)
    if limit is not None:
        return limit
    axis = axis_of(experiment)
    moved = _moves(curves_of(experiment, axis)[0], main_metric(experiment)) if axis else None
    if moved is not None:
        return moved
    told = [point for point in experiment.points if point.estimates]
    if len(told) != 1:
        return Undecided(code="ranking", metric=main_metric(experiment), count=len(told))
    losses = losses_of(experiment)
    if losses is not None:
        return losses
    return _values_at(experiment, told[0])


def values_beside(experiment: ExperimentResult, statement: Statement) -> SinglePoint | None:
    """Return the values of the only point of an experiment whose answer is what it loses."""
    told = [point for point in experiment.points if point.estimates]
    is_alone = isinstance(statement, Losses) and len(told) == 1
    return _values_at(experiment, told[0]) if is_alone else None


def _values_at(experiment: ExperimentResult, point: PointResult) -> SinglePoint:
    names = [name for name, _ in goals_of(experiment)][:_VALUES]
    return SinglePoint(values=[bounded(point.estimates[name]) for name in names])


def _moves(curve: Curve, metric: str) -> Sweep | None:
    """Return how a metric moves from the first level with results to the last one."""
    told = [point for point in curve.points if metric in point.estimates]
    return sweep(curve, metric) if len(told) > 1 else None


def sweep(curve: Curve, metric: str) -> Sweep:
    """Return how a metric moves between the ends of a curve, which both have it."""
    told = [point for point in curve.points if metric in point.estimates]
    first, last = told[0].estimates[metric], told[-1].estimates[metric]
    ratio = ratio_of(last, first) if first.value > 0.0 and last.value > 0.0 else None
    return Sweep(
        metric=metric,
        unit=first.unit,
        better=first.better,
        start=curve.level(told[0]),
        end=curve.level(told[-1]),
        ratio=ratio,
        before=bounded(first),
        after=bounded(last),
        where=curve.where,
    )


def without_results(study: StudyResult, experiment: ExperimentResult) -> Incomplete:
    """Return why an experiment has no results."""
    points = experiment.points
    without = [point for point in points if not has_results(point)]
    errors = [error for point in without for error in point.errors]
    faults = [fault.message for point in without for fault in point.faults if fault.message]
    is_unfitted = experiment.fit is not None and experiment.fit.state != "fitted"
    unsteady = [p.warm_up for p in without if p.warm_up is not None and not p.warm_up.is_steady]
    has_failed = any(point.failed for point in without)
    return Incomplete(
        code="not_fitted" if is_unfitted else "failed" if has_failed else "no_results",
        done=study.done,
        failed=sum(point.failed for point in points),
        planned=sum(point.planned for point in points),
        points=len(points),
        points_without=len(without),
        reason=next(iter([*errors, *faults]), experiment.fit.reason if experiment.fit else ""),
        warm_up=unsteady[0].evidence if unsteady else None,
    )
