"""Runs that settle at one of two rates are told from runs that scatter."""

import numpy as np
import pytest

from headroom.analysis.statistics.two_kinds import two_kinds


@pytest.mark.parametrize("count", [5, 8, 12, 30])
def test_scatter_is_hardly_ever_taken_for_two_kinds(count: int) -> None:
    generator = np.random.default_rng(count)
    runs = np.exp(0.1 * generator.standard_normal((4000, count)))
    found = sum(two_kinds(one, matters=0.05) is not None for one in runs)
    assert found <= 0.006 * len(runs)


@pytest.mark.parametrize(("count", "deviation"), [(5, 0.01), (8, 0.03), (12, 0.04)])
def test_runs_a_factor_of_1_6_apart_are_found(count: int, deviation: float) -> None:
    generator = np.random.default_rng(count)
    found = 0
    for _ in range(200):
        kinds = np.where(np.arange(count) % 2, 1.6, 1.0)
        runs = kinds * (1.0 + deviation * generator.standard_normal(count))
        kind = two_kinds(runs, matters=0.05)
        found += kind is not None and kind.low_count == count - count // 2
    assert found >= 180
