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
from headroom.report.charts.panel import Panel
from headroom.report.figures.inputs import Cell, Cells
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


def cells_of(panel: Panel) -> dict[tuple[str, str], Cell]:
    """Return the cells of a map by column and row."""
    (figure,) = panel.pictures.values()
    assert isinstance(figure, Cells)
    return {
        (column, row): cell
        for row, cells in zip(figure.rows, figure.cells, strict=True)
        for column, cell in zip(figure.columns, cells, strict=True)
        if cell is not None
    }


def test_each_point_is_a_cell_with_its_value_and_what_limits_there() -> None:
    (panel,) = heat_maps(grid(4, 3), marks=100)
    cells = cells_of(panel)
    assert len(cells) == 12
    assert (cells["2", "3"].text, cells["2", "3"].word) == ("20", "node")
    assert (cells["4", "1"].text, cells["4", "1"].word) == ("10", "disk")
    assert "limit: disk" in cells["4", "1"].hint


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


def test_a_large_map_leaves_what_limits_to_the_hints() -> None:
    (panel,) = heat_maps(grid(13, 5), marks=100)
    assert {cell.word for cell in cells_of(panel).values()} == {""}
    assert "limit: disk" in cells_of(panel)["13", "1"].hint


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
    (panel,) = heat_maps(saturated_grid(4, 3), marks=100)
    dashed = {place: cell for place, cell in cells_of(panel).items() if cell.is_unbounded}
    assert set(dashed) == {("1", "1"), ("1", "2"), ("1", "3")}
    assert {cell.text for cell in dashed.values()} == {"\N{INFINITY}"}
    assert {cell.strength for cell in dashed.values()} == {None}
    assert {cell.word for cell in dashed.values()} == {"disk", "node"}
    assert "offered 1.20 times its capacity" in dashed["1", "1"].hint
    assert "Dashed cells (\N{INFINITY}): 3 saturated points, without bound." in panel.caption


def test_saturated_cells_count_among_the_marks_of_a_map() -> None:
    assert heat_maps(saturated_grid(4, 3), marks=12)
    assert not heat_maps(saturated_grid(4, 3), marks=11)
