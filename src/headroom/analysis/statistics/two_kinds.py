"""Values of two clearly separate kinds: the best cut in two, by Ashman's D.

Runs of the same thing may settle at one of several rates: by placement, by what the caches hold, by
which of two plans a database chose. Then no run takes their mean.

Source: Ashman, Bird, Zepf, *Detecting bimodality in astronomical datasets*, Astronomical Journal
108 (1994).
"""

import math
from dataclasses import dataclass

import numpy as np

from headroom.experiment.protocol.run import FloatArray

FEWEST = 5
"""Values that it takes."""
SMALLER, GAP = 0.2, 0.5
"""Least share of the values in the smaller kind, and the gap between the kinds relative to the
distance of their means."""
_APART = ((5, 28.0), (6, 18.0), (7, 14.0), (8, 12.0), (10, 10.0), (12, 8.0), (15, 7.0), (20, 5.5),
          (25, 4.0))  # fmt: skip
"""Fewest values to the D from which they are apart: of normal and of lognormal values (deviation of
the logarithm 0.3) at most 0.2% are, of exponential and uniform ones 0.4%."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoKinds:
    """Means and counts of both kinds, and Ashman's D."""

    low: float
    high: float
    low_count: int
    high_count: int
    apart: float


def two_kinds(values: FloatArray, *, matters: float) -> TwoKinds | None:
    """Return the kinds of values that are clearly of two, or nothing.

    Parameters
    ----------
    values
        Shape (n,), above 0, in any order.
    matters
        Least relative difference of the means that is worth saying.

    Examples
    --------
    >>> found = two_kinds(np.array([10.0, 10.1, 16.2, 9.9, 16.0, 16.1]), matters=0.05)
    >>> round(found.low, 2), round(found.high, 2), found.low_count
    (10.0, 16.1, 3)
    >>> two_kinds(np.array([10.0, 10.4, 10.9, 9.7, 10.2, 9.4]), matters=0.05) is None
    True
    """
    ordered, n = np.sort(values), values.size
    if n < FEWEST:
        return None
    least = max(math.ceil(SMALLER * n), 2)
    cuts = np.arange(least, n - least + 1)
    sums, squares = np.cumsum(ordered)[cuts - 1], np.cumsum(ordered**2)[cuts - 1]
    low, high = sums / cuts, (ordered.sum() - sums) / (n - cuts)
    within = squares / cuts - low**2 + (np.sum(ordered**2) - squares) / (n - cuts) - high**2
    apart = (high - low) * math.sqrt(2.0) / np.sqrt(np.maximum(within, 1e-12 * high**2) + 1e-300)
    gaps = ordered[cuts] - ordered[cuts - 1]
    apart = np.where(gaps >= GAP * (high - low), apart, 0.0)
    best = int(np.argmax(apart))
    limit = next(limit for fewest, limit in reversed(_APART) if n >= fewest)
    if apart[best] <= limit or high[best] <= low[best] * (1.0 + matters):
        return None
    return TwoKinds(
        low=float(low[best]),
        high=float(high[best]),
        low_count=int(cuts[best]),
        high_count=int(n - cuts[best]),
        apart=float(apart[best]),
    )
