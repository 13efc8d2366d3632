"""Comparison of two lists: against tables, by symmetry, and the coverage of intervals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.signed_ranks import fewest_pairs, signed_rank, walsh_averages
from headroom.analysis.statistics.two_samples import dominance, ratio_within_pairs, shift_between
from headroom.analysis.verdicts.level_comparison import verdict_of
from headroom.experiment.protocol.run import FloatArray

EXPERIMENTS = 2000
LAWS = {
    "normal": lambda random, size: np.exp(0.1 * random.normal(0.0, 1.0, size)),
    "exponential": lambda random, size: 1.0 + random.exponential(1.0, size),
    "heavy": lambda random, size: np.exp(random.standard_t(3, size)),
    "sixteen times less spread": lambda random, size: np.exp(0.01 * random.normal(0, 1, size)),
}
positive = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=14).map(np.array)


def test_the_interval_of_the_shift_has_the_ranks_of_the_table_of_mann_and_whitney() -> None:
    """Critical values of U at two-sided 5%, as in Conover, table A7: the rank is one more."""
    for first, second, critical in ((4, 4, 0), (5, 5, 2), (8, 8, 13), (10, 10, 23), (6, 9, 10)):
        low, high = np.arange(1.0, first + 1.0), 100.0 * np.arange(1.0, second + 1.0)
        gaps = sorted(a - b for a, b in itertools.product(low, high))
        shift = shift_between(low, high)
        assert shift.low == gaps[critical]
        assert shift.high == gaps[-1 - critical]


def test_three_and_three_runs_have_no_interval() -> None:
    three = np.array([1.0, 2.0, 3.0])
    assert shift_between(three, 10.0 + three).low is None
    ratio = ratio_within_pairs(10.0 * three, three)
    assert ratio.low is None
    assert ratio.reason == NoInterval(code="few_pairs", count=3, needed=6)
    one = np.array([1.0])
    assert ratio_within_pairs(one, one).reason == NoInterval(code="few_pairs", count=1, needed=6)


@given(st.floats(0.5, 0.999))
def test_the_fewest_pairs_are_those_of_which_all_can_have_one_sign(confidence: float) -> None:
    count = fewest_pairs(confidence)
    assert 0.5 ** (count - 1) <= 1.0 - confidence + 1e-12
    assert count == 1 or 0.5 ** (count - 2) > 1.0 - confidence - 1e-12


@given(positive, positive)
def test_exchanging_the_lists_turns_everything_round(first: FloatArray, second: FloatArray) -> None:
    there, back = shift_between(first, second), shift_between(second, first)
    assert back.value == pytest.approx(-there.value)
    if there.low is not None:
        assert back.high == pytest.approx(-there.low)
    (delta, p), (turned, p_back) = dominance(first, second), dominance(second, first)
    assert turned == pytest.approx(-delta)
    assert p == pytest.approx(p_back)


@given(st.lists(st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0)), min_size=6, max_size=20))
def test_exchanging_pairs_turns_ratio_and_verdict_round(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    there, back = ratio_within_pairs(first, second), ratio_within_pairs(second, first)
    assert there.low is not None
    assert there.high is not None
    assert back.value == pytest.approx(1.0 / there.value)
    assert (back.low, back.high) == pytest.approx((1.0 / there.high, 1.0 / there.low))
    edges = [abs(math.log(bound)) - math.log(1.07) for bound in (there.low, there.high)]
    if min(map(abs, edges)) > 1e-9:  # not on the very edge of the zone, where rounding decides
        turned = {"better": "worse", "worse": "better"}
        verdict = verdict_of(there, 0.07, "low")
        assert verdict_of(back, 0.07, "low") == turned.get(verdict, verdict)


@given(positive, positive)
def test_delta_counts_who_is_larger(first: FloatArray, second: FloatArray) -> None:
    signs = np.sign(np.subtract.outer(first, second))
    assert dominance(first, second)[0] == pytest.approx(float(signs.mean()))


@pytest.mark.parametrize("count", [6, 10, 16])
@pytest.mark.parametrize(("above", "below"), list(itertools.product(LAWS, LAWS)))
def test_the_interval_of_the_ratio_covers_whatever_the_laws(
    above: str, below: str, count: int
) -> None:
    """At least 95%, less four standard errors of 2,000 experiments, and 1% if it is skewed.

    The truth is that of Hodges and Lehmann: the median of the means of two log ratios.
    """
    random = np.random.default_rng(7)
    drift = random.lognormal(0.0, 0.3, (EXPERIMENTS, count))
    first = 3.0 * drift * LAWS[above](random, (EXPERIMENTS, count))
    second = drift * LAWS[below](random, (EXPERIMENTS, count))
    many = (LAWS[above](random, 200_000), LAWS[below](random, 200_000))
    logs = np.log(many[0] / many[1]).reshape(2, -1)
    truth = math.log(3.0) + float(np.median(logs.mean(axis=0)))
    averages = walsh_averages(np.log(first / second))
    rank = signed_rank(count)
    covered = np.mean((averages[:, rank - 1] <= truth) & (averages[:, -rank] >= truth))
    skewed = 0.01 if "exponential" in (above, below) and above != below else 0.0
    assert covered >= 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / EXPERIMENTS) - skewed


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("same_within", [0.0, 0.05])
def test_equal_systems_are_seldom_called_better(law: str, same_within: float) -> None:
    """At most 2.5% on either side; more than 88 of 2,000 has a chance below one in a million."""
    random = np.random.default_rng(8)
    highest = float(stats.binom.isf(1e-6, EXPERIMENTS, 0.025))
    verdicts = [
        verdict_of(
            ratio_within_pairs(LAWS[law](random, 8), LAWS[law](random, 8)), same_within, "low"
        )
        for _ in range(EXPERIMENTS)
    ]
    assert verdicts.count("better") <= highest
    assert verdicts.count("worse") <= highest


def test_a_clear_difference_is_found_with_eight_blocks() -> None:
    random = np.random.default_rng(9)
    verdicts = [
        verdict_of(
            ratio_within_pairs(
                1.5 * LAWS["normal"](random, 8), LAWS["normal"](random, 8)
            ), 0.05, "low",
        )
        for _ in range(300)
    ]  # fmt: skip
    assert verdicts.count("worse") >= 280
