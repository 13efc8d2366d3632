"""A point over time: warm-up, one replication, terminating runs, and maps of response times.

Invariant: the lines are those of the results; here they only get words and scales.
"""

import math
from collections.abc import Sequence

import msgspec

from headroom.analysis.pictures import evenly
from headroom.analysis.results import (
    ExperimentResult,
    IntervalLine,
    LatencyMap,
    OverTime,
    PointResult,
    SeriesLine,
    TimeSeries,
    WarmUpCut,
    WindowUsed,
)
from headroom.quantities import Scale, choose_scale, format_plain, format_quantity
from headroom.report.charts.panel import Panel
from headroom.report.charts.sweep import series_role
from headroom.report.figures.axes import linear_axis, log_axis
from headroom.report.figures.inputs import Break, Curve, Dot, Line, Tile
from headroom.report.first_screen.scales import scaled
from headroom.report.tables.over_time import line_scale
from headroom.report.words import axis_title, label_metric, title_metric

_RESPONSES = ("response_s_p50", "response_s_p95", "response_s_p99")
_SHARE = ".utilization"
SHARES_AT_MOST = 5
_WARM_UP_POINTS = 200
_TENTH = 0.1


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


def warm_up_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    """Return the panel of the warm-up; without pictures if no point has its curve."""
    pictures = {
        (point.key, ""): _warm_up(point.warm_up)
        for point in points
        if point.warm_up and point.warm_up.values
    }
    return Panel(
        key=f"{experiment.name}-warm-up",
        title="Warm-up",
        caption="The series averaged over the replications; the tinted start is cut off.",
        pictures=pictures,
    )


def _warm_up(cut: WarmUpCut) -> Curve:
    time = choose_scale([cut.run_s], "s")
    scale = choose_scale(cut.values, "s")
    known = [pair for pair in zip(cut.times_s, cut.values, strict=True) if math.isfinite(pair[1])]
    known = known[:: -(-len(known) // _WARM_UP_POINTS) or 1]
    dots = tuple(Dot(x=at * time.factor, y=value * scale.factor) for at, value in known)
    return Curve(
        x=linear_axis([0.0, cut.run_s * time.factor], _since(time)),
        y=linear_axis([dot.y for dot in dots], axis_title(cut.metric or "response_s", scale)),
        lines=(Line(label="", role="data", dots=dots),),
        breaks=_cut(cut, time),
    )


def _since(time: Scale) -> str:
    return f"time since the start ({time.label})"


def _cut(cut: WarmUpCut | None, time: Scale) -> tuple[Break, ...]:
    """Return the warm-up that is cut off as a tinted stretch; nothing if nothing is."""
    if cut is None or cut.cut_s <= 0.0:
        return ()
    share = cut.cut_s / cut.run_s * 100.0 if cut.run_s > 0 else 0.0
    words = f"cut {format_quantity(cut.cut_s, 's')} ({format_plain(share, decimals=1)}%)"
    end = cut.cut_s * time.factor
    return (Break(at=end, low=0.0, high=end, lines=(words,), role="context"),)


def series_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    """Return the panel of the first replication over time; without pictures if no point kept it."""
    pictures = {
        (point.key, f"{line.kind} {line.name}: {title_metric(line.metric)}"): _series(
            point.series, line, point.warm_up
        )
        for point in points
        if point.series
        for line in point.series.lines
    }
    time = "simulated time" if experiment.column == "model" else "time"
    return Panel(
        key=f"{experiment.name}-over-time",
        title="Over time",
        caption=f"The first replication: the mean over each interval of {time}, warm-up "
        "included; the tinted start is cut off. The table “Over time” below tells the same.",
        pictures=pictures,
        choice="Part and quantity",
        is_wide=True,
    )


def _series(series: TimeSeries, line: SeriesLine, cut: WarmUpCut | None) -> Curve:
    time = choose_scale([series.step_s * series.count], "s")
    scale = line_scale(line)
    step = series.step_s * time.factor
    dots = tuple(
        Dot(x=at * step, y=value * scale.factor)
        for place, value in enumerate(line.values)
        if value is not None
        for at in (place, place + 1)
    )
    return Curve(
        x=linear_axis(
            [0.0, step * series.count], f"{_since(time)}, by {format_quantity(series.step_s, 's')}"
        ),
        y=linear_axis([dot.y for dot in dots], axis_title(line.metric, scale)),
        lines=(Line(label="", role="data", dots=dots),),
        breaks=_cut(cut, time),
    )


def course_panels(experiment: ExperimentResult, points: Sequence[PointResult]) -> list[Panel]:
    """Return the panels of terminating runs over time; none where no point has any."""
    windows = " Tinted: the windows of the study." if experiment.windows else ""
    kinds = {
        "course-response": (
            "Response time over time",
            "Percentiles of the responses that complete in each interval: means over "
            f"the replications, with 95% intervals.{windows}",
        ),
        "course-utilization": (
            "Utilization over time",
            "The busiest stations and pools in each interval: means over the "
            f"replications, with 95% intervals.{windows}",
        ),
    }
    panels = []
    for kind, (title, caption) in kinds.items():
        pictures = {
            (point.key, ""): _course(point.over_time, lines, experiment.windows)
            for point in points
            if point.over_time and (lines := _lines(point.over_time, kind))
        }
        if pictures:
            key = f"{experiment.name}-{kind}"
            panels.append(
                Panel(key=key, title=title, caption=caption, pictures=pictures, is_wide=True)
            )
    return panels


def choose_time(course: OverTime) -> Scale:
    """Return the unit of the axis of time: hours, minutes or seconds."""
    end_s = course.ends_s[-1]
    for unit_s, label in ((3600.0, "h"), (60.0, "min")):
        if end_s >= 5.0 * unit_s:
            return Scale(1.0 / unit_s, label)
    return choose_scale([end_s], "s")


def _lines(course: OverTime, kind: str) -> list[IntervalLine]:
    if kind == "course-response":
        by_name = {line.metric: line for line in course.lines}
        return [by_name[name] for name in _RESPONSES if name in by_name]
    shares = [line for line in course.lines if line.metric.endswith(_SHARE)]
    return shares[:SHARES_AT_MOST]


def _course(
    course: OverTime, lines: Sequence[IntervalLine], windows: Sequence[WindowUsed]
) -> Curve:
    time = choose_time(course)
    known = [value for line in lines for value in line.values if value is not None]
    scale = choose_scale(known, lines[0].unit, metric=lines[0].metric)
    drawn = tuple(
        Line(
            label=_name(line), role=series_role(place), dots=_course_dots(course, line, time, scale)
        )
        for place, line in enumerate(lines)
    )
    name = "utilization" if lines[0].metric.endswith(_SHARE) else "response time"
    label = scale.label.strip()
    return Curve(
        x=linear_axis([0.0, course.ends_s[-1] * time.factor], _since(time)),
        y=linear_axis(
            [dot.y if dot.high is None else dot.high for line in drawn for dot in line.dots],
            f"{name} ({label})" if label else name,
        ),
        lines=drawn,
        breaks=tuple(
            Break(at=None, low=one.from_s * time.factor, high=one.to_s * time.factor,
                  lines=(one.name,), role="context")
            for one in windows
        ),
    )  # fmt: skip


def _name(line: IntervalLine) -> str:
    if line.metric in _RESPONSES:
        return line.metric.rpartition("_")[2]
    return label_metric(line.metric).removesuffix(" utilization")


def _course_dots(
    course: OverTime, line: IntervalLine, time: Scale, scale: Scale
) -> tuple[Dot, ...]:
    """Return one mark per interval, at its middle; an interval without a value has none."""
    dots = []
    start_s = 0.0
    for place, end_s in enumerate(course.ends_s):
        value, low, high = line.values[place], line.low[place], line.high[place]
        if value is not None:
            low, high = scaled(low, scale), scaled(high, scale)
            at, y = (start_s + end_s) / 2.0 * time.factor, value * scale.factor
            interval = "" if low is None else f" ({low:.4g} to {high:.4g})"
            hint = f"{_name(line)}, around {at:.4g} {time.label}\n{y:.4g}{interval}{scale.suffix}"
            dots.append(Dot(x=at, y=y, low=low, high=high, hint=hint))
        start_s = end_s
    return tuple(dots)


def latency_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    """Return the panel of the maps of response times; without pictures if no point has one."""
    pictures = {(point.key, ""): _map(point.latency) for point in points if point.latency}
    return Panel(
        key=f"{experiment.name}-latency-map",
        title="Response times over time",
        caption="Replications one after the other, warm-up included, with a line between them; "
        "colour is the share of the responses of each stretch of time, on a logarithmic scale. A "
        "band that moves is a device that changes its speed; a lone cell high up is a stall.",
        pictures=pictures,
        is_wide=True,
    )


def _map(latency: LatencyMap) -> Curve:
    """Return a cell for each length of response time in each stretch of each replication.

    A percentile over time hides that a few requests stall while the rest continue; the map shows
    both. Its shares have a logarithmic scale, because users remember the few slow requests.
    """
    cells = [
        (at, stretch[place], stretch[place + 1])
        for at, stretch in enumerate(latency.stretches)
        for place in range(0, len(stretch), 2)
    ]
    used = [number for _, number, _ in cells] or [0]
    longest_s = latency.shortest_s * latency.ratio ** (max(used) + 1)
    length = choose_scale([(latency.shortest_s * longest_s) ** 0.5], "s")
    time = choose_scale([latency.step_s * len(latency.stretches)], "s")
    shares = [share for _, _, share in cells] or [1]
    low, high = math.log(min(shares)), math.log(max(shares))

    def length_at(place: int) -> float:
        return latency.shortest_s * latency.ratio**place * length.factor

    def share_at(strength: float) -> float:
        return math.exp(low + (strength - _TENTH) / (1.0 - _TENTH) * (high - low)) / 1e3

    step = latency.step_s * time.factor
    tiles = tuple(
        Tile(
            x=(at * step, (at + 1) * step),
            y=(length_at(number), length_at(number + 1)),
            strength=_TENTH + (1.0 - _TENTH) * (math.log(share) - low) / ((high - low) or 1.0),
        )
        for at, number, share in cells
    )
    edges = range(latency.per_run, len(latency.stretches), latency.per_run)
    return Curve(
        x=linear_axis(
            [0.0, step * len(latency.stretches)],
            f"time measured, replication after replication ({time.label})",
        ),
        y=log_axis(
            [length_at(min(used)), length_at(max(used) + 1)],
            f"response time ({length.label}), log scale",
        ),
        lines=(),
        tiles=tiles,
        tiles_words=lambda strength: f"about {share_at(strength):.2g}% of the responses",
        breaks=tuple(
            Break(at=end * step, low=end * step, high=end * step, lines=("next replication",),
                  role="context", is_named=False)
            for end in edges
        ),
    )  # fmt: skip
