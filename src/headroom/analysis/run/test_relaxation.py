"""Correlation times: closed forms of known processes, transients, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.run.relaxation import (
    correlation_time,
    jobs_over_time,
    joined,
    settle,
)
from headroom.experiment.protocol.run import FloatArray


def autoregressive(memory: float, count: int, *, seed: int, rows: int = 1) -> FloatArray:
    """Return AR(1) series, stationary from the start: the autocorrelation at lag k is memory^k."""
    random = np.random.default_rng(seed)
    values = np.empty((rows, count))
    values[:, 0] = random.normal(size=rows) / np.sqrt(1.0 - memory**2)
    for place in range(1, count):
        values[:, place] = memory * values[:, place - 1] + random.normal(size=rows)
    return values


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.97])
def test_the_correlation_time_of_an_autoregressive_series_is_that_of_the_formula(
    memory: float,
) -> None:
    """1 + 2 sum of memory^k = (1 + memory) / (1 - memory), except for the window: 4%."""
    found = correlation_time(autoregressive(memory, 20_000, seed=1, rows=10))
    assert found == pytest.approx((1.0 + memory) / (1.0 - memory), rel=0.08)


@given(st.integers(0, 1000), st.sampled_from([2.0**-20, 0.5, 4.0]), st.floats(-1e3, 1e3))
def test_unit_and_origin_do_not_change_a_correlation_time(
    seed: int, scale: float, shift: float
) -> None:
    values = autoregressive(0.7, 200, seed=seed)
    assert correlation_time(scale * values) == pytest.approx(correlation_time(values))
    assert correlation_time(values + shift) == pytest.approx(correlation_time(values), rel=1e-6)


@pytest.mark.parametrize("values", [np.full((2, 50), 0.1), np.zeros((1, 3)), np.ones((1, 1))])
def test_what_does_not_vary_is_not_correlated(values: FloatArray) -> None:
    assert correlation_time(values) == 1.0
    assert settle(values).start == 0


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_a_step_at_the_start_is_found_nearly_where_it_ends(share: float) -> None:
    values = autoregressive(0.5, 600, seed=3, rows=3)
    values[:, : int(share * 600)] += 8.0
    assert settle(values).start == pytest.approx(share * 600, rel=0.3)


def test_a_burst_of_the_steady_state_is_rarely_taken_for_a_start() -> None:
    """Of 200 stationary series with a memory of 40 values in 600, few begin to be cut late."""
    starts = [settle(autoregressive(0.95, 600, seed=seed)).start for seed in range(200)]
    assert sum(start > 30 for start in starts) <= 20


def test_neighbours_are_joined_and_the_rest_is_left_off() -> None:
    values, group = joined(np.arange(7.0)[None, :], most=3)
    assert group == 3
    assert values.tolist() == [[1.0, 4.0]]


def test_runs_without_stations_tell_nothing_of_their_jobs() -> None:
    assert jobs_over_time([]) is None
