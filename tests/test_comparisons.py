"""Verdicts on two systems: the error rates and power that docs/reference promises.

The benchmark (`make bench PART=comparisons`) measures all lines; this test checks their promises,
and measures one cell again.
"""

import pytest
from scipy import stats

from benches.comparisons import COMPARISONS, load, measured

pytestmark = pytest.mark.deep

ALLOWED = float(stats.binom.isf(1e-5, COMPARISONS, 0.05))
"""False alarms that a true rate of 5% exceeds once in 100,000 lines."""


def test_no_stored_line_has_more_than_five_per_cent_of_false_alarms() -> None:
    rows, _ = load()
    assert {row.way for row in rows} == {"blocks", "apart"}
    assert [row for row in rows if row.false_alarms > ALLOWED] == []
    assert [row for row in rows if row.beyond > row.comparisons * 0.025 + 5 * 7.0] == []


def test_25_blocks_see_what_is_as_large_as_the_scatter_in_nine_of_ten_cases() -> None:
    rows, _ = load()
    (line,) = [
        row for row in rows if (row.values, row.way, row.runs) == ("lognormal", "blocks", 25)
    ]
    assert line.seen[1] >= 0.88 * line.comparisons


def test_a_cell_measured_again_is_as_stored() -> None:
    (line,) = [
        row for row in load()[0] if (row.values, row.way, row.runs) == ("drift", "blocks", 10)
    ]
    figures = measured("drift", 10, way="blocks", count=400)
    assert figures.false_alarms <= stats.binom.isf(1e-5, 400, 0.05)
    expected = line.seen[1] / line.comparisons
    assert stats.binomtest(figures.seen[1], 400, expected).pvalue > 1e-5


def test_signed_ranks_are_not_for_the_means_of_short_simulations() -> None:
    """Why simulated systems keep the ratio of the means: more pairs make signed ranks miss more."""
    _, queues = load()
    short = {line.runs: line for line in queues if line.completions == 1_000}
    assert short[20].signed_ranks > 2 * short[20].fieller
    assert short[20].signed_ranks > short[6].signed_ranks
