"""Knees: curves with asymptotes known from operational analysis, and lines without a knee."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benches.known.formulas import mva
from headroom.analysis.evidence import NoKnee
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.parts import Part, spread_of_parts
from headroom.analysis.verdicts.knee import Curve, KneeFit, curve_of, find_knee, knee_over
from headroom.experiment.protocol.run import FloatArray

DEMANDS_S = np.array([0.05, 0.03, 0.04])
THINK_S = 1.0
KNEE = (DEMANDS_S.sum() + THINK_S) / DEMANDS_S.max()
"""N* = (D + Z) / Dmax = 22.4 users."""


def exact_mva(demands_s: FloatArray, think_s: float, users: int) -> tuple[FloatArray, FloatArray]:
    """Return throughput (1/s) and response (s) for 1 to `users` users."""
    found = [mva(demands_s.tolist(), think_s, count) for count in range(1, users + 1)]
    return np.array([rate for rate, _ in found]), np.array([sum(stays) for _, stays in found])


def noisy(
    values: FloatArray, *, noise: float, replications: int = 10, seed: int = 1
) -> list[Sample]:
    random = np.random.default_rng(seed)
    return [
        Sample(values=value * (1.0 + noise * random.normal(size=replications))) for value in values
    ]


def knee_of(levels: Sequence[float], samples: Sequence[Sample]) -> KneeFit:
    curve = curve_of(levels, samples)
    assert curve is not None
    return find_knee(curve)


@pytest.mark.parametrize("levels", [range(4, 101, 4), range(5, 101, 5), [1, 2, 5, 10, 20, 50, 100]])
@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_the_knee_of_a_throughput_curve_is_the_saturation_point(
    levels: Sequence[int], noise: float
) -> None:
    """Within 10% of N*, and N* inside of the interval."""
    throughputs, _ = exact_mva(DEMANDS_S, THINK_S, 100)
    fit = knee_of(list(levels), noisy(throughputs[np.array(levels) - 1], noise=noise))
    assert fit.level == pytest.approx(KNEE, rel=0.10)
    assert (fit.low or 0.0) <= KNEE <= (fit.high or 0.0)


@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_the_knee_of_a_response_curve_lies_near_the_same_point(noise: float) -> None:
    """Response times bend later than throughput: within 15% of N*."""
    _, responses = exact_mva(DEMANDS_S, THINK_S, 100)
    levels = np.arange(4, 101, 4)
    fit = knee_of(levels.tolist(), noisy(responses[levels - 1], noise=noise))
    assert fit.level == pytest.approx(KNEE, rel=0.15)


@pytest.mark.deep
def test_intervals_of_knees_cover_the_saturation_point() -> None:
    """120 noisy curves of three networks: at least 90% cover, with the bend rounded by MVA."""
    hits = found = 0
    levels = np.arange(2, 101, 5)
    for demands_s in (DEMANDS_S, np.array([0.05, 0.02]), np.array([0.05])):
        knee = (demands_s.sum() + THINK_S) / demands_s.max()
        throughputs, _ = exact_mva(demands_s, THINK_S, 100)
        for seed in range(40):
            fit = knee_of(levels.tolist(), noisy(throughputs[levels - 1], noise=0.02, seed=seed))
            found += fit.level is not None
            hits += fit.level is not None and (fit.low or 0.0) <= knee <= (fit.high or 0.0)
    assert found >= 108
    assert hits >= 0.9 * found


@given(st.floats(-100.0, 100.0), st.floats(0.1, 10.0), st.floats(3.0, 8.0), st.floats(1.5, 10.0))
@settings(max_examples=50)
def test_two_exact_lines_meet_where_they_meet(
    offset: float, slope: float, knee: float, factor: float
) -> None:
    levels = np.arange(1.0, 11.0)
    values = offset + slope * levels + slope * (factor - 1.0) * np.maximum(levels - knee, 0.0)
    errors = np.full(10, 1e-4 * slope)
    fit = find_knee(Curve(levels, values, errors, np.full(10, 9.0)))
    assert fit.level == pytest.approx(knee, abs=0.01)


@pytest.mark.parametrize("replications", [5, 10])
def test_a_straight_line_with_noise_has_no_knee(replications: int) -> None:
    """At most 6 of 200 straight curves get a knee (the test for a bend works at 1 in 100)."""
    levels = np.arange(1.0, 13.0)
    fits = [
        knee_of(
            levels.tolist(),
            noisy(3.0 + 2.0 * levels, noise=0.02, replications=replications, seed=seed),
        )
        for seed in range(200)
    ]
    assert sum(fit.level is not None for fit in fits) <= 6
    assert fits[0].reason == NoKnee(code="straight")


@pytest.mark.parametrize(
    "law",
    [
        lambda x: x**2,
        lambda x: np.exp(x / 4.0),
        lambda x: 1.0 / (1.0 - x / 13.0),
        np.log,
        np.sqrt,
    ],
    ids=["square", "exponential", "hyperbola", "logarithm", "root"],
)
@pytest.mark.parametrize("replications", [3, 10])
def test_a_smooth_law_has_no_knee(
    law: Callable[[FloatArray], FloatArray], replications: int
) -> None:
    """At most 5 of 60 curves that bend everywhere alike are said to have a corner."""
    levels = np.arange(1.0, 13.0)
    fits = [
        knee_of(
            levels.tolist(), noisy(law(levels), noise=noise, replications=replications, seed=seed)
        )
        for noise in (0.002, 0.02)
        for seed in range(30)
    ]
    assert sum(fit.level is not None for fit in fits) <= 5
    assert NoKnee(code="smooth") in [fit.reason for fit in fits]


def test_a_balanced_network_bends_without_a_corner() -> None:
    """Three equal demands without a gap between light and heavy load: no sharp knee exists."""
    throughputs, _ = exact_mva(np.array([0.05, 0.05, 0.05]), 0.0, 40)
    levels = np.arange(1, 41, 3)
    assert knee_of(levels.tolist(), noisy(throughputs[levels - 1], noise=0.01)).level is None


def test_two_replications_are_too_few_for_a_knee() -> None:
    """Two values may lie close together by chance, and then a straight curve looks bent."""
    samples = noisy(np.minimum(np.arange(1.0, 11.0), 5.0), noise=0.01, replications=2)
    assert curve_of(list(range(1, 11)), samples) is None


def test_the_unit_of_the_factor_and_of_the_metric_do_not_matter() -> None:
    throughputs, _ = exact_mva(DEMANDS_S, THINK_S, 100)
    levels = np.arange(4, 101, 4)
    samples = noisy(throughputs[levels - 1], noise=0.01)
    scaled = [Sample(values=1000.0 * sample.values) for sample in samples]
    plain = knee_of(levels.tolist(), samples)
    other = knee_of((1e6 * levels).tolist(), scaled)
    assert plain.level is not None
    assert other.level == pytest.approx(1e6 * plain.level)


def test_the_order_of_the_levels_does_not_matter() -> None:
    throughputs, _ = exact_mva(DEMANDS_S, THINK_S, 100)
    levels = list(range(4, 101, 4))
    samples = noisy(throughputs[np.array(levels) - 1], noise=0.01)
    assert knee_of(levels[::-1], samples[::-1]) == knee_of(levels, samples)


def test_four_levels_are_too_few() -> None:
    samples = noisy(np.array([1.0, 2.0, 2.0, 2.0]), noise=0.001)
    expected = NoKnee(code="few_levels", count=4, needed=5, add=[1.5])
    assert knee_of([1, 2, 3, 4], samples).reason == expected


def test_levels_that_never_reach_saturation_do_not_invent_a_knee_beyond_them() -> None:
    """Up to a fifth of N* the throughput is almost proportional to the users."""
    throughputs, _ = exact_mva(DEMANDS_S, THINK_S, 6)
    fit = knee_of([1, 2, 3, 4, 5, 6], noisy(throughputs, noise=0.01))
    assert fit.level is None
    assert fit.reason is not None


def test_a_level_without_an_interval_gives_no_curve() -> None:
    samples = noisy(np.arange(1.0, 7.0), noise=0.01)
    samples[3] = Sample(values=np.array([4.0]))
    assert curve_of([1, 2, 3, 4, 5, 6], samples) is None


def test_replications_that_all_agree_are_taken_as_exact() -> None:
    """A model of constants: zero spread must not divide by zero."""
    levels = np.arange(1.0, 11.0)
    samples = [Sample(values=np.full(3, min(level, 5.0))) for level in levels]
    assert knee_of(levels.tolist(), samples).level == pytest.approx(5.0)


def test_derived_values_have_the_scatter_of_what_they_are_made_of() -> None:
    """A sum of norms is one value at each level, with an error from many replications."""
    curve = {
        level: Sample(
            values=np.array([min(level, 5.0)]), centre="pooled", pooled=min(level, 5.0),
            spread=spread_of_parts(parts), parts=parts,
        )
        for level in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
        for parts in ({f"{level}": Part(0.01, 2.0)},)
    }  # fmt: skip
    assert knee_over(curve).level == pytest.approx(5.0, abs=0.1)
