"""Tests by permutation: which steps and pulses are no accident of the order of results.

Under permutation a series without a change looks like itself, whatever the distribution of its
results. Each step or pulse in turn is compared with the largest of permuted series, without the
changes found before; so places count as searched, and one after the other keeps to the level.

Invariant: the same series gives the same answer; permutations are always the same ones.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from headroom.experiment.protocol.run import FloatArray
from headroom.gate.drift import SHORTEST, WIDEST, Item, levels_between, usual_reach

PERMUTATIONS = ((5e-4, 9_999), (0.0, 99_999))
"""Levels from which on, and permutations that resolve them."""
FINEST = 2e-5
"""Lowest level at which anything can be found: two in as many permutations."""
_LONG, _SHORT = (0.2, 0.5), (0.55, 0.15)
"""Shares of the level for steps and pulses; in short series three are neighbours by chance."""
_CLIP = 1.5
"""Size of an outlier in the test of sizes, in reaches of what is usual."""
_RESOLVED, _WORK = 4, 4_000_000
"""Permutations of a long series, in ones over the level, or results permuted in all."""
MARGIN = 1.2
"""Above the rarest arrangement: permutations are a sample."""
CHUNK = 1_000_000
SEED = 20_140_101
_WEEK, _WEEK_SHUFFLES = 7, 999


def without_weekdays(series: FloatArray, weekdays: Sequence[int] | None) -> FloatArray:
    """Return a series without the pattern of its weekdays, if it surely has one."""
    days = np.asarray(weekdays if weekdays is not None else [], dtype=int)
    if days.size != series.size or series.size < 3 * _WEEK or np.unique(days).size < 2:  # noqa: PLR2004 - else no pattern
        return series
    starts = np.clip(np.arange(series.size) - _WEEK // 2, 0, series.size - _WEEK)
    rest = series - np.array([series[start : start + _WEEK].mean() for start in starts])
    reach = usual_reach(rest)
    rest = np.clip(rest, -reach, reach) if reach else rest
    is_day = np.arange(_WEEK)[:, None] == days
    share = is_day / np.maximum(is_day.sum(axis=1, keepdims=True), 1)
    random = np.random.default_rng(SEED)
    shuffled = random.permuted(np.tile(rest, (_WEEK_SHUFFLES, 1)), axis=1)
    weight = is_day.sum(axis=1)

    def between(rows: FloatArray) -> FloatArray:
        found: FloatArray = (rows @ share.T) ** 2 @ weight
        return found

    if np.count_nonzero(between(shuffled) >= between(rest[None, :])[0]):
        return series
    pattern = np.array([np.median(rest[day]) if day.any() else 0.0 for day in is_day])
    plain: FloatArray = series - pattern[days] + pattern[days].mean()
    return plain


def permutations(level: float) -> int:
    """Return the permutations that resolve a level."""
    return next(count for least, count in PERMUTATIONS if level >= least)


def shares_of(length: int, level: float) -> tuple[float, float]:
    """Return the levels of steps and of pulses in a series of some length."""
    rarest = length / math.comb(length, SHORTEST) if length >= SHORTEST else 1.0
    step, pulse = _LONG if rarest <= _LONG[1] * level else _SHORT
    return step * level, pulse * level


def surviving(series: FloatArray, items: Sequence[Item], level: float) -> list[tuple[Item, float]]:
    """Return the items that permutation confirms in their order, with their p-values."""
    kept: list[tuple[Item, float]] = []
    step, pulse = shares_of(series.size, level)
    for item in items:
        places = sorted(place for one, _ in kept for place in one)
        p_value = _p_of(series, places, item, pulse if item[1:] else step)
        if p_value == 1.0 and item[1:]:  # No pulse, but two steps?
            ends = zip(([], item[:1]), item, strict=True)
            p_value = max(_p_of(series, sorted([*places, *a]), (b,), step) for a, b in ends)
        if p_value < 1.0:
            kept.append((item, p_value))
    return kept


def _p_of(series: FloatArray, places: Sequence[int], item: Item, share: float) -> float:
    """Return the p-value of an item beside the changes that are known, 1 if above a share."""
    rest = series - levels_between(series, places)
    reach = _CLIP * usual_reach(rest)
    rest = np.clip(rest, -reach, reach) if reach else rest
    ends = [0, *places, series.size]
    start, stop = next((a, b) for a, b in pairwise(ends) if a < item[0] < b)
    inside = [*range(item[0], item[1] if len(item) > 1 else stop)]
    part = rest[start:stop] - rest[start:stop].mean()
    size = float(rest[inside].sum() - len(inside) * rest[start:stop].mean())
    observed = size**2 / (len(inside) * (1.0 - len(inside) / part.size))
    arrangements = series.size if item[1:] else 2 * (len(places) + 1)
    rarest = arrangements / math.comb(series.size, len(inside))
    least = rarest if item[1:] else MARGIN * rarest
    if least > share:
        return 1.0
    p_value = accidents(
        rest, observed, lambda rows: _largest(rows, ends, is_pulse=len(item) > 1), share
    )
    return max(least, p_value)


def accidents(
    rest: FloatArray, observed: float, largest: Callable[[FloatArray], FloatArray], share: float
) -> float:
    """Return the share of permutations with as large a statistic, 1 if above a share."""
    count, above = permutations(share), 0
    count = min(count, max(math.ceil(_RESOLVED / share), _WORK // rest.size))
    random = np.random.default_rng(SEED)
    rows = max(min(CHUNK // (4 * rest.size), 1_000), 1)
    for first in range(0, count, rows):
        shuffled = random.permuted(np.tile(rest, (min(rows, count - first), 1)), axis=1)
        above += int(np.count_nonzero(largest(shuffled) >= observed * (1.0 - 1e-9)))
        if above > share * (1 + count):
            return 1.0
    return (1 + above) / (1 + count)


def _largest(rows: FloatArray, ends: Sequence[int], *, is_pulse: bool) -> FloatArray:
    """Return for each row the largest weight of a step, or of a pulse, between changes."""
    found = np.zeros(len(rows))
    for start, stop in pairwise(ends):
        size = stop - start
        if size < 2 * SHORTEST:
            continue
        part = rows[:, start:stop] - rows[:, start:stop].mean(axis=1, keepdims=True)
        sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(part, axis=1)], axis=1)
        widths = np.arange(SHORTEST, size - SHORTEST + 1)
        if not is_pulse:
            weight = sums[:, widths] ** 2 / (widths * (1.0 - widths / size))
            found = np.maximum(found, weight.max(axis=1))
            continue
        for width in widths[widths <= WIDEST]:
            inside = sums[:, width:] - sums[:, :-width]
            weight = (inside**2).max(axis=1) / (width * (1.0 - width / size))
            found = np.maximum(found, weight)
    return found
