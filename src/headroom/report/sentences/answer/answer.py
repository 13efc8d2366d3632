"""The first screen of a study as texts: question, answer, what follows, figures, cautions.

Invariant: every text words a field of `StudyResult.answer`, or names its study.
"""

from dataclasses import dataclass
from typing import Literal

from headroom.analysis.answer_evidence import Answer, Disturbed, FigureChoice, Incomplete
from headroom.analysis.results import StudyResult
from headroom.defects import fallback
from headroom.report.sentences.answer.cautions import caution_words, sureness_words
from headroom.report.sentences.answer.limits import MAX_REASON, incomplete_reason
from headroom.report.sentences.answer.sentence import Sentence, plain
from headroom.report.sentences.answer.statements import counts_words, statement_sentence
from headroom.report.sentences.numbers import capital
from headroom.report.words import label_metric

_COLUMNS = {"measure": "measured", "model": "simulated"}
_QUESTIONS = {
    "carries": "How much does it carry?",
    "which_part": "Which part runs out first?",
    "what_to_change": "Which change helps?",
    "printed": "Are the printed numbers met?",
    "predicts": "How good are the predictions?",
    "follows": "Where is the prediction right?",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWords:
    """The texts of a first screen."""

    question: str
    column: str
    """``simulated``, ``measured`` or both; with the variant."""
    answer: Sentence
    follows: list[Sentence]
    figure: FigureWords | None
    questions: list[FigureWords]
    """In the order of `Answer.questions`."""
    chips: list[Chip]
    claims: str
    """All chips as one clause; empty without claims."""
    exceptions: list[tuple[str, str]]
    """Verdict and text of each claim that differs or is undecided, except those that the quick
    variant leaves out."""
    sureness: str
    cautions: list[str]


def answer_words(result: StudyResult) -> AnswerWords | None:
    """Return the texts of the first screen of a study; None without an answer.

    Parameters
    ----------
    result
        An analysed study.
    """
    answer = result.answer
    if answer is None:
        return None
    sentence = statement_sentence(answer.statement)
    return AnswerWords(
        question=plain(result.title),
        column=_column(result, answer),
        answer=sentence,
        follows=_follows(answer),
        figure=None if answer.figure is None else _figure(result, answer.figure),
        questions=[_figure(result, figure) for figure in answer.questions],
        chips=_chips(answer),
        claims=_claims(result, answer),
        exceptions=_exceptions(result, answer),
        sureness=sureness_words(answer.sureness, has_results=answer.figure is not None),
        cautions=[caution_words(caution) for caution in answer.cautions],
    )


def _column(result: StudyResult, answer: Answer) -> str:
    columns = " and ".join(_COLUMNS[column] for column in answer.columns)
    return " · ".join(filter(None, [columns, "quick" if result.is_quick else ""]))


def _follows(answer: Answer) -> list[Sentence]:
    if isinstance(answer.statement, Disturbed):
        measured = [statement_sentence(one, start="As measured: ") for one in answer.follows]
        return [*measured, Sentence.of("Stop what disturbs, then repeat with --fresh.")][:2]
    if isinstance(answer.statement, Incomplete):
        reason = incomplete_reason(answer.statement)
        told = [f"{capital(reason)}."] if len(reason) > MAX_REASON else []
        return [Sentence.of(text) for text in (*told, _what_to_do(answer.statement))]
    return [statement_sentence(statement) for statement in answer.follows]


def _what_to_do(found: Incomplete) -> str:
    return {
        "runs_left": "Finished runs are kept: run the same command to resume.",
        "failed": "Finished runs are kept: remove the cause, then run the same command.",
        "no_results": "The messages of the points, behind --all, say why.",
        "not_fitted": "Measure what the fit needs, then run the same command.",
    }[found.code]


def _figure(result: StudyResult, figure: FigureChoice) -> FigureWords:
    title = Sentence(()) if figure.finding is None else statement_sentence(figure.finding).title
    return FigureWords(_question(result, figure), title)


def _question(result: StudyResult, figure: FigureChoice) -> str:
    metric = label_metric(plain(figure.metrics[0])) if figure.metrics else ""
    if figure.question == "answer":
        return plain(result.title)
    if figure.question == "experiment":
        titles = (one.title or one.name for one in result.experiments)
        names = [one.name for one in result.experiments]
        return plain(dict(zip(names, titles, strict=True)).get(figure.experiment, ""))
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


def _exceptions(result: StudyResult, answer: Answer) -> list[tuple[str, str]]:
    by_name = {claim.name: claim for claim in result.claims}
    found = [by_name[name] for name in answer.claims.exceptions if name in by_name]
    return [
        (claim.verdict, plain(claim.text).rstrip("."))
        for claim in found
        if not getattr(claim.evidence, "is_quick", False)
    ]


def words_or_none(result: StudyResult) -> AnswerWords | None:
    """Return the texts of a first screen; None also if Headroom fails to make them."""
    return fallback(lambda: answer_words(result), lambda _: None)
