"""Open networks with stations that reject, by flow: each full station thins what follows.

Each station is solved with the arrivals that get there, and the flows with the shares that it
loses, in turn until both agree (the reduced load of Whitt 1985, AT&T Techn. J. 64(8), 1807-1856).
Arrivals behind a station that rejects are taken to be Poisson; behind one that is often full they
are smoother, so that too much is lost. Jobs that complete visit the stations of the way that lets
them through.
"""

from dataclasses import dataclass, replace

import numpy as np

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.product_form import structure_reasons
from headroom.solvers.exact.single_queue import single_queue
from headroom.solvers.network import Network
from headroom.solvers.walk import OUTSIDE

ROUNDS = 200
SETTLED = 1e-10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Thinned:
    """A network with the visits that jobs come to, and what becomes of them.

    `passing` has the share of each class that completes; `kept` the visits of one that does.
    """

    network: Network
    passing: FloatArray
    kept: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Routes:
    enter: FloatArray
    onward: FloatArray
    leave: FloatArray
    straight: float


def rejecting(network: Network) -> list[int]:
    """Return the rows of visited stations that may be full and then reject."""
    return [
        row
        for row, station in enumerate(network.stations)
        if network.visits[row].any()
        and any(reason.kind == "loss" for reason in structure_reasons(network, station))
    ]


def thinned(network: Network) -> Thinned | None:
    """Return an open network behind its losses; None without any, or if the flows do not tell."""
    full = rejecting(network)
    has_forks = any(class_.joins for class_ in network.classes)
    if not full or network.closed or network.pools or network.reasons or has_forks:
        return None
    routes = [_routes(network, column) for column in range(len(network.classes))]
    lost, found = np.zeros(len(network.stations)), network
    for _ in range(ROUNDS):
        size = np.eye(len(lost))
        visits = [
            np.linalg.solve((size - (1.0 - lost)[:, None] * one.onward).T, one.enter)
            for one in routes
        ]
        found = replace(network, visits=np.array(visits).T)
        following = lost.copy()
        for row in full:
            single = single_queue(found, row)
            if single is None:
                return None
            following[row] = single.lost
        change = float(np.abs(following - lost).max())
        lost = following
        if change < SETTLED:
            break
    passing, kept = [], []
    for one, come in zip(routes, found.visits.T, strict=True):
        goal = np.linalg.solve(size - one.onward * (1.0 - lost), one.leave)
        through = one.straight + float(one.enter * (1.0 - lost) @ goal)
        passing.append(through)
        kept.append(come * (1.0 - lost) * goal / max(through, 1e-300))
    found = _with_flows(network, found.visits * (1.0 - lost)[:, None], found)
    return Thinned(network=found, passing=np.array(passing), kept=np.array(kept).T)


def _with_flows(given: Network, served: FloatArray, found: Network) -> Network:
    """Return the network with the flows that are left of those of the given one."""
    safe = np.where(given.visits > 0, given.visits, 1.0)
    left = {OUTSIDE: np.ones(len(given.classes))}
    left |= {one.name: served[row] / safe[row] for row, one in enumerate(given.stations)}
    classes = [
        replace(one, flows={(origin, target): mass * float(left[origin][column])
                            for (origin, target), mass in one.flows.items()})
        for column, one in enumerate(given.classes)
    ]  # fmt: skip
    return replace(found, classes=tuple(classes))


def _routes(network: Network, column: int) -> _Routes:
    rows = {station.name: row for row, station in enumerate(network.stations)}
    enter, leave = np.zeros(len(rows)), np.zeros(len(rows))
    onward, straight = np.zeros((len(rows), len(rows))), 0.0
    for (origin, target), mass in network.classes[column].flows.items():
        if origin == OUTSIDE == target:
            straight += mass
        elif origin == OUTSIDE:
            enter[rows[target]] += mass
        else:
            share = mass / network.visits[rows[origin], column]
            if target == OUTSIDE:
                leave[rows[origin]] += share
            else:
                onward[rows[origin], rows[target]] += share
    return _Routes(enter, onward, leave, straight)
