"""Intervals: published tables, exact inversions, coverage by simulation, invariances."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.intervals import (
    Interval,
    Sample,
    contrast,
    difference,
    mean_interval,
    median_interval,
    median_ranks,
    ratio,
    t_quantile,
)

MEDIAN_TABLE = {
    6: (1, 6), 7: (1, 7), 8: (1, 8), 9: (2, 8), 10: (2, 9), 12: (3, 10), 15: (4, 12),
    20: (6, 15), 30: (10, 21), 50: (18, 33), 100: (40, 61),
}  # fmt: skip
"""Ranks of the 95% interval of the median, from tables of the binomial distribution."""

finite = st.floats(-1e6, 1e6, allow_nan=False)
samples = st.lists(finite, min_size=2, max_size=30).map(np.array)


@pytest.mark.parametrize(("count", "ranks"), MEDIAN_TABLE.items())
def test_the_ranks_of_a_median_are_those_of_the_table(count: int, ranks: tuple[int, int]) -> None:
    assert median_ranks(count) == ranks


@pytest.mark.parametrize("count", range(6, 200))
def test_the_ranks_of_a_median_cover_it_and_the_next_narrower_ones_do_not(count: int) -> None:
    """Oracle: the binomial distribution of the number of observations below the median."""
    ranks = median_ranks(count)
    assert ranks is not None
    below = stats.binom(count, 0.5)
    assert 1.0 - 2.0 * below.cdf(ranks[0] - 1) >= 0.95
    assert 1.0 - 2.0 * below.cdf(ranks[0]) < 0.95


@pytest.mark.parametrize("count", range(1, 6))
def test_five_replications_give_no_interval_of_a_median_and_say_how_many_would(count: int) -> None:
    interval = median_interval(np.arange(float(count)))
    assert (interval.low, interval.high, interval.method) == (None, None, "none")
    assert interval.reason == NoInterval(
        code="few_for_median", count=count, needed=6, confidence=0.95
    )


@pytest.mark.parametrize(("count", "quantile"), [(5, 2.776), (10, 2.262), (20, 2.093), (30, 2.045)])
def test_the_quantiles_of_student_are_those_of_the_table(count: int, quantile: float) -> None:
    assert t_quantile(degrees=count - 1) == pytest.approx(quantile, abs=5e-4)


@given(samples)
def test_a_mean_interval_is_that_of_scipy(values: np.ndarray) -> None:
    interval = mean_interval(values)
    error = float(np.std(values, ddof=1) / np.sqrt(values.size))
    if error == 0.0:
        assert interval.low == interval.high == interval.value
        return
    low, high = stats.t.interval(0.95, values.size - 1, loc=np.mean(values), scale=error)
    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    assert interval.high == pytest.approx(high, rel=1e-9, abs=1e-9)


def test_one_replication_gives_a_value_and_no_interval() -> None:
    interval = mean_interval(np.array([3.0]))
    assert interval.value == 3.0
    assert interval.low is None
    assert interval.reason == NoInterval(code="one_replication")


@given(samples, samples)
def test_a_difference_agrees_with_welch_of_scipy(first: np.ndarray, second: np.ndarray) -> None:
    if np.std(first) < 1e-6 or np.std(second) < 1e-6:
        return
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = difference(Sample(values=first), Sample(values=second))
    assert found.low == pytest.approx(expected.low, rel=1e-6, abs=1e-6)
    assert found.high == pytest.approx(expected.high, rel=1e-6, abs=1e-6)


@given(samples, st.floats(0.01, 100.0), finite)
def test_intervals_move_and_stretch_with_the_data(
    values: np.ndarray, scale: float, shift: float
) -> None:
    for make in (mean_interval, median_interval):
        before, after = make(values), make(scale * values + shift)
        size = 1.0 + float(np.max(np.abs(scale * values))) + abs(shift)
        assert after.value == pytest.approx(scale * before.value + shift, abs=1e-9 * size)
        if before.low is not None:
            assert after.low == pytest.approx(scale * before.low + shift, abs=1e-7 * size)


@given(samples)
def test_an_interval_contains_its_value(values: np.ndarray) -> None:
    for interval in (mean_interval(values), median_interval(values)):
        if interval.low is not None and interval.high is not None:
            assert interval.low <= interval.value <= interval.high


def test_a_ratio_holds_the_divisors_for_which_the_contrast_does_not_exclude_zero() -> None:
    """Oracle: Fieller's interval is the inversion of the contrast ``first - r * second``."""
    random = np.random.default_rng(5)
    first = Sample(values=random.normal(20.0, 2.0, 8))
    second = Sample(values=random.normal(10.0, 1.0, 8))
    found = ratio(first, second)
    assert found.low is not None
    assert found.high is not None
    variances = [first.standard_error**2, (found.value * second.standard_error) ** 2]
    degrees = sum(variances) ** 2 / sum(v**2 / 7 for v in variances)
    for bound in (found.low, found.high):
        error = np.hypot(first.standard_error, bound * second.standard_error)
        distance = abs(first.value - bound * second.value) / error
        assert distance == pytest.approx(t_quantile(degrees=degrees))


def test_a_ratio_by_something_that_may_be_zero_has_no_interval() -> None:
    found = ratio(Sample(values=np.array([1.0, 2.0])), Sample(values=np.array([-1.0, 1.5])))
    assert found.low is None
    assert found.reason == NoInterval(code="divisor_near_zero")


def test_a_ratio_of_medians_needs_an_interval_of_each() -> None:
    few = Sample(values=np.arange(1.0, 6.0), centre="median")
    many = Sample(values=np.arange(1.0, 21.0), centre="median")
    assert ratio(few, many).reason == few.interval().reason
    assert few.interval().reason is not None
    found = ratio(many, many)
    assert found.low is not None
    assert found.low < 1.0 < (found.high or 0.0)


def test_a_pooled_value_widens_its_interval_by_its_distance_from_the_replications() -> None:
    values = np.array([1.0, 2.0, 3.0])
    at_mean = Sample(values=values, centre="pooled", pooled=2.0).interval()
    away = Sample(values=values, centre="pooled", pooled=4.0).interval()
    assert at_mean.relative_half_width() == mean_interval(values).relative_half_width()
    assert (away.high or 0.0) - 4.0 > (at_mean.high or 0.0) - 2.0


def test_the_relative_half_width_of_a_zero_is_unknown() -> None:
    assert Interval(value=0.0, low=-1.0, high=1.0, method="student-t").relative_half_width() is None


@pytest.mark.parametrize(
    ("draw", "truth", "centre"),
    [
        (lambda random: random.normal(3.0, 1.0, 10), 3.0, "mean"),
        (lambda random: random.exponential(1.0, 30), 1.0, "mean"),
        (lambda random: random.exponential(1.0, 12), float(np.log(2.0)), "median"),
        (lambda random: random.standard_cauchy(20), 0.0, "median"),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(
    draw: Callable[[np.random.Generator], np.ndarray], truth: float, centre: str
) -> None:
    """Coverage of 2000 experiments: at least 91%.

    Three standard errors below 95% are 93.5%; the mean of 30 exponential values is known to
    cover about 93%, because they are skewed.
    """
    random = np.random.default_rng(7)
    make = mean_interval if centre == "mean" else median_interval
    found = [make(draw(random)) for _ in range(2000)]
    hits = sum((i.low or 0.0) <= truth <= (i.high or 0.0) for i in found)
    assert 0.91 <= hits / len(found) <= 0.99


def test_differences_and_ratios_cover_the_truth_as_often_as_they_say() -> None:
    """Coverage of 2000 experiments with unequal variances and counts: 93.5 to 96.5%."""
    random = np.random.default_rng(11)
    differences = ratios = 0
    for _ in range(2000):
        first = Sample(values=random.normal(20.0, 3.0, 6))
        second = Sample(values=random.normal(10.0, 0.5, 12))
        d, r = difference(first, second), ratio(first, second)
        differences += (d.low or 0.0) <= 10.0 <= (d.high or 0.0)
        ratios += (r.low or 0.0) <= 2.0 <= (r.high or 0.0)
    assert 0.935 <= differences / 2000 <= 0.965
    assert 0.935 <= ratios / 2000 <= 0.965


def test_a_contrast_with_a_median_is_on_the_wide_side() -> None:
    """Interval arithmetic over two medians covers at least 95%."""
    random = np.random.default_rng(13)
    hits = 0
    for _ in range(500):
        first = Sample(values=random.exponential(2.0, 15), centre="median")
        second = Sample(values=random.exponential(1.0, 15), centre="median")
        found = contrast([first, second], [1.0, -1.0])
        hits += (found.low or 0.0) <= np.log(2.0) <= (found.high or 0.0)
    assert hits >= 475
