"""A queueing network, extracted from a model: stations, classes, visits, demands, routes.

All times are seconds. Rows are stations, columns classes, in the order of the model.

Invariant: everything that the numbers here leave out is named in `reasons`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headroom.simulation import Model, Station
from headroom.simulation.checks.check import check_model
from headroom.simulation.checks.parsed import parse_model
from headroom.simulation.checks.structure import Body
from headroom.simulation.language import classes as simulated
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.simulation.language.stations import COUNTING, Breakdown
from headroom.solvers.arrivals import Arrivals, arrivals_of
from headroom.solvers.errors import SolverError
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.finite import Known, Law
from headroom.solvers.mixture import Chain, chains_of, mixed_walk
from headroom.solvers.moments import UNKNOWN, Moments
from headroom.solvers.reasons import Reason
from headroom.solvers.walk import Hold, Join, Part, Path, Section, Spread, Visit, Walk

SHARED = frozenset({"ps", "lcfs_preempt", "infinite"})
"""Disciplines whose stations are insensitive to the law of the service time."""
INDIFFERENT = frozenset({"fcfs", "lcfs", "random"})
"""Disciplines that do not look at the service time: one mean wait for all of them."""
PRIORITY = frozenset({"priority", "priority_preempt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Centre:
    """A station: `servers` is infinite if no job ever waits; the rest is as in the model."""

    name: str
    servers: float
    discipline: str
    limit: int | None
    places: float
    """Jobs that fit in, those in service counted; infinite without a limit."""
    rejects: bool
    batch: int
    """Jobs that a server serves together at most."""
    speeds: tuple[float, ...]
    availability: float
    """Share of the time in which a server is not under repair."""
    breakdown: Breakdown | None = None
    """When its servers fail and are repaired, in the unit of the model."""
    work_rates: tuple[float, ...] = ()
    """Work (s) that is done in a second with 1, 2, ... jobs where servers differ, else empty."""

    @property
    def is_delay(self) -> bool:
        """True where every job is served at once."""
        return math.isinf(self.servers)

    @property
    def capacity(self) -> float:
        """Work (s) that all servers together do in a second."""
        return sum(self.speeds) if self.speeds else self.servers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Member:
    """A class of a mix: its share of all walks, and its own walk, times in seconds.

    `visits` and `service_s` have the shape (stations,), as a column of the network.
    """

    name: str
    share: float
    whole: Section
    visits: FloatArray
    service_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClass:
    """A class of jobs, closed with a population or open with arrivals; or a mix of classes."""

    name: str
    population: int
    """0 for an open class."""
    think_s: float
    rate_per_s: float
    arrivals: Arrivals
    priority: float
    whole: Section
    """One walk: visits, work and delay (s) outside forks, and the forks."""
    holds: Mapping[str, Hold]
    parts: Mapping[Path, Part]
    """The walk by what is held meanwhile, s at the mean speed of each station."""
    uses: tuple[Visit, ...]
    flows: Mapping[tuple[str, str], float]
    spreads: tuple[Spread, ...] = ()
    """Where its jobs join the shortest of some stations."""
    members: tuple[Member, ...] = ()
    """Of a mix its classes; the rest is then the mean of their walks."""

    @property
    def is_open(self) -> bool:
        """True for a class that arrives from outside."""
        return self.population == 0

    @property
    def delay_s(self) -> float:
        """Time of one walk that passes at no station, outside forks."""
        return self.whole.delay

    @property
    def joins(self) -> list[Join]:
        """Forks of one walk."""
        return self.whole.joins


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """A queueing network.

    Parameters
    ----------
    name
        Name of the model.
    stations, classes
        In the order of the model; the classes of a mix are one.
    visits, service_s, service_c2
        Shape (stations, classes): visits of one walk, mean and squared coefficient of variation
        of the service of one visit.
    pools
        Tokens of each pool that some class may have to wait for.
    reasons
        What of the model these numbers leave out, each with its line.
    unit_s
        The time unit of the model (s), which the laws that it keeps are in.
    """

    name: str
    stations: tuple[Centre, ...]
    classes: tuple[JobClass, ...]
    visits: FloatArray
    service_s: FloatArray
    service_c2: FloatArray
    pools: Mapping[str, int]
    reasons: tuple[Reason, ...]
    unit_s: float = 1.0

    @property
    def demand_s(self) -> FloatArray:
        """Shape (stations, classes): service time of one walk."""
        return self.visits * self.service_s

    @property
    def closed(self) -> list[int]:
        """Columns of the closed classes."""
        return [place for place, one in enumerate(self.classes) if not one.is_open]

    @property
    def open(self) -> list[int]:
        """Columns of the open classes."""
        return [place for place, one in enumerate(self.classes) if one.is_open]

    @property
    def rate_per_s(self) -> FloatArray:
        """Shape (classes,): arrivals per second, 0 for closed classes."""
        return np.array([class_.rate_per_s for class_ in self.classes])

    @property
    def queues(self) -> list[int]:
        """Rows of the stations at which jobs can wait."""
        return [place for place, one in enumerate(self.stations) if not one.is_delay]


def network_of(model: Model) -> Network:
    """Return the queueing network of a model.

    Raises
    ------
    SimulationError
        The model contradicts itself.
    SolverError
        A mean time cannot be computed, so there is no network to solve.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> disk = model.station("disk")
    >>> request = model.program("request")
    >>> with request.loop(3):
    ...     request.use(disk, exponential(5))
    >>> model.closed_class("users", request, population=10, think=exponential(100))
    >>> float(network_of(model).demand_s[0, 0])
    0.015
    """
    check_model(model)
    unit_s = SECONDS_PER_UNIT[model.time_unit]
    trees = parse_model(model).trees
    initial = {name: Moments(one.initial, 0.0) for name, one in model.attributes.items()}
    chains, own = list(chains_of(model)), []
    for chain in chains:
        own.append([_prepared(trees, initial, class_) for class_ in chain.classes])
        for one, walk in zip(chain.classes, own[-1], strict=True):
            walk.run(one.program)
            _refuse_unknown(model.name, walk)
    walks = [mixed_walk(of, chain.shares) for of, chain in zip(own, chains, strict=True)]
    units = _Units(tuple(_centre(model, station) for station in model.stations.values()), unit_s)
    classes = tuple(
        replace(_job_class(chain, walk, units), members=_members(chain, of, units))
        for chain, walk, of in zip(chains, walks, own, strict=True)
    )
    visits, service, c2 = _tables(units, walks)
    pools = _binding_pools(model, classes)
    reasons = [reason for walk in walks for reason in walk.reasons]
    reasons += [reason for chain in chains for reason in chain.reasons]
    return Network(
        name=model.name,
        stations=units.stations,
        classes=classes,
        visits=visits,
        service_s=service,
        service_c2=c2,
        pools=pools,
        reasons=tuple(dict.fromkeys(reasons)),
        unit_s=unit_s,
    )


def _refuse_unknown(name: str, walk: Walk) -> None:
    if walk.unknown:
        raise SolverError(
            f"model {name!r} cannot be solved: {walk.unknown}",
            cure="simulate it, or give that step a distribution",
        )


def _prepared(
    trees: Mapping[str, Body], initial: Mapping[str, Moments], one: simulated.JobClass
) -> Walk:
    """Return the walk of a class that is to begin, with what its jobs carry."""
    replayed = _replayed(one)
    fixed: dict[str, Law] = {
        name: ((at.mean, 1.0),) for name, at in initial.items() if name not in replayed
    }
    return Walk(trees, {**initial, **replayed}, Known(fixed))


def _replayed(one: simulated.JobClass) -> dict[str, Moments]:
    """Return the moments or laws of the attributes that a trace sets."""
    columns: Any = one.process.to_data().get("attributes", {}) if one.process else {}
    found = {}
    for name, values in columns.items():
        mean, variance = float(np.mean(values)), float(np.var(values))
        found[name] = Moments(mean, variance / mean**2 if mean else 0.0)
    computed = getattr(one.process, "attribute_names", ())
    return dict.fromkeys(computed, UNKNOWN) | found


def _centre(model: Model, station: Station) -> Centre:
    servers = math.inf if station.discipline == "infinite" else float(station.servers)
    breakdown = model.breakdowns_of.get(station.name)
    return Centre(
        name=station.name,
        servers=servers,
        discipline=station.discipline,
        limit=station.limit,
        places=math.inf if station.buffer is None else servers + station.buffer,
        rejects=station.when_full == "reject",
        batch=station.batch[1] if station.batch else 1,
        speeds=station.speeds or (),
        availability=1.0 if breakdown is None else breakdown.availability,
        breakdown=breakdown,
    )


@dataclass(frozen=True, slots=True)
class _Units:
    """The stations of a model, and its time unit (s)."""

    stations: tuple[Centre, ...]
    unit_s: float

    @property
    def speeds(self) -> dict[str, float]:
        """Mean speed of each station."""
        return {station.name: _mean_speed(station) for station in self.stations}


def _job_class(chain: Chain, walk: Walk, units: _Units) -> JobClass:
    one, unit_s, speeds = chain.classes[0], units.unit_s, units.speeds
    is_closed = one.population is not None
    arrivals = arrivals_of(one)
    return JobClass(
        name=chain.name,
        population=one.population or 0,
        think_s=one.law.mean * unit_s if is_closed and one.law else 0.0,
        rate_per_s=arrivals.rate / unit_s,
        arrivals=arrivals,
        priority=math.fsum(
            share * one.priority for one, share in zip(chain.classes, chain.shares, strict=True)
        ),
        whole=_in_seconds(walk.whole, unit_s, speeds),
        holds=walk.holds,
        parts={path: _part_in_seconds(part, unit_s, speeds) for path, part in walk.parts.items()},
        uses=tuple(walk.uses),
        flows=walk.flows,
        spreads=tuple(walk.spreads),
    )


def _members(chain: Chain, walks: Sequence[Walk], units: _Units) -> tuple[Member, ...]:
    """Return the classes of a mix; none for a class by itself."""
    if not chain.classes[0].mix:
        return ()
    visits, service, _ = _tables(units, walks)
    return tuple(
        Member(
            name=one.name,
            share=share,
            whole=_in_seconds(walk.whole, units.unit_s, units.speeds),
            visits=visits[:, column],
            service_s=service[:, column],
        )
        for column, (one, share, walk) in enumerate(
            zip(chain.classes, chain.shares, walks, strict=True)
        )
    )


def _in_seconds(section: Section, unit_s: float, speeds: Mapping[str, float]) -> Section:
    """Return a section with its times in seconds, at the speed of each station."""
    return Section(
        visits=section.visits,
        work={name: work * unit_s / speeds[name] for name, work in section.work.items()},
        delay=section.delay * unit_s,
        joins=[
            replace(join, arms=[_in_seconds(arm, unit_s, speeds) for arm in join.arms])
            for join in section.joins
        ],
        grants=section.grants,
    )


def _part_in_seconds(part: Part, unit_s: float, speeds: Mapping[str, float]) -> Part:
    work = {name: work * unit_s / speeds[name] for name, work in part.work.items()}
    variance = part.variance * unit_s**2
    return replace(part, work=work, delay=part.delay * unit_s, variance=variance)


def scaled(network: Network, row: int, factor: float, station: Centre) -> Network:
    """Return a network in which every service at a station takes `factor` times as long."""
    service = network.service_s.copy()
    service[row] *= factor
    stations = (*network.stations[:row], station, *network.stations[row + 1 :])
    classes = tuple(
        replace(
            class_,
            whole=_scaled_section(class_.whole, station.name, factor),
            parts={path: _scaled_part(part, station.name, factor) for path, part in
                   class_.parts.items()},
            members=tuple(_scaled_member(member, row, factor, station.name) for member in
                          class_.members),
        )
        for class_ in network.classes
    )  # fmt: skip
    return replace(network, stations=stations, classes=classes, service_s=service)


def _scaled_member(member: Member, row: int, factor: float, name: str) -> Member:
    service = member.service_s.copy()
    service[row] *= factor
    whole = _scaled_section(member.whole, name, factor)
    return replace(member, whole=whole, service_s=service)


def _scaled_section(section: Section, name: str, factor: float) -> Section:
    joins = [
        replace(join, arms=[_scaled_section(arm, name, factor) for arm in join.arms])
        for join in section.joins
    ]
    return replace(section, work=_scaled_work(section.work, name, factor), joins=joins)


def _scaled_part(part: Part, name: str, factor: float) -> Part:
    return replace(part, work=_scaled_work(part.work, name, factor))


def _scaled_work(work: Mapping[str, float], name: str, factor: float) -> dict[str, float]:
    return {one: value * factor if one == name else value for one, value in work.items()}


def _tables(units: _Units, walks: Sequence[Walk]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return visits, mean service (s) and its c2, all uses of a station by a class mixed."""
    stations = units.stations
    rows = {one.name: place for place, one in enumerate(stations)}
    shape = (len(stations), len(walks))
    visits, total, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for column, walk in enumerate(walks):
        for use in walk.uses:
            row = rows[use.station]
            speed = _mean_speed(stations[row])
            visits[row, column] += use.mass
            total[row, column] += use.mass * use.service.mean / speed
            square[row, column] += use.mass * use.service.second / speed**2
    safe = np.where(visits > 0, visits, 1.0)
    service, second = total / safe, square / safe
    c2 = np.where(service > 0, second / np.where(service > 0, service, 1.0) ** 2 - 1, 0.0)
    return visits, service * units.unit_s, np.maximum(c2, 0.0)


def _mean_speed(station: Centre) -> float:
    return sum(station.speeds) / len(station.speeds) if station.speeds else 1.0


def _binding_pools(model: Model, classes: Sequence[JobClass]) -> dict[str, int]:
    """Return the pools whose tokens can run out, and how many they have."""
    binding_pools = {}
    for name, pool in model.pools.items():
        users = [class_ for class_ in classes if name in class_.holds]
        most = sum(user.population * user.holds[name].most_tokens for user in users)
        may_lack = any(user.is_open for user in users) and pool.tokens < COUNTING
        if users and (may_lack or most > pool.tokens):
            binding_pools[name] = pool.tokens
    return binding_pools
