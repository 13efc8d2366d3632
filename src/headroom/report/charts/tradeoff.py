"""Scatter plot of two metrics of one experiment: cost against benefit."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import Scale, format_level
from headroom.report.charts.channels import ZOOM, log_axis, roomy_scale, series_channels
from headroom.report.charts.figure import (
    HEIGHT_PX,
    Figure,
    Row,
    Spec,
    describe_interval,
    drawn_words,
    estimate_row,
    thin,
)
from headroom.report.charts.sweep import scale_of
from headroom.report.dimensions import is_log_like
from headroom.report.extent import fair_shares
from headroom.report.figures.placing import Box, Placer, Words, box_of
from headroom.report.numbers import format_estimate
from headroom.report.words import (
    axis_title,
    join_words,
    label_levels,
    label_metric,
    title_metric,
)

Pair: TypeAlias = tuple[PointResult, Estimate, Estimate]
"""A point with its estimates across and up."""
_FIGURES_AT_MOST = 2
_LABELS_AT_MOST = 30
_SERIES_AT_MOST = 7
_SIDES = {"above": -10, "below": 18}
"""Base lines (px) of names, from the point down."""
_WIDTHS_PX = (240, 520)
"""Plots, on a phone and wide, in which names were placed; a wider one has more room."""
_EDGE_PX = 24
"""Room at the ends of the axes, for the names next to the points."""
_ONE_SERIES: Spec = {"color": {"field": "series", "type": "nominal", "legend": None}}
"""All points in one colour, as a channel: a fixed fill would not know light from dark."""


def tradeoff_figures(experiment: ExperimentResult, *, marks: int) -> list[Figure]:
    """Return scatters of the first response against the next ones, for measured experiments.

    Parameters
    ----------
    marks
        Marks per figure at most; what no other point beats is drawn first.
    """
    if experiment.column != "measure" or not experiment.responses:
        return []
    first, *others = experiment.responses
    figures = [_figure(experiment, first, other, marks) for other in others[:_FIGURES_AT_MOST]]
    return [figure for figure in figures if figure.rows and len(figure.rows) > 1]


def _figure(experiment: ExperimentResult, across: str, up: str, marks: int) -> Figure:
    found = [
        (point, point.estimates[across], point.estimates[up])
        for point in experiment.points
        if across in point.estimates and up in point.estimates
    ]
    x_estimates = [x for _, x, _ in found]
    y_estimates = [y for _, _, y in found]
    scales = (scale_of(x_estimates), scale_of(y_estimates))
    best = frontier(found)
    series = _series_of(experiment)
    drawn = _drawn(found, best, series, marks)
    rows = [
        {**_row(point, x, y, scales, series, is_best=point.key in best), "place": place}
        for place, (point, x, y) in enumerate(found)
        if point.key in drawn
    ]
    note = drawn_words(len(rows), len(found))
    words = (_best_words(best), _names_words(experiment, len(rows)))
    titles = (
        axis_title(across, scales[0]),
        axis_title(up, scales[1]),
    )
    return Figure(
        key=f"{experiment.name}-trade-{across}-{up}".replace(".", "-"),
        title=f"{title_metric(up)} against {label_metric(across)}",
        caption=" ".join(filter(None, [describe_interval(x_estimates), *words, note])),
        direction=_directions(x_estimates, y_estimates),
        spec=_spec(rows, titles, series),
        rows=rows,
        experiment=experiment.name,
    )


def _drawn(found: Sequence[Pair], best: set[str], series: Sequence[str], marks: int) -> set[str]:
    """Return the keys of the points to draw: unbeaten ones first, of the rest an even choice."""
    shares = fair_shares([len(best), len(found) - len(best)], marks)
    return {
        point.key
        for is_best, share in zip((True, False), shares, strict=True)
        for point, _, _ in thin(
            [pair for pair in found if (pair[0].key in best) == is_best],
            at_most=share,
            curve_of=lambda pair: pair[0].levels.get(series[0]) if series else None,
        )
    }


def _directions(across: Sequence[Estimate], up: Sequence[Estimate]) -> str:
    if not across or "none" in {across[0].better, up[0].better}:
        return ""
    sides = (
        "right" if across[0].better == "high" else "left",
        "top" if up[0].better == "high" else "bottom",
    )
    return f"{sides[1]} {sides[0]} is better"


def _series_of(experiment: ExperimentResult) -> list[str]:
    first = next((f for f in experiment.factors if not f.is_numeric), None)
    if first is None or not 1 < len(set(map(format_level, first.levels))) <= _SERIES_AT_MOST:
        return []
    return [first.name, *dict.fromkeys(format_level(level) for level in first.levels)]


def frontier(found: Sequence[Pair]) -> set[str]:
    """Return the keys of the points that no other point beats in both metrics.

    Empty if a metric has no direction; ties beat nobody.
    """
    if not found or "none" in {found[0][1].better, found[0][2].better}:
        return set()
    costs = {point.key: (_cost(x), _cost(y)) for point, x, y in found}
    unbeaten: set[tuple[float, float]] = set()
    least_up = math.inf
    for across, up in sorted(set(costs.values())):
        if up < least_up:  # All that come before cost no more across.
            unbeaten.add((across, up))
            least_up = up
    return {key for key, cost in costs.items() if cost in unbeaten}


def _cost(estimate: Estimate) -> float:
    return -estimate.value if estimate.better == "high" else estimate.value


def _best_words(best: set[str]) -> str:
    return "Filled: no other point is better in both; hollow: some point is." if best else ""


def _names_words(experiment: ExperimentResult, count: int) -> str:
    """Return the meaning of the numbers next to the points if there are several factors."""
    names = [factor.name for factor in experiment.factors]
    if count > _LABELS_AT_MOST or len(names) < 2:  # noqa: PLR2004 - one name is the series or axis
        return ""
    return f"Beside the points, where there is room: {join_words(names)}."


def _row(
    point: PointResult,
    x: Estimate,
    y: Estimate,
    scales: tuple[Scale, Scale],
    series: Sequence[str],
    *,
    is_best: bool,
) -> Row:
    return {
        "x": x.value * scales[0].factor,
        "y": y.value * scales[1].factor,
        **_bounds("x", x, scales[0]),
        **_bounds("y", y, scales[1]),
        "series": format_level(point.levels.get(series[0])) if series else "",
        "name": label_levels(list(point.levels.values())),
        "is_best": is_best,
        "shown_x": format_estimate(x),
        "shown_y": format_estimate(y),
        "n": x.count,
    }


def _bounds(axis: str, estimate: Estimate, scale: Scale) -> Row:
    """Return the range of a whisker: the bare value if there is no interval."""
    row = estimate_row(estimate, scale)
    return {f"{axis}_low": row["from"], f"{axis}_high": row["to"]}


def _spec(rows: Sequence[Row], titles: tuple[str, str], series: Sequence[str]) -> Spec:
    x = _axis(rows, "x", titles[0])
    y = _axis(rows, "y", titles[1])
    channels = series_channels(series[0], list(series[1:])) if series else _ONE_SERIES
    color = {"color": channels["color"]}
    layers = [
        *([_path(x, y, color)] if series else []),
        _whisker(x, y, along="x", color=color),
        _whisker(x, y, along="y", color=color),
        _marks(x, y, titles, channels),
    ]
    if 0 < len(rows) <= _LABELS_AT_MOST:
        named = _named(rows, x, y)
        layers += [_names(x, y, side, named) for side in _SIDES]
    return {
        "description": f"{titles[1]} against {titles[0]}",
        "width": "container",
        "height": HEIGHT_PX + 60,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": layers,
    }


def _axis(rows: Sequence[Row], field: str, title: str) -> Spec:
    ends = [row[f"{field}_{end}"] for row in rows for end in ("low", "high")]
    is_log = is_log_like(row[field] for row in rows) and min(ends) > 0
    scale: Spec = (
        {"type": "log", "nice": False, "padding": _EDGE_PX}
        if is_log
        else roomy_scale(ends, _EDGE_PX)
    )
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": log_axis() if is_log else {"tickCount": 6, "labelOverlap": True},
    }


def _path(x: Spec, y: Spec, color: Spec) -> Spec:
    """Join the points of a series in the order of the study file."""
    return {
        "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.4},
        "encoding": {"x": x, "y": y, **color, "order": {"field": "place"}},
    }


def _whisker(x: Spec, y: Spec, *, along: str, color: Spec) -> Spec:
    low, high = f"{along}_low", f"{along}_high"
    main = {**(x if along == "x" else y), "field": low}
    other = {"y": y} if along == "x" else {"x": x}
    return {
        "mark": {"type": "rule", "opacity": 0.7, "strokeWidth": 1.5},
        "encoding": {along: main, f"{along}2": {"field": high}, **other, **color},
    }


def _marks(x: Spec, y: Spec, titles: tuple[str, str], channels: Spec) -> Spec:
    fill: dict[str, Any] = {
        "fillOpacity": {"condition": {"test": "datum.is_best", "value": 1}, "value": 0}
    }
    tooltip = [
        {"field": "name", "type": "nominal", "title": "point"},
        {"field": "shown_x", "type": "nominal", "title": titles[0]},
        {"field": "shown_y", "type": "nominal", "title": titles[1]},
        {"field": "n", "type": "quantitative", "title": "n"},
    ]
    marks: Spec = {name: channels[name] for name in ("color", "shape") if name in channels}
    if "color" in channels:
        marks["fill"] = channels["color"]
    return {
        "params": [ZOOM],
        "mark": {"type": "point", "style": "series-fill", "size": 70, "strokeWidth": 1.8},
        "encoding": {"x": x, "y": y, "tooltip": tooltip, **fill, **marks},
    }


def _named(rows: Sequence[Row], x: Spec, y: Spec) -> dict[tuple[str, int], list[int]]:
    """Return the places of the points with a name on a side, by side and width (px) of the plot.

    No name covers another or a mark; unbeaten points get theirs first.
    """
    named: dict[tuple[str, int], list[int]] = {}
    order = sorted(rows, key=lambda row: not row["is_best"])
    for width in _WIDTHS_PX:
        across, up = _pixels(rows, x, width), _pixels(rows, y, HEIGHT_PX)
        dots = {row["place"]: (left, HEIGHT_PX - high)
                for row, left, high in zip(rows, across, up, strict=True)}  # fmt: skip
        placer = Placer(frame=Box(-_EDGE_PX, -_EDGE_PX, width + _EDGE_PX, HEIGHT_PX + _EDGE_PX))
        for left, top in dots.values():
            placer.take(Box(left - 4.0, top - 4.0, left + 4.0, top + 4.0))
        for row in order:
            left, top = dots[row["place"]]
            for side, offset in _SIDES.items():
                box = box_of(Words(text=row["name"]), left, top + offset, "middle")
                if placer.is_free(box):
                    placer.take(box)
                    named.setdefault((side, width), []).append(row["place"])
                    break
    return named


def _pixels(rows: Sequence[Row], axis: Spec, length_px: int) -> list[float]:
    """Return the places (px) of points along an axis."""
    values = [float(row[axis["field"]]) for row in rows]
    scale = axis["scale"]
    if scale.get("type") == "log":
        values = [math.log(value) for value in values]
    low, high = min([*values, *([0.0] if "domain" in scale else [])]), max(values)
    step = (length_px - 2 * _EDGE_PX) / ((high - low) or 1.0)
    return [_EDGE_PX + (value - low) * step for value in values]


def _names(x: Spec, y: Spec, side: str, named: Mapping[tuple[str, int], list[int]]) -> Spec:
    tests = [json.dumps(named.get((side, width), [])) for width in _WIDTHS_PX]
    has_name = f"indexof(width < {_WIDTHS_PX[1]} ? {tests[0]} : {tests[1]}, datum.place) >= 0"
    text = {"condition": {"test": has_name, "field": "name"}, "value": ""}
    # The offset is of the base line, as in the boxes that were kept free.
    mark = {"type": "text", "style": "guide-text", "dy": _SIDES[side], "clip": False}
    return {"mark": {**mark, "baseline": "alphabetic"}, "encoding": {"x": x, "y": y, "text": text}}
