"""The test of equal values against SciPy, and how often it is wrong."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy

from headroom.analysis.statistics.equality import p_value_of_equality
from headroom.analysis.statistics.parts import Part, Parts


def errors_of(samples: Sequence[np.ndarray]) -> list[Parts]:
    return [
        {str(place): Part(float(one.std(ddof=1)) / one.size**0.5, one.size - 1)}
        for place, one in enumerate(samples)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_of_two_values_it_is_the_test_of_welch(seed: int) -> None:
    """Oracle: SciPy."""
    rng = np.random.default_rng(seed)
    samples = [rng.normal(0.0, 1.0, 6), rng.normal(0.7, 3.0, 11)]
    found = p_value_of_equality([one.mean() for one in samples], errors_of(samples))
    expected = scipy.stats.ttest_ind(*samples, equal_var=False).pvalue
    assert found == pytest.approx(expected, rel=1e-9)


def test_equal_values_are_called_unequal_as_often_as_the_level_says() -> None:
    """Oracle: ratios of equal means to the first of them, whose error is common to all."""
    rng = np.random.default_rng(1)
    values = []
    for _ in range(2000):
        samples = rng.normal(10.0, [[0.1], [0.2], [0.3], [0.4]], (4, 8))
        means, moves = samples.mean(axis=1), samples.std(axis=1, ddof=1) / 8**0.5
        base = means[0]
        errors: list[Parts] = [{}]
        for place in (1, 2, 3):
            own = Part(moves[place] / base, 7.0)
            common = Part(-means[place] * moves[0] / base**2, 7.0)
            errors.append({"0": common, str(place): own})
        values.append(p_value_of_equality(list(means / base), errors))
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_values_without_errors_differ_if_they_differ_at_all() -> None:
    nothing: Parts = {}
    assert p_value_of_equality([1.0, 1.0, 1.0], [nothing] * 3) == 1.0
    assert p_value_of_equality([1.0, 1.0, 1.1], [nothing] * 3) == 0.0
    same: Parts = {"a": Part(0.5, 9.0)}
    assert p_value_of_equality([1.0, 1.5], [same, same]) == 0.0
