"""Simulated servers whose demand changes with the load: families of laws with exact throughputs.

A case is a closed network of clients with think times, cores, and perhaps a lock or a log. The rate
of every station depends on the number of jobs there, so the throughput follows from the normalising
constant (Gordon and Newell 1967; convolution by Buzen 1973). Quantities that depend on the overall
load, such as a demand that falls with utilization, are found by iteration.

Five families follow the observations behind the published errors in
`headroom.analysis.fits.demand_errors`; three follow laws that were not among them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headroom.experiment.protocol.run import FloatArray

Rate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Jobs at a station to its speed, relative to one job alone."""
_ROUNDS = 60
_DAMPING = 0.7
_CLOSE = 1e-4
"""Change of the utilization at which the iteration ends: far below any noise."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A station: its demand (s) for one job alone, and its relative speed."""

    demand_s: float
    speed: Rate


def throughput(clients: int, think_s: float, queues: Sequence[Queue]) -> float:
    """Return the throughput (1/s) of a closed network with exponential times.

    Examples
    --------
    >>> round(throughput(20, 1.0, [Queue(0.05, lambda jobs: np.ones_like(jobs))]), 4)
    16.8222
    """
    jobs = np.arange(1, clients + 1, dtype=float)
    scale = max(sum(queue.demand_s for queue in queues) + think_s, 1e-300)
    whole = np.concatenate([[0.0], np.cumsum(np.log(max(think_s, 1e-300) / scale / jobs))])
    *before, last = [
        np.concatenate([[0.0], np.cumsum(np.log(q.demand_s / scale / q.speed(jobs)))])
        for q in queues
    ]
    for own in before:
        whole = _convolved(whole, own)
    top, below = (_term(whole, last, count) for count in (clients, clients - 1))
    return math.exp(below - top) / scale


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the logarithm of the convolution of two sequences given by their logarithms."""
    return np.array([_term(first, second, place) for place in range(first.size)])


def _term(first: FloatArray, second: FloatArray, place: int) -> float:
    """Return one term of the convolution."""
    terms = first[: place + 1] + second[place::-1]
    largest = terms.max()
    return float(np.log(np.exp(terms - largest).sum()) + largest)


def cores(count: int) -> Rate:
    """Return the speed of `count` equal servers."""
    return lambda jobs: np.minimum(jobs, count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One simulated server.

    Parameters
    ----------
    family
        Its law.
    servers
        Cores.
    queues
        Clients, utilization and the factor of a neighbour to the stations, cores first.
    """

    family: str
    servers: int
    queues: Callable[[int, float, float], list[Queue]]

    def measured(self, clients: int, think_s: float, *, drift: float = 1.0) -> Mapping[str, float]:
        """Return throughput, mean response time and utilization of the cores in steady state."""
        busy = 0.5
        for _ in range(_ROUNDS):
            queues = self.queues(clients, busy, drift)
            rate = throughput(clients, think_s, queues)
            now = min(rate * self._core_s(clients, think_s, queues, rate) / self.servers, 1.0)
            if abs(now - busy) < _CLOSE:
                break
            busy += _DAMPING * (now - busy)
        return {
            "throughput": rate,
            "response_s_mean": clients / rate - think_s,
            "station.server.utilization": now,
        }

    def _core_s(self, clients: int, think_s: float, queues: Sequence[Queue], rate: float) -> float:
        """Return the core time (s) of a job at about the number of jobs that are at the cores."""
        elsewhere = rate * (think_s + sum(queue.demand_s for queue in queues[1:]))
        waiting = max(clients - elsewhere, 1.0)
        jobs = np.array([waiting])
        speed = float(queues[0].speed(jobs)[0])
        return queues[0].demand_s * min(waiting, self.servers) / speed


Maker: TypeAlias = Callable[[np.random.Generator], Case]
_DEMAND_S = 1e-4


def load_dependent(random: np.random.Generator) -> Case:
    """Return a demand that falls with utilization and rises with clients, as caches do."""
    servers = int(random.choice([1, 2, 4]))
    by_clients, by_idle = random.uniform(0.3, 1.5), random.uniform(0.3, 1.2)

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:
        factor = (1.0 + by_clients * math.log2(clients) / 6.0) * (1.0 + by_idle * (1.0 - busy))
        return [Queue(_DEMAND_S * drift * factor, cores(servers))]

    return Case(family="load dependent", servers=servers, queues=queues)


def idle_exit(random: np.random.Generator) -> Case:
    """Return cores that take time to wake up after they were idle."""
    servers = int(random.choice([1, 2, 4]))
    extra = random.uniform(0.5, 3.0)

    def speed(jobs: FloatArray) -> FloatArray:
        awake = np.minimum(jobs - 1.0, servers) / servers
        speeds: FloatArray = np.minimum(jobs, servers) / (1.0 + extra * (1.0 - awake)) * alone
        return speeds

    alone = 1.0 + extra

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        return [Queue(_DEMAND_S * drift * alone, speed)]

    return Case(family="idle exit", servers=servers, queues=queues)


def batching(random: np.random.Generator) -> Case:
    """Return an event loop that shares part of its work among all requests that wait."""
    servers = int(random.choice([1, 2]))
    shared, largest = random.uniform(0.2, 0.7), float(random.integers(4, 33))

    def speed(jobs: FloatArray) -> FloatArray:
        each = np.minimum(np.maximum(jobs / servers, 1.0), largest)
        speeds: FloatArray = np.minimum(jobs, servers) / (1.0 - shared + shared / each)
        return speeds

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        return [Queue(_DEMAND_S * drift, speed)]

    return Case(family="batching", servers=servers, queues=queues)


def group_commit(random: np.random.Generator) -> Case:
    """Return cores and a log whose flush takes all waiting jobs: half a flush, then a whole one."""
    servers = int(random.choice([1, 2, 4]))
    flush_s = _DEMAND_S * random.uniform(1.0, 10.0)
    by_clients = random.uniform(0.1, 0.6)

    def speed(jobs: FloatArray) -> FloatArray:
        speeds: FloatArray = np.where(jobs < 2.0, 1.0, jobs / 1.5)  # noqa: PLR2004
        return speeds

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        factor = 1.0 + by_clients * math.log2(clients) / 6.0
        return [Queue(_DEMAND_S * drift * factor, cores(servers)), Queue(flush_s, speed)]

    return Case(family="group commit", servers=servers, queues=queues)


def hot_row(random: np.random.Generator) -> Case:
    """Return cores and a lock that is handed over the more slowly, the more jobs wait."""
    servers = int(random.choice([1, 2, 4]))
    hold_s = _DEMAND_S * random.uniform(0.1, 0.6)
    growth = random.uniform(0.002, 0.02)

    def lock(jobs: FloatArray) -> FloatArray:
        speeds: FloatArray = 1.0 / (1.0 + growth * (jobs - 1.0))
        return speeds

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:
        factor = 1.0 + 0.3 * (1.0 - busy) + growth * clients / 4.0
        return [Queue(_DEMAND_S * drift * factor, cores(servers)), Queue(hold_s * drift, lock)]

    return Case(family="hot row", servers=servers, queues=queues)


def shared_cores(random: np.random.Generator) -> Case:
    """Return cores that two threads share: past half of the processors each is slower."""
    servers = int(random.choice([2, 4, 8]))
    slower, clock = random.uniform(0.3, 0.7), random.uniform(0.0, 0.3)

    def speed(jobs: FloatArray) -> FloatArray:
        used = np.minimum(jobs, servers)
        second = np.maximum(used - servers / 2.0, 0.0)
        speeds: FloatArray = (used - slower * second) / (1.0 + clock * (used - 1.0) / servers)
        return speeds

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        return [Queue(_DEMAND_S * drift, speed)]

    return Case(family="shared cores", servers=servers, queues=queues)


def coherency(random: np.random.Generator) -> Case:
    """Return Gunther's universal scalability law: contention and crosstalk between clients."""
    servers = int(random.choice([2, 4, 8]))
    sigma, kappa = random.uniform(0.0, 0.05), random.uniform(0.0001, 0.003)

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:
        active = 1.0 + busy * (clients - 1.0)
        factor = 1.0 + sigma * (servers - 1) + kappa * active
        return [Queue(_DEMAND_S * drift * factor, cores(servers))]

    return Case(family="coherency", servers=servers, queues=queues)


def warm_cache(random: np.random.Generator) -> Case:
    """Return a cache that every client fills with its own data; misses go to four disks."""
    servers = int(random.choice([1, 2, 4]))
    fits, miss_s = random.uniform(16.0, 200.0), _DEMAND_S * random.uniform(0.5, 3.0)

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        misses = clients / (clients + fits)
        work_s = _DEMAND_S * drift * (1.0 + misses)
        return [Queue(work_s, cores(servers)), Queue(max(misses, 0.01) * miss_s, cores(4))]

    return Case(family="warm cache", servers=servers, queues=queues)


KNOWN: tuple[Maker, ...] = (load_dependent, idle_exit, batching, group_commit, hot_row)
"""Laws that were observed on the systems behind the published errors."""
OTHER: tuple[Maker, ...] = (shared_cores, coherency, warm_cache)
"""Laws that were not."""
