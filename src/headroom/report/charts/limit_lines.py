"""Limits of a study as lines in the figures of their metric, with the level where they break.

Invariant: restates `LimitCrossing`; a limit that would squeeze the curve is told and not drawn.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, LimitCrossing, PointResult
from headroom.quantities import Scale
from headroom.report.charts.channels import only
from headroom.report.charts.figure import Row, Spec
from headroom.report.dimensions import Dimension, hold_label
from headroom.report.findings.headroom_left import format_limit_of
from headroom.report.sentences.limits import format_break_level
from headroom.report.words import join_words

_REACH = 2.5
"""Times the highest value of a figure up to which a limit is drawn in it."""
_LOG_REACH = 10.0
"""The same for either end of an axis with powers of ten."""
_NEAR_TOP = 0.9


def limit_rows(
    experiment: ExperimentResult, metric: str, scale: Scale, rows: Sequence[Row], *, is_log: bool
) -> list[Row]:
    """Return one row for each limit of a metric that the figure of `rows` has room for.

    Parameters
    ----------
    experiment, metric
        Whose limits.
    scale
        Scale of the value axis.
    rows
        What the figure draws.
    is_log
        Whether the value axis goes by powers of ten.
    """
    bounds = {format_limit_of(one): _bound(one) * scale.factor for one in _of(experiment, metric)}
    holds = dict.fromkeys(str(row["hold"]) for row in rows)
    highest = max((float(row["to"]) for row in rows), default=0.0)
    return [
        {
            "limit": bound,
            "label": label,
            "text": f"limit: {label}",
            "hold": hold,
            "is_high": bound > _NEAR_TOP * highest,
        }
        for label, bound in bounds.items()
        if _is_near(bound, rows, is_log=is_log)
        for hold in holds
    ]


def crossing_rows(
    experiment: ExperimentResult,
    metric: str,
    drawn: Sequence[Row],
    *,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> list[Row]:
    """Return where the limits among `drawn` break along a numeric axis, one row per curve."""
    factors = {factor.name for factor in axis.factors}
    places = {row["label"]: row["limit"] for row in drawn}
    return [
        _crossing_row(one, places[format_limit_of(one)], series, held)
        for one in _of(experiment, metric)
        if one.state == "breaks" and one.factor in factors and format_limit_of(one) in places
    ]


def limit_words(
    experiment: ExperimentResult, metric: str, drawn: Sequence[Row], crossings: Sequence[Row]
) -> str:
    """Return the meaning of the lines, and the limits that have no room in the figure."""
    labels = list(dict.fromkeys(format_limit_of(one) for one in _of(experiment, metric)))
    seen = {row["label"] for row in drawn}
    shown = [label for label in labels if label in seen]
    missing = [label for label in labels if label not in seen]
    sentences = []
    if shown:
        broken = "; thick: where it breaks, with its interval" if crossings else ""
        sentences.append(f"Across: the limit, {join_words(shown)}{broken}.")
    if missing:
        sentences.append(f"Far from all values, so not drawn: the limit {join_words(missing)}.")
    return " ".join(sentences)


def limit_layers(limits: Sequence[Row], value: Spec, *, along: str) -> list[Spec]:
    """Return the lines of limits with their labels.

    Parameters
    ----------
    limits
        Rows of `limit_rows`.
    value
        Channel of the value axis.
    along
        ``"y"`` where values go upwards, ``"x"`` where they go to the right.
    """
    if not limits:
        return []
    data, at = {"values": list(limits)}, {along: {**value, "field": "limit"}}
    rule = {"data": data, "mark": {"type": "rule", "style": "limit", "clip": True}, "encoding": at}
    return [rule, *(_label(limits, at, along=along, is_high=is_high) for is_high in (True, False))]


def crossing_layers(crossings: Sequence[Row], x: Spec, y: Spec, channels: Spec) -> list[Spec]:
    """Return where limits break: the interval on the line of the limit, and the level itself."""
    if not crossings:
        return []
    at = {"y": {**y, "field": "limit"}, **only(channels, "color")}
    tooltip = [
        {"field": "label", "type": "nominal", "title": "limit"},
        {"field": "shown", "type": "nominal", "title": "breaks at"},
    ]
    ends = {"x": {**x, "field": "break_low"}, "x2": {"field": "break_high"}}
    data = {"values": list(crossings)}
    return [
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.break_low) && isValid(datum.break_high)"}],
            "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.55, "clip": True},
            "encoding": {**at, **ends, "tooltip": tooltip},
        },
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.break)"}],
            "mark": {"type": "tick", "orient": "vertical", "thickness": 2, "size": 16},
            "encoding": {**at, "x": {**x, "field": "break"}, "tooltip": tooltip},
        },
    ]


def _label(limits: Sequence[Row], at: Spec, *, along: str, is_high: bool) -> Spec:
    """Return the labels of the limits, those near the end of the axis on its inner side."""
    inner, outer = ("top", "bottom") if along == "y" else ("right", "left")
    place: Spec = (
        {"align": "left", "baseline": inner if is_high else outer, "dy": 4 if is_high else -4}
        if along == "y"
        else {"baseline": "top", "align": inner if is_high else outer, "dx": -4 if is_high else 4}
    )
    other = {"x": {"value": 4}} if along == "y" else {"y": {"value": 2}}
    return {
        "data": {"values": [row for row in limits if row["is_high"] == is_high]},
        "mark": {"type": "text", "style": "guide-text", "clip": True, **place},
        "encoding": {**at, **other, "text": {"field": "text"}},
    }


def _crossing_row(
    found: LimitCrossing, limit: float, series: Dimension | None, held: Sequence[Dimension]
) -> Row:
    point = PointResult(key="", levels=found.where, done=0, failed=0)
    return {
        "limit": limit,
        "label": format_limit_of(found),
        "break": found.level,
        "break_low": found.level_low,
        "break_high": found.level_high,
        "shown": format_break_level(found),
        "series": series.label_of(point) if series else "",
        "hold": hold_label(point, held),
    }


def _of(experiment: ExperimentResult, metric: str) -> list[LimitCrossing]:
    return [limit for limit in experiment.limits if limit.metric == metric]


def _bound(found: LimitCrossing) -> float:
    bound = found.at_most if found.at_most is not None else found.at_least
    return 0.0 if bound is None else bound


def _is_near(bound: float, rows: Sequence[Row], *, is_log: bool) -> bool:
    if not rows:
        return False
    highest = max(float(row["to"]) for row in rows)
    if not is_log:
        return bound <= _REACH * highest
    lowest = min(float(row["from"]) for row in rows)
    return lowest / _LOG_REACH <= bound <= _LOG_REACH * highest
