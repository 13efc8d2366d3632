"""The scatter plot of two responses: filled marks, and the labels next to points."""

import msgspec

from headroom.analysis.results import Factor
from headroom.report.charts.tradeoff import tradeoff_panels
from headroom.report.figures.axes import Axis
from headroom.report.figures.draw import WHOLE_PX, draw
from headroom.report.figures.inputs import TradeOff
from tests.support.example_results import estimate, model_experiment


def test_beaten_points_are_hollow_and_the_caption_says_what_is_beside_them() -> None:
    numeric = [
        Factor(name=name, unit="1", is_numeric=True, levels=[1, 2]) for name in ("depth", "size")
    ]
    experiment = msgspec.structs.replace(model_experiment(), column="measure", factors=numeric)
    panel, *_ = tradeoff_panels(experiment, marks=100)
    (figure,) = panel.pictures.values()
    assert isinstance(figure, TradeOff)
    assert {one.is_beaten for one in figure.settings} == {True, False}
    svg = draw(figure, WHOLE_PX, "x").svg
    assert "hollow" in svg
    assert "where there is room: depth and size." in panel.caption


def _axis_of(*values: float) -> Axis:
    """Return the axis across of a scatter of points with these values."""
    points = [
        msgspec.structs.replace(
            point,
            estimates={name: estimate(name, "1/s", value) for name in ("throughput", "iops")},
        )
        for point, value in zip(model_experiment().points, values, strict=False)
    ]
    experiment = msgspec.structs.replace(
        model_experiment(), column="measure", points=points, responses=["throughput", "iops"]
    )
    (panel,) = tradeoff_panels(experiment, marks=100)
    (figure,) = panel.pictures.values()
    assert isinstance(figure, TradeOff)
    return figure.x


def test_an_axis_near_zero_begins_there() -> None:
    """Cause: the room for the names next to the points was filled with numbers below zero."""
    assert _axis_of(1.0, 5.0).low == 0.0
    assert _axis_of(100.0, 105.0).low > 0.0
    assert _axis_of(1.0, 1000.0).is_log


def test_an_experiment_without_a_common_point_has_no_scatter() -> None:
    """Cause: the places of no names were looked for, and the whole page failed."""
    points = [
        msgspec.structs.replace(point, estimates={"throughput": estimate("throughput", "1/s", 1.0)})
        for point in model_experiment().points
    ]
    experiment = msgspec.structs.replace(
        model_experiment(), column="measure", points=points, responses=["throughput", "iops"]
    )
    assert tradeoff_panels(experiment, marks=100) == []
