"""The first screen in a browser, for every shape of results; studies have the same test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headroom.report.browser import Browser, open_browser
from headroom.report.page import render_page
from headroom.report.test_page_in_browser import browser_or_skip
from tests.support.example_results import SHAPES
from tests.support.first_screen import first_screen_problems


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return one headless browser for all tests of this file."""
    browser_or_skip()
    with open_browser() as opened:
        yield opened


@pytest.mark.parametrize("shape", SHAPES)
def test_a_page_opens_with_its_answer_and_every_label_can_be_read(
    browser: Browser, tmp_path: Path, shape: str
) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_page(SHAPES[shape]), encoding="utf-8")
    found = first_screen_problems(browser, page)
    if shape == "long names":  # Longer than any line: they may end in an ellipsis.
        found = {
            screen: rest
            for screen, problems in found.items()
            if (rest := [one for one in problems if not one.startswith("short: ")])
        }
    assert found == {}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("sound", "broken", "complaint"),
    [
        ('<p class="question"', '<p style="height: 500px" class="question"', "starts: "),
        ("</main>", f'<div style="width: 3000px">{"word " * 1300}</div></main>', "words: "),
        ("</main>", '<div style="width: 3000px">x</div></main>', "px too wide"),
        ("</main>", '<svg class="figure" width="40" height="20"><text x="30" y="10">cut off'
                    "</text></svg></main>", "cut: cut off"),
        ("</main>", '<svg class="figure" width="90" height="20"><text x="3" y="15">one</text>'
                    '<text x="9" y="15">two</text></svg></main>', "over: one and two"),
        ("</main>", '<svg class="figure" width="1300" height="20"></svg></main>', "shrunk: 1"),
        ("</main>", '<p style="color:#999;background:#fff">faint</p></main>', "pale (2.8): faint"),
        ("</main>", "<script>alert(1)</script></main>", "Content Security Policy"),
    ],
    ids=["low", "wordy", "wide", "cut", "over", "shrunk", "pale", "noisy"],
)  # fmt: skip
def test_the_rules_can_be_broken(
    browser: Browser, tmp_path: Path, sound: str, broken: str, complaint: str
) -> None:
    page = tmp_path / "report.html"
    text = render_page(SHAPES["numeric sweep"])
    assert sound in text
    page.write_text(text.replace(sound, broken, 1), encoding="utf-8")
    found = first_screen_problems(browser, page)
    assert any(complaint in problem for problem in found["1280 light"]), found
