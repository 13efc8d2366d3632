"""A response by categories: one row per level, and a dot with its interval for each series."""

from collections.abc import Sequence

from headroom.report.charts.channels import (
    PICK,
    VALUE_TOOLTIP,
    channels_of,
    layered,
    only,
    value_scale,
)
from headroom.report.charts.figure import Row, Spec
from headroom.report.charts.limit_lines import limit_layers
from headroom.report.charts.saturated import saturated_dots
from headroom.report.dimensions import Dimension

_ROW_PX = 22
_LANE_PX = 12
_LEAST_PX = 140
_AXIS_PX = 60


def dots(
    rows: Sequence[Row],
    *,
    limits: Sequence[Row],
    saturated: Sequence[Row],
    axis: Dimension,
    series: Dimension | None,
    is_side_by_side: bool,
    title: str,
    metric: str,
) -> Spec:
    """Return the specification of `rows` by the levels of `axis`.

    Parameters
    ----------
    rows
        Columns ``level``, ``value``, ``from``, ``to``, ``series`` and those of the tooltip.
    limits
        Rows of `limit_rows`.
    saturated
        Rows of `saturated_rows`, drawn at the right edge.
    series
        What colour and marker mean, None for a single series.
    is_side_by_side
        Whether a level holds one dot per series (they get lanes), or one dot in all.
    title
        Title of the value axis, with its unit.
    """
    drawn = {row["level"] for row in (*rows, *saturated)}
    labels = [label for label in axis.labels if label in drawn]
    place: Spec = {
        "y": {
            "field": "level",
            "type": "nominal",
            "title": None,
            "sort": labels,
            "axis": {"grid": True, "labelLimit": 220, "tickBand": "extent", "ticks": False},
        }
    }
    if series and is_side_by_side:
        place["yOffset"] = {"field": "series", "sort": series.labels}
    if saturated:  # two sets of data have no common order of their own
        place["y"]["scale"] = {"domain": labels}
        if "yOffset" in place and series:
            place["yOffset"]["scale"] = {"domain": series.labels}
    x = {"field": "value", "type": "quantitative", "title": title, **value_scale(rows, metric)}
    lanes = len(series.labels) if series and is_side_by_side else 1
    height = max(_LEAST_PX, len(labels) * max(_ROW_PX, _LANE_PX * lanes)) + _AXIS_PX
    channels = channels_of(series)
    layers = [_whisker(x, place, channels), _dot(x, place, channels)]
    layers += saturated_dots(saturated, place, channels)
    return layered([*layers, *limit_layers(limits, x, along="x")], title, height=height)


def _whisker(x: Spec, place: Spec, channels: Spec) -> Spec:
    bounds = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
    return {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {**place, **bounds, **only(channels, "color", "opacity")},
    }


def _dot(x: Spec, place: Spec, channels: Spec) -> Spec:
    shared = only(channels, "color", "shape", "opacity")
    return {
        "params": [PICK] if channels else [],
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {**place, "x": x, "tooltip": VALUE_TOOLTIP, **shared},
    }
