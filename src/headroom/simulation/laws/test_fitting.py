"""Fits recover the law of the draws, choose its family, and detect a poor fit."""

import math
from itertools import pairwise, product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from headroom.simulation import (
    Distribution,
    Fit,
    SimulationError,
    bounded_pareto,
    erlang,
    exponential,
    from_samples,
    gamma,
    hyperexponential,
    lognormal,
    mixture,
    normal,
    pareto,
    uniform,
    weibull,
)
from headroom.simulation.laws.families import FAMILIES, reference
from headroom.simulation.laws.fitting import Family

LAWS = [
    exponential(4),
    uniform(1, 3),
    normal(5, 1),
    normal(1, 1),
    gamma(5, c2=0.4),
    gamma(5, c2=1.3),
    lognormal(2, c2=2),
    weibull(2, shape=3),
    hyperexponential(3, c2=6),
    pareto(1, shape=2.5),
    bounded_pareto(1, 50, shape=1.1),
    erlang(3, stages=4),
]


def fit_of(law: Distribution) -> Fit:
    assert law.fit is not None
    return law.fit


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_fit_recovers_the_parameters(law: Distribution) -> None:
    """Oracle: the law that was drawn; 20 000 values leave an error of a few per cent."""
    estimate = from_samples(law.draw(20_000, seed=5), law.kind, bootstrap=0)  # type: ignore[arg-type]  # a known kind
    assert estimate.kind == law.kind
    for (name, value), (_, expected) in zip(estimate.parameters, law.parameters, strict=True):
        assert value == pytest.approx(expected, rel=0.08, abs=0.1), name


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_law_of_the_family_is_likelier(law: Distribution) -> None:
    """The likelihood is at its top: a step of 1% in any parameter loses some."""
    sample = np.sort(law.draw(500, seed=2))
    best = from_samples(sample, law.kind, bootstrap=0)  # type: ignore[arg-type]  # a known kind
    top = fit_of(best).log_likelihood
    assert top is not None
    parameters = dict(best.parameters)
    free = set(parameters) - {"stages", "low", "high"}
    for name, factor in product(sorted(free), (0.99, 1.01)):
        value = parameters[name]
        assert isinstance(value, float)
        changed = parameters | {name: value * factor}
        other = Distribution(best.kind, tuple(changed.items()), math.nan, math.nan)
        assert np.sum(reference(other).logpdf(sample)) <= top + 1e-6, (name, factor)


@pytest.mark.parametrize(
    "law",
    [
        uniform(1, 3),
        gamma(5, c2=0.2),
        lognormal(2, c2=2),
        weibull(2, shape=4),
        hyperexponential(3, c2=9),
    ],
    ids=str,
)
def test_the_family_with_the_lowest_aic_is_that_of_the_draws(law: Distribution) -> None:
    estimate = from_samples(law.draw(5000, seed=7), bootstrap=0)
    fit = fit_of(estimate)
    assert estimate.kind == law.kind
    assert fit.ranking[0] == (law.kind, fit.aic)
    assert [aic for _, aic in fit.ranking] == sorted(aic for _, aic in fit.ranking)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_reference_law_is_a_density_with_the_promised_mean(law: Distribution) -> None:
    """Oracle: numerical integration of the tail; the quantile inverts the tail."""
    known = reference(law)
    end = float(known.ppf(np.array(1 - 1e-12)))
    edges = [0.0, *known.ppf(np.array([0.01, 0.5, 0.9, 0.99, 0.9999])), end]
    tail = sum(
        integrate.quad(lambda x: math.exp(known.logsf(x)), low, high)[0]
        for low, high in pairwise(edges)
    )
    assert tail == pytest.approx(law.mean, rel=1e-4)
    shares = np.array([0.001, 0.3, 0.9, 0.999])
    np.testing.assert_allclose(np.exp(known.logcdf(known.ppf(shares))), shares, rtol=1e-8)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_draws_of_the_reference_law_have_its_distribution(law: Distribution) -> None:
    known = reference(law)
    drawn = np.sort(known.rvs(size=20_000, random_state=np.random.default_rng(5)))
    steps = np.arange(1, drawn.size + 1) / drawn.size
    assert np.max(np.abs(np.exp(known.logcdf(drawn)) - steps)) < 1.95 / math.sqrt(drawn.size)


@pytest.mark.deep
def test_the_p_values_of_true_laws_are_spread_out() -> None:
    """Property: with the right family a bootstrapped p-value is uniform (here 40 of them)."""
    fits = [
        fit_of(from_samples(gamma(2, c2=0.5).draw(60, seed=s), "gamma", bootstrap=39))
        for s in range(40)
    ]
    for values in ([fit.ks_p for fit in fits], [fit.ad_p for fit in fits]):
        low = sum(value is not None and value <= 0.25 for value in values)
        assert 3 <= low <= 18  # 10 expected, 99.8% of a binomial
    assert any(fit.ks_p is not None and fit.ks_p > 0.75 for fit in fits)


def test_a_sample_that_no_law_describes_is_doubtful() -> None:
    two_humps = mixture([normal(2, 0.1), normal(9, 0.1)], weights=[1, 1])
    law = from_samples(two_humps.draw(400, seed=1))
    fit = fit_of(law)
    assert fit.is_doubtful
    assert fit.ks_p == pytest.approx(1 / 200)
    assert "speaks against this law" in str(fit)


def test_a_fit_says_what_it_is() -> None:
    law = from_samples(exponential(4).draw(200, seed=2), "exponential")
    fit = fit_of(law)
    assert str(law).startswith("fitted exponential(mean=")
    assert fit.bootstrap == 199
    assert fit.law_mean == law.mean == pytest.approx(fit.sample_mean)
    assert len(fit.probabilities) == len(fit.sample_quantiles) == len(fit.law_quantiles) == 100
    assert np.all(np.diff(fit.law_quantiles) > 0)
    assert "exponential fitted to 200 values" in str(fit)
    assert law == exponential(law.mean)
    assert law.to_data() == {"kind": "exponential", "mean": law.mean}


def test_without_a_bootstrap_the_p_value_is_marked_approximate() -> None:
    fit = fit_of(from_samples(exponential(4).draw(200, seed=2), "exponential", bootstrap=0))
    assert (fit.bootstrap, fit.ad_p) == (0, None)
    assert "approximate and too high" in str(fit)


def test_the_values_themselves_can_be_the_law() -> None:
    values = np.arange(20.0)
    law = from_samples(values, "empirical")
    assert sorted(set(law.draw(2000))) == values.tolist()
    assert str(law) == "fitted empirical(20 values)"
    assert fit_of(law).ks_p is None


def test_a_law_has_as_many_parameters_as_its_family_has_free_ones() -> None:
    """Oracle: AIC is 2 k - 2 log likelihood, and a family says whether it can hold a 0."""
    counts = {name: one.parameter_count for name, one in FAMILIES.items()}
    assert counts == {**dict.fromkeys(FAMILIES, 2), "exponential": 1, "bounded_pareto": 3}
    holds_zero = {name for name, one in FAMILIES.items() if not one.needs_positive}
    assert holds_zero == {"exponential", "uniform", "normal", "hyperexponential"}


def test_a_zero_leaves_out_the_families_that_start_above_it() -> None:
    values = np.append(exponential(4).draw(200, seed=2), 0.0)
    left_out = dict(fit_of(from_samples(values, bootstrap=0)).left_out)
    assert left_out["lognormal"] == "it holds a 0"
    with pytest.raises(SimulationError, match="lognormal cannot describe the sample: it holds a 0"):
        from_samples(values, "lognormal")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 3], "3 values are too few"),
        ([1.0] * 11 + [-1.0], "1 of 12 values are negative"),
        ([1.0] * 11 + [math.nan], "1 of 12 values are negative or not finite"),
        ([2.5] * 12, "all 12 values are 2.5"),
        (["a"] * 12, "must be numbers"),
    ],
)
def test_samples_that_cannot_be_fitted_are_refused(values: list[float], message: str) -> None:
    with pytest.raises(SimulationError, match=message) as caught:
        from_samples(values)
    assert caught.value.cure


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SimulationError, match="'cauchy'") as caught:
        from_samples(range(1, 20), "cauchy")  # type: ignore[arg-type]  # on purpose
    assert "hyperexponential" in caught.value.cure
    assert {*FAMILIES, "empirical"} == set(get_args(Family))


@pytest.mark.deep
@settings(max_examples=12, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=10, max_size=60, unique=True), st.floats(1e-3, 1e3))
def test_any_sample_gets_a_law_and_units_do_not_matter(values: list[float], unit: float) -> None:
    """Property: minutes or seconds, the same family and the same distance."""
    law = from_samples(values, bootstrap=0)
    other = from_samples(np.array(values) * unit, bootstrap=0)
    assert fit_of(law).ranking[0][1] == pytest.approx(
        fit_of(other).ranking[0][1] - 2 * len(values) * math.log(unit), rel=1e-4, abs=1e-2
    )
    assert 0 < float(fit_of(law).ks_distance or 0) <= 1
