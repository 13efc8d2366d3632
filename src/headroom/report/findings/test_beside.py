"""Simulation and theory: differences, intervals, and their wording in the report."""

import msgspec
import pytest

from headroom.analysis.results import Estimate, ExperimentResult, PointResult, SolverAnswer
from headroom.report.charts.sweep import sweep_panels
from headroom.report.figures.inputs import Curve
from headroom.report.findings.beside import pairs_of, theory_sentences, theory_table, theory_words
from tests.support.example_results import model_experiment


def with_theory(*, is_exact: bool, shift: float = 0.0) -> ExperimentResult:
    """Return a simulated experiment whose formulas are off by `shift`, relative."""
    experiment = model_experiment()
    points = [
        msgspec.structs.replace(
            point,
            solver=SolverAnswer(
                method="exact (convolution)" if is_exact else "approximation (Linearizer)",
                is_exact=is_exact,
                reasons=[] if is_exact else ["model.py:7: a fork"],
                values={m: e.value * (1 + shift) for m, e in point.estimates.items()},
            ),
        )
        for point in experiment.points
    ]
    return msgspec.structs.replace(experiment, points=points)


def estimate(metric: str, value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(
        metric=metric, unit="1", better="none", count=5, value=value, low=low, high=high,
        method="student-t", centre="mean", mean=value, median=value, stdev=0.0, minimum=value,
        maximum=value,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "theory", "inside"),
    [
        (0.9, 1.1, 1.0, True),
        (0.9, 1.1, 1.2, False),
        (None, None, 1.0, None),
        (0.0, 0.0, 1e-5, True),
    ],
)
def test_a_value_lies_inside_its_interval_or_not(
    low: float | None,
    high: float | None,
    theory: float,
    inside: bool | None,  # noqa: FBT001 - a column of the table above
) -> None:
    found = estimate("station.cpu.queue_len_mean", 1.0, low, high)
    answer = SolverAnswer(method="m", is_exact=True, values={found.metric: theory})
    point = PointResult(
        key="k", levels={}, done=5, failed=0, estimates={found.metric: found}, solver=answer
    )
    (pair,) = pairs_of(point)
    assert pair.is_inside is inside


def test_an_exact_answer_is_told_with_how_many_intervals_hold_it() -> None:
    (sentence,) = theory_sentences(with_theory(is_exact=True))
    assert "hold what theory says (exact)" in sentence


def test_an_approximation_names_its_reasons_and_its_largest_difference() -> None:
    experiment = with_theory(is_exact=False, shift=0.25)
    (sentence,) = theory_sentences(experiment)
    assert "0 of " in sentence
    assert "an approximation" in sentence
    table = theory_table(experiment, at_most=100)
    assert table is not None
    assert "model.py:7: a fork" in table.note


def test_the_figures_draw_theory_as_a_line_of_its_own() -> None:
    experiment = with_theory(is_exact=True, shift=0.1)
    panel = sweep_panels(experiment, marks=100)[0]
    assert "Dashed: theory, exact (convolution)." in panel.caption
    curve = next(iter(panel.pictures.values()))
    assert isinstance(curve, Curve)
    ours, theory = (
        next(line for line in curve.lines if line.is_dashed is wanted) for wanted in (False, True)
    )
    assert theory.dots[0].y == pytest.approx(1.1 * ours.dots[0].y)


def test_nothing_is_said_where_no_formula_speaks() -> None:
    experiment = model_experiment()
    assert theory_sentences(experiment) == []
    assert theory_table(experiment, at_most=10) is None
    assert theory_words(experiment, experiment.responses[0]) == ""
