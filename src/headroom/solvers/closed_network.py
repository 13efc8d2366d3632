"""Closed and mixed networks: choose a method, and map its arrays to stations and classes.

A single class is solved by convolution. Several classes are solved by mean value analysis or, with
several servers, by convolution over the lattice of populations. Networks that would take too long,
or are not product form, go to Linearizer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headroom.solvers.approximate.approximate import Centres, Loads, fixed_point, with_deviations
from headroom.solvers.approximate.forks import slowness, walk_time_s
from headroom.solvers.approximate.marie import marie
from headroom.solvers.bounds.bounds import Bounds, asymptotic_throughput
from headroom.solvers.errors import assert_within
from headroom.solvers.exact.closed import Closed, ClosedAnswer, FloatArray
from headroom.solvers.exact.convolution import convolution_work, convolve
from headroom.solvers.exact.mva import mean_value_analysis, mva_work
from headroom.solvers.exact.phases import PhaseType, mixed, phase_type, two_moments
from headroom.solvers.exact.queue_chain import most_phases
from headroom.solvers.network import PRIORITY, SHARED, Network
from headroom.solvers.reasons import Reason
from headroom.solvers.solution import ROUNDING

WORK_LIMIT = 2e8
"""Multiplications up to which an exact solution is looked for: about a second."""
LATTICE_LIMIT = 2_000_000
"""Populations of a lattice at most, for several classes: its memory."""
LINEARIZER_LIMIT = 400
"""Stations x classes squared up to which Linearizer is used; beyond it Bard-Schweitzer."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Answer:
    """Throughput of each class, and wait of one visit and jobs, shape (stations, classes)."""

    method: str
    throughput_per_s: FloatArray
    wait_s: FloatArray
    jobs: FloatArray


def closed_part(network: Network) -> Closed:
    """Return the closed classes at the stations where jobs can wait, the rest as think time."""
    columns, rows = network.closed, network.queues
    demands = network.demand_s
    delays = np.array([station.is_delay for station in network.stations], dtype=np.bool_)
    think = [
        network.classes[r].think_s + network.classes[r].delay_s + demands[delays, r].sum()
        for r in columns
    ]
    offered = demands @ network.rate_per_s
    return Closed(
        demand_s=demands[np.ix_(rows, columns)],
        servers=np.array([network.stations[k].servers for k in rows]),
        think_s=np.array(think, dtype=np.float64),
        population=np.array([network.classes[r].population for r in columns], dtype=np.int64),
        open_load=offered[rows],
    )


def too_costly(part: Closed) -> str:
    """Return why an exact solution is not looked for, empty if it is."""
    work = mva_work(part) if uses_mva(part) else convolution_work(part)
    if len(part.population) > 1 and part.lattice_size > LATTICE_LIMIT:
        return (
            f"an exact solution runs over {part.lattice_size:.3g} populations, more than "
            f"{LATTICE_LIMIT:.3g}"
        )
    if work > WORK_LIMIT:
        return (
            f"an exact solution takes about {work:.2g} multiplications, more than {WORK_LIMIT:.2g}"
        )
    return ""


def uses_mva(part: Closed) -> bool:
    """Return whether mean value analysis is the exact method for this network."""
    return len(part.population) > 1 and bool((part.servers == 1).all())


def solve_exactly(network: Network) -> Answer:
    """Return the exact answer of a product-form network."""
    part = closed_part(network)
    found = mean_value_analysis(part) if uses_mva(part) else convolve(part)
    _assert_bounds(part, found)
    method = "mean value analysis" if uses_mva(part) else "convolution"
    return _spread(network, part, found, method)


def _assert_bounds(part: Closed, found: ClosedAnswer) -> None:
    """Panic where a figure leaves the asymptotic bounds, or jobs are lost."""
    left = part.servers - part.open_load
    for r, throughput in enumerate(found.throughput_per_s):
        population, think = int(part.population[r]), float(part.think_s[r])
        _, high = asymptotic_throughput(
            part.demand_s[:, r], left, population=population, think_s=think
        )
        low = 0.0
        if len(part.population) == 1:
            slowest = part.demand_s[:, r] * part.servers / left
            low, _ = asymptotic_throughput(slowest, left, population=population, think_s=think)
        assert_within(float(throughput), low, high, what=f"throughput of class {r}")
        present = float(found.jobs[:, r].sum() + throughput * think)
        assert_within(present, population * (1 - 1e-6), population * (1 + 1e-6), what="jobs")


def _spread(network: Network, part: Closed, found: ClosedAnswer, method: str) -> Answer:
    """Return the answer for all stations and classes, open ones included."""
    throughput = network.rate_per_s.copy()
    throughput[network.closed] = found.throughput_per_s
    demands = network.demand_s
    jobs = demands * throughput
    for place, row in enumerate(network.queues):
        jobs[row, network.closed] = found.jobs[place]
        offered = part.open_load[place]
        if offered > 0:
            jobs[row, network.open] *= found.open_jobs[place] / offered
    return Answer(
        method=method,
        throughput_per_s=throughput,
        wait_s=station_waits(network, throughput, jobs),
        jobs=jobs,
    )


def station_waits(network: Network, throughput: FloatArray, jobs: FloatArray) -> FloatArray:
    """Return the mean wait of a visit by Little's law, shape (stations, classes)."""
    rates = network.visits * throughput
    response = np.divide(jobs, rates, out=np.zeros_like(jobs), where=rates > 0)
    waits = np.where(rates > 0, response - network.service_s, 0.0)
    return np.where(waits > ROUNDING * response, waits, 0.0)


LAWS = frozenset({"law", "uneven law", "wild law", "means", "wild means"})
"""Reasons that are about service times alone, which Marie's method knows."""


def solve_by_laws(network: Network, reasons: Sequence[Reason]) -> Answer | None:
    """Return Marie's answer; None unless one closed class and its service times are all there is.

    Beyond two moments it takes the laws themselves, where they are of phase type.
    """
    if len(network.classes) > 1 or network.open or any(one.kind not in LAWS for one in reasons):
        return None
    if network.classes[0].joins:
        return None
    part = closed_part(network)
    try:
        found = marie(part, [_law_at(network, row) for row in network.queues])
    except np.linalg.LinAlgError:  # rates too far apart for floating-point numbers
        return None
    if found is None:
        return None
    _assert_bounds(part, found)
    return _spread(network, part, found, "Marie's method")


def _law_at(network: Network, row: int) -> PhaseType | None:
    """Return the law of a station that is not of product form, None for one that is."""
    station, c2 = network.stations[row], float(network.service_c2[row, 0])
    if station.discipline in SHARED or not network.visits[row, 0] or abs(c2 - 1.0) < ROUNDING:
        return None
    uses = [use for use in network.classes[0].uses if use.station == station.name]
    laws = [None if use.service.law is None else phase_type(use.service.law) for use in uses]
    known = [law for law in laws if law is not None]
    mean = float(network.service_s[row, 0])
    if len(known) < len(laws):
        return two_moments(mean, c2, most=most_phases(int(station.servers)))
    return mixed(known, np.array([use.mass for use in uses])).with_mean(mean)


def solve_approximately(network: Network) -> Answer:
    """Return Linearizer's answer, with corrections for what is not product form."""
    centres, loads = _centres(network), _loads(network)
    size = centres.visits.shape[0] * centres.visits.shape[1] ** 2
    is_small = size <= LINEARIZER_LIMIT
    state = (with_deviations if is_small else fixed_point)(centres, loads)
    jobs = network.demand_s * state.throughput
    jobs[network.queues] = state.jobs
    name = "Linearizer" if is_small else "Bard-Schweitzer"
    return Answer(
        method=name + _corrections(network),
        throughput_per_s=state.throughput,
        wait_s=station_waits(network, state.throughput, jobs),
        jobs=jobs,
    )


def inside_bounds(network: Network, answer: Answer, limits: Sequence[Bounds]) -> Answer:
    """Return an estimate in which closed classes and stations do no more or less than they can."""
    throughput, closed = answer.throughput_per_s.copy(), network.closed
    for column in closed if limits else ():
        low, high = limits[column].throughput_per_s_low, limits[column].throughput_per_s_high
        throughput[column] = min(max(throughput[column], low), high)
    for row in network.queues:
        busy = network.demand_s[row] * throughput
        over = float(
            busy[closed].sum() / (network.stations[row].servers - busy[network.open].sum())
        )
        if over > 1:
            throughput[[column for column in closed if busy[column] > 0]] /= over
    if np.allclose(throughput, answer.throughput_per_s, rtol=ROUNDING, atol=0):
        return answer
    waits = station_waits(network, throughput, answer.jobs)
    return replace(answer, throughput_per_s=throughput, wait_s=waits)


def _corrections(network: Network) -> str:
    has_many = any(1 < network.stations[row].servers < math.inf for row in network.queues)
    return ", several servers by Erlang's C after Rolia and Sevcik" if has_many else ""


def _centres(network: Network) -> Centres:
    rows = network.queues
    stations = [network.stations[row] for row in rows]
    urgency = np.array([[class_.priority for class_ in network.classes]] * len(rows))
    knows = np.array([station.discipline in PRIORITY for station in stations], dtype=np.bool_)
    return Centres(
        visits=network.visits[rows],
        service_s=network.service_s[rows],
        service_c2=network.service_c2[rows],
        servers=np.array([station.servers for station in stations]),
        is_shared=np.array([station.discipline in SHARED for station in stations], dtype=np.bool_),
        urgency=np.where(knows[:, None], urgency.reshape(len(rows), -1), 0.0),
        is_preemptive=np.array(
            [station.discipline == "priority_preempt" for station in stations], dtype=np.bool_
        ),
    )


def _loads(network: Network) -> Loads:
    rows = {row: place for place, row in enumerate(network.queues)}

    def cycle(column: int, residence: FloatArray) -> float:
        stations = {}
        for row, station in enumerate(network.stations):
            service = float(network.service_s[row, column])
            visits = float(network.visits[row, column])
            per_visit = residence[rows[row]] / visits if row in rows and visits > 0 else service
            stations[station.name] = slowness(
                float(per_visit) - service, service, is_shared=station.discipline in SHARED
            )
        return walk_time_s(network.classes[column].whole, stations)

    return Loads(
        population=np.array([class_.population for class_ in network.classes], dtype=np.int64),
        rate_per_s=network.rate_per_s,
        think_s=np.array([class_.think_s for class_ in network.classes]),
        cycle=cycle,
    )


def saturated(network: Network) -> list[str]:
    """Return the stations for which open classes ask more than they can do, with their load."""
    offered = network.demand_s @ network.rate_per_s
    most = [one.servers * one.batch * one.availability for one in network.stations]
    uses = [use for class_ in network.classes for use in class_.uses]
    patient = {use.station for use in uses if use.patience is None}
    return [
        f"{station.name!r} ({offered[row] / most[row]:.3g} for each server)"
        for row, station in enumerate(network.stations)
        if not (station.rejects or station.is_delay)
        and station.name in patient
        and offered[row] >= most[row]
    ]
