"""The documents and the texts of the code are idiomatic, as far as a list of phrases can show.

`scripts/prose.py` finds the phrases; `python -m scripts.prose FILE` shows them while you write.
"""

from pathlib import Path

import pytest

from scripts.documents import ROOT, pages
from scripts.prose import (
    CEILINGS,
    NOT_YET_REWRITTEN,
    Hit,
    allowed_hits,
    hits,
    markdown_passages,
    passages,
    rate,
    read_phrases,
    source_files,
    words,
)

PHRASES = read_phrases()
PAGES = pages()


def listed(found: list[Hit]) -> str:
    return "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_hardly_any_phrase_that_reads_as_translated(page: Path) -> None:
    prose = passages(page)
    found = list(hits(page, prose, PHRASES))
    assert len(found) <= allowed_hits(page, words(prose)), listed(found)


def test_all_pages_together_stay_below_the_ceiling() -> None:
    rewritten = [page for page in PAGES if page.name not in NOT_YET_REWRITTEN]
    found = [hit for page in rewritten for hit in hits(page, passages(page), PHRASES)]
    word_count = sum(words(passages(page)) for page in rewritten)
    assert rate(len(found), word_count) <= CEILINGS["page"], listed(found)


def test_the_messages_of_the_code_stay_below_the_ceiling() -> None:
    found: list[Hit] = []
    word_count = 0
    for path in source_files():
        prose = [passage for passage in passages(path) if passage.kind == "message"]
        found += hits(path, prose, PHRASES)
        word_count += words(prose)
    assert word_count > 10_000, "nothing was read: the lint looks in the wrong place"
    assert rate(len(found), word_count) <= CEILINGS["message"], listed(found)


def test_a_hit_names_file_line_phrase_and_suggestion() -> None:
    wrapped = "# Title\n\nA fine line, and\nthe command carries\non.\n"
    (hit,) = hits(ROOT / "page.md", markdown_passages(wrapped), PHRASES)
    assert str(hit) == 'page.md:4: "carries on": resume / continue'


@pytest.mark.parametrize(
    "wrong",
    [
        "Nobody waits.",
        "The same command carries on.",
        "What was asked for is told.",
        "| a cell | the database is used up |",
    ],
)
def test_phrases_are_found_in_paragraphs_and_cells(wrong: str) -> None:
    assert list(hits(ROOT / "page.md", markdown_passages(wrong), PHRASES))


@pytest.mark.parametrize(
    "right",
    [
        "# What counts",
        "```\nbeside\n```",
        "The flag `--beside` is fine.",
        "No job waits, and the same command resumes.",
    ],
)
def test_headings_code_and_plain_english_are_left_alone(right: str) -> None:
    assert not list(hits(ROOT / "page.md", markdown_passages(right), PHRASES))
