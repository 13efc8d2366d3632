"""Curves of the first screen: a choice of metrics over a factor, with its marks."""

import math
from collections.abc import Iterator, Sequence

from headroom.analysis.answer_evidence import FigureChoice, Mark, TriedChange
from headroom.analysis.pictures import evenly
from headroom.analysis.results import ClaimResult, Estimate, ExperimentResult, PointResult
from headroom.experiment.protocol.system import Value
from headroom.quantities import Scale, format_bounds, format_given, format_level
from headroom.report.dimensions import is_log_like
from headroom.report.figures import inputs
from headroom.report.figures.axes import level_axis
from headroom.report.figures.inputs import Break, Curve, Dot, Line, Reference, Saturated
from headroom.report.figures.roles import Role
from headroom.report.first_screen.scales import (
    factor_scale,
    factor_title,
    is_at,
    scale_of,
    shared_words,
    short,
    times,
    title_of,
    value_axis,
    where_of,
)
from headroom.report.first_screen.sentences.names import applied_words, level_number, where_words
from headroom.report.notes.saturation import is_unbounded
from headroom.report.numbers import format_estimate
from headroom.report.titles import level_title
from headroom.report.words import label_metric

MOST_LINES = 5
_ROLES: tuple[Role, ...] = ("data", "third", "context", "published", "better")
_MOST_PRINTED = 6
_MOST_ARROWS = 4
_MOST_DOTS = 120
"""Points of a line, evenly chosen from all: more of them would touch."""
_LOG_FROM = 1000.0
"""Largest over smallest value from which a curve needs a log axis."""
_SAME = 0.02
"""Relative distance up to which theory is not drawn next to simulated values."""


def curve_of(
    choice: FigureChoice, experiment: ExperimentResult, claims: Sequence[ClaimResult] = ()
) -> Curve | None:
    """Return the curve of a choice; None if fewer than two levels have results."""
    lines = list(_lines_of(choice, experiment))[:MOST_LINES]
    estimates = [estimate for _, _, line in lines for _, estimate in line]
    levels = {level for _, _, line in lines for level, _ in line}
    if len(levels) < 2:  # noqa: PLR2004
        return None
    scale, across = scale_of(estimates), factor_scale(experiment, choice.factor)
    drawn = tuple(
        Line(label=label, role=_role(choice, metric, place), dots=_dots(line, across, scale))
        for place, (label, metric, line) in enumerate(lines)
    )
    values = [dot.y for line in drawn for dot in line.dots]
    saturated = _saturated(choice, experiment, across)
    at = [*(level * across.factor for level in levels), *(one.x for one in saturated)]
    is_spread = min(values) > 0.0 and max(values) > _LOG_FROM * min(values)
    limited = next((mark for mark in choice.marks if mark.kind in {"knee", "limit"}), None)
    theory = _theory(experiment, choice, across, scale) if len(drawn) == 1 else None
    return Curve(
        x=level_axis(at, factor_title(experiment, choice.factor, across), is_log=is_log_like(at)),
        y=value_axis(
            [*values, *_ends(drawn)], title_of(choice.metrics, scale), scale, is_log=is_spread
        ),
        lines=(*drawn, *([theory] if theory else [])),
        breaks=tuple(_breaks(choice, across)),
        limited_from=_start_of(limited, across),
        limited_by=_limited_by(limited),
        before="nothing limits" if limited and limited.name else "",
        references=tuple(_references(choice, scale)),
        marks=tuple(_marks(choice, experiment, (across, scale), claims)),
        saturated=saturated,
    )


def _lines_of(
    choice: FigureChoice, experiment: ExperimentResult
) -> Iterator[tuple[str, str, list[tuple[float, Estimate]]]]:
    """Yield label, metric and estimates of each line: one by series or one by metric."""
    points = [point for point in experiment.points if is_at(point, where_of(choice, experiment))]
    if len(choice.metrics) > 1 or not choice.series:
        first = points[0] if points else None
        rest = {} if first is None else _rest_of(first, choice, experiment)
        for metric in choice.metrics:
            line = _line([point for point in points if is_at(point, rest)], choice.factor, metric)
            if line:
                yield _metric_words(metric, choice.metrics), metric, line
        return
    for level in dict.fromkeys(point.levels.get(choice.series) for point in points):
        chosen = [point for point in points if point.levels.get(choice.series) == level]
        line = _line(chosen, choice.factor, choice.metrics[0])
        if line:
            yield _series_words(choice.series, level), choice.metrics[0], line


def _rest_of(
    point: PointResult, choice: FigureChoice, experiment: ExperimentResult
) -> dict[str, Value]:
    """Return the levels of the factors that are on no axis, as at `point`."""
    moving = {choice.factor}
    for factor in experiment.factors:
        if choice.factor == factor.name:
            moving.update(factor.zipped_with)
    return {name: level for name, level in point.levels.items() if name not in moving}


def _series_words(factor: str, level: object) -> str:
    if isinstance(level, int | float | str) and (title := level_title(factor, level)):
        return title
    text = format_level(level)
    return f"{factor} {text}" if isinstance(level, int | float) else text


def _metric_words(metric: str, among: Sequence[str]) -> str:
    """Return the words of a metric without those that all of its companions share.

    Examples
    --------
    >>> parts = ["station.database.utilization", "pool.connections.utilization"]
    >>> _metric_words(parts[0], parts), _metric_words("response_s_p95", ["response_s_p95"])
    ('database', 'response time p95')
    >>> _metric_words("response_s_p95", ["response_s_mean", "response_s_p95"])
    'p95'
    """
    label = label_metric(metric)
    shared = shared_words(among)
    own = [word for word in label.split(" ") if word not in shared]
    return " ".join(own) if len(among) > 1 and own else label


def _line(points: Sequence[PointResult], factor: str, metric: str) -> list[tuple[float, Estimate]]:
    found = [
        (float(point.levels[factor]), point.estimates[metric])
        for point in points
        if metric in point.estimates
        and isinstance(point.levels.get(factor), int | float)
        and math.isfinite(point.estimates[metric].value)
    ]
    found.sort(key=lambda pair: pair[0])
    return [found[place] for place in evenly(len(found), _MOST_DOTS)]


def _role(choice: FigureChoice, metric: str, place: int) -> Role:
    """Return the colour of a line: that of a limit for the part that limits."""
    part = getattr(getattr(choice.finding, "part", None), "name", "")
    is_limiting = getattr(choice.finding, "is_limiting", False)
    if is_limiting and f".{part}." in metric:
        return "limit"
    return _ROLES[place]


def _dots(line: Sequence[tuple[float, Estimate]], across: Scale, scale: Scale) -> tuple[Dot, ...]:
    return tuple(
        Dot(
            x=level * across.factor,
            y=estimate.value * scale.factor,
            low=_finite(estimate.low, scale),
            high=_finite(estimate.high, scale),
            hint=f"{format_level(level)}: {format_estimate(estimate)}",
        )
        for level, estimate in line
    )


def _finite(value: float | None, scale: Scale) -> float | None:
    return None if value is None or not math.isfinite(value) else value * scale.factor


def _ends(lines: Sequence[Line]) -> list[float]:
    """Return the upper ends of intervals, up to where they would dwarf the values."""
    highest = max(dot.y for line in lines for dot in line.dots)
    ends = [dot.high for line in lines for dot in line.dots if dot.high is not None]
    return [min(end, 1.5 * highest) for end in ends]


def _theory(
    experiment: ExperimentResult, choice: FigureChoice, across: Scale, scale: Scale
) -> Line | None:
    """Return the values of formulas, if they differ visibly from the simulated ones."""
    metric = choice.metrics[0]
    pairs = [
        (float(point.levels[choice.factor]), point.solver.values[metric], point.estimates[metric])
        for point in experiment.points
        if is_at(point, where_of(choice, experiment))
        and point.solver is not None
        and metric in point.solver.values
        and metric in point.estimates
    ]
    if len(pairs) < 2 or all(abs(t - e.value) <= _SAME * abs(e.value) for _, t, e in pairs):  # noqa: PLR2004
        return None
    dots = tuple(
        Dot(x=level * across.factor, y=value * scale.factor) for level, value, _ in sorted(pairs)
    )
    return Line(label="theory", role="published", dots=dots, is_dashed=True)


def _start_of(mark: Mark | None, across: Scale) -> float | None:
    if mark is None or mark.level is None or not isinstance(mark.level.value, int | float):
        return None
    return float(mark.level.value) * across.factor


def _limited_by(mark: Mark | None) -> str:
    return f"{mark.name} limits" if mark and mark.name else ""


def _breaks(choice: FigureChoice, across: Scale) -> Iterator[Break]:
    for mark in choice.marks:
        level = mark.level
        if level is None or level.low is None or level.high is None:
            continue
        value = level.value
        is_number = isinstance(value, int | float)
        text = format_bounds(float(value), level.low, level.high, "1") if is_number else ""
        first, bracket, rest = text.partition(" (")
        name = {"knee": "knee: ", "target": "passes at "}.get(mark.kind, "")
        lines = (f"{name}{first} {level.factor}", *([f"({rest}"] if bracket else []))
        is_open, kept = value == level.low, getattr(choice.finding, "kept", "below")
        if is_open and mark.kind == "target":  # Only the levels around are known.
            ends = f"{level_number(level.low)} and {level_number(level.high)}"
            verb = "kept" if kept == "between" else "passes"
            lines = (f"{verb} between {level.factor} {ends}",)
        elif kept == "above" and is_number:
            lines = (f"kept from {level_number(float(value))} {level.factor}",)
        if mark.setting:
            lines = (*lines[:1], where_words(mark.setting).rstrip(", "))
        yield Break(
            at=float(value) * across.factor if is_number and not is_open else None,
            low=level.low * across.factor,
            high=level.high * across.factor,
            lines=lines,
        )


def _references(choice: FigureChoice, scale: Scale) -> Iterator[Reference]:
    for mark in choice.marks:
        if mark.kind == "target" and mark.value is not None:
            bound = format_given(mark.value.value, mark.value.unit, metric=mark.value.metric)
            is_upper = getattr(choice.finding, "is_upper", True)
            words = f"at {'most' if is_upper else 'least'} {bound}"
            yield Reference(y=mark.value.value * scale.factor, label=words)


def _marks(
    choice: FigureChoice,
    experiment: ExperimentResult,
    scales: tuple[Scale, Scale],
    claims: Sequence[ClaimResult],
) -> Iterator[inputs.Mark]:
    """Yield the best what-if change, the current load or chosen level, and published numbers."""
    across, scale = scales
    best = getattr(choice.finding, "best", None)
    last = max(
        (float(p.levels[choice.factor]) for p in experiment.points if choice.factor in p.levels),
        default=0.0,
    )
    if isinstance(best, TriedChange) and best.metric == choice.metrics[0]:
        much = f": {times(best.gain.value)}" if best.gain else ""
        words = f"{applied_words(best.applied)}{much}"
        yield inputs.Mark(
            x=last * across.factor, y=best.after * scale.factor, lines=(words,), role="better"
        )
    yield from _today(choice, experiment, scales)
    printed = [
        claim
        for claim in claims
        if claim.printed is not None
        and claim.experiment == experiment.name
        and claim.metric == choice.metrics[0]
        and choice.factor in claim.printed.levels
    ]
    for claim in printed[:_MOST_PRINTED]:
        if claim.printed is not None:
            yield inputs.Mark(
                x=float(claim.printed.levels[choice.factor]) * across.factor,
                y=claim.printed.value * scale.factor,
                lines=("published",) if claim is printed[0] else (),
                role="published",
            )


def _today(
    choice: FigureChoice, experiment: ExperimentResult, scales: tuple[Scale, Scale]
) -> Iterator[inputs.Mark]:
    across, scale = scales
    found = next((m for m in choice.marks if m.kind in {"current", "chosen"}), None)
    level = found.level if found else None
    if found is None or level is None:
        return
    name = "today: " if found.kind == "current" else ""
    for point in experiment.points:
        is_there = point.levels.get(choice.factor) == level.value
        if (
            is_there
            and is_at(point, where_of(choice, experiment))
            and choice.metrics[0] in point.estimates
        ):
            estimate = point.estimates[choice.metrics[0]]
            yield inputs.Mark(
                x=float(level.value) * across.factor,
                y=estimate.value * scale.factor,
                lines=(f"{name}{short(estimate)}",),
                role="data",
            )
            return


def _saturated(
    choice: FigureChoice, experiment: ExperimentResult, across: Scale
) -> tuple[Saturated, ...]:
    """Return the saturated levels at which the metric has no bound, each with its load."""
    found = {
        float(point.levels[choice.factor]) * across.factor: (
            f"{point.saturation.load:.2f}" if point.saturation and point.saturation.load else ""
        )
        for point in experiment.points
        if is_at(point, where_of(choice, experiment))
        and isinstance(point.levels.get(choice.factor), int | float)
        and any(is_unbounded(point, metric) for metric in choice.metrics)
    }
    return tuple(Saturated(x=x, text=text) for x, text in sorted(found.items())[:_MOST_ARROWS])
