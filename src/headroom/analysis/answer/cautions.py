"""Reasons to take care, the most important first.

Invariant: each one names a number that says so, and comes only where that number is there: a
warning that appears on every result is a warning without readers.
"""

import re
from collections import Counter
from collections.abc import Iterator

from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer.numbers import has_results, main_metric
from headroom.analysis.answer_evidence import Caution
from headroom.analysis.results import (
    Disturbance,
    Estimate,
    ExperimentResult,
    StudyResult,
)

MAX_CAUTIONS = 4
_MAX_REMARKS = 2


def cautions_of(study: StudyResult, experiment: ExperimentResult) -> list[Caution]:
    """Return why a reader of an experiment should take care."""
    groups = (
        _disturbed(experiment),
        _refused(study),
        _remarks(study),
        _failed(study),
        _without_results(experiment),
        _broken_law(experiment),
        _settled(experiment),
        imprecise(experiment),
        _without_intervals(experiment),
        _unpaired(experiment),
        _quick(study),
        _fitted(study),
        _assumed(study),
        _short(experiment),
    )
    return [caution for group in groups for caution in group][:MAX_CAUTIONS]


def _disturbed(experiment: ExperimentResult) -> Iterator[Caution]:
    count, worst = disturbed_runs(experiment)
    if worst is not None:
        done = sum(point.done for point in experiment.points)
        yield Caution(code="disturbed", count=count, total=done, share=worst.share, name=worst.kind)


def disturbed_runs(experiment: ExperimentResult) -> tuple[int, Disturbance | None]:
    """Return how many runs were disturbed, and what disturbed them most; None if nothing did."""
    count = sum(
        len({number for found in point.disturbances for number in found.replications})
        for point in experiment.points
    )
    every = [found for point in experiment.points for found in point.disturbances]
    return count, max(every, key=lambda found: found.share, default=None)


def _refused(study: StudyResult) -> Iterator[Caution]:
    """Yield why experiments have no runs and get none."""
    for one in study.experiments:
        if one.fit is not None and one.fit.state == "refused":
            yield Caution(code="refused", name=one.name, message=one.fit.reason)


def without_count(remark: str) -> str:
    """Return a remark without the number of runs that say it.

    Examples
    --------
    >>> without_count("the tool is being measured (3 times)")
    'the tool is being measured'
    """
    return re.sub(r" \(\d+ times\)$", "", remark)


def _remarks(study: StudyResult) -> Iterator[Caution]:
    """Yield the remarks of systems on runs that may mislead, the most frequent first."""
    points = [point for one in study.experiments for point in one.points if point.estimates]
    said = Counter(without_count(remark) for point in points for remark in set(point.remarks))
    for message, count in said.most_common(_MAX_REMARKS):
        yield Caution(code="remark", count=count, total=len(points), message=message)


def _failed(study: StudyResult) -> Iterator[Caution]:
    left = study.planned - study.done - study.failed
    if left > 0:
        yield Caution(code="runs_left", count=left, total=study.planned)
    if study.failed:
        yield Caution(code="failed", count=study.failed, total=study.planned)


def _without_results(experiment: ExperimentResult) -> Iterator[Caution]:
    count = sum(not has_results(point) for point in experiment.points)
    if count:
        yield Caution(code="no_results", count=count, total=len(experiment.points))


def _broken_law(experiment: ExperimentResult) -> Iterator[Caution]:
    count = sum(point.little is not None and not point.little.passed for point in experiment.points)
    if count:
        yield Caution(code="little", count=count, total=len(experiment.points))


def _settled(experiment: ExperimentResult) -> Iterator[Caution]:
    found = [point.settled for point in experiment.points if point.settled is not None]
    if found:
        apart = max(one.high / one.low - 1.0 for one in found)
        total = len(experiment.points)
        yield Caution(code="settled", count=len(found), total=total, share=apart)


def imprecise(experiment: ExperimentResult) -> Iterator[Caution]:
    """Yield how far points are from the requested precision, if any is."""
    metric = experiment.precision_metric
    missed = [
        (width, point)
        for point in experiment.points
        if point.precision_reached is False and (width := _half_width(point.estimates.get(metric)))
    ]
    if missed:
        width, point = max(missed, key=lambda pair: pair[0])
        yield Caution(
            code="imprecise",
            count=len(missed),
            total=len(experiment.points),
            share=width,
            wanted=experiment.precision,
            metric=metric,
            levels=setting_of(experiment, point),
        )


def _half_width(estimate: Estimate | None) -> float:
    if estimate is None or estimate.low is None or estimate.high is None or not estimate.value:
        return 0.0
    return (estimate.high - estimate.low) / 2.0 / abs(estimate.value)


def _without_intervals(experiment: ExperimentResult) -> Iterator[Caution]:
    metric = main_metric(experiment)
    found = [point.estimates[metric] for point in experiment.points if metric in point.estimates]
    count = sum(estimate.low is None for estimate in found)
    if count:
        yield Caution(code="no_intervals", count=count, total=len(found), metric=metric)


def _unpaired(experiment: ExperimentResult) -> Iterator[Caution]:
    if experiment.compared is not None and experiment.compared.order.code == "apart":
        order = experiment.compared.order
        yield Caution(code="unpaired", count=order.intact, total=order.blocks)


def _quick(study: StudyResult) -> Iterator[Caution]:
    if study.is_quick:
        name = "at_least" if study.full_most > study.full_planned else ""
        yield Caution(code="quick", count=study.done, total=study.full_planned, name=name)


def _fitted(study: StudyResult) -> Iterator[Caution]:
    calibrated = {
        use.name
        for experiment in study.experiments
        for use in experiment.parameters
        if use.source.startswith("calibrated")
    }
    fitted = sum(claim.basis == "fitted" for claim in study.claims)
    if calibrated or fitted:
        yield Caution(code="fitted", count=len(calibrated), total=fitted)


def _assumed(study: StudyResult) -> Iterator[Caution]:
    """Count the numbers of models that are assumed or have no source, if half of them or more."""
    sources = {
        use.name: use.source
        for experiment in study.experiments
        if experiment.column == "model"
        for use in experiment.parameters
        if use.origin in {"default", "fixed"} and isinstance(use.value, int | float)
    }
    assumed = sum(source.startswith("assumed") for source in sources.values())
    unsourced = sum(not source for source in sources.values())
    count = assumed + unsourced
    if 2 * count >= len(sources) > 0:
        name = "both" if assumed and unsourced else "assumed" if assumed else "unsourced"
        yield Caution(code="assumed", count=count, total=len(sources), name=name)


def _short(experiment: ExperimentResult) -> Iterator[Caution]:
    count = sum(
        point.run_length is not None and point.run_length.is_short for point in experiment.points
    )
    if count:
        yield Caution(code="short_runs", count=count, total=len(experiment.points))
