"""Figures: no text overlaps another or is cut, at every width, for random inputs."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headroom.report.figures.axes import MOST_TICKS, Axis, level_axis, linear_axis, log_axis
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.draw import (
    DRAWERS,
    HALF_PX,
    LEAD_PX,
    NARROW_PX,
    WHOLE_PX,
    draw,
    height_of,
)
from headroom.report.figures.files import svg_file
from headroom.report.figures.inputs import (
    Bar,
    Bars,
    Break,
    Cell,
    Cells,
    Curve,
    Dot,
    Figure,
    Lane,
    Lanes,
    Line,
    Mark,
    Reference,
    Row,
    Rows,
    Saturated,
    Setting,
    Square,
    SquareRow,
    Squares,
    Stack,
    Stacks,
    TradeOff,
)
from headroom.report.figures.placing import Box, Placer, Words, spread

if TYPE_CHECKING:
    from headroom.report.figures.roles import Role

WIDTHS = (LEAD_PX, HALF_PX, WHOLE_PX, NARROW_PX)
NAMES = st.text(alphabet="abWm é漢<&\"' ", min_size=1, max_size=40).map(lambda t: t.strip() or "x")
NUMBERS = st.floats(1e-3, 1e5, allow_nan=False)
VERDICTS = st.sampled_from(["holds", "differs", "undecided"])
VALUES = st.lists(NUMBERS, min_size=2, max_size=12)


@st.composite
def curves(choose: st.DrawFn) -> Curve:
    """Return a curve with everything that a curve can have."""
    levels = sorted(set(choose(st.lists(st.integers(1, 5_000), min_size=3, max_size=10))))
    series = choose(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4))
    roles: tuple[Role, ...] = ("data", "third", "context", "published")
    lines = tuple(
        Line(
            label=name,
            role=role,
            dots=tuple(Dot(x=float(x), y=values[k % len(values)]) for k, x in enumerate(levels)),
        )
        for (name, values), role in zip(series, roles, strict=False)
    )
    every = [dot.y for line in lines for dot in line.dots]
    first, last = float(levels[0]), float(levels[-1])
    knee = first + choose(st.floats(0.0, 1.0)) * (last - first)
    return Curve(
        x=level_axis([float(level) for level in levels], "users", is_log=False),
        y=linear_axis(every, "pages per second"),
        lines=lines,
        breaks=(
            Break(
                at=knee,
                low=max(first, 0.9 * knee),
                high=min(last, 1.1 * knee),
                lines=(f"knee: {knee:.0f} users", "(low to high)"),
            ),
        ),
        limited_from=knee,
        limited_by=choose(NAMES),
        before="nothing limits",
        references=(Reference(y=max(every), label=choose(NAMES)),),
        marks=tuple(
            Mark(x=last, y=choose(NUMBERS), lines=(choose(NAMES),), role="better")
            for _ in range(choose(st.integers(0, 3)))
        ),
        saturated=tuple(
            Saturated(x=last * times, text="1.2")
            for times in choose(st.lists(st.floats(1.0, 1.5), max_size=2))
        ),
    )


@st.composite
def row_figures(choose: st.DrawFn) -> Figure:
    """Return a figure whose marks stand in rows or cells."""
    names = choose(st.lists(NAMES, min_size=1, max_size=8))
    values = [choose(NUMBERS) for _ in names]
    axis = linear_axis(values, choose(NAMES))
    kind = choose(st.integers(0, 5))
    if kind == 0:
        bars = tuple(
            Bar(label=name, value=value, text=f"{value:.3g}", role="data", end=name)
            for name, value in zip(names, values, strict=True)
        )
        return Bars(x=axis, bars=bars, today=values[0], title="today", end_title="limits then")
    if kind == 1:
        rows = tuple(
            Row(label=name, value=value, low=value * 0.9, high=value * 1.2, text="1 ms")
            for name, value in zip(names, values, strict=True)
        )
        return Rows(x=axis, rows=rows, band=(0.0, values[0]), band_text="within 5%", centre=0.0)
    if kind == 2:
        sections = tuple(
            SquareRow(
                label=name,
                detail=name,
                notes=(("differs", choose(NAMES)),),
                squares=tuple(
                    Square(verdict=choose(VERDICTS), hint=name)
                    for _ in range(choose(st.integers(1, 40)))
                ),
            )
            for name in names
        )
        return Squares(rows=sections)
    if kind == 3:
        cells = tuple(
            tuple(Cell(text=f"{value:.3g}", word=name) for value in values) for name in names
        )
        return Cells(
            columns=tuple(names),
            rows=tuple(names),
            column_title="columns",
            row_title=choose(NAMES),
            cells=cells,
        )
    parts: tuple[tuple[str, Role, bool], ...] = (
        ("being served", "data", False),
        (choose(NAMES), "limit", True),
    )
    if kind == 4:
        lanes = tuple(Lane(label=name, spans=((0.0, 1.0, 0), (1.0, 2.0, 1))) for name in names)
        return Lanes(x=linear_axis([0.0, 2.0], "time (s)"), states=parts, lanes=lanes)
    stacks = tuple(
        Stack(label=name, parts=(value / 2, value / 2), text=f"{value:.3g}")
        for name, value in zip(names, values, strict=True)
    )
    return Stacks(x=axis, parts=parts, stacks=stacks, title="milliseconds")


@st.composite
def trade_offs(choose: st.DrawFn) -> TradeOff:
    """Return settings anywhere, some on the frontier."""
    places = choose(st.lists(st.tuples(NUMBERS, NUMBERS, NAMES), min_size=2, max_size=14))
    made = tuple(
        Setting(x=Dot(x=x, y=y), name=name, detail=("smallest", name), is_beaten=number % 2 == 1)
        for number, (x, y, name) in enumerate(places)
    )
    return TradeOff(
        x=log_axis([x for x, _, _ in places], "milliseconds"),
        y=linear_axis([y for _, y, _ in places], "ratio"),
        settings=made,
        frontier=tuple(range(0, len(made), 2)),
        better="up and to the left",
    )


def _boxes(figure: Figure, width: float) -> tuple[list[tuple[str, Box]], Box]:
    """Return the box of every text of a drawn figure, and that of the picture."""
    texts: list[tuple[str, Box]] = []

    class Watched(Canvas):
        def write(self, words, x, y, anchor="start", **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202
            if not words.text:
                return
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * words.width
            texts.append(
                (words.text, Box(left, y - 0.9 * words.px, left + words.width, y + 0.2 * words.px))
            )
            Canvas.write(self, words, x, y, anchor, **options)

    canvas = Watched(width, height_of(figure, width))
    DRAWERS[type(figure)](figure, canvas)
    return texts, Box(-0.5, -0.5, canvas.width + 0.5, canvas.height + 0.5)


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=8, deadline=None)
@given(st.one_of(curves(), row_figures(), trade_offs()))
def test_no_text_is_cut_or_overlaps_another(width: float, figure: Figure) -> None:
    texts, frame = _boxes(figure, width)
    assert texts
    assert [text for text, box in texts if not frame.holds(box)] == []
    assert [
        (first[0], second[0])
        for place, first in enumerate(texts)
        for second in texts[place + 1 :]
        if first[1].overlaps(second[1])
    ] == []


def test_the_label_of_a_lane_is_never_cut() -> None:
    label = "node 1 of a machine without a cache"
    lanes = Lanes(
        x=linear_axis([0.0, 2.0], "time (s)"),
        states=(("busy", "data", False),),
        lanes=(Lane(label=label, spans=((0.0, 2.0, 0),)), Lane(label="node 2", spans=())),
    )
    texts, _ = _boxes(lanes, NARROW_PX)
    assert " ".join(text for text, _ in texts if text in label) == label


@pytest.mark.parametrize("axis_of", [linear_axis, log_axis])
@settings(max_examples=50)
@given(values=VALUES)
@example(values=[1.0, 57693.0])
def test_an_axis_holds_its_values_and_has_few_numbers(
    axis_of: Callable[[list[float], str], Axis], values: list[float]
) -> None:
    axis = axis_of(values, "x")
    assert 1 <= len(axis.ticks) <= MOST_TICKS
    assert all(axis.low <= value <= axis.high for value in [*values, *axis.ticks])
    assert len(set(axis.texts())) == len(axis.ticks)


@settings(max_examples=50)
@given(
    wanted=st.lists(st.floats(0.0, 300.0), min_size=1, max_size=8),
    gap=st.floats(1.0, 20.0),
)
def test_spread_places_keep_their_order_and_their_gap(wanted: list[float], gap: float) -> None:
    """Oracle: places that are far apart already stay where they are."""
    places = spread(wanted, gap=gap, low=0.0, high=300.0)
    ranked = [place for _, place in sorted(zip(wanted, places, strict=True))]
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(ranked))
    assert all(-1e-6 <= place <= 300.0 + 1e-6 for place in places)
    apart = sorted(wanted)
    if all(b - a > gap for a, b in pairwise(apart)):
        assert ranked == pytest.approx(apart)


def test_a_label_prefers_the_place_that_crosses_no_line() -> None:
    placer = Placer(Box(0.0, 0.0, 200.0, 200.0))
    placer.cross([(100.0, 100.0), (200.0, 100.0)])
    placed = placer.place([Words(text="here")], (100.0, 100.0), ("right", "above"))
    assert placed is not None
    assert placed[0].y < 100.0
    assert placer.place([Words(text="too wide for it" * 9)], (100.0, 100.0)) is None


@settings(max_examples=20, deadline=None)
@given(st.one_of(curves(), row_figures(), trade_offs()), NAMES)
def test_a_file_is_well_formed_and_needs_no_variable(figure: Figure, title: str) -> None:
    """Every class that is drawn has a rule, and a program without a page knows the colours."""
    svg = svg_file(figure, title, HALF_PX)
    root = ElementTree.fromstring(svg)  # noqa: S314 - made here
    rules = svg.split("</style>")[0]
    used = {name for one in root.iter() for name in one.get("class", "").split()}
    assert {name for name in used if f".{name} " not in rules and name != "figure"} == set()
    assert "var(" not in svg
    assert "".join(title.split()) in "".join("".join(root.itertext()).split())


def test_a_knee_is_drawn_where_it_is_and_what_is_saturated_has_no_number() -> None:
    """Oracle: half way between two levels is half way between their marks."""
    dots = tuple(Dot(x=x, y=x) for x in (0.0, 100.0, 200.0))
    curve = Curve(
        x=level_axis([0.0, 100.0, 200.0], "users", is_log=False),
        y=linear_axis([0.0, 200.0], "pages"),
        lines=(Line(label="", role="data", dots=dots),),
        breaks=(Break(at=150.0, low=140.0, high=160.0, lines=("knee",)),),
        saturated=(Saturated(x=250.0, text="1.2"),),
    )
    svg = draw(curve, HALF_PX, "x").svg
    marks = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)]
    knee = re.search(r'M([\d.]+) [\d.]+V[\d.]+" class="s-limit thin"', svg)
    assert knee is not None
    assert float(knee[1]) == pytest.approx((marks[1] + marks[2]) / 2.0, abs=0.2)
    assert ">saturated</text>" in svg
    assert len(marks) == 3
