"""Results of formulas in the terminal: values, bounds, and how far to trust them.

Invariant: prints what a `Forecast` holds; nothing is computed here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.console import Console

from headroom.experiment.protocol.system import Value
from headroom.forecasts import Forecast, Limits
from headroom.quantities import (
    choose_scale,
    format_bounds,
    format_given,
    format_level,
    format_levels,
    format_percent,
    format_scaled,
)
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, title_metric

_STATION_METRICS = {
    "utilization": "1",
    "throughput": "1/s",
    "wait_s_mean": "s",
    "service_s_mean": "s",
    "response_s_mean": "s",
    "queue_len_mean": "1",
}
_RESOURCES = ("station", "pool")
_REASONS_AT_MOST = 10
_ROWS_AT_MOST = 1000
SIMULATED_RUNS = 8
"""Runs of the short simulation in place of an estimate."""


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """A mean of a short simulation, in base units, with its 95% interval."""

    value: float
    low: float
    high: float


class SolvedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point with what formulas say about it.

    Parameters
    ----------
    name
        The model or experiment that it belongs to.
    levels
        What varies, with its level here.
    forecast
        The answer.
    simulate
        A command that simulates it for a short time; empty if a study does.
    simulated, simulated_completions
        What a short simulation gives where formulas give no estimate, and the completions of each
        of its runs; empty without one.
    """

    name: str
    levels: dict[str, Value]
    forecast: Forecast
    simulate: str = ""
    simulated: dict[str, Simulated] = {}
    simulated_completions: int = 0

    def found(self) -> Iterator[tuple[str, float, str]]:
        """Yield each metric with its value and how it was found; what formulas know comes first."""
        for metric, value in self.forecast.values.items():
            yield metric, value, self.forecast.method
        for metric, one in self.simulated.items():
            if metric not in self.forecast.values:
                yield metric, one.value, "short simulation"


def unit_of(metric: str) -> str:
    """Return the base unit that the name of a metric tells.

    Examples
    --------
    >>> unit_of("response_s_p95"), unit_of("class.web.throughput"), unit_of("jobs_mean")
    ('s', '1/s', '1')
    """
    name = metric.rpartition(".")[2]
    if name == "throughput":
        return "1/s"
    return "s" if "_s_" in name else "1"


def render_solved(points: Sequence[SolvedPoint], console: Console) -> None:
    """Print one point in full, or a table of several.

    Examples
    --------
    >>> found = Forecast(values={"throughput": 80.0}, is_exact=True, method="exact (M/M/c)")
    >>> points = [SolvedPoint(name="mm1", levels={}, forecast=found)]
    >>> render_solved(points, Console(width=60, no_color=True))  # doctest: +ELLIPSIS
    mm1
    Answer     exact (M/M/c)
    ...
    """
    screen = Screen(console)
    if len(points) == 1:
        _render_one(points[0], screen)
        return
    for name in dict.fromkeys(point.name for point in points):
        _render_table(name, [point for point in points if point.name == name], screen)


def _render_one(point: SolvedPoint, screen: Screen) -> None:
    forecast = point.forecast
    title = f"{point.name}: {format_levels(point.levels)}" if point.levels else point.name
    screen.line(title, "bold")
    answer = _simulated_words(point) if point.simulated else _label(forecast)
    screen.item("Answer", answer, "" if forecast.is_exact else "yellow")
    if forecast.known_error:
        screen.item("Error", forecast.known_error)
    for caution in forecast.cautions:
        screen.item("Caution", f"{caution}.", "yellow")
    _render_reasons([point], screen)
    for limits in forecast.limits:
        screen.item("Bounds", _bounds_words(limits, is_only=len(forecast.limits) == 1))
    for note in dict.fromkeys(note for limits in forecast.limits for note in limits.notes):
        screen.item("", note)
    _offer([point], screen)
    own = {metric.rpartition(".")[0] for metric in forecast.values if metric.startswith("class.")}
    whole = {
        metric: value
        for metric, value in forecast.values.items()
        if not metric.startswith(_RESOURCES) and (len(own) > 1 or "." not in metric)
    }
    simulated = {metric: one.value for metric, one in point.simulated.items()}
    whole = {
        metric: value for metric, value in simulated.items() if not metric.startswith(_RESOURCES)
    } | whole
    if whole:
        cells = [
            _with_interval(metric, point.simulated[metric])
            if metric not in forecast.values
            else format_given(value, unit_of(metric), metric=metric)
            for metric, value in whole.items()
        ]
        names = list(map(title_metric, whole))
        screen.table([Column("Metric", names), Column("Value", cells)])
    for kind in _RESOURCES:
        _render_resources(kind, {**simulated, **forecast.values}, screen)


def _simulated_words(point: SolvedPoint) -> str:
    nothing = "the mean does not exist" if point.forecast.is_exact else "no formula applies"
    why = point.forecast.method.partition(": ")[2] or nothing
    return (
        f"short simulation, {SIMULATED_RUNS} runs of {point.simulated_completions:,} completions "
        f"with 95% intervals: {why}"
    )


def _with_interval(metric: str, found: Simulated) -> str:
    return format_bounds(found.value, found.low, found.high, unit_of(metric), metric=metric)


def _label(found: Forecast) -> str:
    if found.method:
        return found.method
    return "no steady state" if found.overload else "none: no formula applies"


def _render_reasons(points: Sequence[SolvedPoint], screen: Screen) -> None:
    """Print why answers are approximate, the reasons of all points once."""
    reasons = dict.fromkeys(
        reason
        for point in points
        for reason in (point.forecast.overload, *point.forecast.reasons)
        if reason
    )
    shown = list(reasons)[:_REASONS_AT_MOST]
    for number, reason in enumerate(shown):
        screen.item("" if number else "Because", reason)
    if len(reasons) > len(shown):
        screen.item("", f"and {count_noun(len(reasons) - len(shown), 'more reason')}")


def _offer(points: Sequence[SolvedPoint], screen: Screen) -> None:
    """Print the command that simulates a point without an estimate for a short time."""
    told = [
        point
        for point in points
        if point.forecast.refused and point.simulate and not point.simulated
    ]
    if told:
        screen.item("Simulate", told[0].simulate)


def theory_lines(forecast: Forecast) -> list[str]:
    """Return what formulas say as a few lines: the values, how they were found, the bounds."""
    told = [
        f"{title_metric(metric)} {format_given(forecast.values[metric], unit_of(metric))}"
        for metric in ("throughput", "response_s_mean")
        if metric in forecast.values
    ]
    nothing = "No formula solves this model."
    if not told and forecast.refused:
        nothing = f"No estimate: {_label(forecast).partition(': ')[2]}."
    first = [", ".join(told)] if told else [forecast.overload or nothing]
    label = [_label(forecast)] if told else list(forecast.reasons[:1])
    is_only = len(forecast.limits) == 1
    return [*first, *label, *(_bounds_words(one, is_only=is_only) for one in forecast.limits)]


def bound_lines(forecast: Forecast) -> list[str]:
    """Return what bounds a model, the highest throughput first."""
    is_only = len(forecast.limits) == 1
    found = [_bounds_words(one, is_only=is_only) for one in forecast.limits]
    found = [f"{line[:1].upper()}{line[1:]}" for line in found]
    return [forecast.overload, *found] if forecast.overload else found


def _bounds_words(limits: Limits, *, is_only: bool) -> str:
    who = "" if is_only else f"{limits.class_name}: "
    high = format_given(limits.throughput_high, "1/s")
    by = f", set by {limits.resource}" if limits.resource else ""
    low = (
        f"{format_given(limits.throughput_low, '1/s')} to "
        if limits.throughput_low > 0
        else "at most "
    )
    if math.isinf(limits.throughput_high):
        return f"{who}nothing bounds the throughput"
    knee = f"; knee at {format_given(limits.knee, '1')} jobs" if limits.knee is not None else ""
    least = (
        f"; response at least {format_given(limits.response_s_low, 's')}"
        if limits.response_s_low > 0
        else ""
    )
    return f"{who}throughput {low}{high}{by}{least}{knee} ({limits.kind})"


def _render_resources(kind: str, values: Mapping[str, float], screen: Screen) -> None:
    prefix = f"{kind}."
    names = dict.fromkeys(
        metric.removeprefix(prefix).rpartition(".")[0]
        for metric in values
        if metric.startswith(prefix)
    )
    columns = [
        _value_column(
            metric, unit, [values.get(f"{prefix}{name}.{metric}", math.nan) for name in names]
        )
        for metric, unit in _STATION_METRICS.items()
    ]
    kept = [column for column in columns if any(column.cells)]
    if names:
        screen.table([Column(kind.capitalize(), list(names)), *kept])


def _value_column(metric: str, unit: str, values: Sequence[float]) -> Column:
    scale = choose_scale(values, unit, metric=metric)
    cells = ["" if math.isnan(value) else format_scaled(value, scale) for value in values]
    label = f" ({scale.label})" if scale.label else ""
    return Column(f"{title_metric(metric)}{label}", cells, is_number=True)


def _render_table(name: str, points: Sequence[SolvedPoint], screen: Screen) -> None:
    screen.line(name, "bold")
    rows = _folded(points)
    shown = [row[0] for row in rows[:_ROWS_AT_MOST]]
    factors = dict.fromkeys(factor for point in points for factor in point.levels)
    columns = [
        Column(
            factor,
            [_levels_cell(factor, row) for row in rows[:_ROWS_AT_MOST]],
            is_number=all(isinstance(point.levels.get(factor), (int, float)) for point in shown),
        )
        for factor in factors
    ]
    for metric in ("throughput", "response_s_mean", "response_s_p95"):
        values = [_value(point, metric) for point in shown]
        if not all(map(math.isnan, values)):
            columns.append(_value_column(metric, unit_of(metric), values))
    columns.append(Column("Busiest", [_busiest(point.forecast.values) for point in shown]))
    labels = ["simulated" if one.simulated else _short_label(one.forecast) for one in shown]
    if len(set(labels)) > 1:  # One method for all stands below the table.
        columns.append(Column("Answer", labels))
    screen.table(columns)
    if len(rows) > len(shown):
        screen.line(f"The first {len(shown):,} of {len(rows):,} rows; --json gives all.", "dim")
    if len(rows) < len(points):
        folded = f"{count_noun(len(points), 'point')} in {count_noun(len(rows), 'row')}"
        screen.line(f"{folded}: equal answers one after another are one row.", "dim")
    methods = dict.fromkeys(
        _simulated_words(one) if one.simulated else one.forecast.method for one in points
    )
    for method in filter(None, methods):
        screen.item("Method", method)
    for error in dict.fromkeys(filter(None, (one.forecast.known_error for one in points))):
        screen.item("Error", error)
    _render_reasons(points, screen)
    _offer(points, screen)
    knees = {point.forecast.limits[0].knee for point in points if len(point.forecast.limits) == 1}
    if len(knees) == 1 and (knee := next(iter(knees))) is not None:
        screen.item("Knee", f"{format_given(knee, '1')} jobs")


def _folded(points: Sequence[SolvedPoint]) -> list[list[SolvedPoint]]:
    """Return the points by row: one after another with the same answer share one."""
    rows: list[list[SolvedPoint]] = []
    for point in points:
        last = rows[-1][0] if rows else None
        is_same = last is not None and point.levels.keys() == last.levels.keys()
        if is_same and last is not None and _answer_of(point) == _answer_of(last):
            rows[-1].append(point)
        else:
            rows.append([point])
    return rows


def _answer_of(point: SolvedPoint) -> tuple[object, ...]:
    return point.forecast, point.simulated


def _levels_cell(factor: str, row: Sequence[SolvedPoint]) -> str:
    """Return the level of a factor in a row, or its first and last one."""
    levels = list(dict.fromkeys(format_level(point.levels.get(factor)) for point in row))
    return levels[0] if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"


def _value(point: SolvedPoint, metric: str) -> float:
    """Return what a formula gives, else what a short simulation does."""
    simulated = point.simulated.get(metric)
    return point.forecast.values.get(metric, simulated.value if simulated else math.nan)


def _busiest(values: Mapping[str, float]) -> str:
    used = {
        metric.removesuffix(".utilization").partition(".")[2]: value
        for metric, value in values.items()
        if metric.endswith(".utilization") and metric.startswith(_RESOURCES)
    }
    if not used:
        return ""
    # Of equally busy ones the station is the cause: tokens are held while it is used.
    name = max(used, key=lambda one: (round(used[one], 3), f"station.{one}.utilization" in values))
    return f"{name} {format_percent(used[name])}"


def _short_label(found: Forecast) -> str:
    if found.overload:
        return "no steady state"
    if found.refused:
        return "refused"
    if not found.method:
        return "none"
    return "exact" if found.is_exact else "approximate"
