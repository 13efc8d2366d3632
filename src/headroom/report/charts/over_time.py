"""One replication of a point over time: a line for the selected resource and metric.

Invariant: the lines are those of the results; here they only get words and scales.
"""

from typing import Any

import msgspec

from headroom.analysis.pictures import evenly
from headroom.analysis.results import ExperimentResult, PointResult, SeriesLine, TimeSeries
from headroom.quantities import choose_scale, format_quantity
from headroom.report.charts.figure import Figure, Spec
from headroom.report.words import axis_title, title_metric

_STEP = "step-before"


def over_time_figure(experiment: ExperimentResult) -> Figure | None:
    """Return the figure of the series, None if no point has any."""
    if not any(point.series for point in experiment.points):
        return None
    time = "simulated time" if experiment.column == "model" else "time"
    return Figure(
        key=f"{experiment.name}-over-time",
        title="Over time",
        caption=f"The first replication: the mean over each interval of {time}, warm-up "
        "included; the shaded start is cut off. Without script the table “Over time” below "
        "tells the same.",
        spec=_spec(),
        detail="series",
        experiment=experiment.name,
        is_wide=True,
    )


def with_series(points: list[PointResult], *, at_most: int, first: str) -> list[PointResult]:
    """Return `points`, of which at most `at_most` keep how they went over time, `first` among them.

    Parameters
    ----------
    points
        Points that a page shows closely.
    at_most
        How many may keep their series and maps.
    first
        Key of the point that is shown first.
    """
    told = [point.key for point in points if point.series or point.latency]
    if len(told) <= at_most:
        return points
    kept = {told[place] for place in evenly(len(told), at_most - 1)} | {first}
    return [
        point if point.key in kept else msgspec.structs.replace(point, series=None, latency=None)
        for point in points
    ]


def series_words(series: TimeSeries | None) -> dict[str, Any] | None:
    """Return the words and scales of the series of a point, by part; None if it has none."""
    if series is None:
        return None
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, line in enumerate(series.lines):
        parts.setdefault((line.kind, line.name), []).append(_choice(place, line))
    time = choose_scale([series.step_s * series.count], "s")
    return {
        "parts": [
            {"name": f"{kind} {name}", "metrics": metrics}
            for (kind, name), metrics in parts.items()
        ],
        "time_title": f"time since the start ({time.label}), "
        f"by {format_quantity(series.step_s, 's')}",
        "time_factor": time.factor,
    }


def _choice(place: int, line: SeriesLine) -> dict[str, Any]:
    known = [value for value in line.values if value is not None]
    scale = choose_scale(known, line.unit, metric=line.metric)
    return {
        "place": place,
        "metric": line.metric,
        "name": title_metric(line.metric),
        "title": axis_title(line.metric, scale),
        "factor": scale.factor,
    }


def cut_layers(time: Spec) -> list[Spec]:
    """Return the shaded warm-up, its edge and its label, from the data set ``cut``."""
    data = {"name": "cut"}
    end = {**time, "field": "end"}
    area = {
        "data": data,
        "mark": {"type": "rect", "style": "guide-area", "clip": True},
        "encoding": {"x": {**time, "field": "start"}, "x2": {"field": "end"}},
    }
    rule = {
        "data": data,
        "mark": {"type": "rule", "style": "guide", "clip": True},
        "encoding": {"x": end},
    }
    # It stands where there is more room.
    place = {
        "align": {"expr": "datum.is_late ? 'right' : 'left'"},
        "dx": {"expr": "datum.is_late ? -5 : 5"},
        "y": 8,
    }
    # A halo keeps the line off the letters.
    halo, text = (
        {
            "data": data,
            "mark": {"type": "text", "style": style, **place},
            "encoding": {"x": end, "text": {"field": "label"}},
        }
        for style in ("guide-halo", "guide-text")
    )
    return [area, rule, halo, text]


def time_axis() -> Spec:
    """Return the axis of simulated time."""
    return {
        "field": "time",
        "type": "quantitative",
        "title": "@time",
        "scale": {"zero": True, "nice": False},
        "axis": {"grid": False, "tickCount": 6},
    }


def _spec() -> Spec:
    time = time_axis()
    value = {
        "field": "value",
        "type": "quantitative",
        "title": "@series",
        "scale": {"domain": [0, "@top"], "nice": False},
        "axis": {"tickCount": 5},
    }
    area, *marks = cut_layers(time)
    line = {
        "mark": {"type": "line", "strokeWidth": 1.4, "interpolate": _STEP, "clip": True},
        "encoding": {"x": time, "y": value},
    }
    hover = {
        "transform": [{"filter": "datum.time > 0"}],
        "mark": {"type": "point", "opacity": 0, "size": 60},
        "encoding": {
            "x": time,
            "y": value,
            "tooltip": [
                {"field": "time", "type": "quantitative", "title": "until", "format": ".6~g"},
                {"field": "value", "type": "quantitative", "title": "@series", "format": ".5~g"},
            ],
        },
    }
    return {
        "description": "Over time",
        "width": "container",
        "height": 220,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"name": "rows"},
        "layer": [area, line, *marks, hover],
    }
