"""Extremes of samples of a given size: against closed forms, by counting, and their coverage."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.extremes import extreme_interval
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.study.study import Extreme

EXPERIMENTS = 2000
BOTH: tuple[Extreme, Extreme] = ("minimum", "maximum")
values = st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=9).map(np.array)


@pytest.mark.parametrize("of", [1, 5, 20])
def test_the_median_of_the_least_of_exponential_times_is_covered(of: int) -> None:
    """The least of n is exponential with the n-fold rate: its median is log 2 / n."""
    random = np.random.default_rng(of)
    truth, covered = math.log(2.0) / of, 0
    for _ in range(EXPERIMENTS):
        interval = extreme_interval(random.exponential(1.0, 8 * of), "minimum", of=of)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    # Asked: 95% at least. Below 93.5% in 2,000 experiments has a chance of 0.001.
    assert covered / EXPERIMENTS >= 0.935


@given(values, st.integers(1, 9))
def test_the_value_is_the_median_over_all_samples(ours: FloatArray, of: int) -> None:
    size = min(of, ours.size)
    extremes = sorted(min(drawn) for drawn in combinations(ours.tolist(), size))
    expected = extremes[(len(extremes) - 1) // 2]
    assert extreme_interval(ours, "minimum", of=of).value == expected


@given(values, st.integers(1, 9))
def test_the_largest_is_the_smallest_turned_around(ours: FloatArray, of: int) -> None:
    low, high = (extreme_interval(sign * ours, which, of=of)
                 for sign, which in zip((-1.0, 1.0), BOTH, strict=True))  # fmt: skip
    assert high.value == -low.value
    assert (high.low is None) == (low.high is None)
    if low.high is not None and low.low is not None:
        assert (high.low, high.high) == (-low.high, -low.low)


@pytest.mark.parametrize("which", BOTH)
def test_as_many_as_there_are_give_the_extreme_itself(which: Extreme) -> None:
    ours = np.array([4.0, 1.0, 3.0, 9.0])
    expected = {"minimum": 1.0, "maximum": 9.0}[which]
    assert extreme_interval(ours, which, of=4).value == expected


@pytest.mark.parametrize(("of", "least"), [(1, 6), (16, 86), (20, 107)])
def test_too_few_replications_say_how_many_are_needed(of: int, least: int) -> None:
    few = extreme_interval(np.arange(float(least - 1)), "maximum", of=of)
    assert few.low is None
    assert few.reason == NoInterval(
        code="few_for_extreme", count=least - 1, needed=least, extreme_of=of
    )
    assert extreme_interval(np.arange(float(least)), "maximum", of=of).low is not None
