"""The page over several studies: each with its answer, a small figure, chips, date and link.

Invariant: the page holds no script and loads nothing; links lead to reports next to the studies.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from headroom.analysis.results import StudyResult
from headroom.report.figures.draw import HALF_PX, NARROW_PX, draw
from headroom.report.figures.roles import page_rules
from headroom.report.index.entries import Entry
from headroom.report.layout import environment, template_text
from headroom.report.notes.measured_when import moment
from headroom.report.opening.drafts import COLUMN_WORDS, drafts_of
from headroom.report.sentences.answer.answer import Chip, words_or_none
from headroom.report.sentences.answer.cautions import caution_words
from headroom.report.sentences.answer.sentence import Span
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A study as the template lays it out."""

    title: str
    link: str
    answer: tuple[Span, ...]
    columns: list[str]
    is_quick: bool
    chips: list[Chip]
    caution: str
    date: str
    wide: Markup
    narrow: Markup


@dataclass(frozen=True, slots=True)
class Waiting:
    """A study without results, and what to do."""

    title: str
    note: str


def render_index(entries: Sequence[Entry], *, title: str, at: Path) -> str:
    """Return the page over `entries`.

    Parameters
    ----------
    entries
        Studies, in the order of the page.
    title
        Heading, such as the name of the folder.
    at
        File that the page is written to: links are relative to it.
    """
    cards = [_card(entry, at) for entry in entries if entry.result is not None]
    waiting = [_waiting(entry) for entry in entries if entry.result is None]
    return (
        environment()
        .get_template("index.html")
        .render(
            title=title,
            counted=count_noun(len(entries), "study", "studies"),
            cards=cards,
            waiting=waiting,
            policy=_POLICY,
            style=Markup(template_text("page.css") + page_rules()),  # noqa: S704 - own files
        )
    )


def _card(entry: Entry, at: Path) -> Card:
    result = entry.result
    if result is None:
        raise AssertionError(f"{entry.folder} has no results")
    words = words_or_none(result)
    wide, narrow = _drawn(result)
    return Card(
        title=result.title,
        link=_link(entry.page, at),
        answer=words.answer.spans if words else (),
        columns=[COLUMN_WORDS[one] for one in dict.fromkeys(e.column for e in result.experiments)],
        is_quick=result.is_quick,
        chips=words.chips if words else [],
        caution=_caution(result),
        date=moment(result.generated),
        wide=wide,
        narrow=narrow,
    )


def _caution(result: StudyResult) -> str:
    """Return the most important caution; that of a quick variant has a chip of its own."""
    found = result.answer.cautions if result.answer else []
    return next((capital(caution_words(one)) for one in found if one.code != "quick"), "")


def _drawn(result: StudyResult) -> tuple[Markup, Markup]:
    """Return the decisive figure of a study at two widths; empty if it has no figure."""
    words = words_or_none(result)
    draft = next(drafts_of(result, words, []), None) if words else None
    if draft is None:
        return Markup(), Markup()
    label = "".join(span.text for span in draft.title)
    return (
        draw(draft.figure, HALF_PX, label, style="wide").svg,
        draw(draft.figure, NARROW_PX, label, style="narrow").svg,
    )


def _link(page: Path | None, at: Path) -> str:
    """Return the address of a report, seen from the index; empty if it is missing."""
    if page is None:
        return ""
    relative = Path(os.path.relpath(page.resolve(), at.resolve().parent))
    return quote(relative.as_posix())


def _waiting(entry: Entry) -> Waiting:
    note = entry.problem or f"not run yet: headroom run {entry.folder.name}"
    return Waiting(entry.title or entry.folder.name, note)
