"""One queue as a Markov chain, with breakdowns, a limited room or impatience.

Arrivals and times are of phase type. The phases of a level are those of the arrivals, of what
breaks, and of the jobs in service, of which only the number in each phase counts.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.solvers.exact.chain import Level, Levels, solved
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.phases import (
    MOST_STAGES,
    Arriving,
    PhaseType,
    kronecker_sum,
    stationary,
)

MOST_STATES = 240
"""Phases of a level at most: a tenth of a second."""
MOST_LEVELS = 20_000
"""Levels of an impatient queue at most."""
GONE = 1e-13
"""Share of the top level from which the levels above do not matter."""
STABLE = 1 - 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Breaking:
    """Rates between the states of what breaks, and how many servers are up in each."""

    rates: FloatArray
    up: FloatArray

    @property
    def is_total(self) -> bool:
        """True if all servers break together."""
        return len(set(self.up.tolist()) - {0.0}) == 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Queue:
    """A queue to be solved.

    Parameters
    ----------
    arriving, service
        Arrivals, and the time of one service.
    servers
        Number of servers.
    places
        Jobs that fit in; infinite if all do. Who finds no place is lost.
    breaking
        What breaks, None if nothing does.
    patience_s
        Mean of the exponential time after which a waiting job leaves, infinite for none.
    """

    arriving: Arriving
    service: PhaseType
    servers: int
    places: float = math.inf
    breaking: Breaking | None = None
    patience_s: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The mean jobs, the share of arrivals that are never served, the response of the others."""

    jobs: float
    lost: float
    response_s: float


def alternating(up: PhaseType, down: PhaseType, servers: int) -> Breaking:
    """Return servers that break together."""
    rates = np.block(
        [
            [up.inside, np.outer(up.ends, down.start)],
            [np.outer(down.ends, up.start), down.inside],
        ]
    )
    count = np.repeat([float(servers), 0.0], [len(up.start), len(down.start)])
    return Breaking(rates=rates, up=count)


def independent(up: PhaseType, down: PhaseType, servers: int) -> Breaking:
    """Return servers that break each by itself: how many are in each phase of either time."""
    one = alternating(up, down, 1)
    states = _spread(servers, len(one.up))
    place = {state: number for number, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state, number in place.items():
        for here, there in zip(*np.nonzero(one.rates), strict=True):
            if here != there and state[here]:
                rates[number, place[_moved(state, here, there)]] += (
                    state[here] * one.rates[here, there]
                )
    working = np.array([float(np.array(state) @ one.up) for state in states])
    return Breaking(rates=rates - np.diag(rates.sum(axis=1)), up=working)


def most_phases(servers: int) -> int:
    """Return how many stages of a service can be told apart at so many busy servers.

    Examples
    --------
    >>> [most_phases(servers) for servers in (1, 3, 100)]
    [16, 8, 2]
    """
    counts = range(MOST_STAGES, 2, -1)
    fitting = (k for k in counts if math.comb(servers + k - 1, k - 1) <= MOST_STATES / 2)
    return next(fitting, 2)


def solve_queue(queue: Queue) -> Found | None:
    """Return the steady state of a queue; None if it has too many states, or none at all.

    Examples
    --------
    >>> from headroom.solvers.exact.phases import renewal, two_moments
    >>> one = Queue(arriving=renewal(two_moments(2.0, 1.0)), service=two_moments(1.0, 1.0),
    ...     servers=1)
    >>> round(solve_queue(one).response_s, 12)
    2.0
    """
    breaking, phases = queue.breaking, len(queue.service.start)
    is_each = breaking is not None and not breaking.is_total
    width = len(queue.arriving.silent) * (1 if breaking is None else len(breaking.up))
    states = width * math.comb(queue.servers + phases - 1, phases - 1)
    if states > MOST_STATES or (is_each and phases > 1):
        return None
    make = _Levels(queue)
    if math.isfinite(queue.patience_s):
        return _impatient(queue, make)
    if math.isfinite(queue.places):
        return _full(queue, make)
    levels = [make.level(jobs) for jobs in range(queue.servers + 2)]
    up, down = levels[-1].up, levels[-1].down
    share = stationary(up + levels[-1].within + down)
    if not float((share @ up).sum()) < STABLE * float((share @ down).sum()):
        return None
    return _result(queue, solved(levels, is_endless=True))


def _full(queue: Queue, make: "_Levels") -> Found | None:
    if queue.places > MOST_LEVELS:
        return None
    return _result(queue, solved(make.finite(int(queue.places)), is_endless=False))


def _impatient(queue: Queue, make: "_Levels") -> Found | None:
    if math.isfinite(queue.places):
        return _full(queue, make)
    count = 2 * queue.servers + 64
    while count <= MOST_LEVELS:
        found = solved(make.finite(count), is_endless=False)
        if float(found.shares[-1].sum()) < GONE:
            return _result(queue, found)
        count *= 2
    return None


def _result(queue: Queue, found: Levels) -> Found:
    arriving = queue.arriving
    rate = arriving.rate
    per_phase = arriving.arriving.sum(axis=1)
    lost = 0.0
    if found.ratio is None:
        top = found.shares[-1].reshape(len(per_phase), -1).sum(axis=1)
        lost = float(top @ per_phase) / rate
    jobs, served = found.mean, 1.0 - lost
    if math.isinf(queue.patience_s):
        return Found(jobs=jobs, lost=lost, response_s=jobs / (rate * served))
    waiting = sum(
        float(share.sum()) * max(level - queue.servers, 0)
        for level, share in enumerate(found.shares)
    )
    left = waiting / queue.patience_s / rate
    response = queue.service.mean + _wait_of_served(queue, found) / (served - left)
    return Found(jobs=jobs, lost=lost + left, response_s=response)


def _wait_of_served(queue: Queue, found: Levels) -> float:
    """Return the mean, over all arrivals, of the wait of those that are served.

    Whoever finds n >= c jobs is served after n - c + 1 of them left, by a service or impatience:
    stages of rate c mu + k theta. Its own patience lasts as long with E[exp(-theta V)], and the
    wait is what this loses with theta (exponential service alone; Erlang A: Palm 1957).
    """
    rate, leaving = queue.servers / queue.service.mean, 1.0 / queue.patience_s
    per_phase, total, stages = queue.arriving.arriving.sum(axis=1), 0.0, 0.0
    for level, share in enumerate(found.shares):
        ahead = level - queue.servers + 1
        if ahead < 1:
            continue
        stages += 1.0 / (rate + ahead * leaving)
        seen = float(share.reshape(len(per_phase), -1).sum(axis=1) @ per_phase)
        has_room = level < queue.places
        total += seen * rate / (rate + ahead * leaving) * stages if has_room else 0.0
    return total / queue.arriving.rate


class _Levels:
    """Makes the levels of a queue."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        breaking = queue.breaking
        size = 1 if breaking is None else len(breaking.up)
        self.arriving: FloatArray = np.asarray(np.kron(queue.arriving.arriving, np.eye(size)))
        still = np.zeros((1, 1)) if breaking is None else breaking.rates
        self.silent = kronecker_sum(queue.arriving.silent, still)
        up = np.array([float(queue.servers)]) if breaking is None else breaking.up
        self.up = np.tile(up, len(queue.arriving.silent))
        self.is_each = breaking is not None and not breaking.is_total
        self.services = (
            [Services(queue.service, jobs) for jobs in range(queue.servers + 1)]
            if not self.is_each
            else []
        )

    def finite(self, count: int) -> list[Level]:
        """Return the levels of a queue that is full with `count` jobs."""
        levels = [self.level(jobs) for jobs in range(count)]
        top = self.level(count)
        size = len(top.within) // len(self.arriving)
        lost = np.kron(self.arriving, np.eye(size))
        return [*levels, Level(top.up, top.within + lost, top.down)]

    def level(self, jobs: int) -> Level:
        """Return the rates out of the level with so many jobs."""
        waiting = max(jobs - self.queue.servers, 0)
        leaving = waiting / self.queue.patience_s
        if self.is_each:
            rates = np.minimum(self.up, jobs) / self.queue.service.mean + leaving
            ends = np.asarray(np.diag(rates), dtype=np.float64)
            return Level(self.arriving, self.silent - ends, ends)
        busy, speed = self.services[min(jobs, self.queue.servers)], np.diag(1.0 * (self.up > 0))
        size = len(busy.states)
        inner = np.kron(self.silent, np.eye(size)) + np.kron(speed, busy.within)
        inner -= leaving * np.eye(len(inner))
        begin = busy.starts() if jobs < self.queue.servers else np.eye(size)
        up, down = np.asarray(np.kron(self.arriving, begin), dtype=np.float64), busy.ends
        if waiting:
            down = down @ self.services[self.queue.servers - 1].starts()
        whole = np.kron(speed, down)
        if waiting:
            whole = whole + leaving * np.eye(len(inner))
        return Level(up, inner, np.asarray(whole, dtype=np.float64))


class Services:
    """The jobs in service: how many are in each phase."""

    def __init__(self, law: PhaseType, jobs: int) -> None:
        self.law, self.jobs = law, jobs
        self.states = _spread(jobs, len(law.start))
        place = {state: number for number, state in enumerate(self.states)}
        fewer = {state: number for number, state in enumerate(_spread(jobs - 1, len(law.start)))}
        self.within = np.zeros((len(place), len(place)))
        self.ends = np.zeros((len(place), max(len(fewer), 1)))
        for state, number in place.items():
            for phase, count in enumerate(state):
                if count:
                    self._leave(number, state, phase, place, fewer)

    def _leave(
        self, number: int, state: tuple[int, ...], phase: int, place: "_Place", fewer: "_Place"
    ) -> None:
        count = state[phase]
        self.within[number, number] += count * self.law.inside[phase, phase]
        for other, rate in enumerate(self.law.inside[phase]):
            if other != phase and rate:
                self.within[number, place[_moved(state, phase, other)]] += count * rate
        self.ends[number, fewer[_moved(state, phase, None)]] += count * self.law.ends[phase]

    def starts(self) -> FloatArray:
        """Return the probabilities of the states once another job begins its service."""
        more = {
            state: number
            for number, state in enumerate(_spread(self.jobs + 1, len(self.law.start)))
        }
        found = np.zeros((len(self.states), len(more)))
        for number, state in enumerate(self.states):
            for phase, share in enumerate(self.law.start):
                found[number, more[_moved(state, None, phase)]] += share
        return found


_Place = dict[tuple[int, ...], int]


def _moved(state: Sequence[int], gone: int | None, come: int | None) -> tuple[int, ...]:
    return tuple(count - (place == gone) + (place == come) for place, count in enumerate(state))


def _spread(jobs: int, phases: int) -> list[tuple[int, ...]]:
    """Return the ways to have so many jobs in so many phases."""
    if jobs < 0:
        return []
    found = []
    for bars in itertools.combinations(range(jobs + phases - 1), phases - 1):
        edges = (-1, *bars, jobs + phases - 1)
        found.append(tuple(b - a - 1 for a, b in itertools.pairwise(edges)))
    return found
