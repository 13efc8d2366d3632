"""Sections of layers: figures and tables with the same numbers, and what is refused."""

import msgspec
import pytest

from headroom.analysis.results import ExperimentResult, SectionLeftOut
from headroom.experiment.protocol.section import (
    MOST_CELLS,
    Matrix,
    Section,
    Span,
    StackedBars,
    Timeline,
    problem_of,
)
from headroom.report.charts.sections import section_panels, section_tables
from headroom.report.figures.inputs import Cells, Lanes, Stacks
from headroom.report.first_screen.grids import section_of
from tests.support.example_results import measured_experiment

MATRIX = Matrix(
    title="From processor to processor", rows=["0", "1"], columns=["1", "2"],
    values=[[5e-8, 2e-7], [None, 9e-8]], metric="hand_over_s", unit="s", row_title="processor",
)  # fmt: skip
TIMELINE = Timeline(
    title="Who held the lock",
    spans=[
        Span(lane="a", start_s=0.0, end_s=0.5, state="holds"),
        Span(lane="b", start_s=0.0, end_s=0.5, state="waits"),
        Span(lane="b", start_s=0.5, end_s=0.9, state="holds"),
    ],
)
BARS = StackedBars(
    title="Processor time", bars=["1 client", "8 clients"], parts=["server", "client"],
    values=[[2e-3, 1e-3], [1.5e-3, 0.0]], metric="processor_time_s", unit="s",
)  # fmt: skip


def sections_experiment() -> ExperimentResult:
    """Return an experiment with a section of each kind, and one that is left out."""
    return msgspec.structs.replace(
        measured_experiment(),
        sections=[MATRIX, TIMELINE, BARS],
        sections_left_out=[SectionLeftOut(title="x", problem="two rows have one label")],
    )


def test_a_figure_has_the_numbers_of_its_table() -> None:
    matrix, timeline, bars = (
        figure
        for panel in section_panels(sections_experiment())
        for figure in panel.pictures.values()
    )
    assert isinstance(matrix, Cells)
    shown = [cell.hint for row in matrix.cells for cell in row if cell]
    assert shown == ["0, 1: 50.0 ns", "0, 2: 200 ns", "1, 2: 90.0 ns"]
    assert isinstance(timeline, Lanes)
    assert [
        (lane.label, [timeline.states[span[2]][0] for span in lane.spans])
        for lane in timeline.lanes
    ] == [("a", ["holds"]), ("b", ["waits", "holds"])]
    assert isinstance(bars, Stacks)
    assert [[round(part, 9) for part in stack.parts] for stack in bars.stacks] == [
        [2.0, 1.0], [1.5, 0.0],  # ms
    ]  # fmt: skip
    texts = [
        [[cell.text for cell in row] for row in table.rows]
        for table in section_tables(sections_experiment())
    ]
    assert texts[0] == [["0", "50.0 ns", "200 ns"], ["1", "", "90.0 ns"]]
    assert texts[1][2] == ["b", "holds", "500 ms", "900 ms"]
    assert texts[2] == [["1 client", "2.00 ms", "1.00 ms"], ["8 clients", "1.50 ms", "0 s"]]


def test_a_timeline_may_order_its_states_as_other_sections_do() -> None:
    ordered = msgspec.structs.replace(TIMELINE, states=["waits", "sleeps"])
    assert TIMELINE.ordered_states() == ["holds", "waits"]
    lanes = section_of(ordered)
    assert isinstance(lanes, Lanes)
    assert [name for name, _, _ in lanes.states] == ["waits", "sleeps", "holds"]
    experiment = msgspec.structs.replace(measured_experiment(), sections=[ordered])
    (panel,) = section_panels(experiment)
    assert panel.pictures["", ""] == lanes


def test_no_two_states_of_a_lane_look_alike() -> None:
    spans = [Span(lane="a", start_s=at, end_s=at + 1.0, state=f"{at}") for at in range(8)]
    lanes = section_of(Timeline(title="t", spans=spans))
    assert isinstance(lanes, Lanes)
    assert len({(role, is_faint) for _, role, is_faint in lanes.states}) == 8


def test_sections_survive_json_and_back() -> None:
    experiment = sections_experiment()
    again = msgspec.json.decode(msgspec.json.encode(experiment), type=ExperimentResult)
    assert again.sections == experiment.sections


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (MATRIX, ""),
        (TIMELINE, ""),
        (BARS, ""),
        (msgspec.structs.replace(MATRIX, rows=["0", "0"]), "two rows have one label"),
        (msgspec.structs.replace(MATRIX, values=[[1.0, 2.0]]), "values are not 2 rows of 2"),
        (msgspec.structs.replace(BARS, values=[[1.0], [2.0]]), "values are not 2 bars of 2"),
        (msgspec.structs.replace(BARS, values=[[1.0, -1.0], [0.0, 0.0]]), "negative"),
        (Timeline(title="t", spans=[Span(lane="a", start_s=2.0, end_s=1.0, state="x")]), "ends"),
        (Timeline(title="t", spans=[TIMELINE.spans[0]] * (MOST_CELLS + 1)), "more than 4096"),
    ],
)
def test_a_section_that_cannot_be_drawn_says_why(section: Section, problem: str) -> None:
    assert problem in problem_of(section)
    assert bool(problem) == bool(problem_of(section))
