"""The extra time of a request that finds the machine asleep, as a power of the idle time.

Processors halt, clocks slow down, caches go cold, a virtual machine is descheduled: the longer the
idle time, the longer the wake-up, over several decades of time. A power of the idle time describes
this with two numbers; the residuals show how well.

A single request does not warm a machine, so the relevant quantity is a running mean of the idle
times. Random arrivals show how much weight the last idle time has: with full weight their median is
that of short idle times, with little weight that of a constant rate.

Invariant: the fit uses medians of the response times at the points of the sweep; beyond the longest
idle time of the sweep, the wake-up time is assumed constant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from headroom.systems.storage.fit.laws import NORMAL_P90, Quantiles
from headroom.systems.storage.fit.network import Floats
from headroom.systems.storage.fit.observations import Lone

ASSUMED_EXPONENT = 0.5
"""Exponent if only one idle time was tried."""
_UNIT_S = 1e-3
_MOST_EXPONENT = 2.0
_LEAST_SHARE = 0.02
"""Part of the time at depth 1 below which no wake-up is reported."""
WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02)
"""Weights of the last idle time that are tried."""
_GAPS = 4000
_GRID = (np.arange(64) + 0.5) / 64.0
_STEPS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Waking:
    """Median time (s) of waking up after an idle millisecond, its growth, and its scatter."""

    wake_s: float
    exponent: float
    cv: float
    is_exponent_known: bool

    def median_s(self, idle_s: float) -> float:
        """Return the median time of waking up after `idle_s`."""
        return float(self.wake_s * (idle_s / _UNIT_S) ** self.exponent)


NONE = Waking(wake_s=0.0, exponent=ASSUMED_EXPONENT, cv=0.0, is_exponent_known=False)


def waking_of(lone: Sequence[Lone], alone: Quantiles) -> Waking:
    """Return the wake-up time, from lone requests compared with those of a busy loop.

    Parameters
    ----------
    lone
        Points of one kind and size.
    alone
        Times of the same requests at depth 1, one directly behind the other.
    """
    rows = []
    for regular in (lone_point for lone_point in lone if lone_point.is_regular):
        deviation = _deviation(regular.times, alone)
        extra_s = _extra_s(regular.times.p50, alone, deviation)
        if extra_s > _LEAST_SHARE * alone.p50:
            rows.append((regular.idle_s, extra_s, deviation))
    if not rows:
        return NONE
    idle, extra, deviations = (np.array(column) for column in zip(*rows, strict=True))
    deviation = float(np.median(deviations))
    cv = math.sqrt(math.expm1(deviation**2))
    logarithms = np.log(idle / _UNIT_S)
    if np.ptp(logarithms) < math.log(2.0):
        exponent, is_known = ASSUMED_EXPONENT, False
    else:
        slope = np.polyfit(logarithms, np.log(extra), 1)[0]
        exponent, is_known = float(np.clip(slope, 0.0, _MOST_EXPONENT)), True
    wake_s = math.exp(float(np.mean(np.log(extra) - exponent * logarithms)))
    return Waking(wake_s=wake_s, exponent=exponent, cv=cv, is_exponent_known=is_known)


def weight_of(
    lone: Sequence[Lone],
    alone: Mapping[str, Quantiles],
    waking: Mapping[str, Waking],
    most_s: float,
) -> tuple[float, bool]:
    """Return the weight of the last idle time, and whether the points determine it.

    Parameters
    ----------
    lone
        All points; those with random arrivals determine it.
    alone, waking
        For each kind.
    most_s
        Idle time (s) beyond which waking up takes no longer.
    """
    random = [
        lone_point
        for lone_point in lone
        if not lone_point.is_regular and waking[lone_point.kind].wake_s > 0.0
    ]
    if not random:
        return 1.0, False

    def misfit(weight: float) -> float:
        return math.fsum(
            math.log(
                lone_median_s(
                    lone_point, alone[lone_point.kind], waking[lone_point.kind], weight, most_s
                )
                / lone_point.times.p50
            )
            ** 2
            for lone_point in random
        )

    return min(WEIGHTS, key=misfit), True


def lone_median_s(
    lone_point: Lone, alone: Quantiles, waking: Waking, weight: float, most_s: float
) -> float:
    """Return the median response time (s) of the requests of a point."""
    deviation = math.sqrt(math.log1p(waking.cv**2))
    if lone_point.is_regular:
        return _median_s(alone, waking.median_s(min(lone_point.idle_s, most_s)), deviation)
    idle_s = np.minimum(lone_point.idle_s * _mean_gaps(weight), most_s)
    extra_s = waking.wake_s * (idle_s / _UNIT_S) ** waking.exponent
    # A sample of sums of a fixed sample: smooth enough, and the same each time.
    normal = np.random.default_rng(2).standard_normal((2, _GAPS))
    first = alone.floor + (alone.p50 - alone.floor) * np.exp(alone.deviation * normal[0])
    if alone.is_constant:
        first = np.full(_GAPS, alone.p50)
    return float(np.median(first + extra_s * np.exp(deviation * normal[1])))


@lru_cache(maxsize=64)
def _mean_gaps(weight: float) -> Floats:
    """Return running means of exponential times with mean 1, the last one having a weight."""
    gaps = np.random.default_rng(1).exponential(1.0, _GAPS)
    means, mean = np.empty(_GAPS), 1.0
    for place, gap in enumerate(gaps):
        mean += weight * (gap - mean)
        means[place] = mean
    return means


def _deviation(times: Quantiles, alone: Quantiles) -> float:
    """Return the deviation of the logarithm of waking up: the scatter that depth 1 has not."""
    spread_s = math.sqrt(max((times.p90 - times.p10) ** 2 - (alone.p90 - alone.p10) ** 2, 0.0))
    extra_s = max(times.p50 - alone.p50, 1e-12)
    return min(math.asinh(spread_s / (2.0 * extra_s)) / NORMAL_P90, 2.0)


def _extra_s(median_s: float, alone: Quantiles, deviation: float) -> float:
    """Return the median of waking up with which the sum of both has a median."""
    low, high = 0.0, max(median_s - alone.floor, 0.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if _median_s(alone, middle, deviation) < median_s:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _median_s(alone: Quantiles, extra_s: float, deviation: float) -> float:
    """Return the median of a time at depth 1 plus a lognormal one, by quadrature."""
    normal = scipy.special.ndtri(_GRID)
    first = np.array([alone.quantile(float(level)) for level in normal])
    second = extra_s * np.exp(deviation * normal)
    return float(np.median(first[:, None] + second[None, :]))
