"""The steady-state rule, compared with cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.systems.storage.workloads.steady_rounds import WINDOW, last_window


@pytest.mark.parametrize(
    ("values", "range_share", "slope_share", "is_steady"),
    [
        # Mean 100, range 20, slope (-2*90 - 90 + 110 + 2*110) / 10 = 6, over four rounds 24.
        ([90, 90, 100, 110, 110], 0.20, 0.24, False),
        # Mean 100, range 20, slope (-2*100 - 90 + 100 + 2*100) / 10 = 1, over four rounds 4.
        ([100, 90, 110, 100, 100], 0.20, 0.04, True),
        # Mean 100, range exactly at its limit, slope 0.
        ([110, 90, 100, 90, 110], 0.20, 0.0, True),
        # Mean 100, range 21: above its limit.
        ([110.5, 89.5, 100, 89.5, 110.5], 0.21, 0.0, False),
        # A straight line of 2.5 per round: range and drift are 10, which is the limit.
        ([95, 97.5, 100, 102.5, 105], 0.10, 0.10, True),
        # 2.6 per round is beyond it, although the range is only 10.4.
        ([94.8, 97.4, 100, 102.6, 105.2], 0.104, 0.104, False),
        # Only the last five count.
        ([900, 500, 100, 100, 100, 100, 100], 0.0, 0.0, True),
    ],
)
def test_windows_worked_out_by_hand(
    values: list[float], range_share: float, slope_share: float, *, is_steady: bool
) -> None:
    window = last_window(values)
    assert window is not None
    assert window.range_share == pytest.approx(range_share)
    assert window.slope_share == pytest.approx(slope_share)
    assert window.is_steady is is_steady


@given(st.lists(st.floats(1e-3, 1e9), min_size=WINDOW, max_size=30), st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter_and_the_slope_is_that_of_least_squares(
    values: list[float], factor: float
) -> None:
    """Oracle: numpy's polynomial fit; property: shares are free of units."""
    window, scaled = last_window(values), last_window([factor * value for value in values])
    assert window is not None
    assert scaled is not None
    kept = np.array(values[-WINDOW:])
    slope = np.polyfit(np.arange(WINDOW), kept, 1)[0]
    assert window.slope_share == pytest.approx(abs(slope) * 4 / kept.mean(), rel=1e-6, abs=1e-9)
    assert scaled.slope_share == pytest.approx(window.slope_share, rel=1e-6, abs=1e-9)
    assert scaled.range_share == pytest.approx(window.range_share, rel=1e-6, abs=1e-9)


def test_a_device_that_does_nothing_is_not_steady() -> None:
    window = last_window([0.0] * WINDOW)
    assert window is not None
    assert not window.is_steady
