"""Predicted (x) against measured (y), with the diagonal and the band of the tolerance.

Invariant: restates the pairs of claims; both axes have one scale, so that the diagonal is one.
"""

from collections.abc import Sequence

from headroom.analysis.results import ClaimResult, PredictedPair
from headroom.quantities import Scale, choose_scale, format_levels, format_limit
from headroom.report.charts.panel import Panel
from headroom.report.dimensions import is_log_like
from headroom.report.figures.axes import linear_axis, log_axis
from headroom.report.figures.inputs import Dot, Key, Setting, TradeOff
from headroom.report.figures.roles import Role
from headroom.report.findings.predictions import format_pair_ratio, format_side, predicted
from headroom.report.first_screen.scales import scaled
from headroom.report.words import axis_title, title_metric

_ROLES: dict[str, Role] = {"holds": "better", "differs": "differs", "same": "data"}


def prediction_panels(claims: Sequence[ClaimResult]) -> list[Panel]:
    """Return one panel for each unit of the claims that predict, none without any."""
    found = predicted(claims)
    units = dict.fromkeys(claim.pair_unit for claim in found)
    return [
        _panel(number, [claim for claim in found if claim.pair_unit == unit])
        for number, unit in enumerate(units)
    ]


def _panel(number: int, claims: Sequence[ClaimResult]) -> Panel:
    values = [value for claim in claims for pair in claim.pairs for value in _values(pair)]
    scale = choose_scale(values, claims[0].pair_unit, metric=claims[0].metric)
    tolerances = sorted({claim.tolerance for claim in claims if claim.tolerance})
    band = " or ".join(format_limit(tolerance) for tolerance in tolerances)
    tinted = f"; tinted: within the tolerance, {band}" if band else ""
    metrics = list(dict.fromkeys(claim.metric for claim in claims))
    return Panel(
        key=f"predictions-{number}",
        title=title_metric(metrics[0]) if len(metrics) == 1 else "Predicted and measured",
        caption=(
            f"Each point once predicted, once measured, with 95% intervals. Dashed: predicted = "
            f"measured{tinted}."
        ),
        pictures={
            ("", claim.name if len(claims) > 1 else ""): _figure(claim, values, scale)
            for claim in claims
        },
        choice="Claim",
    )


def _values(pair: PredictedPair) -> list[float]:
    found = (
        pair.predicted, pair.predicted_low, pair.predicted_high,
        pair.measured, pair.measured_low, pair.measured_high,
    )  # fmt: skip
    return [value for value in found if value is not None]


def _figure(claim: ClaimResult, values: Sequence[float], scale: Scale) -> TradeOff:
    ends = [value * scale.factor for value in values]
    is_log = min(ends) > 0.0 and is_log_like(ends)
    title = axis_title(claim.metric, scale)
    x, y = (
        log_axis(ends, f"{word} {title}") if is_log else linear_axis(ends, f"{word} {title}")
        for word in ("predicted", "measured")
    )
    verdicts = list(dict.fromkeys(pair.verdict for pair in claim.pairs))
    key: Key = tuple((verdict, _role(verdict), False) for verdict in verdicts if verdict)
    return TradeOff(
        x=x,
        y=y,
        settings=tuple(
            _setting(claim, pair, scale, verdicts.index(pair.verdict)) for pair in claim.pairs
        ),
        key=key,
        tolerance=claim.tolerance or 0.0,
    )


def _role(verdict: str) -> Role:
    return _ROLES.get(verdict, "context")


def _setting(claim: ClaimResult, pair: PredictedPair, scale: Scale, series: int) -> Setting:
    lines = [
        format_levels(pair.levels),
        f"predicted: {format_side(claim, pair, is_predicted=True)}",
        f"measured: {format_side(claim, pair, is_predicted=False)}",
        f"ratio: {format_pair_ratio(pair)}",
        pair.verdict,
    ]
    return Setting(
        x=Dot(
            x=pair.predicted * scale.factor,
            y=pair.measured * scale.factor,
            low=scaled(pair.predicted_low, scale),
            high=scaled(pair.predicted_high, scale),
            hint="\n".join(filter(None, lines)),
        ),
        y_low=scaled(pair.measured_low, scale),
        y_high=scaled(pair.measured_high, scale),
        name="",
        role=_role(pair.verdict),
        series=series,
    )
