"""Figures of a response over a factor: lines with bands, or dots with intervals."""

from collections.abc import Sequence
from typing import Any

from headroom.analysis.results import Estimate, ExperimentResult, Knee, PointResult
from headroom.report.charts.figure import (
    HEIGHT_PX,
    Figure,
    Row,
    Spec,
    describe_interval,
    estimate_row,
    thin,
)
from headroom.report.charts.theme import DASHES, SYMBOLS
from headroom.report.dimensions import Dimension, dimensions_of, is_log_like
from headroom.report.numbers import Scale, choose_scale, format_level, is_share
from headroom.report.words import axis_title, join_words, title_metric

_SERIES_AT_MOST = 8
_LOG_VALUES = 50.0
_TOOLTIP = [
    {"field": "point", "type": "nominal", "title": "point"},
    {"field": "shown", "type": "nominal", "title": "value (95 % interval)"},
    {"field": "n", "type": "quantitative", "title": "n"},
]


def sweep_figures(experiment: ExperimentResult) -> list[Figure]:
    """Return the figures of all responses over all factors that have more than one level."""
    dimensions = dimensions_of(experiment)
    numeric = [dimension for dimension in dimensions if dimension.is_numeric]
    figures = []
    for metric in experiment.responses:
        axes = numeric or dimensions[:1]
        figures += [_figure(experiment, metric, axis, dimensions) for axis in axes]
    return [figure for figure in figures if figure.rows]


def _figure(
    experiment: ExperimentResult, metric: str, axis: Dimension, dimensions: Sequence[Dimension]
) -> Figure:
    series, held = split_rest([other for other in dimensions if other is not axis])
    found = [
        (point, point.estimates[metric]) for point in experiment.points if metric in point.estimates
    ]
    estimates = [estimate for _, estimate in found]
    scale = scale_of(estimates)
    rows, note = thin(
        [
            _row(point, estimate, scale, axis=axis, series=series, held=held)
            for point, estimate in found
        ]
    )
    better = estimates[0].better if estimates else "none"
    title = axis_title(metric, scale, better)
    knees = _knee_rows(experiment, metric, axis, series, held)
    if axis.is_numeric:
        spec = _lines(rows, knees, axis, series, title=title, metric=metric)
    else:
        spec = _dots(rows, axis, series, title=title, metric=metric)
    return Figure(
        key=f"{experiment.name}-{metric}-{axis.name}".replace(" / ", "-").replace(".", "-"),
        title=f"{title_metric(metric)} by {axis.name}",
        caption=" ".join(filter(None, [describe_interval(estimates), _knee_words(knees), note])),
        spec=spec,
        rows=rows,
        experiment=experiment.name,
        holds=list(dict.fromkeys(row["hold"] for row in rows)) if held else [],
        hold_title=join_words([dimension.name for dimension in held]),
        is_wide=not axis.is_numeric and len(axis.labels) > _SERIES_AT_MOST,
    )


def scale_of(estimates: Sequence[Estimate]) -> Scale:
    """Return the scale of an axis that shows `estimates`."""
    if not estimates:
        return Scale(1.0, "")
    first = estimates[0]
    values = [estimate.value for estimate in estimates]
    return choose_scale(values, first.unit, metric=first.metric)


def split_rest(rest: Sequence[Dimension]) -> tuple[Dimension | None, list[Dimension]]:
    """Return the dimension that makes the series, and those that are held by a choice."""
    fitting = [dimension for dimension in rest if len(dimension.labels) <= _SERIES_AT_MOST]
    series = next(iter(fitting or rest), None)
    return series, [dimension for dimension in rest if dimension is not series]


def hold_label(point: PointResult, held: Sequence[Dimension]) -> str:
    """Return the choice of the held factors that `point` belongs to."""
    return ", ".join(f"{dimension.name} = {dimension.label_of(point)}" for dimension in held)


def _row(
    point: PointResult,
    estimate: Estimate,
    scale: Scale,
    *,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> Row:
    level = axis.number_of(point) if axis.is_numeric else axis.label_of(point)
    levels = ", ".join(f"{name} = {format_level(value)}" for name, value in point.levels.items())
    return {
        "level": level,
        "series": series.label_of(point) if series else "",
        "hold": hold_label(point, held),
        "point": levels,
        **estimate_row(estimate, scale),
    }


def _knee_rows(
    experiment: ExperimentResult,
    metric: str,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> list[Row]:
    names = {factor.name for factor in axis.factors}
    return [
        _knee_row(knee, series, held)
        for knee in experiment.knees
        if knee.found and knee.level is not None and knee.metric == metric and knee.factor in names
    ]


def _knee_row(knee: Knee, series: Dimension | None, held: Sequence[Dimension]) -> Row:
    point = PointResult(key="", levels=knee.where, done=0, failed=0)
    return {
        "knee": knee.level,
        "knee_low": knee.level_low,
        "knee_high": knee.level_high,
        "series": series.label_of(point) if series else "",
        "hold": hold_label(point, held),
        "label": f"knee {format_level(round(knee.level or 0.0, 6))}",
    }


def _knee_words(knees: Sequence[Row]) -> str:
    return "Dashed upright: the knee, with its interval shaded." if knees else ""


def _lines(
    rows: Sequence[Row],
    knees: Sequence[Row],
    axis: Dimension,
    series: Dimension | None,
    *,
    title: str,
    metric: str,
) -> Spec:
    levels = [row["level"] for row in rows]
    x = {
        "field": "level",
        "type": "quantitative",
        "title": axis.title,
        "scale": {"type": "log" if is_log_like(levels) else "linear", "zero": False, "nice": False},
        "axis": {"grid": False, "tickCount": 6, "labelOverlap": True},
    }
    y = {"field": "value", "type": "quantitative", "title": title, **_value_scale(rows, metric)}
    shared = _channels_of(series)
    band = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "area", "opacity": 0.2, "clip": True},
        "encoding": {
            "x": x,
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            **_only(shared, "color"),
        },
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 2, "clip": True},
        "encoding": {"x": x, "y": y, **_only(shared, "color", "strokeDash", "opacity")},
    }
    dots = {
        "params": _interactions(series),
        "mark": {"type": "point", "filled": True, "size": 46, "clip": True},
        "encoding": {
            "x": x,
            "y": y,
            "tooltip": _TOOLTIP,
            **_only(shared, "color", "shape", "opacity"),
        },
    }
    return _spec([*_knee_layers(knees, x), band, line, dots], title)


def _value_scale(rows: Sequence[Row], metric: str) -> Spec:
    values = [row["value"] for row in rows]
    if is_share(metric):
        return {"scale": {"domain": [0, 100], "nice": False}, "axis": {"tickCount": 5}}
    if values and min(values) > 0 and max(values) / min(values) >= _LOG_VALUES:
        return {"scale": {"type": "log", "nice": False}, "axis": {"tickCount": 5}}
    return {"scale": {"zero": True, "nice": True}, "axis": {"tickCount": 5}}


def _channels_of(series: Dimension | None) -> Spec:
    return {} if series is None else series_channels(series.title, series.labels)


def series_channels(title: str, labels: list[str]) -> Spec:
    """Return the channels that tell the series apart: colour, marker, dash, legend choice."""
    base = {"field": "series", "type": "nominal", "title": title, "sort": labels}
    scale = {"domain": labels}
    count = len(labels)
    return {
        "color": {**base, "scale": scale},
        "shape": {**base, "scale": {**scale, "range": _cycle(SYMBOLS, count)}},
        "strokeDash": {**base, "scale": {**scale, "range": _cycle(DASHES, count)}},
        "opacity": {"condition": {"param": "picked", "value": 1}, "value": 0.12},
    }


def _cycle(items: Sequence[Any], count: int) -> list[Any]:
    return [items[index % len(items)] for index in range(count)]


def _only(channels: Spec, *names: str) -> Spec:
    return {name: channels[name] for name in names if name in channels}


def _interactions(series: Dimension | None) -> list[Spec]:
    zoom = {
        "name": "zoom",
        "select": {
            "type": "interval",
            "zoom": "wheel![event.shiftKey]",
        },
        "bind": "scales",
    }
    pick = {"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}
    return [zoom] if series is None else [zoom, pick]


def _knee_layers(knees: Sequence[Row], x: Spec) -> list[Spec]:
    if not knees:
        return []
    at = {**x, "field": "knee"}
    area = {
        "data": {"values": list(knees)},
        "transform": [{"filter": "isValid(datum.knee_low) && isValid(datum.knee_high)"}],
        "mark": {"type": "rect", "style": "guide-area", "clip": True},
        "encoding": {"x": {**x, "field": "knee_low"}, "x2": {"field": "knee_high"}},
    }
    rule = {
        "data": {"values": list(knees)},
        "mark": {"type": "rule", "style": "guide", "clip": True},
        "encoding": {"x": at},
    }
    text = {
        "data": {"values": list(knees)},
        "mark": {
            "type": "text",
            "style": "guide-text",
            "align": "left",
            "baseline": "top",
            "dx": 4,
            "y": 2,
            "clip": True,
        },
        "encoding": {"x": at, "text": {"field": "label"}},
    }
    return [area, rule, text]


def _dots(
    rows: Sequence[Row], axis: Dimension, series: Dimension | None, *, title: str, metric: str
) -> Spec:
    labels = axis.labels
    y = {
        "field": "level",
        "type": "nominal",
        "title": axis.title,
        "sort": labels,
        "axis": {"grid": True, "labelLimit": 220, "tickBand": "extent"},
    }
    x = {"field": "value", "type": "quantitative", "title": title, **_value_scale(rows, metric)}
    shared = _channels_of(series)
    offset = {"yOffset": {"field": "series", "sort": series.labels}} if series else {}
    place = {"y": y, **offset}
    whisker = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {
            **place,
            "x": {**x, "field": "low"},
            "x2": {"field": "high"},
            **_only(shared, "color", "opacity"),
        },
    }
    dot = {
        "params": _interactions(series)[1:],
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {
            **place,
            "x": x,
            "tooltip": _TOOLTIP,
            **_only(shared, "color", "shape", "opacity"),
        },
    }
    lanes = max(1, len(series.labels) if series else 1)
    height = max(120, len(labels) * max(22, 12 * lanes))
    return {**_spec([whisker, dot], title), "height": height}


def _spec(layers: list[Spec], title: str) -> Spec:
    return {
        "description": title,
        "width": "container",
        "height": HEIGHT_PX,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": layers,
    }
