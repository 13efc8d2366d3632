"""Predicted against measured: the points of claims, on the page and in the terminal.

Invariant: restates `ClaimResult`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import ClaimResult, PredictedPair
from headroom.quantities import format_bounds, format_levels, format_limit, format_ratio
from headroom.report.sentences.intervals import no_interval_words
from headroom.report.tables.tables import Cell, Head, Table, number_cell, rest_note
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import title_metric

_ROWS_AT_MOST = 300
_ROWS_IN_TERMINAL = 40


def predicted(claims: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return the claims that compare predicted with measured points."""
    return [claim for claim in claims if claim.pairs]


def format_side(claim: ClaimResult, pair: PredictedPair, *, is_predicted: bool) -> str:
    """Return the predicted or the measured figure of a pair with its own 95% interval."""
    value, low, high = (
        (pair.predicted, pair.predicted_low, pair.predicted_high)
        if is_predicted
        else (pair.measured, pair.measured_low, pair.measured_high)
    )
    return format_bounds(value, low, high, claim.pair_unit, metric=claim.metric)


def format_pair_ratio(pair: PredictedPair) -> str:
    """Return predicted over measured with its interval; nothing without a ratio."""
    return "" if pair.ratio is None else format_ratio(pair.ratio, pair.low, pair.high)


def predictions_table(claims: Sequence[ClaimResult]) -> Table | None:
    """Return one row for each point that was predicted and measured; None if there is none."""
    found = [(claim, pair) for claim in predicted(claims) for pair in claim.pairs]
    if not found:
        return None
    heads = [
        Head("Claim"),
        Head("Point"),
        Head("Metric"),
        Head("Predicted", is_number=True),
        Head("Measured", is_number=True),
        Head("Ratio", is_number=True, hint="predicted over measured"),
        Head("Verdict"),
    ]
    rows = [_row(claim, pair) for claim, pair in found[:_ROWS_AT_MOST]]
    note = (
        "Predicted and measured each with its own 95% interval. The interval of the ratio counts "
        "both; those of the points of one claim hold together with 95%. "
        + rest_note(len(rows), len(found), "rows")
    )
    return Table("Predicted against measured", heads, rows, note.strip())


def _row(claim: ClaimResult, pair: PredictedPair) -> list[Cell]:
    point = format_levels(pair.levels)
    return [
        Cell(claim.name, claim.name, is_head=True, remark=_within(claim)),
        Cell(point, point),
        Cell(title_metric(claim.metric), claim.metric),
        _side_cell(claim, pair, is_predicted=True),
        _side_cell(claim, pair, is_predicted=False),
        number_cell(format_pair_ratio(pair), pair.ratio, remark=no_interval_words(pair.reason)),
        Cell(pair.verdict, pair.verdict, mark=pair.verdict),
    ]


def _within(claim: ClaimResult) -> str:
    return "" if claim.tolerance is None else f"within {format_limit(claim.tolerance)}"


def _side_cell(claim: ClaimResult, pair: PredictedPair, *, is_predicted: bool) -> Cell:
    value = pair.predicted if is_predicted else pair.measured
    return number_cell(format_side(claim, pair, is_predicted=is_predicted), value)


def _subject_column(claims: Sequence[ClaimResult]) -> Column:
    """Return labels that distinguish the claims: the metric, or else the name, which is longer."""
    names = {claim.metric: claim.name for claim in claims}
    if all(names[claim.metric] == claim.name for claim in claims):
        return Column("Metric", [title_metric(claim.metric) for claim in claims])
    return Column("Claim", [claim.name for claim in claims])


def render_predictions(claims: Sequence[ClaimResult], screen: Screen) -> None:
    """Print predicted and measured figures side by side, nothing if none was predicted."""
    found = [(claim, pair) for claim in predicted(claims) for pair in claim.pairs]
    if not found:
        return
    rows = found[:_ROWS_IN_TERMINAL]
    screen.line()
    screen.line("Predicted against measured", "bold")
    screen.table(
        [
            _subject_column([claim for claim, _ in rows]),
            Column("Point", [format_levels(pair.levels) for _, pair in rows]),
            Column("Predicted", [format_side(c, p, is_predicted=True) for c, p in rows]),
            Column("Measured", [format_side(c, p, is_predicted=False) for c, p in rows]),
            Column("Ratio", [format_pair_ratio(pair) for _, pair in rows]),
            Column("Verdict", [pair.verdict for _, pair in rows]),
        ]
    )
