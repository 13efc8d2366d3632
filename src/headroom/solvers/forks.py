"""The time of a cycle from the time at each station: sums, and waiting for arms of forks.

The arms of a fork are taken as independent and exponential, each with its own mean; the k-th of
them to end is an order statistic. Arms that share an arrival are in truth associated, so that the
figure is a little high (Nelson and Tantawi 1988; Varki 1999).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from headroom.solvers.closed import FloatArray
from headroom.solvers.walk import Join, Section

GRID = 2000
"""Steps of the integral over the distribution of the last arm that is waited for."""
LONGEST = 40.0
"""End of that integral, in the longest mean: e^-40 of the time is left out."""


def walk_time_s(
    residence_s: Mapping[str, float],
    *,
    sequence: Mapping[str, float],
    delay_s: float,
    joins: Sequence[Join],
) -> float:
    """Return the mean time of one walk.

    Parameters
    ----------
    residence_s
        Mean response of one visit to each station.
    sequence, delay_s, joins
        Visits outside forks, time at no station, and the forks, as a class has them.
    """
    total = delay_s + sum(visits * residence_s[name] for name, visits in sequence.items())
    return total + sum(_join_s(join, residence_s) for join in joins)


def _join_s(join: Join, residence_s: Mapping[str, float]) -> float:
    if join.quorum == 0 or join.mass <= 0:
        return 0.0
    means = [_section_s(arm, residence_s) / join.mass for arm in join.arms]
    return join.mass * order_statistic(np.array(means), join.quorum)


def _section_s(section: Section, residence_s: Mapping[str, float]) -> float:
    return walk_time_s(
        residence_s, sequence=section.visits, delay_s=section.delay, joins=section.joins
    )


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
