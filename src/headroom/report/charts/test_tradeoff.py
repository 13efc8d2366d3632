"""The scatter plot of two responses: filled marks, and the labels next to points."""

import msgspec

from headroom.analysis.results import Factor
from headroom.report.charts.figure import Spec
from headroom.report.charts.tradeoff import _named, tradeoff_figures
from tests.support.example_results import estimate, model_experiment


def test_points_of_one_series_are_filled_by_a_channel_and_say_what_is_beside_them() -> None:
    """A mark without a fill channel is hollow, whatever its opacity."""
    numeric = [
        Factor(name=name, unit="1", is_numeric=True, levels=[1, 2]) for name in ("depth", "size")
    ]
    experiment = msgspec.structs.replace(model_experiment(), column="measure", factors=numeric)
    figure, *_ = tradeoff_figures(experiment, marks=100)
    (marks,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "point"]
    assert marks["encoding"]["fill"]["field"] == "series"
    assert "where there is room: depth and size." in figure.caption


def _axis_of(*values: float) -> Spec:
    """Return the scale across of a scatter of points with these values."""
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
    (figure,) = tradeoff_figures(experiment, marks=100)
    scale: Spec = figure.spec["layer"][-1]["encoding"]["x"]["scale"]
    return scale


def test_an_axis_near_zero_begins_there() -> None:
    """Cause: the room for the names next to the points was filled with numbers below zero."""
    assert _axis_of(1.0, 5.0)["domain"][0] == 0
    assert "domain" not in _axis_of(100.0, 105.0)
    assert _axis_of(1.0, 1000.0)["type"] == "log"


def test_names_of_close_points_do_not_overlap() -> None:
    """Cause: the names of two systems of a table, with nearly the same figures, covered each other.

    Of three points at one place, two have a name (above and below); a far one has its own.
    """
    rows = [
        {"x": x, "y": y, "place": place, "name": f"system {place}", "is_best": place == 1}
        for place, (x, y) in enumerate([(5.0, 5.0), (5.01, 5.0), (5.0, 5.01), (9.0, 1.0)])
    ]
    axes = [{"field": name, "scale": {"type": "linear"}} for name in "xy"]
    for width in (240, 520):
        named = _named(rows, *axes)
        above, below = named["above", width], named.get(("below", width), [])
        assert {1, 3} <= {*above, *below}
        assert len(above) + len(below) == 3


def test_an_experiment_without_a_common_point_has_no_scatter() -> None:
    """Cause: the places of no names were looked for, and the whole page failed."""
    points = [
        msgspec.structs.replace(point, estimates={"throughput": estimate("throughput", "1/s", 1.0)})
        for point in model_experiment().points
    ]
    experiment = msgspec.structs.replace(
        model_experiment(), column="measure", points=points, responses=["throughput", "iops"]
    )
    assert tradeoff_figures(experiment, marks=100) == []
