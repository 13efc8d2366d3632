"""Limits, knees, saturated and published points in the figures of their metric.

Invariant: restates `LimitCrossing`, `Knee`, `Saturation` and claims; a limit that would squeeze the
curve is named and not drawn.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, Knee, LimitCrossing, PointResult
from headroom.quantities import Scale
from headroom.report.dimensions import Dimension, hold_label
from headroom.report.figures.inputs import Break, Reference
from headroom.report.figures.roles import Role
from headroom.report.findings.headroom_left import format_limit_of
from headroom.report.notes.saturation import saturation_words
from headroom.report.numbers import format_knee
from headroom.report.sentences.limits import format_break_level
from headroom.report.words import count_noun, join_words, label_point

_REACH = 2.5
"""Times the highest value of a figure up to which a limit is drawn in it."""
_LOG_REACH = 10.0
"""The same for either end of an axis with powers of ten."""
_KNEES_AT_MOST = 200


def limits_of(
    experiment: ExperimentResult,
    metric: str,
    scale: Scale,
    ends: Sequence[float],
    *,
    is_log: bool,
) -> tuple[Reference, ...]:
    """Return the limits of a metric for which a figure has room.

    Parameters
    ----------
    ends
        Values and ends of intervals that the figure draws, in the unit of its axis.
    is_log
        Whether the axis of values goes by powers of ten.
    """
    bounds = {format_limit_of(one): _bound(one) * scale.factor for one in _of(experiment, metric)}
    return tuple(
        Reference(y=bound, label=f"limit: {label}")
        for label, bound in bounds.items()
        if _is_near(bound, ends, is_log=is_log)
    )


def limit_words(experiment: ExperimentResult, metric: str, drawn: Sequence[Reference]) -> str:
    """Return the meaning of the lines, and the limits that have no room in the figure."""
    labels = list(dict.fromkeys(format_limit_of(one) for one in _of(experiment, metric)))
    seen = {line.label.removeprefix("limit: ") for line in drawn}
    shown = [label for label in labels if label in seen]
    missing = [label for label in labels if label not in seen]
    breaks = any(one.state == "breaks" for one in _of(experiment, metric))
    broken = "; upright: where it breaks, with its interval" if breaks else ""
    sentences = [
        *([f"Dashed across: the limit, {join_words(shown)}{broken}."] if shown else []),
        *(
            [f"Far from all values, so not drawn: the limit {join_words(missing)}."]
            if missing
            else []
        ),
    ]
    return " ".join(sentences)


def breaks_of(
    experiment: ExperimentResult,
    metric: str,
    axis: Dimension,
    series: Dimension | None,
    *,
    held: Sequence[Dimension],
    drawn: Sequence[Reference],
) -> list[tuple[str, str, Break]]:
    """Return hold, series and place of each knee, and of each break of a limit that is drawn."""
    names = {factor.name for factor in axis.factors}
    labels = {line.label.removeprefix("limit: ") for line in drawn}
    found = [
        (knee.where, _knee_break(knee))
        for knee in experiment.knees
        if knee.found and knee.level is not None and knee.metric == metric and knee.factor in names
    ][:_KNEES_AT_MOST]
    found += [
        (one.where, _limit_break(one))
        for one in _of(experiment, metric)
        if one.state == "breaks" and one.factor in names and format_limit_of(one) in labels
    ]
    places = [(PointResult(key="", levels=where, done=0, failed=0), one) for where, one in found]
    return [
        (hold_label(point, held), series.label_of(point) if series else "", one)
        for point, one in places
        if one is not None
    ]


def _knee_break(knee: Knee) -> Break | None:
    return _break(knee.level, knee.level_low, knee.level_high, f"knee {format_knee(knee)}", "limit")


def _limit_break(found: LimitCrossing) -> Break | None:
    words = f"breaks at {format_break_level(found)}"
    return _break(found.level, found.level_low, found.level_high, words, "differs")


def _break(
    at: float | None, low: float | None, high: float | None, words: str, role: Role
) -> Break | None:
    if at is None and (low is None or high is None):
        return None
    ends = (low, high) if low is not None and high is not None else (at or 0.0, at or 0.0)
    first, bracket, rest = words.partition(" (")
    lines = (first, *([f"({rest}"] if bracket else []))
    return Break(at=at, low=ends[0], high=ends[1], lines=lines, role=role)


def saturated_hint(point: PointResult, experiment: ExperimentResult) -> str:
    """Return the two lines that are shown over the mark of a saturated point."""
    words = saturation_words(point.saturation) if point.saturation else ""
    return f"{label_point(point, experiment.factors)}\nsaturated: {words}"


def saturated_caption(count: int, mark: str) -> str:
    """Return the meaning of the marks of `count` saturated points; empty if there are none.

    Examples
    --------
    >>> saturated_caption(2, "Arrows at the top edge")
    'Arrows at the top edge: 2 saturated points, without bound.'
    """
    return f"{mark}: {count_noun(count, 'saturated point')}, without bound." if count else ""


def _of(experiment: ExperimentResult, metric: str) -> list[LimitCrossing]:
    return [limit for limit in experiment.limits if limit.metric == metric]


def _bound(found: LimitCrossing) -> float:
    bound = found.at_most if found.at_most is not None else found.at_least
    return 0.0 if bound is None else bound


def _is_near(bound: float, ends: Sequence[float], *, is_log: bool) -> bool:
    if not ends:
        return False
    if not is_log:
        return bound <= _REACH * max(ends)
    return min(ends) / _LOG_REACH <= bound <= _LOG_REACH * max(ends)
