"""Comparisons and histories on pages and in terminals: escaped, complete, at any width."""

import html
import io

import msgspec
import pytest
from rich.console import Console

from headroom.analysis.answer_evidence import Bounded, Record, SinglePoint
from headroom.gate.result import Arm, ComparisonResult, Gate, Row, Sight, Suspicion
from headroom.gate.series import Found, HistoryResult, HistorySeries
from headroom.report.compared.history import render_history, render_history_page
from headroom.report.compared.page import render_comparison_page
from headroom.report.compared.terminal import render_comparison

WORST = "<b>\u202e'\"{x}</b>"
ROW = Row(
    arm="B", base="A", levels={"name": WORST}, metric="wall_s", unit="s", better="low", value=1.1,
    base_value=1.0, ratio=1.1, low=1.05, high=1.15, pairs=20, count=20, p_value=0.001,
    adjusted=0.001, verdict="worse",
)  # fmt: skip


def result(*rows: Row, gate: Gate | None = None) -> ComparisonResult:
    arms = [Arm(name=name, label=WORST, about={"commit": WORST}, times_s=[1.0]) for name in "AB"]
    return ComparisonResult(
        kind="revisions", title=WORST, arms=arms, rows=list(rows), same_within=0.02,
        stopped="max_time", gate=gate, left_out=[WORST] * 9, cautions=[WORST],
    )  # fmt: skip


def printed(shown: ComparisonResult, *, width: int = 80, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    render_comparison(shown, Console(file=file, width=width, no_color=True))
    file.seek(0)
    return file.read()


def test_names_are_escaped_on_the_page_and_in_the_terminal() -> None:
    page = render_comparison_page(result(ROW))
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "<script" not in page
    assert "\u202e" not in printed(result(ROW))


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_line_is_wider_than_the_terminal(width: int, encoding: str) -> None:
    shown = printed(result(ROW, ROW), width=width, encoding=encoding)
    assert max(map(len, shown.splitlines())) <= width
    assert "slower" in shown


def test_ten_thousand_rows_are_shown_in_part_and_counted() -> None:
    shown = result(*[ROW] * 10_000)
    assert "10,000" in printed(shown)
    assert len(render_comparison_page(shown)) < 1_000_000


def test_a_comparison_without_any_ratio_is_still_a_page() -> None:
    empty = Row(arm="B", base="A", metric="errors", unit="1", better="low", doubt="few_runs")
    assert "too few runs" in render_comparison_page(result(empty))
    assert "Nothing can be compared" in printed(result())


@pytest.mark.parametrize(
    ("again", "why", "said"),
    [
        (ROW, "", "confirmed by 20 new blocks"),
        (None, "lost", "Not measured again: lost."),
    ],
)
def test_the_gate_says_what_its_decision_rests_on(again: Row | None, why: str, said: str) -> None:
    gate = Gate(
        threshold=0.03, level=0.01, first_level=0.05, again_level=0.05, rows=1,
        verdict="regression", not_repeated=why,
        suspicions=[Suspicion(first=ROW, again=again, verdict="regression")],
    )  # fmt: skip
    shown = " ".join(printed(result(ROW, gate=gate), width=200).split())
    assert "1 regression: surely worse, possibly by 3% or more." in shown
    assert said in shown


def test_a_blind_gate_says_what_it_sees_and_which_runs_or_metric_would_see_more() -> None:
    wall = Sight(arm="B", metric="wall_s", detectable=0.18, is_blind=True, needed=1240)
    processor = Sight(arm="B", metric="processor_time_s", detectable=0.028)
    gate = Gate(
        threshold=0.03, level=0.01, first_level=0.05, again_level=0.02, rows=1, verdict="blind",
        sights=[wall], blind=[wall], elsewhere=[processor],
    )  # fmt: skip
    said = " ".join(printed(result(ROW, gate=gate), width=300).split())
    assert "Blind: a regression of 3% could not have been seen." in said
    assert "18% of wall time or more would have been seen; 3% needs about 1,240 blocks" in said
    assert "Processor time sees 2.8% with the same runs: --metric processor_time_s." in said
    passed = msgspec.structs.replace(gate, verdict="passed", sights=[wall, processor], blind=[])
    said = " ".join(printed(result(ROW, gate=passed), width=300).split())
    assert "It would have been seen: 2.8% of processor time or more" in said
    assert "Not judged by wall time alone, which shows 18% or more" in said


@pytest.mark.parametrize("count", [1, 2, 500])
def test_a_history_of_any_length_is_drawn(count: int) -> None:
    results = [
        Found(date=f"2027-01-01T00:00:{n:05}", commit="", value=5.0, low=None, high=None, count=1)
        for n in range(count)
    ]
    series = HistorySeries(
        experiment="", levels={"name": WORST}, metric="wall_s", unit="s", better="low",
        results=results,
    )  # fmt: skip
    history = HistoryResult(
        study="s", title=WORST, series=[series], level=0.01, series_level=0.01, fewest=10
    )
    file = io.StringIO()
    render_history(history, Console(file=file, width=80, no_color=True))
    assert "none found" in file.getvalue()
    assert "<b>" not in render_history_page(history)


def test_points_of_a_history_are_called_by_what_differs() -> None:
    found = Found(date="2027-01-01", commit="", value=5.0, low=None, high=None, count=1)
    series = [
        HistorySeries(
            experiment="", levels={"users": users, "mode": "safe"}, metric="wall_s", unit="s",
            better="low", results=[found],
        )
        for users in (1, 100)
    ]  # fmt: skip
    history = HistoryResult(
        study="s", title="s", series=series, level=0.01, series_level=0.005, fewest=11
    )
    file = io.StringIO()
    render_history(history, Console(file=file, width=80, no_color=True))
    assert "users = 100   Wall time" in file.getvalue()
    assert "mode" not in file.getvalue()


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (6.7, 6.7, "How fast? As before: Calls served 6.7 /s (6.0 to 8.0)."),
        (6.7, 7.1, "How fast? Before: Calls served 6.7 /s (6.0 to 8.0). Now: Calls served 7.1 /s"),
        (6.7, None, "Not asked any more."),
    ],
)
def test_saved_results_are_compared_by_their_answers(
    before: float, now: float | None, words: str
) -> None:
    arms = [
        Arm(
            name=name,
            label=name,
            records=[] if value is None else [_record(value)],
            titles={"throughput": "calls served"},
        )
        for name, value in (("A", before), ("B", now))
    ]
    shown = msgspec.structs.replace(result(ROW), kind="results", arms=arms)
    assert words in " ".join(printed(shown, width=200).split())
    assert words in html.unescape(render_comparison_page(shown))


def _record(value: float) -> Record:
    found = Bounded(value=value, low=6.0, high=8.0, metric="throughput", unit="1/s")
    statement = SinglePoint(values=[found])
    return Record(
        ask="value", question="How fast?", is_inferred=False, experiment="", statement=statement
    )
