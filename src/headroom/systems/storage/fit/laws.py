"""The law of a time with a floor and a right tail: a shifted lognormal.

Device times have a smallest value (the round trip) and a tail of everything that may add to it.
Three quantiles determine such a law, and a few stalls shift the mean of measured times but not
their quantiles.

Invariant: the law has the quantiles from which it was made, as long as it is skewed to the right;
one that is not is assumed to be nearly symmetric around its median.

Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions 1* (1994), section
14.3: the three-parameter lognormal law and its estimation by three symmetric quantiles.
"""

import math
from dataclasses import dataclass

from headroom.experiment.protocol.fit_method import Counted
from headroom.simulation import Distribution, constant, lognormal

NORMAL_P90 = 1.2815515594457
"""The 90th percentile of the normal law with mean 0 and deviation 1."""
_LEAST_SKEW = 1.05
"""Least ratio of the distances of p90 and p10 from the median: below it the floor runs away."""
_LEAST_SPREAD = 1e-6
"""Relative distance of p10 and p90 below which a time does not vary."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Percentiles 10, 50 and 90 of a time (s).

    Examples
    --------
    >>> times = Quantiles(20e-6, 22e-6, 30e-6)
    >>> round(times.floor * 1e6, 2), round(times.mean * 1e6, 2)
    (19.33, 24.12)
    """

    p10: float
    p50: float
    p90: float

    @property
    def is_constant(self) -> bool:
        """Whether the time does not vary to speak of."""
        return self.p90 - self.p10 <= _LEAST_SPREAD * self.p50

    @property
    def _skew(self) -> float:
        above, below = self.p90 - self.p50, self.p50 - self.p10
        return max(above / below, _LEAST_SKEW) if below > 0.0 else math.inf

    @property
    def deviation(self) -> float:
        """Standard deviation of the logarithm of the part above the floor."""
        skew = min(self._skew, 1e3)
        return math.log(skew) / NORMAL_P90

    @property
    def scale(self) -> float:
        """Median of the part above the floor."""
        ratio = math.exp(self.deviation * NORMAL_P90)
        return (self.p90 - self.p50) / (ratio - 1.0)

    @property
    def floor(self) -> float:
        """Smallest time, never below zero."""
        return 0.0 if self.is_constant else max(self.p50 - self.scale, 0.0)

    @property
    def mean(self) -> float:
        """Expected time: the floor, and the mean of a lognormal law above it."""
        if self.is_constant:
            return self.p50
        return self.floor + (self.p50 - self.floor) * math.exp(self.deviation**2 / 2.0)

    def quantile(self, normal: float) -> float:
        """Return the time at a quantile, given as that of the normal law (0 is the median)."""
        if self.is_constant:
            return self.p50
        return self.floor + (self.p50 - self.floor) * math.exp(self.deviation * normal)

    def law(self, scale: float = 1.0) -> Distribution:
        """Return the law of `scale` times the time, for a model."""
        if self.is_constant:
            return constant(scale * self.p50)
        above = lognormal(scale * (self.mean - self.floor), math.expm1(self.deviation**2))
        return scale * self.floor + above


def quantile_of(bins: Counted, share: float) -> float:
    """Return the value below which a share (0..1) of the observations is, within its bin."""
    below = bins.counts.cumsum()
    wanted = share * below[-1]
    place = int(below.searchsorted(wanted))
    before = below[place - 1] if place else 0.0
    inside = (wanted - before) / bins.counts[place] if bins.counts[place] > 0.0 else 0.5
    return float(bins.low[place] + inside * (bins.high[place] - bins.low[place]))


def quantiles_of(bins: Counted) -> Quantiles:
    """Return the percentiles 10, 50 and 90 of the observations.

    Examples
    --------
    >>> import numpy as np
    >>> even = Counted(low=np.arange(10.0), high=np.arange(1.0, 11.0), counts=np.ones(10))
    >>> quantiles_of(even)
    Quantiles(p10=1.0, p50=5.0, p90=9.0)
    """
    return Quantiles(*(quantile_of(bins, share) for share in (0.1, 0.5, 0.9)))
