"""The first screen of any result fits into 24 lines and says no more than its intervals do."""

import io
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer_evidence import Changes, Comparison, Limit
from headroom.analysis.results import StudyResult
from headroom.errors import HINT
from headroom.report.first_screen.sentences.answer import answer_words
from headroom.report.first_screen.sentences.sentence import MAX_WORDS
from headroom.report.first_screen.terminal import MAX_LINES, render_first_screen
from tests.support.example_answers import (
    RATIO,
    RESPONSE,
    THROUGHPUT,
    WALL,
    crossing,
    disturbed,
    experiment,
    measured,
    now,
    of_paper,
    plain,
    point,
    programs,
    purchases,
    saturated,
    sweep,
    what_if,
    with_what_ifs,
)
from tests.support.example_results import SHAPES, large_study


def screen(result: StudyResult, *, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    folder = Path(result.folder)
    command = f"headroom show {folder} --all"
    console = Console(file=stream, width=width)
    render_first_screen(with_answer(result), console, folder=folder, command=command)
    stream.flush()
    return raw.getvalue().decode(encoding)


def check(result: StudyResult, *, width: int = 80) -> None:
    for encoding in ("utf-8", "ascii"):
        lines = screen(result, width=width, encoding=encoding).splitlines()
        assert len(lines) <= MAX_LINES, lines
        assert max(map(cell_len, lines)) <= width, lines
        assert any(line.startswith("Page") for line in lines), lines


SHOP = plain(sweep(parameters=now()), purchases())


def test_the_first_screen_of_a_shop() -> None:
    """Snapshot: the answer, its interval, the purchase, and the knee as a rule."""
    lines = screen(SHOP).splitlines()
    assert lines[2] == "The database limits from 228 users (224 to 232): add a third server."
    assert (
        lines[3] == "At 400 users, a third server gives 1.28 times the throughput (1.26 to 1.30);"
    )
    assert "40 connections gain nothing" in " ".join(lines)
    assert lines[10].startswith("── knee at 228 users (224 to 232) ──")
    assert lines[11].startswith("  250              228  ███")
    assert lines[11].endswith("database")
    assert lines[-1] == "Page    studies/web-shop/results/report.html"


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (plain(disturbed(sweep(), runs=9)), "Disturbed: other programs took up to 25% of the"),
        (
            plain(
                msgspec.structs.replace(sweep(), points=[point({"users": 1}, {}, done=5)]),
                is_complete=False,
                done=5,
                planned=10,
            ),
            "No answer yet: 5 of 10 runs are done.",
        ),
        (plain(sweep(limits_from=None, knee=False)), "No limit found up to 400 users: the busiest"),
        (
            plain(experiment([*sweep().points[:2], saturated({"users": 500})])),
            "Saturated from 500 users on: the database is offered 1.2 times what it can do.",
        ),
        (
            plain(msgspec.structs.replace(sweep(), limits=[crossing("breaks")])),
            "Mean response time passes 200 ms at 264 users (260 to 268), 1.32 times the current",
        ),
        (
            plain(programs([0.1, 0.5, 0.3], [3, 4, 5])),
            "gzip for wall time, bzip2 for compression ratio; xz is beaten on both counts.",
        ),
        (plain(programs([0.1, 0.3], [5, 3])), "gzip is 3.00 times as fast as xz (2.96 to 3.04)."),
        (
            of_paper(9, 1),
            "The study stands: 9 of 10 findings hold; 1 finding about the throughput differs.",
        ),
        (
            plain(with_what_ifs(sweep(), what_if(1.28))),
            "The database limits from 228 users (224 to 232): give it 4 servers instead of 2.",
        ),
    ],
)
def test_each_kind_of_answer_is_one_sentence(result: StudyResult, answer: str) -> None:
    assert answer in " ".join(screen(result).split())
    check(result)


def test_a_break_that_may_lie_beyond_the_last_level_has_no_upper_end() -> None:
    """The last level, 268 users, does not surely break the limit: it may do so later."""
    found = crossing("breaks")
    cut = msgspec.structs.replace(
        found.evidence, is_cut=True, kept_at=[200.0], undecided_at=[268.0]
    )
    cut_here = msgspec.structs.replace(found, evidence=cut)
    text = " ".join(screen(plain(msgspec.structs.replace(sweep(), limits=[cut_here]))).split())
    assert "at 264 users (260 or more), 1.32 times the current load; 268 is undecided." in text


def test_a_failed_run_shows_what_was_said_apart_from_what_to_do() -> None:
    said = "the command `sh -c false` ended with exit code 1; it said nothing (3 times)"
    failed = msgspec.structs.replace(
        point({"lines": 1}, {}, done=0),
        failed=3,
        estimates={},
        planned=5,
        errors=[f"{said}{HINT}run it by hand"],
    )
    text = " ".join(screen(plain(measured([failed]), failed=3, planned=5)).split())
    assert "No answer: 3 of 5 runs failed." in text
    assert f"{said.replace('the', 'The', 1)}. Run it by hand. Finished runs are kept" in text


def test_the_only_point_shows_its_responses_with_their_intervals() -> None:
    only = measured([point({"lines": 1}, {WALL: 0.1, RATIO: 3.0})])
    text = screen(plain(only))
    assert "Wall time 100 ms (99 to 101), compression ratio 3.00 (2.97 to 3.03)." in text
    assert "compression ratio  3.00 (2.97 to 3.03)" in text


def test_bars_start_at_zero_and_the_longest_is_the_largest_value() -> None:
    lines = screen(SHOP, encoding="ascii").splitlines()
    lengths = [line.count("#") for line in lines if "#" in line]
    assert lengths[0] / max(lengths) == pytest.approx(100 / 228, abs=0.05)


def test_neither_colours_nor_other_signs_reach_a_plain_console() -> None:
    text = screen(SHOP, encoding="ascii")
    assert "\x1b" not in text
    assert "?" not in text


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_result_fits(shape: str, width: int) -> None:
    check(SHAPES[shape], width=width)


@pytest.mark.deep
def test_ten_thousand_points_fit() -> None:
    result = large_study(10_000)
    check(result)
    assert "more" in screen(result)


NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=24
)
VALUES = st.floats(1e-9, 1e12)


@st.composite
def results(draw: st.DrawFn) -> StudyResult:
    """Return a study with random names, values, intervals, verdicts and changes."""
    is_measured, is_numeric = draw(st.booleans()), draw(st.booleans())
    names = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    station, factor = draw(NAMES), draw(NAMES)
    metrics = (WALL, RATIO) if is_measured else (THROUGHPUT, RESPONSE)
    points = []
    for number, name in enumerate(names):
        level: Any = number + 1 if is_numeric else name
        limits = station if draw(st.booleans()) else ""
        values = {metric: draw(VALUES) for metric in metrics}
        width = draw(st.sampled_from([None, 0.0, 0.01, 0.3]))
        made = point({factor: level}, values, limits=limits, busy=0.9, relative=width)
        if draw(st.integers(0, 9)) == 0:
            made = saturated({factor: level})
        points.append(made)
    build = measured if is_measured else experiment
    result = with_what_ifs(build(points), what_if(draw(st.floats(0.5, 2.0)), name=station))
    if draw(st.booleans()):
        result = disturbed(result, runs=draw(st.integers(1, 10)))
    text: dict[str, Any] = {"title": draw(NAMES), "folder": draw(NAMES).replace("/", "")}
    return plain(result, is_quick=draw(st.booleans()), **text)


@pytest.mark.deep
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(results(), st.sampled_from([60, 80, 120]))
def test_a_random_result_fits_and_claims_no_more_than_its_intervals(
    result: StudyResult, width: int
) -> None:
    check(result, width=width)
    answer = with_answer(result).answer
    assert answer is not None
    for statement in (answer.statement, *answer.follows):
        if isinstance(statement, Comparison):
            assert (statement.ratio.low or 0.0) > 1.0
        if isinstance(statement, Limit | Changes) and statement.best is not None:
            gained = statement.best.gain
            assert gained is None or (gained.low or 0.0) > 1.0
        if isinstance(statement, Limit) and statement.level is not None:
            level = statement.level
            assert level.low is None or level.low <= float(level.value) <= (level.high or 0.0)


Words = Literal["sweep", "programs"]


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["sweep", "programs"]),
    values=st.lists(VALUES, min_size=3, max_size=4),
    ratio=st.floats(0.5, 3.0),
    name=st.sampled_from(["db", "web", "io ports"]),
)
def test_an_answer_about_short_names_has_at_most_twenty_words(
    kind: Words, values: list[float], ratio: float, name: str
) -> None:
    if kind == "programs":
        result = plain(programs(values, values[::-1]))
    else:
        points = [
            point({"users": 1 + number}, {THROUGHPUT: value}, limits=name if number else "")
            for number, value in enumerate(values)
        ]
        result = plain(with_what_ifs(experiment(points), what_if(ratio, name=name)))
    words = answer_words(with_answer(result))
    assert words is not None
    assert len(words.answer.text.split()) <= MAX_WORDS, words.answer.text
