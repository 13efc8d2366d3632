"""Estimates as numbers: arithmetic, NumPy, order, equality; comparisons by interval by name."""

import copy
import math
import pickle
import statistics

import numpy as np
import pytest

from headroom.analysis.results import Estimate as StoredEstimate
from headroom.api.estimates import Estimate


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


def test_an_estimate_computes_as_its_value() -> None:
    assert (ONE * 1000, -ONE, ONE / OTHER, ONE + OTHER, 1 / ONE) == (250.0, -0.25, 0.5, 0.75, 4.0)
    assert type(ONE * 1000) is float
    assert (round(ONE, 1), abs(-ONE), math.sqrt(ONE), f"{ONE:.3f}") == (0.2, 0.25, 0.5, "0.250")
    assert sum([ONE, OTHER]) == 0.75
    assert statistics.mean([ONE, OTHER]) == 0.375
    assert max([ONE, OTHER]) is OTHER
    assert sorted([OTHER, ONE]) == [0.25, 0.5]
    assert (float(ONE), type(float(ONE))) == (0.25, float)


def test_estimates_are_an_array_of_numbers() -> None:
    array = np.array([ONE, OTHER])
    assert array.dtype == np.float64
    assert array.tolist() == [0.25, 0.5]
    assert np.mean([ONE, OTHER]) == 0.375
    assert (np.array([1.0, 2.0]) * ONE).tolist() == [0.25, 0.5]


def test_order_and_equality_are_those_of_the_values() -> None:
    assert 0.01 < ONE < OTHER <= 0.5
    assert estimate(0.25) == ONE == 0.25 != OTHER
    assert hash(ONE) == hash(0.25)
    assert len({ONE, estimate(0.25, 0.0, 9.0), OTHER}) == 2


@pytest.mark.parametrize(
    ("other", "sure"),
    [
        (0.1, "above"),
        (0.2, ""),
        (0.25, ""),
        (0.31, "below"),
        (OTHER, "below"),
        (estimate(0.1, 0.05, 0.15), "above"),
        (estimate(0.1, 0.05, 0.21), ""),
        (estimate(0.1), ""),
    ],
)
def test_sure_is_what_holds_of_the_whole_interval(other: float, sure: str) -> None:
    assert (ONE.surely_above(other), ONE.surely_below(other)) == (sure == "above", sure == "below")


def test_without_an_interval_nothing_is_sure() -> None:
    assert not estimate(5.0).surely_above(1.0)
    assert not estimate(5.0).surely_below(9.0)


def test_an_estimate_is_whole_after_a_journey() -> None:
    for again in (pickle.loads(pickle.dumps(ONE)), copy.deepcopy(ONE)):  # noqa: S301 - made here
        assert isinstance(again, Estimate)
        assert vars(again) == vars(ONE)
        assert str(again) == "250 ms (200 to 300)"
