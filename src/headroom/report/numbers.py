"""Estimates and knees as text: what `headroom.quantities` says of plain numbers, for results."""

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
    """Return ``12.3 ±0.4``: for narrow columns, the larger side of the interval behind ±."""
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

    Examples
    --------
    >>> format_plus_minus(0.0123, (0.0119, 0.0126), "s")
    '12.3 ±0.4 ms'
    """
    low, high = bounds
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
