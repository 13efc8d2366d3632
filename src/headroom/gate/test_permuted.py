"""Tests by permutation: rates that combinatorics gives, and the pattern of weekdays."""

import math

import numpy as np
import pytest

from headroom.gate.permuted import shares_of, surviving, without_weekdays


@pytest.mark.parametrize(("length", "last"), [(14, 4), (20, 3), (30, 3), (30, 5)])
def test_the_p_value_of_last_results_beyond_all_is_that_of_their_choice(
    length: int, last: int
) -> None:
    """Two of all choices of so many results lie at an end."""
    series = np.r_[np.sin(np.arange(length - last) ** 2.0), 50.0 + np.arange(last)]
    ((item, p_value),) = surviving(series, [(length - last,)], 0.05)
    assert item == (length - last,)
    expected = 2.0 / math.comb(length, last)
    assert p_value <= expected + 5.0 * math.sqrt(expected / 9_999) + 2e-4
    assert p_value >= expected - 5.0 * math.sqrt(expected / 9_999)


def test_steps_of_independent_results_with_two_modes_are_an_accident() -> None:
    """Three slow results in a row are usual where three in ten are slow."""
    found = 0
    for seed in range(80):
        random = np.random.default_rng(seed)
        series = 3.0 * (random.random(40) < 0.3) + 0.1 * random.normal(size=40)
        sums = np.convolve(series, np.ones(4), "valid")[3:-3]
        first = 3 + int(np.argmax(sums))
        found += bool(surviving(series, [(first, first + 4)], 0.01))
    assert found <= 5, "P(more) < 1e-3 at a rate of 1%"


def test_a_pattern_of_weekdays_is_taken_out_and_none_is_invented() -> None:
    random = np.random.default_rng(3)
    days = [night % 7 for night in range(42)]
    noise = random.normal(size=42)
    pattern = np.resize([0.0, 0.0, 0.0, 0.0, 0.0, -6.0, -6.0], 42)
    assert np.std(without_weekdays(noise + pattern, days)) < 1.3
    assert (without_weekdays(noise, days) == noise).all()
    assert (without_weekdays(noise + pattern, None) == noise + pattern).all()


@pytest.mark.parametrize("length", [12, 34, 38, 80])
def test_shares_add_up_to_no_more_than_the_level(length: int) -> None:
    step, pulse = shares_of(length, 0.01)
    assert step + pulse <= 0.007 + 1e-12  # The rest is for a change of spread.
    assert (pulse >= length / math.comb(length, 3)) == (length >= 36)
