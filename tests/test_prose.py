"""The documents and the texts of the code are idiomatic, as far as a list of phrases can show.

`scripts/prose.py` finds the phrases; `python -m scripts.prose FILE` shows them while you write.
"""

from collections import Counter
from pathlib import Path

import pytest

from scripts.documents import ROOT
from scripts.prose import (
    CEILINGS,
    NOT_YET_REWRITTEN,
    Hit,
    Kind,
    allowed_hits,
    handwritten_pages,
    hits,
    markdown_passages,
    passages,
    rate,
    read_phrases,
    source_files,
    words,
)

PHRASES = read_phrases()
PAGES = handwritten_pages()


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


@pytest.fixture(scope="module")
def source_counts() -> dict[Kind, tuple[int, int]]:
    """Return hits and words of the comments and of the messages of `src`."""
    hit_counts: Counter[Kind] = Counter()
    word_counts: Counter[Kind] = Counter()
    for path in source_files():
        prose = passages(path)
        hit_counts.update(hit.kind for hit in hits(path, prose, PHRASES))
        for passage in prose:
            word_counts[passage.kind] += words([passage])
    return {kind: (hit_counts[kind], word_counts[kind]) for kind in word_counts}


@pytest.mark.parametrize("kind", ["comment", "message"])
def test_the_texts_of_the_code_do_not_get_worse(
    kind: Kind, source_counts: dict[Kind, tuple[int, int]]
) -> None:
    """A ratchet: lower the ceiling when a rewrite has brought the rate down."""
    hit_count, word_count = source_counts[kind]
    assert word_count > 10_000, "nothing was read: the lint looks in the wrong place"
    assert rate(hit_count, word_count) <= CEILINGS[kind], "see `python -m scripts.prose`"


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
