"""Derived quantities and errors of predictions, as a reader sees them."""

from io import StringIO

import msgspec
from rich.console import Console

from headroom.analysis.evidence import (
    Allowed,
    ErrorMeasure,
    ErrorsEvidence,
    NoValue,
    WithinNoise,
)
from headroom.analysis.results import (
    ClaimResult,
    DerivedResult,
    DerivedValue,
    ExperimentResult,
    Factor,
    PredictedPair,
)
from headroom.report.figures.inputs import Cells, Curve
from headroom.report.findings.derived import derived_panels, derived_tables, render_derived
from headroom.report.sentences.claims import claim_sentence
from headroom.report.terminal.screen import Screen

MISSING = NoValue(code="no_results", quantity="run_s", levels={"nodes": 4})
SPEED_UP = DerivedResult(
    name="speed_up", of="run_s", operation="ratio_to", unit="1", better="high", factors=["nodes"],
    over=["nodes"], to={"nodes": 1}, is_inverse=True,
    values=[
        DerivedValue(levels={"nodes": 1}, value=1.0, low=1.0, high=1.0, count=2, planned=2),
        DerivedValue(levels={"nodes": 2}, value=1.9, low=1.8, high=2.0, count=2, planned=2),
        DerivedValue(levels={"nodes": 4}, count=1, planned=2, missing=MISSING),
    ],
)  # fmt: skip
EXPERIMENT = ExperimentResult(
    name="scale", title="", system="command", column="measure", responses=["run_s"], points=[],
    factors=[Factor(name="nodes", unit="1", is_numeric=True, levels=[1, 2, 4])],
    derived=[SPEED_UP],
)  # fmt: skip


def test_a_quantity_is_printed_drawn_and_says_what_is_missing() -> None:
    text = StringIO()
    render_derived(EXPERIMENT, Screen(Console(file=text, width=100, no_color=True)))
    printed = text.getvalue()
    assert "Speed up: run time at nodes = 1 divided by that of each point" in printed
    assert "1.90 (1.80 to 2.00)" in printed
    assert "no results for run_s at nodes = 4" in printed
    (table,) = derived_tables(EXPERIMENT, at_most=2)
    assert [row[1].sort for row in table.rows] == ["1.0", "1.9"]
    assert table.note
    (panel,) = derived_panels(EXPERIMENT, marks=100)
    (curve,) = panel.pictures.values()
    assert isinstance(curve, Curve)
    assert len(curve.lines[0].dots) == 2


def test_a_quantity_over_two_numbers_is_drawn_as_a_map_too() -> None:
    nodes, shares = [1, 2, 4], [0.1, 0.5]
    values = [
        DerivedValue(levels={"nodes": node, "share": share}, value=node * share, count=2, planned=2)
        for node in nodes
        for share in shares
    ]
    found = msgspec.structs.replace(SPEED_UP, factors=["nodes", "share"], values=values)
    factors = [
        *EXPERIMENT.factors,
        Factor(name="share", unit="1", is_numeric=True, levels=[*shares]),
    ]
    two = msgspec.structs.replace(EXPERIMENT, factors=factors, derived=[found])
    (drawn,) = [one for one in derived_panels(two, marks=100) if one.key.endswith("-map")]
    (cells,) = drawn.pictures.values()
    assert isinstance(cells, Cells)
    shown = sorted(float(cell.text) for row in cells.cells for cell in row if cell)
    assert shown == [0.1, 0.2, 0.4, 0.5, 1.0, 2.0]


def test_errors_of_a_prediction_are_one_sentence() -> None:
    pair = PredictedPair(
        levels={"nodes": 2}, to_levels={"nodes": 2}, predicted=2.2, predicted_low=2.2,
        predicted_high=2.2, measured=2.0, measured_low=2.0, measured_high=2.0, ratio=1.1,
        low=1.0, high=1.2, verdict="holds",
    )  # fmt: skip
    worst = ErrorMeasure(code="worst", value=0.1, low=0.08, high=0.12, allowed=Allowed(high=0.25),
                         verdict="holds")  # fmt: skip
    rank = ErrorMeasure(code="rank", value=1.0, low=1.0, high=1.0, allowed=Allowed(low=0.9),
                        verdict="holds")  # fmt: skip
    claim = ClaimResult(
        name="near", text="", kind="errors", experiment="model", metric="run_s", published="",
        value=0.1, low=0.08, high=0.12, verdict="holds", pairs=[pair],
        evidence=ErrorsEvidence(count=1, measures=[worst, rank], worst=0),
    )  # fmt: skip
    assert claim_sentence(claim) == (
        "Holds: worst error 10.0% (8.0% to 12.0%); rank correlation 1.00; worst error of at most "
        "25.0% and rank correlation at least 0.90 allowed; 1 point, worst 1.10\u00d7 "
        "(1.00 to 1.20) at nodes = 2."
    )
    unknown = ErrorMeasure(code="rank", value=None, low=None, high=None,
                           allowed=Allowed(low=0.9), verdict="undecided")  # fmt: skip
    noise = WithinNoise(factors=["nodes"], groups=2, left_out=2, points=6)
    evidence = ErrorsEvidence(count=6, measures=[unknown], worst=0, within_noise=noise)
    undecided = msgspec.structs.replace(claim, verdict="undecided", evidence=evidence)
    assert claim_sentence(undecided).startswith(
        "Undecided: rank correlation unknown, without 2 of 2 groups; groups over nodes that are "
        "equal within the noise are left out (6 points); rank correlation at least 0.90 allowed; "
        "6 points, worst"
    )
