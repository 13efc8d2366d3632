"""The height of each stop in a column: as straight as possible, never closer than required.

The sum over all links of weight times height is minimised subject to minimum distances between
neighbours: a linear program, as in Gansner, Koutsofios, North and Vo, *A Technique for Drawing
Directed Graphs* (1993). Among equally straight places, each stop then takes the middle.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from headroom.report.model_picture.columns import Stop

_PASSING = 8.0
_MIXED = 2.0
_HOME = 1e-3
_STRAIGHT_PX = 0.5
_CENTRINGS = 3
_ROUNDING = 1e-9

_Floats: TypeAlias = npt.NDArray[np.float64]
_Numbers: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Room:
    """What a stop needs: above and below the line of its routes, and across."""

    above: float
    below: float
    width: float


def heights(
    columns: Sequence[Sequence[Stop]],
    chains: Iterable[Sequence[Stop]],
    rooms: Mapping[Stop, Room],
    *,
    gap: float,
) -> dict[Stop, float]:
    """Return the height (px) at which the routes of each stop run.

    Parameters
    ----------
    columns
        Stops from top to bottom, column by column.
    chains
        The stops of each route.
    rooms
        What each stop needs.
    gap
        Least distance (px) between the rooms of neighbours.
    """
    filled = [column for column in columns if column]
    stops = [stop for column in filled for stop in column]
    number = {stop: place for place, stop in enumerate(stops)}
    if not stops:
        return {}
    apart = _apart(filled, rooms, number, gap)
    links = _links(chains, number)
    found = _straightest(apart, _home(filled, apart), links)
    return dict(zip(stops, _centred(found, apart, links).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Links:
    """The two stops of each link, by number, its weight, and whether it is one of several."""

    left: _Numbers
    right: _Numbers
    weight: _Floats
    is_fan: npt.NDArray[np.bool_]


def _links(chains: Iterable[Sequence[Stop]], number: Mapping[Stop, int]) -> _Links:
    """Return the links of all routes; where many fork or meet, each of them weighs less."""
    links = [pair for chain in chains for pair in pairwise(chain)]
    fan_out, fan_in = Counter(left for left, _ in links), Counter(right for _, right in links)
    fans = [max(fan_out[left], fan_in[right]) for left, right in links]
    weights = [
        (1.0, _MIXED, _PASSING)[(left.edge >= 0) + (right.edge >= 0)] / fan
        for (left, right), fan in zip(links, fans, strict=True)
    ]
    return _Links(
        np.array([number[left] for left, _ in links], dtype=np.intp),
        np.array([number[right] for _, right in links], dtype=np.intp),
        np.array(weights, dtype=np.float64),
        np.array(fans, dtype=np.intp) > 1,
    )


@dataclass(frozen=True, slots=True)
class _Apart:
    """Neighbours in a column, by number, and their least distance."""

    upper: _Numbers
    lower: _Numbers
    least: _Floats


def _apart(
    columns: Sequence[Sequence[Stop]],
    rooms: Mapping[Stop, Room],
    number: Mapping[Stop, int],
    gap: float,
) -> _Apart:
    pairs = [pair for column in columns for pair in pairwise(column)]
    least = [rooms[upper].below + rooms[lower].above + gap for upper, lower in pairs]
    return _Apart(
        np.array([number[upper] for upper, _ in pairs], dtype=np.intp),
        np.array([number[lower] for _, lower in pairs], dtype=np.intp),
        np.array(least, dtype=np.float64),
    )


def _home(columns: Sequence[Sequence[Stop]], apart: _Apart) -> _Floats:
    """Return the places of columns packed as closely as may be, each around height 0."""
    places = np.zeros(sum(map(len, columns)))
    places[apart.lower] = apart.least
    ends = np.cumsum([len(column) for column in columns])
    stacks = [np.cumsum(column) for column in np.split(places, ends[:-1])]
    return np.concatenate([column - column[-1] / 2 for column in stacks])


def _straightest(apart: _Apart, home: _Floats, links: _Links) -> _Floats:
    """Return the places that bend the links least, and then the stops off their `home` least."""
    count, wires = home.size, links.weight.size
    # Variables: the places, how high each link is, how far each stop is from its home.
    cost = np.concatenate([np.zeros(count), links.weight, np.full(count, _HOME)])
    places, heights_ = np.arange(count), count + np.arange(wires)
    away = count + wires + np.arange(count)
    rows = [
        _rows([(links.left, 1.0), (links.right, -1.0), (heights_, -1.0)], cost.size),
        _rows([(links.left, -1.0), (links.right, 1.0), (heights_, -1.0)], cost.size),
        _rows([(places, 1.0), (away, -1.0)], cost.size),
        _rows([(places, -1.0), (away, -1.0)], cost.size),
        _rows([(apart.upper, 1.0), (apart.lower, -1.0)], cost.size),
    ]
    limits = np.concatenate([np.zeros(2 * wires), home, -home, -apart.least])
    bounds = np.repeat([[-np.inf, np.inf], [0.0, np.inf]], [count, wires + count], axis=0)
    found = scipy.optimize.linprog(
        cost, A_ub=scipy.sparse.vstack(rows), b_ub=limits, bounds=bounds, method="highs-ds"
    )
    return np.asarray(home if found.x is None else found.x[:count], dtype=np.float64)


def _rows(terms: Sequence[tuple[_Numbers, float]], width: int) -> "scipy.sparse.csr_array":
    """Return constraints: row n is the sum of the n-th variable of each term times its factor."""
    height = terms[0][0].size
    columns = np.concatenate([numbers for numbers, _ in terms])
    factors = np.repeat([factor for _, factor in terms], height)
    return scipy.sparse.csr_array(
        (factors, (np.tile(np.arange(height), len(terms)), columns)), (height, width)
    )


def _centred(places: _Floats, apart: _Apart, links: _Links) -> _Floats:
    """Return the places with what forks or meets in the middle, where that is as straight.

    Stops on one straight line move together, and only as far as their neighbours leave room.
    """
    found = places.copy()
    block = _blocks(found, links)
    for _ in range(_CENTRINGS):
        for one in dict.fromkeys(block.tolist()):
            is_inside = block == one
            low, high = _tie(found, is_inside, links)
            shift = np.clip((low + high) / 2, *_room_to_move(found, is_inside, apart))
            if low < high:
                found[is_inside] += shift
    return found


def _blocks(places: _Floats, links: _Links) -> _Numbers:
    """Return for each stop the number of its block: the stops on one straight line."""
    block = np.arange(places.size)
    drop = np.abs(places[links.left] - places[links.right])
    for link in np.flatnonzero(~links.is_fan & (drop < _STRAIGHT_PX)).tolist():
        one, other = block[links.left[link]], block[links.right[link]]
        block[block == max(one, other)] = min(one, other)
    return block


def _tie(places: _Floats, is_inside: npt.NDArray[np.bool_], links: _Links) -> tuple[float, float]:
    """Return how far a block may move, up and down, at the least cost of its links to others."""
    leaves = is_inside[links.left] != is_inside[links.right]
    rise = places[links.right] - places[links.left]
    shifts = np.where(is_inside[links.left], rise, -rise)[leaves]
    weights = links.weight[leaves]
    if shifts.size == 0:
        return 0.0, 0.0
    order = np.argsort(shifts, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    low = int(np.searchsorted(reached, half * (1 - _ROUNDING)))
    high = int(np.searchsorted(reached, half * (1 + _ROUNDING), side="right"))
    return float(shifts[order[low]]), float(shifts[order[min(high, shifts.size - 1)]])


def _room_to_move(
    places: _Floats, is_inside: npt.NDArray[np.bool_], apart: _Apart
) -> tuple[float, float]:
    room = places[apart.lower] - places[apart.upper] - apart.least
    upper, lower = is_inside[apart.upper], is_inside[apart.lower]
    up, down = room[lower & ~upper], room[upper & ~lower]
    return -max(up.min(initial=np.inf), 0.0), max(down.min(initial=np.inf), 0.0)
