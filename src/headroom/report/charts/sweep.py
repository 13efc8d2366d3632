"""Figures of a response over a factor: curves over numbers, rows of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headroom.analysis.results import ClaimResult, Estimate, ExperimentResult, PointResult
from headroom.quantities import Scale, format_quantity, is_share
from headroom.report.charts.limits import (
    breaks_of,
    limit_words,
    limits_of,
    saturated_caption,
    saturated_hint,
)
from headroom.report.charts.panel import (
    Panel,
    dot_of,
    drawn_words,
    hint_of,
    panel_key,
    thin,
)
from headroom.report.dimensions import Dimension, dimensions_of, hold_label, is_log_like
from headroom.report.figures.axes import Axis, level_axis
from headroom.report.figures.curve import MOST_NAMED
from headroom.report.figures.inputs import (
    Break,
    Curve,
    Dot,
    Figure,
    Line,
    Mark,
    Reference,
    Row,
    Rows,
    Saturated,
)
from headroom.report.figures.roles import SERIES, Role
from headroom.report.findings.beside import theory_words
from headroom.report.first_screen.scales import scale_of, scaled, value_axis
from headroom.report.notes.saturation import SATURATED, is_unbounded
from headroom.report.numbers import format_estimate
from headroom.report.sentences.intervals import describe_interval
from headroom.report.words import (
    axis_title,
    count_noun,
    direction_phrase,
    join_words,
    title_metric,
)

_SERIES_AT_MOST = 8
_LEVELS_OF_A_CURVE = 3
_SERIES_IN_A_LEGEND = 24
_MOST_IN_A_PANEL = 30
"""Levels for which a narrow figure has room."""
_LOG_VALUES = 50.0
"""Largest over smallest value from which only a log scale shows all."""
_FEW = 0.25
"""Share below which a chart of losses and the like does not reach up to all."""
_OF_FEW = ("_ratio", "_share")
"""Endings of shares that are hoped to be few; utilizations are seen against all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sweep:
    """A response over an axis: which points, which series, which factors are held."""

    experiment: ExperimentResult
    metric: str
    axis: Dimension
    series: Dimension | None
    held: Sequence[Dimension]
    printed: Sequence[ClaimResult]
    scale: Scale
    is_log: bool
    limits: tuple[Reference, ...]

    def label_of(self, point: PointResult) -> str:
        """Return the series of a point."""
        return self.series.label_of(point) if self.series else ""

    def labels(self) -> list[str]:
        """Return the series in their order."""
        return self.series.labels if self.series else [""]

    def named(self, label: str) -> str:
        """Return the name of a series: a number with what it counts."""
        is_number = self.series is not None and self.series.is_numeric
        return f"{self.series.name} {label}" if is_number and self.series else label


def sweep_panels(
    experiment: ExperimentResult, *, marks: int, claims: Sequence[ClaimResult] = ()
) -> list[Panel]:
    """Return the panels of all responses over all factors that have more than one level.

    Parameters
    ----------
    marks
        Marks per panel at most.
    claims
        Claims of the study: numbers that were published for a point are drawn next to Headroom's.
    """
    claims = [claim for claim in claims if claim.experiment == experiment.name]
    dimensions = dimensions_of(experiment)
    numeric = [dimension for dimension in dimensions if dimension.is_numeric]
    axes = _worth_an_axis(numeric, dimensions) or dimensions[:1]
    return [
        _panel(experiment, metric, axis, dimensions, marks=marks, claims=claims)
        for metric in experiment.responses
        if any(metric in point.estimates for point in experiment.points)
        for axis in axes
    ]


def _worth_an_axis(
    numeric: Sequence[Dimension], dimensions: Sequence[Dimension]
) -> list[Dimension]:
    """Return the first numeric dimension, and others that show a curve in a few series."""
    return [
        axis
        for axis in numeric
        if axis is numeric[0]
        or (
            len(axis.labels) >= _LEVELS_OF_A_CURVE
            and all(len(d.labels) <= _SERIES_AT_MOST for d in dimensions if d is not axis)
        )
    ]


def _panel(
    experiment: ExperimentResult,
    metric: str,
    axis: Dimension,
    dimensions: Sequence[Dimension],
    *,
    marks: int,
    claims: Sequence[ClaimResult],
) -> Panel:
    beside, held = split_rest([other for other in dimensions if other is not axis])
    found = [
        (point, point.estimates[metric]) for point in experiment.points if metric in point.estimates
    ]
    estimates = [estimate for _, estimate in found]
    scale = scale_of(estimates)
    ends = [end * scale.factor for one in estimates for end in _ends(one)]
    is_log = _is_log(estimates)
    sweep = _Sweep(
        experiment=experiment, metric=metric, axis=axis, series=beside or _lead_of(axis),
        held=held, scale=scale, is_log=is_log,
        printed=[claim for claim in claims if claim.metric == metric and claim.printed],
        limits=limits_of(experiment, metric, scale, ends, is_log=is_log),
    )  # fmt: skip
    drawn = thin(
        found,
        at_most=marks,
        curve_of=lambda one: (sweep.label_of(one[0]), hold_label(one[0], held)),
    )
    saturated = [point for point in experiment.points if is_unbounded(point, metric)]
    return Panel(
        key=panel_key(experiment.name, metric, axis.name),
        title=f"{title_metric(metric)} by {axis.name}",
        caption=" ".join(filter(None, _captions(sweep, estimates, len(drawn), len(saturated)))),
        direction=direction_phrase(estimates[0].better if estimates else "none"),
        pictures=_pictures(sweep, drawn, saturated),
        choice=join_words([dimension.name for dimension in held]),
        is_wide=not axis.is_numeric or len(axis.labels) > _MOST_IN_A_PANEL,
    )


def _ends(estimate: Estimate) -> list[float]:
    return [end for end in (estimate.value, estimate.low, estimate.high) if end is not None]


def _is_log(estimates: Sequence[Estimate]) -> bool:
    """Return whether only a log scale shows all; one that reaches zero has no place there."""
    if not estimates or is_share(estimates[0].metric):
        return False
    values = [one.value for one in estimates]
    lowest = min(end for one in estimates for end in _ends(one))
    return lowest > 0.0 and max(values) / min(values) >= _LOG_VALUES


def _captions(
    sweep: _Sweep, estimates: Sequence[Estimate], drawn: int, saturated: int
) -> list[str]:
    experiment, metric, axis = sweep.experiment, sweep.metric, sweep.axis
    missing = len(experiment.points) - len(estimates) - saturated
    knees = breaks_of(experiment, metric, axis, sweep.series, held=sweep.held, drawn=())
    is_numeric = axis.is_numeric
    printed = list(dict.fromkeys(claim.source for claim in sweep.printed))
    return [
        describe_interval(estimates),
        f"Hollow: what was published ({join_words(printed)})." if printed and is_numeric else "",
        theory_words(experiment, metric) if is_numeric else "",
        f"By {sweep.series.title}." if sweep.series else "",
        "Upright: the knee, with its interval." if knees and is_numeric else "",
        saturated_caption(saturated, f"Arrows at the {'top' if is_numeric else 'right'} edge"),
        limit_words(experiment, metric, sweep.limits),
        f"Not drawn: {count_noun(missing, 'point')} without a result." if missing else "",
        drawn_words(drawn, len(estimates)),
    ]


def _pictures(
    sweep: _Sweep,
    drawn: Sequence[tuple[PointResult, Estimate]],
    saturated: Sequence[PointResult],
) -> Mapping[tuple[str, str], Figure]:
    """Return a figure for each choice of the factors that are on no axis."""
    places = [*(point for point, _ in drawn), *saturated]
    holds = dict.fromkeys(hold_label(point, sweep.held) for point in places)
    draw = _curve if sweep.axis.is_numeric else _rows
    return {
        ("", hold): draw(
            sweep,
            [pair for pair in drawn if hold_label(pair[0], sweep.held) == hold],
            [point for point in saturated if hold_label(point, sweep.held) == hold],
            hold,
        )
        for hold in holds
    }


def _lead_of(axis: Dimension) -> Dimension | None:
    """Return the first of several words that move together, which then makes the series."""
    lead = Dimension(axis.factors[:1], is_numeric=False)
    has_lead = len(axis.factors) > 1 and not axis.factors[0].is_numeric
    return lead if has_lead and 1 < len(lead.labels) <= _SERIES_AT_MOST else None


def split_rest(rest: Sequence[Dimension]) -> tuple[Dimension | None, list[Dimension]]:
    """Return the dimension that makes the series, and those that are held by a choice."""
    fitting = [dimension for dimension in rest if len(dimension.labels) <= _SERIES_AT_MOST]
    legible = [other for other in rest if len(other.labels) <= _SERIES_IN_A_LEGEND]
    series = next(iter(fitting or legible), None)
    return series, [dimension for dimension in rest if dimension is not series]


def series_role(place: int) -> Role:
    """Return the colour of a series by its place."""
    return SERIES[place % len(SERIES)]


def _values_axis(sweep: _Sweep, values: Sequence[float]) -> Axis:
    """Return the axis of values: from zero, unless only a log scale shows them."""
    title = axis_title(sweep.metric, sweep.scale)
    whole = sweep.scale.factor
    is_of_few = sweep.metric.endswith(_OF_FEW) and max(values, default=0.0) < _FEW * whole
    reach = [*values, whole] if is_share(sweep.metric) and not is_of_few else values
    return value_axis(reach, title, sweep.scale, is_log=sweep.is_log)


def _curve(
    sweep: _Sweep,
    drawn: Sequence[tuple[PointResult, Estimate]],
    saturated: Sequence[PointResult],
    hold: str,
) -> Figure:
    by_label: dict[str, list[tuple[PointResult, Estimate]]] = {
        label: [] for label in sweep.labels()
    }
    for point, estimate in drawn:
        by_label[sweep.label_of(point)].append((point, estimate))
    lines = [
        Line(label=sweep.named(label), role=series_role(place), dots=_dots(sweep, pairs))
        for place, (label, pairs) in enumerate(by_label.items())
        if pairs
    ]
    theory = [line for pairs in by_label.values() if (line := _theory(sweep, pairs)) is not None]
    published = [mark for point, _ in drawn for mark in _published(sweep, point)]
    levels = [sweep.axis.number_of(point) for point in (*(p for p, _ in drawn), *saturated)]
    values = [
        *(end for _, one in drawn for end in (v * sweep.scale.factor for v in _ends(one))),
        *(dot.y for line in theory for dot in line.dots),
        *(mark.y for mark in published),
    ]
    return Curve(
        x=level_axis(levels, sweep.axis.title, is_log=is_log_like(levels)),
        y=_values_axis(sweep, values),
        lines=(*lines, *theory),
        breaks=_breaks(sweep, hold),
        references=sweep.limits,
        marks=tuple(published),
        saturated=tuple(
            Saturated(x=sweep.axis.number_of(p), hint=saturated_hint(p, sweep.experiment))
            for p in saturated
        ),
    )


def _dots(sweep: _Sweep, pairs: Sequence[tuple[PointResult, Estimate]]) -> tuple[Dot, ...]:
    dots = [
        dot_of(sweep.axis.number_of(point), estimate, sweep.scale, hint_of(point, estimate))
        for point, estimate in pairs
    ]
    return tuple(sorted(dots, key=lambda dot: dot.x))


def _theory(sweep: _Sweep, pairs: Sequence[tuple[PointResult, Estimate]]) -> Line | None:
    """Return the theory of a series, as a line without a name; None if there is none."""
    dots = [
        Dot(x=sweep.axis.number_of(point), y=point.solver.values[sweep.metric] * sweep.scale.factor)
        for point, _ in pairs
        if point.solver is not None and sweep.metric in point.solver.values
    ]
    dots.sort(key=lambda dot: dot.x)
    return Line(label="", role="published", dots=tuple(dots), is_dashed=True) if dots else None


def _printed_of(sweep: _Sweep, point: PointResult) -> tuple[float, str] | None:
    """Return the published number of a point, in the unit of the axis, and its words."""
    for claim in sweep.printed:
        if claim.printed is not None and claim.printed.levels == point.levels:
            shown = format_quantity(claim.printed.value, claim.unit, metric=sweep.metric)
            return claim.printed.value * sweep.scale.factor, f"published: {shown}\n{claim.source}"
    return None


def _published(sweep: _Sweep, point: PointResult) -> list[Mark]:
    found = _printed_of(sweep, point)
    if found is None:
        return []
    x = sweep.axis.number_of(point)
    return [Mark(x=x, y=found[0], lines=(), role="published", hint=found[1])]


def _breaks(sweep: _Sweep, hold: str) -> tuple[Break, ...]:
    """Return the knees and broken limits of a choice, each in the colour of its series."""
    found = breaks_of(
        sweep.experiment, sweep.metric, sweep.axis, sweep.series,
        held=sweep.held, drawn=sweep.limits,
    )  # fmt: skip
    labels = sweep.labels()
    here = [(label, one) for where, label, one in found if where == hold and label in labels]
    is_few = len(here) <= MOST_NAMED
    return tuple(
        replace(
            one,
            role=series_role(labels.index(label)) if len(labels) > 1 else one.role,
            is_named=is_few,
            lines=(f"{sweep.named(label)}: {one.lines[0]}", *one.lines[1:]) if label else one.lines,
        )
        for label, one in here
    )


def _rows(
    sweep: _Sweep,
    drawn: Sequence[tuple[PointResult, Estimate]],
    saturated: Sequence[PointResult],
    hold: str,  # noqa: ARG001 - as of a curve
) -> Figure:
    labels = sweep.labels()
    pairs = [*drawn, *((point, None) for point in saturated)]
    order = {label: place for place, label in enumerate(sweep.axis.labels)}
    pairs.sort(key=lambda p: (order[sweep.axis.label_of(p[0])], labels.index(sweep.label_of(p[0]))))
    rows: list[Row] = []
    last = ""
    for point, estimate in pairs:
        level = sweep.axis.label_of(point)
        rows.append(_row(sweep, point, estimate, "" if level == last else level))
        last = level
    values = [v * sweep.scale.factor for _, one in drawn for v in _ends(one)]
    values += [row.printed for row in rows if row.printed is not None]
    return Rows(
        x=_values_axis(sweep, [*values, *(limit.y for limit in sweep.limits)]),
        rows=tuple(rows),
        limits=sweep.limits,
        key=tuple(
            (sweep.named(label), series_role(place), False) for place, label in enumerate(labels)
        )
        if sweep.series
        else (),
    )


def _row(sweep: _Sweep, point: PointResult, estimate: Estimate | None, label: str) -> Row:
    place = sweep.labels().index(sweep.label_of(point))
    series = place if sweep.series else None
    if estimate is None:
        hint = saturated_hint(point, sweep.experiment)
        return Row(
            label=label, value=None, text=SATURATED, hint=hint, series=series, is_unbounded=True
        )
    printed = _printed_of(sweep, point)
    return Row(
        label=label,
        value=estimate.value * sweep.scale.factor,
        low=scaled(estimate.low, sweep.scale),
        high=scaled(estimate.high, sweep.scale),
        printed=printed[0] if printed else None,
        text=format_estimate(estimate),
        role=series_role(place),
        hint=hint_of(point, estimate),
        series=series,
    )
