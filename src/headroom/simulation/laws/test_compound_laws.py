"""Composed laws, and the fit to two moments: exact by formula."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.simulation import (
    Distribution,
    SimulationError,
    constant,
    coxian,
    exponential,
    from_moments,
    hypoexponential,
    mixture,
    pareto,
)

MEANS = st.floats(1e-6, 1e9)


@given(MEANS, st.floats(1e-6, 100))
def test_a_law_from_moments_has_exactly_these_moments(mean: float, c2: float) -> None:
    """Oracle: Tijms' fit meets both moments; rounding takes the last digits of c2 below 1."""
    law = from_moments(mean, c2)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert law.c2 == pytest.approx(c2, rel=1e-9)


@given(st.integers(1, 10_000))
def test_a_c2_of_one_over_k_is_a_law_of_k_equal_stages(stages: int) -> None:
    law = from_moments(3.0, 1 / stages)
    assert law.c2 == pytest.approx(1 / stages, rel=1e-9)
    assert law.kind in {"exponential", "erlang", "mixture"}


@pytest.mark.parametrize(
    ("c2", "kind"),
    [
        (0, "constant"),
        (0.25, "erlang"),
        (0.4, "mixture"),
        (1, "exponential"),
        (2, "hyperexponential"),
    ],
)
def test_the_family_follows_from_c2(c2: float, kind: str) -> None:
    assert from_moments(2, c2).kind == kind


def test_drawn_moments_are_the_fitted_ones() -> None:
    """Oracle: 5 standard errors of 200 000 draws of an Erlang mixture."""
    draws = from_moments(2, 0.3).draw(200_000, seed=6)
    assert abs(draws.mean() - 2) < 5 * 2 * math.sqrt(0.3 / 200_000)
    assert draws.var() / draws.mean() ** 2 == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize(
    ("mean", "c2"), [(0, 1), (1, -0.1), (1, 1e-12), (math.nan, 1), (1, math.inf)]
)
def test_moments_that_no_law_has_are_refused(mean: float, c2: float) -> None:
    with pytest.raises(SimulationError, match="from_moments"):
        from_moments(mean, c2)


PHASES = st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 1)), min_size=1, max_size=6)


@given(PHASES)
def test_the_moments_of_phases_are_those_of_the_matrix_formula(
    phases: list[tuple[float, float]],
) -> None:
    """Oracle: E[X^n] = n! alpha (-T)^-n 1 for the phase-type law with generator T."""
    means = [mean for mean, _ in phases]
    onward = [share for _, share in phases[:-1]]
    generator = np.diag([-1 / mean for mean in means])
    for index, share in enumerate(onward):
        generator[index, index + 1] = share / means[index]
    inverse = np.linalg.inv(-generator)
    first = inverse.sum(axis=1)[0]
    second = 2 * (inverse @ inverse).sum(axis=1)[0]
    law = coxian(means, onward)
    assert law.mean == pytest.approx(first, rel=1e-12)
    assert law.variance == pytest.approx(second - first**2, rel=1e-9)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=6))
def test_hypoexponential_is_coxian_where_each_phase_goes_on(means: list[float]) -> None:
    series, phases = hypoexponential(means), coxian(means, [1.0] * (len(means) - 1))
    assert series.mean == pytest.approx(phases.mean, rel=1e-12)
    assert series.c2 == pytest.approx(phases.c2, rel=1e-9)
    assert series.c2 <= 1 + 1e-12


def test_a_mixture_with_a_heavy_tail_has_its_moments() -> None:
    law = mixture([constant(1), pareto(1, shape=1.5)], weights=[9, 1])
    assert law.mean == pytest.approx(1.2)
    assert law.c2 == math.inf
    never = mixture([constant(1), pareto(1, shape=0.5)], weights=[1, 0])
    assert (never.mean, never.c2) == (1.0, 0.0)
    assert mixture([constant(1), pareto(1, shape=0.5)], weights=[1, 1]).mean == math.inf


def test_weights_that_do_not_match_the_laws_are_refused() -> None:
    laws: list[Distribution] = [exponential(1)]
    with pytest.raises(SimulationError, match="mixture") as caught:
        mixture(laws, weights=[1, 2])
    assert "as many weights as laws" in caught.value.cure
