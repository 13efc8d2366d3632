"""Pair the runs of two points: by their block, or by their seed.

Measured runs of one block are a pair if they ran next to each other in time, so that a drift of the
machine affects both. Runs with the same seed are a pair too: for example, a prediction that replays
the requests of a measurement.

Invariant: a run belongs to at most one pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOSTLY = 0.8
"""Share of blocks that must be intact for the runs to count as interleaved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfPoint:
    """One sound replication of a point: its number, its start and seed, and its metrics."""

    replication: int
    started_at: str
    values: Mapping[str, float]
    seed: int | None = None


def block_pairs(first: Sequence[RunOfPoint], other: Sequence[RunOfPoint]) -> list[tuple[int, int]]:
    """Return the places of runs that share a block and ran next to each other in time.

    Of the runs of two interleaved points, those of one block are neighbours; where a level was
    run later, or a failed replication was made good, they are not.
    """
    order = sorted(
        [(run.started_at, run.replication, 0, place) for place, run in enumerate(first)]
        + [(run.started_at, run.replication, 1, place) for place, run in enumerate(other)]
    )
    pairs = []
    for one, next_one in pairwise(order):
        if one[1] == next_one[1] and one[2] != next_one[2]:
            start, end = sorted((one, next_one), key=lambda entry: entry[2])
            pairs.append((start[3], end[3]))
    return pairs


def is_interleaved(intact: int, blocks: int) -> bool:
    """Return whether most blocks have both runs side by side."""
    return blocks > 0 and intact >= MOSTLY * blocks


def seed_pairs(first: Sequence[RunOfPoint], other: Sequence[RunOfPoint]) -> list[tuple[int, int]]:
    """Return the places of runs that had the same seed."""
    places = {run.seed: place for place, run in enumerate(other) if run.seed is not None}
    return [(place, places[run.seed]) for place, run in enumerate(first) if run.seed in places]
