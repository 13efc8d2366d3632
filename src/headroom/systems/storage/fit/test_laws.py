"""A law fitted to three quantiles has them, a computable mean, and no mass below zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.experiment.protocol.fit_method import Counted
from headroom.systems.storage.fit.laws import NORMAL_P90, Quantiles, quantile_of, quantiles_of


@given(
    median=st.floats(1e-6, 1e-1),
    below=st.floats(0.01, 0.5),
    skew=st.floats(1.1, 20.0),
)
def test_a_law_has_the_quantiles_that_it_was_made_of(
    median: float, below: float, skew: float
) -> None:
    low = median * (1.0 - below)
    times = Quantiles(low, median, median + skew * (median - low))
    if times.p50 - times.scale > 0.0:  # the floor is not truncated at zero
        assert times.quantile(-NORMAL_P90) == pytest.approx(times.p10, rel=1e-6)
        assert times.quantile(NORMAL_P90) == pytest.approx(times.p90, rel=1e-6)
    assert times.quantile(0.0) == pytest.approx(median)
    assert times.floor >= 0.0
    assert times.law().mean == pytest.approx(times.mean)
    assert times.law(1e6).mean == pytest.approx(1e6 * times.mean)


def test_what_is_drawn_has_the_quantiles() -> None:
    times = Quantiles(20.0, 22.0, 30.0)
    drawn = times.law().draw(200_000, seed=1)
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx([20.0, 22.0, 30.0], rel=0.01)
    assert drawn.mean() == pytest.approx(times.mean, rel=0.01)


@pytest.mark.parametrize("times", [Quantiles(5.0, 5.0, 5.0), Quantiles(4.0, 5.0, 5.2)])
def test_times_without_a_tail_to_the_right_are_no_failure(times: Quantiles) -> None:
    assert times.law().mean == pytest.approx(5.0, rel=0.1)
    assert times.floor <= 5.0


def test_quantiles_of_bins_lie_within_their_bins() -> None:
    bins = Counted(low=np.arange(100.0), high=np.arange(1.0, 101.0), counts=np.ones(100))
    assert quantile_of(bins, 0.25) == pytest.approx(25.0)
    assert quantiles_of(bins) == Quantiles(10.0, 50.0, 90.0)
    assert quantile_of(bins, 1.0) == 100.0
