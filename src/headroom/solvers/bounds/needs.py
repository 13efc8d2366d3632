"""Minimum needs of a walk and maximum rates of stations and pools: the inputs of the bounds.

Nothing here is approximate. Anything that only a run determines (conditions, queue lengths,
time-outs, rejection) counts as its smallest possible value. Work that no job waits for (started
programs, work after a reply, arms beyond a quorum) does not count at all, because it may pile up. A
station counts as all its servers at their own speed, at work whenever they are not broken, with
full batches. So no run stays above the resulting throughput or below the resulting response time,
no matter how the jobs are scheduled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from headroom.simulation import Model
from headroom.simulation.checks.capacity import work_rate
from headroom.simulation.checks.visits import TOGETHER, Visits, expected_visits, least_visits
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.simulation.language.step import Step
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.mixture import chains_of
from headroom.solvers.network import Network

FAIR = frozenset({"fcfs", "ps", "random", "infinite"})
"""Disciplines under which no job can be overtaken indefinitely."""

LEFT_OUT = (
    "what conditions, lengths of queues, time-outs and rejections decide counts as the least that "
    "it can be, and work that no job waits for not at all"
)
MAY_BE_LOST = (
    "jobs may be lost: without room, patience or tries left; those that get through may be the "
    "quick ones: their response time has no bound"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needs:
    """What can limit the classes of a model, and how much each walk needs of it.

    Parameters
    ----------
    names
        Of what can limit: stations, stations among which jobs choose, pools.
    demand_s
        Shape (names, classes): least work (s at speed 1) or token-time (s) of one walk; the
        classes of a mix are one, as in the network.
    capacity
        Shape (names,): work or token-time that is done in a second at most.
    time_s
        Shape (classes,): least mean time (s) of one walk.
    may_be_lost
        For each class whether some of its jobs never complete.
    is_exact
        For each class whether the least is what happens.
    is_fair
        Whether every job gets its turn. Else some may wait indefinitely, and the mean response time
        of those that complete is not what Little's law says about all.
    """

    names: tuple[str, ...]
    demand_s: FloatArray
    capacity: FloatArray
    time_s: FloatArray
    may_be_lost: tuple[bool, ...]
    is_exact: tuple[bool, ...]
    is_fair: bool

    def notes(self, column: int) -> tuple[str, ...]:
        """Return why the bounds of a class are wider than they may look, or absent."""
        left_out = () if self.is_exact[column] else (LEFT_OUT,)
        return (*left_out, MAY_BE_LOST) if self.may_be_lost[column] else left_out


def needs_of(model: Model, network: Network) -> Needs:
    """Return the minimum needs of the walks of a model.

    Parameters
    ----------
    model, network
        The model, and its network, which knows the pools that can run out.

    Examples
    --------
    >>> from headroom.simulation import exponential
    >>> from headroom.solvers.network import network_of
    >>> model = Model("shop", time_unit="ms")
    >>> request = model.program("request")
    >>> request.use(model.station("cpu", servers=2, speeds=[3, 1]), exponential(6))
    >>> model.closed_class("users", request, population=10)
    >>> needs = needs_of(model, network_of(model))
    >>> needs.demand_s[0, 0] / needs.capacity[0], needs.time_s[0]
    (np.float64(0.0015), np.float64(0.002))
    """
    least = least_visits(model)
    rows = [
        (name, _row(least, name), work_rate(model, name))
        for name, station in model.stations.items()
        if station.discipline != "infinite"
    ]
    rows += [_together(model, group) for group in expected_visits(model).groups if len(group) > 1]
    rows += [_of_row(model, name, members) for name, members in _chosen_rows(model)]
    rows += [
        (f"pool {pool}", [times.get(pool, 0.0) for times in least.pool_times.values()], tokens)
        for pool, tokens in network.pools.items()
    ]
    unit_s = SECONDS_PER_UNIT[model.time_unit]
    shape = (len(rows), len(model.classes))
    shares = _shares(model)
    demands = np.array([row for _, row, _ in rows], dtype=np.float64).reshape(shape) * unit_s
    return Needs(
        names=tuple(name for name, _, _ in rows),
        demand_s=demands @ shares,
        capacity=np.array([capacity for _, _, capacity in rows], dtype=np.float64),
        time_s=np.array(list(least.times.values())) @ shares * unit_s,
        may_be_lost=_where(any, least.may_be_lost, shares),
        is_exact=_where(all, least.is_exact, shares),
        is_fair=_is_fair(model),
    )


def _shares(model: Model) -> FloatArray:
    """Return how often each class is a walk of each column: shape (classes, columns)."""
    columns = list(chains_of(model))
    places = {name: place for place, name in enumerate(model.classes)}
    shares = np.zeros((len(places), len(columns)))
    for column, chain in enumerate(columns):
        for one, share in zip(chain.classes, chain.shares, strict=True):
            shares[places[one.name], column] = share
    return shares


def _where(
    rule: Callable[[Iterable[bool]], bool], told: Mapping[str, bool], shares: FloatArray
) -> tuple[bool, ...]:
    """Return what is told of each class by column: of any, or of all of its classes."""
    values = list(told.values())
    return tuple(rule(values[place] for place in np.flatnonzero(column)) for column in shares.T)


def _is_fair(model: Model) -> bool:
    stations, pools = model.stations.values(), model.pools.values()
    return all(station.discipline in FAIR and not station.blocks for station in stations) and all(
        pool.order == "fcfs" for pool in pools
    )


def _together(model: Model, group: frozenset[str]) -> tuple[str, list[float], float]:
    """Return the total need of a walk for stations among which it chooses."""
    capacity = sum(work_rate(model, name) for name in sorted(group))
    names = [name for name in model.stations if name in group]
    return " and ".join(names), _row(least_visits(model, group), TOGETHER), capacity


def _steps(model: Model) -> Iterator[Step]:
    return (step for program in model.programs.values() for step in program.steps)


def _chosen_rows(model: Model) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the groups of like stations of a model, where not chance alone decides who goes where.

    What a walk needs of each of them may then be nothing, and yet something of all together.
    """
    if any(isinstance(step.data.get("choice"), Mapping) for step in _steps(model)):
        for name, members in model.station_rows().items():
            if len(members) > 1 and members[0].discipline != "infinite":
                yield name, frozenset(member.name for member in members)


def _of_row(model: Model, name: str, members: frozenset[str]) -> tuple[str, list[float], float]:
    """Return the need of a walk for a group of like stations, whichever of them it takes."""
    _, needed, capacity = _together(model, members)
    return name, needed, capacity


def _row(least: Visits, station: str) -> list[float]:
    return [demands.get(station, 0.0) for demands in least.demands.values()]
