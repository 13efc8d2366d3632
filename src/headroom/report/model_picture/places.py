"""Where each stop of a column stands: as straight as possible, never closer than asked for.

Within a column the places nearest to what each stop would like, in the sense of least squares and
with a least distance between neighbours, are an isotonic regression: pool adjacent violators
(Ayer, Brunk, Ewing, Reid and Silverman, 1955) solves it exactly.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroom.report.model_picture.columns import Stop

_SWEEPS = 30
_PASSING = 4.0
_MIXED = 2.0
_LOOSE = 0.01


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
    """Return the height (px) at which the routes of each stop run."""
    before: dict[Stop, list[tuple[Stop, float]]] = defaultdict(list)
    after: dict[Stop, list[tuple[Stop, float]]] = defaultdict(list)
    links = [pair for chain in chains for pair in itertools.pairwise(chain)]
    fan_out, fan_in = Counter(left for left, _ in links), Counter(right for _, right in links)
    for left, right in links:
        # Where many routes meet, each of them follows its other end.
        weight = _weight(left, right) / max(fan_out[left], fan_in[right])
        before[right].append((left, weight))
        after[left].append((right, weight))
    gaps = [_gaps(column, rooms, gap) for column in columns]
    found: dict[Stop, float] = {}
    for column, least in zip(columns, gaps, strict=True):
        found.update(zip(column, _stacked(least), strict=False))
    order = list(range(len(columns)))
    for sweep in range(_SWEEPS):
        side = [before, after][sweep % 2]
        for place in order if sweep % 2 == 0 else reversed(order):
            _settle(columns[place], gaps[place], [side], found)
    for sweep in range(_SWEEPS):
        for place in order if sweep % 2 == 0 else reversed(order):
            _settle(columns[place], gaps[place], [before, after], found)
    return found


def _weight(left: Stop, right: Stop) -> float:
    passing = (left.edge >= 0) + (right.edge >= 0)
    return (1.0, _MIXED, _PASSING)[passing]


def _gaps(column: Sequence[Stop], rooms: Mapping[Stop, Room], gap: float) -> list[float]:
    """Return the least distance of each stop from the one above it."""
    pairs = itertools.pairwise(column)
    return [rooms[upper].below + rooms[lower].above + gap for upper, lower in pairs]


def _stacked(gaps: Sequence[float]) -> list[float]:
    places = [0.0]
    for gap in gaps:
        places.append(places[-1] + gap)
    return [place - places[-1] / 2 for place in places]


def _settle(
    column: Sequence[Stop],
    gaps: Sequence[float],
    links: Sequence[Mapping[Stop, Sequence[tuple[Stop, float]]]],
    found: dict[Stop, float],
) -> None:
    wanted, weights = [], []
    for stop in column:
        linked = [pair for link in links for pair in link.get(stop, ())]
        weight = sum(one for _, one in linked)
        mean = sum(found[other] * one for other, one in linked) / weight if weight else found[stop]
        wanted.append(mean)
        weights.append(weight or _LOOSE)
    found.update(zip(column, spread(wanted, weights, gaps), strict=True))


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the places nearest to `wanted` that keep at least `gaps` between neighbours.

    Parameters
    ----------
    wanted, weights
        Where each would like to stand, and how much that matters (> 0).
    gaps
        Least distance between each and the next, one fewer than places.

    Examples
    --------
    >>> spread([0.0, 0.0, 10.0], [1.0, 1.0, 1.0], [4.0, 4.0])
    [-2.0, 2.0, 10.0]
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []
    for place, weight, offset in zip(wanted, weights, offsets, strict=False):
        level, mass, count = place - offset, weight, 1
        while blocks and blocks[-1][0] > level:
            upper, heavier, more = blocks.pop()
            level = (level * mass + upper * heavier) / (mass + heavier)
            mass, count = mass + heavier, count + more
        blocks.append((level, mass, count))
    levels = [level for level, _, count in blocks for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets, strict=False)]
