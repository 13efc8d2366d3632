"""The levels of a network with pools, and the distribution of its jobs at given rates.

Levels are built from the inside out; jobs are then distributed from the outside in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from headroom.solvers.approximate.levels import WORK_LIMIT, Factor, Level, several_servers
from headroom.solvers.approximate.regions import CLOSED, OPEN, Region, places_of, regions_of
from headroom.solvers.errors import NoSteadyStateError, SolverError
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.formulas import mmc_wait_s
from headroom.solvers.exact.product_form import reasons_against
from headroom.solvers.network import SHARED, Network
from headroom.solvers.open_network import open_waits
from headroom.solvers.walk import Path

FULLEST = 1.0 - 1e-6
"""Largest share of a station that work elsewhere is taken to keep, until the rates have settled."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A level with the rows of its stations, and the pools and rows of its factors."""

    level: Level
    singles: list[int]
    taken: list[float]
    """Share of each single server that work elsewhere keeps."""
    factors: list[int | str]


@dataclass(frozen=True, slots=True, eq=False)
class Parent:
    """What a region around a pool says about it."""

    grants: float
    own: float
    """Mean jobs of the region that are in the pool or before it."""
    others: float
    """Mean jobs of all others there."""
    inside: FloatArray
    """Shares of 0, 1, ... jobs inside, all counted."""


@dataclass(slots=True, eq=False)
class State:
    """What is known so far of levels, and of the jobs in them."""

    regions: dict[Path, Region]
    alone: FloatArray
    """Mean wait (s) of each visit if no pool held anybody back; empty next to closed classes."""
    rates: dict[str, FloatArray] = field(default_factory=dict)
    shapes: dict[Path, Shape] = field(default_factory=dict)
    jobs: dict[Path, FloatArray] = field(default_factory=dict)
    """Region -> mean jobs at each station, of those that the region holds."""
    foreign: dict[Path, FloatArray] = field(default_factory=dict)
    """Region -> mean jobs at each station, of all others, as the region sees them."""
    inside: dict[str, FloatArray] = field(default_factory=dict)
    """Pool -> shares of 0, 1, ... jobs that hold its tokens."""
    parents: dict[str, list[Parent]] = field(default_factory=dict)
    present: dict[str, float] = field(default_factory=dict)
    """Pool -> mean jobs that hold its tokens or wait for them."""

    def asked(self, pool: str) -> float:
        """Return how often a second tokens of a pool are requested."""
        return sum(region.grants.get(pool, 0.0) for region in self.regions.values())


def solved_levels(network: Network, order: list[str], throughput: FloatArray) -> State:
    """Return levels from the inside to the outside, then jobs from the outside to the inside."""
    alone = np.zeros((0, 0)) if network.closed else open_waits(network).wait_s
    state = State(regions_of(network, throughput), alone)
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
        refuse_unstable(network, state)
    for pool in reversed(order):
        if pool in state.rates:
            _resolve(state, pool)
            _spread(network, state, (pool,), state.inside[pool])
    return state


def refuse_unstable(network: Network, state: State) -> None:
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
    used = np.sum([(region.visits > 0).any(axis=1) for region in regions.values()], axis=0)
    is_one = len(network.classes) == 1 and len(network.pools) == 1
    return is_one and len(reasons_against(network)) == 1 and not (used > 1).any()


def _spread_closed(network: Network, state: State, throughput: FloatArray) -> None:
    """Find the jobs of closed classes outside all pools."""
    population = sum(class_.population for class_ in network.classes)
    passages = float(throughput[network.closed].sum())
    shape = _shape(network, state, CLOSED, most=population, passages=passages)
    state.shapes[CLOSED] = shape
    shares = np.zeros(population + 1)
    shares[-1] = 1.0
    _spread(network, state, CLOSED, shares)
    reached = throughput.copy()
    reached[network.closed] *= float(shape.level.rates[-1]) / passages
    state.regions = regions_of(network, reached)


def _resolve(state: State, pool: str) -> None:
    """Find how many jobs are in and before a pool, from all the regions around it."""
    asked, outside = state.asked(pool), state.regions[OPEN].grants.get(pool, 0.0)
    parents = state.parents.get(pool, [])
    if not parents:
        nobody = np.ones(1)
        factor = Factor(state.rates[pool], 1.0, asked)
        state.present[pool] = factor.foreign_jobs(nobody)
        state.inside[pool] = factor.inside(nobody)
        return
    total = sum(parent.grants for parent in parents)
    state.inside[pool] = np.average(
        [parent.inside for parent in parents], axis=0, weights=[parent.grants for parent in parents]
    )
    present = sum(parent.own for parent in parents)
    if outside > 0:
        present += sum(
            parent.others * outside / (asked - parent.grants) * (parent.grants / total)
            for parent in parents
        )
    state.present[pool] = present


def _spread(network: Network, state: State, key: Path, shares: FloatArray) -> None:
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
            parent = Parent(state.regions[key].grants[name], own, others, factor.inside(found))
            state.parents.setdefault(name, []).append(parent)
    state.jobs[key], state.foreign[key] = jobs, foreign


def _takes_time(level: Level) -> bool:
    return level.delay_s > 0 or len(level.single_s) > 0 or len(level.factors) > 0


def _shape(network: Network, state: State, key: Path, *, most: int, passages: float) -> Shape:
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
        delay += region.visits[row].sum() * kept_longer_s(network, state, region, row)
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
    return Shape(level, singles, kept, [*rows, *pools])


def kept_longer_s(network: Network, state: State, region: Region, row: int) -> float:
    """Return by how much (s) a visit waits longer than in proportion to its own service.

    Jobs of a level wait for each other and for all others in that proportion. Where others ask for
    longer services, first come first served is worse than that; known for arrivals from outside.
    """
    everything = sum_of(state.regions)
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


def sum_of(regions: Mapping[Path, Region]) -> Region:
    """Return the total demand of all regions."""
    parts = list(regions.values())
    busy = np.sum([part.busy for part in parts], axis=0)
    visits = np.sum([part.visits for part in parts], axis=0)
    return Region(visits, busy, np.sum([part.delay for part in parts], axis=0))
