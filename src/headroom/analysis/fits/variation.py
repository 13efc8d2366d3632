"""How much the time inside a server varies, from what one client sees.

A lock that is held for always the same time makes others wait half as long as one held for an
exponential time, so the mean alone predicts no response. One client waits for nobody: its responses
are the times inside. Of these, mean and 95th percentile are known; a gamma law with both gives the
squared coefficient of variation.

Invariant: between 0 (constant) and 1 (exponential): two figures do not tell heavier tails apart.
"""

from collections.abc import Sequence

import scipy

from headroom.analysis.fits.seen_points import SeenPoint

LONGEST_TURN_S = 3e-3
"""Usual turn (s) of a thread on a Linux processor. Longer operations take turns on a processor, and
then their response does not depend on how much they vary."""
_SMALLEST, _TAIL = 0.02, 0.95
_DIGITS = 3


def squared_variation(mean_s: float, p95_s: float) -> float:
    """Return the squared coefficient of variation of times (s) with a mean and a 95th percentile.

    Examples
    --------
    >>> squared_variation(1.0, 2.9957)  # exponential
    1.0
    >>> squared_variation(1.0, 1.5), squared_variation(1.0, 1.001), squared_variation(1.0, 5.0)
    (0.078, 0.0, 1.0)
    """
    ratio = p95_s / mean_s
    if ratio <= _ratio(_SMALLEST):
        return 0.0
    if ratio >= _ratio(1.0):
        return 1.0
    found = scipy.optimize.brentq(lambda c2: _ratio(c2) - ratio, _SMALLEST, 1.0)
    return round(float(found), _DIGITS)


def _ratio(c2: float) -> float:
    """Return the 95th percentile of a gamma law, relative to its mean."""
    return float(scipy.special.gammaincinv(1.0 / c2, _TAIL) * c2)


def variation_of(seen: Sequence[SeenPoint], limit: str, service_s: float) -> float:
    """Return the squared coefficient of variation of the time inside; 1 where it is unknown."""
    if limit in {"processors", "quota"} and service_s > LONGEST_TURN_S:
        return 1.0
    one = one_client(seen)
    if one is None or one.p95_s is None:
        return 1.0
    return squared_variation(one.mean_s, one.p95_s)


def one_client(seen: Sequence[SeenPoint]) -> SeenPoint | None:
    """Return the point of one client who never thinks; None if it was not measured."""
    return next((one for one in seen if (one.load.clients, one.load.think_s) == (1, 0.0)), None)
