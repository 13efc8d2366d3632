"""A response over two numeric factors: a heat map with one cell for each pair of levels.

Lines show one factor well and the other only as a legend. If two factors must be in balance, the
map shows the border. Each cell states its value and its bottleneck, so colour never carries
information alone.

Invariant: a cell is a point; nothing is interpolated.
"""

from collections.abc import Sequence

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import Scale, format_level, format_levels
from headroom.report.charts.channels import VALUE_TOOLTIP, layered
from headroom.report.charts.figure import Figure, Row, Spec, describe_interval, estimate_row
from headroom.report.charts.saturated import TOOLTIP, saturated_caption, saturated_words
from headroom.report.charts.sweep import scale_of
from headroom.report.dimensions import Dimension, dimensions_of, hold_label
from headroom.report.notes.saturation import is_unbounded
from headroom.report.words import axis_title, direction_phrase, join_words, title_metric

_FEWEST_CELLS = 6
"""Below, the lines say all."""
_CELLS_WITH_TEXT = 64
_COLUMNS_WITH_LIMITS = 10
_CELL_PX, _AXIS_PX = 44, 115
"""What a row of cells takes, and what legend, numbers and title of the axis take."""
_WITHOUT_BOUND = "∞"
_TEXT_PX = 7
"""Half of the distance of the two texts of a cell."""


def heat_maps(experiment: ExperimentResult, *, marks: int) -> list[Figure]:
    """Return the map of the first response, where two numeric factors span one.

    Parameters
    ----------
    marks
        Cells at most; a map with more is left out, because one with holes would mislead.
    """
    numeric = [dimension for dimension in dimensions_of(experiment) if dimension.is_numeric]
    if len(numeric) < 2 or not experiment.responses:  # noqa: PLR2004 - two axes
        return []
    up, across = sorted(numeric[:2], key=lambda one: len(one.labels))
    metric = experiment.responses[0]
    found = [
        (point, point.estimates[metric]) for point in experiment.points if metric in point.estimates
    ]
    saturated = [point for point in experiment.points if is_unbounded(point, metric)]
    is_few = len(up.labels) * len(across.labels) < _FEWEST_CELLS
    if is_few or not found or len(found) + len(saturated) > marks:
        return []
    return [_figure(experiment, found, saturated, across=across, up=up)]


def _figure(
    experiment: ExperimentResult,
    found: Sequence[tuple[PointResult, Estimate]],
    saturated: Sequence[PointResult],
    *,
    across: Dimension,
    up: Dimension,
) -> Figure:
    metric = experiment.responses[0]
    estimates = [estimate for _, estimate in found]
    scale = scale_of(estimates)
    held = [dimension for dimension in dimensions_of(experiment) if dimension not in (across, up)]
    rows = [_row(point, one, scale, across=across, up=up, held=held) for point, one in found]
    unbounded = [_unbounded_row(one, across=across, up=up, held=held) for one in saturated]
    title = axis_title(metric, scale)
    without_bound = saturated_caption(len(unbounded), f"Dashed cells ({_WITHOUT_BOUND})")
    limits = "Each cell: the value and what limits there." if _has_texts(across, up) else ""
    return Figure(
        key=f"{experiment.name}-{metric}-map".replace(".", "-"),
        title=f"{title_metric(metric)} by {across.name} and {up.name}",
        caption=" ".join(filter(None, [describe_interval(estimates), limits, without_bound])),
        direction=direction_phrase(estimates[0].better),
        spec=_spec(rows, unbounded, title, across=across, up=up),
        rows=rows,
        experiment=experiment.name,
        holds=list(dict.fromkeys(row["hold"] for row in rows)) if held else [],
        hold_title=join_words([one.name for one in held]),
    )


def _row(
    point: PointResult,
    estimate: Estimate,
    scale: Scale,
    *,
    across: Dimension,
    up: Dimension,
    held: Sequence[Dimension],
) -> Row:
    return {
        **_place_row(point, across=across, up=up, held=held),
        "point": format_levels(point.levels),
        "label": format_level(float(f"{estimate.value * scale.factor:.3g}")),
        **estimate_row(estimate, scale),
    }


def _unbounded_row(
    point: PointResult, *, across: Dimension, up: Dimension, held: Sequence[Dimension]
) -> Row:
    place = _place_row(point, across=across, up=up, held=held)
    return {**place, **saturated_words(point), "label": _WITHOUT_BOUND}


def _place_row(
    point: PointResult, *, across: Dimension, up: Dimension, held: Sequence[Dimension]
) -> Row:
    verdict = point.bottleneck
    return {
        "across": across.label_of(point),
        "up": up.label_of(point),
        "hold": hold_label(point, held),
        "limit": verdict.name if verdict is not None and verdict.limits else "",
    }


def _has_texts(across: Dimension, up: Dimension) -> bool:
    return len(across.labels) * len(up.labels) <= _CELLS_WITH_TEXT


def _spec(
    rows: Sequence[Row], unbounded: Sequence[Row], title: str, *, across: Dimension, up: Dimension
) -> Spec:
    axis = {"labelAngle": 0, "grid": False, "ticks": False, "domain": False}
    place = {
        "x": {
            "field": "across", "type": "ordinal", "title": across.title,
            "sort": across.labels, "scale": {"domain": across.labels}, "axis": axis,
        },
        "y": {
            "field": "up", "type": "ordinal", "title": up.title,
            "sort": up.labels[::-1], "scale": {"domain": up.labels[::-1]}, "axis": axis,
        },
    }  # fmt: skip
    cells = {
        "mark": {"type": "rect", "style": "cell"},
        "encoding": {
            **place,
            "color": {
                "field": "value",
                "type": "quantitative",
                "title": title,
                "scale": {"zero": False, "nice": False},
                "legend": {"gradientLength": 160, "tickCount": 3},
            },
            "tooltip": [*VALUE_TOOLTIP, {"field": "limit", "type": "nominal", "title": "limit"}],
        },
    }
    has_texts = _has_texts(across, up)
    texts = _texts(rows, place, across) if has_texts else []
    edges = _unbounded_layers(unbounded, place, across, has_texts=has_texts)
    height = _CELL_PX * len(up.labels) + _AXIS_PX
    return layered([cells, *texts, *edges], title, height=height)


def _texts(rows: Sequence[Row], place: Spec, across: Dimension) -> list[Spec]:
    """Return the texts of the cells, in the colour of the paper on those that are full."""
    values = [row["value"] for row in rows]
    middle = (min(values) + max(values)) / 2.0
    sides: tuple[tuple[str, Spec], ...] = ((f"datum.value > {middle!r}", {"style": "inside-text"}),
             (f"datum.value <= {middle!r}", {}))  # fmt: skip
    return [
        {
            "transform": [{"filter": test}],
            "mark": {"type": "text", "dy": offset, **style, **side},
            "encoding": {**place, "text": {"field": name}},
        }
        for test, side in sides
        for name, offset, style in _text_lines(rows, across)
    ]


def _text_lines(rows: Sequence[Row], across: Dimension) -> list[tuple[str, int, Spec]]:
    """Return the columns that a cell of `rows` says, their places (px) and their styles."""
    if len(across.labels) > _COLUMNS_WITH_LIMITS or not any(row["limit"] for row in rows):
        return [("label", 0, {"fontWeight": 600})]
    return [
        ("label", -_TEXT_PX, {"fontWeight": 600}),
        ("limit", _TEXT_PX, {"fontSize": 10, "limit": 90}),
    ]


def _unbounded_layers(
    rows: Sequence[Row], place: Spec, across: Dimension, *, has_texts: bool
) -> list[Spec]:
    """Return dashed cells without a colour of the scale, with what limits there."""
    if not rows:
        return []
    data = {"values": list(rows)}
    cells = {
        "data": data,
        "mark": {"type": "rect", "style": "unbounded-cell"},
        "encoding": {**place, "tooltip": TOOLTIP},
    }
    texts = [
        {
            "data": data,
            "mark": {"type": "text", "dy": offset, **style},
            "encoding": {**place, "text": {"field": name}},
        }
        for name, offset, style in _text_lines(rows, across)
        if has_texts
    ]
    return [cells, *texts]
