"""Flows behind a station that rejects: rejected work does not arrive downstream."""

from dataclasses import replace

from headroom.solvers.exact.formulas import mmck
from headroom.solvers.exact.product_form import law_reasons, structure_reasons
from headroom.solvers.network import INDIFFERENT, Network
from headroom.solvers.walk import OUTSIDE


def rejecting(network: Network) -> list[int]:
    """Return the rows of visited stations that may be full and then reject."""
    return [
        row
        for row, station in enumerate(network.stations)
        if network.visits[row].any()
        and any(reason.kind == "loss" for reason in structure_reasons(network, station))
    ]


def passed(network: Network) -> tuple[Network, float] | None:
    """Return a network with the visits of those who get there, and the share that completes.

    None if they are unknown. They are known if every job tries one station that rejects, M/M/c/K,
    first and only there, so that all that follows loses the same share.
    """
    full = rejecting(network)
    if not full:
        return network, 1.0
    row, station = full[0], network.stations[full[0]]
    first = {(OUTSIDE, station.name): 1.0}
    is_first = all(
        {pair: mass for pair, mass in one.flows.items() if station.name == pair[1] or not pair[0]}
        == first
        for one in network.classes
    )
    is_plain = not (network.closed or network.pools or network.reasons or len(full) > 1)
    is_poisson = not any(one.arrivals.reason for one in network.classes)
    is_mmck = len(structure_reasons(network, station)) == 1 and not law_reasons(network, row)
    if not (is_first and is_plain and is_poisson and is_mmck and station.discipline in INDIFFERENT):
        return None
    rate = float(network.rate_per_s.sum())
    mean_s = float(network.rate_per_s @ network.service_s[row]) / rate
    share = 1.0 - mmck(int(station.servers), int(station.places), rate, mean_s)[0]
    visits = network.visits * share
    visits[row] = network.visits[row]
    return replace(network, visits=visits), share
