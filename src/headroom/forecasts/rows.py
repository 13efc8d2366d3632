"""Solutions by rows: similar stations and pools combined into one row, as runs report them.

Servers, jobs and throughputs are added up, so that the utilization is the mean over all servers.
Times are means over all visits. A group of pools has no results if no job ever waits for some of
them, because formulas leave those pools out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headroom.simulation import Model, Pool, Station

if TYPE_CHECKING:
    from headroom.solvers import Solution
    from headroom.solvers.solution import PoolSolution, StationSolution


def by_rows(model: Model, solution: "Solution") -> "Solution":
    """Return `solution` with one entry for each row of the results of `model`.

    Examples
    --------
    >>> from headroom.simulation import exponential
    >>> from headroom.solvers import solve
    >>> model = Model("shop", time_unit="s")
    >>> program = model.program("visit")
    >>> for number in range(2):
    ...     program.use(model.station(f"till {number}", group="till"), exponential(1))
    >>> model.open_class("customers", program, interarrival=exponential(2))
    >>> (row,) = by_rows(model, solve(model)).stations
    >>> row.name, row.servers, row.utilization, row.jobs
    ('till', 2.0, 0.5, 2.0)
    """
    stations = {station.name: station for station in solution.stations}
    pools = {pool.name: pool for pool in solution.pools}
    return replace(
        solution,
        stations=tuple(
            _station(
                name,
                members,
                [stations[member.name] for member in members if member.name in stations],
            )
            for name, members in model.station_rows().items()
            if any(member.name in stations for member in members)
        ),
        pools=tuple(
            _pool(name, members, [pools[member.name] for member in members])
            for name, members in model.pool_rows().items()
            if all(member.name in pools for member in members)
        ),
    )


def _station(
    name: str, members: Sequence[Station], found: "Sequence[StationSolution]"
) -> "StationSolution":
    """Return the sum of the stations of a row; unvisited ones have servers as well."""
    if len(members) == 1:
        return found[0]
    known = {one.name: one.servers for one in found}
    total = math.fsum(one.throughput_per_s for one in found)
    return replace(
        found[0],
        name=name,
        servers=math.fsum(known.get(member.name, member.servers) for member in members),
        throughput_per_s=total,
        busy=math.fsum(one.busy for one in found),
        jobs=math.fsum(one.jobs for one in found),
        wait_s=_mean([(one.throughput_per_s, one.wait_s) for one in found]),
        response_s=_mean([(one.throughput_per_s, one.response_s) for one in found]),
        jobs_by_class=_added([one.jobs_by_class for one in found]),
        throughput_by_class=_added([one.throughput_by_class for one in found]),
        wait_s_at={},
    )


def _pool(name: str, members: Sequence[Pool], found: "Sequence[PoolSolution]") -> "PoolSolution":
    if len(members) == 1:
        return found[0]
    tokens = [float(member.tokens) for member in members]
    return replace(
        found[0],
        name=name,
        utilization=_mean(
            [(count, one.utilization) for count, one in zip(tokens, found, strict=True)]
        ),
        queue_len=math.fsum(one.queue_len for one in found),
        wait_s=_mean([(one.throughput_per_s, one.wait_s) for one in found]),
        throughput_per_s=math.fsum(one.throughput_per_s for one in found),
    )


def _mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the weighted mean of values; values of weight zero do not count."""
    total = math.fsum(weight for weight, _ in pairs)
    spent = math.fsum(weight * value for weight, value in pairs if weight > 0)
    return spent / total if total > 0 else math.nan


def _added(maps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: math.fsum(one[name] for one in maps) for name in maps[0]}
