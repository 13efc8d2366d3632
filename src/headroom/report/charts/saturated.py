"""Saturated points as marks at the top edge of a figure: their metric has no bound.

Invariant: restates `Saturation`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import PointResult
from headroom.report.charts.channels import only
from headroom.report.charts.figure import Row, Spec
from headroom.report.dimensions import Dimension, hold_label
from headroom.report.saturation import SATURATED, is_unbounded, saturation_words

_EDGE_PX = 6


def saturated_rows(
    points: Sequence[PointResult],
    metric: str,
    *,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> list[Row]:
    """Return one row for each point at which `metric` grows without bound, for `saturated_layers`.

    Parameters
    ----------
    points, metric
        The points of a figure and what it draws.
    axis, series, held
        The dimensions of the figure.
    """
    return [
        {
            "level": axis.number_of(point),
            "series": series.label_of(point) if series else "",
            "hold": hold_label(point, held),
            "shown": saturation_words(point.saturation) if point.saturation else "",
            "label": SATURATED,
        }
        for point in points
        if is_unbounded(point, metric)
    ]


def saturated_layers(rows: Sequence[Row], x: Spec, channels: Spec) -> list[Spec]:
    """Return triangles at the top edge, with the word beside the first one."""
    if not rows:
        return []
    tooltip = [{"field": "shown", "type": "nominal", "title": SATURATED}]
    marks = {
        "data": {"values": list(rows)},
        "mark": {"type": "point", "shape": "triangle-up", "size": 70, "filled": True, "opacity": 1},
        "encoding": {
            "x": x,
            "y": {"value": _EDGE_PX},
            "tooltip": tooltip,
            **only(channels, "color", "opacity"),
        },
    }
    first = min(rows, key=lambda row: float(row["level"]))
    text = {
        "data": {"values": [first]},
        "mark": {"type": "text", "style": "guide-text", "align": "right", "dx": -8},
        "encoding": {"x": x, "y": {"value": _EDGE_PX}, "text": {"field": "label"}},
    }
    return [marks, text]
