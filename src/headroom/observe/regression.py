"""Processor time of an operation from natural load, and how much more load there is room for.

Busy processors U are regressed on the rate X over bands of windows with like rates, with the
weights 1 / U: U = b + D X. The load can grow until U is the room C, so times = (C - b) / (D X now).

D changes between low load and saturation by a factor of up to four, and the scatter of the line
does not show it. So the line is compared with a bent one: the change d of the logarithm of the
answer by the bend has a mean of zero and the published error of low load before anything is seen,
as far as the load has to be extrapolated, and what the bend says of it, with the error of the bend,
after. A straight line with little scatter narrows the interval; scatter leaves the published error,
and so does a strong bend.

Invariant: pure; times and interval are above zero, and the interval contains the times.

Sources: Denning and Buzen, ACM Computing Surveys 10 (1978) for the law; Zhang, Li and Zhou (2013),
doi 10.3923/itj.2013.632.639 for demand that depends on utilization;
`headroom.analysis.fits.demand_errors` for the published error.
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
FEWEST_BENT = 5
NARROW = 1.25
"""Ratio of the highest to the lowest rate up to which a line shows no background."""
UNSEEN = 0.25
"""Share of the published error that no line takes away: what begins beyond the range is unseen."""
FORM = 0.5
"""Error of the bend's own form, as a share of what the bend changes; assumed, as `UNSEEN` is."""
_BLOCKS = 10
_LOW = 0.5
"""Share of the room up to which the published error of low load was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Busy processors by rate.

    Parameters
    ----------
    background
        Processors that are busy whatever the rate, >= 0.
    demand_s, error_s
        Processor time (s) of an operation, and its standard error.
    degrees
        Degrees of freedom.
    """

    background: float
    demand_s: float
    error_s: float
    degrees: int

    @property
    def interval_s(self) -> tuple[float, float]:
        """The 95% interval of the demand (s)."""
        half_s = t_quantile(degrees=self.degrees) * self.error_s
        return max(self.demand_s - half_s, 0.0), self.demand_s + half_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many times the load there is room for, with its 95% interval."""

    line: Line
    times: float
    low: float
    high: float


def line_through(rates: Sequence[float], busy: Sequence[float]) -> Line | None:
    """Return the line through bands; None if they are too few or too much alike.

    Examples
    --------
    >>> line = line_through([10, 20, 30, 40], [0.12, 0.22, 0.32, 0.42])
    >>> round(line.background, 6), round(line.demand_s, 6)
    (0.02, 0.01)
    """
    x, y = np.array(rates, dtype=float), np.array(busy, dtype=float)
    if x.size < FEWEST_BANDS or min(x) <= 0.0 or max(x) < NARROW * min(x) or min(y) <= 0.0:
        return None
    fit = _fitted(x, y, bend=False)
    demand_s = float(fit.values[-1])
    if demand_s <= 0.0:
        return None
    return Line(
        background=float(fit.values[0]) if fit.values.size > 1 else 0.0,
        demand_s=demand_s,
        error_s=math.sqrt(fit.covariance[-1, -1]),
        degrees=fit.degrees,
    )


def reach(
    rates: Sequence[float], busy: Sequence[float], *, room: float, room_error: float, now: float
) -> Reach | None:
    """Return how many times the load `now` (1/s) there is room for.

    Parameters
    ----------
    rates, busy
        Of bands, ascending by rate.
    room, room_error
        Processors that there are for what `busy` counts, and the standard deviation of the
        logarithm of their number: neighbours come and go.
    """
    line = line_through(rates, busy)
    if line is None or line.background >= room:
        return None
    x, y = np.array(rates, dtype=float), np.array(busy, dtype=float)
    straight = _fitted(x, y, bend=False)
    log_times = _log_times(straight.values, room, now, is_bent=False)
    variance = _variance(straight, lambda v: _log_times(v, room, now, is_bent=False))
    prior = published()["low-load"].spread * _extrapolated(float(y.max()) / room)
    moved, moved_variance = 0.0, prior**2
    if x.size >= FEWEST_BENT and prior > 0.0:
        bent = _fitted(x, y, bend=True)
        seen = _log_times(bent.values, room, now, is_bent=True) - log_times
        error = _variance(bent, lambda v: _log_times(v, room, now, is_bent=True))
        if math.isfinite(seen) and math.isfinite(error):
            trust = prior**2 / (prior**2 + error)
            moved = trust * seen
            moved_variance = (1.0 - trust + UNSEEN**2) * prior**2 + (FORM * moved) ** 2
    spread = math.sqrt(variance + moved_variance + room_error**2)
    half = t_quantile(degrees=straight.degrees) * spread
    centre = log_times + moved
    return Reach(
        line=line,
        times=math.exp(centre),
        low=math.exp(centre - half),
        high=math.exp(min(centre + half, 50.0)),
    )


def bands(rates: Sequence[float], most: int = 8, least: int = 3) -> list[list[int]]:
    """Return places of windows in bands of like rates, ascending, `least` windows or more in each.

    Examples
    --------
    >>> bands([5.0, 1.0, 4.0, 2.0, 3.0, 6.0], most=3, least=2)
    [[1, 3], [4, 2], [0, 5]]
    """
    order = sorted(range(len(rates)), key=lambda place: rates[place])
    count = max(1, min(most, len(order) // least))
    return [[int(one) for one in part] for part in np.array_split(np.array(order), count)]


def costs(rates: Sequence[Sequence[float]], busy: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the processor time (s) of each of several operations, and its 95% interval.

    Negative times are none. The intervals come from leaving out one of ten stretches of time.

    Parameters
    ----------
    rates
        Rates (1/s) of all operations, one row for each window, in order of time.
    """
    x, y = np.array(rates, dtype=float), np.array(busy, dtype=float)
    used = y > 0.0
    x, y = x[used], y[used]
    whole = _non_negative(x, y)
    blocks = np.arange(y.size) * _BLOCKS // y.size
    again = np.array([_non_negative(x[blocks != one], y[blocks != one]) for one in range(_BLOCKS)])
    error = np.sqrt((_BLOCKS - 1) / _BLOCKS * ((again - again.mean(axis=0)) ** 2).sum(axis=0))
    half = t_quantile(degrees=_BLOCKS - 1) * error
    return [
        (float(one), max(float(one - width), 0.0), float(one + width))
        for one, width in zip(whole, half, strict=True)
    ]


def _non_negative(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the demands of a fit with background whose values are all zero or more."""
    weights = 1.0 / np.sqrt(y)
    scale = np.maximum(x.max(axis=0), 1e-300)
    design = np.column_stack([np.ones(y.size), x / scale]) * weights[:, None]
    values, _ = scipy.optimize.nnls(design, y * weights)
    demands: FloatArray = values[1:] / scale
    return demands


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    values: FloatArray
    covariance: FloatArray
    degrees: int


def _fitted(x: FloatArray, y: FloatArray, *, bend: bool) -> _Fit:
    """Return background (left out where it would be negative), demand and bend."""
    powers = [0, 1, 2] if bend else [0, 1]
    fit = _least_squares(x, y, powers)
    if fit.values[0] < 0.0:
        fit = _least_squares(x, y, powers[1:])
    return fit


def _least_squares(x: FloatArray, y: FloatArray, powers: Sequence[int]) -> _Fit:
    # Busy processors are known relatively, not absolutely: hence the weights.
    weights = 1.0 / np.sqrt(y)
    scale = x.max()
    design = np.column_stack([(x / scale) ** power for power in powers]) * weights[:, None]
    values, *_ = np.linalg.lstsq(design, y * weights, rcond=None)
    degrees = x.size - len(powers)
    residuals = y * weights - design @ values
    units = np.array([scale**-power for power in powers])
    inverse = np.linalg.pinv(design.T @ design)
    covariance = inverse * float(residuals @ residuals) / degrees
    return _Fit(
        values=values * units, covariance=covariance * np.outer(units, units), degrees=degrees
    )


def _log_times(values: FloatArray, room: float, now: float, *, is_bent: bool) -> float:
    """Return log((room - b) / (D now)), or where the bent line reaches the room; nan if never."""
    background, *rest = values if values.size == 2 + is_bent else (0.0, *values)
    demand_s, bend = rest if is_bent else (rest[0], 0.0)
    left = room - background
    inside = demand_s**2 + 4.0 * bend * left
    if left <= 0.0 or inside <= 0.0 or demand_s + math.sqrt(inside) <= 0.0:
        return math.nan
    # The stable form of the root of bend X^2 + demand X = left.
    return math.log(2.0 * left / (demand_s + math.sqrt(inside)) / now)


def _variance(fit: _Fit, function: Callable[[FloatArray], float]) -> float:
    """Return the variance of a function of the fitted values, by its slopes."""
    slopes = np.zeros(fit.values.size)
    for place in range(fit.values.size):
        step = np.zeros(fit.values.size)
        step[place] = math.sqrt(fit.covariance[place, place])
        if step[place] > 0.0:
            above, below = function(fit.values + step), function(fit.values - step)
            slopes[place] = (above - below) / (2.0 * step[place])
    return float(slopes @ fit.covariance @ slopes)


def _extrapolated(highest: float) -> float:
    """Return which share of the published error counts, for the highest share of the room seen.

    Examples
    --------
    >>> _extrapolated(0.3), _extrapolated(0.75), _extrapolated(1.2)
    (1.0, 0.5, 0.0)
    """
    return min(max((1.0 - highest) / (1.0 - _LOW), 0.0), 1.0)
