"""A response over a numeric factor: lines, interval bands, and the knee."""

from collections.abc import Sequence

from headroom.report.charts.channels import (
    PICK,
    VALUE_TOOLTIP,
    ZOOM,
    channels_of,
    layered,
    level_scale,
    only,
    value_scale,
)
from headroom.report.charts.figure import Row, Spec
from headroom.report.charts.limit_lines import crossing_layers, limit_layers
from headroom.report.charts.saturated import saturated_layers
from headroom.report.dimensions import Dimension


def lines(
    rows: Sequence[Row],
    knees: Sequence[Row],
    *,
    limits: Sequence[Row],
    crossings: Sequence[Row],
    saturated: Sequence[Row],
    axis: Dimension,
    series: Dimension | None,
    title: str,
    metric: str,
) -> Spec:
    """Return the specification of `rows` over the numeric `axis`, one line per series.

    Parameters
    ----------
    rows
        Columns ``level``, ``value``, ``from``, ``to``, ``series`` and those of the tooltip;
        ``theory`` where formulas say something.
    knees
        Columns ``knee``, ``knee_low``, ``knee_high``, ``label``.
    limits, crossings
        Rows of `limit_rows` and `crossing_rows`.
    saturated
        Rows of `saturated_rows`, drawn at the top edge.
    title
        Title of the value axis, with its unit.
    """
    x = {
        "field": "level",
        "type": "quantitative",
        "title": axis.title,
        "scale": level_scale([row["level"] for row in (*rows, *saturated)]),
        "axis": {"tickCount": 6, "labelOverlap": True, "grid": False, **_whole_ticks(rows)},
    }
    y = {"field": "value", "type": "quantitative", "title": title, **value_scale(rows, metric)}
    channels = channels_of(series)
    layers = [_band(x, y, channels), _line(x, y, channels), _dots(x, y, channels)]
    if any("theory" in row for row in rows):
        layers.insert(2, _theory(x, y, channels))
    if any("printed" in row for row in rows):
        layers.append(_printed(x, y))
    guides = _knee_layers(knees, x, label_at=_free_place(rows, knees))
    guides += limit_layers(limits, y, along="y")
    return layered(
        [
            *guides,
            *layers,
            *crossing_layers(crossings, x, y, channels),
            *saturated_layers(saturated, x, channels),
        ],
        title,
    )


def _whole_ticks(rows: Sequence[Row]) -> Spec:
    """Return an axis without ticks between whole numbers, where all levels are such."""
    is_whole = all(float(row["level"]).is_integer() for row in rows)
    return {"tickMinStep": 1} if is_whole else {}


def _band(x: Spec, y: Spec, channels: Spec) -> Spec:
    bounds = {"y": {**y, "field": "from"}, "y2": {"field": "to"}}
    return {
        "mark": {"type": "area", "opacity": 0.2, "clip": True},
        "encoding": {"x": x, **bounds, **only(channels, "color")},
    }


def _line(x: Spec, y: Spec, channels: Spec) -> Spec:
    return {
        "mark": {"type": "line", "strokeWidth": 2, "clip": True},
        "encoding": {"x": x, "y": y, **only(channels, "color", "strokeDash", "opacity")},
    }


def _theory(x: Spec, y: Spec, channels: Spec) -> Spec:
    """Return the dotted line of the solver, on top of the simulated one."""
    return {
        "transform": [{"filter": "isValid(datum.theory)"}],
        "mark": {"type": "line", "style": "theory", "clip": True},
        "encoding": {"x": x, "y": {**y, "field": "theory"}, **only(channels, "detail", "opacity")},
    }


def _printed(x: Spec, y: Spec) -> Spec:
    """Return crosses at published numbers."""
    tooltip = [
        {"field": "printed", "type": "quantitative", "title": "published", "format": ".4~g"},
        {"field": "printed_in", "type": "nominal", "title": "in"},
        {"field": "shown", "type": "nominal", "title": "ours"},
    ]
    return {
        "transform": [{"filter": "isValid(datum.printed)"}],
        "mark": {
            "type": "point",
            "shape": "cross",
            "angle": 45,
            "size": 110,
            "filled": True,
            "style": "guide",
            "clip": True,
        },
        "encoding": {"x": x, "y": {**y, "field": "printed"}, "tooltip": tooltip},
    }


def _dots(x: Spec, y: Spec, channels: Spec) -> Spec:
    shared = only(channels, "color", "shape", "opacity")
    return {
        "params": [ZOOM, PICK] if channels else [ZOOM],
        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1, "clip": True},
        "encoding": {"x": x, "y": y, "tooltip": VALUE_TOOLTIP, **shared},
    }


def _free_place(rows: Sequence[Row], knees: Sequence[Row]) -> Spec:
    """Return where the label of a knee lies off the curve: below a high one, above a low one."""
    if not rows or not knees:
        return {}
    nearest = min(rows, key=lambda row: abs(float(row["level"]) - float(knees[0]["knee"])))
    is_high = 2.0 * float(nearest["value"]) > max(float(row["value"]) for row in rows)
    return (
        {"baseline": "bottom", "y": "height", "dy": -4} if is_high else {"baseline": "top", "y": 2}
    )


def _knee_layers(knees: Sequence[Row], x: Spec, *, label_at: Spec) -> list[Spec]:
    if not knees:
        return []
    data = {"values": list(knees)}
    at = {**x, "field": "knee"}
    area = {
        "data": data,
        "transform": [{"filter": "isValid(datum.knee_low) && isValid(datum.knee_high)"}],
        "mark": {"type": "rect", "style": "guide-area", "clip": True},
        "encoding": {"x": {**x, "field": "knee_low"}, "x2": {"field": "knee_high"}},
    }
    rule = {
        "data": data,
        "mark": {"type": "rule", "style": "guide", "clip": True},
        "encoding": {"x": at},
    }
    place = {"align": "left", "dx": 4, **label_at}
    text = {
        "data": data,
        "mark": {"type": "text", "style": "guide-text", "clip": True, **place},
        "encoding": {"x": at, "text": {"field": "label"}},
    }
    return [area, rule, text]
