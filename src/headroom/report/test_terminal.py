"""What `headroom show` prints."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headroom.errors import StudyError
from headroom.report.terminal import render_study
from headroom.report.test_example_results import SHAPES, failing_experiment, study


def _printed(
    shape: str, *, encoding: str = "utf-8", width: int = 80, point: str | None = None
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    render_study(SHAPES[shape], Console(file=stream, width=width), point=point)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("shape", SHAPES)
def test_piped_output_fits_80_columns_and_has_no_colours(shape: str) -> None:
    text = _printed(shape)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("shape", SHAPES)
def test_a_terminal_without_unicode_gets_everything_in_plain_signs(shape: str) -> None:
    """Encoding strictly proves it: one sign too many would raise."""
    assert SHAPES[shape].title in _printed(shape, encoding="ascii")


def test_the_essentials_are_there() -> None:
    text = _printed("everything")
    for words in (
        "How many users does the shop carry? (simulated)",
        "The station database limits",
        "0.154 ±0.014",
        "3 claims: 1 holds, 1 differs and 1 is undecided.",
        "deadlock: web waits for connections",
        "Report: studies/web-shop/results/report.html",
    ):
        assert words in text


def test_responses_that_do_not_fit_are_named() -> None:
    assert "Also in the report: Throughput" in _printed("numeric sweep", width=50)


def test_one_point_is_shown_in_full() -> None:
    text = _printed("numeric sweep", point="users=120,servers=2")
    for words in ("response_s_p95", "connections (pool)", "Little's law holds", "2200, 2201"):
        assert words in text


def test_an_unknown_point_is_refused_with_a_key_that_exists() -> None:
    with pytest.raises(StudyError) as caught:
        _printed("numeric sweep", point="users=7")
    assert "users=10,servers=2" in caught.value.cure


@given(st.text(alphabet="[]/boldred#link=", min_size=1, max_size=20))
def test_words_of_a_study_are_never_read_as_markup(words: str) -> None:
    """Rich would swallow ``[bold]`` or raise at ``[/]`` if titles were read as its markup."""
    console = Console(file=io.StringIO(), width=200)
    render_study(study(failing_experiment(), title=words), console)
    assert isinstance(console.file, io.StringIO)
    assert words in console.file.getvalue()
