"""The first screen as the template lays it out: sentences, drawn figures, chips, cautions.

Invariant: restates `StudyResult.answer` and its words; a figure that cannot be drawn is left out
and leaves a caution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headroom.analysis.results import StudyResult
from headroom.report.figures.draw import HALF_PX, LEAD_PX, WHOLE_PX, Drawing, draw_both
from headroom.report.first_screen.drafts import LEAD, Draft, drafts_of
from headroom.report.first_screen.evidence import MOST_BESIDE
from headroom.report.first_screen.sentences.answer import (
    AnswerWords,
    Exceptional,
    asked_words,
    words_of,
)
from headroom.report.first_screen.sentences.sentence import Sentence
from headroom.report.sentences.numbers import capital
from headroom.report.sentences.sizes import size_command
from headroom.report.words import count_noun

MOST_PANELS = 8
"""Figures in addition to the decisive one."""
ONE_ROW = 2
"""Figures less where several answers have a sentence each at the top."""
MOST_IN_TABLE, MOST_CAUTIONS = 6, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A drawn figure; its draft has its question, title and caption."""

    draft: Draft
    drawing: Drawing
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Everything that a page shows unfolded; `exceptions` and `cautions` are the first ones."""

    words: AnswerWords
    lead: Panel | None
    panels: list[Panel]
    claims_title: str
    exceptions: Sequence[Exceptional]
    """Claims that do not hold: a few next to the figure, more of them as a table below it."""
    has_table: bool
    exceptions_left_out: int
    sureness: str
    cautions: list[str]
    asked: Sequence[tuple[str, str, str]]
    """Each question with its kind and its answer."""
    ask: str
    """The command that answers what the levels leave open; empty if nothing is."""
    parameters: str
    machine: str


def opening_of(result: StudyResult) -> Opening:
    """Return the first screen of a study.

    Parameters
    ----------
    result
        An analysed study. Without an answer, as in results of older versions, its title replaces
        one.
    """
    problems: list[str] = []
    words = words_of(result)
    drafts = list(drafts_of(result, words, problems))
    lead = next((draft for draft in drafts if draft.key == LEAD), None) or _promoted(drafts)
    drawn = [one for one in drafts if lead and one.key != lead.key]
    most = MOST_PANELS - ONE_ROW * (len(result.answers) > 1)
    others = _without_repetition(_those_that_fit(drawn, most), lead, words)
    last = len(others) - 1 if len(others) % 2 else -1
    widths = [WHOLE_PX if place == last else HALF_PX for place in range(len(others))]
    cautions = [*problems, *(capital(f"{text}.") for text in words.cautions)]
    return Opening(
        words=words,
        lead=_panel(lead, LEAD_PX) if lead else None,
        panels=[_panel(draft, width) for draft, width in zip(others, widths, strict=True)],
        claims_title=f"{count_noun(len(result.claims), 'claim')} checked",
        exceptions=words.exceptions[:MOST_IN_TABLE],
        has_table=len(words.exceptions) > MOST_BESIDE,
        exceptions_left_out=len(words.exceptions[MOST_IN_TABLE:]),
        sureness=capital(f"{words.sureness}.") if words.sureness else "",
        cautions=cautions[:MOST_CAUTIONS],
        asked=asked_words(result),
        ask=size_command(result, result.folder),
        parameters=_parameters(result),
        machine=_machine(result),
    )


def _promoted(drafts: Sequence[Draft]) -> Draft | None:
    """Return the first figure in the place of the decisive one, with its title in its caption."""
    if not drafts:
        return None
    first = drafts[0]
    return replace(first, caption=f"{first.title.text}. {first.caption}".strip())


def _without_repetition(
    drafts: Sequence[Draft], lead: Draft | None, words: AnswerWords
) -> list[Draft]:
    """Return the further figures: what the top says already is not said again."""
    said = {sentence.title.text for sentence in words.follows}
    captions = {lead.caption} if lead else set()
    return [
        replace(
            draft,
            question="" if draft.title.text in said else draft.question,
            title=Sentence.verbatim(draft.question) if draft.title.text in said else draft.title,
            caption="" if draft.caption in captions else draft.caption,
        )
        for draft in drafts
    ]


def _those_that_fit(drafts: Sequence[Draft], most: int = MOST_PANELS) -> list[Draft]:
    """Return the figures for which there is room; a half of it is for those that systems add."""
    added = [draft for draft in drafts if draft.is_section]
    others = [draft for draft in drafts if not draft.is_section]
    room = max(most - len(added), most // 2)
    return [*others[:room], *added][:most]


def _panel(draft: Draft, width: float) -> Panel:
    """Return a figure drawn at a width (px), and for phones."""
    drawing = draw_both(draft.figure, width, draft.title.text)
    return Panel(draft=draft, drawing=drawing, is_whole=width == WHOLE_PX)


def _parameters(result: StudyResult) -> str:
    names = {used.name for one in result.experiments for used in one.parameters}
    return f"{count_noun(len(names), 'parameter')}, each with unit, range and source"


def _machine(result: StudyResult) -> str:
    for facts in result.environments:
        cpu = facts.get("cpu")
        if isinstance(cpu, dict) and cpu.get("model"):
            return str(cpu["model"])
    return "versions and settings"
