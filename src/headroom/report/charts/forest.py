"""Ratios of levels to their base: one row each, with intervals and the shaded zone of equality.

Invariant: restates `LevelsCompared`; a row without a ratio is told and not drawn.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, LevelComparison, LevelsCompared
from headroom.quantities import format_level, format_limit
from headroom.report.charts.channels import layered, log_axis
from headroom.report.charts.figure import Figure, Row, Spec, drawn_words
from headroom.report.charts.theme import VERDICT_SYMBOLS, VERDICTS
from headroom.report.findings.comparisons import format_level_ratio, label_level
from headroom.report.sentences.comparisons import comparison_reason
from headroom.report.words import label_metric, title_metric

_ROW_PX, _LEAST_PX, _AXIS_PX = 26, 120, 60
_ROOM = 1.1
"""Times that the axis reaches beyond the last interval, on either side."""
_DOMAIN = [{"differs": "worse", "holds": "better"}.get(one, one) for one in VERDICTS]
_ROWS_AT_ONCE = 24
"""Rows of a figure that shows all metrics at once; beyond, one metric is chosen."""
_DENSE = 3.0
"""Times that the axis spans below which plain steps are better marks than powers of ten."""


def forest_figures(experiment: ExperimentResult, *, marks: int) -> list[Figure]:
    """Return the figure of a comparison, none if nothing is compared.

    Parameters
    ----------
    marks
        Rows at most.
    """
    comparison = experiment.compared
    told = [row for row in comparison.rows if row.ratio is not None] if comparison else []
    if comparison is None or not told:
        return []
    shown = told[:marks]
    labels = list(dict.fromkeys(label_level(row) for row in shown))
    metrics = list(dict.fromkeys(row.metric for row in shown))
    shown = sorted(shown, key=lambda row: metrics.index(row.metric))
    is_whole = len(shown) <= _ROWS_AT_ONCE or len(metrics) == 1
    rows = [_row(row, comparison, is_alone=len(labels) == 1, is_whole=is_whole) for row in shown]
    holds = [] if is_whole else [title_metric(metric) for metric in metrics]
    who = f": {labels[0]}" if len(labels) == 1 else ""
    return [
        Figure(
            key=f"{experiment.name}-compared",
            title=f"{comparison.factor.capitalize()}{who} against {format_level(comparison.base)}",
            caption=_caption(comparison, len(shown), len(told)),
            spec=_spec(rows, comparison),
            rows=rows,
            experiment=experiment.name,
            holds=holds,
            hold_title="Metric",
            is_wide=True,
        )
    ]


def _caption(found: LevelsCompared, drawn: int, told: int) -> str:
    each = f"{100.0 * found.confidence:.4g}%"
    without = len(found.rows) - told
    return " ".join(
        filter(
            None,
            [
                f"Ratio to {format_level(found.base)} with its {each} interval.",
                f"Shaded: the same, within {format_limit(found.same_within)}."
                if found.same_within
                else "",
                f"{without} rows without a ratio are in the table only." if without else "",
                drawn_words(drawn, told),
            ],
        )
    )


def _row(row: LevelComparison, found: LevelsCompared, *, is_alone: bool, is_whole: bool) -> Row:
    """Return a row of the figure.

    Parameters
    ----------
    row, found
        The comparison of a level in one metric, and all of them.
    is_alone
        Whether a single level is compared, which the title names.
    is_whole
        Whether the figure shows all metrics at once.
    """
    metric, level = label_metric(row.metric), label_level(row)
    label = level if not is_whole else metric if is_alone else f"{metric}: {level}"
    ratio = row.ratio or 1.0
    return {
        "label": label,
        "hold": "" if is_whole else title_metric(row.metric),
        "metric": row.metric,
        "ratio": ratio,
        "from": ratio if row.low is None else row.low,
        "to": ratio if row.high is None else row.high,
        "verdict": row.verdict,
        "shown": format_level_ratio(row),
        "why": comparison_reason(row.evidence, found.same_within),
        "n": f"{row.count} / {row.base_count}",
    }


def _spec(rows: Sequence[Row], found: LevelsCompared) -> Spec:
    lowest, highest = 1.0 / (1.0 + found.same_within), 1.0 + found.same_within
    ends = [row[name] for row in rows for name in ("from", "to")]
    domain = [min([*ends, lowest]) / _ROOM, max([*ends, highest]) * _ROOM]
    is_wide = domain[1] / domain[0] > _DENSE
    x: Spec = {
        "type": "quantitative",
        "title": f"times {format_level(found.base)}",
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": log_axis() if is_wide else {"tickCount": 6},
    }
    labels = list(dict.fromkeys(row["label"] for row in rows))
    y = {
        "field": "label", "type": "nominal", "title": None, "sort": labels,
        "axis": {"labelLimit": 400, "ticks": False, "grid": False},
    }  # fmt: skip
    zone = {"values": [{"low": lowest, "high": highest, "one": 1.0}]}
    unheld = [] if any(row["hold"] for row in rows) else [_zone(zone, x), _one(zone, x)]
    held = [] if unheld else [
        layer(_held_zone(rows, lowest, highest), x) for layer in (_zone, _one)
    ]  # fmt: skip
    layers = [*unheld, *held, _whisker(x, y, rows), _dot(x, y, rows)]
    height = max(_LEAST_PX, len(labels) * _ROW_PX) + _AXIS_PX
    return layered(layers, "ratios of the levels with intervals", height=height)


def _held_zone(rows: Sequence[Row], lowest: float, highest: float) -> Spec:
    """Return the zone once for each choice, since the page keeps only rows of the choice."""
    holds = dict.fromkeys(row["hold"] for row in rows)
    return {
        "values": [{"low": lowest, "high": highest, "one": 1.0, "hold": hold} for hold in holds]
    }


def _zone(data: Spec, x: Spec) -> Spec:
    return {
        "data": data,
        "mark": {"type": "rect", "style": "guide-area"},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
    }


def _one(data: Spec, x: Spec) -> Spec:
    return {
        "data": data,
        "mark": {"type": "rule", "style": "guide"},
        "encoding": {"x": {**x, "field": "one"}},
    }


def _verdict(rows: Sequence[Row]) -> tuple[Spec, Spec]:
    """Return colour and shape of the verdicts; the legend names those that occur."""
    used = [verdict for verdict in _DOMAIN if verdict in {row["verdict"] for row in rows}]
    base: Spec = {
        "field": "verdict", "type": "nominal", "title": None, "legend": {"values": used},
    }  # fmt: skip
    scale: Spec = {"domain": _DOMAIN}
    return {**base, "scale": scale}, {**base, "scale": {**scale, "range": VERDICT_SYMBOLS}}


def _whisker(x: Spec, y: Spec, rows: Sequence[Row]) -> Spec:
    color, _ = _verdict(rows)
    return {
        "mark": {"type": "rule", "strokeWidth": 2.5},
        "encoding": {"y": y, "x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": color},
    }


def _dot(x: Spec, y: Spec, rows: Sequence[Row]) -> Spec:
    color, shape = _verdict(rows)
    tooltip = [
        {"field": name, "type": "nominal", "title": title}
        for name, title in (
            ("label", "compared"), ("metric", "metric"), ("shown", "ratio"),
            ("verdict", "verdict"), ("why", "why"), ("n", "n"),
        )
    ]  # fmt: skip
    return {
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
        "encoding": {
            "y": y, "x": {**x, "field": "ratio"}, "color": color, "shape": shape,
            "tooltip": tooltip,
        },
    }  # fmt: skip
