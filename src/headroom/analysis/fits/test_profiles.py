"""Profiles and identifiability: against closed forms, and by simulation."""

import math

import numpy as np
import pytest

from headroom.analysis.fits.profiles import BetterFitError, quantile_f, scan, threshold
from headroom.experiment.protocol.run import FloatArray

CURVATURE = np.array([[4.0, 1.5], [1.5, 2.0]])
BEST = np.array([1.0, -2.0])


def quadratic(held: int, value: float, start: FloatArray) -> tuple[float, FloatArray]:
    """Return the minimum over the other parameter of 1 + (x - b)' A (x - b), by its formula."""
    other = 1 - held
    place = np.array(start)
    moved = value - BEST[held]
    place[held] = value
    place[other] = BEST[other] - CURVATURE[other, held] * moved / CURVATURE[other, other]
    away = place - BEST
    return 1.0 + float(away @ CURVATURE @ away), place


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("step", [0.01, 0.3, 5.0])
def test_the_profile_of_a_quadratic_ends_where_linear_theory_says(held: int, step: float) -> None:
    """Oracle: the rise is x^2 / (A^-1)_ii, so the end is sqrt(rise (A^-1)_ii)."""
    rise = 0.7
    side = scan(quadratic, BEST, held, end=BEST[held] + 50.0, step=step, least=1.0, rise=rise)
    expected = math.sqrt(rise * np.linalg.inv(CURVATURE)[held, held])
    assert not side.is_open
    assert side.end - BEST[held] == pytest.approx(expected, rel=0.04)


def test_a_profile_that_stays_flat_is_open_at_the_end_of_its_range() -> None:
    side = scan(quadratic, BEST, 0, end=1.05, step=0.01, least=1.0, rise=1.0)
    assert side.is_open
    assert side.end == 1.05


def test_a_profile_that_finds_a_better_fit_says_where() -> None:
    with pytest.raises(BetterFitError) as caught:
        scan(quadratic, BEST + 1.0, 0, end=-5.0, step=0.5, least=4.0, rise=1.0)
    assert quadratic(0, caught.value.place[0], BEST)[0] < 4.0


def test_the_threshold_makes_95_percent_intervals_of_means() -> None:
    """Of 2,000 fits of one mean to five values the interval holds the truth in 95 +- 1.5%.

    The rise of the profile of a mean is n (x - mean)^2, so it is refuted if that exceeds Q.
    """
    random = np.random.default_rng(7)
    values = 1.0 + 0.1 * random.normal(size=(2_000, 5))
    means = values.mean(axis=1)
    least = ((values - means[:, None]) ** 2).sum(axis=1)
    held = [
        5 * (mean - 1.0) ** 2
        <= threshold(least=float(s), observations=5, parameters=1, variances=[])
        for mean, s in zip(means, least, strict=True)
    ]
    assert 0.935 <= np.mean(held) <= 0.965


def test_scatter_counts_where_the_model_goes_through_every_point() -> None:
    """Oracle: as many parameters as observations leave no residual, yet the values are not sure."""
    rise = threshold(least=0.0, observations=2, parameters=2, variances=[(0.01, 4.0), (0.03, 4.0)])
    assert rise == pytest.approx(quantile_f(8.0) * 0.02)
    assert threshold(least=0.0, observations=2, parameters=2, variances=[]) == math.inf
