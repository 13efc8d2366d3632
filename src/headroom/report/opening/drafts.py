"""The figures of a first screen with their words, before they are drawn.

Invariant: a figure that cannot be made is left out and reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.defects import fallback
from headroom.quantities import format_level
from headroom.report.figures.inputs import Busy, Curve, Figure
from headroom.report.opening.chosen import figure_of
from headroom.report.opening.courses import busy_of, time_of
from headroom.report.opening.grids import has_room, section_of
from headroom.report.opening.scales import where_of
from headroom.report.sentences.answer.answer import AnswerWords, FigureWords
from headroom.report.sentences.answer.sentence import Span
from headroom.report.sentences.intervals import describe_interval
from headroom.report.words import join_words

LEAD = "answer"
"""Key of the decisive figure."""
COLUMN_WORDS = {"measure": "measured", "model": "simulated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A figure that is not drawn yet; `key` is its anchor and its name as a file."""

    figure: Figure
    key: str
    question: str = ""
    title: tuple[Span, ...]
    caption: str
    experiment: str
    is_section: bool = False
    """Whether a system adds it: the answer to a question of its layer."""


def drafts_of(result: StudyResult, words: AnswerWords, problems: list[str]) -> Iterator[Draft]:
    """Yield the figures: the decisive one, one per question, sections that systems add."""
    answer = result.answer
    if answer is None:
        return
    choices: list[tuple[FigureChoice, FigureWords]] = [
        *([(answer.figure, words.figure)] if answer.figure and words.figure else []),
        *zip(answer.questions, words.questions, strict=True),
    ]
    for place, (choice, told) in enumerate(choices):
        key = LEAD if choice is answer.figure else f"{choice.question}-{place}"
        draft = fallback(
            partial(_drafted, result, choice, told, key), partial(_note, problems, told)
        )
        if draft is not None:
            yield draft
    yield from _courses(
        result, answer.experiment or (answer.figure.experiment if answer.figure else "")
    )
    with_sections = [one for one in result.experiments if one.sections]
    for experiment in sorted(with_sections, key=lambda one: one.name != answer.experiment):
        title = f"{experiment.title.rstrip('.')}." if len(with_sections) > 1 else ""
        for place, section in enumerate(experiment.sections):
            if not has_room(section):
                continue
            figure = fallback(partial(section_of, section), lambda _: None)
            if figure is not None:
                yield Draft(
                    figure=figure,
                    key=f"section-{experiment.name}-{place}",
                    title=(Span(section.title),),
                    caption=" ".join(filter(None, [title, section.caption])),
                    experiment=experiment.name,
                    is_section=True,
                )


def _courses(result: StudyResult, name: str) -> Iterator[Draft]:
    """Yield where the time of a response goes, and how busy parts were, in one experiment."""
    experiment = next((one for one in result.experiments if one.name == name), None)
    if experiment is None:
        return
    shares = fallback(lambda: time_of(experiment), lambda _: None)
    if shares is not None:
        yield Draft(
            figure=shares[0],
            key="time-0",
            question="Where does the time go?",
            title=(Span(shares[1]),),
            caption="Shares of the mean response time.",
            experiment=name,
        )
    busy = fallback(lambda: busy_of(experiment), lambda _: None)
    if busy is not None:
        yield Draft(
            figure=busy[0],
            key="busy-0",
            question="How busy is each part over time?",
            title=(Span(busy[1]),),
            caption=_busy_caption(busy[0]),
            experiment=name,
        )


def _busy_caption(busy: Busy) -> str:
    has_others = any(row.role == "context" for row in busy.rows)
    others = " Others: programs that are not part of the study." if has_others else ""
    return f"The first replication, 0 to 100%.{others}"


def _note(problems: list[str], told: FigureWords, reason: str) -> None:
    problems.append(f"The figure \u201c{told.question}\u201d could not be drawn: {reason}.")


def _drafted(
    result: StudyResult, choice: FigureChoice, told: FigureWords, key: str
) -> Draft | None:
    figure = figure_of(choice, result)
    if figure is None:
        return None
    return Draft(
        figure=figure,
        key=key,
        question=told.question if told.title.text and key != LEAD else "",
        title=told.title.spans or (Span(told.question),),
        caption=_caption(choice, result, figure),
        experiment=choice.experiment,
    )


def _caption(choice: FigureChoice, result: StudyResult, figure: Figure | None) -> str:
    """Return the meaning of the marks of a figure, in short sentences."""
    experiment = next((one for one in result.experiments if one.name == choice.experiment), None)
    if choice.kind == "claims" and choice.question != "printed":
        return "A square for each claim. Hover for its text and value."
    if choice.kind == "predicted":
        return "Dashed: predicted. With 95% intervals."
    if experiment is None or not choice.metrics:
        return ""
    dashed = (
        "Dashed: theory."
        if isinstance(figure, Curve)
        and len(figure.lines) > 1
        and any(line.is_dashed for line in figure.lines)
        else ""
    )
    held = _held_words(choice, experiment) if isinstance(figure, Curve) else ""
    return " ".join(filter(None, [held, _points_words(experiment, choice.metrics), dashed]))


def _held_words(choice: FigureChoice, experiment: ExperimentResult) -> str:
    """Return at which levels of the factors that it does not show a curve is."""
    held = where_of(choice, experiment)
    levels = [f"{name} = {format_level(level)}" for name, level in held.items()]
    return f"At {join_words(levels)}." if levels else ""


def _points_words(experiment: ExperimentResult, metrics: Sequence[str]) -> str:
    estimates = [
        point.estimates[metric]
        for point in experiment.points
        for metric in metrics[:1]
        if metric in point.estimates
    ]
    column = COLUMN_WORDS[experiment.column].capitalize()
    return f"{column}. {describe_interval(estimates)}" if estimates else ""
