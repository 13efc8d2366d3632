"""Maps of two factors: a cell for each point, complete or absent, readable without colour."""

from msgspec.structs import replace

from headroom.analysis.results import (
    Bottleneck,
    ExperimentResult,
    Factor,
    PointResult,
    Saturation,
)
from headroom.report.charts.heat import heat_maps
from tests.support.example_results import estimate, measured_experiment
from tests.support.example_verdicts import limit_evidence


def grid(columns: int, rows: int) -> ExperimentResult:
    """Return an experiment over nodes and disks whose throughput is ten times the smaller."""
    points = [
        PointResult(
            key=f"{nodes}-{disks}",
            levels={"nodes": nodes, "disks": disks},
            done=5,
            failed=0,
            estimates={"throughput": estimate("throughput", "1/s", 10.0 * min(nodes, disks))},
            bottleneck=Bottleneck(
                limits=True,
                kind="station",
                name="node" if nodes < disks else "disk",
                evidence=limit_evidence("node", 1.0, limits=True),
                utilization=1.0,
                utilization_low=None,
                utilization_high=None,
            ),
        )
        for nodes in range(1, columns + 1)
        for disks in range(1, rows + 1)
    ]
    factors = [
        Factor(name="nodes", unit="1", is_numeric=True, levels=list(range(1, columns + 1))),
        Factor(name="disks", unit="1", is_numeric=True, levels=list(range(1, rows + 1))),
    ]
    return ExperimentResult(
        name="balance", title="", system="model", column="model", factors=factors,
        responses=["throughput"], points=points,
    )  # fmt: skip


def test_each_point_is_a_cell_with_its_value_and_what_limits_there() -> None:
    (figure,) = heat_maps(grid(4, 3), marks=100)
    assert figure.rows is not None
    cells = {(row["across"], row["up"]): (row["label"], row["limit"]) for row in figure.rows}
    assert len(cells) == len(figure.rows) == 12
    assert cells["2", "3"] == ("20", "node")
    assert cells["4", "1"] == ("10", "disk")


def test_the_factor_with_more_levels_runs_to_the_right() -> None:
    (wide,) = heat_maps(grid(5, 3), marks=100)
    (tall,) = heat_maps(grid(3, 5), marks=100)
    assert wide.title == "Throughput by nodes and disks"
    assert tall.title == "Throughput by disks and nodes"


def test_a_map_that_would_have_holes_is_left_out() -> None:
    assert heat_maps(grid(4, 3), marks=12)
    assert not heat_maps(grid(4, 3), marks=11)


def test_one_numeric_factor_words_or_a_handful_of_cells_make_no_map() -> None:
    assert not heat_maps(grid(6, 1), marks=100)
    assert not heat_maps(grid(2, 2), marks=100)
    assert not heat_maps(measured_experiment(), marks=100)


def test_texts_of_full_cells_take_the_colour_of_the_paper() -> None:
    (figure,) = heat_maps(grid(4, 3), marks=100)
    texts = [layer for layer in figure.spec["layer"] if layer["mark"]["type"] == "text"]
    styles = {(layer["transform"][0]["filter"], layer["mark"].get("style")) for layer in texts}
    assert styles == {("datum.value > 20.0", "inside-text"), ("datum.value <= 20.0", None)}


def test_a_large_map_leaves_its_values_to_the_tooltips() -> None:
    (figure,) = heat_maps(grid(13, 5), marks=100)
    assert [layer["mark"]["type"] for layer in figure.spec["layer"]] == ["rect"]
    assert "Each cell" not in figure.caption


def test_two_rows_leave_room_for_two_lines_of_text_in_each_cell() -> None:
    """What legend and axis take comes on top of what each row needs."""
    (low,) = heat_maps(grid(4, 2), marks=100)
    (high,) = heat_maps(grid(4, 4), marks=100)
    row_px = (high.spec["height"] - low.spec["height"]) / 2
    assert row_px >= 30
    assert low.spec["height"] - 2 * row_px >= 110


def saturated_grid(columns: int, rows: int) -> ExperimentResult:
    """Return `grid` whose throughput has no bound where there is one node."""
    found = grid(columns, rows)
    without = Saturation(
        kind="station", name="node", basis="formulas", load=1.2, unbounded=["throughput"]
    )
    points = [
        replace(point, estimates={}, saturation=without) if point.levels["nodes"] == 1 else point
        for point in found.points
    ]
    return replace(found, points=points)


def test_saturated_points_are_dashed_cells_outside_of_the_scale_with_what_limits() -> None:
    (figure,) = heat_maps(saturated_grid(4, 3), marks=100)
    assert figure.rows is not None
    assert len(figure.rows) == 9
    cells = next(
        one for one in figure.spec["layer"] if one["mark"].get("style") == "unbounded-cell"
    )
    assert "color" not in cells["encoding"]
    rows = cells["data"]["values"]
    assert [(row["across"], row["up"], row["label"]) for row in rows] == [
        ("1", "1", "∞"), ("1", "2", "∞"), ("1", "3", "∞"),
    ]  # fmt: skip
    assert {row["limit"] for row in rows} == {"disk", "node"}
    assert "offered 1.20 times its capacity" in rows[0]["shown"]
    assert "Dashed cells (∞): 3 saturated points, without bound." in figure.caption
    assert cells["encoding"]["x"]["scale"]["domain"] == ["1", "2", "3", "4"]


def test_saturated_cells_count_among_the_marks_of_a_map() -> None:
    assert heat_maps(saturated_grid(4, 3), marks=12)
    assert not heat_maps(saturated_grid(4, 3), marks=11)
