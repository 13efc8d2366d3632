"""Profiles of a sum of squares: which values of a parameter the observations refute.

Each parameter is moved away from the best fit, and the others are fitted again. A value is refuted
if the sum S of squared relative errors then exceeds its minimum by more than

    Q = max(F(1, n - p) S_min / (n - p),  F(1, d) v)

with n observations, p parameters, v the mean squared relative standard error of the observations, d
its degrees of freedom, and F the 95% quantile of Fisher's distribution. The first term is the lack
of fit of the model, the second the scatter of the replications; either can be zero. The 95%
interval contains the values that are not refuted. If an end of the range is not refuted, the
parameter is undetermined on that side.

Sources: Bates and Watts, *Nonlinear Regression Analysis and Its Applications* (1988), section 6.1
(profile t); Raue and others, *Structural and Practical Identifiability Analysis of Partially
Observed Dynamical Models by Exploiting the Profile Likelihood*, Bioinformatics 25 (2009): a
parameter is practically non-identifiable where its profile stays below the threshold.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy

from headroom.analysis.statistics.intervals import CONFIDENCE
from headroom.experiment.protocol.run import FloatArray

MAX_STEPS = 12
"""Steps away from the best fit on one side, each twice as long as the one before."""
REFINEMENTS = 8
"""Values between the last that is not refuted and the first that is."""
CLOSE = 0.05
"""Distance to the threshold, in units of it, at which an end is known well enough."""
BETTER = 1e-3
"""Units of the threshold by which a profile must fall to count as a better fit."""

Refit: TypeAlias = Callable[[int, float, FloatArray], tuple[float, FloatArray]]
"""Place of a parameter, its value and a start give the least sum of squares, and where it is."""


@dataclass(slots=True)
class Side:
    """One side of a profile, from the best fit outwards.

    Parameters
    ----------
    values, rises
        What was scanned: values on the scale of the search, and the rises in units of Q.
    end
        Value at which the rise is 1; the end of the range if it never is.
    at_end
        All parameters there.
    is_open
        True if the end of the range is not refuted.
    """

    values: list[float] = field(default_factory=list)
    rises: list[float] = field(default_factory=list)
    end: float = 0.0
    at_end: FloatArray = field(default_factory=lambda: np.empty(0))
    is_open: bool = True


class BetterFitError(Exception):
    """A profile found a better fit than the one that it started from."""

    def __init__(self, place: FloatArray) -> None:
        super().__init__("the search had stopped in a local minimum")
        self.place = place


def threshold(
    *, least: float, observations: int, parameters: int, variances: Sequence[tuple[float, float]]
) -> float:
    """Return the rise Q of the sum of squares that refutes a value; infinite if nothing tells.

    As many parameters as observations that do not scatter leave nothing to judge by.

    Parameters
    ----------
    least
        Smallest sum of squared relative errors.
    observations, parameters
        How many of both.
    variances
        Squared relative standard error of each observation that has one, with its degrees of
        freedom.

    Examples
    --------
    >>> rise = threshold(least=0.04, observations=5, parameters=1, variances=[(0.0001, 4.0)])
    >>> round(rise, 4)
    0.0771
    """
    degrees = observations - parameters
    misfit = quantile_f(degrees) * least / degrees if degrees > 0 else 0.0
    mean = float(np.mean([variance for variance, _ in variances])) if variances else 0.0
    scatter = quantile_f(sum(count for _, count in variances)) * mean if mean > 0.0 else 0.0
    if degrees <= 0 and scatter == 0.0:
        return math.inf
    return max(misfit, scatter)


def quantile_f(degrees: float) -> float:
    """Return the quantile of Fisher's distribution with 1 and `degrees` degrees of freedom."""
    return float(scipy.special.fdtri(1, degrees, CONFIDENCE))


def scan(
    refit: Refit,
    best: FloatArray,
    place: int,
    *,
    end: float,
    step: float,
    least: float,
    rise: float,
) -> Side:
    """Return one side of the profile of a parameter.

    Parameters
    ----------
    refit
        Fits the other parameters again.
    best
        Shape (parameters,). The best fit.
    place, end
        Which parameter, and the end of its range towards which it is moved.
    step
        First step, about where the threshold is expected.
    least, rise
        Sum of squares of the best fit, and the rise that refutes a value.

    Raises
    ------
    BetterFitError
        The sum of squares fell below `least`.
    """
    side = Side(end=float(best[place]), at_end=best)
    sign = 1.0 if end > best[place] else -1.0
    inner = (float(best[place]), best, 0.0)
    for number in range(MAX_STEPS):
        value = float(best[place]) + sign * step * (2.0**number - 0.5) * 2.0
        is_last = sign * (value - end) >= 0.0 or number == MAX_STEPS - 1
        value = end if is_last else value
        where, above = _visit(refit, side, place, value, inner[1], least=least, rise=rise)
        if above > 1.0:
            ends = (inner, (value, where, above))
            return _refined(refit, side, place, ends, least=least, rise=rise)
        inner = (value, where, above)
        if is_last:
            break
    side.end, side.at_end = inner[0], inner[1]
    return side


_Place: TypeAlias = tuple[float, FloatArray, float]


def _refined(
    refit: Refit,
    side: Side,
    place: int,
    ends: tuple[_Place, _Place],
    *,
    least: float,
    rise: float,
) -> Side:
    """Find where the rise is 1 between a value that is not refuted and one that is."""
    side.is_open = False
    inner, outer = ends
    for number in range(REFINEMENTS):
        value = _between(inner, outer, is_halved=number % 3 == 2)  # noqa: PLR2004 - every third
        where, above = _visit(refit, side, place, value, inner[1], least=least, rise=rise)
        if above > 1.0:
            outer = (value, where, above)
        else:
            inner = (value, where, above)
        if abs(above - 1.0) < CLOSE:
            outer = (value, where, above)
            break
    side.end, side.at_end = outer[0], outer[1]
    return side


def _between(inner: _Place, outer: _Place, *, is_halved: bool) -> float:
    """Return where a parabola through both would be 1, or the middle."""
    low, high = math.sqrt(max(inner[2], 0.0)), math.sqrt(outer[2])
    share = 0.5 if is_halved or high <= low else (1.0 - low) / (high - low)
    return inner[0] + min(max(share, 0.05), 0.95) * (outer[0] - inner[0])


def _visit(
    refit: Refit,
    side: Side,
    place: int,
    value: float,
    start: FloatArray,
    *,
    least: float,
    rise: float,
) -> tuple[FloatArray, float]:
    squares, where = refit(place, value, start)
    above = (squares - least) / rise
    if above < -BETTER:
        raise BetterFitError(where)
    side.values.append(value)
    side.rises.append(max(above, 0.0))
    return where, above
