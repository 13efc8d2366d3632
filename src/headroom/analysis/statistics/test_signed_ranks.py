"""Signed ranks: against tables, by symmetry, with ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.signed_ranks import (
    fewest_pairs,
    null_shares,
    signed_rank,
    signed_rank_interval,
    signed_rank_p,
)
from headroom.experiment.protocol.run import FloatArray

lists = st.lists(st.integers(-9, 9).map(float), min_size=6, max_size=15).map(np.array)


def test_the_ranks_are_those_of_the_table_of_wilcoxon() -> None:
    """Critical values of T at two-sided 5%, as in Conover, table A12: the rank is one more."""
    critical = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89, 30: 137}
    assert {count: signed_rank(count) - 1 for count in critical} == critical


def test_the_normal_ranks_meet_the_exact_ones_where_they_take_over() -> None:
    exact = np.count_nonzero(null_shares(70) <= 0.025)
    assert signed_rank(70) == pytest.approx(exact, abs=1)


@given(st.integers(1, 18))
def test_the_null_distribution_is_that_of_scipy(count: int) -> None:
    values = np.arange(1.0, count + 1.0)
    values[::2] *= -1.0
    expected = stats.wilcoxon(values, method="exact").pvalue
    assert signed_rank_p(values) == pytest.approx(expected)


@given(lists)
def test_negatives_turn_the_interval_round_and_ties_keep_its_value_inside(
    values: FloatArray,
) -> None:
    there, back = signed_rank_interval(values), signed_rank_interval(-values)
    assert there.low is not None
    assert there.high is not None
    assert (back.value, back.low, back.high) == (-there.value, -there.high, -there.low)
    assert there.low <= there.value <= there.high


@given(lists, st.integers(-9, 9))
def test_the_p_value_is_small_just_where_the_interval_leaves_out_zero(
    values: FloatArray,
    shift: int,
) -> None:
    interval = signed_rank_interval(values + shift)
    assert interval.low is not None
    assert interval.high is not None
    is_outside = interval.low > 0.0 or interval.high < 0.0
    assert is_outside == (signed_rank_p(values + shift) <= 0.05 + 1e-12)


def test_ties_make_the_interval_cover_more_not_less() -> None:
    """Whole numbers around zero: the closed interval covers at least 95% (Noether 1967)."""
    random = np.random.default_rng(5)
    draws = random.integers(-2, 3, (2000, 10)).astype(float)
    found = [signed_rank_interval(draw) for draw in draws]
    missed = sum(one.low > 0.0 or one.high < 0.0 for one in found)  # type: ignore[operator]
    assert missed <= stats.binom.isf(1e-6, 2000, 0.05)


def test_too_few_pairs_say_how_many_would_do() -> None:
    interval = signed_rank_interval(np.arange(5.0))
    assert interval.low is None
    assert interval.reason == NoInterval(code="few_pairs", count=5, needed=6)
    assert [fewest_pairs(1.0 - 0.05 / m) for m in (1, 2, 3, 10)] == [6, 7, 7, 9]
