"""Estimates as numbers: arithmetic, NumPy, order, equality; comparisons by interval by name."""

import pickle
import statistics

import numpy as np
import pytest

from headroom.analysis.results import Estimate as StoredEstimate
from headroom.api.estimates import Estimate
from headroom.api.study import plain


def estimate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    stored = StoredEstimate(
        metric="response_s_mean", unit="s", better="low", count=5, centre="mean", value=value,
        low=low, high=high, method="student-t", mean=value, median=value, stdev=0.1, minimum=value,
        maximum=value, mean_deviation=0.0,
    )  # fmt: skip
    return Estimate(
        metric="response_s_mean", unit="s", value=value, low=low, high=high, count=5, data=stored
    )


ONE, OTHER = estimate(0.25, 0.2, 0.3), estimate(0.5, 0.4, 0.6)


def test_an_estimate_computes_and_compares_as_its_value() -> None:
    assert (ONE * 1000, -ONE, ONE / OTHER, 1 / ONE, round(ONE, 1)) == (250.0, -0.25, 0.5, 4.0, 0.2)
    assert type(ONE * 1000) is type(float(ONE)) is float
    assert (sum([ONE, OTHER]), statistics.mean([ONE, OTHER])) == (0.75, 0.375)
    assert max([ONE, OTHER]) is OTHER
    array = np.array([ONE, OTHER])
    assert (array.dtype.name, array.tolist()) == ("float64", [0.25, 0.5])
    assert np.mean([ONE, OTHER]) == 0.375
    assert 0.01 < ONE < OTHER <= 0.5
    assert estimate(0.25) == ONE == 0.25 != OTHER
    assert len({ONE, estimate(0.25, 0.0, 9.0), OTHER, 0.25}) == 2
    assert type(plain({"rate": ONE})["rate"]) is float, "it may be a parameter"
    again = pickle.loads(pickle.dumps(ONE))  # noqa: S301 - made here
    assert (type(again), vars(again), str(again)) == (Estimate, vars(ONE), "250 ms (200 to 300)")


@pytest.mark.parametrize(
    ("other", "sure"),
    [
        (0.1, "above"),
        (0.2, ""),
        (0.31, "below"),
        (OTHER, "below"),
        (estimate(0.1, 0.05, 0.15), "above"),
        (estimate(0.1, 0.05, 0.21), ""),
        (estimate(0.1), ""),
    ],
)
def test_sure_is_what_holds_of_the_whole_interval(other: float, sure: str) -> None:
    assert (ONE.surely_above(other), ONE.surely_below(other)) == (sure == "above", sure == "below")
    assert not estimate(5.0).surely_above(other), "nothing is sure without an interval"
