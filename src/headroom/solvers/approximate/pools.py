"""Pools: tokens held while stations are used, solved from the inside out.

Everything that happens while a token is held forms a separate level (see
`headroom.solvers.approximate.levels`). Its throughput with 1, 2, ... jobs, up to the number of
tokens, makes the pool a station of the enclosing level. Closed classes around it form another
level, and arrivals from outside a
birth-death process. If the rest is product form, with one class and one pool, there is a single
approximation: jobs inside reach equilibrium between two changes of their number (Courtois 1977;
Lazowska et al. 1984, chapter 9). Several classes are averaged by their arrival frequency. Other
work at the same station counts as arrivals from outside. The rates of several closed classes, or of
closed classes with such work, are a fixed point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headroom.solvers.approximate.forks import Slowness, slowness, walk_time_s
from headroom.solvers.approximate.pool_levels import (
    FULLEST,
    State,
    kept_longer_s,
    refuse_unstable,
    solved_levels,
    sum_of,
)
from headroom.solvers.approximate.regions import (
    CLOSED,
    OPEN,
    Region,
    inner_first,
    places_of,
)
from headroom.solvers.approximate.unequal import at_speeds
from headroom.solvers.approximate.variability import Flows, faded, service_c2, wait_factors
from headroom.solvers.closed_network import Answer
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.network import SHARED, JobClass, Network
from headroom.solvers.open_network import open_waits
from headroom.solvers.solution import PoolSolution

METHOD = "flow-equivalent servers for pools"
UNEQUAL = "flow-equivalent servers for servers of different speed"
ROUNDS = 200
"""Rounds of the fixed point over the throughputs of closed classes."""
SETTLED = 1e-7
DAMPED_FROM = 3
"""Round from which the fixed point is damped."""


@dataclass(frozen=True, slots=True, eq=False)
class ByLevels:
    """An answer, the network with the speeds that its jobs found, pools, and their waits (s)."""

    answer: Answer
    network: Network
    pools: list[PoolSolution]
    waits: dict[str, float]


def solve_by_levels(given: Network) -> ByLevels:
    """Return the approximate solution of a network whose pools may run out, or servers differ.

    Raises
    ------
    SolverError
        Arrivals from outside ask a pool for more than it can give, pools are acquired in a circle
        of orders, or there are too many jobs.
    """
    order = inner_first(given)
    throughput = _start(given)
    for count in range(ROUNDS):
        network = at_speeds(given, throughput)
        state = solved_levels(network, order, throughput)
        waits, pools = _station_waits(network, state, throughput), _pool_waits(network, state)
        following = _following(network, state, throughput, waits, pools)
        change = np.abs(following - throughput) / throughput
        if not change[network.closed].max(initial=0.0) > SETTLED:
            break
        throughput = following if count < DAMPED_FROM else np.sqrt(following * throughput)
    refuse_unstable(network, state)
    _fill_up(network, state, throughput, waits, pools)
    rates = network.visits * throughput
    answer = Answer(
        method=METHOD if given.pools else UNEQUAL,
        throughput_per_s=throughput,
        wait_s=waits,
        jobs=rates * (network.service_s + waits),
    )
    found = [_pool(network, state, pool, pools[pool]) for pool in pools]
    return ByLevels(answer, network, found, pools)


def _start(network: Network) -> FloatArray:
    """Return rates at which no station is full: of closed classes, those without waiting."""
    found = network.rate_per_s.copy()
    alone = network.demand_s.sum(axis=0)
    for column in network.closed:
        one = network.classes[column]
        cycle = one.think_s + one.delay_s + float(alone[column])
        found[column] = one.population / cycle if cycle > 0 else 1.0
    closed = np.zeros_like(found)
    closed[network.closed] = found[network.closed]
    servers = np.array([station.servers for station in network.stations])
    left = servers - network.demand_s @ network.rate_per_s
    over = float((network.demand_s @ closed / (FULLEST * left)).max(initial=0.0))
    found[network.closed] /= max(over, 1.0)
    return found


def _station_waits(network: Network, state: State, throughput: FloatArray) -> FloatArray:
    """Return the mean wait of a visit, shape (stations, classes), over all regions."""
    shape = network.visits.shape
    total, asked = np.zeros(shape), np.zeros(shape)
    from_outside = _outside_waits(network, state, throughput)
    for key, region in state.regions.items():
        found = from_outside if key == OPEN else np.zeros(shape)
        if key in state.jobs:
            found = _region_waits(network, state, region, state.jobs[key])
        total += region.visits * np.where(region.visits > 0, found, 0.0)
        asked += region.visits
    return np.divide(total, asked, out=np.zeros(shape), where=asked > 0)


def _region_waits(network: Network, state: State, region: Region, jobs: FloatArray) -> FloatArray:
    """Return the mean wait of a visit of each class, from the mean jobs at each station."""
    busy = region.busy.sum(axis=1)
    waiting = np.maximum(jobs - busy, 0.0)
    region_waits = np.zeros_like(region.busy)
    for row in network.queues:
        if busy[row] > 0:
            region_waits[row] = _visit_waits(network, row, region.visits[row], float(waiting[row]))
            region_waits[row] += kept_longer_s(network, state, region, row)
    return region_waits


def _visit_waits(network: Network, row: int, visits: FloatArray, waiting: float) -> FloatArray:
    """Return the mean wait of each class at a station where so many jobs wait on average."""
    station, services = network.stations[row], network.service_s[row]
    busy = float(visits @ services)
    if station.discipline in SHARED:
        return np.asarray(services * (waiting / busy))
    load = busy / station.servers
    factor = faded((1.0 + service_c2(network, visits, row)) / 2.0, load, network.classes)
    return np.full(len(services), factor * waiting / float(visits.sum()))


def _outside_waits(network: Network, state: State, throughput: FloatArray) -> FloatArray:
    """Return the mean wait of visits that no closed level holds."""
    region = state.regions[OPEN]
    if not (region.visits > 0).any():
        return np.zeros_like(region.visits)
    flows = tuple(
        replace(one, population=0, rate_per_s=float(rate))
        for one, rate in zip(network.classes, throughput, strict=True)
    )
    wait_s = open_waits(replace(network, classes=flows)).wait_s
    return _beside_closed(network, state, wait_s)


def _beside_closed(network: Network, state: State, found: FloatArray) -> FloatArray:
    """Return waits of work from outside, put right where closed classes are in the way."""
    everything = sum_of(state.regions)
    for row in network.queues:
        closed = {key: state.regions[key].busy[row, network.closed].sum() for key in state.jobs}
        around = max(closed, key=lambda key: float(closed[key]), default=CLOSED)
        if not closed.get(around, 0.0) > 0:
            continue
        own = state.regions[around]
        busy = float((everything.busy - own.busy)[row].sum())
        visits = float((everything.visits - own.visits)[row].sum())
        if busy > 0:
            found[row] = max(float(state.foreign[around][row]) - busy, 0.0) / visits
    return found


def _pool_waits(network: Network, state: State) -> dict[str, float]:
    """Return the mean wait (s) for tokens of each pool."""
    pool_waits = {}
    factors = wait_factors(Flows(network, state.regions, state.rates))
    for pool, inside in state.inside.items():
        held = float(inside @ np.arange(len(inside)))
        wait = max(state.present[pool] - held, 0.0) / state.asked(pool)
        pool_waits[pool] = wait * factors[pool]
    return pool_waits


def _following(
    network: Network,
    state: State,
    throughput: FloatArray,
    waits: FloatArray,
    pools: Mapping[str, float],
) -> FloatArray:
    """Return the throughputs that follow from the waits: of open classes as they are.

    Waits that are too short by a few per cent may ask more of the busiest station or pool than it
    can do; closed classes are then as fast as it lets them.
    """
    found = throughput.copy()
    for column in network.closed:
        cycle = _cycle_s(network, waits, pools, column)
        found[column] = network.classes[column].population / cycle
    _, over = _busiest(network, state, found, network.closed)
    found[network.closed] /= max(over, 1.0)
    return found


def _cycle_s(network: Network, waits: FloatArray, pools: Mapping[str, float], column: int) -> float:
    one, stations = network.classes[column], station_slowness(network, waits, column)
    return one.think_s + walk_time_s(one.whole, stations, pools)


def _busiest(
    network: Network, state: State, throughput: FloatArray, columns: Sequence[int]
) -> tuple[int | str, float]:
    """Return the row or the pool of which closed classes ask most, and how much of what is left.

    Only what the classes of `columns` use is looked at.
    """
    closed, from_outside = network.closed, network.rate_per_s
    found: list[tuple[float, int | str]] = [(0.0, 0)]
    for row in network.queues:
        demands = network.demand_s[row]
        if (demands[columns] > 0).any():
            left = network.stations[row].servers - float(demands @ from_outside)
            found.append((float(demands[closed] @ throughput[closed]) / left, row))
    for pool, rates in state.rates.items():
        grants = np.array([_grants(class_, pool) for class_ in network.classes])
        if (grants[columns] > 0).any():
            left = max(float(rates[-1]) - float(grants @ from_outside), 1e-9 * float(rates[-1]))
            found.append((float(grants[closed] @ throughput[closed]) / left, pool))
    load, name = max(found, key=lambda one: one[0])
    return name, load


def _grants(one: JobClass, pool: str) -> float:
    return one.holds[pool].grants if pool in one.holds else 0.0


def _fill_up(
    network: Network,
    state: State,
    throughput: FloatArray,
    waits: FloatArray,
    pools: dict[str, float],
) -> None:
    """Add what is missing of each cycle to the waits at the station or pool that holds it up."""
    for column in network.closed:
        cycle = network.classes[column].population / throughput[column]
        missing = cycle - _cycle_s(network, waits, pools, column)
        name, load = _busiest(network, state, throughput, [column])
        if missing > SETTLED * cycle and load > FULLEST:
            if isinstance(name, int):
                waits[name, column] += missing / network.visits[name, column]
            else:
                pools[name] += missing * throughput[column] / state.asked(name)


def station_slowness(network: Network, waits: FloatArray, column: int) -> dict[str, Slowness]:
    """Return how each station slows a class down, from the mean wait (s) of its visits."""
    return {
        station.name: slowness(
            float(waits[row, column]),
            float(network.service_s[row, column]),
            is_shared=station.discipline in SHARED,
        )
        for row, station in enumerate(network.stations)
    }


def _pool(network: Network, state: State, pool: str, wait_s: float) -> PoolSolution:
    inside, asked = state.inside[pool], state.asked(pool)
    _, tokens = places_of(network, pool)
    held = float(inside @ np.arange(len(inside))) * tokens
    return PoolSolution(
        name=pool,
        utilization=held / network.pools[pool],
        queue_len=asked * wait_s,
        wait_s=wait_s,
        throughput_per_s=asked,
    )
