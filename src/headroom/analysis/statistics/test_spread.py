"""Errors from batches: Hall's transformation, coverage for skewed data, invariances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, signal, stats

from headroom.analysis.statistics.intervals import Sample, mean_interval, t_quantile
from headroom.analysis.statistics.spread import (
    MOST_DOUBT,
    RELAXATION,
    SKEWNESS_SEEN,
    Residuals,
    Spread,
    batch_count,
    shortfall,
    spreads,
    unskewed,
)
from headroom.experiment.protocol.run import FloatArray


def of_means(parts: list[FloatArray], *, batches: int) -> Spread:
    """Return the spread of the mean of independent values, replication by replication."""
    mean = np.concatenate(parts).mean()
    residuals = [Residuals((part - mean)[:, None], np.ones(part.size)) for part in parts]
    total = float(sum(part.size for part in parts))
    (found,) = spreads(residuals, np.array([total]), batches=batches)
    assert found is not None
    return found


@given(st.floats(-4.0, 4.0), st.floats(-0.3, 0.3))
def test_the_skewness_adjustment_inverts_the_transformation_of_hall(t: float, b: float) -> None:
    """g(t) = t + 2 b t^2 + 4 b^2 t^3 / 3 + b, where the bound does not step in."""
    adjusted = unskewed(t, 6.0 * b, least_root=-1e9)
    back = adjusted + 2.0 * b * adjusted**2 + 4.0 * b**2 * adjusted**3 / 3.0 + b
    assert back == pytest.approx(t, abs=1e-6)


@given(st.floats(0.1, 20.0), st.floats(-1e6, 1e6))
def test_an_adjusted_interval_stays_finite_and_holds_its_value(t: float, skewness: float) -> None:
    low, high = Spread(2.0, 9, skewness).bounds(10.0, t)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low <= 10.0 <= high


@given(st.floats(0.5, 5.0), st.floats(0.0, 2.0))
def test_turning_the_skewness_round_mirrors_the_interval(t: float, skewness: float) -> None:
    low, high = Spread(1.0, 9, skewness).bounds(0.0, t)
    mirrored = Spread(1.0, 9, -skewness).bounds(0.0, t)
    assert mirrored == pytest.approx((-high, -low))


def test_one_batch_a_replication_is_the_interval_over_replications() -> None:
    """Oracle: symmetric values, so nothing but Student's t is left."""
    means = np.array([9.0, 10.0, 11.0, 8.0, 12.0])
    residuals = [Residuals(np.array([[mean - 10.0]]), np.ones(1)) for mean in means]
    (spread,) = spreads(residuals, np.array([5.0]), batches=5)
    assert spread is not None
    ours = Sample(values=means, spread=spread).interval()
    theirs = mean_interval(means)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.deep
@pytest.mark.parametrize("replications", [1, 5])
def test_skewed_values_are_covered_as_often_as_promised(replications: int) -> None:
    """3,000 means of 60 exponential values (skewness 2): 95%, and no more on one side.

    Student's t alone misses them on one side about four times as often as on the other.
    """
    random = np.random.default_rng(7)
    sides = np.zeros(2)
    for _ in range(3_000):
        values = random.exponential(1.0, (replications, 60 // replications))
        spread = of_means(list(values), batches=20)
        quantile = t_quantile(degrees=spread.degrees)
        low, high = spread.bounds(float(values.mean()), quantile)
        sides += (low > 1.0, high < 1.0)
    assert 0.94 <= 1.0 - sides.sum() / 3_000 <= 0.97
    assert sides[1] < 3.0 * sides[0]


@given(st.integers(0, 1000), st.sampled_from([2.0**-30, 3.0, 2.0**20]))
def test_the_unit_scales_the_error_and_leaves_the_shape(seed: int, scale: float) -> None:
    values = np.random.default_rng(seed).exponential(1.0, 100)
    one, other = of_means([values], batches=10), of_means([scale * values], batches=10)
    assert other.standard_error == pytest.approx(scale * one.standard_error)
    assert other.skewness == pytest.approx(one.skewness)


def test_what_does_not_vary_has_no_error() -> None:
    spread = of_means([np.ones(30)], batches=10)
    assert spread.bounds(1.0, 2.0) == (1.0, 1.0)


def test_a_single_interval_has_no_spread_and_an_unknown_denominator_neither() -> None:
    one = [Residuals(np.zeros((1, 1)), np.ones(1))]
    assert spreads(one, np.array([1.0]), batches=10) == [None]
    two = [Residuals(np.array([[1.0], [-1.0]]), np.ones(2))]
    assert spreads(two, np.array([np.nan]), batches=10) == [None]


@given(st.floats(0.0, 1e9), st.integers(1, 200))
def test_every_replication_gives_a_batch(kept: float, replications: int) -> None:
    found = batch_count(kept=kept, replications=replications)
    assert replications <= found <= max(30, replications)
    assert batch_count(kept=math.inf, replications=1) == 30


def autoregressive(random: np.random.Generator, *, count: int, decay: float) -> FloatArray:
    """Return a stationary first-order autoregressive series of variance one."""
    noise = random.normal(size=count) * math.sqrt(1.0 - decay**2)
    noise[0] = random.normal()
    values: FloatArray = signal.lfilter([1.0], [1.0, -decay], noise)
    return values


def test_the_shortfall_is_that_of_batches_of_a_process_that_forgets_exponentially() -> None:
    """Oracle: 2,000 series of 10 batches of 4 relaxation times, against their own deviation."""
    random = np.random.default_rng(5)
    relaxation, batches = 20.0, 10
    series = [autoregressive(random, count=800, decay=math.exp(-1 / relaxation))
              for _ in range(2_000)]  # fmt: skip
    seen = np.mean([np.var(one.reshape(batches, -1).mean(axis=1), ddof=1) for one in series])
    true = np.var([one.mean() for one in series], ddof=1)
    times = 800 / relaxation * RELAXATION
    expected = shortfall(times=times, batches=batches, replications=1)
    assert expected < 0.85
    assert seen / batches / true == pytest.approx(expected, rel=0.08)


def test_a_busy_queue_relaxes_in_five_eighths_of_its_correlation_time() -> None:
    """Oracle: the autocorrelation of regulated Brownian motion (Abate and Whitt 1987)."""

    def autocorrelation(t: float) -> float:
        root = math.sqrt(t)
        tail, density = stats.norm.sf(root), stats.norm.pdf(root)
        return float(2 * (1 - 2 * t - t * t) * tail + 2 * root * density * (1 + t))

    whole = integrate.quad(autocorrelation, 0.0, 60.0)[0]
    first = integrate.quad(lambda t: t * autocorrelation(t), 0.0, 80.0)[0]
    assert first / whole / (2.0 * whole) == pytest.approx(RELAXATION)


@given(st.floats(2.0, 1e6), st.integers(1, 50), st.integers(1, 50))
def test_the_shortfall_is_a_share_and_longer_batches_have_less_of_it(
    each: float, batches: int, replications: int
) -> None:
    shares = [
        shortfall(
            times=times * batches * replications,
            batches=batches * replications,
            replications=replications,
        )
        for times in (each, 2.0 * each)
    ]
    assert 0.6 < shares[0] <= shares[1] + 1e-9
    assert shares[1] <= 1.0 + 1e-9


def test_batches_of_few_correlation_times_have_larger_errors_for_the_same_values() -> None:
    values = np.random.default_rng(3).normal(size=100)
    residuals = [Residuals((values - values.mean())[:, None], np.ones(100))]
    (known,) = spreads(residuals, np.array([100.0]), batches=10)
    (short,) = spreads(residuals, np.array([100.0]), batches=10, times=60.0)
    assert known is not None
    assert short is not None
    seen = shortfall(times=60.0, batches=10, replications=1)
    assert short.standard_error == pytest.approx(known.standard_error / math.sqrt(seen))


@pytest.mark.parametrize("skewness", [0.5, 1.0, 2.0])
def test_the_skewness_of_the_mean_of_gamma_values_is_found_without_bias(skewness: float) -> None:
    """Oracle: the mean of n values has their skewness over sqrt(n); 0.77 of it is taken as seen."""
    random = np.random.default_rng(11)
    shape = 4.0 / skewness**2
    found = [of_means([random.gamma(shape, size=48)], batches=48).skewness for _ in range(2_000)]
    assert np.mean(found) * SKEWNESS_SEEN == pytest.approx(skewness / math.sqrt(48.0), rel=0.06)


def test_skewed_batches_have_fewer_degrees_of_freedom_down_to_a_bound() -> None:
    """Oracle: 2 / degrees is the relative variance of the variance that the mean leaves open."""
    symmetric = of_means([np.tile([-1.0, 1.0], 20)], batches=20)
    skewed = of_means([np.random.default_rng(2).exponential(size=40) ** 3], batches=20)
    assert symmetric.degrees == pytest.approx(19.0)
    assert skewed.skewness > MOST_DOUBT
    assert skewed.degrees == pytest.approx(1.0 / (1.0 / 19.0 + MOST_DOUBT**2 / 4.0))
