"""Distributions: draws have the stated mean, c2 and range."""

import json
import math
import operator
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headroom.simulation import (
    Distribution,
    Model,
    SimulationError,
    bounded_pareto,
    constant,
    coxian,
    discrete,
    draw,
    empirical,
    erlang,
    exponential,
    gamma,
    geometric,
    hyperexponential,
    hypoexponential,
    law_from_data,
    lognormal,
    mixture,
    normal,
    nurand,
    pareto,
    replay,
    triangular,
    uniform,
    weibull,
    zipf,
)

Sampling = Literal["fast", "inversion", "antithetic"]
SAMPLINGS: tuple[Sampling, ...] = ("fast", "inversion", "antithetic")

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
    geometric(4),
    geometric(3, low=0),
    zipf(10, exponent=1),
    zipf(10**9, exponent=0.99),
    zipf(10**12, exponent=6.5),
    nurand(1023, 1, 3000, c=259),
    nurand(255, 7, 7),
    hypoexponential([1, 2, 3]),
    coxian([1, 2, 4], onward=[0.7, 0.4]),
    mixture([constant(1), erlang(5, stages=2)], weights=[3, 1]),
    5 + 2 * exponential(3),
    uniform(0, 1) + uniform(0, 1),
]


def law_name(value: object) -> str:
    """Return the name of a case: that of a reference would hold its address in memory."""
    return str(value) if isinstance(value, Distribution) else "reference"


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_have_the_promised_mean_and_c2(law: Distribution, sampling: Sampling) -> None:
    """Oracle: the mean to 5 standard errors (false alarm below 1e-6), c2 to 5%."""
    draws = law.draw(DRAWS, seed=3, sampling=sampling)
    standard_error = law.mean * math.sqrt(law.c2 / DRAWS)
    assert abs(draws.mean() - law.mean) <= 5 * standard_error
    assert draws.var() / draws.mean() ** 2 == pytest.approx(law.c2, rel=0.05, abs=1e-12)
    assert draws.min() >= 0
    if law.is_whole:
        assert not np.any(draws % 1)


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
        (hyperexponential(1, c2=3), lambda x: 1 - balanced_tail(x)),
        (hypoexponential([1, 2]), lambda x: 1 - 2 * np.exp(-x / 2) + np.exp(-x)),
        (3 + exponential(2) * 2, stats.expon(3, 4).cdf),
    ],
    ids=law_name,
)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_draws_follow_the_distribution(
    law: Distribution, reference: Callable[[np.ndarray], np.ndarray], sampling: Sampling
) -> None:
    """Oracle: Kolmogorov-Smirnov against SciPy at 0.01% on 20 000 draws."""
    draws = law.draw(20_000, seed=11, sampling=sampling)
    assert stats.kstest(draws, reference).pvalue > 0.0001


def balanced_tail(values: np.ndarray) -> np.ndarray:
    """Upper tail of the hyperexponential law with mean 1, c2 = 3 and balanced means."""
    share = (1 + math.sqrt(0.5)) / 2
    tails = [p * np.exp(-values * 2 * p) for p in (share, 1 - share)]
    return np.asarray(tails[0] + tails[1])


INVERTED = [
    (exponential(5), stats.expon(scale=5)),
    (erlang(6, stages=3), stats.gamma(3, scale=2)),
    (gamma(6, c2=20), stats.gamma(0.05, scale=120)),
    (gamma(6, c2=0.001), stats.gamma(1000, scale=0.006)),
    (lognormal(1, c2=math.e - 1), stats.lognorm(1, scale=math.exp(-0.5))),
    (weibull(5, shape=0.7), stats.weibull_min(0.7, scale=5)),
    (pareto(2, shape=1.5), stats.pareto(1.5, scale=2)),
    (normal(2, 1), stats.truncnorm(-2, np.inf, loc=2, scale=1)),
    (triangular(1, 2, 4), stats.triang(1 / 3, loc=1, scale=3)),
    (geometric(4), stats.geom(0.25)),
    (zipf(50, exponent=1.3), stats.zipfian(1.3, 50)),
]


@pytest.mark.parametrize(("law", "reference"), INVERTED, ids=law_name)
def test_inversion_is_the_quantile_of_the_uniform_number(
    law: Distribution, reference: stats.rv_continuous
) -> None:
    """Oracle: SciPy's quantiles of the uniform numbers of the same stream, to one tick."""
    numbers = uniform(0, 1_000_000).draw(2000, seed=4, sampling="inversion") / 1_000_000
    draws = law.draw(2000, seed=4, sampling="inversion")
    np.testing.assert_allclose(draws, reference.ppf(numbers), rtol=1e-9, atol=3e-9)


@given(st.integers(0, 2**64 - 1))
def test_antithetic_draws_mirror_the_uniform_number(seed: int) -> None:
    draws = uniform(0, 8).draw(5, seed=seed, sampling="inversion")
    other = uniform(0, 8).draw(5, seed=seed, sampling="antithetic")
    np.testing.assert_allclose(draws + other, 8, atol=2e-9)


@pytest.mark.parametrize("law", [*LAWS, replay([3, 1, 2], at_end="stop")], ids=str)
def test_the_data_of_a_law_are_json_and_describe_it(law: Distribution) -> None:
    data = json.loads(json.dumps(law.to_data()))
    assert law_from_data(data) == law


@pytest.mark.parametrize(
    "data", [{}, {"kind": "cauchy"}, {"kind": "exponential", "rate": 1}, {"kind": "sum"}]
)
def test_data_that_are_no_law_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(
        SimulationError, match=r"unknown distribution|not a valid distribution"
    ) as caught:
        law_from_data(data)
    assert caught.value.cure


def test_numbers_scale_and_shift_a_law_and_laws_add() -> None:
    law = 3 + np.float64(2) * exponential(1)
    assert (law.mean, law.variance) == (5.0, 4.0)
    both = exponential(1) + erlang(4, stages=4)
    assert (both.mean, both.variance) == (5.0, 5.0)
    assert len(dict((both + 1).parameters)["laws"]) == 3  # type: ignore[arg-type]  # a tuple


@pytest.mark.parametrize("factor", [0, -1, math.inf, math.nan])
def test_a_law_is_scaled_by_numbers_above_zero_only(factor: float) -> None:
    with pytest.raises(SimulationError, match="a scaled law"):
        exponential(1) * factor


def test_a_negative_shift_is_refused() -> None:
    with pytest.raises(SimulationError, match="constant"):
        exponential(1) + (-1)


def test_what_is_no_number_and_no_law_is_left_to_the_other_operand() -> None:
    """An expression of the model must get its turn."""

    class Expression:
        def __radd__(self, other: object) -> str:
            return "added"

        def __rmul__(self, other: object) -> str:
            return "multiplied"

    law = exponential(1)
    assert law + Expression() == "added"
    assert law * Expression() == "multiplied"
    with pytest.raises(TypeError):
        law * "text"  # type: ignore[operator]  # on purpose


def test_whole_laws_are_known_through_sums_mixtures_and_factors() -> None:
    assert (3 + zipf(9, exponent=1) * 2).is_whole
    assert mixture([constant(1), geometric(3)], weights=[1, 1]).is_whole
    assert not (geometric(3) * 0.5).is_whole
    assert not (geometric(3) + exponential(1)).is_whole


def test_a_long_list_is_not_printed_in_full() -> None:
    assert str(empirical(range(1, 100))) == "empirical(99 values)"
    assert str(empirical([1, 2])) == "empirical(values=(1.0, 2.0))"


def test_numbers_of_numpy_are_numbers() -> None:
    assert exponential(np.int64(5)).mean == 5.0  # type: ignore[arg-type]
    assert erlang(np.float64(5), stages=int(np.int64(2))).c2 == 0.5
    assert empirical(np.array([1.0, 3.0])).mean == 2.0


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
        lambda: geometric(0.5),
        lambda: geometric(3, low=-1),
        lambda: zipf(0, exponent=1),
        lambda: zipf(5, exponent=0),
        lambda: nurand(6, 1, 9),
        lambda: nurand(7, 9, 1),
        lambda: nurand(7, 1, 9, c=8),
        lambda: replay([]),
        lambda: replay([1], at_end="never"),  # type: ignore[arg-type]  # on purpose
        lambda: coxian([1, 2], onward=[]),
        lambda: coxian([1, 2], onward=[2]),
        lambda: hypoexponential([]),
        lambda: mixture([], weights=[]),
        lambda: mixture([constant(1)], weights=[0]),
    ],
)
def test_impossible_parameters_are_refused_with_a_cure(make: Callable[[], Distribution]) -> None:
    with pytest.raises(SimulationError, match="is not valid") as caught:
        make()
    assert "needs" in caught.value.cure


def test_a_law_may_be_divided_by_a_number() -> None:
    assert (exponential(6) / 4).mean == 1.5
    assert (exponential(6) / 4).c2 == 1
    with pytest.raises(SimulationError, match="a divided law"):
        exponential(6) / 0


@pytest.mark.parametrize("sign", ["-", "<", "<=", ">", ">="])
def test_what_is_no_law_names_the_expression_to_write(sign: str) -> None:
    apply = {"-": operator.sub, "<": operator.lt, "<=": operator.le, ">": operator.gt,
             ">=": operator.ge}[sign]  # fmt: skip
    with pytest.raises(SimulationError) as caught:
        apply(exponential(1), 2)
    assert f"(exponential(mean=1.0) {sign} 2) is not a distribution" in caught.value.message
    assert f"write draw(...) {sign} 2" in caught.value.cure
    size = Model("files").attribute("size")
    for law in (draw(exponential(1)), exponential(1)):
        text = str(apply(law, size))
        assert "size" in text
        assert "exponential(mean=1.0)" in text
