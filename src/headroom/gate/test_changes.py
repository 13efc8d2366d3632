"""Change points: false alarms, places, and invariances."""

import numpy as np
import pytest
from scipy import stats

from headroom.gate import changes, permuted
from headroom.gate.changes import LEVEL, changes_of, outside_of, results_after, spread_of


def noise(count: int, *, seed: int) -> np.ndarray:
    return np.exp(0.02 * np.random.default_rng(seed).standard_t(3, size=count))


def test_series_without_a_change_show_one_no_more_often_than_stated() -> None:
    """Heavy tails: the test assumes no distribution."""
    alarms = sum(bool(changes_of(noise(30, seed=seed).tolist())) for seed in range(200))
    assert alarms <= stats.binom.isf(1e-5, 200, LEVEL)


def test_two_changes_are_found_near_their_places_with_intervals_that_hold() -> None:
    near = missed = 0
    for seed in range(50):
        series = noise(60, seed=seed)
        series[20:] *= 1.3
        series[40:] *= 1.3
        found = changes_of(series.tolist())
        near += [round(change.place / 20) for change in found] == [1, 2]
        missed += sum(not (one.low or 0) <= 1.3 <= (one.high or 0) for one in found)
    assert near >= 45
    assert missed <= stats.binom.isf(1e-4, 100, 0.05)


def test_one_outlier_is_no_change() -> None:
    series = noise(40, seed=2)
    series[20] *= 10.0
    assert changes_of(series.tolist()) == []


def test_equal_results_have_no_change_and_a_step_between_them_has() -> None:
    assert changes_of([5.0] * 30) == []
    (change,) = changes_of([5.0] * 15 + [6.0] * 15)
    assert (change.place, change.is_step) == (15, True)


@pytest.mark.parametrize("factor", [1e-9, 3.0, 1e12])
def test_units_do_not_matter(factor: float) -> None:
    series = noise(30, seed=3)
    series[12:] *= 1.2
    places = [change.place for change in changes_of((factor * series).tolist())]
    assert places == [change.place for change in changes_of(series.tolist())]
    assert places


@pytest.mark.deep
def test_a_series_that_wanders_ends_too() -> None:
    """Two neighbouring changes once moved each other to and fro for ever."""
    for seed in range(60):
        series = np.exp(0.05 * np.cumsum(np.random.default_rng(seed).normal(size=100)))
        places = [change.place for change in changes_of(series.tolist())]
        assert places == sorted(set(places))


@pytest.mark.deep
def test_a_machine_that_drifts_shows_no_steps_and_a_step_on_it_is_found() -> None:
    """Random walks without noise of their own: the level moves, and nothing is abrupt."""
    false = found = 0
    for seed in range(150):
        walk = np.cumsum(0.01 * np.random.default_rng(seed).normal(size=40))
        false += any(change.is_step for change in changes_of(np.exp(walk).tolist()))
        walk[20:] += 0.1
        places = [change.place for change in changes_of(np.exp(walk).tolist()) if change.is_step]
        found += 20 in places
    assert false <= stats.binom.isf(1e-4, 150, LEVEL)
    assert found > 100


@pytest.mark.parametrize("length", [14, 24, 40])
@pytest.mark.parametrize("level", [LEVEL, LEVEL / 5])
def test_a_step_is_found_from_the_stated_number_of_results_after_it_on(
    length: int, level: float
) -> None:
    after = results_after(length, [], level=level)
    assert after is not None
    middling = 0.01 * np.cos(2.6 * np.arange(length))  # Ups and downs, no step of their own.
    for count in range(1, after + 1):
        series = np.r_[middling[count:], 5.0 + middling[:count]].tolist()
        found = changes_of(series, level=level)
        assert [change.place for change in found] == [length - count] * (count >= after)
        if count < after:
            (last,) = outside_of(series, [], after)
            assert (last.first, last.count) == (length - count, count)


def test_a_pulse_that_chance_explains_is_no_change_and_lies_outside() -> None:
    """3 of 24 are neighbours by chance once in 92 cases."""
    for start in range(4, 18):
        series = noise(24, seed=4)
        series[start : start + 3] *= 3.0
        found = outside_of(series.tolist(), [], results_after(24, [], level=LEVEL))
        assert changes_of(series.tolist()) == []
        assert any(one.first <= start < one.first + one.count for one in found)


@pytest.mark.parametrize("last", [2, 3, 4])
def test_last_results_beyond_all_others_lie_outside_up_to_half_of_a_series(last: int) -> None:
    series = [*[10.1, 10.0, 9.9, 10.2, 10.05, 10.15][: 8 - last], 10.5, 10.6, 10.7, 10.8]
    found = outside_of(series[:8], [], 6)
    assert [(one.first, one.count) for one in found] == [(8 - last, last)]


def test_a_level_below_what_permutations_resolve_counts_as_the_finest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(permuted, "PERMUTATIONS", ((0.0, 999),))
    monkeypatch.setattr(changes, "FINEST", 1e-3)
    assert changes.fewest_results(1e-9) == changes.fewest_results(1e-3)


def test_noise_that_remembers_shows_a_change_no_more_often_than_stated_and_its_step_is_found() -> (
    None
):
    alarms = found = 0
    for seed in range(150):
        series = np.random.default_rng(seed).normal(size=40)
        for place in range(1, 40):
            series[place] = 0.5 * series[place - 1] + 0.75**0.5 * series[place]
        alarms += bool(changes_of(np.exp(0.01 * series).tolist()))
        series[20:] += 8.0
        found += 20 in [change.place for change in changes_of(np.exp(0.01 * series).tolist())]
    assert alarms <= stats.binom.isf(1e-4, 150, LEVEL)
    assert found > 140


def test_a_wider_spread_and_the_step_before_it_are_both_found() -> None:
    """The step is as large as the wide noise: only the quiet part by itself shows it."""
    steps = spreads = 0
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=60)
        noise[40:] *= 8.0
        noise[20:] += 8.0
        changes = changes_of(noise.tolist())
        steps += any(abs(change.place - 20) <= 1 for change in changes)
        spread = spread_of(noise.tolist(), changes)
        spreads += spread is not None and abs(spread.place - 40) <= 3
    assert min(steps, spreads) >= 18


def test_a_level_that_walks_has_no_other_spread() -> None:
    randoms = map(np.random.default_rng, range(150))
    walks = [np.cumsum(random.normal(size=40)).tolist() for random in randoms]
    false = sum(spread_of(walk, changes_of(walk)) is not None for walk in walks)
    assert false <= stats.binom.isf(1e-4, 150, LEVEL)
