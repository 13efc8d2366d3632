"""Axes, series and interactions shared by the figures."""

from collections.abc import Sequence
from typing import Any

from headroom.quantities import is_share
from headroom.report.charts.figure import HEIGHT_PX, Row, Spec
from headroom.report.charts.theme import DASHES, SYMBOLS
from headroom.report.dimensions import Dimension, is_log_like

_LOG_VALUES = 50.0
_FEW = 25.0
"""Per cent below which a chart of losses and the like does not reach up to all."""
_OF_FEW = ("_ratio", "_share")
"""Endings of shares that are hoped to be few; utilizations are seen against all."""
_EDGE_PX = 10
_NEAR_ZERO = 0.25
"""Share of the span of values within which the lowest is near zero."""
_REACH = 0.9
"""Share of such an axis that its values take."""
VALUE_TOOLTIP = [
    {"field": "point", "type": "nominal", "title": "point"},
    {"field": "shown", "type": "nominal", "title": "value"},
    {"field": "n", "type": "quantitative", "title": "n"},
]
ZOOM = {
    "name": "zoom",
    "select": {"type": "interval", "zoom": "wheel![event.shiftKey]"},
    "bind": "scales",
}
PICK = {"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}


def log_axis() -> Spec:
    """Return an axis whose grid is faint between the powers of ten."""
    power = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-9"
    opacity = {"condition": {"test": power, "value": 1}, "value": 0.3}
    return {"tickCount": 5, "labelOverlap": True, "gridOpacity": opacity}


def level_scale(levels: Sequence[float]) -> Spec:
    """Return the scale of an axis over `levels`, with room for the markers at its ends."""
    if is_log_like(levels):
        return {"type": "log", "nice": False, "padding": _EDGE_PX}
    return {"zero": False, "nice": False, "padding": _EDGE_PX}


def value_scale(rows: Sequence[Row], metric: str) -> Spec:
    """Return scale and axis of the values: from zero, unless only a log scale shows them.

    An interval that reaches zero has no place on a log scale.
    """
    values = [row["value"] for row in rows]
    if is_share(metric) and not (metric.endswith(_OF_FEW) and max(values, default=0) < _FEW):
        return {"scale": {"domain": [0, 103], "nice": False}, "axis": {"tickCount": 5}}
    ends = [row["from"] for row in rows if row.get("from") is not None]
    is_positive = bool(values) and min([*values, *ends]) > 0
    if is_positive and max(values) / min(values) >= _LOG_VALUES:
        return {"scale": {"type": "log", "nice": False, "padding": _EDGE_PX}, "axis": log_axis()}
    return {"scale": {"zero": True, "nice": True}, "axis": {"tickCount": 5}}


def roomy_scale(values: Sequence[float], room_px: int) -> Spec:
    """Return the straight scale of an axis over `values`, with room for the names at its ends.

    Near zero it begins there: room on that side would reach below zero, where no value can be.

    Examples
    --------
    >>> roomy_scale([10.0, 90.0], 24), roomy_scale([80.0, 90.0], 24)
    ({'domain': [0, 100.0], 'nice': False}, {'zero': False, 'padding': 24})
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    if 0.0 <= low <= _NEAR_ZERO * (high - low):
        return {"domain": [0, high / _REACH or 1], "nice": False}
    return {"zero": False, "padding": room_px}


def channels_of(series: Dimension | None) -> Spec:
    """Return the channels of `series`, none without one."""
    return {} if series is None else series_channels(series.title, series.labels)


def series_channels(title: str, labels: list[str]) -> Spec:
    """Return the channels that tell the series apart: colour, marker, dash, legend choice."""
    field = {"field": "series", "type": "nominal", "title": title}
    base = {**field, "sort": labels}
    scale = {"domain": labels}
    count = len(labels)
    return {
        "color": {**base, "scale": scale},
        "shape": {**base, "scale": {**scale, "range": _cycle(SYMBOLS, count)}},
        "strokeDash": {**base, "scale": {**scale, "range": _cycle(DASHES, count)}},
        "detail": field,
        "opacity": {"condition": {"param": "picked", "value": 1}, "value": 0.12},
    }


def _cycle(items: Sequence[Any], count: int) -> list[Any]:
    return [items[index % len(items)] for index in range(count)]


def only(channels: Spec, *names: str) -> Spec:
    """Return those of the named channels that exist."""
    return {name: channels[name] for name in names if name in channels}


def layered(layers: list[Spec], description: str, *, height: int = HEIGHT_PX) -> Spec:
    """Return a figure of `layers` that is as wide as its panel and draws the data ``rows``."""
    return {
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": layers,
    }
