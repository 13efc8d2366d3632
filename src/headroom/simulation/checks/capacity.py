"""The offered load of open classes at stations and pools, compared with their capacity."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import parse_model
from headroom.simulation.checks.visits import Visits, expected_visits
from headroom.simulation.errors import OverloadError, SimulationError
from headroom.simulation.language.amounts import mean_of
from headroom.simulation.language.classes import JobClass
from headroom.simulation.language.model import Model

Shares = Mapping[str, Mapping[str, float]]
"""Station or pool -> class -> load that the class offers to it."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A station or pool that open classes ask more of than it can do.

    Parameters
    ----------
    kind, name
        The station or pool.
    shares
        Class to the load that it offers, per server or token.
    """

    kind: Literal["station", "pool"]
    name: str
    shares: Mapping[str, float]

    @property
    def load(self) -> float:
        """Offered load per server or token, 1 or more."""
        return math.fsum(self.shares.values())


def offered_loads(model: Model) -> dict[str, float]:
    """Return the load that open classes offer to each station, per server (1 is full).

    Speeds, breakdowns and batches count; a station of infinite servers has the load 0. Quantities
    that only a run determines count with their minimum, as in `expected_visits`.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("queue", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(0.8))
    >>> model.open_class("customers", program, interarrival=exponential(1))
    >>> offered_loads(model)
    {'server': 0.8}
    """
    shares = _station_shares(model, expected_visits(model), list(model.classes.values()))
    return {name: math.fsum(share.values()) for name, share in shares.items()}


def refuse_overload(model: Model) -> None:
    """Raise `OverloadError` if open classes need more than a station or pool can do.

    Traces are left out: they end, and queues with them. Stations that reject are never too full,
    and those of infinite servers neither. A quantity without a mean raises a `SimulationError`: no
    run is long enough for it.
    """
    classes = _endless(model)
    if not classes and _is_surely_bounded(model):
        return
    visits = expected_visits(model)
    refuse_without_mean(model, visits)
    full = next(iter(overloads(model, visits)), None)
    if full is None:
        return
    if full.kind == "station":
        raise OverloadError(
            f"{_line(model, full.shares)}: model {model.name!r}: open classes offer a load of "
            f"{full.load:.3g} to each server of station {full.name!r}, so its queue "
            "grows without bound",
            cure="lower the arrivals (an interarrival time is 1 / rate), add servers, or stop the "
            "run by time to watch it grow",
        )
    raise OverloadError(
        f"{_line(model, full.shares)}: model {model.name!r}: open classes hold {full.load:.3g} "
        f"times the tokens of pool {full.name!r} without any waiting, so its queue "
        "grows without bound",
        cure="lower the arrivals, add tokens, hold them for a shorter time, or stop the run by "
        "time to watch it grow",
    )


def overloads(model: Model, visits: Visits | None = None) -> list[Overload]:
    """Return the stations, then the pools, whose queues grow without bound, in model order.

    Quantities that only a run can show count with their minimum, so all returned ones do overflow.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("queue", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(2))
    >>> model.open_class("customers", program, interarrival=exponential(1))
    >>> [(one.kind, one.name, one.load) for one in overloads(model)]
    [('station', 'server', 2.0)]
    """
    classes = _endless(model)
    if not classes:
        return []
    known = visits or expected_visits(model)
    stations = _station_shares(model, known, classes)
    full: list[Overload] = [
        Overload("station", name, shares)
        for name, shares in stations.items()
        if not _is_bounded(model, name) and _is_full(name, stations, known.groups)
    ]
    pools = _pool_shares(model, known, classes)
    full += [
        Overload("pool", name, shares)
        for name, shares in pools.items()
        if sum(shares.values()) >= 1 and not _may_be_left(model, "pool", name)
    ]
    return full


def refuse_without_mean(model: Model, visits: Visits) -> None:
    """Raise `SimulationError` if a time that jobs wait for has an infinite mean."""
    for location, what in _without_mean(model, visits):
        raise SimulationError(
            f"{location}: {what} has no mean: the longer the run, the longer it takes, so that no "
            "average ever settles",
            cure="choose a shape above 1 or bounded_pareto(low, high, shape), end it by the "
            "timeout= of an attempt, or stop the run by time",
        )


def _without_mean(model: Model, visits: Visits) -> Iterator[tuple[str, object]]:
    """Yield the line and the law of each time without a mean."""
    for class_ in model.classes.values():
        if class_.law is not None and math.isinf(class_.law.mean):
            yield class_.location, class_.law
        demands = visits.demands[class_.name]
        if math.inf in (visits.times[class_.name], *demands.values()):
            yield from _steps_without_mean(model)
    for breakdown in model.breakdowns_of.values():
        for law in (breakdown.time_to_failure, breakdown.repair):
            if math.isinf(law.mean):
                yield breakdown.location, law


def _steps_without_mean(model: Model) -> Iterator[tuple[str, object]]:
    for program in model.programs.values():
        for step in program.steps:
            for key, amount in step.amounts.items():
                if key not in {"timeout", "patience"} and mean_of(amount, {}) == math.inf:
                    yield step.location, amount


def overloaded_station(model: Model) -> tuple[str, Mapping[str, float]] | None:
    """Return the first station whose queue grows without bound, with the load of each class.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("queue", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(2))
    >>> model.open_class("customers", program, interarrival=exponential(1))
    >>> overloaded_station(model)
    ('server', {'customers': 2.0})
    """
    full = next((overload for overload in overloads(model) if overload.kind == "station"), None)
    return None if full is None else (full.name, full.shares)


def _is_bounded(model: Model, name: str) -> bool:
    """Return whether a queue stays bounded: jobs are rejected, or some lose patience.

    If only some have patience, only a run can tell.
    """
    return model.stations[name].rejects or _may_be_left(model, "station", name)


def _may_be_left(model: Model, kind: str, name: str) -> bool:
    """Return whether some jobs lose patience at a station, or at a pool."""
    return any(
        step.data.get(kind) == name
        for program in model.programs.values()
        for step in program.steps
        if "patience" in step.amounts
    )


def _endless(model: Model) -> list[JobClass]:
    """Return the open classes whose arrivals never end."""
    return [
        class_ for class_ in model.classes.values() if class_.arrival_rate > 0 and class_.is_endless
    ]


def _is_surely_bounded(model: Model) -> bool:
    """Return whether closed classes can request nothing endlessly: a look at each step shows it."""
    laws = [class_.law for class_ in model.classes.values() if class_.law is not None]
    for breakdown in model.breakdowns_of.values():
        laws += [breakdown.time_to_failure, breakdown.repair]
    has_means = all(math.isfinite(law.mean) for law in laws)
    steps = (step for program in model.programs.values() for step in program.steps)
    is_alone = all(step.op != "start" for step in steps)
    return has_means and is_alone and next(_steps_without_mean(model), None) is None


def _is_full(name: str, stations: Shares, groups: tuple[frozenset[str], ...]) -> bool:
    """Return whether a station, and all among which jobs choose by queue length, are full.

    If jobs choose, an equal split is only a guess; but if even that fills every station of the
    group, no split leaves room.
    """
    group = frozenset({name}).union(*(others for others in groups if name in others))
    return all(sum(stations[member].values()) >= 1 for member in group)


def _station_shares(
    model: Model, visits: Visits, classes: list[JobClass]
) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {name: {} for name in model.stations}
    for class_ in classes:
        if class_.arrival_rate <= 0:
            continue
        for name, demand in visits.demands[class_.name].items():
            shares[name][class_.name] = demand * class_.arrival_rate / work_rate(model, name)
    return shares


def work_rate(model: Model, name: str) -> float:
    """Return the maximum service time that a station completes in a time unit.

    The speeds of all servers count, and the share of the time in which they work; batches count in
    full, and of a schedule its mean. Values changed by programs may be arbitrarily large.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> cpu = model.station("cpu", servers=3, speeds=[4, 2, 2])
    >>> model.breakdowns(cpu, time_to_failure=exponential(300), repair=exponential(100))
    >>> work_rate(model, "cpu")
    6.0
    """
    station = model.stations[name]
    if station.discipline == "infinite":
        return float("inf")
    breakdown = model.breakdowns_of.get(name)
    availability = 1.0 if breakdown is None else breakdown.availability
    most = station.batch[1] if station.batch else 1
    if name in _changed_by_programs(model, "servers", "speed"):
        return math.inf
    return station.total_speed * availability * most


def _changed_by_programs(model: Model, *kinds: str) -> frozenset[str]:
    """Return the stations or pools of which a step of a program changes one of `kinds`."""
    if not any(
        step.op == "change" for program in model.programs.values() for step in program.steps
    ):
        return frozenset()
    changes = changes_of(parse_model(model))
    return frozenset(
        change.name for change in changes if change.kind in kinds and not change.is_scheduled
    )


def _pool_shares(
    model: Model, visits: Visits, classes: list[JobClass]
) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {name: {} for name in model.pools}
    changed = _changed_by_programs(model, "tokens")
    for class_ in classes:
        for name, time in visits.pool_times[class_.name].items():
            tokens = math.inf if name in changed else model.pools[name].mean_tokens
            shares[name][class_.name] = time * class_.arrival_rate / tokens
    return shares


def _line(model: Model, share: Mapping[str, float]) -> str:
    """Return the line of the class that offers most."""
    most = max(share, key=lambda name: share[name])
    return model.classes[most].location
