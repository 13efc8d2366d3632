"""Percentiles in closed form: M/M/c, and users who share one M/M/c server group.

Both need a class that is alone and uses one station once, first come first served. The state that
an arrival finds is known (Poisson arrivals see time averages; in a closed network they see it with
one job less: Sevcik and Mitrani 1981). The distribution of the response time follows from it.
"""

import math

import numpy as np
import scipy

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.formulas import (
    mmc_response_quantile_s,
    mmc_wait_quantile_s,
    quantile,
)
from headroom.solvers.network import Network
from headroom.solvers.walk import OUTSIDE

PERCENTS = (50, 95, 99)
"""Percentiles that a simulated point reports."""


def lone_station(network: Network) -> int | None:
    """Return the row of the one station that the one class uses exactly once, None without."""
    if len(network.classes) != 1 or len(network.queues) != 1:
        return None
    row, one = network.queues[0], network.classes[0]
    name = network.stations[row].name
    is_once = dict(one.flows) == {(OUTSIDE, name): 1.0, (name, OUTSIDE): 1.0}
    is_plain = not one.joins and one.delay_s == 0 and network.stations[row].discipline == "fcfs"
    return row if is_once and is_plain else None


def response_percentiles(network: Network) -> dict[int, float]:
    """Return percentiles (s) of the response time of an exactly solved network, by per cent."""
    row = lone_station(network)
    if row is None:
        return {}
    service, one = float(network.service_s[row, 0]), network.classes[0]
    servers = int(network.stations[row].servers)
    if one.is_open:
        return {
            percent: mmc_response_quantile_s(servers, one.rate_per_s, service, percent / 100)
            for percent in PERCENTS
        }
    found = found_by_arrivals(one.population - 1, servers, service, one.think_s)

    def above(time_s: float) -> float:
        return repairman_share_above(found, servers, time_s / service)

    return {percent: quantile(above, percent / 100, start=service) for percent in PERCENTS}


def wait_percentiles(network: Network, row: int) -> dict[int, float]:
    """Return percentiles (s) of the wait at an M/M/c queue of an exactly solved open network."""
    if lone_station(network) != row or not network.classes[0].is_open:
        return {}
    service, rate = float(network.service_s[row, 0]), network.classes[0].rate_per_s
    servers = int(network.stations[row].servers)
    return {p: mmc_wait_quantile_s(servers, rate, service, p / 100) for p in PERCENTS}


def found_by_arrivals(others: int, servers: int, service_s: float, think_s: float) -> FloatArray:
    """Return the probabilities that an arrival finds 0, 1, ... of `others` at the servers."""
    counts = np.arange(others + 1)
    if think_s == 0:
        return np.asarray(counts == others, dtype=np.float64)
    at_work = np.cumsum(np.log(service_s / np.minimum(np.maximum(counts, 1), servers))) - math.log(
        service_s
    )
    logs = (
        at_work + (others - counts) * math.log(think_s) - scipy.special.gammaln(others - counts + 1)
    )
    return np.asarray(np.exp(logs - scipy.special.logsumexp(logs)))


def repairman_share_above(found: FloatArray, servers: int, times: float) -> float:
    """Return the share of responses above `times` mean service times, given what arrivals find.

    Who finds a free server is served at once; who finds n >= c waits for n - c + 1 departures at
    c times the rate of one server.
    """
    at_once = float(found[:servers].sum()) * math.exp(-times)
    stages = np.arange(1.0, len(found) - servers + 1)
    if not len(stages):
        return at_once
    weights = found[servers:]
    if servers == 1:
        return at_once + float(weights @ scipy.special.gammaincc(stages + 1, times))
    return at_once + float(weights @ _erlang_and_one(stages, servers, times))


def _erlang_and_one(stages: FloatArray, servers: int, times: float) -> FloatArray:
    """Return P(Erlang(n, c) + Exp(1) > t) for each n: n stages of rate c, then one of rate 1.

    P_n = P_(n-1) + (P(service still runs at t, wait of n stages over) seen stage by stage):
    P_n(t) = Q(n, c t) + e^-t (c / (c - 1))^n (1 - Q(n, (c - 1) t)).
    """
    logs = stages * math.log(servers / (servers - 1)) - times
    within = 1.0 - scipy.special.gammaincc(stages, (servers - 1) * times)
    tails = np.exp(np.where(within > 0, logs + np.log(np.maximum(within, 1e-300)), -np.inf))
    return np.asarray(scipy.special.gammaincc(stages, servers * times) + tails)
