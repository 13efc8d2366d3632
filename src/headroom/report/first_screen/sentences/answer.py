"""The first screen of a study as texts: question, answer, what follows, figures, cautions.

Invariant: every text words a field of `StudyResult.answer`, or names its study.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headroom.analysis.answer_evidence import Answer, Disturbed, FigureChoice, Incomplete
from headroom.analysis.results import StudyResult
from headroom.defects import fallback
from headroom.report.first_screen.sentences.cautions import caution_words, sureness_words
from headroom.report.first_screen.sentences.limits import (
    MAX_REASON,
    incomplete_cure,
    incomplete_reason,
)
from headroom.report.first_screen.sentences.sentence import Sentence, plain
from headroom.report.first_screen.sentences.statements import counts_words, statement_sentence
from headroom.report.sentences.claims import claim_figure
from headroom.report.sentences.numbers import capital
from headroom.report.titles import in_words_of_study
from headroom.report.words import COLUMN_WORDS, label_metric

_QUESTIONS = {
    "carries": "How much does it carry?",
    "which_part": "Which part runs out first?",
    "what_to_change": "Which change helps?",
    "printed": "Are the printed numbers met?",
    "predicts": "How good are the predictions?",
    "follows": "Where is the prediction right?",
}


_WHAT_TO_DO = {
    "runs_left": "Finished runs are kept: run the same command to resume.",
    "failed": "Finished runs are kept: remove the cause, then run the same command.",
    "no_results": "The messages of the points, behind --all, say why.",
    "not_fitted": "Measure what the fit needs, then run the same command.",
    "left_out": "The quick variant may leave it out: run the study in full.",
    "withheld": "Give a larger `completions`, or a longer `time_s`.",
    "not_run": "Ask for levels and metrics that the points have: --all lists them.",
}


@dataclass(frozen=True, slots=True)
class FigureWords:
    """Question and title of a figure; the title is empty if it says no more than the question."""

    question: str
    title: Sentence


@dataclass(frozen=True, slots=True)
class Chip:
    """Claims with one verdict."""

    verdict: Literal["holds", "differs", "undecided"]
    text: str


@dataclass(frozen=True, slots=True)
class Exceptional:
    """A claim that differs or is undecided, with what was found."""

    verdict: str
    text: str
    published: str
    ours: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWords:
    """The texts of a first screen, on a page, in a terminal and in a notebook."""

    question: str
    columns: Sequence[str]
    """``simulated``, ``measured`` or both."""
    column: str = ""
    """The same as one text, with the variant."""
    answer: Sentence
    follows: Sequence[Sentence] = ()
    figure: FigureWords | None = None
    questions: Sequence[FigureWords] = ()
    """In the order of `Answer.questions`."""
    chips: Sequence[Chip] = ()
    claims: str = ""
    """All chips as one clause; empty without claims."""
    exceptions: Sequence[Exceptional] = ()
    """Without those that the quick variant leaves out."""
    sureness: str = ""
    cautions: Sequence[str] = ()


def words_of(result: StudyResult) -> AnswerWords:
    """Return the texts of the first screen of a study.

    Without an answer, or if Headroom fails to word it, its title replaces one.
    """
    return fallback(lambda: answer_words(result), lambda _: _title_alone(result))


def _title_alone(result: StudyResult) -> AnswerWords:
    title = Sentence.verbatim(result.title)
    return AnswerWords(question=plain(result.title), columns=_columns(result), answer=title)


@in_words_of_study
def answer_words(result: StudyResult) -> AnswerWords:
    """Return the same; if Headroom fails to word it, that is an error."""
    answer = result.answer
    if answer is None:
        return _title_alone(result)
    return AnswerWords(
        question=_asked_first(result),
        columns=_columns(result),
        column=" · ".join([" and ".join(_columns(result)), *(["quick"] * result.is_quick)]),
        answer=statement_sentence(answer.statement),
        follows=_follows(answer, is_quick=result.is_quick),
        figure=None if answer.figure is None else _figure(result, answer.figure),
        questions=[_figure(result, figure) for figure in answer.questions],
        chips=_chips(answer),
        claims=_claims(result, answer),
        exceptions=_exceptions(result, answer),
        sureness=sureness_words(answer.sureness, has_results=answer.figure is not None),
        cautions=[caution_words(caution) for caution in answer.cautions],
    )


@in_words_of_study
def asked_words(result: StudyResult) -> list[tuple[str, str, str]]:
    """Return each question of a study, the kind that it asks for, and its answer.

    What the study does not state is marked as inferred from its design.
    """
    return [
        (
            plain(one.question or ("" if place else result.title)),
            f"{one.ask}{' (inferred)' if one.is_inferred else ''}",
            statement_sentence(one.statement).text,
        )
        for place, one in enumerate(result.answers)
    ]


def _asked_first(result: StudyResult) -> str:
    """Return the question of the headline, or the title."""
    first = next((one.question for one in result.answers), "")
    return plain(first or result.title)


def _columns(result: StudyResult) -> list[str]:
    return [COLUMN_WORDS[name] for name in dict.fromkeys(one.column for one in result.experiments)]


def _follows(answer: Answer, *, is_quick: bool) -> list[Sentence]:
    if isinstance(answer.statement, Disturbed):
        measured = [statement_sentence(one, start="As measured: ") for one in answer.follows]
        return [*measured, Sentence.of("Stop what disturbs, then repeat with --fresh.")][:2]
    if isinstance(answer.statement, Incomplete):
        reason = incomplete_reason(answer.statement)
        told = [f"{capital(reason)}."] if len(reason) > MAX_REASON else []
        told += [f"{capital(cure)}."] if (cure := incomplete_cure(answer.statement)) else []
        is_not_run = answer.statement.code == "left_out" and not is_quick
        then = _WHAT_TO_DO["not_run" if is_not_run else answer.statement.code]
        return [Sentence.of(text) for text in (*told, then)]
    return [statement_sentence(statement) for statement in answer.follows]


def _figure(result: StudyResult, figure: FigureChoice) -> FigureWords:
    title = Sentence(()) if figure.finding is None else statement_sentence(figure.finding).title
    return FigureWords(_question(result, figure), title)


def _question(result: StudyResult, figure: FigureChoice) -> str:
    metric = label_metric(plain(figure.metrics[0])) if figure.metrics else ""
    if figure.question in {"answer", "asked"}:
        return plain(figure.text) or _asked_first(result)
    if figure.question == "experiment":
        experiment = result.experiment_named(figure.experiment)
        return plain(experiment.title or experiment.name) if experiment else ""
    if figure.question == "waits":
        is_response = metric.endswith("response time") or "response" in metric
        return "How long does a response take?" if is_response else f"How long is the {metric}?"
    if figure.question == "how_much":
        return f"How large is the {metric}?"
    if figure.question == "which_setting":
        return f"Which setting is best for {metric}?"
    return _QUESTIONS[figure.question]


def _chips(answer: Answer) -> list[Chip]:
    claims = answer.claims
    counts: list[tuple[Literal["holds", "differs", "undecided"], int, str]] = [
        ("holds", claims.holds, counts_words(claims.holds, 0, 0)),
        ("differs", claims.differs, counts_words(0, claims.differs, 0)),
        ("undecided", claims.undecided, f"{claims.undecided} undecided"),
    ]
    return [Chip(verdict, text) for verdict, count, text in counts if count]


def _claims(result: StudyResult, answer: Answer) -> str:
    claims = answer.claims
    if not claims.total:
        return ""
    words = counts_words(claims.holds, claims.differs, claims.undecided)
    if not claims.left_out or not result.is_quick:
        return words
    return f"{words} ({claims.left_out} of them not in the quick variant)"


def _exceptions(result: StudyResult, answer: Answer) -> list[Exceptional]:
    by_name = {claim.name: claim for claim in result.claims}
    found = [by_name[name] for name in answer.claims.exceptions if name in by_name]
    return [
        Exceptional(
            claim.verdict,
            plain(claim.text).rstrip("."),
            claim.published,
            claim_figure(claim),
        )
        for claim in found
        if not getattr(claim.evidence, "is_quick", False)
    ]
