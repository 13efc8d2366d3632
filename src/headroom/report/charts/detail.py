"""Panels of one chosen point: parts, states, distributions, and how it went over time.

Invariant: a panel without data at any point is left out.
"""

from collections.abc import Callable, Sequence

from headroom.analysis.pictures import best_pictured, evenly, first_point
from headroom.analysis.results import Estimate, ExperimentResult, PointResult, Resource
from headroom.quantities import Scale
from headroom.report.charts.distributions import distribution_panels
from headroom.report.charts.over_time import (
    course_panels,
    latency_panel,
    series_panel,
    warm_up_panel,
)
from headroom.report.charts.panel import Panel
from headroom.report.charts.states import states_panel
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.inputs import Bar, Bars
from headroom.report.first_screen.scales import digits, scaled
from headroom.report.numbers import format_estimate
from headroom.report.words import count_noun

_QUEUE_METRIC = "queue_len_mean"
_ONE, _PERCENT = Scale(1.0, ""), Scale(100.0, "%")


def detail_panels(experiment: ExperimentResult, points: Sequence[PointResult]) -> list[Panel]:
    """Return the panels of `points` for which any of them has data."""
    panels = [
        *course_panels(experiment, points),
        _busy_panel(experiment, points),
        _queue_panel(experiment, points),
        states_panel(experiment, points),
        *distribution_panels(experiment, points),
        warm_up_panel(experiment, points),
        latency_panel(experiment, points),
        series_panel(experiment, points),
    ]
    return [panel for panel in panels if panel.pictures]


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


def first_choice(experiment: ExperimentResult) -> str:
    """Return the key of the point to show first, empty without results."""
    found = first_point(experiment.points)
    return found.key if found else ""


def _busy_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    def bar(point: PointResult, part: Resource, used: Estimate) -> Bar:
        return _bar(part, used, _PERCENT, limits=point.limiter == part.name)

    return _parts_panel(
        points,
        "utilization",
        bar,
        key=f"{experiment.name}-stations",
        title="How busy each part is",
        caption="Mean utilization with its 95% interval; the part that limits is named.",
    )


def _queue_panel(experiment: ExperimentResult, points: Sequence[PointResult]) -> Panel:
    def bar(point: PointResult, part: Resource, queue: Estimate) -> Bar:
        wait = part.estimates_among(point.estimates).get("wait_s_mean")
        more = f"\nmean wait: {format_estimate(wait)}" if wait else ""
        return _bar(part, queue, _ONE, limits=False, more=more)

    return _parts_panel(
        points,
        _QUEUE_METRIC,
        bar,
        key=f"{experiment.name}-queues",
        title="Who waits where",
        caption="Mean number waiting (in service not counted) with its 95% interval.",
        direction="lower is better",
    )


def _parts_panel(
    points: Sequence[PointResult],
    metric: str,
    bar: Callable[[PointResult, Resource, Estimate], Bar],
    *,
    key: str,
    title: str,
    caption: str,
    direction: str = "",
) -> Panel:
    """Return the panel of a metric of all stations and pools; without pictures if none has it."""
    pictures = {}
    kinds = set()
    for point in points:
        found = [
            (part, estimate)
            for part in point.resources
            if (estimate := part.estimates_among(point.estimates).get(metric)) is not None
        ]
        if found:
            kinds |= {part.kind for part, _ in found}
            bars = tuple(bar(point, part, estimate) for part, estimate in found)
            pictures[point.key, ""] = _bars(bars, metric)
    colours = " Blue: stations; violet: pools." if {"station", "pool"} <= kinds else ""
    return Panel(
        key=key, title=title, caption=caption + colours, pictures=pictures, direction=direction
    )


def _bars(bars: Sequence[Bar], metric: str) -> Bars:
    if metric == _QUEUE_METRIC:
        axis = linear_axis([end for one in bars for end in _ends(one)], "mean number waiting")
    else:
        axis = linear_axis([0.0, 100.0], "utilization", suffix="%")
    return Bars(x=axis, bars=tuple(bars))


def _ends(bar: Bar) -> list[float]:
    return [end for end in (bar.value, bar.low, bar.high) if end is not None]


def _bar(part: Resource, estimate: Estimate, scale: Scale, *, limits: bool, more: str = "") -> Bar:
    label = _part_label(part)
    return Bar(
        label=label,
        value=estimate.value * scale.factor,
        low=scaled(estimate.low, scale),
        high=scaled(estimate.high, scale),
        text=f"{digits(estimate.value, scale)}{scale.label}",
        role="limit" if limits else "third" if part.kind == "pool" else "data",
        end="limits" if limits else "",
        hint=f"{part.kind} {label}\n{format_estimate(estimate)}\nn = {estimate.count}{more}",
    )


def _part_label(part: Resource) -> str:
    """Return the name of a part with its servers or tokens, where there is a number of them."""
    if part.capacity is None:
        return part.name
    unit = "server" if part.kind == "station" else "token"
    return f"{part.name} ({count_noun(int(part.capacity), unit)})"
