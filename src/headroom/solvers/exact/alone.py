"""Networks without product form that can still be solved exactly: M/G/1 and its relatives.

An open network stays exact if its only violations are single queues at the very end of the routes.
Such a queue is fed by Poisson flows (from outside, or out of the product-form part: Burke 1956,
Kelly 1979), and jobs leave the network after it. For them the formulas of `open_network` are
theorems: Pollaczek and Khinchine, and Cobham. A queue by itself may have other arrivals,
breakdowns or impatient jobs (`headroom.solvers.exact.single_queue`).
"""

from headroom.solvers.approximate.unequal import are_told_apart
from headroom.solvers.exact.product_form import feeders, law_reasons, structure_reasons
from headroom.solvers.exact.single_queue import single_queue
from headroom.solvers.network import INDIFFERENT, PRIORITY, Network
from headroom.solvers.reasons import Reason
from headroom.solvers.walk import OUTSIDE


def exact_formula(network: Network) -> str:
    """Return the name of the theorem that makes an open network exact, empty if none does."""
    if network.reasons or network.pools or network.closed:
        return ""
    visited = [row for row in network.queues if network.visits[row].any()]
    if len(visited) == 1 and (alone := _alone(network, visited[0])):
        return alone
    if not _is_patient(network) or any(class_.arrivals.reason for class_ in network.classes):
        return ""
    names: dict[str, str] = {}
    for row, station in enumerate(network.stations):
        structure, laws = structure_reasons(network, station), law_reasons(network, row)
        if structure or laws:
            names[station.name] = _formula(network, row, structure, laws)
    if not all(names.values()):
        return ""
    rows = {station.name: row for row, station in enumerate(network.stations)}
    if all(_is_last(network, rows[name], set(names)) for name in names):
        return ", ".join(dict.fromkeys(names.values()))
    return ""


def _formula(network: Network, row: int, structure: list[Reason], laws: list[Reason]) -> str:
    station = network.stations[row]
    if structure:
        is_unequal = station.work_rates and are_told_apart(station.speeds)
        if is_unequal and not laws and len(structure) == 1:
            return "M/M/c with servers of different speed"
        return "" if station.rejects else _alone(network, row)
    only_priority = all(law.kind == "priority" for law in laws)
    if station.discipline in PRIORITY and station.servers == 1:
        is_preemptive = station.discipline == "priority_preempt"
        return "M/G/1 with preemptive priorities" if is_preemptive else "Cobham's formula"
    if station.discipline == "priority" and only_priority:
        return "Cobham's formula for M/M/c"
    is_mg1 = station.discipline in INDIFFERENT and station.servers == 1
    return "Pollaczek and Khinchine" if is_mg1 else _alone(network, row)


def _alone(network: Network, row: int) -> str:
    """Return the name of the exact solution of a station by itself, for Poisson arrivals at least.

    Where a formula or product form says the same, that is named.
    """
    station = network.stations[row]
    is_poisson = not any(class_.arrivals.reason for class_ in network.classes)
    structure = structure_reasons(network, station)
    is_plain = is_poisson and not structure and _is_patient(network)
    if is_plain and (station.servers == 1 or not law_reasons(network, row)):
        return ""
    found = single_queue(network, row)
    return found.name if found is not None and found.is_exact else ""


def _is_patient(network: Network) -> bool:
    return not any(use.patience for one in network.classes for use in one.uses)


def _is_last(network: Network, row: int, offenders: set[str]) -> bool:
    """Return whether only Poisson flows come to a station and nothing continues from it."""
    if any(origin in offenders for _, origin in feeders(network, row)):
        return False
    name = network.stations[row].name
    return all(
        target == OUTSIDE
        for class_ in network.classes
        for (origin, target), mass in class_.flows.items()
        if origin == name and mass > 0
    )
