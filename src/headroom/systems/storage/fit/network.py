"""The closed network of a fitted device: throughput at a number of outstanding requests.

Three stations in a row, passed by N requests again and again: the host (one server), the units
(several), and what the units share (one server). With exponential times it has product form and
its throughput is exact; Buzen's convolution computes it.

Source: Buzen, *Computational Algorithms for Closed Queueing Networks with Exponential Servers*,
Communications of the ACM 16 (1973).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def closed_throughput(demands_s: Sequence[tuple[float, int]], population: int) -> float:
    """Return the throughput (1/s) of a closed network of stations.

    Parameters
    ----------
    demands_s
        Mean service time (s) and number of servers of each station.
    population
        Requests that are always outstanding, >= 1.

    Examples
    --------
    >>> closed_throughput([(0.01, 1)], 5)  # one server that is never idle
    100.0
    >>> round(closed_throughput([(0.01, 4)], 2), 6)  # two requests, a server each
    200.0
    >>> round(closed_throughput([(0.01, 1), (0.01, 1)], 3), 6)  # N / (N + 1) of each
    75.0
    """
    busy = [(demand, servers) for demand, servers in demands_s if demand > 0.0]
    scale_s = max(demand / servers for demand, servers in busy)
    total = np.zeros(population + 1)
    total[0] = 1.0
    for demand, servers in busy:
        total = np.convolve(total, _factors(demand / scale_s, servers, population))
        total = total[: population + 1]
        total /= total.max()
    return float(total[population - 1] / total[population] / scale_s)


def _factors(demand: float, servers: int, population: int) -> Floats:
    """Return demand^n / (product of min(j, servers), j = 1 to n) for n = 0 to `population`."""
    steps = demand / np.minimum(np.arange(1, population + 1), servers)
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(steps))])
    return np.exp(logarithms - logarithms.max())  # type: ignore[no-any-return]
