"""The first screen as the template lays it out: sentences, drawn figures, chips, cautions.

Invariant: restates `StudyResult.answer` and its words; a figure that cannot be drawn is left out
and leaves a caution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from headroom.analysis.evidence import MissingEvidence
from headroom.analysis.results import StudyResult
from headroom.report.figures.draw import HALF_PX, LEAD_PX, NARROW_PX, WHOLE_PX, draw
from headroom.report.opening.drafts import COLUMN_WORDS, LEAD, Draft, drafts_of
from headroom.report.opening.evidence import MOST_BESIDE
from headroom.report.sentences.answer.answer import (
    AnswerWords,
    Chip,
    words_or_none,
)
from headroom.report.sentences.answer.sentence import Sentence, Span
from headroom.report.sentences.claims import claim_figure, claim_reason
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun, join_words

MOST_PANELS = 8
"""Figures in addition to the decisive one."""
MOST_IN_TABLE, MOST_CAUTIONS = 6, 3
_MOST_LABELS = 3


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceptional:
    """A claim that does not hold, with what was found."""

    verdict: str
    text: str
    published: str
    ours: str
    reason: str


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
    """Claims that do not hold: a few next to the figure, more of them as a table below it."""
    has_table: bool
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
        An analysed study. Without an answer, as in results of older versions, its title replaces
        one.
    """
    problems: list[str] = []
    words = words_or_none(result)
    drafts = list(drafts_of(result, words, problems)) if words else []
    lead = next((draft for draft in drafts if draft.key == LEAD), None) or _promoted(drafts)
    others = _without_repetition(
        [one for one in drafts if lead and one.key != lead.key], lead, words
    )
    last = len(others) - 1 if len(others) % 2 else -1
    widths = [WHOLE_PX if place == last else HALF_PX for place in range(len(others))]
    answer = words.answer if words else Sentence((Span(result.title),))
    exceptions = _exceptions(result)
    has_table = len(exceptions) > MOST_BESIDE
    return Opening(
        text=answer.text,
        columns=_columns(result),
        answer=answer.spans,
        follows=[sentence.spans for sentence in words.follows] if words else [],
        lead=_panel(lead, LEAD_PX) if lead else None,
        panels=[_panel(draft, width) for draft, width in zip(others, widths, strict=True)],
        chips=words.chips if words else [],
        claims_title=f"{count_noun(len(result.claims), 'claim')} checked",
        exceptions=exceptions[:MOST_IN_TABLE],
        has_table=has_table,
        exceptions_left_out=len(exceptions[MOST_IN_TABLE:]),
        sureness=capital(f"{words.sureness}.") if words and words.sureness else "",
        cautions=[
            *problems,
            *(capital(f"{text}.") for text in (words.cautions if words else [])),
        ][:MOST_CAUTIONS],
        parameters=_parameters(result),
        machine=_machine(result),
    )


def _exceptions(result: StudyResult) -> list[Exceptional]:
    """Return the claims that differ or are undecided, without those that a quick run leaves out."""
    names = result.answer.claims.exceptions if result.answer else []
    by_name = {claim.name: claim for claim in result.claims}
    found = [by_name[name] for name in names if name in by_name]
    return [
        Exceptional(
            verdict=claim.verdict,
            text=capital(claim.text.rstrip(".")),
            published=claim.published,
            ours=claim_figure(claim),
            reason=claim_reason(claim),
        )
        for claim in found
        if not (isinstance(claim.evidence, MissingEvidence) and claim.evidence.is_quick)
    ]


def _columns(result: StudyResult) -> list[str]:
    columns = dict.fromkeys(one.column for one in result.experiments)
    return [COLUMN_WORDS[column] for column in columns]


def _promoted(drafts: Sequence[Draft]) -> Draft | None:
    """Return the first figure in the place of the decisive one, with its title in its caption."""
    if not drafts:
        return None
    first = drafts[0]
    return replace(first, caption=f"{_text(first.title)}. {first.caption}".strip())


def _without_repetition(
    drafts: Sequence[Draft], lead: Draft | None, words: AnswerWords | None
) -> list[Draft]:
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
        for draft in _those_that_fit(drafts)
    ]


def _those_that_fit(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the figures for which there is room; a half of it is for those that systems add."""
    added = [draft for draft in drafts if draft.is_section]
    others = [draft for draft in drafts if not draft.is_section]
    room = max(MOST_PANELS - len(added), MOST_PANELS // 2)
    return [*others[:room], *added][:MOST_PANELS]


def _text(title: Sequence[Span]) -> str:
    return "".join(span.text for span in title)


def _panel(draft: Draft, width: float = HALF_PX) -> Panel:
    """Return a figure drawn at a width (px), and for phones."""
    label = _text(draft.title)
    style = {LEAD_PX: "wide lead", WHOLE_PX: "wide both"}.get(width, "wide")
    wide = draw(draft.figure, width, label, style=style)
    narrow = draw(draft.figure, NARROW_PX, label, style="narrow")
    left_out = wide.left_out[:_MOST_LABELS]
    unnamed = f"Not named: {join_words(left_out)}." if left_out else ""
    return Panel(
        key=draft.key,
        question=draft.question,
        title=draft.title,
        wide=wide.svg,
        narrow=narrow.svg,
        caption=" ".join(filter(None, [draft.caption, unnamed])),
        is_whole=width == WHOLE_PX,
        experiment=draft.experiment,
    )


def _parameters(result: StudyResult) -> str:
    names = {used.name for one in result.experiments for used in one.parameters}
    return f"{count_noun(len(names), 'parameter')}, each with unit, range and source"


def _machine(result: StudyResult) -> str:
    for facts in result.environments:
        cpu = facts.get("cpu")
        if isinstance(cpu, dict) and cpu.get("model"):
            return str(cpu["model"])
    return "versions and settings"
