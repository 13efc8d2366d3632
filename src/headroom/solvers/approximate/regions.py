"""Regions of a network by the tokens held: the demands of jobs under each pool, and their origin.

A region is the work done while the tokens of one pool are held and those of no pool that was
acquired after it. Two regions have no pool: the work of closed classes without any token, and the
work from outside without any token, that is, arrivals and work that no job waits for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import numpy as np

from headroom.solvers.errors import SolverError
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.network import JobClass, Network
from headroom.solvers.walk import BESIDE, Part, Path

CLOSED: Path = ()
OPEN: Path = BESIDE


@dataclass(slots=True, eq=False)
class Region:
    """The demands in a region; rows are stations, columns classes, all per second.

    Parameters
    ----------
    visits, busy
        Shape (stations, classes): visits, and mean busy servers.
    delay
        Shape (classes,): mean jobs that are at no station.
    grants
        Pool -> tokens asked for, counted once however many at a time.
    """

    visits: FloatArray
    busy: FloatArray
    delay: FloatArray
    grants: dict[str, float] = field(default_factory=dict)


def regions_of(network: Network, throughput_per_s: FloatArray) -> dict[Path, Region]:
    """Return the regions of a network whose classes complete at these rates."""
    shape = (len(network.stations), len(network.classes))
    rows = {station.name: row for row, station in enumerate(network.stations)}
    regions: dict[Path, Region] = {}
    for key in (CLOSED, OPEN, *((pool,) for pool in network.pools)):
        regions[key] = Region(np.zeros(shape), np.zeros(shape), np.zeros(shape[1]))
    for column, one in enumerate(network.classes):
        rate = float(throughput_per_s[column])
        for key, part in _parts(network, one):
            region = regions[key]
            for name, visits in part.visits.items():
                region.visits[rows[name], column] += rate * visits
                region.busy[rows[name], column] += rate * part.work[name]
            region.delay[column] += rate * part.delay
            for pool, grants in part.grants.items():
                if pool in network.pools:
                    region.grants[pool] = region.grants.get(pool, 0.0) + rate * grants
        regions[CLOSED].delay[column] += rate * one.think_s
    return regions


def _parts(network: Network, one: JobClass) -> Iterator[tuple[Path, Part]]:
    for path, part in one.parts.items():
        binding = [pool for pool in path if pool in network.pools]
        if binding:
            yield (binding[-1],), part
        elif one.is_open or path[:1] == BESIDE:
            yield OPEN, part
        else:
            yield CLOSED, part


def inner_first(network: Network) -> list[str]:
    """Return the pools, those that are acquired under another before it.

    Raises
    ------
    SolverError
        Pools are acquired in a circle of orders.
    """
    regions = regions_of(network, np.ones(len(network.classes)))
    graph = {pool: sorted(regions[(pool,)].grants) for pool in network.pools}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise SolverError(
            f"model {network.name!r} acquires pools in a cycle of orders "
            f"({', '.join(map(repr, error.args[1]))}), for which there is no solver here",
            cure="simulate it, or acquire the pools in the same order everywhere",
        ) from error


def places_of(network: Network, pool: str) -> tuple[int, float]:
    """Return how many jobs fit into a pool, and how many tokens (mean) each of them holds."""
    holds = [
        (max(class_.rate_per_s, float(class_.population)) * hold.grants, hold.tokens / hold.grants)
        for class_ in network.classes
        if (hold := class_.holds.get(pool)) is not None and hold.grants > 0
    ]
    total = sum(weight for weight, _ in holds)
    tokens = sum(weight * each for weight, each in holds) / total if total > 0 else 1.0
    fitting = max(int(network.pools[pool] / tokens + 1e-9), 1)
    if any(class_.is_open for class_ in network.classes if pool in class_.holds):
        return fitting, tokens
    users = [class_.population for class_ in network.classes if pool in class_.holds]
    return min(fitting, max(sum(users), 1)), tokens
