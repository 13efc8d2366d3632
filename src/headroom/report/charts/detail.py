"""Figures of one selected point: stations, distribution, warm-up, raw samples.

The page draws them from the embedded results. This module provides the specifications and, for each
point, the texts and scales, which a script must not invent.

Invariant: placeholders in a specification are whole strings that start with ``@``; the page
replaces them by the words of the selected point and metric.
"""

from collections.abc import Iterable
from typing import Any

from headroom.analysis.pictures import best_pictured, evenly, first_point
from headroom.analysis.results import (
    Distribution,
    Estimate,
    ExperimentResult,
    PointResult,
    Resource,
    WarmUpCut,
)
from headroom.analysis.run.distributions import is_occupancy
from headroom.analysis.verdicts.nature import is_terminating
from headroom.quantities import Scale, choose_scale, format_plain, format_quantity
from headroom.report.charts.course import course_choices, course_figures
from headroom.report.charts.figure import Figure, Row, Spec, estimate_row
from headroom.report.charts.latency_map import latency_map_figure, latency_words
from headroom.report.charts.over_time import (
    cut_layers,
    over_time_figure,
    series_words,
    time_axis,
)
from headroom.report.charts.states import state_rows, states_figure
from headroom.report.notes.remarks import page_remarks
from headroom.report.numbers import format_estimate
from headroom.report.words import axis_title, count_noun, label_point, title_metric

_HEIGHT_PX = 220
_METRIC_TITLE = "@metric"
_QUEUE_METRIC = "queue_len_mean"
_LABEL_PITCH_PX = 15


def detail_figures(experiment: ExperimentResult) -> list[Figure]:
    """Return the figures of a selected point for which any point has data."""
    points = experiment.points
    figures: list[Figure] = []
    parts = [
        resource.estimates_among(one.estimates) for one in points for resource in one.resources
    ]
    if any("utilization" in estimates for estimates in parts):
        figures.append(_utilization_figure(experiment))
    if any(_QUEUE_METRIC in estimates for estimates in parts):
        figures.append(_queue_figure(experiment))
    figures = [*course_figures(experiment), *figures]
    states = states_figure(experiment)
    figures += [states] if states else []
    if any(found.counts for point in points for found in point.distributions):
        figures += [_histogram_figure(experiment), _cumulative_figure(experiment)]
    if any(found.samples for point in points for found in point.distributions):
        figures += [_spread_figure(experiment), _order_figure(experiment)]
    if any(point.warm_up and point.warm_up.values for point in points):
        figures.append(_warm_up_figure(experiment))
    return [*figures, *filter(None, [latency_map_figure(experiment), over_time_figure(experiment)])]


def closer_points(experiment: ExperimentResult, *, at_most: int) -> list[PointResult]:
    """Return the points that can be looked at closely, in order.

    Where not all fit, those with pictures come first, evenly spread, and `first_choice` is among
    them.
    """
    done = [point for point in experiment.points if point.done]
    if len(done) <= at_most:
        return done
    first = first_choice(experiment)
    pictured = best_pictured(done)
    kept = {pictured[place].key for place in evenly(len(pictured), at_most - 1)} | {first}
    return [point for point in done if point.key in kept]


def detail_points(
    experiment: ExperimentResult, points: Iterable[PointResult]
) -> list[dict[str, Any]]:
    """Return for each of `points` that has details its label, scales, rows and remarks."""
    return [
        {
            "key": point.key,
            "label": label_point(point, experiment.factors),
            "metrics": [_metric_choice(found, point) for found in point.distributions],
            "stations": [_station_row(resource, point) for resource in point.resources],
            "states": state_rows(point),
            "remarks": page_remarks(point),
            "warm_up": _warm_up_words(point.warm_up),
            "series": series_words(point.series),
            "latency": latency_words(point.latency),
            "course": course_choices(point, experiment.windows),
        }
        for point in points
        if (
            point.resources or point.distributions or point.warm_up or point.series or point.latency
        )
    ]


def first_choice(experiment: ExperimentResult) -> str:
    """Return the key of the point to show first, empty without results."""
    found = first_point(experiment.points)
    return found.key if found else ""


def _metric_choice(found: Distribution, point: PointResult) -> dict[str, Any]:
    estimate = point.estimates.get(found.metric)
    spread = found.samples or [bound for bound in found.high if bound < float("inf")]
    typical = estimate.value if estimate else _weighted_centre(found)
    scale = choose_scale([typical] if typical else spread, found.unit, metric=found.metric)
    return {
        "metric": found.metric,
        "name": title_metric(found.metric),
        "title": axis_title(found.metric, scale),
        "factor": scale.factor,
        "is_number": is_occupancy(found.metric),
        "count": f"{found.count:,}",
        "marks": _quantile_marks(found, point, scale),
    }


def _weighted_centre(found: Distribution) -> float:
    total = sum(found.counts)
    if not total:
        return 0.0
    bins = zip(found.low, found.high, found.counts, strict=True)
    return sum((low + high) / 2 * count for low, high, count in bins) / total


def _quantile_marks(found: Distribution, point: PointResult, scale: Scale) -> list[Row]:
    marks = [
        {
            "at": estimate.value * scale.factor,
            "label": f"{name} {format_quantity(estimate.value, estimate.unit)}",
        }
        for name in ("mean", "p50", "p95", "p99")
        if (estimate := point.estimates.get(f"{found.metric}_{name}")) is not None
    ]
    return sorted(marks, key=lambda mark: mark["at"])


def _station_row(resource: Resource, point: PointResult) -> Row:
    limits = bool(
        point.bottleneck and point.bottleneck.limits and point.bottleneck.name == resource.name
    )
    estimates = resource.estimates_among(point.estimates)
    queue = estimates.get(_QUEUE_METRIC)
    used = estimates.get("utilization")
    return {
        "name": resource.name,
        "kind": resource.kind,
        "label": _part_label(resource),
        "limits": "limits" if limits else "",
        "utilization": estimate_row(used, Scale(100.0, "%")) if used else None,
        "queue": estimate_row(queue, Scale(1.0, "")) if queue else None,
        "wait": _shown(estimates.get("wait_s_mean")),
    }


def _part_label(resource: Resource) -> str:
    """Return the name of a part with its servers or tokens, where there is a number of them."""
    if resource.capacity is None:
        return resource.name
    unit = "server" if resource.kind == "station" else "token"
    return f"{resource.name} ({count_noun(int(resource.capacity), unit)})"


def _shown(estimate: Estimate | None) -> str:
    return format_estimate(estimate) if estimate else ""


def _warm_up_words(cut: WarmUpCut | None) -> dict[str, Any] | None:
    if cut is None:
        return None
    unit = "s"
    scale = choose_scale(cut.values, unit)
    time = choose_scale([cut.run_s], "s")
    share = cut.cut_s / cut.run_s * 100.0 if cut.run_s > 0 else 0.0
    return {
        "title": axis_title(cut.metric or "response_s", scale),
        "factor": scale.factor,
        "time_title": f"time since the start ({time.label})",
        "time_factor": time.factor,
        "cut_label": f"cut {format_quantity(cut.cut_s, 's')} ({format_plain(share, decimals=1)}%)",
    }


def _base(description: str, *, height: int = _HEIGHT_PX) -> Spec:
    return {
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
    }


def _utilization_figure(experiment: ExperimentResult) -> Figure:
    spec = _station_spec(
        "Utilization of stations and pools",
        {
            "type": "quantitative",
            "title": "utilization (%)",
            "scale": {"domain": [0, 100], "nice": False},
        },
        with_verdict=True,
        has_pools=_has_pools(experiment),
    )
    return Figure(
        key=f"{experiment.name}-stations",
        title="How busy each part is",
        caption="Mean utilization with its 95% interval; the part that limits is named.",
        spec=spec,
        detail="utilization",
        experiment=experiment.name,
    )


def _queue_figure(experiment: ExperimentResult) -> Figure:
    spec = _station_spec(
        "Queue length of stations and pools",
        {
            "type": "quantitative",
            "title": "mean number waiting",
            "scale": {"zero": True},
        },
        with_verdict=False,
        has_pools=_has_pools(experiment),
    )
    return Figure(
        key=f"{experiment.name}-queues",
        title="Who waits where",
        direction="lower is better",
        caption="Mean number waiting (in service not counted) with its 95% interval.",
        spec=spec,
        detail="queue",
        experiment=experiment.name,
    )


def _has_pools(experiment: ExperimentResult) -> bool:
    return any(part.kind == "pool" for point in experiment.points for part in point.resources)


def _station_spec(description: str, x: Spec, *, with_verdict: bool, has_pools: bool) -> Spec:
    y = {
        "field": "label",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 220, "grid": False, "ticks": False, "domain": False},
    }
    kind = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["station", "pool"]},
        **({} if has_pools else {"legend": None}),
    }
    tooltip = [
        {"field": "label", "type": "nominal", "title": "part"},
        {"field": "shown", "type": "nominal", "title": "value"},
        {"field": "wait", "type": "nominal", "title": "mean wait"},
        {"field": "n", "type": "quantitative", "title": "n"},
    ]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.62}, "cornerRadiusEnd": 2, "opacity": 0.85},
        "encoding": {"y": y, "x": {**x, "field": "value"}, "color": kind, "tooltip": tooltip},
    }
    whisker = {
        "mark": {"type": "rule", "style": "whisker"},
        "encoding": {"y": y, "x": {**x, "field": "from"}, "x2": {"field": "to"}},
    }
    named = {
        "transform": [{"filter": "datum.limits"}],
        "mark": {
            "type": "text",
            "style": "inside-text",
            "align": "left",
            "dx": 6,
            "x": 0,
            "fontWeight": 600,
        },
        "encoding": {"y": y, "text": {"field": "limits"}},
    }
    layers = [bar, whisker, named] if with_verdict else [bar, whisker]
    return {**_base(description), "height": "@height", "layer": layers}


def _quantile_layers() -> list[Spec]:
    """Return uprights with labels, which stand on the side where there is room."""
    data = {"name": "marks"}
    at = {"field": "at", "type": "quantitative"}
    rule = {
        "data": data,
        "mark": {"type": "rule", "style": "guide", "clip": True},
        "encoding": {"x": at},
    }
    place = {
        "align": {"expr": "datum.is_late ? 'right' : 'left'"},
        "dx": {"expr": "datum.is_late ? -3 : 3"},
        "baseline": "top",
    }
    encoding = {
        "x": at,
        "y": {"value": {"expr": f"datum.lane * {_LABEL_PITCH_PX}"}},
        "text": {"field": "label"},
    }
    # A halo keeps the uprights of other labels off the letters.
    halo, text = (
        {"data": data, "mark": {"type": "text", "style": style, "clip": True, **place},
         "encoding": encoding}
        for style in ("guide-halo", "guide-text")
    )  # fmt: skip
    return [rule, halo, text]


def _value_axis() -> Spec:
    return {
        "type": "quantitative",
        "title": _METRIC_TITLE,
        "scale": {"type": "@scale", "zero": "@zero", "nice": False},
        "axis": {"tickCount": 6, "grid": False, "labelOverlap": True},
    }


def _histogram_figure(experiment: ExperimentResult) -> Figure:
    x = _value_axis()
    bars = {
        "mark": {"type": "rect", "opacity": 0.8, "clip": True},
        "encoding": {
            "x": {**x, "field": "low"},
            "x2": {"field": "high"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share (%)",
                "scale": {"domain": [0, "@top"], "nice": False},
            },
            "y2": {"datum": 0},
            "tooltip": [
                {"field": "range", "type": "nominal", "title": "from to"},
                {"field": "share", "type": "quantitative", "title": "share (%)", "format": ".3g"},
                {"field": "count", "type": "quantitative", "title": "n", "format": ","},
            ],
        },
    }
    return Figure(
        key=f"{experiment.name}-histogram",
        title="Distribution",
        caption=f"{_kept_words(experiment)}; the slowest 0.1% are not drawn.",
        spec={**_base("Histogram"), "layer": [bars, *_quantile_layers()]},
        detail="histogram",
        experiment=experiment.name,
    )


def _cumulative_figure(experiment: ExperimentResult) -> Figure:
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2, "interpolate": "linear", "clip": True},
        "encoding": {
            "x": {**_value_axis(), "field": "at"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share at most that much (%)",
                "scale": {"domain": [0, 100]},
                "axis": {"tickCount": 5},
            },
        },
    }
    hover: Spec = {
        "mark": {"type": "point", "opacity": 0, "size": 120},
        "encoding": {
            **line["encoding"],
            "tooltip": [
                {"field": "range", "type": "nominal", "title": "at most"},
                {"field": "share", "type": "quantitative", "title": "share (%)", "format": ".4g"},
            ],
        },
    }
    return Figure(
        key=f"{experiment.name}-cumulative",
        title="Cumulative distribution",
        caption="To read a percentile, go right from its share, then down.",
        spec={**_base("Cumulative distribution"), "layer": [line, hover]},
        detail="cumulative",
        experiment=experiment.name,
    )


def _spread_figure(experiment: ExperimentResult) -> Figure:
    x = {
        "field": "value",
        "type": "quantitative",
        "title": _METRIC_TITLE,
        "scale": {"zero": False, "padding": "@padding", "domain": "@domain", "nice": "@nice"},
        "axis": {"tickCount": 6},
    }
    box = {
        "mark": {"type": "boxplot", "extent": "min-max", "size": 34, "opacity": 0.35},
        "encoding": {"x": x, "y": {"value": 60}},
    }
    strip = {
        "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0.8},
        "encoding": {
            "x": x,
            "y": {
                "field": "lane",
                "type": "quantitative",
                "axis": None,
                "scale": {"domain": [-2, 1.4]},
            },
            "tooltip": _sample_tooltip(),
        },
    }
    return Figure(
        key=f"{experiment.name}-spread",
        title="Raw samples",
        caption="One dot per replication; the box holds the middle half, its bar is the median.",
        spec={**_base("Raw samples", height=120), "layer": [box, strip]},
        detail="samples",
        experiment=experiment.name,
    )


def _order_figure(experiment: ExperimentResult) -> Figure:
    line = {
        "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.5, "point": {"size": 34}},
        "encoding": {
            "x": {
                "field": "index",
                "type": "quantitative",
                "title": "replication, in order",
                "scale": {"zero": False, "nice": False, "padding": 8},
                "axis": {"tickMinStep": 1, "grid": False, "format": "d"},
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": _METRIC_TITLE,
                "scale": {"zero": False},
                "axis": {"tickCount": 4},
            },
            "tooltip": _sample_tooltip(),
        },
    }
    return Figure(
        key=f"{experiment.name}-order",
        title="In order of replication",
        caption="A trend or steps here mean that the machine changed during the measurement.",
        spec={**_base("Samples in order", height=120), "layer": [line]},
        detail="samples",
        experiment=experiment.name,
    )


def _kept_words(experiment: ExperimentResult) -> str:
    if any(is_terminating(point) for point in experiment.points):
        return "All responses of all replications together"
    return "All replications after the warm-up cut"


def _sample_tooltip() -> list[Spec]:
    return [
        {"field": "index", "type": "quantitative", "title": "replication"},
        {"field": "value", "type": "quantitative", "title": _METRIC_TITLE, "format": ".6g"},
    ]


def _warm_up_figure(experiment: ExperimentResult) -> Figure:
    time = time_axis()
    area, *marks = cut_layers(time)
    line = {
        "mark": {"type": "line", "strokeWidth": 1.4, "clip": True},
        "encoding": {
            "x": time,
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": "@warm_up",
                "scale": {"zero": True},
                "axis": {"tickCount": 5},
            },
        },
    }
    return Figure(
        key=f"{experiment.name}-warm-up",
        title="Warm-up",
        caption="The series averaged over the replications; the shaded start is cut off.",
        spec={**_base("Warm-up"), "layer": [area, line, *marks]},
        detail="warm_up",
        experiment=experiment.name,
        is_wide=True,
    )
