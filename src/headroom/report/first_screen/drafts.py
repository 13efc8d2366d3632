"""The figures of a first screen with their words, before they are drawn; and as files of their own.

Invariant: a figure that cannot be made is left out and reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from headroom.analysis.answer.asks.cells import shown_part
from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.defects import fallback
from headroom.quantities import format_levels
from headroom.report.figures.draw import HALF_PX, LEAD_PX
from headroom.report.figures.files import svg_file
from headroom.report.figures.inputs import Busy, Curve, Figure
from headroom.report.first_screen.courses import busy_of, time_of
from headroom.report.first_screen.curves import curve_of
from headroom.report.first_screen.evidence import errors_of, predicted_of, printed_of, squares_of
from headroom.report.first_screen.grids import cells_of, has_room, section_of
from headroom.report.first_screen.scales import where_of
from headroom.report.first_screen.sentences.answer import AnswerWords, FigureWords, words_of
from headroom.report.first_screen.sentences.sentence import Sentence
from headroom.report.first_screen.settings import bars_of, changes_of, rows_of, trade_off_of
from headroom.report.sentences.intervals import describe_interval
from headroom.report.titles import in_words_of_study
from headroom.report.words import COLUMN_WORDS

LEAD = "answer"
"""Key of the decisive figure."""
_OF_CLAIMS = {"errors": errors_of, "predicted": predicted_of}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A figure that is not drawn yet; `key` is its anchor and its name as a file."""

    figure: Figure
    key: str
    question: str = ""
    title: Sentence
    caption: str
    experiment: str
    """Whose numbers it shows; empty: the claims."""
    is_section: bool = False
    """Whether a system adds it: the answer to a question of its layer."""


@in_words_of_study
def pictures_of(result: StudyResult, *, has_dark: bool = True) -> dict[str, str]:
    """Return the figures of the first screen by the names of their files, the decisive one first.

    Parameters
    ----------
    result
        An analysed study; without an answer it has none.
    has_dark
        Whether viewers that prefer dark pages get dark colours.
    """
    return {
        f"{place:02}-{_slug(draft.key)}": svg_file(
            draft.figure,
            draft.title.text,
            LEAD_PX if draft.key == LEAD else HALF_PX,
            has_dark=has_dark,
        )
        for place, draft in enumerate(drafts_of(result, words_of(result), []), start=1)
    }


def _slug(key: str) -> str:
    """Return the name of a figure as part of a file name.

    Examples
    --------
    >>> _slug("which_part-2"), _slug("answer")
    ('which-part', 'answer')
    """
    return (key.rpartition("-")[0] or key).replace("_", "-").replace(".", "-")


def drafts_of(result: StudyResult, words: AnswerWords, problems: list[str]) -> Iterator[Draft]:
    """Yield the figures: the decisive one, one per question, sections that systems add."""
    answer = result.answer
    if answer is None:
        return
    choices: list[tuple[FigureChoice, FigureWords]] = [
        *([(answer.figure, words.figure)] if answer.figure and words.figure else []),
        *zip(answer.questions, words.questions, strict=False),
    ]
    for place, (choice, told) in enumerate(choices):
        key = LEAD if choice is answer.figure else f"{choice.question}-{place}"
        draft = fallback(
            partial(_drafted, result, choice, told, key), partial(_note, problems, told)
        )
        if draft is not None:
            yield draft
    name = answer.experiment or (answer.figure.experiment if answer.figure else "")
    for experiment in result.experiments:
        if experiment.name == name:
            yield from _courses(experiment)
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
                    title=Sentence.verbatim(section.title),
                    caption=" ".join(filter(None, [title, section.caption])),
                    experiment=experiment.name,
                    is_section=True,
                )


def _courses(experiment: ExperimentResult) -> Iterator[Draft]:
    """Yield where the time of a response goes, and how busy parts were."""
    shares = fallback(lambda: time_of(experiment), lambda _: None)
    if shares is not None:
        yield Draft(
            figure=shares[0],
            key="time-0",
            question="Where does the time go?",
            title=Sentence.verbatim(shares[1]),
            caption="Shares of the mean response time.",
            experiment=experiment.name,
        )
    busy = fallback(lambda: busy_of(experiment), lambda _: None)
    if busy is not None:
        yield Draft(
            figure=busy[0],
            key="busy-0",
            question="How busy is each part over time?",
            title=Sentence.verbatim(busy[1]),
            caption=_busy_caption(busy[0]),
            experiment=experiment.name,
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
        title=told.title if told.title.spans else Sentence.verbatim(told.question),
        caption=_caption(choice, result, figure),
        experiment=choice.experiment,
    )


def figure_of(choice: FigureChoice, result: StudyResult) -> Figure | None:
    """Return the input of a chosen figure; None if its points have too few results for a figure."""
    if choice.kind == "claims":
        return printed_of(result) if choice.question == "printed" else squares_of(result)
    if choice.kind in _OF_CLAIMS:
        return _OF_CLAIMS[choice.kind](choice, result)
    if choice.kind == "changes":
        return changes_of(choice)
    experiment = result.experiment_named(choice.experiment)
    if experiment is None or not choice.metrics:
        return None
    return _of(choice, shown_part(experiment, choice.part, choice.metrics[0]), result)


def _of(choice: FigureChoice, experiment: ExperimentResult, result: StudyResult) -> Figure | None:
    is_reproduction = result.answer is not None and result.answer.kind == "reproduction"
    published = result.claims if is_reproduction else []
    if choice.kind == "trade_off" and len(choice.metrics) > 1:
        return trade_off_of(choice, experiment)
    if choice.kind == "cells" and choice.series and (cells := cells_of(choice, experiment)):
        return cells
    if choice.kind in {"cells", "curve"}:
        return curve_of(choice, experiment, published)
    return bars_of(choice, experiment) if choice.kind == "bars" else rows_of(choice, experiment)


def _caption(choice: FigureChoice, result: StudyResult, figure: Figure) -> str:
    """Return the meaning of the marks of a figure, in short sentences."""
    experiment = result.experiment_named(choice.experiment)
    if choice.kind == "claims" and choice.question != "printed":
        return "A square for each claim. Hover for its text and value."
    if choice.kind == "predicted":
        return "Dashed: predicted. With 95% intervals."
    if experiment is None or not choice.metrics:
        return ""
    words = [_points_words(experiment, choice.metrics)]
    if isinstance(figure, Curve):
        held = {**choice.part, **where_of(choice, experiment)}
        is_dashed = len(figure.lines) > 1 and any(line.is_dashed for line in figure.lines)
        words = [f"At {format_levels(held)}." if held else "", *words]
        words.append("Dashed: theory." if is_dashed else "")
    return " ".join(filter(None, words))


def _points_words(experiment: ExperimentResult, metrics: Sequence[str]) -> str:
    estimates = [
        point.estimates[metric]
        for point in experiment.points
        for metric in metrics[:1]
        if metric in point.estimates
    ]
    column = COLUMN_WORDS[experiment.column].capitalize()
    return f"{column}. {describe_interval(estimates)}" if estimates else ""
