"""Cycle time from the time at each station: sums, and waiting for the arms of forks.

The arms of a fork are assumed independent and exponential, each with its own mean; the k-th of them
to end is an order statistic. In reality, arms that share an arrival are associated, so the result
is slightly high (Nelson and Tantawi 1988; Varki 1999).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.walk import Join, Section

NOBODY: Mapping[str, float] = {}
"""No waits for any pool."""
GRID = 2000
"""Steps of the integral over the distribution of the last arm that is waited for."""
LONGEST = 40.0
"""End of that integral, in the longest mean: e^-40 of the time is left out."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """What a station adds to service: `per_visit` (s), and `stretch` times the service."""

    per_visit: float
    stretch: float = 1.0


def slowness(wait_s: float, service_s: float, *, is_shared: bool) -> Slowness:
    """Return how a station slows visits with this mean wait and service (s) down.

    Where jobs share, the wait is in proportion to the own service; else it is that of others.
    """
    if is_shared and service_s > 0:
        return Slowness(0.0, 1.0 + wait_s / service_s)
    return Slowness(wait_s)


def walk_time_s(
    section: Section, stations: Mapping[str, Slowness], pools: Mapping[str, float] = NOBODY
) -> float:
    """Return the mean time of one walk through a section whose totals are of one walk.

    Parameters
    ----------
    section
        Visits, work (s), delay (s) and forks.
    stations
        What each station adds.
    pools
        Mean wait (s) for tokens of each pool for which jobs wait.
    """
    total = section.delay + sum(n * pools.get(pool, 0.0) for pool, n in section.grants.items())
    for name, visits in section.visits.items():
        found = stations[name]
        total += visits * found.per_visit + section.work[name] * found.stretch
    return total + sum(_join_s(join, stations, pools) for join in section.joins)


def _join_s(join: Join, stations: Mapping[str, Slowness], pools: Mapping[str, float]) -> float:
    if join.quorum == 0 or join.mass <= 0:
        return 0.0
    means = [walk_time_s(arm, stations, pools) / join.mass for arm in join.arms]
    return join.mass * order_statistic(np.array(means), join.quorum)


def order_statistic(means: FloatArray, rank: int) -> float:
    """Return the mean of the `rank`-th smallest of independent exponentials with these means.

    Examples
    --------
    >>> round(order_statistic(np.ones(2), 2), 4), round(order_statistic(np.ones(3), 1), 4)
    (1.5, 0.3333)
    """
    if not means.max(initial=0.0) > 0:
        return 0.0
    times = np.linspace(0.0, 1.0, GRID + 1) ** 3 * LONGEST * means.max()
    ended = 1.0 - np.exp(-times[:, None] / np.maximum(means, 1e-12 * means.max()))
    done = np.zeros((len(times), len(means) + 1))
    done[:, 0] = 1.0
    for arm in ended.T:
        done[:, 1:] = done[:, 1:] * (1 - arm[:, None]) + done[:, :-1] * arm[:, None]
        done[:, 0] *= 1 - arm
    still = done[:, :rank].sum(axis=1)
    return float(np.trapezoid(still, times))
