"""Rows of comparisons: symmetry, corrections, and what cannot be decided."""

import itertools

import msgspec
import numpy as np
import pytest

from headroom.analysis.results import Estimate
from headroom.gate.judging import holm, judged, row_of_estimates, row_of_pairs
from headroom.gate.result import Row

LIKE = Row(arm="B", base="A", metric="wall_s", unit="s", better="low")
OPPOSITE = {"better": "worse", "worse": "better", "same": "same", "undecided": "undecided"}


def estimate(value: float, half: float, *, count: int = 10) -> Estimate:
    return Estimate(
        metric="wall_s", unit="s", better="low", count=count, value=value, low=value - half,
        high=value + half, method="student-t", centre="mean", mean=value, median=value,
        stdev=half, minimum=value - half, maximum=value + half,
    )  # fmt: skip


@pytest.mark.parametrize("effect", [0.0, 0.01, 0.1, -0.3])
def test_exchanging_base_and_other_turns_ratio_and_verdict_round(effect: float) -> None:
    random = np.random.default_rng(7)
    old = np.exp(0.02 * random.normal(size=20))
    new = (1.0 + effect) * np.exp(0.02 * random.normal(size=20))
    (one,) = judged([row_of_pairs(new, old, like=LIKE)], same_within=0.02)
    (other,) = judged([row_of_pairs(old, new, like=LIKE)], same_within=0.02)
    assert other.ratio == pytest.approx(1.0 / (one.ratio or 0.0))
    assert other.low == pytest.approx(1.0 / (one.high or 0.0))
    assert other.p_value == pytest.approx(one.p_value)
    assert other.verdict == OPPOSITE[one.verdict]


def test_holm_rejects_what_the_step_down_procedure_rejects() -> None:
    """Oracle: the procedure itself, for every order of some p-values and several levels."""
    for p_values in itertools.permutations([0.001, 0.012, 0.02, 0.04, 0.3]):
        for level in (0.01, 0.05, 0.1):
            rejected: set[float] = set()
            for rank, p_value in enumerate(sorted(p_values)):
                if p_value > level / (len(p_values) - rank):
                    break
                rejected.add(p_value)
            adjusted = holm(p_values)
            found = {p for p, one in zip(p_values, adjusted, strict=True) if (one or 0) <= level}
            assert found == rejected


def test_the_p_value_of_two_intervals_is_the_dual_of_their_interval() -> None:
    """The p-value is below 5% exactly if the 95% interval of the ratio excludes 1."""
    for value in np.linspace(0.9, 1.1, 41):
        row = row_of_estimates(estimate(1.0, 0.03), estimate(float(value), 0.05), like=LIKE)
        excludes = not (row.low or 0.0) <= 1.0 <= (row.high or 0.0)
        assert ((row.p_value or 0.0) < 0.05) == excludes


def test_a_difference_among_many_rows_needs_more_evidence() -> None:
    row = msgspec.structs.replace(LIKE, ratio=1.1, low=1.02, high=1.2, p_value=0.01, pairs=9)
    same = msgspec.structs.replace(LIKE, ratio=1.0, low=0.95, high=1.05, p_value=0.9, pairs=9)
    assert judged([row], same_within=0.01)[0].verdict == "worse"
    assert judged([row, *[same] * 9], same_within=0.01)[0].verdict == "undecided"


def test_values_without_a_ratio_are_judged_by_their_differences() -> None:
    errors = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    equal = row_of_pairs(np.zeros(8), np.zeros(8), like=LIKE)
    more = row_of_pairs(errors + 5.0, errors, like=LIKE)
    assert judged([equal], same_within=0.02)[0].verdict == "same"
    assert more.ratio is None
    assert judged([more], same_within=0.02)[0].verdict == "worse"


def test_a_simulation_with_the_same_bits_is_the_same_however_wide_its_interval() -> None:
    wide = estimate(1.0, 0.9)
    assert judged([row_of_estimates(wide, wide, like=LIKE)], same_within=0.02)[0].verdict == "same"
    other = estimate(1.0, 0.8)
    row = row_of_estimates(wide, other, like=LIKE)
    assert judged([row], same_within=0.02)[0].verdict == "undecided"


@pytest.mark.parametrize(
    ("row", "doubt"),
    [
        (row_of_pairs(np.ones(3), np.ones(3) * 1.1, like=LIKE), "few_runs"),
        (row_of_estimates(None, estimate(1.0, 0.1), like=LIKE), "missing"),
        (row_of_estimates(estimate(0.0, 0.1), estimate(1.0, 0.1), like=LIKE), "not_positive"),
    ],
)
def test_what_cannot_be_decided_says_why(row: Row, doubt: str) -> None:
    (found,) = judged([row], same_within=0.02)
    assert (found.verdict, found.doubt) == ("undecided", doubt)
