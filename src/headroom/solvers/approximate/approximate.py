"""Approximate mean value analysis: Bard-Schweitzer and Linearizer, with corrections.

Both replace the recursion over populations by a fixed point. They estimate what an arriving job
sees from the whole population. Bard-Schweitzer takes Q_s(N - e_r) as Q_s(N) less one job's share.
Linearizer also estimates how that share changes, from solutions at N - e_r.

The waiting time is built from what an arrival sees, so that one formula covers more than product
form. Each waiting job ahead adds S/c. With the probability that all servers are busy, one residual
service time S (1 + (c2 - 1) f / 2) / c is added: Reiser's (1979) S (1 + c2) / 2 for f = 1, which is
correct for open loads. At a busy station, a small number of jobs return in step with it and find
fresh services, so f = 1 - U^(1 + sqrt N) for N jobs in all. During one long service no more than N
- 1 other jobs arrive, so c2 - 1 counts up to (N - 1) / 2. Both are Headroom's own interpolations,
compared with simulation in docs/reference/solvers.md. The probability that all servers are busy is
Erlang's C at the load that the arrival sees (the form of Rolia and Sevcik 1995, whose power of the
utilization approximates it). Less urgent classes are overtaken as in Bryant et al. (1984).

Sources: Schweitzer (1979); Bard (1979); Chandy and Neuse (1982), CACM 25(2), 126-134; Reiser
(1979), Perf. Eval. 1, 7-18; Rolia and Sevcik (1995), IEEE Trans. Softw. Eng. 21(8), 689-700;
Bryant, Krzesinski, Lakshmi and Chandy (1984), ACM TOCS 2(4), 335-359; Varki (1999), SIGMETRICS
(fork and join in closed networks).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from headroom.solvers.exact.closed import Closed, ClosedAnswer, FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

ROUNDS = 20_000
"""Rounds of a fixed point at most; each costs stations x classes."""
TOLERANCE = 1e-10
"""Largest relative change of the jobs of a class in the last round."""
MOST_JOBS = 1e12
"""Jobs of a class at a station beyond which there are as good as infinitely many."""
LINEARIZER_STEPS = 3
"""Outer steps of Linearizer, as published."""
LEAST_LEFT = 1e-6
"""Smallest share of a station that urgent classes are taken to leave to the others."""
DAMPED_FROM = 50
"""Round from which a fixed point that swings is damped."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Centres:
    """What the approximate solvers know of the stations; rows are stations, columns classes.

    Parameters
    ----------
    visits, service_s, service_c2
        Shape (stations, classes): visits of a cycle, mean and c2 of the service of one visit.
    servers
        Shape (stations,).
    is_shared
        Shape (stations,): True where a job's wait depends on its own service time only (sharing,
        last come first served with preemption), False for queues of jobs that wait for others.
    urgency
        Shape (stations, classes): larger goes first; all equal where the station knows no
        priorities.
    is_preemptive
        Shape (stations,): True where urgent jobs take the server from others.
    """

    visits: FloatArray
    service_s: FloatArray
    service_c2: FloatArray
    servers: FloatArray
    is_shared: BoolArray
    urgency: FloatArray
    is_preemptive: BoolArray

    @property
    def demand_s(self) -> FloatArray:
        """Service time of a cycle at each station."""
        return self.visits * self.service_s


Cycle = Callable[[int, FloatArray], float]
"""Time of a cycle of a class, think time left out, from its residence at each station."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Loads:
    """Who asks: closed classes have a population, open ones (0 there) a rate.

    Parameters
    ----------
    population, rate_per_s, think_s
        Shape (classes,). `think_s` includes delays of the program.
    cycle
        Adds up the residence times of a class; the sum, if nothing runs at the same time.
    """

    population: IntArray
    rate_per_s: FloatArray
    think_s: FloatArray
    cycle: Cycle


@dataclass(slots=True, eq=False)
class _State:
    """Jobs and busy servers of each class at each station, and throughputs."""

    jobs: FloatArray
    busy: FloatArray
    throughput: FloatArray


def schweitzer(network: Closed) -> ClosedAnswer:
    """Return the Bard-Schweitzer approximation of a product-form network.

    Examples
    --------
    >>> from headroom.solvers.exact.closed import closed
    >>> answer = schweitzer(closed([0.05, 0.03, 0.04], 20, think_s=1))
    >>> round(float(answer.throughput_per_s[0]), 2)
    15.11
    """
    return _plain(network, fixed_point)


def linearizer(network: Closed) -> ClosedAnswer:
    """Return Linearizer's approximation of a product-form network.

    Examples
    --------
    >>> from headroom.solvers.exact.closed import closed
    >>> answer = linearizer(closed([0.05, 0.03, 0.04], 20, think_s=1))
    >>> round(float(answer.throughput_per_s[0]), 2)
    15.38
    """
    return _plain(network, with_deviations)


def _plain(network: Closed, method: Callable[..., "_State"]) -> ClosedAnswer:
    """Solve with exponential services, open classes as one more class of the same demands."""
    has_open = bool((network.open_load > 0).any())
    classes = len(network.population)
    demands = network.demand_s
    if has_open:
        demands = np.column_stack([demands, network.open_load])
    centres = Centres(
        visits=(demands > 0).astype(np.float64),
        service_s=demands,
        service_c2=np.ones_like(demands),
        servers=network.servers,
        is_shared=np.ones(len(demands), dtype=np.bool_),
        urgency=np.zeros_like(demands),
        is_preemptive=np.zeros(len(demands), dtype=np.bool_),
    )
    loads = Loads(
        population=np.append(network.population, [0] * has_open).astype(np.int64),
        rate_per_s=np.append(np.zeros(classes), [1.0] * has_open),
        think_s=np.append(network.think_s, [0.0] * has_open),
        cycle=lambda _, residence: float(residence.sum()),
    )
    state = method(centres, loads)
    return ClosedAnswer(
        throughput_per_s=state.throughput[:classes],
        jobs=state.jobs[:, :classes],
        open_jobs=state.jobs[:, classes:].sum(axis=1),
    )


@dataclass(slots=True, eq=False)
class _Deviations:
    """How the share of class s at station k changes when a job of class r leaves: [k, s, r]."""

    jobs: FloatArray
    busy: FloatArray


def fixed_point(centres: Centres, loads: Loads) -> _State:
    """Return the Bard-Schweitzer fixed point."""
    shape = (*centres.visits.shape, centres.visits.shape[1])
    start = _Deviations(np.zeros(shape), np.zeros(shape))
    return _feasible(centres, loads, _core(centres, loads, loads.population, start))


def with_deviations(centres: Centres, loads: Loads) -> _State:
    """Return Linearizer's solution: Bard-Schweitzer, corrected by what one job less changes."""
    shape = (*centres.visits.shape, centres.visits.shape[1])
    deviations = _Deviations(np.zeros(shape), np.zeros(shape))
    closed = [r for r, jobs in enumerate(loads.population) if jobs > 0]
    state = _core(centres, loads, loads.population, deviations)
    for _ in range(LINEARIZER_STEPS):
        found = _Deviations(np.zeros(shape), np.zeros(shape))
        for r in closed:
            fewer = loads.population.copy()
            fewer[r] -= 1
            reduced = _core(centres, loads, fewer, deviations)
            found.jobs[:, :, r] = _share(reduced.jobs, fewer) - _share(state.jobs, loads.population)
            found.busy[:, :, r] = _share(reduced.busy, fewer) - _share(state.busy, loads.population)
        _forget_missing(found, loads.population)
        deviations = found
        state = _core(centres, loads, loads.population, deviations, start=state)
    return _feasible(centres, loads, state)


def _feasible(centres: Centres, loads: Loads, state: _State) -> _State:
    """Return the state slowed down to what the busiest station can do.

    A fixed point may overdo a saturated station by a fraction of a per cent. Who then thinks less
    often waits there.
    """
    is_open = loads.population == 0
    demands = centres.demand_s
    asked = demands[:, ~is_open] @ state.throughput[~is_open]
    left = centres.servers - demands[:, is_open] @ state.throughput[is_open]
    over = np.divide(asked, left, out=np.zeros_like(asked), where=left > 0)
    if not over.max(initial=0.0) > 1:
        return state
    slowed = np.where(is_open, state.throughput, state.throughput / over.max())
    jobs = state.jobs.copy()
    full = int(over.argmax())
    jobs[full] += (state.throughput - slowed) * loads.think_s * (demands[full] > 0)
    jobs[jobs >= MOST_JOBS] = np.inf
    return _State(jobs, demands * slowed, slowed)


def _forget_missing(found: _Deviations, population: IntArray) -> None:
    """Drop the deviation of a class of one job from itself: nobody is left to see."""
    for r, jobs in enumerate(population):
        if jobs == 1:
            found.jobs[:, r, r] = 0.0
            found.busy[:, r, r] = 0.0


def _share(values: FloatArray, population: IntArray) -> FloatArray:
    """Return the part of `values` that one job has; an open class counts as one job."""
    return np.asarray(values / np.maximum(population, 1))


def _core(
    centres: Centres,
    loads: Loads,
    population: IntArray,
    deviations: _Deviations,
    *,
    start: _State | None = None,
) -> _State:
    """Iterate jobs -> what arrivals see -> residence -> throughput -> jobs until it rests."""
    state = start or _start(centres, loads, population)
    most = float(population.sum()) - 1 if (loads.population > 0).all() else np.inf
    jobs, busy, throughput = state.jobs.copy(), state.busy.copy(), state.throughput
    for round_number in range(ROUNDS):
        seen = _seen(jobs, loads, population, deviations.jobs)
        seen_busy = np.minimum(_seen(busy, loads, population, deviations.busy), seen)
        used = np.minimum(busy.sum(axis=1) / centres.servers, 1.0)
        waits = _waits(centres, seen, seen_busy, used=used, most=most)
        residence = centres.visits * (centres.service_s + waits)
        throughput = _throughput(loads, population, residence)
        # Work that no job waits for may pile up without end.
        new_jobs = np.minimum(throughput * residence, MOST_JOBS)
        new_busy = throughput * centres.demand_s
        change = np.abs(new_jobs - jobs).max(initial=0.0) / max(float(new_jobs.sum()), 1e-300)
        weight = 0.5 if round_number > DAMPED_FROM else 1.0
        jobs = jobs + weight * (new_jobs - jobs)
        busy = busy + weight * (new_busy - busy)
        if change < TOLERANCE:
            break
    return _State(jobs, busy, throughput)


def _start(centres: Centres, loads: Loads, population: IntArray) -> _State:
    visited = centres.demand_s > 0
    places = np.maximum(visited.sum(axis=0), 1)
    jobs = np.where(visited, population / places, 0.0)
    open_jobs = loads.rate_per_s * centres.demand_s
    return _State(jobs + open_jobs, open_jobs.copy(), loads.rate_per_s.copy())


def _throughput(loads: Loads, population: IntArray, residence: FloatArray) -> FloatArray:
    throughput = loads.rate_per_s.copy()
    for r, jobs in enumerate(population):
        if jobs > 0:
            cycle = loads.think_s[r] + loads.cycle(r, residence[:, r])
            throughput[r] = jobs / cycle if cycle > 0 else 0.0
    return throughput


def _seen(
    values: FloatArray, loads: Loads, population: IntArray, deviation: FloatArray
) -> FloatArray:
    """Return [k, s, r]: the jobs of class s that an arrival of class r finds at station k."""
    is_open = loads.population == 0
    left = np.where(is_open[:, None], 1.0, population[:, None] - np.eye(len(population)))
    shares = _share(values, population)[:, :, None] + deviation
    return np.asarray(np.maximum(np.maximum(left, 0.0) * shares, 0.0))


def _waits(
    centres: Centres,
    seen: FloatArray,
    seen_busy: FloatArray,
    *,
    used: FloatArray,
    most: float,
) -> FloatArray:
    """Return [k, r]: the mean wait of one visit, from what the arrival sees.

    `used` is the utilization of each station, `most` the jobs that an arrival can find at most.
    """
    mine, theirs = centres.urgency[:, None, :], centres.urgency[:, :, None]
    servers = centres.servers[:, None]
    queued = np.where(theirs >= mine, seen - seen_busy, 0.0)
    counted = ~centres.is_preemptive[:, None, None] | (theirs >= mine)
    in_service = np.where(counted, seen_busy, 0.0)
    busy = in_service.sum(axis=1)
    all_busy = _all_busy(centres.servers, busy, most)
    excess = np.minimum(centres.service_c2 - 1, most / 2) * (
        1 - used[:, None] ** (1 + np.sqrt(most + 1))
    )
    residual_s = centres.service_s * (1 + excess / 2)
    residual = np.einsum("ksr,ks->kr", in_service, residual_s) / np.maximum(busy, 1e-300)
    ahead = np.einsum("ksr,ks->kr", queued, centres.service_s) + residual * all_busy
    urgent = np.where(theirs > mine, seen_busy, 0.0).sum(axis=1) / servers
    left = np.maximum(1 - urgent, LEAST_LEFT)
    slowed = np.where(centres.is_preemptive[:, None], centres.service_s * (1 / left - 1), 0.0)
    fair = ahead / servers / left + slowed
    shared = centres.service_s * ((seen - seen_busy).sum(axis=1) + all_busy) / servers
    return np.asarray(np.where(centres.is_shared[:, None], shared, fair))


def _all_busy(servers: FloatArray, busy: FloatArray, most: float) -> FloatArray:
    """Return the probability that all servers are busy, from the mean number that is.

    Erlang's C; the load itself for one server. Whatever the law, c - 1 servers at most are busy
    where not all are, and `most` jobs keep no more servers busy than they are.
    """
    count = servers[:, None]
    load = np.clip(busy, 1e-300, count)
    log_full = count * np.log(load) - load - scipy.special.gammaln(count + 1)
    blocked = np.exp(log_full) / np.maximum(scipy.special.pdtr(count, load), 1e-300)
    waiting = blocked / np.maximum(1 - load / count * (1 - blocked), 1e-300)
    waiting = np.clip(np.maximum(waiting, load - (count - 1)), 0.0, 1.0)
    return np.asarray(np.where(count > 1, np.where(count > most, 0.0, waiting), load))
