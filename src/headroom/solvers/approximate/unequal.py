"""Servers of different speed: the speed of a station with 1, 2, ... jobs.

A job takes the fastest free server and stays there, so the speed of a station does not depend on
the number of jobs alone. The probabilities of the busy servers follow from a Markov chain over the
busy servers of each speed (Gumbel 1960, Oper. Res. 8(4), 504-511, for arrivals from outside). Its
conditional speeds make the number of jobs a birth-death process with the same answer. This is exact
if services are exponential and arrivals are Poisson or come from a number of users who each think.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import scipy

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.network import SHARED, Centre, Network, scaled

STATES_LIMIT = 5000
"""Busy servers by speed that are distinguished at most; beyond it the fastest are taken as busy."""
CROWDED = 30.0
"""Logarithm of a rate of arrivals at which no job is elsewhere."""
SMALLEST = 1e-280
"""Smallest share of a state that is distinguished from none."""

State = tuple[int, ...]
"""Busy servers of each speed, the fastest first."""


def is_unequal(station: Centre) -> bool:
    """Return whether the speed of a station depends on which servers are busy."""
    return len(set(station.speeds)) > 1 and station.discipline not in SHARED


def are_told_apart(speeds: Sequence[float]) -> bool:
    """Return whether all sets of busy servers are counted, so that the speeds found are exact.

    Examples
    --------
    >>> are_told_apart([2.0] * 8 + [1.0] * 8), are_told_apart(range(1, 17))
    (True, False)
    """
    return math.prod(speeds.count(value) + 1 for value in set(speeds)) <= STATES_LIMIT


def at_speeds(network: Network, throughput_per_s: FloatArray) -> Network:
    """Return the network with the speeds that jobs find when classes complete at these rates.

    Mean services become the time in a server, and `Centre.work_rates` the speed with 1, 2, ...
    jobs, as a multiple of the mean speed that they find.
    """
    found = network
    jobs = math.inf if network.open else float(sum(class_.population for class_ in network.classes))
    for row, station in enumerate(network.stations):
        offered = float(network.demand_s[row] @ throughput_per_s)
        if is_unequal(station) and offered > 0:
            speeds = np.array(station.speeds) / np.mean(station.speeds)
            rates, busy = _found(sorted(map(float, speeds), reverse=True), offered, jobs)
            factor = busy / offered
            work_rates = tuple(float(rate * factor) for rate in rates)
            found = scaled(found, row, factor, replace(station, work_rates=work_rates))
    return found


def _found(speeds: Sequence[float], offered: float, jobs: float) -> tuple[FloatArray, float]:
    """Return the speed with 1, 2, ... jobs and the mean busy servers at an offered load."""
    if jobs == math.inf:
        arrivals = np.full(len(speeds), offered)
        rates = conditional_speeds(speeds, arrivals)
        shares = _shares(rates, arrivals)
        shares[-1] /= max(1.0 - offered / sum(speeds), 1e-12)  # who waits: a geometric tail
        return rates, _busy(shares / shares.sum(), len(speeds))
    idle = jobs - np.arange(jobs)

    def missing(log_rate: float) -> float:
        arrivals = np.exp(log_rate) * idle
        return _done(conditional_speeds(speeds, arrivals), arrivals) - offered

    is_full = missing(CROWDED) <= 0
    log_rate = (
        CROWDED if is_full else float(scipy.optimize.brentq(missing, -CROWDED, CROWDED, xtol=1e-9))
    )
    arrivals = np.exp(log_rate) * idle
    rates = conditional_speeds(speeds, arrivals)
    return rates, _busy(_shares(rates, arrivals), len(speeds))


def _shares(rates: FloatArray, arrivals: FloatArray) -> FloatArray:
    """Return the shares of 0, 1, ... jobs where arrivals end with the last rate given."""
    speeds = rates[np.minimum(np.arange(len(arrivals)), len(rates) - 1)]
    logs = np.append(0.0, np.cumsum(np.log(arrivals) - np.log(speeds)))
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def _done(rates: FloatArray, arrivals: FloatArray) -> float:
    shares = _shares(rates, arrivals)
    speeds = rates[np.minimum(np.arange(len(arrivals)), len(rates) - 1)]
    return float(shares[1:] @ speeds)


def _busy(shares: FloatArray, servers: int) -> float:
    """Return the mean busy servers."""
    return float(shares @ np.minimum(np.arange(len(shares)), servers))


def conditional_speeds(speeds: Sequence[float], arrivals: FloatArray) -> FloatArray:
    """Return the mean speed of a station with 1, 2, ... jobs, until all servers are busy.

    Parameters
    ----------
    speeds
        Of each server, the fastest first.
    arrivals
        Arrivals per service time at speed 1, with 0, 1, ... jobs at the station.

    Examples
    --------
    With one job at a time the fastest server alone works.

    >>> conditional_speeds([3.0, 1.0], np.array([1.0])).round(4).tolist()
    [3.0]
    >>> conditional_speeds([3.0, 1.0], np.array([1.0, 1.0])).round(4).tolist()
    [2.25, 4.0]
    """
    values = sorted(set(speeds), reverse=True)
    counts = [speeds.count(value) for value in values]
    most = min(len(speeds), len(arrivals))
    if not are_told_apart(speeds):
        return np.cumsum(speeds)[:most]
    states = [s for s in product(*(range(count + 1) for count in counts)) if sum(s) <= most]
    shares = _stationary(states, counts, values, arrivals)
    jobs = np.array([sum(state) for state in states])
    working = np.array([sum(n * v for n, v in zip(s, values, strict=True)) for s in states])
    weights = np.bincount(jobs, shares, minlength=most + 1)
    done = np.bincount(jobs, shares * working, minlength=most + 1)
    fastest = np.cumsum(speeds)[:most]
    exists = weights[1:] > SMALLEST
    return np.asarray(np.where(exists, done[1:] / np.where(exists, weights[1:], 1.0), fastest))


def _stationary(
    states: Sequence[State],
    counts: Sequence[int],
    values: Sequence[float],
    arrivals: FloatArray,
) -> FloatArray:
    """Return the shares of states of busy servers; who waits is left out."""
    from scipy.sparse.linalg import spsolve  # noqa: PLC0415 - slow to import, few models need it

    place = {state: number for number, state in enumerate(states)}
    balance = scipy.sparse.lil_matrix((len(states), len(states)))
    for state in states:
        for target, rate in _moves(state, counts, values, arrivals):
            if target in place:
                balance[place[target], place[state]] += rate
                balance[place[state], place[state]] -= rate
    balance[0, :] = 1.0
    found = spsolve(balance.tocsc(), np.append(1.0, np.zeros(len(states) - 1)))
    return np.asarray(np.maximum(found, 0.0))


def _moves(
    state: State, counts: Sequence[int], values: Sequence[float], arrivals: FloatArray
) -> Iterator[tuple[State, float]]:
    """Yield where a state goes: an arrival takes the fastest free server, any busy one ends."""
    free = next((g for g, (n, c) in enumerate(zip(state, counts, strict=True)) if n < c), None)
    if free is not None and sum(state) < len(arrivals):
        yield _changed(state, free, 1), float(arrivals[sum(state)])
    for group, busy in enumerate(state):
        if busy:
            yield _changed(state, group, -1), busy * values[group]


def _changed(state: State, group: int, step: int) -> State:
    return (*state[:group], state[group] + step, *state[group + 1 :])
