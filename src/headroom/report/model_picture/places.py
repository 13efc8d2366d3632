"""Where each stop of a column stands: as straight as possible, never closer than asked for.

The sum over all links of weight times bend is minimised, where a bend costs as much as it is
high, but for the first pixels (pseudo-Huber, so that the best layout is unique and symmetric).
The distances between neighbours are the variables: bounds on them keep the room that is asked
for, and L-BFGS-B (Byrd, Lu, Nocedal and Zhu, 1995) never leaves its bounds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from headroom.report.model_picture.columns import Stop

_PASSING = 8.0
_MIXED = 2.0
_SOFT_PX = (16.0, 2.0)
_HOME = 1e-6
_STEPS_AT_MOST = 120

_Floats = npt.NDArray[np.float64]


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
    least = np.concatenate([_least(column, rooms, gap) for column in filled])
    stacks = _stacks([len(column) for column in filled])
    found = _straightest(least, stacks, _links(chains, number))
    return dict(zip(stops, found.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Links:
    """The two stops of each link, by number, and its weight."""

    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    weight: _Floats


def _links(chains: Iterable[Sequence[Stop]], number: Mapping[Stop, int]) -> _Links:
    """Return the links of all routes; where many meet, each of them weighs less."""
    links = [pair for chain in chains for pair in pairwise(chain)]
    fan_out, fan_in = Counter(left for left, _ in links), Counter(right for _, right in links)
    weights = [
        (1.0, _MIXED, _PASSING)[(left.edge >= 0) + (right.edge >= 0)]
        / max(fan_out[left], fan_in[right])
        for left, right in links
    ]
    return _Links(
        np.array([number[left] for left, _ in links], dtype=np.intp),
        np.array([number[right] for _, right in links], dtype=np.intp),
        np.array(weights, dtype=np.float64),
    )


def _least(column: Sequence[Stop], rooms: Mapping[Stop, Room], gap: float) -> _Floats:
    """Return the least distance of each stop from the one above it; the first is free."""
    gaps = [rooms[upper].below + rooms[lower].above + gap for upper, lower in pairwise(column)]
    return np.array([-np.inf, *gaps])


@dataclass(frozen=True, slots=True)
class _Stacks:
    """Columns as one array: of each stop the first and the last one of its column."""

    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]

    def places(self, steps: _Floats) -> _Floats:
        """Return the places from the steps between neighbours; a column's first step is a place."""
        total = np.cumsum(steps)
        return np.asarray(total - (total - steps)[self.first])

    def slopes(self, by_place: _Floats) -> _Floats:
        """Return the derivatives by steps from those by places."""
        total = np.cumsum(by_place)
        return np.asarray(total[self.last] - (total - by_place))


def _stacks(sizes: Sequence[int]) -> _Stacks:
    ends = np.cumsum(sizes)
    return _Stacks(np.repeat(ends - sizes, sizes), np.repeat(ends - 1, sizes))


def _straightest(least: _Floats, stacks: _Stacks, links: _Links) -> _Floats:
    """Return the places that bend the links least, found for soft bends first."""
    is_first = np.isneginf(least)
    steps = np.where(is_first, 0.0, least)
    spans = stacks.places(steps)[stacks.last]
    steps = np.where(is_first, -spans / 2, steps)
    home = stacks.places(steps)
    bounds = [(None if low == -np.inf else low, None) for low in least.tolist()]
    for soft_px in _SOFT_PX:
        best = minimize(
            _cost,
            steps,
            args=(stacks, links, home, soft_px),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _STEPS_AT_MOST},
        )
        steps = np.maximum(best.x, least)
    return stacks.places(steps)


def _cost(
    steps: _Floats, stacks: _Stacks, links: _Links, home: _Floats, soft_px: float
) -> tuple[float, _Floats]:
    """Return how bent all links are, and the derivatives of that."""
    place = stacks.places(steps)
    drop = place[links.left] - place[links.right]
    bent = np.sqrt(drop * drop + soft_px * soft_px)
    away = place - home
    pull = links.weight * drop / bent
    slope = 2 * _HOME * away
    slope += np.bincount(links.left, pull, place.size) - np.bincount(links.right, pull, place.size)
    cost = float((links.weight * bent).sum() + _HOME * (away * away).sum())
    return cost, stacks.slopes(slope)
