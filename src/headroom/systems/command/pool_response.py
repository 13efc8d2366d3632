"""Derived functions of a pool of connections: response times predicted from saturated runs.

A run of `pool` connections without pause gives the rate at which a database completes work with so
many transactions inside. Random arrivals that find all connections of a pool busy queue for one, so
the number of transactions is a birth-death chain: it rises at the arrival rate and falls at the
rate measured with as many transactions as are inside.

Invariant: rates are measured, and interpolated between two pools; nothing is extrapolated.

Source: Chandy, Herzog and Woo, *Parametric Analysis of Queuing Networks*, IBM Journal of Research
and Development 19 (1975): a subsystem is represented by the rates that it has alone.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from headroom.experiment.protocol.system import Value

Levels = Mapping[str, Value]


def pool_response(
    values: Sequence[float], levels: Sequence[Levels], options: Mapping[str, Any]
) -> list[float]:
    """Return the mean response time (s) of each pool, the queue for a connection included.

    It is infinite if more arrive than the pool completes.

    Parameters
    ----------
    values, levels
        Throughputs (1/s) of saturated runs, as `headroom.experiment.protocol.derived` has them.
    options
        `factor` is the number of connections, and `share` the arrival rate as a share of the
        largest throughput. `rate` (1/s) replaces the share.

    Examples
    --------
    One processor that needs 10 ms is M/M/1: 10 ms / (1 - 0.5), however large the pool.

    >>> at = [{"pool": 1}, {"pool": 4}]
    >>> pool_response([100.0, 100.0], at, {"factor": "pool", "share": 0.5})
    [0.02, 0.02]
    """
    pools = [int(level[str(options["factor"])]) for level in levels]
    arrivals = float(options["rate"] if "rate" in options else options["share"] * max(values))
    known = sorted(zip(pools, values, strict=True))
    places, rates = zip((0, 0.0), *known, strict=True)
    every = np.interp(np.arange(1, max(pools) + 1), places, rates).tolist()
    return [_response_s(every[:pool], arrivals) for pool in pools]


def pool_speed(
    values: Sequence[float], levels: Sequence[Levels], options: Mapping[str, Any]
) -> list[float]:
    """Return the best mean response time over that of each pool: 1 is best, 0 is saturated.

    Parameters are those of `pool_response`.

    Examples
    --------
    >>> at = [{"pool": 1}, {"pool": 2}, {"pool": 4}]
    >>> options = {"factor": "pool", "share": 0.5}
    >>> [round(speed, 2) for speed in pool_speed([100.0, 200.0, 200.0], at, options)]
    [0.0, 1.0, 1.0]
    """
    responses = pool_response(values, levels, options)
    best = min(responses)
    return [best / one if one < inf else 0.0 for one in responses]


def _response_s(rates: Sequence[float], arrivals: float) -> float:
    """Return the mean response time (s) of random arrivals, by Little's law.

    Parameters
    ----------
    rates
        Completions (1/s) with 1, 2, ... transactions inside; the last one holds for all above.
    arrivals
        Arrivals (1/s).
    """
    ratio = arrivals / rates[-1]
    if ratio >= 1.0:
        return inf
    weights = [1.0]
    for rate in rates:
        weights.append(weights[-1] * arrivals / rate)
    waiting = weights[-1] * ratio / (1.0 - ratio)
    counted = sum(count * weight for count, weight in enumerate(weights))
    counted += waiting * (len(rates) + 1.0 / (1.0 - ratio))
    return counted / (sum(weights) + waiting) / arrivals
