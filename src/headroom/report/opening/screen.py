"""The first screen as the template lays it out: sentences, drawn figures, chips, cautions.

Invariant: restates `StudyResult.answer` and its words; a figure that cannot be drawn is left out
and leaves a caution.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from markupsafe import Markup

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.defects import fallback
from headroom.report.charts.figure import describe_interval
from headroom.report.figures.draw import HALF_PX, LEAD_PX, NARROW_PX, WHOLE_PX, draw
from headroom.report.figures.inputs import Curve, Figure
from headroom.report.opening.chosen import figure_of
from headroom.report.opening.grids import section_of
from headroom.report.sentences.answer.answer import (
    AnswerWords,
    Chip,
    FigureWords,
    words_or_none,
)
from headroom.report.sentences.answer.sentence import Sentence, Span
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun, join_words

LEAD = "answer"
"""Key of the decisive figure."""
MOST_PANELS = 8
"""Figures in addition to the decisive one."""
MOST_EXCEPTIONS, MOST_CAUTIONS = 3, 4
_MOST_LABELS = 3
_COLUMN_WORDS = {"measure": "measured", "model": "simulated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A figure that is not drawn yet."""

    figure: Figure
    key: str
    question: str = ""
    title: tuple[Span, ...]
    caption: str
    experiment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A drawn figure at two widths, with its question, title and caption."""

    key: str
    question: str
    title: tuple[Span, ...]
    wide: Markup
    narrow: Markup
    caption: str
    is_whole: bool
    experiment: str
    """Whose numbers it shows; empty: the claims."""


@dataclass(frozen=True, slots=True)
class Exceptional:
    """A claim that does not hold."""

    verdict: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Everything that a page shows unfolded."""

    text: str
    """The answer as plain text."""
    columns: list[str]
    answer: tuple[Span, ...]
    follows: list[tuple[Span, ...]]
    lead: Panel | None
    panels: list[Panel]
    chips: list[Chip]
    claims_title: str
    exceptions: list[Exceptional]
    exceptions_left_out: int
    sureness: str
    cautions: list[str]
    parameters: str
    machine: str


def opening_of(result: StudyResult) -> Opening:
    """Return the first screen of a study.

    Parameters
    ----------
    result
        An analysed study. Without an answer, as in results of older versions, its title stands in
        the place of one.
    """
    problems: list[str] = []
    words = words_or_none(result)
    drafts = list(_drafts(result, words, problems)) if words else []
    lead = next((draft for draft in drafts if draft.key == LEAD), None)
    others = _without_repetition([draft for draft in drafts if draft is not lead], lead, words)
    last = len(others) - 1 if len(others) % 2 else -1
    widths = [WHOLE_PX if place == last else HALF_PX for place in range(len(others))]
    answer = words.answer if words else Sentence((Span(result.title),))
    exceptions = [Exceptional(verdict, text) for verdict, text in words.exceptions] if words else []
    return Opening(
        text=answer.text,
        columns=_columns(result),
        answer=answer.spans,
        follows=[sentence.spans for sentence in words.follows] if words else [],
        lead=_panel(lead, LEAD_PX) if lead else None,
        panels=[_panel(draft, width) for draft, width in zip(others, widths, strict=True)],
        chips=words.chips if words else [],
        claims_title=f"{count_noun(len(result.claims), 'claim')} checked",
        exceptions=exceptions[:MOST_EXCEPTIONS],
        exceptions_left_out=len(exceptions[MOST_EXCEPTIONS:]),
        sureness=capital(f"{words.sureness}.") if words and words.sureness else "",
        cautions=[
            *problems,
            *(capital(f"{text}.") for text in (words.cautions if words else [])),
        ][:MOST_CAUTIONS],
        parameters=_parameters(result),
        machine=_machine(result),
    )


def _columns(result: StudyResult) -> list[str]:
    columns = dict.fromkeys(one.column for one in result.experiments)
    return [_COLUMN_WORDS[column] for column in columns]


def _drafts(result: StudyResult, words: AnswerWords, problems: list[str]) -> Iterator[_Draft]:
    """Yield the figures: the decisive one, one per question, sections that systems add."""
    answer = result.answer
    if answer is None:
        return
    choices: list[tuple[FigureChoice, FigureWords]] = [
        *([(answer.figure, words.figure)] if answer.figure and words.figure else []),
        *zip(answer.questions, words.questions, strict=True),
    ]
    for place, (choice, told) in enumerate(choices):
        key = LEAD if choice is answer.figure else f"question-{place}"
        draft = fallback(partial(_draft, result, choice, told, key), partial(_note, problems, told))
        if draft is not None:
            yield draft
    for experiment in result.experiments:
        for place, section in enumerate(experiment.sections):
            figure = fallback(partial(section_of, section), lambda _: None)
            if figure is not None:
                yield _Draft(
                    figure=figure,
                    key=f"section-{experiment.name}-{place}",
                    title=(Span(section.title),),
                    caption=section.caption,
                    experiment=experiment.name,
                )


def _note(problems: list[str], told: FigureWords, reason: str) -> None:
    problems.append(f"The figure \u201c{told.question}\u201d could not be drawn: {reason}.")


def _draft(result: StudyResult, choice: FigureChoice, told: FigureWords, key: str) -> _Draft | None:
    figure = figure_of(choice, result)
    if figure is None:
        return None
    return _Draft(
        figure=figure,
        key=key,
        question=told.question if told.title.text and key != LEAD else "",
        title=told.title.spans or (Span(told.question),),
        caption=_caption(choice, result, figure),
        experiment=choice.experiment,
    )


def _without_repetition(
    drafts: Sequence[_Draft], lead: _Draft | None, words: AnswerWords | None
) -> list[_Draft]:
    """Return the further figures: what the top says already is not said again."""
    said = {sentence.title.text for sentence in words.follows} if words else set()
    captions = {lead.caption} if lead else set()
    return [
        replace(
            draft,
            question="" if _text(draft.title) in said else draft.question,
            title=(Span(draft.question),) if _text(draft.title) in said else draft.title,
            caption="" if draft.caption in captions else draft.caption,
        )
        for draft in drafts[:MOST_PANELS]
    ]


def _text(title: Sequence[Span]) -> str:
    return "".join(span.text for span in title)


def _panel(draft: _Draft, width: float = HALF_PX) -> Panel:
    """Return a figure drawn at a width (px), and for phones."""
    label = _text(draft.title)
    style = {LEAD_PX: "wide lead", WHOLE_PX: "wide both"}.get(width, "wide")
    wide = draw(draft.figure, width, label, style=style)
    narrow = draw(draft.figure, NARROW_PX, label, style="narrow")
    left_out = wide.left_out[:_MOST_LABELS]
    unnamed = f"Not named: {join_words(left_out)}." if left_out else ""
    return Panel(
        key=draft.key if draft.key != LEAD else "answer-figure",
        question=draft.question,
        title=draft.title,
        wide=wide.svg,
        narrow=narrow.svg,
        caption=" ".join(filter(None, [draft.caption, unnamed])),
        is_whole=width == WHOLE_PX,
        experiment=draft.experiment,
    )


def _caption(choice: FigureChoice, result: StudyResult, figure: Figure | None) -> str:
    """Return what a mark of a figure means, in one or two short sentences."""
    experiment = next((one for one in result.experiments if one.name == choice.experiment), None)
    if choice.kind == "claims" and choice.question != "printed":
        return "A square for each claim. Hover for its text and value."
    if experiment is None or not choice.metrics:
        return ""
    dashed = (
        "Dashed: theory."
        if isinstance(figure, Curve)
        and len(figure.lines) > 1
        and any(line.is_dashed for line in figure.lines)
        else ""
    )
    return " ".join(filter(None, [_points_words(experiment, choice.metrics), dashed]))


def _points_words(experiment: ExperimentResult, metrics: Sequence[str]) -> str:
    estimates = [
        point.estimates[metric]
        for point in experiment.points
        for metric in metrics[:1]
        if metric in point.estimates
    ]
    column = _COLUMN_WORDS[experiment.column].capitalize()
    return f"{column}. {describe_interval(estimates)}" if estimates else ""


def _parameters(result: StudyResult) -> str:
    names = {used.name for one in result.experiments for used in one.parameters}
    return f"{count_noun(len(names), 'parameter')}, each with unit, range and source"


def _machine(result: StudyResult) -> str:
    for facts in result.environments:
        cpu = facts.get("cpu")
        if isinstance(cpu, dict) and cpu.get("model"):
            return str(cpu["model"])
    return "versions and settings"
