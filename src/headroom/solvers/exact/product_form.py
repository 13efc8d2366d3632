"""Check whether a network is product form, and list every violation with its position.

The conditions are those of Baskett, Chandy, Muntz and Palacios (1975) in the generality of Kelly
(1979), *Reversibility and Stochastic Networks*, chapter 3. If the order of service at a station
does not depend on service times, all of them must be exponential with one mean. At a station with
processor sharing or preemptive last come first served, any law is allowed. Arrivals must be
Poisson. Routes must not depend on state. There must be no limits, no priorities, and no job that
holds or waits for two resources at the same time.
"""

import math
from collections.abc import Iterator

from headroom.simulation.language.stations import BY_POSITION
from headroom.solvers.kinds import (
    arrival_kind,
    carried_reasons,
    fork_reasons,
    law_kind,
    means_kind,
    pool_reasons,
)
from headroom.solvers.network import INDIFFERENT, PRIORITY, Centre, JobClass, Network
from headroom.solvers.reasons import Reason

SAME = 1e-9
"""Relative difference up to which two means are one."""
SHOWN = 3
"""Lines shown for one reason; the rest is counted."""


def reasons_against(network: Network) -> list[Reason]:
    """Return why the network is not product form; nothing where it is."""
    found = list(network.reasons)
    for row, station in enumerate(network.stations):
        if (network.visits[row] > 0).any():
            found += structure_reasons(network, station)
            found += law_reasons(network, row)
    for class_ in network.classes:
        if class_.arrivals.reason:
            text = f"class {class_.name!r}: {class_.arrivals.reason}"
            found.append(Reason(arrival_kind(class_.arrivals), text))
        for use in class_.uses:
            if use.patience is not None:
                what = f"{use.location}: jobs lose patience at station {use.station!r}"
                found.append(Reason("patience", what))
    return [*found, *carried_reasons(network), *pool_reasons(network), *fork_reasons(network)]


def structure_reasons(network: Network, station: Centre) -> list[Reason]:
    """Return the properties of a station itself that violate product form."""
    closed_jobs = math.fsum(class_.population for class_ in network.classes)
    most = math.inf if any(class_.is_open for class_ in network.classes) else closed_jobs
    where = f"station {station.name!r}"
    found = []
    if station.limit is not None and station.limit < most:
        what = f"{where}: at most {station.limit} jobs share the servers, the rest waits"
        found.append(Reason("limit", what))
    if station.places < most:
        kind, what = (
            ("loss", "turned away") if station.rejects else ("blocking", "held up (blocking)")
        )
        what = f"{where}: has {station.places:g} places; who comes when it is full is {what}"
        found.append(Reason(kind, what))
    if len(set(station.speeds)) > 1:
        found.append(Reason("speeds", f"{where}: servers of different speeds"))
    if station.batch > 1:
        found.append(Reason("batch", f"{where}: serves several jobs at once"))
    if station.availability < 1:
        found.append(Reason("breakdown", f"{where}: servers break down"))
    return found


def law_reasons(network: Network, row: int) -> list[Reason]:
    """Return the violations of product form by service times and priorities at a station."""
    station = network.stations[row]
    uses = [
        (class_, use)
        for class_ in network.classes
        for use in class_.uses
        if use.station == station.name
    ]
    found: list[Reason] = []
    if not uses:
        return found
    if station.discipline in PRIORITY and len({one.priority for one, _ in uses}) > 1:
        found.append(
            Reason(
                "closed priority" if network.closed else "priority",
                f"station {station.name!r}: classes of different priority",
            )
        )
    if station.discipline in BY_POSITION:
        what = f"station {station.name!r}: serves by the position of jobs ({station.discipline})"
        found.append(Reason("position", what))
    if station.discipline not in INDIFFERENT | PRIORITY or station.is_delay:
        return found
    not_exponential = [use.location for _, use in uses if not use.service.is_exponential]
    if not_exponential:
        what = (
            f"{_places(not_exponential)}: service at {station.name!r} "
            f"({station.discipline}) is not exponential"
        )
        found.append(Reason(law_kind(network, row), what))
    means = [use.service.mean for _, use in uses]
    if max(means) - min(means) > SAME * max(means):
        what = (
            f"{_places([use.location for _, use in uses])}: mean service times at "
            f"{station.name!r} ({station.discipline}) differ by class or visit"
        )
        found.append(Reason(means_kind(network, means), what))
    return found


def _places(locations: list[str]) -> str:
    once = list(dict.fromkeys(locations))
    more = f" and {len(once) - SHOWN} more" if len(once) > SHOWN else ""
    return ", ".join(once[:SHOWN]) + more


def feeders(network: Network, row: int) -> Iterator[tuple[JobClass, str]]:
    """Yield each class with each station (or the outside) from which it comes to this one."""
    name = network.stations[row].name
    for class_ in network.classes:
        for (origin, target), mass in class_.flows.items():
            if target == name and mass > 0:
                yield class_, origin
