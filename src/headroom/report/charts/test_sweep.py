"""Responses over a factor: scales that fit, limits, published numbers, saturated points."""

import msgspec
import pytest

from headroom.analysis.results import (
    ClaimResult,
    ExperimentResult,
    Factor,
    LimitCrossing,
    PointResult,
    PrintedPoint,
    Saturation,
)
from headroom.report.charts.panel import Panel
from headroom.report.charts.sweep import sweep_panels
from headroom.report.figures.inputs import Curve, Rows
from tests.support.example_results import claims, estimate, model_experiment

METRIC = "response_s_mean"
LIMIT = LimitCrossing(
    metric="response_s_p99", unit="s", at_most=0.2, at_least=None, factor="users",
    where={"servers": 2}, state="breaks", level=97.0, level_low=95.0, level_high=99.0,
)  # fmt: skip


def curve_of(panel: Panel) -> Curve:
    """Return the only curve of a panel."""
    (figure,) = panel.pictures.values()
    assert isinstance(figure, Curve)
    return figure


def over(metric: str, *values: float, low: float = 0.9, unit: str = "s") -> Curve:
    """Return the curve of values whose intervals begin at `low` times the value."""
    points = [
        PointResult(
            key=str(place), levels={"users": place}, done=5, failed=0,
            estimates={metric: msgspec.structs.replace(
                estimate(metric, unit, value), low=low * value, high=1.1 * value)},
        )
        for place, value in enumerate(values, start=1)
    ]  # fmt: skip
    factors = [
        Factor(name="users", unit="1", is_numeric=True, levels=[p.levels["users"] for p in points])
    ]
    experiment = msgspec.structs.replace(
        model_experiment(), factors=factors, responses=[metric], points=points, knees=[]
    )
    return curve_of(sweep_panels(experiment, marks=100)[0])


def panels(*limits: LimitCrossing) -> dict[str, Panel]:
    experiment = msgspec.structs.replace(model_experiment(), limits=list(limits))
    return {panel.key: panel for panel in sweep_panels(experiment, marks=1000)}


def breaks(panel: Panel) -> set[str]:
    """Return the words of the uprights of broken limits."""
    return {" ".join(one.lines) for one in curve_of(panel).breaks if "breaks" in one.lines[0]}


def test_values_far_apart_stand_on_a_log_scale() -> None:
    assert over(METRIC, 1.0, 1000.0).y.is_log
    assert not over(METRIC, 1.0, 10.0).y.is_log


@pytest.mark.parametrize("low", [0.0, -0.1])
def test_an_interval_that_reaches_zero_stands_on_a_straight_scale(low: float) -> None:
    """Cause: only the values were looked at, and the chart was empty (its domain not-a-number)."""
    assert not over(METRIC, 1.0, 1000.0, low=low).y.is_log


def test_rare_losses_are_seen_and_utilizations_reach_up_to_all() -> None:
    """Causes: a loss of 0.3%, a tool share of 1% were drawn on a scale up to 100%."""
    assert over("class.a.lost_ratio", 0.001, 0.003, unit="1").y.high < 1.0
    assert over("tool_share", 0.005, 0.01, unit="1").y.high < 2.0
    for metric in ("class.a.lost_ratio", "tool_share"):
        assert over(metric, 0.1, 0.6, unit="1").y.high > 100.0
    assert over("station.a.utilization", 0.001, 0.003, unit="1").y.high > 100.0


def test_every_mark_says_its_point_value_interval_and_n() -> None:
    line = over(METRIC, 1.0, 2.0).lines[0]
    assert line.dots[0].hint == "users = 1\n1.00 s (0.90 to 1.10)\nn = 10"


def test_a_limit_is_a_line_at_its_value_in_the_unit_of_the_axis() -> None:
    busy = msgspec.structs.replace(
        LIMIT, metric="station.database.utilization", unit="1", at_most=0.8
    )
    panel = panels(busy)["load-station-database-utilization-users"]
    curve = curve_of(panel)
    assert curve.y.title == "database utilization (%)"
    (line,) = curve.references
    assert line.y == pytest.approx(80.0)
    assert line.label == "limit: at most 80%"
    assert "Dashed across: the limit, at most 80%; upright: where it breaks" in panel.caption


def test_an_upright_shows_where_each_curve_breaks_the_limit_with_its_interval() -> None:
    four = msgspec.structs.replace(LIMIT, where={"servers": 4}, level=180.0)
    holds = msgspec.structs.replace(LIMIT, where={"servers": 8}, state="holds", level=None)
    found = breaks(panels(LIMIT, four, holds)["load-response_s_p99-users"])
    assert "servers 2: breaks at 97 (95 to 99)" in found
    assert {words.partition(":")[0] for words in found} == {"servers 2", "servers 4"}


def test_the_limit_of_one_metric_is_not_drawn_into_the_figure_of_another() -> None:
    panel = panels(LIMIT)["load-throughput-users"]
    assert not curve_of(panel).references
    assert "limit" not in panel.caption


def test_a_limit_far_above_all_values_is_told_and_does_not_squeeze_the_curve() -> None:
    far = msgspec.structs.replace(LIMIT, at_most=5000.0, state="holds", level=None)
    panel = panels(far)["load-response_s_p99-users"]
    assert not curve_of(panel).references
    assert "so not drawn: the limit at most 5,000 s" in panel.caption


def test_no_limit_leaves_the_figure_as_it_was() -> None:
    assert "imit" not in panels()["load-response_s_p99-users"].caption


def printed(value: float, **other: str) -> ClaimResult:
    point = model_experiment().points[0]
    about = {"experiment": "load", "metric": "throughput", "source": "paper, table 1", **other}
    return msgspec.structs.replace(
        claims()[0], printed=PrintedPoint(dict(point.levels), value), **about
    )


def test_a_published_number_is_hollow_at_its_level_with_its_source() -> None:
    experiment = model_experiment()
    found = sweep_panels(experiment, marks=100, claims=[printed(42.0)])
    panel = next(one for one in found if "throughput" in one.key)
    curve = curve_of(panel)
    (mark,) = curve.marks
    ours = experiment.points[0].estimates["throughput"].value
    assert mark.y / curve.lines[0].dots[0].y == pytest.approx(42.0 / ours)
    assert mark.hint.endswith("paper, table 1")
    assert "Hollow: what was published (paper, table 1)." in panel.caption


def test_a_number_of_another_experiment_or_metric_is_not_drawn() -> None:
    for other in ({"experiment": "elsewhere"}, {"metric": "response_s_p99_9"}):
        for panel in sweep_panels(model_experiment(), marks=100, claims=[printed(42.0, **other)]):
            assert "Hollow" not in panel.caption
            assert not curve_of(panel).marks


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


def test_rows_have_arrows_in_the_lane_of_their_series() -> None:
    (panel,) = sweep_panels(shops(is_numeric=False), marks=100)
    (figure,) = panel.pictures.values()
    assert isinstance(figure, Rows)
    assert [(row.label, row.series, row.is_unbounded) for row in figure.rows] == [
        ("small", 0, False), ("", 1, False), ("large", 0, True), ("", 1, True),
    ]  # fmt: skip
    assert [name for name, _, _ in figure.key] == ["east", "west"]
    assert {row.text for row in figure.rows[2:]} == {"saturated"}
    assert "Arrows at the right edge: 2 saturated points, without bound." in panel.caption
    assert "without a result" not in panel.caption


def test_curves_have_arrows_at_the_top_edge() -> None:
    (panel,) = sweep_panels(shops(is_numeric=True), marks=100)
    assert "Arrows at the top edge: 2 saturated points, without bound." in panel.caption
    assert [one.x for one in curve_of(panel).saturated] == [2.0, 2.0]
