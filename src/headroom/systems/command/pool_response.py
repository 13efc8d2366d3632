"""The derived function `pool.response`: response times behind a pool, from saturated runs.

A run of `pool` connections without pause gives the rate at which the database completes work with
that many transactions inside. Random arrivals that find all connections of a pool busy queue for
one, so the number of transactions in the system is a birth-death chain: it rises at the arrival
rate and falls at the rate measured with as many transactions as are inside.

Invariant: the rates are measured ones; between two pools they are interpolated, never beyond.

Source: Chandy, Herzog and Woo, *Parametric Analysis of Queuing Networks*, IBM Journal of Research
and Development 19 (1975): a subsystem is replaced by the rates that it has alone.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from headroom.experiment.protocol.system import Value


def pool_response(
    values: Sequence[float], levels: Sequence[Mapping[str, Value]], options: Mapping[str, Any]
) -> list[float | None]:
    """Return the mean response time (s) behind a pool of each size, the queue for it included.

    It is infinite where the arrivals exceed what the pool completes.

    Parameters
    ----------
    values, levels
        Throughputs (1/s) of saturated runs, as `headroom.experiment.protocol.derived` has them.
    options
        `factor`, the number of connections; `share`, the arrival rate as a share of the largest
        throughput, or `rate` (1/s).

    Examples
    --------
    One processor that needs 10 ms is M/M/1: 10 ms / (1 - 0.5), however large the pool.

    >>> at = [{"pool": 1}, {"pool": 4}]
    >>> pool_response([100.0, 100.0], at, {"factor": "pool", "share": 0.5})
    [0.02, 0.02]
    """
    pools = [int(level[str(options["factor"])]) for level in levels]
    arrivals = float(options.get("rate") or options["share"] * max(values))
    order = np.argsort(pools)
    known = [0, *(pools[place] for place in order)], [0.0, *(values[place] for place in order)]
    rates = np.interp(np.arange(1, max(pools) + 1), *known)
    return [_response_s(rates[:pool].tolist(), arrivals) for pool in pools]


def _response_s(rates: Sequence[float], arrivals: float) -> float:
    """Return the mean response time (s) of random arrivals, by Little's law.

    Parameters
    ----------
    rates
        Completions (1/s) with 1, 2, ... transactions inside; the last one holds for all above.
    arrivals
        Arrivals (1/s).
    """
    if arrivals >= rates[-1]:
        return inf
    weight, total, inside = 1.0, 1.0, 0.0
    for count, rate in enumerate(rates, start=1):
        weight *= arrivals / rate
        total += weight
        inside += count * weight
    ratio = arrivals / rates[-1]
    queued = weight * ratio / (1.0 - ratio)
    mean_count = (inside + queued * (len(rates) + 1.0 / (1.0 - ratio))) / (total + queued)
    return mean_count / arrivals
