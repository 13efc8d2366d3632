"""What open classes offer to stations and pools, against what these can do."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headroom.simulation.amounts import mean_of
from headroom.simulation.classes import JobClass
from headroom.simulation.errors import SimulationError
from headroom.simulation.visits import Visits, expected_visits

if TYPE_CHECKING:
    from headroom.simulation.model import Model

Shares = Mapping[str, Mapping[str, float]]
"""Station or pool -> class -> load that the class offers to it."""


def loads(model: "Model") -> dict[str, float]:
    """Return the load that open classes offer to each station, per server (1 is full)."""
    shares = _station_shares(model, expected_visits(model), list(model.classes.values()))
    return {name: math.fsum(share.values()) for name, share in shares.items()}


def refuse_overload(model: "Model") -> None:
    """Raise `SimulationError` where open classes ask for more than a station or pool can do.

    Traces are left out: they end, and queues with them. Stations that reject are never too full,
    and those of infinite servers neither. Refused is also what has no mean, for then no run is long
    enough.
    """
    classes = _endless(model)
    if not classes and _is_surely_bounded(model):
        return
    visits = expected_visits(model)
    _refuse_without_mean(model, visits)
    full = overloaded_station(model, visits)
    if full is not None:
        name, share = full
        raise SimulationError(
            f"{_line(model, share)}: model {model.name!r}: open classes offer a load of "
            f"{sum(share.values()):.3g} to each server of station {name!r}, so its queue grows "
            "for ever",
            cure="lower the arrivals (an interarrival time is 1 / rate), add servers, or stop the "
            "run by time to watch it grow",
        )
    for name, share in _pool_shares(model, visits, classes).items():
        if sum(share.values()) >= 1:
            raise SimulationError(
                f"{_line(model, share)}: model {model.name!r}: open classes hold "
                f"{sum(share.values()):.3g} times the tokens of pool {name!r} without any waiting, "
                "so its queue grows for ever",
                cure="lower the arrivals, add tokens, hold them for a shorter time, or stop the "
                "run by time to watch it grow",
            )


def _refuse_without_mean(model: "Model", visits: Visits) -> None:
    """Raise `SimulationError` where a time that jobs wait for has an infinite mean."""
    for location, what in _without_mean(model, visits):
        raise SimulationError(
            f"{location}: {what} has no mean: the longer the run, the longer it takes, so that no "
            "average ever settles",
            cure="choose a shape above 1 or bounded_pareto(low, high, shape), end it by the "
            "timeout= of an attempt, or stop the run by time",
        )


def _without_mean(model: "Model", visits: Visits) -> Iterator[tuple[str, object]]:
    """Yield the line and the law of each time without a mean."""
    for one in model.classes.values():
        if one.law is not None and math.isinf(one.law.mean):
            yield one.location, one.law
        demands = visits.demands[one.name]
        if math.inf in (visits.times[one.name], *demands.values()):
            yield from _steps_without_mean(model)
    for breakdown in model.breakdowns_of.values():
        for law in (breakdown.time_to_failure, breakdown.repair):
            if math.isinf(law.mean):
                yield breakdown.location, law


def _steps_without_mean(model: "Model") -> Iterator[tuple[str, object]]:
    for program in model.programs.values():
        for step in program.steps:
            for key, amount in step.amounts.items():
                if key != "timeout" and mean_of(amount, {}) == math.inf:
                    yield step.location, amount


def overloaded_station(
    model: "Model", visits: Visits | None = None
) -> tuple[str, Mapping[str, float]] | None:
    """Return the first station whose queue grows for ever, with the load that each class offers.

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
    classes = _endless(model)
    if not classes:
        return None
    known = visits or expected_visits(model)
    stations = _station_shares(model, known, classes)
    for name, share in stations.items():
        if not model.stations[name].rejects and _is_full(name, stations, known.groups):
            return name, share
    return None


def _endless(model: "Model") -> list[JobClass]:
    """Return the open classes whose arrivals never end."""
    return [one for one in model.classes.values() if one.arrival_rate > 0 and one.is_endless]


def _is_surely_bounded(model: "Model") -> bool:
    """Return whether closed classes can ask for nothing without end: a look at each step tells."""
    laws = [one.law for one in model.classes.values() if one.law is not None]
    for breakdown in model.breakdowns_of.values():
        laws += [breakdown.time_to_failure, breakdown.repair]
    has_means = all(math.isfinite(law.mean) for law in laws)
    steps = (step for one in model.programs.values() for step in one.steps)
    is_alone = all(step.op != "start" for step in steps)
    return has_means and is_alone and next(_steps_without_mean(model), None) is None


def _is_full(name: str, stations: Shares, groups: tuple[frozenset[str], ...]) -> bool:
    """Return whether a station, and all among which jobs choose by queue length, are full.

    Where jobs choose, an equal split is only a guess; but if even that fills every station of the
    group, no split leaves room.
    """
    group = frozenset({name}).union(*(one for one in groups if name in one))
    return all(sum(stations[one].values()) >= 1 for one in group)


def _station_shares(
    model: "Model", visits: Visits, classes: list[JobClass]
) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {name: {} for name in model.stations}
    for one in classes:
        if one.arrival_rate <= 0:
            continue
        for name, demand in visits.demands[one.name].items():
            shares[name][one.name] = demand * one.arrival_rate / work_rate(model, name)
    return shares


def work_rate(model: "Model", name: str) -> float:
    """Return the service time that a station gets done in a time unit at most.

    The speeds of all servers count, and the share of the time in which they work; batches count
    in full.

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
    return station.total_speed * availability * most


def _pool_shares(
    model: "Model", visits: Visits, classes: list[JobClass]
) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {name: {} for name in model.pools}
    for one in classes:
        for name, time in visits.pool_times[one.name].items():
            shares[name][one.name] = time * one.arrival_rate / model.pools[name].tokens
    return shares


def _line(model: "Model", share: Mapping[str, float]) -> str:
    """Return the line of the class that offers most."""
    most = max(share, key=lambda name: share[name])
    return model.classes[most].location
