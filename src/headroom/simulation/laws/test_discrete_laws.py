"""Laws on whole numbers and lists: the shares match the published ones."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroom.simulation import geometric, nurand, replay, zipf


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 999, 1000, 1001, 50_000])
@pytest.mark.parametrize("exponent", [0.2, 0.99, 1.0, 1.000001, 2.0, 3.5])
def test_the_moments_of_zipf_are_the_sums_over_the_law(count: int, exponent: float) -> None:
    """Oracle: all terms, one by one."""
    values = np.arange(1, count + 1, dtype=float)
    shares = values**-exponent / np.sum(values**-exponent)
    mean = values @ shares
    law = zipf(count, exponent)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert law.variance == pytest.approx(float((values - mean) ** 2 @ shares), rel=1e-9, abs=1e-12)


def test_zipf_draws_fall_as_often_as_the_law_says() -> None:
    """Oracle: chi-square against SciPy's Zipfian law at 0.1%, the tail in one cell."""
    draws = zipf(10**6, exponent=1.1).draw(200_000, seed=9)
    reference = stats.zipfian(1.1, 10**6)
    seen = [np.sum(draws == k) for k in range(1, 200)]
    expected = reference.pmf(np.arange(1, 200)) * len(draws)
    seen, expected = [*seen, np.sum(draws >= 200)], [*expected, reference.sf(199) * len(draws)]
    assert stats.chisquare(seen, np.array(expected) * sum(seen) / sum(expected)).pvalue > 0.001


def by_definition(a: int, low: int, high: int, c: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for mask, record in product(range(a + 1), range(low, high + 1)):
        value = ((mask | record) + c) % (high - low + 1) + low
        counts[value] = counts.get(value, 0) + 1
    return counts


@given(st.integers(0, 6), st.integers(0, 60), st.integers(0, 90), st.data())
def test_the_moments_of_nurand_are_those_of_the_definition(
    bits: int, low: int, width: int, data: st.DataObject
) -> None:
    """Oracle: every pair of random numbers of clause 2.1.6 of TPC-C."""
    a = 2**bits - 1
    c = data.draw(st.integers(0, a))
    counts = by_definition(a, low, low + width, c)
    values, weights = np.array(list(counts)), np.array(list(counts.values()))
    mean = values @ weights / weights.sum()
    law = nurand(a, low, low + width, c)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    variance = (values - mean) ** 2 @ weights / weights.sum()
    assert law.variance == pytest.approx(float(variance), rel=1e-9, abs=1e-9)


def test_nurand_draws_fall_as_often_as_the_definition_says() -> None:
    """Oracle: chi-square at 0.1%."""
    counts = by_definition(15, 3, 40, 9)
    draws = nurand(15, 3, 40, c=9).draw(100_000, seed=2)
    seen = [np.sum(draws == value) for value in counts]
    expected = np.array(list(counts.values())) / sum(counts.values()) * len(draws)
    assert stats.chisquare(seen, expected).pvalue > 0.001
    assert set(draws) <= set(counts)


@given(st.floats(1.01, 50))
def test_geometric_has_the_variance_of_the_formula(mean: float) -> None:
    """Oracle: (1 - p) / p^2 with p = 1 / mean."""
    assert geometric(mean).variance == pytest.approx(mean * (mean - 1), rel=1e-12)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.integers(0, 60))
def test_a_replay_gives_the_values_in_their_order(values: list[int], count: int) -> None:
    repeated = replay(values).draw(count).tolist()
    assert repeated == [values[i % len(values)] for i in range(count)]
    assert replay(values, at_end="stop").draw(count).tolist() == values[:count]
