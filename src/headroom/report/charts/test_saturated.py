"""Saturated points have a mark and a note in the caption, whatever the axis is."""

from headroom.analysis.results import ExperimentResult, Factor, PointResult, Saturation
from headroom.report.charts.sweep import sweep_figures
from tests.support.example_results import estimate

METRIC = "response_s_mean"


def shops(*, is_numeric: bool) -> ExperimentResult:
    """Return two levels in two regions; the second level is saturated in both."""
    levels = [1, 2] if is_numeric else ["small", "large"]
    without = Saturation(kind="station", name="cpu", basis="formulas", load=1.2, unbounded=[METRIC])
    points = [
        PointResult(
            key=f"{level}-{region}",
            levels={"shop": level, "region": region},
            done=5,
            failed=0,
            estimates={} if is_last else {METRIC: estimate(METRIC, "s", 0.1)},
            saturation=without if is_last else None,
        )
        for level in levels
        for region in ("east", "west")
        for is_last in [level == levels[-1]]
    ]
    factors = [
        Factor(name="shop", unit="1", is_numeric=is_numeric, levels=list(levels)),
        Factor(name="region", unit="1", is_numeric=False, levels=["east", "west"]),
    ]
    return ExperimentResult(
        name="shops", title="", system="model", column="model", factors=factors,
        responses=[METRIC], points=points,
    )  # fmt: skip


def test_dots_have_triangles_at_the_right_edge_in_the_lane_of_their_series() -> None:
    (figure,) = sweep_figures(shops(is_numeric=False), marks=100)
    marks = next(
        one for one in figure.spec["layer"] if one["mark"].get("shape") == "triangle-right"
    )
    rows = marks["data"]["values"]
    assert [(row["level"], row["series"]) for row in rows] == [("large", "east"), ("large", "west")]
    assert marks["encoding"]["x"] == {"value": "width"}
    assert marks["encoding"]["y"]["scale"]["domain"] == ["small", "large"]
    assert marks["encoding"]["yOffset"]["scale"]["domain"] == ["east", "west"]
    assert "Triangles at the right edge: 2 saturated points, without bound." in figure.caption
    assert "without a result" not in figure.caption


def test_lines_have_triangles_at_the_top_edge() -> None:
    (figure,) = sweep_figures(shops(is_numeric=True), marks=100)
    assert "Triangles at the top edge: 2 saturated points, without bound." in figure.caption
    assert any(one["mark"].get("shape") == "triangle-up" for one in figure.spec["layer"])
