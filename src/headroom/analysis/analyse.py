"""Turn a plan and its journal into a `StudyResult`, one point at a time.

Only the samples needed by claims and knees outlive their point, so analysing a study of many points
takes the memory of one.

Invariant: the result is a function of plan and journal; no clock, no randomness. `generated` is
the start of the newest replication.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from headroom.analysis.analysed import Analysed
from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answers import Memory, answers
from headroom.analysis.claims.of_study import claim_result
from headroom.analysis.derived.derive import derive
from headroom.analysis.experiment_result import experiment_result
from headroom.analysis.fits.fits import with_fits
from headroom.analysis.fits.prediction import with_prediction
from headroom.analysis.follow_up.refine import with_refined
from headroom.analysis.follow_up.tried import with_tried_verdict
from headroom.analysis.follow_up.what_if import StoredWhatIfs, compared_metrics, untried_count
from headroom.analysis.pictures import PICTURES_AT_MOST, SERIES_AT_MOST, evenly
from headroom.analysis.point_answer import PointAnswer, PointQuestion
from headroom.analysis.results import PointResult, StudyResult
from headroom.analysis.results_file import FORMAT
from headroom.analysis.solver_answers import SOLVED_AT_MOST
from headroom.analysis.statistics.undecidable import RESPONSES_SHOWN
from headroom.defects import fallback
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.fresh import is_mark
from headroom.experiment.runner.seen_inputs import SEEN
from headroom.experiment.runner.selection import PLACES, WORKED_ON, Selection
from headroom.experiment.study.checks.ask_checks import metrics_of
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.study import AgreementClaim, Claim, ErrorsClaim
from headroom.experiment.study.windows import WORST, window_metric
from headroom.version import version


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
        title=plan.study.heading,
        question=plan.study.question,
        asks=list(plan.study.asks),
        titles=plan.study.titles,
        folder=plan.folder.name,
        seed=plan.seed,
        is_quick=plan.is_quick,
        is_complete=done + failed >= to_run,
        done=done,
        failed=failed,
        planned=to_run,
        full_planned=plan.full_planned,
        full_most=plan.full_most,
        experiments=[
            experiment_result(one, environments, selection, plan.study.directions)
            for one in analysed
        ],
        claims=[claim_result(claim, analysed, plan) for claim in plan.study.claims],
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
) -> Analysed:
    metrics = tuple(experiment.system.metrics(experiment.points[0].config))
    responses = list(experiment.spec.responses) or [
        metric.name for metric in metrics[:RESPONSES_SHOWN]
    ]
    claimed = _claimed(experiment.spec.name, plan.study.claims)
    parts = _parts(experiment.spec.name, plan)
    limited = {limit.metric for limit in experiment.spec.limits}
    limited |= {window_metric(WORST, metric) for metric in limited}
    compared = experiment.spec.compare.metrics if experiment.spec.compare else []
    asked = {
        name
        for ask in plan.study.asks
        if ask.experiment in {"", experiment.spec.name}
        for _, name in metrics_of(ask)
    }
    needed = frozenset(claimed.union(asked, responses, limited, compared, parts))
    analysed = Analysed(experiment, metrics, responses, needed, bool(claimed))
    what_ifs = StoredWhatIfs(experiment, selection, journal)
    for answer in answers(_questions(analysed), plan, journal, selection, memory):
        point = experiment.points[len(analysed.points)]
        _add_point(analysed, answer)
        if what_ifs.knows(point):
            _add_what_ifs(analysed, point, selection, what_ifs)
    return analysed


def _questions(analysed: Analysed) -> list[PointQuestion]:
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


def _derive(analysed: Sequence[Analysed]) -> None:
    """Add the derived quantities of all experiments, in the order of the study."""
    by_name = {one.experiment.spec.name: one for one in analysed}
    for one in analysed:
        for planned in one.experiment.derived:
            spec = planned.spec
            there = by_name.get(spec.to_experiment) if spec.to_experiment else one
            of = spec.divided_by or spec.of
            source = one.cells(spec.of, spec.statistic, is_paired=spec.paired)
            other = source
            if there is not one or of != spec.of:
                other = there.cells(of, spec.statistic, is_paired=spec.paired) if there else []
            one.derived[planned.name] = derive(planned, source, other)


def _add_point(analysed: Analysed, answer: PointAnswer) -> None:
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
    analysed: Analysed, point: Point, selection: Selection, stored: StoredWhatIfs
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


def _told(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return an environment without what only decides about reuse."""
    left_out = {PLACES, WORKED_ON, SEEN}
    return {name: facts for name, facts in environment.items() if name not in left_out}
