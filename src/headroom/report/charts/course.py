"""Terminating runs of a point over time: response times and utilizations with intervals.

Invariant: the lines are those of the results; here they only get words and scales.
"""

from collections.abc import Sequence
from typing import Any

from headroom.analysis.results import (
    ExperimentResult,
    IntervalLine,
    OverTime,
    PointResult,
    WindowUsed,
)
from headroom.quantities import Scale, choose_scale
from headroom.report.charts.channels import PICK, layered, only, series_channels
from headroom.report.charts.figure import Figure, Row, Spec
from headroom.report.charts.over_time import cut_layers, time_axis
from headroom.report.words import label_metric

_RESPONSES = ("response_s_p50", "response_s_p95", "response_s_p99")
_SHARE = ".utilization"
SHARES_AT_MOST = 5
_HEIGHT_PX = 240
_LATE = 0.6
"""Share of the axis from which on the label of a window stands on its left."""


def course_figures(experiment: ExperimentResult) -> list[Figure]:
    """Return the figures of terminating runs over time; none where no point has any."""
    courses = [point.over_time for point in experiment.points if point.over_time]
    figures = []
    windows = " Shaded: the windows of the study." if experiment.windows else ""
    if any(_lines(course, "course_response") for course in courses):
        figures.append(
            _figure(
                experiment,
                detail="course_response",
                title="Response time over time",
                caption="Percentiles of the responses that complete in each interval: means over "
                f"the replications, with 95% intervals.{windows}",
            )
        )
    if any(_lines(course, "course_utilization") for course in courses):
        figures.append(
            _figure(
                experiment,
                detail="course_utilization",
                title="Utilization over time",
                caption="The busiest stations and pools in each interval: means over the "
                f"replications, with 95% intervals.{windows}",
            )
        )
    return figures


def course_choices(point: PointResult, windows: Sequence[WindowUsed]) -> dict[str, Any]:
    """Return rows, windows and words of both figures of a point; empty if it has none."""
    course = point.over_time
    if course is None:
        return {}
    time = choose_time(course)
    shaded = [
        {
            "start": window.from_s * time.factor,
            "end": window.to_s * time.factor,
            "label": window.name,
            "is_late": window.to_s > _LATE * course.ends_s[-1],
        }
        for window in windows
    ]
    return {
        detail: _choice(course, detail, time, shaded)
        for detail in ("course_response", "course_utilization")
        if _lines(course, detail)
    }


def choose_time(course: OverTime) -> Scale:
    """Return the unit of the axis of time: hours, minutes or seconds."""
    end_s = course.ends_s[-1]
    for unit_s, label in ((3600.0, "h"), (60.0, "min")):
        if end_s >= 5.0 * unit_s:
            return Scale(1.0 / unit_s, label)
    return choose_scale([end_s], "s")


def _lines(course: OverTime, detail: str) -> list[IntervalLine]:
    if detail == "course_response":
        by_name = {line.metric: line for line in course.lines}
        return [by_name[name] for name in _RESPONSES if name in by_name]
    shares = [line for line in course.lines if line.metric.endswith(_SHARE)]
    return shares[:SHARES_AT_MOST]


def _choice(course: OverTime, detail: str, time: Scale, shaded: list[Row]) -> dict[str, Any]:
    lines = _lines(course, detail)
    known = [value for line in lines for value in line.values if value is not None]
    scale = choose_scale(known, lines[0].unit, metric=lines[0].metric)
    rows = [row for line in lines for row in _rows(course, line, time, scale)]
    top = max((row["to"] for row in rows), default=1.0)
    name = "response time" if detail == "course_response" else "utilization"
    return {
        "rows": rows,
        "cut": shaded,
        "words": {
            "@time": f"time since the start ({time.label})",
            "@course": f"{name} ({scale.label.strip()})" if scale.label else name,
            "@top": 1.1 * top or 1.0,
            "@series": [_name(line) for line in lines],
        },
    }


def _name(line: IntervalLine) -> str:
    if line.metric in _RESPONSES:
        return line.metric.rpartition("_")[2]
    return label_metric(line.metric).removesuffix(" utilization")


def _rows(course: OverTime, line: IntervalLine, time: Scale, scale: Scale) -> list[Row]:
    """Return one row per interval, at its middle; an interval without a value has none."""
    rows = []
    start_s = 0.0
    for place, end_s in enumerate(course.ends_s):
        value, low, high = line.values[place], line.low[place], line.high[place]
        if value is not None:
            rows.append({
                "time": (start_s + end_s) / 2.0 * time.factor,
                "value": value * scale.factor,
                "from": (value if low is None else low) * scale.factor,
                "to": (value if high is None else high) * scale.factor,
                "series": _name(line),
            })  # fmt: skip
        start_s = end_s
    return rows


def _figure(experiment: ExperimentResult, *, detail: str, title: str, caption: str) -> Figure:
    return Figure(
        key=f"{experiment.name}-{detail.replace('_', '-')}",
        title=title,
        caption=caption,
        spec=_spec(title),
        detail=detail,
        experiment=experiment.name,
        is_wide=True,
    )


def _spec(title: str) -> Spec:
    time = time_axis()
    value = {
        "field": "value",
        "type": "quantitative",
        "title": "@course",
        "scale": {"domain": [0, "@top"], "nice": False},
        "axis": {"tickCount": 5},
    }
    channels = series_channels("", [])
    for channel in ("color", "strokeDash"):
        channels[channel] = {
            "field": "series",
            "type": "nominal",
            "title": None,
            "sort": "@series",
            "scale": {"domain": "@series"},
        }
    band = {
        "mark": {"type": "area", "opacity": 0.18, "clip": True, "interpolate": "linear"},
        "encoding": {
            "x": time,
            "y": {**value, "field": "from"},
            "y2": {"field": "to"},
            **only(channels, "color"),
        },
    }
    line = {
        "params": [PICK],
        "mark": {"type": "line", "strokeWidth": 1.6, "clip": True},
        "encoding": {"x": time, "y": value, **only(channels, "color", "strokeDash", "opacity")},
    }
    hover = {
        "mark": {"type": "point", "opacity": 0, "size": 60},
        "encoding": {
            "x": time,
            "y": value,
            "tooltip": [
                {"field": "series", "type": "nominal", "title": "line"},
                {"field": "time", "type": "quantitative", "title": "around", "format": ".4~g"},
                {"field": "value", "type": "quantitative", "title": "@course", "format": ".4~g"},
                {"field": "from", "type": "quantitative", "title": "from", "format": ".4~g"},
                {"field": "to", "type": "quantitative", "title": "to", "format": ".4~g"},
            ],
        },
    }
    area, *marks = cut_layers(time)
    return layered([area, band, line, *marks, hover], title, height=_HEIGHT_PX)
