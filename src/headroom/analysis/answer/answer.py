"""The answer of a study: which statement comes first, what follows, and its figures.

The rank: incomplete, if runs of what is asked are left or failed; disturbed beyond its bound, which
is half of the runs; saturated; then what the study asks. It asks whether a publication stands if
most of its claims come from a paper; how good predictions are if its claims are about them (see
`headroom.analysis.answer.claims`). Else it asks what its first experiment asks that has a limit of
the study, a comparison, a bottleneck, or settings to choose from; without any of these, its first
experiment with results.

An experiment in which a limit of the study breaks below saturation is about that limit.

A study that states what it asks has an answer to each of its asks, the first is the headline; only
incomplete and disturbed results come before it.

Invariant: the answer is a function of the other fields of the result.
"""

import msgspec

from headroom.analysis.answer.asked import OF_CLAIMS, answered, inferred
from headroom.analysis.answer.asks.cells import of_derived
from headroom.analysis.answer.cautions import cautions_of, disturbed_runs
from headroom.analysis.answer.changes import changes_of
from headroom.analysis.answer.claims import (
    counts_of,
    findings_of,
    prediction_of,
    printed_numbers,
    reproduction_of,
)
from headroom.analysis.answer.figures import figure_asked, figure_of, questions_of
from headroom.analysis.answer.limits import saturated_of
from headroom.analysis.answer.losses import losses_of
from headroom.analysis.answer.numbers import has_results
from headroom.analysis.answer.question import statement_of, values_beside, without_results
from headroom.analysis.answer.settings import values_of_best
from headroom.analysis.answer.sureness import sureness_of
from headroom.analysis.answer.targets import other_curves
from headroom.analysis.answer_evidence import (
    Answer,
    Changes,
    Comparison,
    Disturbed,
    Equal,
    Findings,
    Incomplete,
    Limit,
    Losses,
    NoLimit,
    Saturated,
    Statement,
    Target,
    TradeOff,
    Undecided,
)
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.defects import fallback
from headroom.experiment.study.asks import Ask, ReproduceAsk

MAX_DISTURBED = 0.5
"""Share of the runs of an experiment beyond which disturbed ones take the answer."""
_MAX_FOLLOWS = 2
_MAX_STATED = 3
"""What follows where the study states what it asks: its further answers come first."""
_ASKED = (Target, Saturated, Comparison, Equal, TradeOff, Limit)
_CHANGED = (Target, Saturated, Limit, NoLimit, Losses)
"""Statements that tried changes follow from; beside others they are a figure."""


def with_answer(result: StudyResult) -> StudyResult:
    """Return a result with its answer, made of everything else in it.

    Parameters
    ----------
    result
        An analysed study; an answer that it has already does not count.

    Examples
    --------
    >>> empty = StudyResult(format=4, name="empty", title="", question="", folder="empty", seed=1,
    ...     is_quick=False, is_complete=False, done=0, failed=0, planned=4, experiments=[],
    ...     claims=[], environments=[], command="", generated="", headroom_version="0.1.0")
    >>> with_answer(empty).answer.kind
    'incomplete'
    """
    answer = fallback(lambda: answer_of(result), lambda _: None)
    return msgspec.structs.replace(result, answer=answer)


def answer_of(study: StudyResult) -> Answer:
    """Return the answer of a study, see `with_answer`."""
    asked = [answered(study, ask) for ask in study.asks if _is_there(study, ask)]
    experiment = next((one.experiment for one in asked if one.experiment), None) or _asked(study)
    question = asked[0].statement if asked else _question(study, experiment)
    is_of_claims = isinstance(question, OF_CLAIMS)
    about = None if is_of_claims else experiment
    statement = _first(study, about or experiment, question)
    shown = _shown(statement, question)
    whole = study.experiment_named(about.name) if about else None  # An ask may be about a part.
    figure = figure_asked(asked[0], shown) if asked else figure_of(about, shown)
    changes = changes_of(study, about, shown) if about else None
    follows = _follows(study, about, statement, question, changes)
    most = _MAX_STATED if asked else _MAX_FOLLOWS
    if not isinstance(statement, Incomplete | Disturbed):
        # Two asks about a saturated point have one answer, which is said once.
        stated = [one.statement for one in asked[1:] if one.statement != statement]
        of_claims = [one for one in stated if isinstance(one, OF_CLAIMS)][:1]
        others = [one for one in stated if not isinstance(one, OF_CLAIMS)]
        follows = [*others[: most - len(of_claims)], *of_claims, *follows]
        losses = losses_of(experiment) if experiment else None
        told = any(isinstance(one, Losses) for one in (statement, *follows[:most]))
        if losses is not None and not told:
            follows, most = [losses, *follows], most + 1
    records = [one.as_record() for one in asked]
    if not records and question is not None:
        records = [inferred(question, about)]
    return Answer(
        statement=statement,
        experiment=about.name if about else "",
        records=records,
        follows=follows[:most],
        figure=figure,
        questions=questions_of(study, whole, figure, changes, asked[1:]),
        cautions=cautions_of(study, experiment) if experiment else [],
        sureness=sureness_of(experiment) if experiment else None,
        claims=counts_of(study.claims),
        columns=list(dict.fromkeys(one.column for one in study.experiments)),
    )


def _is_there(study: StudyResult, ask: Ask) -> bool:
    """Return whether a study has what is asked about: a quick variant leaves some out."""
    if isinstance(ask, ReproduceAsk):
        return bool(study.claims)
    return not ask.experiment or study.experiment_named(ask.experiment) is not None


def _asked(study: StudyResult) -> ExperimentResult | None:
    """Return the experiment that the question of a study is about; None if there is none."""
    told = [one for one in study.experiments if any(map(has_results, one.points))]
    asked = (one for one in told if _is_asked(statement_of(study, one)))
    return next(asked, told[0] if told else next(iter(study.experiments), None))


def _is_asked(statement: Statement) -> bool:
    """Return whether a statement answers, or leaves open, the question of a study."""
    is_open = isinstance(statement, Undecided) and statement.code in {"target", "comparison"}
    return is_open or isinstance(statement, _ASKED)


def _of_claims(study: StudyResult) -> list[Statement]:
    return [one for one in (reproduction_of(study), prediction_of(study)) if one is not None]


def _question(study: StudyResult, experiment: ExperimentResult | None) -> Statement | None:
    """Return the answer to the question of a study, whatever ranks above it."""
    of_claims = _of_claims(study)
    if of_claims:
        return of_claims[0]
    found = statement_of(study, experiment) if experiment else None
    return findings_of(study) or found if _is_no_answer(found) else found


def _is_no_answer(statement: Statement | None) -> bool:
    """Return whether a statement chooses among settings, and finds none clearly best."""
    is_tie = isinstance(statement, TradeOff) and len(statement.goals) == 1
    return is_tie or (isinstance(statement, Undecided) and statement.code == "ranking")


def _first(
    study: StudyResult, experiment: ExperimentResult | None, question: Statement | None
) -> Statement:
    """Return the statement of the highest rank."""
    if experiment is None or question is None:
        return _runs_left(study)
    lacking = _lacking(study, experiment)
    if lacking is not None:
        return lacking
    if _has_runs_left(study, experiment, question):
        return _runs_left(study)
    return _disturbed(study, experiment) or question


def _has_runs_left(study: StudyResult, experiment: ExperimentResult, question: Statement) -> bool:
    """Return whether runs are left of what a question is about: an experiment, or all claims."""
    if isinstance(question, OF_CLAIMS):
        return not study.is_complete
    is_finished = all(point.is_finished or point.failed for point in experiment.points)
    return not study.is_complete and not is_finished


def _runs_left(study: StudyResult) -> Incomplete:
    points = [point for one in study.experiments for point in one.points]
    return Incomplete(
        code="runs_left",
        done=study.done,
        failed=study.failed,
        planned=study.planned,
        points=len(points),
        points_without=sum(not has_results(point) for point in points),
    )


def _lacking(study: StudyResult, experiment: ExperimentResult) -> Incomplete | None:
    """Return that an experiment is incomplete, if points failed or most have no results."""
    without = [point for point in experiment.points if not has_results(point)]
    has_failed = any(point.failed for point in without)
    if has_failed or 2 * len(without) > len(experiment.points):
        return without_results(study, experiment)
    return None


def _disturbed(study: StudyResult, experiment: ExperimentResult) -> Disturbed | None:
    count, worst = disturbed_runs(experiment)
    done = sum(point.done for point in experiment.points)
    if worst is None or count <= MAX_DISTURBED * done:
        return None
    return Disturbed(
        cause=worst.kind, share=worst.share, count=count, done=done, cores=_cores(study)
    )


def _cores(study: StudyResult) -> float | None:
    """Return how many processors the last session could use."""
    cpu = study.environments[-1].get("cpu", {}) if study.environments else {}
    cores = cpu.get("usable_count")
    return float(cores) if isinstance(cores, int | float) else None


def _shown(statement: Statement, question: Statement | None) -> Statement:
    """Return the statement that the decisive figure shows: the question, if that has an answer."""
    is_hidden = isinstance(statement, Disturbed | Incomplete) and question is not None
    return question if is_hidden and question is not None else statement


def _follows(
    study: StudyResult,
    experiment: ExperimentResult | None,
    statement: Statement,
    question: Statement | None,
    changes: Changes | None,
) -> list[Statement]:
    """Return the consequences of the answer, or the answer itself if a disturbance hides it."""
    if isinstance(statement, Incomplete):
        return []
    if isinstance(statement, Disturbed):
        return [question] if question is not None else []
    found: list[Statement | None] = []
    if experiment is None:
        found.append(None if isinstance(statement, Findings) else printed_numbers(study.claims))
    elif isinstance(statement, TradeOff):
        chosen = of_derived(experiment, statement.goals[0].metric)
        found.append(values_of_best(chosen, statement))
    else:
        found.append(values_beside(experiment, statement))
        found.append(other_curves(experiment, statement))
        found.append(changes if isinstance(statement, _CHANGED) else None)
        if isinstance(statement, Target):
            found.append(saturated_of(experiment, statement.where))
    return [one for one in found if one is not None]
