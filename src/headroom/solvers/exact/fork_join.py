"""A fork over equal M/M/1 queues: the one fork/join network with a good closed formula."""

from dataclasses import dataclass

from headroom.solvers.exact.formulas import fork_join_response_s
from headroom.solvers.exact.product_form import law_reasons, structure_reasons
from headroom.solvers.network import INDIFFERENT, Network

EXACT_ARMS = 2
SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkJoin:
    """Mean response (s) of a fork that waits for all its arms."""

    method: str
    is_exact: bool
    response_s: float


def fork_join(network: Network) -> ForkJoin | None:
    """Return the answer for a network that is one fork over equal M/M/1 queues, None for others."""
    if len(network.classes) != 1 or len(network.reasons) != 1:
        return None
    one = network.classes[0]
    if len(one.joins) != 1 or one.whole.visits or one.delay_s or one.arrivals.reason:
        return None
    join = one.joins[0]
    visited = [arm.visits for arm in join.arms]
    is_plain = all(
        list(visits.values()) == [1.0] and not arm.joins and not arm.delay
        for visits, arm in zip(visited, join.arms, strict=True)
    )
    names = {name for visits in visited for name in visits}
    rows = [row for row, station in enumerate(network.stations) if station.name in names]
    if join.quorum != len(join.arms) or not is_plain or len(names) != len(join.arms):
        return None
    services = [float(network.service_s[row, 0]) for row in rows]
    is_even = max(services) - min(services) <= SAME * max(services)
    if not is_even or not all(_is_mm1(network, row) for row in rows):
        return None
    arms = len(join.arms)
    return ForkJoin(
        method="Flatto and Hahn" if arms <= EXACT_ARMS else "Nelson and Tantawi",
        is_exact=arms <= EXACT_ARMS,
        response_s=fork_join_response_s(arms, one.rate_per_s, services[0]),
    )


def _is_mm1(network: Network, row: int) -> bool:
    station = network.stations[row]
    is_free = not structure_reasons(network, station) and not law_reasons(network, row)
    return station.servers == 1 and station.discipline in INDIFFERENT and is_free
