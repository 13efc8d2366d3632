"""Pairs: textbook values, inversion of the underlying test, coverage, symmetries."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from headroom.analysis.statistics.comparison import paired_difference, paired_ratio
from headroom.experiment.protocol.run import FloatArray
from headroom.simulation import Model, exponential, simulate

positive = st.lists(st.floats(1.0, 1e3), min_size=3, max_size=12).map(np.array)


def two(values: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the values and a correlated copy."""
    return values, values * np.random.default_rng(seed).uniform(0.9, 1.1, values.size)


@given(positive, st.integers(0, 1000))
def test_a_paired_difference_is_the_paired_t_of_the_library(values: FloatArray, seed: int) -> None:
    first, second = two(values, seed)
    assume(np.ptp(first - second) > 1e-9)
    ours = paired_difference(first, second).interval
    theirs = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9)


@given(positive, st.integers(0, 1000))
def test_a_paired_ratio_ends_where_the_paired_test_rejects(values: FloatArray, seed: int) -> None:
    """Oracle: at a bound r of Fieller's interval the t-test of a - r b has the value 0.05."""
    first, second = two(values, seed)
    interval = paired_ratio(first, second).interval
    assume(
        interval.low is not None
        and interval.high is not None
        and interval.high - interval.low > 1e-6
    )
    for bound in (interval.low, interval.high):
        assert bound is not None
        rest = first - bound * second
        statistic = rest.mean() / (rest.std(ddof=1) / math.sqrt(rest.size))
        limit = stats.t.ppf(0.975, rest.size - 1)
        assert abs(statistic) == pytest.approx(limit, rel=1e-3)


@given(positive, st.integers(0, 1000))
def test_exchanging_the_systems_turns_the_answer_round(values: FloatArray, seed: int) -> None:
    first, second = two(values, seed)
    forth, back = paired_difference(first, second), paired_difference(second, first)
    assert forth.interval.low is not None
    assert back.interval.high is not None
    assert forth.interval.low == pytest.approx(-back.interval.high, abs=1e-9)
    there, again = paired_ratio(first, second).interval, paired_ratio(second, first).interval
    if None not in (there.low, again.high) and (there.low or 0.0) > 0.0:
        assert (there.low or 0.0) * (again.high or 0.0) == pytest.approx(1.0, rel=1e-6)


def test_intervals_of_pairs_cover_the_truth_as_often_as_they_say() -> None:
    """2,000 experiments of 8 correlated pairs: 95% within four standard errors (0.5 points)."""
    random = np.random.default_rng(5)
    hits = np.zeros(2)
    for _ in range(2_000):
        shared = random.normal(0.0, 1.0, 8)
        first = 10.0 + shared + random.normal(0.0, 0.3, 8)
        second = 8.0 + 0.9 * shared + random.normal(0.0, 0.3, 8)
        for place, (found, truth) in enumerate(
            [(paired_difference(first, second), 2.0), (paired_ratio(first, second), 1.25)]
        ):
            interval = found.interval
            assert interval.low is not None
            assert interval.high is not None
            hits[place] += interval.low <= truth <= interval.high
    assert np.all(np.abs(hits / 2_000 - 0.95) < 0.02)


def response_s(service_s: float, seed: int) -> float:
    """Return the mean response time (s) of a queue to which one job comes each second."""
    model = Model("queue", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("server"), exponential(service_s))
    model.open_class("jobs", visit, interarrival=exponential(1.0))
    classes = simulate(model, seed=seed, completions=5_000).classes.columns
    return float(classes["response_s_sum"][-1, 0] / classes["completion_count"][-1, 0])


def test_common_random_numbers_save_replications_and_the_figure_says_how_many() -> None:
    """A server that is 2% faster: the same seeds give the same bursts, and those cancel."""
    slow = [response_s(0.80, seed) for seed in range(20)]
    fast = [response_s(0.784, seed) for seed in range(20)]
    other = [response_s(0.784, 1_000 + seed) for seed in range(20)]
    shared, independent = paired_difference(slow, fast), paired_difference(slow, other)
    assert (shared.variance_reduction or 0.0) > 20.0
    assert 0.3 < (independent.variance_reduction or 0.0) < 3.0
    assert (shared.interval.low or 0.0) > 0.0


def test_opposite_answers_to_the_same_chance_show_as_a_reduction_below_one() -> None:
    difference = paired_difference([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0])
    assert difference.correlation == pytest.approx(-1.0)
    assert difference.variance_reduction == pytest.approx(0.5)


def test_equal_systems_differ_by_nothing_and_all_chance_cancels() -> None:
    values = np.array([10.0, 11.0, 13.0])
    difference = paired_difference(values, values)
    assert (difference.interval.low, difference.interval.high) == (0.0, 0.0)
    assert difference.variance_reduction == math.inf
    ratio = paired_ratio(values, values).interval
    assert (ratio.low, ratio.value, ratio.high) == (1.0, 1.0, 1.0)


def test_systems_without_chance_have_no_reduction_to_speak_of() -> None:
    difference = paired_difference([2.0, 2.0], [1.0, 1.0])
    assert (difference.correlation, difference.variance_reduction) == (None, None)


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ([1.0], [2.0], "one_replication"),
        ([1.0, 2.0], [-1.0, 1.0], "zero_divisor"),
        ([1.0, 2.0, 3.0], [-1.0, 1.0, 2.0], "divisor_near_zero"),
    ],
)
def test_a_ratio_without_an_interval_says_why(a: list[float], b: list[float], code: str) -> None:
    interval = paired_ratio(a, b).interval
    assert (interval.low, interval.high) == (None, None)
    assert interval.reason is not None
    assert interval.reason.code == code


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "equally long"),
        ([1.0], [1.0, 2.0], "equally long"),
        ([1.0, math.nan], [1.0, 2.0], "not finite"),
    ],
)
@pytest.mark.parametrize("function", [paired_difference, paired_ratio])
def test_what_is_no_pair_is_refused(
    function: object, a: list[float], b: list[float], message: str
) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match=message):
        function(a, b)
