"""What-if, headroom and sizing as presented: on the page, in the terminal, as sentences."""

import io
import re

import msgspec
import pytest
from rich.console import Console

from headroom.analysis.evidence import AppliedChange, CrossingEvidence, NoEffect
from headroom.analysis.results import (
    Bottleneck,
    Effect,
    ExperimentResult,
    Factor,
    LimitCrossing,
    PointResult,
    WhatIfResult,
)
from headroom.report.findings.headroom_left import headroom_sentences, limits_table
from headroom.report.findings.what_if import render_what_ifs, what_if_sentences, what_if_table
from headroom.report.sentences.limits import limit_sentences
from headroom.report.sentences.what_if import next_bottleneck
from headroom.report.sizes.sizing import figure_of, fixed_words, render_sizing
from headroom.report.sizes.sizing_page import render_sizing_page
from headroom.sizing.result import FORMAT, AxisUsed, Check, SizingResult, Trial
from headroom.sizing.targets import Target
from tests.support.example_verdicts import limit_evidence

EFFECT = Effect(
    metric="throughput", unit="1/s", better="high", before=222.0, after=284.9, ratio=1.2835,
    low=1.2771, high=1.2912, pairs=5, variance_reduction=4.44,
)  # fmt: skip
WEB = Bottleneck(
    limits=True, kind="station", name="web", utilization=0.99,
    evidence=limit_evidence("web", 0.99, limits=True),
    utilization_low=0.98, utilization_high=1.0,
)  # fmt: skip


def experiment_with(
    *tried: WhatIfResult, limits: list[LimitCrossing] | None = None
) -> ExperimentResult:
    users = Factor(name="users", unit="1", is_numeric=True, levels=[10, 400])
    return ExperimentResult(
        name="load",
        title="Load",
        system="model",
        column="model",
        factors=[users],
        responses=["throughput"],
        points=[
            PointResult(key="a", levels={"users": 10}, done=5, failed=0),
            PointResult(key="b", levels={"users": 400}, done=5, failed=0, what_ifs=list(tried)),
        ],
        limits=limits or [],
        what_if_replications=5 * len(tried),
    )


DOUBLED = AppliedChange(
    kind="station", name="database", aspect="servers", before=2.0, after=4, factor=2.0
)


def tried(**changes: object) -> WhatIfResult:
    found = WhatIfResult(
        change="station.database.servers=x2", applied=[DOUBLED], done=5, failed=0, effects=[EFFECT],
        bottleneck=WEB,
    )  # fmt: skip
    return msgspec.structs.replace(found, **changes)


def test_the_summary_says_the_gain_the_next_limit_and_the_cost() -> None:
    gain, cost = what_if_sentences(experiment_with(tried()))
    assert gain.startswith("At users = 400, database 2 to 4 servers: throughput rises by 28.4%")
    assert gain.endswith(next_bottleneck(WEB))
    assert cost == "What-if runs: 5 extra replications."


def test_the_summary_counts_what_was_not_doubled() -> None:
    experiment = experiment_with(tried())
    points = [msgspec.structs.replace(p, what_ifs_left_out=9) for p in experiment.points]
    sentences = what_if_sentences(msgspec.structs.replace(experiment, points=points))
    assert any(
        sentence.startswith("9 more used-up resources not doubled there") for sentence in sentences
    )


def test_nothing_is_said_where_nothing_was_tried() -> None:
    assert what_if_sentences(experiment_with()) == []
    assert what_if_table(experiment_with(), at_most=5) is None
    assert headroom_sentences(experiment_with()) == []
    assert limits_table(experiment_with()) is None


def test_a_change_without_effects_says_why() -> None:
    broken = tried(
        effects=[], bottleneck=None, why_empty=NoEffect(code="failed", message="no disk")
    )
    assert "no disk" in what_if_sentences(experiment_with(broken))[0]


def test_the_table_shows_every_change_with_the_variance_that_pairing_saved() -> None:
    table = what_if_table(experiment_with(tried(), tried()), at_most=1)
    assert table is not None
    assert len(table.rows) == 1
    assert "first 1 of 2 rows" in table.note
    cells = [f"{cell.text} {cell.remark}" for cell in table.rows[0]]
    assert any("1.284" in cell and "pairing saves 4.4 times" in cell for cell in cells)


def test_the_terminal_fits_into_80_columns() -> None:
    console = Console(file=io.StringIO(), width=80, no_color=True)
    tokens = msgspec.structs.replace(
        DOUBLED, kind="pool", name="connections", aspect="tokens", before=20.0, after=40
    )
    experiment = experiment_with(tried(), tried(applied=[tokens]))
    render_what_ifs(experiment, experiment.points[1], console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Limits then" in shown
    assert max(map(len, shown.splitlines())) <= 80


CROSSING = LimitCrossing(
    metric="response_s_p95", unit="s", at_most=0.2, at_least=None, factor="users",
    where={"disks": 2}, state="breaks", level=241.0, level_low=236.0, level_high=247.0,
    current=150.0, headroom=1.607, headroom_low=1.573, headroom_high=1.647,
    evidence=CrossingEvidence(before=200.0, after=250.0),
)  # fmt: skip


def test_the_headroom_is_said_with_its_limit_its_interval_and_the_load_of_today() -> None:
    assert headroom_sentences(experiment_with(limits=[CROSSING])) == [limit_sentences(CROSSING)]


@pytest.mark.parametrize(
    ("state", "words"),
    [("holds", "not broken"), ("broken", "broken everywhere"), ("unclear", "unclear")],
)
def test_a_limit_without_a_level_is_not_given_one(state: str, words: str) -> None:
    crossing = msgspec.structs.replace(CROSSING, state=state, level=None, headroom=None)
    experiment = experiment_with(limits=[crossing])
    table = limits_table(experiment)
    assert table is not None
    assert words in [cell.text for cell in table.rows[0]]


TARGET = Target(metric="response_s_p95", unit="s", bound=0.3, is_floor=False)


def trial(number: int, servers: int, verdict: str, value: float) -> Trial:
    check = Check(target=TARGET, value=value, low=value * 0.98, high=value * 1.02, met=None)
    made = Trial(
        number=number, levels={"servers": servers, "<b>disk</b>": "ssd"}, cost=float(servers),
        verdict="meets", how="simulation", why="excludes most", checks=[check], replications=5,
        seeds=[1, 2], bottleneck=WEB,
    )  # fmt: skip
    return msgspec.structs.replace(made, verdict=verdict)


def sizing() -> SizingResult:
    trail = [trial(1, 4, "meets", 0.25), trial(2, 3, "fails", 0.4), trial(3, 2, "undecided", 0.3)]
    return SizingResult(
        format=FORMAT,
        subject="shop",
        fixed={"users": 400},
        changed=["users"],
        targets=[TARGET],
        axes=[
            AxisUsed(name="servers", levels=[1, 2, 3, 4], weight=1.0, is_priced_by_value=True),
            AxisUsed(
                name="<b>disk</b>", levels=["hdd", "ssd"], weight=2.0, is_priced_by_value=False
            ),
        ],
        seed=1,
        is_found=True,
        best=trail[0],
        equally_cheap=[],
        undecided=[],
        nearest=None,
        trail=trail,
        configurations=8,
        screened=0,
        inferred=5,
        not_tried=0,
        replications=15,
        confidence=0.98,
        is_monotone=True,
        contradictions=[],
        refuted="",
        statement=["servers = 4 is the smallest that meets every target."],
        command="headroom size shop",
        headroom_version="0",
    )


def test_a_lopsided_interval_is_written_with_both_ends() -> None:
    """246 ms (215 to 306) fails a target of 200 ms; as 250 ±60 ms it would seem to reach it."""
    check = Check(target=TARGET, value=0.246, low=0.215, high=0.306, met=False)
    lopsided = msgspec.structs.replace(trial(1, 4, "fails", 0.246), checks=[check])
    assert figure_of(lopsided, TARGET.metric) == "250 ms (220 to 310)"
    assert "±" in figure_of(trial(1, 4, "fails", 0.246), TARGET.metric)


def test_the_page_of_a_search_is_static_and_escapes_every_name() -> None:
    page = render_sizing_page(sizing())
    assert "<script" not in page
    assert "<b>disk</b>" not in page
    assert "&lt;b&gt;disk&lt;/b&gt;" in page
    assert "servers = 4 is the smallest" in page


def test_the_map_has_one_mark_for_each_look_and_names_the_answer() -> None:
    page = render_sizing_page(sizing())
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert len(re.findall(r"<title>No\. \d", picture)) == 3
    assert picture.count(">answer</text>") == 1
    assert "NaN" not in picture


def test_the_trail_in_the_terminal_has_a_row_for_each_look() -> None:
    console = Console(file=io.StringIO(), width=80, no_color=True)
    render_sizing(sizing(), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "servers = 4 is the smallest" in shown
    assert "servers + 2 x place of <b>disk</b>" in shown
    assert len(re.findall(r"^ \d .*(meets|fails|undecided)", shown, flags=re.MULTILINE)) == 3


def test_of_many_fixed_parameters_those_are_told_that_somebody_has_changed() -> None:
    many = {f"knob_{number}": number for number in range(40)}
    result = msgspec.structs.replace(sizing(), fixed=many, changed=["knob_7"])
    assert fixed_words(result) == "knob_7 = 7, 39 others as declared"
    assert fixed_words(sizing()) == "users = 400"
