"""Turn a plan and its journal into a `StudyResult`, one point at a time.

Only the samples needed by claims and knees outlive their point, so analysing a study of many points
takes the memory of one.

Invariant: the result is a function of plan and journal; no clock, no randomness. `generated` is
the start of the newest replication.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answers import Memory, answers
from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.claims.law import by_law, with_basis
from headroom.analysis.derived.derive import derive, derived_result
from headroom.analysis.derived.quantity import Cell, measured_cell
from headroom.analysis.drawn_model import drawn_model
from headroom.analysis.evidence import CrossingEvidence, NoComparison, NoKnee
from headroom.analysis.fits.fit_result import fit_result
from headroom.analysis.fits.fits import with_fits
from headroom.analysis.fits.prediction import margin_of, with_prediction
from headroom.analysis.follow_up.refine import with_refined
from headroom.analysis.follow_up.tried import with_tried_verdict
from headroom.analysis.follow_up.what_if import StoredWhatIfs, compared_metrics, untried_count
from headroom.analysis.pictures import PICTURES_AT_MOST, SERIES_AT_MOST, evenly
from headroom.analysis.point_answer import PointAnswer, PointQuestion
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
    WindowUsed,
)
from headroom.analysis.results_file import FORMAT
from headroom.analysis.sections import sections_of
from headroom.analysis.solver_answers import SOLVED_AT_MOST
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.statistics.undecidable import RESPONSES_SHOWN
from headroom.analysis.verdicts.directions import is_resource
from headroom.analysis.verdicts.headroom_left import crossing_of
from headroom.analysis.verdicts.knee import FEWEST_TOLD, KneeFit, knee_over
from headroom.analysis.verdicts.level_comparison import ComparedPoint, Question, compare_levels
from headroom.analysis.verdicts.level_crossovers import crossovers_of
from headroom.analysis.verdicts.measured_when import measured_when
from headroom.analysis.verdicts.predicted_limits import counting_predictions
from headroom.defects import fallback
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.system import Column, Metric, Replays, Value
from headroom.experiment.runner.fresh import is_mark
from headroom.experiment.runner.selection import PLACES, WORKED_ON, Selection
from headroom.experiment.study.checks.claim_checks import unit_of
from headroom.experiment.study.checks.limit_checks import load_factor
from headroom.experiment.study.plan import FactorSpec, ParameterUse, Plan, PlannedExperiment, Point
from headroom.experiment.study.study import (
    AgreementClaim,
    Claim,
    ErrorsClaim,
    Limit,
    Replications,
    Statistic,
    in_base_units,
)
from headroom.experiment.study.windows import WORST, window_metric
from headroom.version import version


class _HasLevels(Protocol):
    @property
    def levels(self) -> Mapping[str, Value]: ...


@dataclass(slots=True)
class _Analysed:
    """An experiment while its points pass by; `samples` has one entry per point."""

    experiment: PlannedExperiment
    metrics: tuple[Metric, ...]
    responses: list[str]
    needed: frozenset[str]
    has_claims: bool
    """Whether claims are about it, which need the runs of its points."""
    points: list[PointResult] = field(default_factory=list)
    samples: list[dict[str, Sample]] = field(default_factory=list)
    runs: list[Sequence[RunOfPoint]] = field(default_factory=list)
    compared: list[ComparedPoint] = field(default_factory=list)
    derived: dict[str, list[Cell]] = field(default_factory=dict)
    planned: int = 0
    newest: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether its parameters cannot be fitted, so that none of its runs is left to do."""
        return self.experiment.fit is not None and self.experiment.fit.is_refused

    def cells(self, quantity: str, statistic: Statistic) -> list[Cell]:
        """Return the values of a derived quantity, or of a metric at the points."""
        if quantity in self.derived:
            return self.derived[quantity]
        name = self.experiment.spec.name
        system = self.experiment.system
        is_replayed = isinstance(system, Replays) and system.column is Column.MODEL
        return [
            measured_cell(
                point.levels,
                samples.get(quantity),
                name=f"{name} {point.key} {quantity} {statistic}",
                quantity=quantity,
                statistic=statistic,
                absent=point.absent.get(quantity),
                is_fitted=margin_of(point, quantity) is not None,
                recordings=f"{name} recording" if is_replayed else "",
            )
            for point, samples in zip(self.points, self.samples, strict=True)
        ]


def analyse(
    plan: Plan,
    journal: Journal,
    *,
    environments: Sequence[Mapping[str, Any]],
    command: str,
    memory: Memory | None = None,
) -> StudyResult:
    """Return the analysed study, complete or not.

    Parameters
    ----------
    plan
        The study as planned; rows of the journal that do not belong to it are not read. What is
        fitted from other experiments is fitted here again, and what limits add is added again,
        from the same rows.
    journal
        Opened for reading or writing.
    environments
        Provenance of the sessions, as `Journal.environments` returns it.
    command
        The command that repeats the study.
    memory
        What earlier analyses found at points whose rows have not changed; it takes in what this
        one finds, and does not change the result.
    """
    plan = with_refined(with_fits(plan, journal), journal)
    selection = Selection(plan, journal)
    analysed = [
        _experiment(experiment, plan, selection, journal, memory) for experiment in plan.experiments
    ]
    _derive(analysed)
    done = sum(point.done for one in analysed for point in one.points)
    failed = sum(point.failed for one in analysed for point in one.points)
    to_run = sum(one.planned for one in analysed if not one.is_refused)
    result = StudyResult(
        format=FORMAT,
        name=plan.study.name,
        title=plan.study.title,
        question=plan.study.question,
        folder=plan.folder.name,
        seed=plan.seed,
        is_quick=plan.is_quick,
        is_complete=done + failed >= to_run,
        done=done,
        failed=failed,
        planned=to_run,
        full_planned=plan.full_planned,
        full_most=plan.full_most,
        experiments=[_result(one, environments, selection) for one in analysed],
        claims=[_claim(claim, analysed, plan) for claim in plan.study.claims],
        environments=[
            _told(environment) for environment in environments if not is_mark(environment)
        ],
        command=command,
        generated=max((one.newest for one in analysed), default=""),
        headroom_version=version(),
    )
    return with_answer(result)


def _experiment(
    experiment: PlannedExperiment,
    plan: Plan,
    selection: Selection,
    journal: Journal,
    memory: Memory | None,
) -> _Analysed:
    metrics = tuple(experiment.system.metrics(experiment.points[0].config))
    responses = list(experiment.spec.responses) or [
        metric.name for metric in metrics[:RESPONSES_SHOWN]
    ]
    claimed = _claimed(experiment.spec.name, plan.study.claims)
    parts = _parts(experiment.spec.name, plan)
    limited = {limit.metric for limit in experiment.spec.limits}
    limited |= {window_metric(WORST, metric) for metric in limited}
    compared = experiment.spec.compare.metrics if experiment.spec.compare else []
    needed = frozenset(claimed.union(responses, limited, compared, parts))
    analysed = _Analysed(experiment, metrics, responses, needed, bool(claimed))
    what_ifs = StoredWhatIfs(experiment, selection, journal)
    for answer in answers(_questions(analysed), plan, journal, selection, memory):
        point = experiment.points[len(analysed.points)]
        _add_point(analysed, answer)
        if what_ifs.knows(point):
            _add_what_ifs(analysed, point, selection, what_ifs)
    return analysed


def _questions(analysed: _Analysed) -> list[PointQuestion]:
    points = analysed.experiment.points
    pictured = set(evenly(len(points), PICTURES_AT_MOST))
    told = set(evenly(len(points), SERIES_AT_MOST))
    solved = set(evenly(len(points), SOLVED_AT_MOST))
    return [
        PointQuestion(
            experiment=analysed.experiment,
            point=point,
            needed=analysed.needed,
            has_runs=analysed.has_claims or analysed.experiment.spec.compare is not None,
            is_pictured=place in pictured,
            has_series=place in told,
            is_solved=place in solved,
        )
        for place, point in enumerate(points)
    ]


def _claimed(name: str, claims: Iterable[Claim]) -> set[str]:
    """Return the metrics of an experiment that claims are about."""
    found = set()
    for claim in claims:
        if claim.experiment == name:
            found.add(claim.metric)
        if isinstance(claim, AgreementClaim | ErrorsClaim) and claim.to_experiment == name:
            found.add(claim.to_metric or claim.metric)
    return found


def _parts(name: str, plan: Plan) -> set[str]:
    """Return the metrics of an experiment that derived quantities are made of."""
    specs = [(one.spec.name, derived.spec) for one in plan.experiments for derived in one.derived]
    of = {spec.of for own, spec in specs if name in {own, spec.to_experiment}}
    return of | {spec.divided_by for own, spec in specs if own == name}


def _derive(analysed: Sequence[_Analysed]) -> None:
    """Add the derived quantities of all experiments, in the order of the study."""
    by_name = {one.experiment.spec.name: one for one in analysed}
    for one in analysed:
        for planned in one.experiment.derived:
            spec = planned.spec
            there = by_name.get(spec.to_experiment) if spec.to_experiment else one
            of = spec.divided_by or spec.of
            source = one.cells(spec.of, spec.statistic)
            other = source
            if there is not one or of != spec.of:
                other = there.cells(of, spec.statistic) if there else []
            one.derived[planned.name] = derive(planned, source, other)


def _add_point(analysed: _Analysed, answer: PointAnswer) -> None:
    comparison = answer.compared
    point = analysed.experiment.points[len(analysed.points)]
    analysed.points.append(with_prediction(comparison.result, analysed.experiment, point))
    analysed.samples.append(dict(comparison.samples))
    analysed.runs.append(comparison.runs if analysed.has_claims else ())
    if analysed.experiment.spec.compare is not None:
        analysed.compared.append(comparison)
    analysed.planned += answer.planned
    analysed.newest = max(analysed.newest, answer.newest)


def _add_what_ifs(
    analysed: _Analysed, point: Point, selection: Selection, stored: StoredWhatIfs
) -> None:
    result = analysed.points[-1]
    rows = selection.rows(analysed.experiment, point)

    def tried() -> PointResult:
        found = stored.of(point, rows, result, compared_metrics(analysed.responses))
        if not found:
            return result
        left_out = untried_count(result, found)
        changed = msgspec.structs.replace(result, what_ifs=found, what_ifs_left_out=left_out)
        return with_tried_verdict(analysed.experiment, rows, changed)

    def untried(reason: str) -> PointResult:
        remark = f"what its changes give is not shown ({reason})"
        return msgspec.structs.replace(result, remarks=[*result.remarks, remark])

    analysed.points[-1] = fallback(tried, untried)


def _result(
    analysed: _Analysed, environments: Sequence[Mapping[str, Any]], selection: Selection
) -> ExperimentResult:
    experiment = analysed.experiment
    sections, left_out = sections_of(experiment, analysed.points)
    return ExperimentResult(
        name=experiment.spec.name,
        title=experiment.spec.title,
        system=experiment.system.name,
        column=experiment.system.column.value,
        factors=[_factor(factor) for factor in experiment.factors],
        responses=analysed.responses,
        windows=[
            WindowUsed(name=window.name, from_s=window.from_s, to_s=window.to_s)
            for window in experiment.spec.windows
        ],
        points=analysed.points,
        knees=list(_knees(analysed)),
        limits=list(_limits(analysed)),
        compared=_compared(analysed),
        derived=[derived_result(one, analysed.derived[one.name]) for one in experiment.derived],
        sections=sections,
        sections_left_out=left_out,
        what_if_replications=sum(
            one.done + one.failed for point in analysed.points for one in point.what_ifs
        ),
        parameters=[_parameter(use) for use in experiment.parameters],
        fit=fit_result(experiment),
        facts=_facts(experiment.spec.name, environments),
        replications=_replications(experiment),
        measured=measured_when(experiment, selection),
        precision_metric=experiment.spec.replications.metric or "",
        precision=experiment.spec.replications.half_width,
        model=fallback(lambda: drawn_model(experiment, analysed.points), lambda _: None),
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
        low=_float(use.parameter.low),
        high=_float(use.parameter.high),
        description=use.parameter.description,
    )


def _float(bound: float | None) -> float | None:
    """Return a bound as it is read back: a parameter may be declared with whole numbers."""
    return None if bound is None else float(bound)


def _told(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return an environment without what only decides about reuse."""
    return {name: facts for name, facts in environment.items() if name not in {PLACES, WORKED_ON}}


def _replications(experiment: PlannedExperiment) -> Replications:
    """Return how often points run: no more often than there are recorded runs."""
    rule = experiment.spec.replications
    most = max(map(experiment.replications_at, experiment.points), default=0)
    return (
        rule if most == experiment.most_replications else msgspec.structs.replace(rule, count=most)
    )


def _facts(name: str, environments: Sequence[Mapping[str, Any]]) -> dict[str, float | str]:
    """Return the measurements of the experiment from before its newest session."""
    facts: dict[str, float | str] = {}
    for environment in environments:
        facts = dict(environment.get("facts", {}).get(name, facts))
    return facts


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
    points: Sequence[_HasLevels], factor: FactorSpec
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
    curve = {
        float(analysed.points[place].levels[factor]): analysed.samples[place].get(metric)
        for place in places
    }
    fit = fallback(lambda: knee_over(curve), _failed_fit)
    return Knee(
        metric=metric,
        factor=factor,
        where=where,
        found=fit.level is not None,
        level=fit.level,
        level_low=fit.low,
        level_high=fit.high,
        value=fit.value,
        is_cut=fit.is_cut,
        without=list(fit.without),
        reason=fit.reason,
    )


def _failed_fit(message: str) -> KneeFit:
    return KneeFit(reason=NoKnee(code="defect", message=message))


def _limits(analysed: _Analysed) -> Iterable[LimitCrossing]:
    """Yield where each limit of the study breaks, for each curve over its factor.

    Of terminating runs a limit also counts in the interval that is worst for its metric.
    """
    units = {metric.name: metric.unit for metric in analysed.metrics}
    for limit in _with_worst(analysed):
        seen = analysed.experiment.seen_by(limit.metric)
        factor = load_factor(limit, seen.factors)
        if factor is None:
            continue
        if limit.metric in analysed.derived:
            yield from _derived_limits(limit, factor, analysed)
            continue
        for where, places in _curves(analysed.points, factor):
            curve = {
                float(analysed.points[place].levels[factor.name]): analysed.samples[place].get(
                    limit.metric
                )
                for place in places
            }
            found = _crossing(
                limit,
                factor.name,
                where,
                curve,
                units.get(limit.metric, ""),
                is_resource=is_resource(
                    factor.name,
                    [analysed.points[place] for place in places],
                    moves_alone=not factor.zipped_with,
                ),
            )
            found = counting_predictions(
                found,
                {
                    float(point.levels[factor.name]): point.estimates[limit.metric]
                    for point in (analysed.points[place] for place in places)
                    if margin_of(point, limit.metric) is not None
                },
            )
            added = sum(analysed.points[place].is_added for place in places)
            yield msgspec.structs.replace(found, added=added)


def _derived_limits(
    limit: Limit, factor: FactorSpec, analysed: _Analysed
) -> Iterable[LimitCrossing]:
    """Yield where a limit of a derived quantity breaks."""
    cells = analysed.derived[limit.metric]
    unit = unit_of(limit.metric, analysed.experiment)
    for where, places in _curves(cells, factor):
        curve = {float(cells[place].levels[factor.name]): cells[place].sample() for place in places}
        yield _crossing(limit, factor.name, where, curve, unit)


def _crossing(
    limit: Limit,
    factor: str,
    where: dict[str, Value],
    curve: Mapping[float, Sample | None],
    unit: str,
    *,
    is_resource: bool = False,
) -> LimitCrossing:
    return fallback(
        lambda: crossing_of(limit, factor, where, curve, unit, is_resource=is_resource),
        lambda reason: LimitCrossing(
            metric=limit.metric,
            unit=unit,
            at_most=in_base_units(limit.at_most),
            at_least=in_base_units(limit.at_least),
            factor=factor,
            where=where,
            state="unclear",
            current=limit.current,
            verdict=None if limit.current is None else "undecided",
            evidence=CrossingEvidence(unclear="defect", undecided="defect", message=reason),
        ),
    )


def _with_worst(analysed: _Analysed) -> Iterable[Limit]:
    for limit in analysed.experiment.spec.limits:
        yield limit
        worst = window_metric(WORST, limit.metric)
        if limit.at_most is not None and any(worst in sample for sample in analysed.samples):
            yield msgspec.structs.replace(limit, metric=worst)


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
    factors = analysed.experiment.factors
    return fallback(
        lambda: _with_crossovers(compare_levels(analysed.compared, question), factors),
        lambda message: msgspec.structs.replace(
            compare_levels([], question), why_empty=NoComparison(code="defect", message=message)
        ),
    )


def _with_crossovers(found: LevelsCompared, factors: Sequence[FactorSpec]) -> LevelsCompared:
    return msgspec.structs.replace(found, crossovers=crossovers_of(found, factors))


def _claim(claim: Claim, analysed: Sequence[_Analysed], plan: Plan) -> ClaimResult:
    evidence = _evidence(claim.experiment, claim.metric, analysed, plan)
    if isinstance(claim, AgreementClaim | ErrorsClaim):
        to = _evidence(claim.to_experiment, claim.to_metric or claim.metric, analysed, plan)
        return check_claim(claim, replace(evidence, to=to))
    found = check_claim(claim, evidence)
    has_law = any(point.law for one in analysed for point in one.points)
    if not has_law or not any(one.published for one in plan.study.claims):
        return found
    points = [
        point
        for one in analysed
        if one.experiment.spec.name == claim.experiment and claim.metric not in one.derived
        for point in one.points
    ]
    if not points:  # No law says anything of a derived quantity.
        evidence = replace(evidence, points=[])
    return with_basis(found, claim, check_claim(claim, by_law(evidence, claim.metric, points)))


def _evidence(experiment: str, metric: str, analysed: Sequence[_Analysed], plan: Plan) -> Evidence:
    """Return the evidence for a metric of an experiment; no points if it was not run."""
    found = next((one for one in analysed if one.experiment.spec.name == experiment), None)
    if found is None:
        return Evidence(points=[], is_quick=_is_skipped(experiment, plan))
    if metric in found.derived:
        return _derived_evidence(metric, found, plan)
    points = [
        MeasuredPoint(
            point.levels,
            samples.get(metric),
            point.absent.get(metric),
            runs,
            margin_of(point, metric),
        )
        for point, samples, runs in zip(found.points, found.samples, found.runs, strict=True)
    ]
    units = {metric.name: metric.unit for metric in found.metrics}
    factors = {factor.name: factor.parameter.unit for factor in found.experiment.factors}
    return Evidence(
        points=points,
        unit=units.get(metric, ""),
        factor_units=factors,
        column=found.experiment.system.column,
        is_quick=plan.is_quick,
    )


def _derived_evidence(name: str, found: _Analysed, plan: Plan) -> Evidence:
    planned = found.experiment.derived_named(name)
    return Evidence(
        points=[MeasuredPoint(cell.levels, cell.sample()) for cell in found.derived[name]],
        unit=unit_of(name, found.experiment),
        factor_units={factor.name: factor.parameter.unit for factor in found.experiment.factors},
        column=found.experiment.system.column,
        is_quick=plan.is_quick,
        over=frozenset() if planned is None else planned.over,
    )


def _is_skipped(experiment: str, plan: Plan) -> bool:
    """Return whether the quick variant leaves out an experiment that a claim is about."""
    skipped = {spec.name for spec in plan.study.experiments if spec.quick.skip}
    return plan.is_quick and experiment in skipped
