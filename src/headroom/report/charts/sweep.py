"""Figures of a response over a factor: lines with bands, or dots with intervals."""

from collections.abc import Sequence

from headroom.analysis.results import ClaimResult, Estimate, ExperimentResult, Knee, PointResult
from headroom.quantities import Scale, choose_scale, format_levels
from headroom.report.charts.channels import value_scale
from headroom.report.charts.dots import dots
from headroom.report.charts.figure import (
    Figure,
    Row,
    describe_interval,
    drawn_words,
    estimate_row,
    thin,
)
from headroom.report.charts.limit_lines import crossing_rows, limit_rows, limit_words
from headroom.report.charts.lines import lines
from headroom.report.charts.saturated import saturated_caption, saturated_rows
from headroom.report.dimensions import Dimension, dimensions_of, hold_label
from headroom.report.findings.beside import theory_words
from headroom.report.numbers import format_knee
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
_KNEES_AT_MOST = 200
_LABELS_IN_HALF_A_ROW = 20


def sweep_figures(
    experiment: ExperimentResult, *, marks: int, claims: Sequence[ClaimResult] = ()
) -> list[Figure]:
    """Return the figures of all responses over all factors that have more than one level.

    Parameters
    ----------
    marks
        Marks per figure at most.
    claims
        Claims of the study: numbers that were published for a point are drawn next to Headroom's.
    """
    claims = [claim for claim in claims if claim.experiment == experiment.name]
    dimensions = dimensions_of(experiment)
    numeric = [dimension for dimension in dimensions if dimension.is_numeric]
    figures = []
    for metric in experiment.responses:
        axes = _worth_an_axis(numeric, dimensions) or dimensions[:1]
        printed = [claim for claim in claims if claim.metric == metric and claim.printed]
        figures += [
            _figure(experiment, metric, axis, dimensions, marks, printed=printed) for axis in axes
        ]
    return [figure for figure in figures if figure.rows]


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


def _figure(
    experiment: ExperimentResult,
    metric: str,
    axis: Dimension,
    dimensions: Sequence[Dimension],
    marks: int,
    *,
    printed: Sequence[ClaimResult],
) -> Figure:
    beside, held = split_rest([other for other in dimensions if other is not axis])
    series = beside or _lead_of(axis)
    found = [
        (point, point.estimates[metric]) for point in experiment.points if metric in point.estimates
    ]
    estimates = [estimate for _, estimate in found]
    scale = scale_of(estimates)
    drawn = thin(
        found,
        at_most=marks,
        curve_of=lambda pair: (
            series.label_of(pair[0]) if series else "",
            hold_label(pair[0], held),
        ),
    )
    rows = [
        _row(p, estimate, scale, axis=axis, series=series, held=held)
        | _printed_of(p, printed, scale)
        for p, estimate in drawn
    ]
    knees = _knee_rows(experiment, metric, axis, series, held)[:_KNEES_AT_MOST]
    saturated = saturated_rows(experiment.points, metric, axis=axis, series=series, held=held)
    missing = len(experiment.points) - len(found) - len(saturated)
    is_log = value_scale(rows, metric)["scale"].get("type") == "log"
    limits = limit_rows(experiment, metric, scale, rows, is_log=is_log)
    crossings = crossing_rows(experiment, metric, limits, axis=axis, series=series, held=held)
    words = [
        describe_interval(estimates),
        _knee_words(knees),
        saturated_caption(
            len(saturated), f"Triangles at the {'top' if axis.is_numeric else 'right'} edge"
        ),
        limit_words(experiment, metric, limits, crossings),
        _missing_words(missing),
    ]
    if axis.is_numeric:
        words.insert(1, theory_words(experiment, metric))
        words.insert(1, _printed_words(printed, rows))
    better = estimates[0].better if estimates else "none"
    title = axis_title(metric, scale)
    spec = (
        lines(
            rows,
            knees,
            limits=limits,
            crossings=crossings,
            saturated=saturated,
            axis=axis,
            series=series,
            title=title,
            metric=metric,
        )
        if axis.is_numeric
        else dots(
            rows,
            limits=limits,
            saturated=saturated,
            axis=axis,
            series=series,
            is_side_by_side=beside is not None,
            title=title,
            metric=metric,
        )
    )
    return Figure(
        key=f"{experiment.name}-{metric}-{axis.name}".replace(" / ", "-").replace(".", "-"),
        title=f"{title_metric(metric)} by {axis.name}",
        caption=" ".join(filter(None, [*words, drawn_words(len(rows), len(found))])),
        direction=direction_phrase(better),
        spec=spec,
        rows=rows,
        experiment=experiment.name,
        holds=list(dict.fromkeys(row["hold"] for row in rows)) if held else [],
        hold_title=join_words([dimension.name for dimension in held]),
        is_wide=not axis.is_numeric and len(axis.labels) > _LABELS_IN_HALF_A_ROW,
    )


def _lead_of(axis: Dimension) -> Dimension | None:
    """Return the first of several words that move together, which then makes the series."""
    lead = Dimension(axis.factors[:1], is_numeric=False)
    has_lead = len(axis.factors) > 1 and not axis.factors[0].is_numeric
    return lead if has_lead and 1 < len(lead.labels) <= _SERIES_AT_MOST else None


def scale_of(estimates: Sequence[Estimate]) -> Scale:
    """Return the scale of an axis that shows `estimates`."""
    if not estimates:
        return Scale(1.0, "")
    first = estimates[0]
    values = [estimate.value for estimate in estimates]
    return choose_scale(values, first.unit, metric=first.metric)


def split_rest(rest: Sequence[Dimension]) -> tuple[Dimension | None, list[Dimension]]:
    """Return the dimension that makes the series, and those that are held by a choice."""
    fitting = [dimension for dimension in rest if len(dimension.labels) <= _SERIES_AT_MOST]
    legible = [other for other in rest if len(other.labels) <= _SERIES_IN_A_LEGEND]
    series = next(iter(fitting or legible), None)
    return series, [dimension for dimension in rest if dimension is not series]


def _row(
    point: PointResult,
    estimate: Estimate,
    scale: Scale,
    *,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> Row:
    level = axis.number_of(point) if axis.is_numeric else axis.label_of(point)
    return {
        "level": level,
        "series": series.label_of(point) if series else "",
        "hold": hold_label(point, held),
        "point": format_levels(point.levels),
        **estimate_row(estimate, scale),
        **_theory_of(point, estimate.metric, scale),
    }


def _printed_of(point: PointResult, printed: Sequence[ClaimResult], scale: Scale) -> Row:
    """Return the published values for a point, next to the row of Headroom's value."""
    for claim in printed:
        if claim.printed is not None and claim.printed.levels == point.levels:
            return {"printed": claim.printed.value * scale.factor, "printed_in": claim.source}
    return {}


def _printed_words(printed: Sequence[ClaimResult], rows: Sequence[Row]) -> str:
    if not any("printed" in row for row in rows):
        return ""
    sources = list(dict.fromkeys(claim.source for claim in printed))
    return f"Crosses: what was published ({join_words(sources)})."


def _theory_of(point: PointResult, metric: str, scale: Scale) -> Row:
    if point.solver is None or metric not in point.solver.values:
        return {}
    return {"theory": point.solver.values[metric] * scale.factor}


def _knee_rows(
    experiment: ExperimentResult,
    metric: str,
    axis: Dimension,
    series: Dimension | None,
    held: Sequence[Dimension],
) -> list[Row]:
    names = {factor.name for factor in axis.factors}
    return [
        _knee_row(knee, series, held)
        for knee in experiment.knees
        if knee.found and knee.level is not None and knee.metric == metric and knee.factor in names
    ]


def _knee_row(knee: Knee, series: Dimension | None, held: Sequence[Dimension]) -> Row:
    point = PointResult(key="", levels=knee.where, done=0, failed=0)
    return {
        "knee": knee.level,
        "knee_low": knee.level_low,
        "knee_high": knee.level_high,
        "series": series.label_of(point) if series else "",
        "hold": hold_label(point, held),
        "label": f"knee {format_knee(knee).split(' ')[0]}",
    }


def _missing_words(count: int) -> str:
    return f"Not drawn: {count_noun(count, 'point')} without a result." if count else ""


def _knee_words(knees: Sequence[Row]) -> str:
    return "Dashed upright: the knee, with its interval shaded." if knees else ""
