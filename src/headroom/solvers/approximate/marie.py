"""Closed networks of one class whose service times are not exponential, by Marie's method.

Each such station is solved by itself, as a queue to which jobs come at the rate at which the rest
of the network lets them through; what it does with 1, 2, ... jobs becomes a station of product form
(Marie 1979, IEEE Trans. Softw. Eng. 5(5), 530-538). Exact if only one station is no product form
and its service is of phase type.
"""

import math
from collections.abc import Sequence

import numpy as np

from headroom.solvers.exact.chain import Level, solved
from headroom.solvers.exact.closed import Closed, ClosedAnswer, FloatArray
from headroom.solvers.exact.phases import PhaseType
from headroom.solvers.exact.queue_chain import MOST_STATES, Services

MOST_JOBS = 300
ROUNDS = 60
SETTLED = 1e-6


def marie(part: Closed, laws: Sequence[PhaseType | None]) -> ClosedAnswer | None:
    """Return the answer of a closed network of one class, None if it is too large.

    Parameters
    ----------
    part
        The network.
    laws
        For each station the law of its demand, None where its own mean is all that counts.
    """
    jobs = int(part.population[0])
    sizes = [
        math.comb(int(min(servers, jobs)) + len(law.start) - 1, len(law.start) - 1)
        for servers, law in zip(part.servers, laws, strict=True)
        if law is not None
    ]
    if jobs > MOST_JOBS or max(sizes, default=1) > MOST_STATES / 2:
        return None
    demand = part.demand_s[:, 0]
    # In units of a time between two passages none of the products below overflows.
    slowest = float(np.max(demand / part.servers, initial=0.0))
    scale = max(slowest, float(part.think_s[0] + demand.sum()) / jobs)
    count = np.arange(1.0, jobs + 1)
    rates = [
        np.minimum(count, servers) * scale / own if own > 0 else np.full(jobs, np.inf)
        for own, servers in zip(demand, part.servers, strict=True)
    ]
    think = count * scale / part.think_s[0] if part.think_s[0] > 0 else np.full(jobs, np.inf)
    alone = [
        None if law is None or own <= 0 else Alone(law.with_mean(own / scale), int(servers), jobs)
        for law, own, servers in zip(laws, demand, part.servers, strict=True)
    ]
    for _ in range(ROUNDS):
        following = []
        for k, (one, old) in enumerate(zip(alone, rates, strict=True)):
            others = [think, *rates[:k], *rates[k + 1 :]]
            # Where nothing else takes time all jobs are always here, and the mean alone counts.
            is_alone = not any(np.isfinite(other).all() for other in others)
            following.append(old if one is None or is_alone else one.rates(_passing(others, jobs)))
        change = max(float(np.abs(new / old - 1.0).max()) for new, old in
                     zip(following, rates, strict=True) if np.isfinite(old).all())  # fmt: skip
        rates = following
        if change < SETTLED:
            break
    passing = _passing([think, *rates], jobs)[0]
    inside = [
        _mean_jobs(own, [think, *rates[:k], *rates[k + 1 :]], jobs) for k, own in enumerate(rates)
    ]
    return ClosedAnswer(
        throughput_per_s=np.array([passing / scale]),
        jobs=np.array(inside)[:, None],
        open_jobs=np.zeros(len(demand)),
    )


class Alone:
    """A station of any law by itself, with arrivals that depend on the jobs there."""

    def __init__(self, law: PhaseType, servers: int, jobs: int) -> None:
        self.jobs = jobs
        self.services = [Services(law, busy) for busy in range(min(servers, jobs) + 1)]

    def rates(self, arriving: FloatArray) -> FloatArray:
        """Return its completions per second with 1, 2, ... jobs.

        `arriving` has the arrivals per second with all jobs elsewhere, with one less, ...
        """
        most, last = len(self.services) - 1, self.services[-1]
        again = last.ends @ self.services[-2].starts()
        levels = []
        for jobs in range(self.jobs + 1):
            busy = self.services[min(jobs, most)]
            rate = float(arriving[jobs]) if jobs < self.jobs else 0.0
            size = len(busy.states)
            up = rate * (busy.starts() if jobs < most else np.eye(size))
            levels.append(
                Level(up, busy.within - rate * np.eye(size), again if jobs > most else busy.ends)
            )
        shares = np.array([float(one.sum()) for one in solved(levels, is_endless=False).shares])
        found: FloatArray = arriving[: self.jobs] * shares[:-1] / np.maximum(shares[1:], 1e-300)
        return found


def _weights(rates: Sequence[FloatArray], jobs: int) -> FloatArray:
    """Return the normalising constants of 0, 1, ... jobs at stations with these rates."""
    found = np.zeros(jobs + 1)
    found[0] = 1.0
    for own in rates:
        if np.isfinite(own).all():
            found = np.convolve(found, np.concatenate([[1.0], np.cumprod(1.0 / own)]))[: jobs + 1]
    return found


def _passing(rates: Sequence[FloatArray], jobs: int) -> FloatArray:
    """Return the throughput with all jobs, with one less, ..., with one."""
    constants = _weights(rates, jobs)
    found: FloatArray = (constants[:-1] / constants[1:])[::-1]
    return found


def _mean_jobs(own: FloatArray, others: Sequence[FloatArray], jobs: int) -> float:
    if not np.isfinite(own).all():
        return 0.0
    weights = np.concatenate([[1.0], np.cumprod(1.0 / own)]) * _weights(others, jobs)[::-1]
    return float(np.arange(jobs + 1) @ weights / weights.sum())
