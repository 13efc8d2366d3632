"""The closed network of a fitted device: throughput at a number of outstanding requests.

N requests circulate through stations in series: the host (one server), the units (several), and the
shared part of the units (one server). With exponential times the network has product form and its
throughput is exact; Buzen's convolution computes it for all points of a sweep together.

Source: Buzen, *Computational Algorithms for Closed Queueing Networks with Exponential Servers*,
Communications of the ACM 16 (1973).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def closed_throughputs(
    single_s: Floats,
    several_s: Floats,
    servers: int,
    populations: Sequence[int],
    batch_s: Floats | None = None,
) -> Floats:
    """Return the throughput (1/s) at each of several points.

    Parameters
    ----------
    single_s
        Shape (stations, points). Mean service times (s) at stations of one server.
    several_s
        Shape (points,). Mean service times (s) at the station with several servers.
    servers
        Number of those.
    populations
        Requests that are always outstanding at each point, >= 1.
    batch_s
        Shape (points,). Time (s) at the last single station that all present requests share: with n
        of them it takes a part of 1 / n of that longer for each. None is no such time.

    Examples
    --------
    >>> closed_throughputs(np.array([[0.01]]), np.array([0.0]), 1, [4], np.array([0.04])).round(6)
    array([50.])
    >>> closed_throughputs(np.array([[0.01, 0.01]]), np.array([0.0, 0.01]), 4, [5, 1]).round(6)
    array([100.,  50.])
    """
    counts = np.asarray(populations)
    most, points = int(counts.max()), np.arange(counts.size)
    scale_s = np.maximum(several_s / servers, single_s.max(axis=0, initial=0.0))
    # With n requests at a station its factor is demand^n / (product of min(j, servers), j <= n).
    steps = several_s / scale_s / np.minimum(np.arange(1, most + 1), servers)[:, None]
    total = np.concatenate([np.ones((1, counts.size)), np.cumprod(steps, axis=0)])
    if batch_s is None or not batch_s.any():
        for demand in single_s / scale_s:
            _add_single(total, demand)
        throughput: Floats = total[counts - 1, points] / total[counts, points] / scale_s
        return throughput
    *before, last = single_s / scale_s
    for demand in before:
        _add_single(total, demand)
    numbers = np.arange(1, most + 1)[:, None]
    steps = last + batch_s / scale_s / numbers
    own = np.concatenate([np.ones((1, counts.size)), np.cumprod(steps, axis=0)])
    fewer, all_of_them = (
        np.array([own[: n + 1, at] @ total[n::-1, at] for at, n in enumerate(counts - less)])
        for less in (1, 0)
    )
    throughputs: Floats = fewer / all_of_them / scale_s
    return throughputs


def _add_single(total: Floats, demand: Floats) -> None:
    """Let a network have one more station with one server (Buzen's recurrence)."""
    for count in range(1, len(total)):
        total[count] += demand * total[count - 1]
