"""Markov chains of queues by levels (the number of jobs), exactly.

A chain whose levels differ by one at most (quasi-birth-death) is eliminated from the top level down
(Gaver, Jacobs and Latouche 1984, Adv. Appl. Prob. 16, 715-731). Where all levels beyond one are
alike, what is above them is the matrix R of Neuts (1981), found by logarithmic reduction (Latouche
and Ramaswami 1993, J. Appl. Prob. 30, 650-674).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.phases import stationary

ROUNDS = 80
"""Rounds of the logarithmic reduction at most: each doubles the number of levels that count."""
SETTLED = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Rates out of the phases of a level: one level up, within it, one level down."""

    up: FloatArray
    within: FloatArray
    down: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The stationary shares of each level; levels beyond the last follow by powers of `ratio`."""

    shares: Sequence[FloatArray]
    ratio: FloatArray | None

    @property
    def last(self) -> int:
        """The last level with shares of its own."""
        return len(self.shares) - 1

    def beyond(self) -> tuple[FloatArray, float]:
        """Return the shares by phase beyond the last level, and the mean number of levels there."""
        last = self.shares[-1]
        if self.ratio is None:
            return np.zeros_like(last), 0.0
        rest = np.eye(len(last)) - self.ratio
        above = np.asarray(np.linalg.solve(rest.T, self.ratio.T @ last), dtype=np.float64)
        return above, float(np.linalg.solve(rest.T, above).sum())

    @property
    def mean(self) -> float:
        """The mean level."""
        above, further = self.beyond()
        inside = sum(level * float(share.sum()) for level, share in enumerate(self.shares))
        return inside + self.last * float(above.sum()) + further


def ratio_of(level: Level) -> FloatArray:
    """Return R of a chain whose levels are all like this one; it must have a steady state."""
    size = len(level.within)
    inverse = np.linalg.inv(-level.within)
    up: FloatArray = np.asarray(inverse @ level.up, dtype=np.float64)
    down: FloatArray = np.asarray(inverse @ level.down, dtype=np.float64)
    first, product = down, up
    for _ in range(ROUNDS):
        both = np.eye(size) - up @ down - down @ up
        up = np.asarray(np.linalg.solve(both, up @ up), dtype=np.float64)
        down = np.asarray(np.linalg.solve(both, down @ down), dtype=np.float64)
        first = np.asarray(first + product @ down, dtype=np.float64)
        product = np.asarray(product @ up, dtype=np.float64)
        if np.abs(product).max() < SETTLED or np.abs(1.0 - first.sum(axis=1)).max() < SETTLED:
            break
    ratio = level.up @ np.linalg.inv(-(level.within + level.up @ first))
    return np.asarray(ratio, dtype=np.float64)


def solved(levels: Sequence[Level], *, is_endless: bool) -> Levels:
    """Return the steady state of a chain.

    Parameters
    ----------
    levels
        Level 0, 1, ...; the down rates of level 0 do not count.
    is_endless
        True if all levels beyond the last one are like it; else the last one is the top, and its up
        rates do not count.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> empty, busy = Level(0.5 * one, -0.5 * one, 0 * one), Level(0.5 * one, -1.5 * one, one)
    >>> round(solved([empty, busy], is_endless=True).mean, 12)
    1.0
    """
    last = levels[-1]
    ratio = ratio_of(last) if is_endless else None
    downs = [np.zeros_like(levels[0].within), *(level.down for level in levels[1:])]
    censored = last.within if ratio is None else last.within + ratio @ last.down
    steps: list[FloatArray] = []
    for place in range(len(levels) - 2, -1, -1):
        censored = _balanced(censored, downs[place + 1])
        steps.append(levels[place].up @ np.linalg.inv(-censored))
        censored = levels[place].within + steps[-1] @ downs[place + 1]
    censored = _balanced(censored, downs[0])
    shares = [stationary(censored)]
    for step in reversed(steps):
        shares.append(shares[-1] @ step)
        if (size := shares[-1].sum()) > 1e200:  # noqa: PLR2004 - before it overflows
            shares = [share / size for share in shares]
    found = Levels(shares, ratio)
    total = sum(float(share.sum()) for share in shares) + float(found.beyond()[0].sum())
    return Levels([share / total for share in shares], ratio)


def _balanced(censored: FloatArray, down: FloatArray) -> FloatArray:
    """Return the rates within a level, without those above, with exact sums.

    A phase is left for another one or for a level below, by rates that are all positive. Their
    difference with arrivals that are much faster would have no correct digit (Grassmann, Taksar and
    Heyman 1985, Oper. Res. 33, 1107-1116).
    """
    rates = censored - np.diag(np.diag(censored))
    return np.asarray(rates - np.diag(rates.sum(axis=1) + down.sum(axis=1)), dtype=np.float64)
