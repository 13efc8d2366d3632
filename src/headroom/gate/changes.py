"""Change points of a series of results: where its level moved, with a stated error rate.

Two tests have to agree on each step and each pulse (results that leave a level together, and come
back). `headroom.gate.drift` chooses them by likelihood, against any drift. Then the sums of results
on both sides, without the steps found before, are compared with those under permutation of the
series: that test is exact for any distribution of results that are exchangeable, and counts that
places were searched. It compares sizes, of which outliers have at most six deviations: three last
results beyond all others are as rare as their choice among all, where ranks could not tell them.

What is left between steps is split by the largest of Wilcoxon's statistics at all places, each part
at its share of the level by length. What that finds is a drift, or steps that are too small to be
distinguished from one. The same statistic of distances from the level finds a change of spread. A
pattern of weekdays is taken out first, if permutation shows that there is one.

E-divisive means (Matteson and James, 2014), which Otava and others use, takes drifts for steps, and
tests each of its steps at the full level. Penalised methods such as PELT have no error rate at all:
their penalty is a guess of the noise. `python -m benches.histories` puts them side by side.

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
from headroom.gate.drift import SHORTEST, WIDEST, abrupt_items, levels_between, usual_reach
from headroom.gate.permuted import (
    CHUNK,
    FINEST,
    MARGIN,
    SEED,
    permutations,
    shares_of,
    surviving,
    without_weekdays,
)

LEVEL = 0.01
"""Probability that a series without a change shows one."""
_MOVED, _SPREADS = 0.5, 0.2
"""Levels of what is no step, and of a change of spread, in levels of steps and pulses."""
_TAIL = 0.02
"""Share of the largest statistics that is kept: levels are smaller."""


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
    beside: list[str] = []
    """What else changed between the result before and this one: kernel, versions, ..."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the scatter of a series around its level."""

    place: int
    """Number (from 0) of the first result after it."""
    before: float
    """Typical distance (mean) from the level before it."""
    after: float
    p_value: float


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


def changes_of(
    values: Sequence[float], *, level: float = LEVEL, weekdays: Sequence[int] | None = None
) -> list[Change]:
    """Return the changes of a series in their order.

    Parameters
    ----------
    values
        Results in the order of time, one per session or commit.
    level
        Probability of a false alarm, for the whole series.
    weekdays
        Weekday (0 to 6) of each result; None: unknown.

    Examples
    --------
    >>> series = [10.1, 10.0, 9.9, 10.2, 10.0, 9.8, 10.1, 12.0, 12.2, 11.9, 12.1, 12.3, 12.0, 12.2]
    >>> change, = changes_of(series)
    >>> change.place, change.before, change.after, round(change.ratio, 2)
    (7, 10.0, 12.1, 1.21)
    >>> changes_of([10.0, 10.1, 9.9, 10.0])
    []
    """
    series = without_weekdays(np.asarray(values, dtype=np.float64), weekdays)
    items = surviving(series, abrupt_items(series, level), level)
    abrupt = {place: p_value for item, p_value in items for place in item}
    ends = [0, *sorted(abrupt), series.size]
    found = dict(abrupt)
    for start, stop in pairwise(ends):
        share = max(_MOVED * level * (stop - start) / max(series.size, 1), FINEST)
        part = series[start:stop]
        moved = _pruned(part, sorted(_splits(part, 0, share, share)), share)
        found |= {start + place: p_value for place, p_value in moved.items()}
    places = sorted(found)
    ends = [0, *places, series.size]
    return [
        _change(
            series[start:place], series[place:stop], place, found[place], is_step=place in abrupt
        )
        for start, place, stop in zip(ends, places, ends[2:], strict=False)
    ]


def pulses_of(changes: Sequence[Change]) -> list[tuple[Change, Change]]:
    """Return the beginnings and ends of pulses: most of a step is undone by the next one.

    Examples
    --------
    >>> series = [5.0, 5.1, 4.9, 5.05, 4.95, 5.2] * 3 + [9.0, 9.1, 9.2] + [5.0, 5.1, 4.9, 5.02] * 4
    >>> [(first.place, end.place) for first, end in pulses_of(changes_of(series))]
    [(18, 21)]
    """
    found: list[tuple[Change, Change]] = []
    for first, end in pairwise(changes):
        is_back = abs(end.after - first.before) < abs(first.after - first.before) / 2.0
        is_free = not found or found[-1][1] is not first
        if (
            is_back
            and is_free
            and first.is_step
            and end.is_step
            and end.place - first.place <= WIDEST
        ):
            found.append((first, end))
    return found


def spread_of(
    values: Sequence[float],
    changes: Sequence[Change],
    *,
    level: float = LEVEL,
    weekdays: Sequence[int] | None = None,
) -> Spread | None:
    """Return where the scatter around the levels of a series changed, None if it did not.

    Parameters
    ----------
    values, level, weekdays
        As of `changes_of`.
    changes
        What that found: around a drift no scatter is known.

    Examples
    --------
    >>> series = [5.0 + size * (-1) ** n for n in range(12) for size in (0.1 + n / 1e3,)]
    >>> series += [5.0 + size * (-1) ** n for n in range(12) for size in (0.4 + n / 1e3,)]
    >>> spread_of(series, []).place
    12
    """
    if len(values) < 2 * SHORTEST or not all(change.is_step for change in changes):
        return None
    series = without_weekdays(np.asarray(values, dtype=np.float64), weekdays)
    rest = np.abs(series - levels_between(series, [change.place for change in changes]))
    share = max(_SPREADS * level, FINEST)
    _, p_value = _best_split(rest, share)
    if p_value > share:
        return None
    sizes = np.arange(SHORTEST, rest.size - SHORTEST + 1)
    sums = np.cumsum(np.maximum(rest, 1e-300))
    means = sums[sizes - 1] / sizes, (sums[-1] - sums[sizes - 1]) / (rest.size - sizes)
    place = int(sizes[np.argmin(sizes * np.log(means[0]) + (rest.size - sizes) * np.log(means[1]))])
    return Spread(
        place=place,
        before=float(rest[:place].mean()),
        after=float(rest[place:].mean()),
        p_value=p_value,
    )


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
    (3, 3)
    """
    rest = length - max(places, default=0)
    share = shares_of(length, level)[0]
    for count in range(SHORTEST, rest - SHORTEST + 1):
        rarest = 2 * (len(places) + 1) / math.comb(length, count)
        if MARGIN * rarest <= share and count <= rest // 2:
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
    count = permutations(level)
    tail = _tail_of(ranks, count) if has_ties else _tail(series.size, count)
    return place + SHORTEST, _p_value(float(statistics[place]), tail, count)


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
    random = np.random.default_rng(SEED)
    rows = max(CHUNK // ranks.size, 1)
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
    11
    """
    length, level = 2 * SHORTEST, max(level, FINEST)
    while MARGIN * 2 / math.comb(length, length // 2) > shares_of(length, level)[0]:
        length += 1
    return length
