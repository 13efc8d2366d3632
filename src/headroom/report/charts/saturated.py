"""Marks for saturated points: at the edge of an axis, or as dashed cells of a map.

Their metric is unbounded, so they have no position among the values. Without a mark, they would
look as if they had not been run.

Invariant: restates `Saturation`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import PointResult
from headroom.quantities import format_levels
from headroom.report.charts.channels import only
from headroom.report.charts.figure import Row, Spec
from headroom.report.dimensions import Dimension, hold_label
from headroom.report.notes.saturation import SATURATED, is_unbounded, saturation_words
from headroom.report.words import count_noun

_EDGE_PX = 6
_SIZE = 70
TOOLTIP = [
    {"field": "point", "type": "nominal", "title": "point"},
    {"field": "shown", "type": "nominal", "title": SATURATED},
]


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
            "level": axis.number_of(point) if axis.is_numeric else axis.label_of(point),
            "series": series.label_of(point) if series else "",
            "hold": hold_label(point, held),
            **saturated_words(point),
            "label": SATURATED,
        }
        for point in points
        if is_unbounded(point, metric)
    ]


def saturated_words(point: PointResult) -> Row:
    """Return the columns that every mark of a saturated point carries."""
    return {
        "point": format_levels(point.levels),
        "shown": saturation_words(point.saturation) if point.saturation else "",
    }


def saturated_caption(count: int, mark: str) -> str:
    """Return the meaning of the marks of `count` saturated points; empty if there are none.

    Examples
    --------
    >>> saturated_caption(2, "Triangles at the top edge")
    'Triangles at the top edge: 2 saturated points, without bound.'
    """
    return f"{mark}: {count_noun(count, 'saturated point')}, without bound." if count else ""


def saturated_layers(rows: Sequence[Row], x: Spec, channels: Spec) -> list[Spec]:
    """Return triangles at the top edge, with the word next to the first one."""
    if not rows:
        return []
    marks = {
        "data": {"values": list(rows)},
        "mark": {
            "type": "point",
            "shape": "triangle-up",
            "size": _SIZE,
            "filled": True,
            "opacity": 1,
        },
        "encoding": {
            "x": x,
            "y": {"value": _EDGE_PX},
            "tooltip": TOOLTIP,
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


def saturated_dots(rows: Sequence[Row], place: Spec, channels: Spec) -> list[Spec]:
    """Return triangles at the right edge, each with the word next to it."""
    if not rows:
        return []
    edge = {"x": {"value": "width"}}
    marks = {
        "data": {"values": list(rows)},
        "mark": {
            "type": "point", "shape": "triangle-right", "size": _SIZE, "filled": True,
            "opacity": 1, "xOffset": -_EDGE_PX,
        },
        "encoding": {**place, **edge, "tooltip": TOOLTIP, **only(channels, "color", "opacity")},
    }  # fmt: skip
    text = {
        "data": {"values": list(rows)},
        "mark": {
            "type": "text", "style": "guide-text", "align": "right", "xOffset": -2 * _EDGE_PX - 2,
        },
        "encoding": {
            **place, **edge, "text": {"field": "label"}, **only(channels, "opacity"),
        },
    }  # fmt: skip
    return [marks, text]
