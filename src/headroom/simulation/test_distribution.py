"""Distributions: what is promised (mean, c2, range) is what is drawn."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from headroom.simulation import (
    Distribution,
    SimulationError,
    bounded_pareto,
    constant,
    discrete,
    empirical,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    lognormal,
    normal,
    pareto,
    triangular,
    uniform,
    weibull,
)

DRAWS = 400_000
LAWS = [
    uniform(1, 3),
    exponential(5),
    erlang(5, stages=3),
    gamma(5, c2=0.4),
    gamma(5, c2=3),
    hyperexponential(5, c2=4),
    lognormal(5, c2=2),
    weibull(5, shape=1.7),
    pareto(1, shape=6),
    bounded_pareto(1, 100, shape=1),
    bounded_pareto(1, 100, shape=1.5),
    normal(2, 1),
    normal(0, 1),
    triangular(1, 2, 4),
    empirical([1, 2, 4.5]),
    discrete([1, 2, 10], weights=[1, 2, 0.5]),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_have_the_promised_mean_and_c2(law: Distribution) -> None:
    """Oracle: the mean to 5 standard errors (false alarm below 1e-6), c2 to 5 %."""
    draws = law.draw(DRAWS, seed=3)
    standard_error = law.mean * math.sqrt(law.c2 / DRAWS)
    assert abs(draws.mean() - law.mean) < 5 * standard_error
    assert draws.var() / draws.mean() ** 2 == pytest.approx(law.c2, rel=0.05)
    assert draws.min() >= 0


def truncated_normal(values: np.ndarray) -> np.ndarray:
    return np.asarray(stats.truncnorm(-2, np.inf, loc=2, scale=1).cdf(values))


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (uniform(1, 3), stats.uniform(1, 2).cdf),
        (exponential(5), stats.expon(scale=5).cdf),
        (erlang(6, stages=3), stats.gamma(3, scale=2).cdf),
        (gamma(6, c2=2), stats.gamma(0.5, scale=12).cdf),
        (lognormal(1, c2=math.e - 1), stats.lognorm(1, scale=math.exp(-0.5)).cdf),
        (weibull(5, shape=0.7), stats.weibull_min(0.7, scale=5).cdf),
        (pareto(2, shape=1.5), stats.pareto(1.5, scale=2).cdf),
        (normal(2, 1), truncated_normal),
        (triangular(1, 2, 4), stats.triang(1 / 3, loc=1, scale=3).cdf),
        (bounded_pareto(1, 10, shape=1), lambda x: (1 - 1 / x) / 0.9),
    ],
    ids=str,
)
def test_draws_follow_the_distribution(
    law: Distribution, reference: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Oracle: Kolmogorov-Smirnov against SciPy at 0.1 % on 20 000 draws."""
    assert stats.kstest(law.draw(20_000, seed=11), reference).pvalue > 0.001


def test_a_heavy_tail_has_no_mean() -> None:
    assert pareto(1, shape=1).mean == math.inf
    assert pareto(1, shape=1.5).c2 == math.inf


def test_weights_of_zero_are_never_drawn() -> None:
    assert set(discrete([1, 2, 3], weights=[1, 0, 1]).draw(10_000)) == {1.0, 3.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda: constant(-1),
        lambda: constant(math.nan),
        lambda: uniform(3, 1),
        lambda: exponential(0),
        lambda: exponential(math.inf),
        lambda: erlang(1, stages=0),
        lambda: gamma(1, c2=0),
        lambda: hyperexponential(1, c2=1),
        lambda: lognormal(-1, c2=1),
        lambda: weibull(0, shape=1),
        lambda: pareto(1, shape=0),
        lambda: bounded_pareto(2, 1, shape=1),
        lambda: normal(-1, 1),
        lambda: triangular(1, 5, 4),
        lambda: empirical([]),
        lambda: empirical([1, -1]),
        lambda: discrete([1, 2], weights=[1]),
        lambda: discrete([1, 2], weights=[0, 0]),
    ],
)
def test_impossible_parameters_are_refused_with_a_cure(make: Callable[[], Distribution]) -> None:
    with pytest.raises(SimulationError, match="does not exist") as caught:
        make()
    assert "asks for" in caught.value.cure
