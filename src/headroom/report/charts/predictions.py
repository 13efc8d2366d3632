"""Predicted (x) against measured (y), with the diagonal and the band of the tolerance.

Invariant: restates the pairs of claims; both axes have one scale, so that the diagonal is one.
"""

from collections.abc import Sequence

from headroom.analysis.results import ClaimResult, PredictedPair
from headroom.quantities import Scale, choose_scale, format_levels, format_limit
from headroom.report.charts.channels import layered, log_axis
from headroom.report.charts.figure import Figure, Row, Spec
from headroom.report.charts.theme import VERDICT_SYMBOLS, VERDICTS
from headroom.report.dimensions import is_log_like
from headroom.report.findings.predictions import format_pair_ratio, format_side, predicted
from headroom.report.words import axis_title, title_metric

_HEIGHT_PX = 420
_ROOM = 1.15


def prediction_figures(claims: Sequence[ClaimResult]) -> list[Figure]:
    """Return one figure for each unit of the claims that predict, none without any."""
    found = predicted(claims)
    units = dict.fromkeys(claim.pair_unit for claim in found)
    return [
        _figure(number, [claim for claim in found if claim.pair_unit == unit])
        for number, unit in enumerate(units)
    ]


def _figure(number: int, claims: Sequence[ClaimResult]) -> Figure:
    values = [value for claim in claims for pair in claim.pairs for value in _values(pair)]
    scale = choose_scale(values, claims[0].pair_unit, metric=claims[0].metric)
    rows = [_row(claim, pair, scale) for claim in claims for pair in claim.pairs]
    tolerances = sorted({claim.tolerance for claim in claims if claim.tolerance})
    band = " or ".join(format_limit(tolerance) for tolerance in tolerances)
    shaded = f"; shaded: within the tolerance, {band}" if band else ""
    metrics = list(dict.fromkeys(claim.metric for claim in claims))
    return Figure(
        key=f"predictions-{number}",
        title=title_metric(metrics[0]) if len(metrics) == 1 else "Predicted and measured",
        caption=(
            f"Each point once predicted, once measured, with 95% intervals. Dashed: predicted = "
            f"measured{shaded}."
        ),
        spec=_spec(rows, claims, scale),
        rows=rows,
        holds=[claim.name for claim in claims] if len(claims) > 1 else [],
        hold_title="Claim",
    )


def _values(pair: PredictedPair) -> list[float]:
    found = (
        pair.predicted, pair.predicted_low, pair.predicted_high,
        pair.measured, pair.measured_low, pair.measured_high,
    )  # fmt: skip
    return [value for value in found if value is not None]


def _row(claim: ClaimResult, pair: PredictedPair, scale: Scale) -> Row:
    def scaled(value: float | None, instead: float) -> float:
        return (instead if value is None else value) * scale.factor

    return {
        "x": pair.predicted * scale.factor,
        "x_from": scaled(pair.predicted_low, pair.predicted),
        "x_to": scaled(pair.predicted_high, pair.predicted),
        "y": pair.measured * scale.factor,
        "y_from": scaled(pair.measured_low, pair.measured),
        "y_to": scaled(pair.measured_high, pair.measured),
        "verdict": pair.verdict,
        "point": format_levels(pair.levels),
        "hold": claim.name,
        "predicted": format_side(claim, pair, is_predicted=True),
        "measured": format_side(claim, pair, is_predicted=False),
        "ratio": format_pair_ratio(pair),
    }


def _spec(rows: Sequence[Row], claims: Sequence[ClaimResult], scale: Scale) -> Spec:
    names = ("x", "x_from", "x_to", "y", "y_from", "y_to")
    values = [float(row[name]) for row in rows for name in names]
    is_log = min(values) > 0.0 and is_log_like(values)
    low = min(values) / _ROOM if is_log else min(0.0, *values)
    high = max(values) * _ROOM
    title = axis_title(claims[0].metric, scale)
    x, y = (
        {
            "type": "quantitative",
            "title": f"{word} {title}",
            "scale": {"type": "log" if is_log else "linear", "domain": [low, high], "nice": False},
            "axis": log_axis() if is_log else {"tickCount": 5},
        }
        for word in ("predicted", "measured")
    )
    guide = {"values": [_guide(claim, end) for claim in claims for end in (low, high)]}
    layers = [*_guides(guide, x, y), *_marks(rows, x, y)]
    return layered(layers, "predicted against measured", height=_HEIGHT_PX)


def _guide(claim: ClaimResult, end: float) -> Row:
    """Return where diagonal and band are at one end of the axis.

    Predicted p is within t of measured m where m lies between p / (1 + t) and p / (1 - t).
    """
    tolerance = claim.tolerance or 0.0
    return {
        "end": end,
        "low": end / (1.0 + tolerance),
        "high": end / (1.0 - tolerance),
        "hold": claim.name,
    }


def _guides(data: Spec, x: Spec, y: Spec) -> list[Spec]:
    across = {**x, "field": "end"}
    return [
        {
            "data": data,
            "mark": {"type": "area", "style": "guide-area", "clip": True},
            "encoding": {"x": across, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": data,
            "mark": {"type": "line", "style": "diagonal", "clip": True},
            "encoding": {"x": across, "y": {**y, "field": "end"}},
        },
    ]


def _marks(rows: Sequence[Row], x: Spec, y: Spec) -> list[Spec]:
    used = [verdict for verdict in VERDICTS if verdict in {row["verdict"] for row in rows}]
    base: Spec = {"field": "verdict", "type": "nominal", "title": None, "legend": {"values": used}}
    color = {**base, "scale": {"domain": VERDICTS}}
    shape = {**base, "scale": {"domain": VERDICTS, "range": VERDICT_SYMBOLS}}
    tooltip = [
        {"field": name, "type": "nominal", "title": name}
        for name in ("point", "predicted", "measured", "ratio", "verdict")
    ]
    at_x, at_y = {**x, "field": "x"}, {**y, "field": "y"}
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": {**x, "field": "x_from"}, "x2": {"field": "x_to"}, "y": at_y, "color": color,
            },
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": at_x, "y": {**y, "field": "y_from"}, "y2": {"field": "y_to"}, "color": color,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {
                "x": at_x, "y": at_y, "color": color, "shape": shape, "tooltip": tooltip,
            },
        },
    ]  # fmt: skip
