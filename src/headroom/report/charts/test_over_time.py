"""The figure of a point over time: texts, table, and no figure without data."""

import math

import msgspec
import pytest

from headroom.analysis.results import ExperimentResult, SeriesLine, TimeSeries
from headroom.report.charts.over_time import series_panel, with_series
from headroom.report.figures.inputs import Curve
from headroom.report.page import render_page
from headroom.report.tables.over_time import ROWS_AT_MOST, series_table
from tests.support.example_results import model_experiment, study

STEP_S = 1.0


def series(count: int, *, parts_left_out: int = 0) -> TimeSeries:
    """Return the series of a station and a class; the class completes nothing at first."""
    busy: list[float | None] = [round(0.5 + 0.5 * math.sin(t / 9) ** 2, 4) for t in range(count)]
    took: list[float | None] = [None, *(0.02 + 0.001 * t for t in range(1, count))]
    return TimeSeries(
        step_s=STEP_S,
        count=count,
        lines=[
            SeriesLine(
                kind="station", name="database", metric="utilization", unit="1", values=busy
            ),
            SeriesLine(
                kind="class", name="web users", metric="response_s_mean", unit="s", values=took
            ),
        ],
        parts_left_out=parts_left_out,
    )


def over_time_experiment(count: int = 200) -> ExperimentResult:
    """Return simulated points of which all but the first kept their series."""
    experiment = model_experiment()
    first, *rest = experiment.points[:3]
    told = [msgspec.structs.replace(point, series=series(count)) for point in rest]
    return msgspec.structs.replace(experiment, points=[first, *told], knees=[])


def test_each_part_and_quantity_has_its_line_in_its_unit() -> None:
    experiment = over_time_experiment(200)
    panel = series_panel(experiment, experiment.points[1:2])
    assert panel is not None
    assert [own for _, own in panel.pictures] == [
        "station database: Utilization", "class web users: Mean response time",
    ]  # fmt: skip
    busy, took = panel.pictures.values()
    assert isinstance(busy, Curve)
    assert isinstance(took, Curve)
    assert busy.y.title == "utilization (%)"
    assert took.y.title == "mean response time (ms)"
    assert busy.x.title == "time since the start (s), by 1.00 s"
    assert took.lines[0].dots[0].y == pytest.approx(20.0 + 1.0)


def test_experiments_without_series_have_neither_figure_nor_table() -> None:
    experiment = model_experiment()
    assert series_panel(experiment, experiment.points).pictures == {}
    assert series_table(experiment) is None
    assert "load-over-time" not in render_page(study(experiment))


def test_the_table_tells_what_the_figure_draws() -> None:
    table = series_table(over_time_experiment(40))
    assert table is not None
    heads = [(head.text, head.unit) for head in table.heads]
    assert heads == [
        ("Until", "s"),
        ("database utilization", "%"),
        ("web users mean response time", "ms"),
    ]
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts[0] == ["1", "50.0", ""]
    assert texts[1][0] == "2"
    assert len(texts) == 40
    assert table.note == ""


def test_the_table_says_what_it_leaves_out() -> None:
    experiment = over_time_experiment()
    point = msgspec.structs.replace(experiment.points[1], series=series(200, parts_left_out=7))
    table = series_table(msgspec.structs.replace(experiment, points=[point]))
    assert table is not None
    assert len(table.rows) == ROWS_AT_MOST
    assert table.note == (
        "50 of 200 intervals, evenly spread. 7 less busy parts are left out. "
        "headroom export --what series writes all values as CSV."
    )


@pytest.mark.parametrize("at_most", [1, 2, 5])
def test_a_large_page_keeps_the_series_of_few_points_and_of_the_first_choice(at_most: int) -> None:
    point = over_time_experiment().points[1]
    points = [msgspec.structs.replace(point, key=str(place)) for place in range(9)]
    kept = [one.key for one in with_series(points, at_most=at_most, first="4") if one.series]
    assert "4" in kept
    assert len(kept) <= at_most
    assert with_series(points, at_most=9, first="4") == points


def test_the_page_holds_figure_choices_and_table() -> None:
    page = render_page(study(over_time_experiment()))
    assert page.count('id="load-over-time"') == 1
    assert "<option>station database: Utilization</option>" in page
    assert "The first replication over time" in page


@pytest.mark.deep
@pytest.mark.parametrize(("column", "is_simulated"), [("model", True), ("measure", False)])
def test_only_a_simulation_has_simulated_time(column: str, *, is_simulated: bool) -> None:
    experiment = msgspec.structs.replace(over_time_experiment(), column=column)
    panel = series_panel(experiment, experiment.points)
    assert panel is not None
    assert ("simulated time" in panel.caption) is is_simulated
