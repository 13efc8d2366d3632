"""Levels of memory in a curve of latency over size.

A chase in random order over B bytes finds a share min(1, C / B) of its words in a cache of C bytes,
if the cache keeps any of them with equal chances: pages lie anywhere, and caches that keep the
last-used lines exactly are rare. So the latency is

    y(B) = y1 + sum over levels k of d_k max(0, 1 - C_k / B),

a sum of steps with non-negative heights d_k: what the next level takes longer. Non-negative least
squares over a grid of sizes finds the few that count (Lawson and Hanson 1974); neighbours are one
level, and levels stay only if the Bayesian information criterion wants them (Schwarz 1978).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

FloatArray = npt.NDArray[np.float64]

_PER_OCTAVE = 6
"""Sizes of the grid for each doubling."""
_NEAR = 1.8
"""Ratio of two sizes up to which they are one level."""
_LEAST_STEP = 0.08
"""Height of a step, relative to the latency before it, below which it is none."""
_LEAST_ERROR = 0.01
"""Relative error that the formula itself is not better than."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A level's end.

    Parameters
    ----------
    bytes
        Its capacity (B).
    low, high
        Measured sizes (B) between which the curve leaves the level.
    height
        Time (s) that an access behind it takes longer.
    """

    bytes: float
    low: float
    high: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A latency curve as steps.

    Parameters
    ----------
    first
        Latency (s) of the nearest level.
    steps
        Ends of levels, ascending.
    error
        Root mean square of the relative residuals.
    """

    first: float
    steps: tuple[Step, ...]
    error: float

    def at(self, size: float) -> float:
        """Return the latency (s) at a size (B)."""
        return self.first + sum(
            step.height * max(0.0, 1.0 - step.bytes / size) for step in self.steps
        )


def fit_curve(
    sizes: Sequence[float], latencies: Sequence[float], scale: Sequence[float] | None = None
) -> Curve:
    """Return the steps of a curve, as few as explain it.

    Parameters
    ----------
    sizes
        Sizes (B), ascending, two or more.
    latencies
        Latency (s) at each, > 0.
    scale
        What errors are relative to, at each size; None: the latency.

    Examples
    --------
    >>> sizes = [2.0**k for k in range(12, 25)]
    >>> truth = [1e-9 + 9e-9 * max(0.0, 1 - 2**17 / size) for size in sizes]
    >>> curve = fit_curve(sizes, truth)
    >>> len(curve.steps), round(curve.steps[0].bytes / 2**17, 1), round(curve.first * 1e9, 1)
    (1, 1.0, 1.0)
    """
    x, y = np.asarray(sizes, dtype=float), np.asarray(latencies, dtype=float)
    data = _Data(x, y, y if scale is None else np.asarray(scale, dtype=float))
    octaves = math.log2(x[-1] / x[0])
    grid = x[0] * 2 ** np.linspace(0.0, octaves, max(int(octaves * _PER_OCTAVE), 1) + 1)[:-1]
    weights, _ = _solve(data, grid)
    ends = _joined(grid, weights)
    best = _refined(data, ends)
    while ends:
        fewer = min(
            (_refined(data, rest) for rest in itertools.combinations(ends, len(ends) - 1)),
            key=lambda one: one[2],
        )
        lowest = min(best[1] / np.maximum(_latency_before(best), 1e-30), default=1.0)
        if _criterion(fewer, len(x)) > _criterion(best, len(x)) and lowest >= _LEAST_STEP:
            break
        ends, best = list(fewer[0]), fewer
    capacities, heights, error, first = best
    return Curve(
        first=first,
        steps=tuple(_step(x, end, height) for end, height in zip(capacities, heights, strict=True)),
        error=error,
    )


@dataclass(frozen=True, slots=True)
class _Data:
    """Sizes, latencies, and what errors are relative to."""

    x: FloatArray
    y: FloatArray
    scale: FloatArray


_Solution = tuple[Sequence[float], FloatArray, float, float]
"""Capacities, heights, error, first latency."""


def _solve(data: "_Data", ends: npt.ArrayLike) -> tuple[FloatArray, float]:
    """Return first latency and heights for capacities, and the relative error."""
    shares = np.maximum(0.0, 1.0 - np.asarray(ends)[None, :] / data.x[:, None])
    table = np.column_stack([np.ones_like(data.x), shares]) / data.scale[:, None]
    values, residual = nnls(table, data.y / data.scale, maxiter=50 * table.shape[1])
    return values, float(residual) / math.sqrt(len(data.x))


def heights_at(
    sizes: Sequence[float], latencies: Sequence[float], ends: Sequence[float]
) -> tuple[float, list[float]]:
    """Return first latency and heights (s) of steps whose capacities (B) are known."""
    x, y = np.asarray(sizes, dtype=float), np.asarray(latencies, dtype=float)
    values, _ = _solve(_Data(x, y, y), ends)
    return float(values[0]), [float(value) for value in values[1:]]


def _joined(grid: FloatArray, values: FloatArray) -> list[float]:
    """Return the capacities that count, neighbours as one."""
    heights = values[1:]
    found: list[list[int]] = []
    for place in np.flatnonzero(heights > 0.0):
        if found and grid[place] <= _NEAR * grid[found[-1][-1]]:
            found[-1].append(int(place))
        else:
            found.append([int(place)])
    return [
        float(np.exp(np.average(np.log(grid[group]), weights=heights[group]))) for group in found
    ]


def _refined(data: "_Data", ends: Sequence[float]) -> _Solution:
    """Return the best solution near some capacities: each is moved in turn, closer and closer."""
    ends = list(ends)
    values, error = _solve(data, ends)
    for factor in (1.3, 1.15, 1.07, 1.03, 1.01):
        for place, _ in itertools.product(range(len(ends)), range(3)):
            for moved in (ends[place] * factor, ends[place] / factor):
                there = [*ends[:place], moved, *ends[place + 1 :]]
                found, wrong = _solve(data, there)
                if wrong < error and data.x[0] <= moved < data.x[-1]:
                    ends, values, error = there, found, wrong
    order = np.argsort(ends)
    return [ends[place] for place in order], values[1:][order], error, float(values[0])


def _latency_before(solution: _Solution) -> FloatArray:
    """Return the latency of the level before each step."""
    _, heights, _, first = solution
    return np.asarray(first + np.concatenate([[0.0], np.cumsum(heights)[:-1]]))[: len(heights)]


def _criterion(solution: _Solution, count: int) -> float:
    ends, _, error, _ = solution
    parameters = 1 + 2 * len(ends)
    return count * math.log(error**2 + _LEAST_ERROR**2) + parameters * math.log(count)


def _step(x: FloatArray, end: float, height: float) -> Step:
    below, above = x[x <= end], x[x > end]
    return Step(
        bytes=end,
        low=float(below[-1]) if below.size else 0.0,
        high=float(above[0]) if above.size else math.inf,
        height=float(height),
    )
