"""Format estimates and knees as text, as `headroom.quantities` formats plain numbers."""

import math

from headroom.analysis.results import Estimate, Knee
from headroom.quantities import (
    Scale,
    choose_scale,
    decimals_for,
    format_bounds,
    format_plain,
    format_scaled,
    half_width_of,
)

_LOPSIDED = 1.5
"""Times the other side of an interval from which a side is too long for one ± to tell both."""


def format_estimate(estimate: Estimate, *, scale: Scale | None = None) -> str:
    """Return the centre of `estimate` with its interval, as `format_bounds` does."""
    return format_bounds(
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.unit,
        metric=estimate.metric,
        scale=scale,
    )


def format_short(estimate: Estimate, *, scale: Scale | None = None) -> str:
    """Return ``12.3 ±0.4`` for narrow columns, as `format_plus_minus` does."""
    bounds = (estimate.low, estimate.high)
    return format_plus_minus(
        estimate.value, bounds, estimate.unit, metric=estimate.metric, scale=scale
    )


def format_plus_minus(
    value: float,
    bounds: tuple[float | None, float | None],
    unit: str,
    *,
    metric: str = "",
    scale: Scale | None = None,
) -> str:
    """Return a value with the larger side of its interval behind ±.

    A lopsided interval is written with both ends, because ± would reach to where it does not.

    Examples
    --------
    >>> format_plus_minus(0.0123, (0.0119, 0.0126), "s")
    '12.3 ±0.4 ms'
    >>> format_plus_minus(0.0123, (0.0119, 0.0187), "s")
    '12 ms (12 to 19)'
    """
    low, high = bounds
    if is_lopsided(value, low, high):
        return format_bounds(value, low, high, unit, metric=metric, scale=scale)
    used = scale or choose_scale([value], unit, metric=metric)
    suffix = "" if scale else used.suffix
    half_width = half_width_of(low, high)
    centre = format_scaled(value, used, half_width=half_width)
    if low is None or high is None or half_width is None:
        return f"{centre}{suffix}"
    side = max(high - value, value - low) * used.factor
    if side <= 0 or not math.isfinite(side):
        return f"{centre}{suffix}"
    decimals = decimals_for(value * used.factor, half_width=half_width * used.factor)
    shown = format_plain(math.ceil(side * 10.0**decimals) / 10.0**decimals, decimals=decimals)
    return f"{centre} ±{shown}{suffix}"


def is_lopsided(value: float, low: float | None, high: float | None) -> bool:
    """Return whether one side of an interval is much longer than the other.

    Examples
    --------
    >>> is_lopsided(2.0, 1.0, 3.0), is_lopsided(2.0, 1.9, 3.0), is_lopsided(2.0, None, None)
    (False, True, False)
    """
    if low is None or high is None:
        return False
    sides = sorted((value - low, high - value))
    return sides[1] > _LOPSIDED * sides[0]


def format_knee(knee: Knee) -> str:
    """Return the level of a knee with its interval.

    Examples
    --------
    >>> format_knee(Knee(metric="throughput", factor="users", where={}, found=True,
    ...     level=81.3, level_low=60.0, level_high=100.0))
    '80 (60 to 100)'
    """
    if knee.level is None:
        return "none"
    return format_bounds(knee.level, knee.level_low, knee.level_high, "1")
