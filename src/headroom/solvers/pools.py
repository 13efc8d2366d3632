"""Pools: what is held while stations are used, solved from the inside to the outside.

What happens while a token is held is a level of its own (`headroom.solvers.levels`). Its
throughput with 1, 2, ... jobs, up to the tokens, makes the pool a station of the level around it:
closed classes around it make another level, arrivals from outside a birth-death process. Where
the rest is product form, one class and one pool, that is exact but for one thing: that jobs inside
reach their balance between two changes of their number (Courtois 1977; Lazowska et al. 1984,
chapter 9). Several classes are averaged by how often they come; work elsewhere at the same
station counts as arrivals from outside. Rates of closed classes among several, or beside such
work, are a fixed point.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headroom.solvers.closed import FloatArray
from headroom.solvers.closed_network import Answer
from headroom.solvers.errors import NoSteadyStateError, SolverError
from headroom.solvers.forks import Slowness, slowness, walk_time_s
from headroom.solvers.formulas import mmc_wait_s
from headroom.solvers.levels import WORK_LIMIT, Factor, Level, several_servers
from headroom.solvers.network import SHARED, JobClass, Network
from headroom.solvers.open_network import open_waits
from headroom.solvers.product_form import reasons_against
from headroom.solvers.regions import (
    CLOSED,
    OPEN,
    Region,
    inner_first,
    places_of,
    regions_of,
)
from headroom.solvers.solution import PoolSolution
from headroom.solvers.unequal import at_speeds
from headroom.solvers.variability import Flows, faded, service_c2, wait_factors
from headroom.solvers.walk import Path

METHOD = "flow-equivalent servers for pools"
UNEQUAL = "flow-equivalent servers for servers of different speed"
ROUNDS = 200
"""Rounds of the fixed point over the throughputs of closed classes."""
SETTLED = 1e-7
DAMPED_FROM = 3
"""Round from which the fixed point is damped."""
FULLEST = 1.0 - 1e-6
"""Largest share of a station that work elsewhere is taken to keep, until the rates have settled."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """A level with the rows of its stations, and the pools and rows of its factors."""

    level: Level
    singles: list[int]
    taken: list[float]
    """Share of each single server that work elsewhere keeps."""
    factors: list[int | str]


@dataclass(frozen=True, slots=True, eq=False)
class _Parent:
    """What a region around a pool says of it."""

    grants: float
    own: float
    """Mean jobs of the region that are in the pool or before it."""
    others: float
    """Mean jobs of all others there."""
    inside: FloatArray
    """Shares of 0, 1, ... jobs inside, all counted."""


@dataclass(slots=True, eq=False)
class _State:
    """What is known so far of levels, and of the jobs in them."""

    regions: dict[Path, Region]
    alone: FloatArray
    """Mean wait (s) of each visit if no pool held anybody back; empty beside closed classes."""
    rates: dict[str, FloatArray] = field(default_factory=dict)
    shapes: dict[Path, _Shape] = field(default_factory=dict)
    jobs: dict[Path, FloatArray] = field(default_factory=dict)
    """Region -> mean jobs at each station, of those that the region holds."""
    foreign: dict[Path, FloatArray] = field(default_factory=dict)
    """Region -> mean jobs at each station, of all others, as the region sees them."""
    inside: dict[str, FloatArray] = field(default_factory=dict)
    """Pool -> shares of 0, 1, ... jobs that hold its tokens."""
    parents: dict[str, list[_Parent]] = field(default_factory=dict)
    present: dict[str, float] = field(default_factory=dict)
    """Pool -> mean jobs that hold its tokens or wait for them."""

    def asked(self, pool: str) -> float:
        """Return how often a second tokens of a pool are asked for."""
        return sum(region.grants.get(pool, 0.0) for region in self.regions.values())


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
        state = _solved(network, order, throughput)
        waits, pools = _station_waits(network, state, throughput), _pool_waits(network, state)
        following = _following(network, state, throughput, waits, pools)
        change = np.abs(following - throughput) / throughput
        if not change[network.closed].max(initial=0.0) > SETTLED:
            break
        throughput = following if count < DAMPED_FROM else np.sqrt(following * throughput)
    _refuse_unstable(network, state)
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


def _solved(network: Network, order: list[str], throughput: FloatArray) -> _State:
    """Return levels from the inside to the outside, then jobs from the outside to the inside."""
    alone = np.zeros((0, 0)) if network.closed else open_waits(network).wait_s
    state = _State(regions_of(network, throughput), alone)
    for pool in order:
        passages = state.asked(pool)
        if passages > 0:
            places, _ = places_of(network, pool)
            shape = _shape(network, state, (pool,), most=places, passages=passages)
            if _takes_time(shape.level):
                state.shapes[(pool,)] = shape
                state.rates[pool] = shape.level.rates
    if network.closed:
        _spread_closed(network, state, throughput)
    else:
        _refuse_unstable(network, state)
    for pool in reversed(order):
        if pool in state.rates:
            _resolve(state, pool)
            _spread(network, state, (pool,), state.inside[pool])
    return state


def _refuse_unstable(network: Network, state: _State) -> None:
    """Refuse where arrivals from outside ask for more than a pool with all its tokens out gives."""
    regions = regions_of(network, network.rate_per_s)
    for pool, rates in state.rates.items():
        asked = math.fsum(region.grants.get(pool, 0.0) for region in regions.values())
        if asked >= rates[-1] * FULLEST:
            is_sure = _is_sure(network, regions)
            word = "has no" if is_sure else "seems to have no"
            raise (NoSteadyStateError if is_sure else SolverError)(
                f"model {network.name!r} {word} steady state: pool {pool!r} lets "
                f"{rates[-1]:.4g} jobs/s through with all its tokens out, and {asked:.4g} come "
                "from outside",
                cure="add tokens where the stations inside have room, hold them for a shorter "
                "time, or lower the arrivals",
            )


def _is_sure(network: Network, regions: Mapping[Path, Region]) -> bool:
    """Return whether the rate of a pool with all its tokens out is exact.

    It is where a product form of one class is inside, at stations of its own: the last rate of
    the level decides on stability, however its jobs come and go.
    """
    used = np.sum([(one.visits > 0).any(axis=1) for one in regions.values()], axis=0)
    is_one = len(network.classes) == 1 and len(network.pools) == 1
    return is_one and len(reasons_against(network)) == 1 and not (used > 1).any()


def _spread_closed(network: Network, state: _State, throughput: FloatArray) -> None:
    """Find the jobs of closed classes outside all pools."""
    population = sum(one.population for one in network.classes)
    passages = float(throughput[network.closed].sum())
    shape = _shape(network, state, CLOSED, most=population, passages=passages)
    state.shapes[CLOSED] = shape
    shares = np.zeros(population + 1)
    shares[-1] = 1.0
    _spread(network, state, CLOSED, shares)
    reached = throughput.copy()
    reached[network.closed] *= float(shape.level.rates[-1]) / passages
    state.regions = regions_of(network, reached)


def _resolve(state: _State, pool: str) -> None:
    """Find how many jobs are in and before a pool, from all the regions around it."""
    asked, outside = state.asked(pool), state.regions[OPEN].grants.get(pool, 0.0)
    parents = state.parents.get(pool, [])
    if not parents:
        nobody = np.ones(1)
        factor = Factor(state.rates[pool], 1.0, asked)
        state.present[pool] = factor.foreign_jobs(nobody)
        state.inside[pool] = factor.inside(nobody)
        return
    total = sum(one.grants for one in parents)
    state.inside[pool] = np.average(
        [one.inside for one in parents], axis=0, weights=[one.grants for one in parents]
    )
    present = sum(one.own for one in parents)
    if outside > 0:
        present += sum(
            one.others * outside / (asked - one.grants) * (one.grants / total) for one in parents
        )
    state.present[pool] = present


def _spread(network: Network, state: _State, key: Path, shares: FloatArray) -> None:
    """Find where the jobs of a region are, given the shares of 0, 1, ... jobs in it."""
    shape = state.shapes[key]
    level = shape.level
    jobs, foreign = np.zeros(len(network.stations)), np.zeros(len(network.stations))
    jobs[shape.singles] = level.single_jobs(shares)
    taken = np.array(shape.taken)
    foreign[shape.singles] = taken / (1.0 - taken) * (1.0 + jobs[shape.singles])
    for place, name in enumerate(shape.factors):
        factor, found = level.factors[place], level.factor_shares(place, shares)
        own, others = float(found @ np.arange(len(found))), factor.foreign_jobs(found)
        if isinstance(name, int):
            jobs[name], foreign[name] = own, others
        else:
            parent = _Parent(state.regions[key].grants[name], own, others, factor.inside(found))
            state.parents.setdefault(name, []).append(parent)
    state.jobs[key], state.foreign[key] = jobs, foreign


def _takes_time(level: Level) -> bool:
    return level.delay_s > 0 or len(level.single_s) > 0 or len(level.factors) > 0


def _shape(network: Network, state: _State, key: Path, *, most: int, passages: float) -> _Shape:
    """Return the level of a region that is passed so often a second."""
    region = state.regions[key]
    total = sum(one.busy.sum(axis=1) for one in state.regions.values())
    own = region.busy.sum(axis=1)
    delay, singles, kept, demands, rows = float(region.delay.sum()), [], [], [], []
    factors: list[Factor] = []
    for row, station in enumerate(network.stations):
        taken = float(min(max(total[row] - own[row], 0.0), FULLEST * station.servers))
        if own[row] <= 0 or station.is_delay:
            delay += own[row]
            continue
        delay += region.visits[row].sum() * _kept_longer_s(network, state, region, row)
        if station.servers == 1:
            singles.append(row)
            kept.append(taken)
            demands.append(own[row] / passages / (1.0 - taken))
        else:
            servers = several_servers(station.servers, own[row] / passages, taken)
            if station.work_rates:
                servers = replace(servers, rates=np.array(station.work_rates))
            factors.append(servers)
            rows.append(row)
    pools = [pool for pool in region.grants if pool in state.rates]
    for pool in pools:
        others = state.asked(pool) - region.grants[pool]
        rates = state.rates[pool]
        factors.append(Factor(rates, region.grants[pool] / passages, max(others, 0.0)))
    level = Level(most, delay / passages, np.array(demands), factors)
    if level.work > WORK_LIMIT:
        raise SolverError(
            f"model {network.name!r} has too many jobs for its pools to be solved",
            cure="simulate it",
        )
    return _Shape(level, singles, kept, [*rows, *pools])


def _kept_longer_s(network: Network, state: _State, region: Region, row: int) -> float:
    """Return by how much (s) a visit waits longer than in proportion to its own service.

    Jobs of a level wait for each other and for all others in that proportion. Where others ask for
    longer services, first come first served is worse than that; known for arrivals from outside.
    """
    everything = _sum(state.regions)
    visits, busy = float(everything.visits[row].sum()), float(everything.busy[row].sum())
    own_visits, own_busy = float(region.visits[row].sum()), float(region.busy[row].sum())
    station = network.stations[row]
    is_alone = own_visits >= visits * FULLEST
    if not state.alone.size or is_alone or station.discipline in SHARED or station.work_rates:
        return 0.0
    wait = mmc_wait_s(int(station.servers), visits, busy / visits)
    in_proportion = wait * (own_busy / own_visits) / (busy / visits)
    found = float(region.visits[row] @ state.alone[row]) / own_visits
    return max(found - in_proportion, 0.0)


def _station_waits(network: Network, state: _State, throughput: FloatArray) -> FloatArray:
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


def _region_waits(network: Network, state: _State, region: Region, jobs: FloatArray) -> FloatArray:
    """Return the mean wait of a visit of each class, from the mean jobs at each station."""
    busy = region.busy.sum(axis=1)
    waiting = np.maximum(jobs - busy, 0.0)
    found = np.zeros_like(region.busy)
    for row in network.queues:
        if busy[row] > 0:
            found[row] = _visit_waits(network, row, region.visits[row], float(waiting[row]))
            found[row] += _kept_longer_s(network, state, region, row)
    return found


def _visit_waits(network: Network, row: int, visits: FloatArray, waiting: float) -> FloatArray:
    """Return the mean wait of each class at a station where so many jobs wait on average."""
    station, services = network.stations[row], network.service_s[row]
    busy = float(visits @ services)
    if station.discipline in SHARED:
        return np.asarray(services * (waiting / busy))
    load = busy / station.servers
    factor = faded((1.0 + service_c2(network, visits, row)) / 2.0, load, network.classes)
    return np.full(len(services), factor * waiting / float(visits.sum()))


def _outside_waits(network: Network, state: _State, throughput: FloatArray) -> FloatArray:
    """Return the mean wait of visits that no closed level holds."""
    region = state.regions[OPEN]
    if not (region.visits > 0).any():
        return np.zeros_like(region.visits)
    flows = tuple(
        replace(one, population=0, rate_per_s=float(rate))
        for one, rate in zip(network.classes, throughput, strict=True)
    )
    found = open_waits(replace(network, classes=flows)).wait_s
    return _beside_closed(network, state, found)


def _beside_closed(network: Network, state: _State, found: FloatArray) -> FloatArray:
    """Return waits of work from outside, put right where closed classes are in the way."""
    everything = _sum(state.regions)
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


def _sum(regions: Mapping[Path, Region]) -> Region:
    parts = list(regions.values())
    busy = np.sum([one.busy for one in parts], axis=0)
    visits = np.sum([one.visits for one in parts], axis=0)
    return Region(visits, busy, np.sum([one.delay for one in parts], axis=0))


def _pool_waits(network: Network, state: _State) -> dict[str, float]:
    """Return the mean wait (s) for tokens of each pool."""
    found = {}
    factors = wait_factors(Flows(network, state.regions, state.rates))
    for pool, inside in state.inside.items():
        held = float(inside @ np.arange(len(inside)))
        wait = max(state.present[pool] - held, 0.0) / state.asked(pool)
        found[pool] = wait * factors[pool]
    return found


def _following(
    network: Network,
    state: _State,
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
    network: Network, state: _State, throughput: FloatArray, columns: Sequence[int]
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
        grants = np.array([_grants(one, pool) for one in network.classes])
        if (grants[columns] > 0).any():
            left = max(float(rates[-1]) - float(grants @ from_outside), 1e-9 * float(rates[-1]))
            found.append((float(grants[closed] @ throughput[closed]) / left, pool))
    load, name = max(found, key=lambda one: one[0])
    return name, load


def _grants(one: JobClass, pool: str) -> float:
    return one.holds[pool].grants if pool in one.holds else 0.0


def _fill_up(
    network: Network,
    state: _State,
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


def _pool(network: Network, state: _State, pool: str, wait_s: float) -> PoolSolution:
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
