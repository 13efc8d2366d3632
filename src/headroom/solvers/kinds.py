"""How far the laws, forks and pools of a network are from what the approximations assume."""

from collections.abc import Iterator, Mapping, Sequence

from headroom.solvers.arrivals import Arrivals
from headroom.solvers.network import Network
from headroom.solvers.reasons import Reason
from headroom.solvers.walk import Join, Section

MOST_ARRIVAL_C2 = 4.0
MOST_C2 = {"stations": 2.0, "open": 6.0, "closed": 25.0}
"""Squared coefficients of variation up to which two moments tell enough of a law: for the times at
single stations, and for those of the walks of open and closed classes."""
MOST_MEANS = {"closed": 6.0, "pools": 2.0}
"""Ratio of means at a station up to which closed classes, or those of pools, may differ."""
CARRIED_C2 = 0.25
"""Variability of a carried number below which it does not matter how often it is drawn."""
LEAST_ARM_C2 = 0.5
"""Variability of an arm from which it is near enough to an exponential one."""


def arrival_kind(arrivals: Arrivals) -> str:
    """Return the kind of reason that arrivals are."""
    is_tame = arrivals.is_renewal and arrivals.c2 <= MOST_ARRIVAL_C2
    return "renewal arrivals" if is_tame else "wild arrivals"


def law_kind(network: Network, row: int) -> str:
    """Return the kind of reason that the service times at a station are."""
    c2 = network.service_c2[row].max()
    if c2 > MOST_C2["closed" if network.closed else "open"]:
        return "wild law"
    comes_back = network.visits[row].max() > 1
    if LEAST_ARM_C2 <= c2 <= MOST_C2["stations"]:
        return "law"
    return "repeated law" if network.open and comes_back else "uneven law"


def means_kind(network: Network, means: Sequence[float]) -> str:
    """Return the kind of reason that different means at one station are."""
    most = MOST_MEANS["pools" if network.pools else "closed"]
    is_alike = max(means) <= most * min(means) or not (network.closed or network.pools)
    return "means" if is_alike else "wild means"


def carried_reasons(network: Network) -> Iterator[Reason]:
    """Yield open classes that draw a number once and take several times of it."""
    carried = [reason.text for reason in network.reasons if reason.kind == "attribute"]
    lines = {text.rpartition(": ")[0] for text in carried}
    for class_ in network.classes:
        uses = [use for use in class_.uses if use.location in lines]
        if class_.is_open and sum(use.mass for use in uses if use.service.c2 > CARRIED_C2) > 1:
            yield Reason(
                "carried times",
                f"class {class_.name!r}: several times follow one number that a job carries; here "
                "each is drawn for itself",
            )


def pool_reasons(network: Network) -> Iterator[Reason]:
    """Yield each pool, and what makes flow-equivalent servers unsafe for it."""
    is_plain = all(use.service.is_exponential for one in network.classes for use in one.uses)
    for pool in network.pools:
        users = [class_ for class_ in network.classes if pool in class_.holds]
        what = f"{users[0].holds[pool].location}: jobs hold and wait for tokens of pool {pool!r}"
        yield Reason("pool" if is_plain else "pool and law", what)
    paths: dict[tuple[str, ...], set[str]] = {}
    for class_ in network.classes:
        for path, part in class_.parts.items():
            held = tuple(pool for pool in path if pool in network.pools)
            paths.setdefault(held, set()).update(part.visits)
            if len(held) > 1:
                what = f"pool {held[-1]!r} is acquired while tokens of {held[-2]!r} are held"
                yield Reason("nested pools", what)
    queues = [network.stations[row].name for row in network.queues]
    for name in queues:
        if sum(name in visited for visited in paths.values()) > 1:
            what = f"station {name!r} is used with and without a token, or with different ones"
            yield Reason("pool and station", what)


def fork_reasons(network: Network) -> Iterator[Reason]:
    """Yield forks whose arms are far from independent exponential ones."""
    rows = {station.name: row for row, station in enumerate(network.stations)}
    for column, class_ in enumerate(network.classes):
        for join in _joins(class_.whole):
            why = _why_far(network, join, rows, column)
            if why and join.quorum:
                yield Reason("uneven fork", f"{join.location}: {why}")


def _joins(section: Section) -> Iterator[Join]:
    for join in section.joins:
        yield join
        for arm in join.arms:
            yield from _joins(arm)


def _why_far(network: Network, join: Join, rows: Mapping[str, int], column: int) -> str:
    if join.quorum < len(join.arms):
        return "a fork waits for some of its arms only"
    visited = [name for arm in join.arms for name in arm.visits]
    queues = [name for name in visited if not network.stations[rows[name]].is_delay]
    if len(queues) > len(set(queues)):
        return "several arms of a fork meet at one station"
    for arm in join.arms:
        mean = (arm.delay + sum(arm.work.values())) / join.mass
        variance = (
            sum(
                visits * network.service_c2[row, column] * network.service_s[row, column] ** 2
                for name, visits in arm.visits.items()
                for row in [rows[name]]
            )
            / join.mass
        )
        if variance < LEAST_ARM_C2 * mean**2:
            return "arms of a fork vary less than the exponential ones that stand for them"
    return ""
