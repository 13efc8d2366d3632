"""Change points of a series of results: where its level moved, with a stated error rate.

For every place to split a series, the ranks of both sides are compared by Wilcoxon's statistic; the
largest standardised value over all places is compared with its distribution under permutation of
the series. That distribution depends on the length alone, so the test is exact for any distribution
of results that are exchangeable, and counts that the place was searched for. Where a change is
found, both sides are tested again, each at its share of the level by length: a series without a
change shows one with the probability `level`, whatever its length. At the end each change is tested
once more between its neighbours.

E-divisive means (Matteson and James, 2014), which Otava and others use, compares distances instead:
it also sees changes of the spread, but one outlier moves it, and each of its steps is tested at
the full level. Penalised methods such as PELT have no error rate at all: their penalty is a guess
of the noise.

Results that depend on those before them (a machine that ages) are not exchangeable, and such series
have changes of level without any step. `headroom.gate.drift` says which changes are abrupt; the
others are a drift, or steps that are too small to be distinguished from one.

Invariant: adding a constant to a series, or multiplying it, changes no place.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec
import numpy as np

from headroom.analysis.statistics.two_samples import shift_between
from headroom.experiment.protocol.run import FloatArray
from headroom.gate.drift import abrupt_places, levels_between, usual_reach

LEVEL = 0.01
"""Probability that a series without a change shows one."""
SHORTEST = 3
"""Fewest results on each side of a change: one outlier is none."""
_PERMUTATIONS = ((5e-4, 9_999), (5e-5, 99_999), (0.0, 999_999))
"""Levels from which on, and permutations that resolve them."""
FINEST = 1e-6
"""Lowest level at which anything can be found: one in as many permutations."""
_TAIL = 0.02
"""Share of the largest statistics that is kept: levels are smaller."""
_CHUNK = 1_000_000
_SEED = 20_140_101


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the level of a series."""

    place: int
    """Number (from 0) of the first result after it."""
    before: float
    """Median of the results since the change before, or the start."""
    after: float
    """Median of the results up to the next change, or the end."""
    ratio: float | None = None
    """Typical ratio after / before with its 95% interval; None if a value is not above zero."""
    low: float | None = None
    high: float | None = None
    p_value: float
    """Of no change between its neighbours."""
    is_step: bool = True
    """Whether it is abrupt; else a drift explains it as well."""


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring results that lie outside the others, and are too few to be a change."""

    first: int
    """Number (from 0) of the first of them."""
    count: int
    value: float
    """Their median."""
    usual: float
    """Median of the stretch between changes that they are in."""

    @property
    def distance(self) -> float:
        """Distance from what is usual."""
        return abs(self.value - self.usual)


def changes_of(values: Sequence[float], *, level: float = LEVEL) -> list[Change]:
    """Return the changes of a series in their order.

    Parameters
    ----------
    values
        Results in the order of time, one per session or commit.
    level
        Probability of a false alarm, for the whole series.

    Examples
    --------
    >>> series = [10.1, 10.0, 9.9, 10.2, 10.0, 9.8, 10.1, 12.0, 12.2, 11.9, 12.1, 12.3, 12.0, 12.2]
    >>> change, = changes_of(series)
    >>> change.place, change.before, change.after, round(change.ratio, 2)
    (7, 10.0, 12.1, 1.21)
    >>> changes_of([10.0, 10.1, 9.9, 10.0])
    []
    """
    series = np.asarray(values, dtype=np.float64)
    found = _pruned(series, sorted(_splits(series, 0, level, level)), level)
    places = sorted(found)
    steps = abrupt_places(series, places, level)
    ends = [0, *places, series.size]
    return [
        _change(
            series[start:place], series[place:stop], place, found[place], is_step=place in steps
        )
        for start, place, stop in zip(ends, places, ends[2:], strict=False)
    ]


def results_after(length: int, places: Sequence[int], *, level: float) -> int | None:
    """Return from how many results after it on a step could have been seen, None if never.

    Its smallest possible p-value, that of a step to values beyond all since the change before,
    has to reach the level.

    Parameters
    ----------
    length, places
        Number of results of the series, and the places of the changes found.
    level
        As of `changes_of`.

    Examples
    --------
    >>> results_after(24, [], level=0.01), results_after(24, [18], level=0.01)
    (4, None)
    """
    rest = length - max(places, default=0)
    share = level * rest / length
    permutations = _permutations(share)
    for count in range(SHORTEST, rest // 2 + 1):
        largest = math.sqrt(3.0 * count * (rest - count) / (rest + 1.0))
        if _p_value(largest, _tail(rest, permutations), permutations) <= share:
            return count
    return None


def outside_of(values: Sequence[float], places: Sequence[int], after: int | None) -> list[Outside]:
    """Return outliers, and last results beyond all others and too few for a step, as runs.

    Parameters
    ----------
    values, places
        Results in the order of time, and the places of the changes found.
    after
        As of `results_after`.

    Examples
    --------
    >>> series = [10.1, 10.0, 9.9, 10.2, 10.0, 9.8, 14.0, 14.1, 10.0, 9.9, 10.1, 10.2, 11.0, 11.1]
    >>> [(one.first, one.count, one.value) for one in outside_of(series, [], 5)]
    [(6, 2, 14.05), (12, 2, 11.05)]
    """
    series = np.asarray(values, dtype=np.float64)
    if after is None and not places:
        return []
    levels = levels_between(series, places)
    rounding = 1e-9 * np.abs(levels)
    is_outside = np.abs(series - levels) > usual_reach(series - levels) + rounding
    stretch = series[max(places, default=0) :]
    for count in range(2, min(after or stretch.size, stretch.size // 2 + 1)):
        rest, last = stretch[:-count], stretch[-count:]
        if last.min() > rest.max() or last.max() < rest.min():
            is_outside[-count:] = True
    edges = np.flatnonzero(np.diff(np.r_[False, is_outside, False]))
    return [
        Outside(
            first=int(first),
            count=int(end - first),
            value=float(np.median(series[first:end])),
            usual=float(levels[first]),
        )
        for first, end in edges.reshape(-1, 2)
    ]


def _splits(series: FloatArray, offset: int, share: float, level: float) -> Iterator[int]:
    """Yield the places at which a stretch splits, at its share of the level."""
    if series.size < 2 * SHORTEST:
        return
    place, p_value = _best_split(series, share)
    if p_value > share:
        return
    yield offset + place
    for part, start in ((series[:place], 0), (series[place:], place)):
        yield from _splits(part, offset + start, share * part.size / series.size, level)


def _pruned(series: FloatArray, places: list[int], level: float) -> dict[int, float]:
    """Return the places that are changes between their neighbours, moved to the best split there.

    The first split of several steps may lie between them; it is no change once they are known.
    """
    seen: set[tuple[int, ...]] = set()
    while places:
        seen.add(tuple(places))
        ends = [0, *places, series.size]
        tested = []
        for start, stop in zip(ends, ends[2:], strict=False):
            share = level * (stop - start) / series.size
            place, p_value = _best_split(series[start:stop], share)
            tested.append((p_value / share, start + place, p_value))
        worst = max(tested)
        if worst[0] > 1.0:
            del places[tested.index(worst)]
            continue
        moved = [place for _, place, _ in tested]
        if tuple(moved) in seen or not _are_apart(moved, series.size):
            return dict(zip(places, (p for _, _, p in tested), strict=True))
        places = moved
    return {}


def _are_apart(places: Sequence[int], length: int) -> bool:
    """Return whether every stretch between places is long enough to be tested."""
    ends = [0, *places, length]
    return all(stop - start >= SHORTEST for start, stop in pairwise(ends))


def _best_split(series: FloatArray, level: float) -> tuple[int, float]:
    """Return the most likely place of a change, and its p-value."""
    ranks = _ranks(series)
    statistics = _standardised(ranks[None, :])[0]
    place = int(np.argmax(statistics))
    has_ties = np.unique(series).size < series.size
    count = _permutations(level)
    tail = _tail_of(ranks, count) if has_ties else _tail(series.size, count)
    return place + SHORTEST, _p_value(float(statistics[place]), tail, count)


def _permutations(level: float) -> int:
    return next(count for least, count in _PERMUTATIONS if level >= least)


def _p_value(largest: float, tail: FloatArray, count: int) -> float:
    """Return the p-value of a statistic from the largest ones of `count` permutations."""
    if largest + 1e-9 < tail[0]:
        return 1.0
    return (1 + int(np.count_nonzero(tail >= largest - 1e-9))) / (1 + count)


def _ranks(series: FloatArray) -> FloatArray:
    """Return ranks from 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(series, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    mean_ranks: FloatArray = (ends - (counts - 1) / 2.0)[places]
    return mean_ranks


def _standardised(ranks: FloatArray) -> FloatArray:
    """Return the size of Wilcoxon's statistic at each split; shape (rows, places)."""
    length = ranks.shape[1]
    before = np.arange(SHORTEST, length - SHORTEST + 1)
    sums = np.cumsum(ranks, axis=1)[:, before - 1]
    spread = np.sqrt(before * (length - before) * (length + 1) / 12.0)
    found: FloatArray = np.abs(sums - before * (length + 1) / 2.0) / spread
    return found


@lru_cache(maxsize=1024)
def _tail(length: int, count: int) -> FloatArray:
    return _tail_of(np.arange(1.0, length + 1.0), count)


def _tail_of(ranks: FloatArray, count: int) -> FloatArray:
    """Return the largest of the statistics of many permutations, always the same ones."""
    random = np.random.default_rng(_SEED)
    rows = max(_CHUNK // ranks.size, 1)
    parts = []
    for start in range(0, count, rows):
        tiled = np.tile(ranks, (min(rows, count - start), 1))
        parts.append(_standardised(random.permuted(tiled, axis=1)).max(axis=1))
    tail: FloatArray = np.sort(np.concatenate(parts))[-math.ceil(_TAIL * count) :]
    return tail


def _change(
    before: FloatArray, after: FloatArray, place: int, p_value: float, *, is_step: bool
) -> Change:
    found = Change(
        place=place,
        before=float(np.median(before)),
        after=float(np.median(after)),
        p_value=p_value,
        is_step=is_step,
    )
    if min(float(before.min()), float(after.min())) <= 0.0:
        return found
    shift = shift_between(np.log(after), np.log(before))
    low, high = (None if end is None else math.exp(end) for end in (shift.low, shift.high))
    return msgspec.structs.replace(found, ratio=math.exp(shift.value), low=low, high=high)


def fewest_results(level: float = LEVEL) -> int:
    """Return the number of results with which a change can be found at all.

    Examples
    --------
    >>> fewest_results()
    10
    """
    length = 2 * SHORTEST
    level = max(level, FINEST)
    while _best_split(np.arange(float(length)), level)[1] > level:
        length += 1
    return length
