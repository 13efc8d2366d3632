"""Bounds for each class of a network, from the minimum needs of its walks.

The maximum throughput of a closed class is the smaller of two bounds: the throughput of its users
without any waiting, and the throughput at which a resource that every walk needs is always busy
(Denning and Buzen 1978). Load from outside is subtracted from the capacity only if a theorem says
that it gets through. Otherwise a closed class may starve it and exceed the remaining capacity. For
an open class the load of the others is fixed, unless the total exceeds the capacity.

Only a closed class with known mean work gets a minimum throughput, at stations that work whenever a
job is present. Then the number of busy servers X D is at least one while any job is at a station,
and N - X Z jobs are; so X is at least N / (N D + Z) (Lazowska et al. 1984).
"""

import math

import numpy as np

from headroom.solvers.bounds.bounds import (
    Bounds,
    asymptotic_throughput,
    balanced_throughput,
    fastest_per_s,
)
from headroom.solvers.bounds.needs import Needs
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.product_form import reasons_against, structure_reasons
from headroom.solvers.network import Centre, JobClass, Network

STARVED = (
    "no theorem says that arrivals from outside get through alongside this class: the bounds leave "
    "them out"
)


def bounds_of(network: Network, needs: Needs) -> tuple[Bounds, ...]:
    """Return the bounds of each class.

    Parameters
    ----------
    network, needs
        Of one model.
    """
    is_known = not reasons_against(network)
    return tuple(
        _open_bounds(network, needs, column)
        if one.is_open
        else _closed_bounds(network, needs, column, is_known=is_known)
        for column, one in enumerate(network.classes)
    )


def _left(network: Network, needs: Needs, column: int) -> FloatArray:
    """Return the capacity that the arrivals of other classes leave to a class."""
    others = network.rate_per_s.copy()
    others[column] = 0.0
    return np.asarray(np.maximum(needs.capacity - needs.demand_s @ others, 0.0))


def _limit(needs: Needs, column: int, left: FloatArray) -> tuple[float, str]:
    """Return the throughput (1/s) at which the first of what can limit is full, and its name."""
    used = needs.demand_s[:, column] > 0
    if not used.any():
        return math.inf, ""
    own, left = needs.demand_s[used, column], left[used]
    with np.errstate(divide="ignore"):
        first = int((own / left).argmax())
        return fastest_per_s(own, left), [
            name for name, is_used in zip(needs.names, used, strict=True) if is_used
        ][first]


def _open_bounds(network: Network, needs: Needs, column: int) -> Bounds:
    is_stable = bool((needs.demand_s @ network.rate_per_s <= needs.capacity).all())
    left = _left(network, needs, column) if is_stable else needs.capacity
    high, name = _limit(needs, column, left)
    is_lossy = needs.may_be_lost[column]
    return Bounds(
        class_name=network.classes[column].name,
        throughput_per_s_low=0.0,
        throughput_per_s_high=high,
        response_s_low=0.0 if is_lossy else float(needs.time_s[column]),
        response_s_high=math.inf,
        knee=None,
        station=name,
        kind="asymptotic",
        notes=needs.notes(column),
    )


def _closed_bounds(network: Network, needs: Needs, column: int, *, is_known: bool) -> Bounds:
    one = network.classes[column]
    left = _left(network, needs, column) if is_known else needs.capacity
    fastest, name = _limit(needs, column, left)
    total = float(needs.time_s[column]) + one.think_s
    high = min(fastest, one.population / total if total > 0 else math.inf)
    low, kind = _lowest(network, one), "asymptotic"
    if is_known and len(network.classes) == 1 and _is_balanced(network):
        demands = network.demand_s[network.queues, column]
        think = one.think_s + float(network.demand_s[:, column].sum() - demands.sum()) + one.delay_s
        low, high = balanced_throughput(demands, population=one.population, think_s=think)
        kind = "balanced jobs"
    is_alone = len(network.classes) == 1 and not one.joins
    is_starved = not is_known and bool(network.open)
    return Bounds(
        class_name=one.name,
        throughput_per_s_low=low,
        throughput_per_s_high=high,
        response_s_low=_least_response(needs, column, one, high),
        response_s_high=one.population / low - one.think_s if low > 0 else math.inf,
        knee=total * fastest if is_alone and math.isfinite(fastest) else None,
        station=name,
        kind=kind,
        notes=(*needs.notes(column), STARVED) if is_starved else needs.notes(column),
    )


def _least_response(needs: Needs, column: int, one: JobClass, high: float) -> float:
    """Return the least mean response (s): by Little's law if every job gets a turn."""
    if needs.may_be_lost[column]:
        return 0.0
    alone = float(needs.time_s[column])
    if not needs.is_fair or math.isinf(high):
        return alone
    return max(alone, one.population / high - one.think_s) if high > 0 else math.inf


def _is_balanced(network: Network) -> bool:
    """Return whether balanced-job bounds hold: one server at each station."""
    return all(network.stations[row].servers == 1 for row in network.queues)


def _lowest(network: Network, one: JobClass) -> float:
    """Return the lowest throughput (1/s) of a closed class, 0 if nothing is known about it."""
    if len(network.classes) > 1 or network.pools or network.reasons:
        return 0.0
    if not all(_always_works(network, station) for station in network.stations):
        return 0.0
    rows = network.queues
    slowest = np.array([_slowness(network.stations[row]) for row in rows])
    demands = network.demand_s[rows, 0] * slowest
    rest = np.delete(network.demand_s[:, 0], rows)
    think = one.think_s + one.delay_s + float(rest.sum())
    capacity = np.array([network.stations[row].servers for row in rows])
    return asymptotic_throughput(demands, capacity, population=one.population, think_s=think)[0]


def _always_works(network: Network, station: Centre) -> bool:
    """Return whether a station works on, at its slowest, while a job is there."""
    return all(reason.kind == "speeds" for reason in structure_reasons(network, station))


def _slowness(station: Centre) -> float:
    """Return mean over least speed: service on the slowest server over that on a mean one."""
    speeds = station.speeds or (1.0,)
    return sum(speeds) / len(speeds) / min(speeds)
