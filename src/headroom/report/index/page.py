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
from headroom.report.figures.draw import HALF_PX, draw_both
from headroom.report.first_screen.drafts import drafts_of
from headroom.report.first_screen.sentences.answer import AnswerWords, words_of
from headroom.report.first_screen.sentences.cautions import caution_words
from headroom.report.index.entries import Entry
from headroom.report.layout import static_page
from headroom.report.notes.measuring import moment
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A study as the template lays it out."""

    title: str
    link: str
    words: AnswerWords
    is_quick: bool
    caution: str
    date: str
    drawing: Markup


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
    return static_page(
        "index.html",
        title=title,
        counted=count_noun(len(entries), "study", "studies"),
        cards=cards,
        waiting=waiting,
    )


def _card(entry: Entry, at: Path) -> Card:
    result = entry.result
    if result is None:
        raise AssertionError(f"{entry.folder} has no results")
    words = words_of(result)
    draft = next(drafts_of(result, words, []), None)
    return Card(
        title=result.title,
        link=_link(entry.page, at),
        words=words,
        is_quick=result.is_quick,
        caution=_caution(result),
        date=moment(result.generated),
        drawing=draw_both(draft.figure, HALF_PX, draft.title.text).svg if draft else Markup(),
    )


def _caution(result: StudyResult) -> str:
    """Return the most important caution; that of a quick variant has a chip of its own."""
    found = result.answer.cautions if result.answer else []
    return next((capital(caution_words(one)) for one in found if one.code != "quick"), "")


def _link(page: Path | None, at: Path) -> str:
    """Return the address of a report, seen from the index; empty if it is missing."""
    if page is None:
        return ""
    relative = Path(os.path.relpath(page.resolve(), at.resolve().parent))
    return quote(relative.as_posix())


def _waiting(entry: Entry) -> Waiting:
    note = entry.problem or f"not run yet: headroom run {entry.folder.name}"
    return Waiting(entry.title or entry.folder.name, note)
