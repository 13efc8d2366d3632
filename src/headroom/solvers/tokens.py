"""Pools: what is held while stations are used, as a flow-equivalent server.

The part of a cycle in which a token is held is solved by itself for 1, 2, ... jobs inside, up to
the tokens; its throughputs become the rates of one server of the rest. That is exact without a
limit (Chandy, Herzog and Woo 1975, IBM J. Res. Dev. 19(1), 36-42), and close where jobs move
faster inside than in and out (Lazowska et al. 1984, chapter 9; Courtois 1977).
"""

import numpy as np
from scipy.special import logsumexp

from headroom.solvers.closed import Closed, FloatArray, closed
from headroom.solvers.closed_network import Answer, station_waits
from headroom.solvers.convolution import Profile, convolution_work, profile
from headroom.solvers.errors import SolverError
from headroom.solvers.network import JobClass, Network
from headroom.solvers.solution import PoolSolution
from headroom.solvers.walk import Hold

WORK_LIMIT = 2e8
"""Multiplications up to which a pool is looked into."""


def solve_with_pool(network: Network) -> tuple[Answer, list[PoolSolution]]:
    """Return the approximate solution of a network in which one pool may run out of tokens."""
    one, pool, hold = _only_pool(network)
    tokens = network.pools[pool]
    inside = np.array([hold.visits.get(s.name, 0.0) for s in network.stations])
    demands = network.demand_s[:, 0]
    within = inside * network.service_s[:, 0] / hold.grants
    most = min(tokens // hold.most_tokens, one.population)
    inner = profile(_part(network, within, hold.delay / hold.grants, most))
    delay_s = one.delay_s - hold.delay + one.think_s
    outside = np.where(inside > 0, 0.0, demands)
    outer = profile(_part(network, outside, delay_s, one.population))
    return _composed(network, pool, hold, inner, outer)


def _only_pool(network: Network) -> tuple[JobClass, str, Hold]:
    one = network.classes[0]
    if len(network.classes) > 1 or len(network.pools) > 1 or one.joins:
        raise _refusal(network, "several classes, several pools that can run out, or forks")
    pool = next(iter(network.pools))
    hold = one.holds[pool]
    for row, station in enumerate(network.stations):
        used = hold.visits.get(station.name, 0.0)
        if 0 < used < network.visits[row, 0] * (1 - 1e-9):
            raise _refusal(network, f"station {station.name!r} used with and without a token")
    if sum(hold.visits.values()) + hold.delay <= 0:
        raise _refusal(network, "tokens that are held for no time")
    return one, pool, hold


def _refusal(network: Network, what: str) -> SolverError:
    return SolverError(
        f"model {network.name!r} has pools together with {what}, for which there is no solver here",
        cure="simulate it; solvers know one pool that one closed class holds",
    )


def _part(network: Network, demands: FloatArray, delay_s: float, population: int) -> Closed:
    """Return the stations of `network` with these demands as a network of its own."""
    delays = [row for row, station in enumerate(network.stations) if station.is_delay]
    rows = network.queues
    part = closed(
        demands[rows],
        population,
        servers=[network.stations[row].servers for row in rows],
        think_s=max(delay_s, 0.0) + float(demands[delays].sum()),
    )
    if convolution_work(part) > WORK_LIMIT:
        raise SolverError(
            f"model {network.name!r} has too many jobs for its pool to be solved",
            cure="simulate it",
        )
    return part


def _composed(
    network: Network, pool: str, hold: Hold, inner: Profile, outer: Profile
) -> tuple[Answer, list[PoolSolution]]:
    population = network.classes[0].population
    most = len(inner.throughput_per_s) - 1
    counts = np.arange(population + 1)
    rates = inner.throughput_per_s[np.minimum(counts[1:], most)]
    log_weights = np.append(0.0, np.cumsum(np.log(hold.grants / rates)))
    throughput, shares = _present(log_weights, outer, population)
    rows = network.queues
    jobs = network.demand_s * throughput
    for place, row in enumerate(rows):
        within = inner.jobs[place][np.minimum(counts, most)]
        around = outer.jobs[place][population - counts]
        if network.demand_s[row, 0] > 0:
            jobs[row, 0] = float(shares @ (within + around))
    flow = np.array([throughput])
    answer = Answer(
        method="flow-equivalent server for the pool, convolution",
        throughput_per_s=flow,
        wait_s=station_waits(network, flow, jobs),
        jobs=jobs,
    )
    found = _pool(pool, hold, throughput, shares, most)
    return answer, [found]


def _present(log_weights: FloatArray, outer: Profile, population: int) -> tuple[float, FloatArray]:
    """Return the throughput, and the probabilities of 0, 1, ... jobs in or before the pool."""
    if not np.isfinite(outer.log_constant).all():  # Nothing outside takes any time.
        shares = np.zeros(population + 1)
        shares[-1] = 1.0
        return float(np.exp(log_weights[-2] - log_weights[-1])), shares
    logs = log_weights + outer.log_constant[::-1]
    total = logsumexp(logs)
    fewer = logsumexp(log_weights[:-1] + outer.log_constant[:-1][::-1])
    return float(np.exp(fewer - total)), np.asarray(np.exp(logs - total))


def _pool(name: str, hold: Hold, throughput: float, shares: FloatArray, most: int) -> PoolSolution:
    counts = np.arange(len(shares))
    held = float(shares @ np.minimum(counts, most))
    waiting = float(shares @ np.maximum(counts - most, 0))
    grants = throughput * hold.grants
    return PoolSolution(
        name=name,
        utilization=held / most,
        queue_len=waiting,
        wait_s=waiting / grants if grants > 0 else 0.0,
        throughput_per_s=grants,
    )
