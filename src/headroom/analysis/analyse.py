"""From a plan and its journal to a `StudyResult`, one point at a time.

Only the samples that claims and knees need outlive their point, so a study of many points
is analysed in the memory of one.

Invariant: the result is a function of plan and journal; no clock, no randomness. `generated` is
the start of the newest replication.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from headroom.analysis.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims import check_claim
from headroom.analysis.drawn_model import drawn_model
from headroom.analysis.fit_result import fit_result
from headroom.analysis.fits import with_fits
from headroom.analysis.headroom_left import crossing_of
from headroom.analysis.intervals import Sample
from headroom.analysis.knee import FEWEST_TOLD, knee_over
from headroom.analysis.level_comparison import ComparedPoint, Question, compare_levels
from headroom.analysis.pictures import PICTURES_AT_MOST, SERIES_AT_MOST, evenly
from headroom.analysis.point import analyse_point
from headroom.analysis.results import (
    ClaimResult,
    ExperimentResult,
    Factor,
    Knee,
    LevelsCompared,
    LimitCrossing,
    ParameterUsed,
    PointResult,
    StudyResult,
)
from headroom.analysis.results_file import FORMAT
from headroom.analysis.solver_answers import SOLVED_AT_MOST, with_solver_answer
from headroom.analysis.stopping import in_words, planned_replications
from headroom.analysis.tried import with_tried_verdict
from headroom.analysis.what_if import StoredWhatIfs, compared_metrics
from headroom.experiment.journal import Journal, ReplicationRow
from headroom.experiment.limit_checks import load_factor
from headroom.experiment.plan import FactorSpec, ParameterUse, Plan, PlannedExperiment, Point
from headroom.experiment.selection import PLACES, Selection
from headroom.experiment.study import AgreementClaim, Claim
from headroom.experiment.system import Metric, Value
from headroom.version import version

RESPONSES_SHOWN = 3
"""Metrics shown first where a study names none."""


@dataclass(slots=True)
class _Analysed:
    """An experiment while its points pass by; `samples` has one entry per point."""

    experiment: PlannedExperiment
    metrics: tuple[Metric, ...]
    responses: list[str]
    needed: frozenset[str]
    points: list[PointResult] = field(default_factory=list)
    samples: list[dict[str, Sample]] = field(default_factory=list)
    compared: list[ComparedPoint] = field(default_factory=list)
    planned: int = 0
    newest: str = ""


def analyse(
    plan: Plan,
    journal: Journal,
    *,
    environments: Sequence[Mapping[str, Any]],
    command: str,
) -> StudyResult:
    """Return the analysed study, complete or not.

    Parameters
    ----------
    plan
        The study as planned; rows of the journal that do not belong to it are not read. What is
        fitted from other experiments is fitted here again, from the same rows.
    journal
        Opened for reading or writing.
    environments
        Provenance of the sessions, as `Journal.environments` returns it.
    command
        The command that repeats the study.
    """
    plan = with_fits(plan, journal)
    selection = Selection(plan, journal)
    analysed = [
        _experiment(experiment, plan.study.claims, selection, journal)
        for experiment in plan.experiments
    ]
    done = sum(point.done for one in analysed for point in one.points)
    failed = sum(point.failed for one in analysed for point in one.points)
    return StudyResult(
        format=FORMAT,
        name=plan.study.name,
        title=plan.study.title,
        question=plan.study.question,
        folder=plan.folder.name,
        seed=plan.seed,
        is_quick=plan.is_quick,
        is_complete=done + failed >= sum(one.planned for one in analysed),
        done=done,
        failed=failed,
        planned=sum(one.planned for one in analysed),
        experiments=[_result(one, environments) for one in analysed],
        claims=[_claim(claim, analysed, plan) for claim in plan.study.claims],
        environments=[_told(environment) for environment in environments],
        command=command,
        generated=max((one.newest for one in analysed), default=""),
        headroom_version=version(),
    )


def _experiment(
    experiment: PlannedExperiment,
    claims: Iterable[Claim],
    selection: Selection,
    journal: Journal,
) -> _Analysed:
    metrics = tuple(experiment.system.metrics(experiment.points[0].config))
    responses = list(experiment.spec.responses) or [
        metric.name for metric in metrics[:RESPONSES_SHOWN]
    ]
    claimed = _claimed(experiment.spec.name, claims)
    limited = {limit.metric for limit in experiment.spec.limits}
    compared = experiment.spec.compare.metrics if experiment.spec.compare else []
    needed = frozenset(claimed.union(responses, limited, compared))
    analysed = _Analysed(experiment, metrics, responses, needed)
    pictured = set(evenly(len(experiment.points), PICTURES_AT_MOST))
    told = set(evenly(len(experiment.points), SERIES_AT_MOST))
    solved = set(evenly(len(experiment.points), SOLVED_AT_MOST))
    what_ifs = StoredWhatIfs(experiment, selection, journal)
    for place, point in enumerate(experiment.points):
        rows = selection.rows(experiment, point)
        _add_point(analysed, point, rows, is_pictured=place in pictured, has_series=place in told)
        _add_what_ifs(analysed, point, rows, what_ifs)
        if place in solved:
            analysed.points[-1] = with_solver_answer(analysed.points[-1], experiment, point)
    return analysed


def _claimed(name: str, claims: Iterable[Claim]) -> set[str]:
    """Return the metrics of an experiment that claims are about."""
    found = set()
    for claim in claims:
        if claim.experiment == name:
            found.add(claim.metric)
        if isinstance(claim, AgreementClaim) and claim.to_experiment == name:
            found.add(claim.to_metric or claim.metric)
    return found


def _add_what_ifs(
    analysed: _Analysed, point: Point, rows: Sequence[ReplicationRow], stored: StoredWhatIfs
) -> None:
    result = analysed.points[-1]
    found = stored.of(point, rows, result, compared_metrics(analysed.responses))
    if found:
        tried = msgspec.structs.replace(result, what_ifs=found)
        analysed.points[-1] = with_tried_verdict(analysed.experiment, rows, tried)


def _add_point(
    analysed: _Analysed,
    point: Point,
    rows: Sequence[ReplicationRow],
    *,
    is_pictured: bool,
    has_series: bool,
) -> None:
    experiment = analysed.experiment
    planned, precision = planned_replications(experiment, rows)
    found = analyse_point(
        experiment,
        point,
        rows,
        planned=planned,
        precision=precision,
        needed=analysed.needed,
        is_pictured=is_pictured,
        has_series=has_series,
    )
    analysed.points.append(found.result)
    analysed.samples.append(dict(found.samples))
    if experiment.spec.compare is not None:
        analysed.compared.append(found)
    analysed.planned += planned
    analysed.newest = max([analysed.newest, *(row.started_at for row in rows)])


def _result(analysed: _Analysed, environments: Sequence[Mapping[str, Any]]) -> ExperimentResult:
    experiment = analysed.experiment
    return ExperimentResult(
        name=experiment.spec.name,
        title=experiment.spec.title,
        system=experiment.system.name,
        column=experiment.system.column.value,
        factors=[_factor(factor) for factor in experiment.factors],
        responses=analysed.responses,
        points=analysed.points,
        knees=list(_knees(analysed)),
        limits=list(_limits(analysed)),
        compared=_compared(analysed),
        what_if_replications=sum(
            one.done + one.failed for point in analysed.points for one in point.what_ifs
        ),
        parameters=[_parameter(use) for use in experiment.parameters],
        fit=fit_result(experiment),
        facts=_facts(experiment.spec.name, environments),
        replications=in_words(experiment.spec.replications),
        model=drawn_model(experiment, analysed.points),
    )


def _factor(factor: FactorSpec) -> Factor:
    return Factor(
        name=factor.name,
        unit=factor.parameter.unit,
        is_numeric=factor.is_numeric,
        levels=list(factor.levels),
        zipped_with=list(factor.zipped_with),
    )


def _parameter(use: ParameterUse) -> ParameterUsed:
    return ParameterUsed(
        name=use.name,
        value=use.value,
        unit=use.parameter.unit,
        source=use.source,
        origin=use.origin,
        low=use.parameter.low,
        high=use.parameter.high,
        description=use.parameter.description,
    )


def _told(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return an environment without what only tells one device from another."""
    return {name: facts for name, facts in environment.items() if name != PLACES}


def _facts(name: str, environments: Sequence[Mapping[str, Any]]) -> dict[str, float | str]:
    """Return what the newest session that ran the experiment measured before it."""
    found: dict[str, float | str] = {}
    for environment in environments:
        found = dict(environment.get("facts", {}).get(name, found))
    return found


def _knees(analysed: _Analysed) -> Iterable[Knee]:
    """Yield the knee of every response over every numeric factor with enough levels."""
    for factor in analysed.experiment.factors:
        levels = set(factor.levels)
        if not factor.is_numeric or not FEWEST_TOLD <= len(levels) == len(factor.levels):
            continue  # A zipped factor that repeats a level has several values there: no curve.
        for where, places in _curves(analysed.points, factor):
            for metric in analysed.responses:
                yield _knee(analysed, factor.name, metric, where, places)


def _curves(
    points: Sequence[PointResult], factor: FactorSpec
) -> list[tuple[dict[str, Value], list[int]]]:
    """Return the points of each curve over `factor`, with the levels of all other factors.

    A zipped factor that comes back to a level draws no curve.
    """
    curves: dict[tuple[tuple[str, Value], ...], list[int]] = {}
    moving = {factor.name, *factor.zipped_with}
    for place, point in enumerate(points):
        held = tuple((name, level) for name, level in point.levels.items() if name not in moving)
        curves.setdefault(held, []).append(place)
    return [
        (dict(held), places)
        for held, places in curves.items()
        if len({points[place].levels[factor.name] for place in places}) == len(places)
    ]


def _knee(
    analysed: _Analysed, factor: str, metric: str, where: dict[str, Value], places: Sequence[int]
) -> Knee:
    fit = knee_over(
        {
            float(analysed.points[place].levels[factor]): analysed.samples[place].get(metric)
            for place in places
        }
    )
    return Knee(
        metric=metric,
        factor=factor,
        where=where,
        found=fit.level is not None,
        level=fit.level,
        level_low=fit.low,
        level_high=fit.high,
        value=fit.value,
        note=fit.note,
    )


def _limits(analysed: _Analysed) -> Iterable[LimitCrossing]:
    """Yield where each limit of the study breaks, for each curve over its factor."""
    units = {metric.name: metric.unit for metric in analysed.metrics}
    for limit in analysed.experiment.spec.limits:
        factor = load_factor(limit, analysed.experiment.factors)
        if factor is None:
            continue
        for where, places in _curves(analysed.points, factor):
            curve = {
                float(analysed.points[place].levels[factor.name]): analysed.samples[place].get(
                    limit.metric
                )
                for place in places
            }
            yield crossing_of(limit, factor.name, where, curve, units.get(limit.metric, ""))


def _compared(analysed: _Analysed) -> LevelsCompared | None:
    """Return the comparison that the study asks for; none without one."""
    compare = analysed.experiment.spec.compare
    if compare is None:
        return None
    factor = next(one for one in analysed.experiment.factors if one.name == compare.factor)
    declared = {metric.name: metric for metric in analysed.metrics}
    names = compare.metrics or analysed.responses
    question = Question(
        compare=compare,
        metrics=[declared.get(name, Metric(name=name, unit="1")) for name in names],
        column=analysed.experiment.system.column,
        moving=frozenset({factor.name, *factor.zipped_with}),
    )
    return compare_levels(analysed.compared, question)


def _claim(claim: Claim, analysed: Sequence[_Analysed], plan: Plan) -> ClaimResult:
    evidence = _evidence(claim.experiment, claim.metric, analysed, plan)
    if isinstance(claim, AgreementClaim):
        to = _evidence(claim.to_experiment, claim.to_metric or claim.metric, analysed, plan)
        evidence = replace(evidence, to=to)
    return check_claim(claim, evidence)


def _evidence(experiment: str, metric: str, analysed: Sequence[_Analysed], plan: Plan) -> Evidence:
    """Return what is known of a metric of an experiment; no points where that was not run."""
    found = next((one for one in analysed if one.experiment.spec.name == experiment), None)
    if found is None:
        return Evidence(points=[], is_quick=_is_skipped(experiment, plan))
    points = [
        MeasuredPoint(point.levels, samples.get(metric), point.absent.get(metric, ""))
        for point, samples in zip(found.points, found.samples, strict=True)
    ]
    units = {metric.name: metric.unit for metric in found.metrics}
    factors = {factor.name: factor.parameter.unit for factor in found.experiment.factors}
    return Evidence(
        points=points,
        unit=units.get(metric, ""),
        factor_units=factors,
        is_quick=plan.is_quick,
    )


def _is_skipped(experiment: str, plan: Plan) -> bool:
    """Return whether the quick variant leaves out an experiment that a claim is about."""
    skipped = {spec.name for spec in plan.study.experiments if spec.quick.skip}
    return plan.is_quick and experiment in skipped
