"""The steady-state rule for the rounds of a test of a solid-state device.

A window of five rounds is steady if the tracked value neither scatters nor drifts: the largest
minus the smallest value is at most 20% of the mean, and the least-squares line through the window
changes by at most 10% of the mean from its first to its last round.

Source: the steady-state rule of the SNIA Solid State Storage Performance Test Specification 2.0.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOW = 5
RANGE_SHARE = 0.20
SLOPE_SHARE = 0.10
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The last rounds: how far they scatter and drift, as shares of their mean."""

    range_share: float
    slope_share: float

    @property
    def is_steady(self) -> bool:
        """True if both stay within their limits, the limits included."""
        return (
            self.range_share <= RANGE_SHARE + _ROUNDING
            and self.slope_share <= SLOPE_SHARE + _ROUNDING
        )


def last_window(values: Sequence[float]) -> Window | None:
    """Return the window of the last five rounds, None before there are five.

    Parameters
    ----------
    values
        Tracked value of each round, in order, above zero.

    Examples
    --------
    >>> last_window([100.0, 102.0, 98.0, 101.0, 99.0]).is_steady
    True
    >>> last_window([100.0, 90.0, 80.0, 70.0, 60.0]).is_steady
    False
    >>> last_window([100.0] * 4) is None
    True
    """
    if len(values) < WINDOW:
        return None
    kept = np.asarray(values[-WINDOW:], dtype=np.float64)
    mean = float(kept.mean())
    if mean <= 0.0:
        return Window(range_share=float("inf"), slope_share=float("inf"))
    places = np.arange(WINDOW) - (WINDOW - 1) / 2.0
    slope = float((places * kept).sum() / (places**2).sum())
    return Window(
        range_share=float(kept.max() - kept.min()) / mean,
        slope_share=abs(slope) * (WINDOW - 1) / mean,
    )
