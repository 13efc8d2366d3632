"""Stations of an open network that are solved as queues of their own, and what that settles.

A station that breaks down, or several of which jobs join the shortest, has no two-moment formula;
as a queue by itself it has a solution. In a network its arrivals are an approximation, alone none.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.shortest import SETTLED, shortest_response_s
from headroom.solvers.exact.single_queue import Single, single_queue
from headroom.solvers.network import INDIFFERENT, SHARED, Network
from headroom.solvers.reasons import Reason
from headroom.solvers.walk import Spread

MARKOV = 1e-9
SETTLES: Mapping[str, str] = {
    "breakdown": "known breakdown",
    "queue route": "shortest queue",
    "turns": "known turns",
    "wild arrivals": "known arrivals",
}
"""Kind of a reason -> the kind that it becomes where the stations that it names are solved."""


def singles_of(network: Network, variability: FloatArray) -> dict[int, Single]:
    """Return the answers for single stations, by row; `variability` is the c2 of their arrivals."""
    found: dict[int, Single] = {}
    if network.closed or network.pools:
        return found
    for column, class_ in enumerate(network.classes):
        for spread in class_.spreads:
            found |= (_shortest if spread.sample else _in_turn)(
                network, column, spread, variability
            )
    for row in network.queues:
        if row not in found and _needs_chain(network, row, float(variability[row])):
            single = single_queue(network, row, float(variability[row]))
            found |= {} if single is None else {row: single}
    return found


def _needs_chain(network: Network, row: int, c2: float) -> bool:
    """Return whether a formula for means would be no theorem here."""
    station, visits = network.stations[row], network.visits[row]
    if not visits.any():
        return False
    column = visits > 0
    is_markov = abs(c2 - 1.0) < MARKOV and not any(
        one.arrivals.reason for one, is_user in zip(network.classes, column, strict=True) if is_user
    )
    is_shared = station.discipline in SHARED and is_markov
    means = network.service_s[row][column]
    is_alike = np.ptp(means) < MARKOV * means.max()
    is_mgc = station.servers > 1 and not (
        is_alike and np.abs(network.service_c2[row][column] - 1.0).max() < MARKOV
    )
    has_patience = any(
        use.patience for one in network.classes for use in one.uses if use.station == station.name
    )
    is_roomy = np.isinf(station.places) or not station.rejects
    is_plain = station.breakdown is None and not has_patience and is_roomy
    return not (is_plain and (is_shared or (is_markov and not is_mgc)))


def _in_turn(
    network: Network, column: int, spread: Spread, variability: FloatArray
) -> dict[int, Single]:
    """Return stations that jobs come to in turn: every n-th arrival, so that n times add up."""
    rows = [row for row, one in enumerate(network.stations) if one.name in spread.stations]
    others = np.delete(network.visits[rows], column, axis=1)
    if others.any() or not np.allclose(network.visits[rows, column], spread.mass / len(rows)):
        return {}
    c2 = _together(variability, rows) / len(rows)
    found = {row: single_queue(network, row, c2) for row in rows}
    return {row: one for row, one in found.items() if one is not None}


def _together(variability: FloatArray, rows: Sequence[int]) -> float:
    """Return the c2 of what comes to several stations, of which each gets a random part."""
    return max(1.0 + (float(variability[rows].mean()) - 1.0) * len(rows), 0.0)


def _shortest(
    network: Network, column: int, spread: Spread, variability: FloatArray
) -> dict[int, Single]:
    rows = [row for row, one in enumerate(network.stations) if one.name in spread.stations]
    stations, class_ = [network.stations[row] for row in rows], network.classes[column]
    visits, others = network.visits[rows], np.delete(network.visits[rows], column, axis=1)
    means = network.service_s[rows, column]
    is_plain = all(
        one.servers == 1
        and one.discipline in INDIFFERENT
        and one.limit is None
        and np.isinf(one.places)
        and one.breakdown is None
        and one.batch == 1
        and not one.speeds
        for one in stations
    )
    is_alone = not others.any() and np.allclose(visits[:, column], spread.mass / len(rows))
    if not (is_plain and is_alone and np.ptp(means) <= MARKOV * means.max()):
        return {}
    rate, mean = class_.rate_per_s * spread.mass, float(means[0])
    found = shortest_response_s(len(rows), rate, mean, sample=spread.sample)
    if found is None or not found[1] < 10 * SETTLED:
        return {}
    arriving = _together(variability, rows)
    wait = (found[0] - mean) * (arriving + float(network.service_c2[rows, column].mean())) / 2.0
    name = "shortest queue by threshold jockeying"
    single = Single(wait_s=wait, jobs=rate / len(rows) * (wait + mean), name=name, is_exact=False)
    return dict.fromkeys(rows, single)


def _goes_on(network: Network, name: str) -> bool:
    queues = {network.stations[row].name for row in network.queues}
    return any(
        origin == name and target in queues and mass > 0
        for class_ in network.classes
        for (origin, target), mass in class_.flows.items()
    )


def settled(
    network: Network, reasons: Sequence[Reason], singles: Mapping[int, Single]
) -> list[Reason]:
    """Return the reasons, those that the answers for single stations settle with their new kind."""
    known = {network.stations[row].name for row in singles}
    # What follows a station that breaks down is flooded after each repair.
    solved = [f"station {name!r}:" for name in known if not _goes_on(network, name)]
    for class_ in network.classes:
        solved += [f"{one.location}:" for one in class_.spreads if known.issuperset(one.stations)]
    visited = [row for row in network.queues if network.visits[row].any()]
    if len(visited) == 1 and visited[0] in singles:
        solved += [f"class {one.name!r}:" for one in network.classes]
    return [
        Reason(SETTLES[one.kind], one.text.partition("; ")[0])
        if one.kind in SETTLES and one.text.startswith(tuple(solved))
        else one
        for one in reasons
    ]
