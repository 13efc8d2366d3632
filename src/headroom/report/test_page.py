"""The page as text: complete, escaped, small, readable without scripts."""

import base64
import gzip
import hashlib
import html
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.evidence import Fault, MissingEvidence
from headroom.analysis.results import StudyResult
from headroom.analysis.stored_form import StoredStudy, read_form
from headroom.report.extent import PAGE_BYTES_AT_MOST, WHOLE_UP_TO
from headroom.report.first_screen.opening import MOST_IN_TABLE
from headroom.report.page import embed_json, render_page
from headroom.report.tables.tables import points_table
from tests.support.example_results import (
    SHAPES,
    categorical_experiment,
    claims,
    failing_experiment,
    large_study,
    model_experiment,
    study,
)

CONTRAST_AT_LEAST = 4.5
NASTY = st.one_of(
    st.sampled_from(
        [
            "</script><script>alert(1)</script>",
            "<!--",
            "]]>",
            "<img src=x onerror=alert(1)>",
            "\"'><svg/onload=alert(1)>",
            "{{ 7 * 7 }}{% raw %}",
            "&lt;b&gt;",
            "\u2028",
        ]
    ),
    st.text(alphabet="<>&\"'/=-! {}%scriptb", min_size=1, max_size=30),
)


class _Outline(HTMLParser):
    """Collects tags, attribute names and the text of each element kind."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[dict[str, str]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes.append({name: value or "" for name, value in attrs} | {"": tag})

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


def _outline(page: str) -> _Outline:
    outline = _Outline()
    outline.feed(page)
    return outline


def _with_words(words: str) -> StudyResult:
    """Return a study with `words` wherever a user's text can stand."""
    experiment = failing_experiment()
    points = [
        msgspec.structs.replace(
            point,
            levels={**point.levels, "policy": words},
            errors=[words],
            faults=[Fault(code="reported", message=words)],
        )
        for point in experiment.points
    ]
    factors = [
        *experiment.factors,
        msgspec.structs.replace(categorical_experiment().factors[0], name="policy", levels=[words]),
    ]
    parameters = [
        msgspec.structs.replace(used, source=words, description=words)
        for used in experiment.parameters
    ]
    changed = msgspec.structs.replace(
        experiment, title=words, points=points, factors=factors, parameters=parameters
    )
    missing = MissingEvidence(code="defect", message=words)
    claim = msgspec.structs.replace(claims()[0], text=words, evidence=missing)
    return msgspec.structs.replace(
        study(changed, title=words),
        question=words,
        claims=[claim],
        environments=[{"cpu": {"model": words}}],
        command=words,
    )


@pytest.mark.parametrize("published", ["", "about 100 users"])
def test_what_was_published_has_a_column_where_something_was(published: str) -> None:
    claim = msgspec.structs.replace(claims()[0], published=published)
    page = render_page(msgspec.structs.replace(study(), claims=[claim]))
    assert (">Published</th>" in page) == bool(published)


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(NASTY)
def test_text_of_a_study_never_becomes_markup(words: str) -> None:
    """The outline of tags is the same as with harmless words, so no text made a tag."""
    page = _outline(render_page(_with_words(words)))
    harmless = _outline(render_page(_with_words("x")))
    assert page.tags == harmless.tags


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(NASTY)
def test_the_embedded_results_are_the_results(words: str) -> None:
    result = _with_words(words)
    found = data_of(render_page(result))["results"]
    assert read_form(msgspec.json.decode(found, type=StoredStudy)) == result


@given(st.recursive(st.text() | st.integers(), st.lists, max_leaves=5))
def test_embedded_json_holds_no_sign_that_ends_a_script(value: object) -> None:
    text = str(embed_json(value))
    assert not set("<>&\u2028\u2029") & set(text)
    assert msgspec.json.decode(text) == value


DATA = re.compile(
    r'<script type="application/json" id="(\w+)"( data-packed="gzip")?>(.*?)</script>'
)


def data_of(page: str) -> dict[str, bytes]:
    """Return the data of a page, unpacked where they are packed."""
    return {
        name: gzip.decompress(base64.b64decode(text)) if packed else text.encode()
        for name, packed, text in DATA.findall(page)
    }


def test_long_data_is_packed_and_short_data_can_be_read() -> None:
    small, large = render_page(SHAPES["empty"]), render_page(SHAPES["measured"])
    assert "data-packed" not in small.split("<script>")[0]
    assert 'id="results" data-packed="gzip"' in large
    stored = msgspec.json.decode(data_of(large)["results"], type=StoredStudy)
    assert read_form(stored) == SHAPES["measured"]


def _opening(page: str) -> str:
    """Return what a page shows before anything is unfolded."""
    return page.split("<body>")[1].split('id="rest"', maxsplit=1)[0]


def test_a_page_begins_with_what_does_not_hold() -> None:
    """What differs comes before what is undecided, and what holds is a number."""
    result = msgspec.structs.replace(study(model_experiment()), claims=claims())
    opening = _opening(render_page(with_answer(result)))
    listed = opening.split("What does not hold")[1]
    assert listed.index('class="differs"') < listed.index('class="undecided"')
    assert "\u2713" not in listed
    assert "1 holds</a>" in opening


def test_many_exceptions_become_a_table_that_says_how_many_are_left() -> None:
    differing = [
        msgspec.structs.replace(claims()[1], name=f"claim {number}") for number in range(30)
    ]
    result = msgspec.structs.replace(study(model_experiment()), claims=differing)
    opening = _opening(render_page(with_answer(result)))
    assert opening.count('<td><span class="chip verdict differs">') == MOST_IN_TABLE
    assert f'<a href="#claims">{30 - MOST_IN_TABLE} more that do not hold</a>' in opening


def test_a_result_without_an_answer_opens_with_its_title() -> None:
    """Results of older versions have none."""
    page = render_page(msgspec.structs.replace(study(model_experiment()), answer=None))
    assert "<h1>Web shop capacity</h1>" in page


def test_a_figure_that_fails_leaves_a_caution(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.delenv("HEADROOM_DEBUG")
    monkeypatch.setattr("headroom.report.first_screen.drafts.figure_of", broken)
    page = render_page(study(model_experiment()))
    assert "could not be drawn" in _opening(page).split("Take care")[1]
    assert "<svg" not in _opening(page)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_page_of_an_example_stays_small(shape: str) -> None:
    page = render_page(SHAPES[shape])
    assert len(page.encode()) < PAGE_BYTES_AT_MOST
    assert set(data_of(page)) <= {"pictures", "results"}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_policy_allows_exactly_the_script_of_the_page_and_no_connection(shape: str) -> None:
    page = render_page(SHAPES[shape])
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    policy = next(a["content"] for a in _outline(page).attributes if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy.split("style-src")[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_page_refers_to_nothing_outside_itself(shape: str) -> None:
    for attributes in _outline(render_page(SHAPES[shape])).attributes:
        for name in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "empty"])
def test_every_estimate_stands_in_a_table_for_readers_without_scripts(shape: str) -> None:
    result = SHAPES[shape]
    page = render_page(result)
    body = page.split("<footer>")[0]
    body = html.unescape(body)
    for experiment in result.experiments:
        table = points_table(experiment, at_most=WHOLE_UP_TO)
        texts = [cell.text for row in table.rows for cell in row]
        assert [
            text for text in texts if f">{text}<" not in body and f">{text} <" not in body
        ] == []
        shown = [cell.sort for row in table.rows for cell in row]
        for point in experiment.points:
            for metric in experiment.responses:
                if metric in point.estimates:
                    assert repr(point.estimates[metric].value) in shown
    assert "<noscript>" in page


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_have_captions_heads_have_scopes_figures_have_captions(shape: str) -> None:
    page = render_page(SHAPES[shape]).split("<footer>")[0]
    assert page.count("<table") == page.count("<caption")
    assert page.count("<figure ") == page.count("<figcaption>")
    assert not re.findall(r"<th(?! scope|ead)", page)
    assert '<html lang="en"' in page


def test_identifiers_are_unique() -> None:
    found = [a["id"] for a in _outline(render_page(SHAPES["everything"])).attributes if "id" in a]
    assert sorted(found) == sorted(set(found))


def test_failed_points_show_their_messages() -> None:
    assert "deadlock: web waits for connections" in render_page(SHAPES["failed points"])


def test_a_study_without_results_says_how_to_get_them() -> None:
    page = render_page(SHAPES["empty"])
    assert "The study has no results yet" in page
    assert "headroom run studies/web-shop" in page


@pytest.mark.deep
def test_a_page_does_not_grow_with_the_points_of_alarge_study() -> None:
    """Less than 1 MB, whether a study has two thousand points or ten."""
    sizes = [len(render_page(large_study(count)).encode()) for count in (2_000, 10_000)]
    assert max(sizes) < PAGE_BYTES_AT_MOST
    assert sizes[1] < 1.05 * sizes[0]


@pytest.mark.deep
def test_a_page_carries_its_results_while_both_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    study = large_study(WHOLE_UP_TO)
    both = render_page(study)
    assert "results" in data_of(both)
    monkeypatch.setattr("headroom.report.page.PAGE_BYTES", len(both.encode()) - 1)
    large = render_page(study)
    assert "results" not in data_of(large)
    assert "results.json beside this page holds all results" in large


def test_a_large_page_says_what_it_leaves_out_and_where_that_is() -> None:
    page = render_page(large_study(2_000))
    assert re.search(r"Drawn: [\d,]+ of 2,000 points; results.json holds all.", page)
    assert "The first 200 of 2,000 points, 1,800 more are left out; headroom export" in page
    assert re.search(r"(49|50) of 2,000 points; headroom show --point KEY prints any other.", page)
    assert "The study is larger than a page should be" in page
    assert 'id="download"' not in page


@pytest.mark.deep
@pytest.mark.parametrize("count", [100, WHOLE_UP_TO])
def test_a_small_page_leaves_nothing_out(count: int) -> None:
    """Up to a hundred points can be looked at one by one, too."""
    page = render_page(large_study(count))
    for words in ("Drawn:", "left out", "larger than a page"):
        assert words not in page.split("<script")[0]
    assert len(page.encode()) < PAGE_BYTES_AT_MOST
    assert page.count("<option value=") in {99, 100}
    assert ("prints any other" in page) == (count > 100)


def test_the_points_of_a_large_page_have_their_pictures() -> None:
    """The script finds a picture of every point that can be chosen."""
    page = render_page(large_study(2_000))
    found = msgspec.json.decode(data_of(page)["pictures"])
    chosen = re.findall(r'<option value="([^"]*)"', page)
    assert len(chosen) > 10
    shown = {key.partition("\t")[0] for key in found["pictures"]["load-histogram"]}
    first = next(a for a in _outline(page).attributes if a.get("data-figure") == "load-histogram")
    assert shown | {first["data-shown"].partition("\t")[0]} == set(chosen)
    assert set(found["remarks"]["load"]) == set(chosen)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "back"),
    [
        *[(text, back) for text in ("ink", "soft", "accent") for back in ("paper", "panel")],
        ("good", "good-back"), ("bad", "bad-back"), ("warn", "warn-back"),
        ("ink", "bad-back"), ("ink", "warn-back"), ("bad", "panel"),
    ],
)  # fmt: skip
def test_text_contrasts_with_its_ground(text: str, back: str, scheme: int) -> None:
    """Oracle: WCAG 2 asks for 4.5 to 1 for text."""
    style = render_page(SHAPES["empty"])
    pairs = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", style))
    first, second = (_luminance(pairs[name].split(", ")[scheme]) for name in (text, back))
    assert (max(first, second) + 0.05) / (min(first, second) + 0.05) >= CONTRAST_AT_LEAST
