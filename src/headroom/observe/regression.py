"""Processor time of an operation from natural load, and how much more load there is room for.

Busy processors U are regressed on the rate X over bands of windows with like rates, with the
weights 1 / U: U = b + D X. The load can grow until U is the room C, so times = (C - b) / (D X now).

D changes by a factor of up to four between low load and saturation, and the scatter of the line
does not show it. So the line is compared with a bent one. How much the bend changes the logarithm
of the answer has, before anything is seen, a mean of zero and the published error of low load, as
far as the load must be extrapolated; then the bend counts by its own error. A straight line with
little scatter narrows the interval; scatter or a strong bend leaves it wide.

Invariant: pure; times and interval are above zero, and the interval contains the times.

Sources: Denning and Buzen, ACM Computing Surveys 10 (1978); Zhang, Li and Zhou (2013), doi
10.3923/itj.2013.632.639: demand by utilization; `headroom.analysis.fits.demand_errors`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from headroom.analysis.fits.demand_errors import published
from headroom.analysis.statistics.intervals import t_quantile
from headroom.experiment.protocol.run import FloatArray

FEWEST_BANDS = 4
"""Bands that a line and its scatter need."""
NARROW = 1.25
"""Ratio of the highest to the lowest rate up to which a line shows no background."""
UNSEEN = 0.25
"""Share of the published error that no line takes away: what begins beyond the range is unseen."""
FORM = 0.5
"""Error of the bend's own form, as a share of what the bend changes; assumed, as `UNSEEN` is."""
_LOW = 0.5
"""Share of the room up to which the published error of low load was measured."""
_BLOCKS = 10


def reach(
    rates: Sequence[float], busy: Sequence[float], *, room: float, room_error: float, now: float
) -> tuple[float, float, float] | None:
    """Return how many times the load `now` (1/s) there is room for, within its 95% interval.

    The three are ascending. None: the bands do not tell.

    Rates and busy processors are those of bands, ascending. `room` are the processors that there
    are, `room_error` the standard deviation of the logarithm of that: neighbours come and go.

    Examples
    --------
    >>> found = reach([10, 20, 30, 40], [0.12, 0.22, 0.32, 0.42], room=1.02, room_error=0, now=20)
    >>> round(found[1], 6)
    5.0
    """
    x, y = np.array(rates, dtype=float), np.array(busy, dtype=float)
    x, y = x[y > 0.0], y[y > 0.0]
    if x.size < FEWEST_BANDS or max(x) <= NARROW * min(x):
        return None
    line = _fitted(x, y, powers=2)
    background, demand_s = (0.0, *line.values)[-2:]
    if demand_s <= 0.0 or background >= room:
        return None

    def log_times(values: FloatArray) -> float:
        return _log_times((0.0, *values)[-2:], room, now)

    def bent_log_times(values: FloatArray) -> float:
        return _log_times((0.0, *values)[-3:], room, now)

    centre, variance = log_times(line.values), _variance(line, log_times)
    ahead = min(max((1.0 - float(y.max()) / room) / (1.0 - _LOW), 0.0), 1.0)
    prior = published()["low-load"].spread * ahead
    moved, left = 0.0, prior**2
    if x.size > FEWEST_BANDS and prior > 0.0:
        bent = _fitted(x, y, powers=3)
        seen, error = bent_log_times(bent.values) - centre, _variance(bent, bent_log_times)
        if math.isfinite(seen) and math.isfinite(error):
            trust = prior**2 / (prior**2 + error)
            moved = trust * seen
            left = (1.0 - trust + UNSEEN**2) * prior**2 + (FORM * moved) ** 2
    half = t_quantile(degrees=line.degrees) * math.sqrt(variance + left + room_error**2)
    centre += moved
    return math.exp(centre - half), math.exp(centre), math.exp(min(centre + half, 50.0))


def bands(rates: Sequence[float], most: int = 8, least: int = 3) -> list[list[int]]:
    """Return places of windows in bands of like rates, ascending, `least` windows or more in each.

    Examples
    --------
    >>> bands([5.0, 1.0, 4.0, 2.0, 3.0, 6.0], most=3, least=2)
    [[1, 3], [4, 2], [0, 5]]
    """
    order = np.argsort(rates, kind="stable")
    count = max(1, min(most, len(order) // least))
    return [part.tolist() for part in np.array_split(order, count)]


def costs(rates: Sequence[Sequence[float]], busy: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the processor time (s) of each of several operations, and its 95% interval.

    Windows are rows, in order of time; their intervals come from leaving out one of ten stretches.
    """
    x, y = np.array(rates, dtype=float), np.array(busy, dtype=float)
    x, y = x[y > 0.0], y[y > 0.0]
    if y.size < _BLOCKS or not (x.max(axis=0) > 0.0).all():
        return []
    blocks = np.arange(y.size) * _BLOCKS // y.size
    again = np.array([_non_negative(x[blocks != one], y[blocks != one]) for one in range(_BLOCKS)])
    error = np.sqrt((_BLOCKS - 1) * again.var(axis=0))
    half = t_quantile(degrees=_BLOCKS - 1) * error
    whole = _non_negative(x, y)
    rows = zip(whole, np.maximum(whole - half, 0.0), whole + half, strict=True)
    return [tuple(map(float, row)) for row in rows]


def _non_negative(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the demands of a fit with background whose values are all zero or more."""
    weights, scale = 1.0 / np.sqrt(y), np.maximum(x.max(axis=0), 1e-300)
    design = np.column_stack([np.ones(y.size), x / scale]) * weights[:, None]
    demands: FloatArray = scipy.optimize.nnls(design, y * weights)[0][1:] / scale
    return demands


@dataclass(frozen=True, slots=True)
class _Fit:
    values: FloatArray
    covariance: FloatArray
    degrees: int


def _fitted(x: FloatArray, y: FloatArray, *, powers: int) -> _Fit:
    """Return background, demand and bend, the background left out where it would be negative."""
    fit = _least_squares(x, y, range(powers))
    return fit if fit.values[0] >= 0.0 else _least_squares(x, y, range(1, powers))


def _least_squares(x: FloatArray, y: FloatArray, powers: Sequence[int]) -> _Fit:
    # Busy processors are known relatively, not absolutely: hence the weights.
    weights, scale = 1.0 / np.sqrt(y), x.max()
    design = np.column_stack([(x / scale) ** power for power in powers]) * weights[:, None]
    values, *_ = np.linalg.lstsq(design, y * weights, rcond=None)
    residuals, degrees = y * weights - design @ values, x.size - len(powers)
    units = np.array([scale**-power for power in powers])
    covariance = np.linalg.pinv(design.T @ design) * float(residuals @ residuals) / degrees
    return _Fit(values * units, covariance * np.outer(units, units), degrees)


def _log_times(values: Sequence[float], room: float, now: float) -> float:
    """Return the logarithm of the load at which a line, or a bent one, is at the room, or nan."""
    background, demand_s, bend = (*values, 0.0)[:3]
    inside = demand_s**2 + 4.0 * bend * (room - background)
    if background >= room or inside <= 0.0 or demand_s + math.sqrt(inside) <= 0.0:
        return math.nan
    return math.log(2.0 * (room - background) / (demand_s + math.sqrt(inside)) / now)


def _variance(fit: _Fit, function: Callable[[FloatArray], float]) -> float:
    """Return the variance of a function of the fitted values, by its slopes."""
    steps = np.sqrt(np.diag(fit.covariance))
    slopes = [
        (function(fit.values + step) - function(fit.values - step)) / (2.0 * step.sum())
        if step.any() else 0.0
        for step in np.diag(steps)
    ]  # fmt: skip
    return float(np.array(slopes) @ fit.covariance @ np.array(slopes))
