"""Change points of a series of results: where its level moved, with a stated error rate.

Likelihood and permutation have to agree on each change. `headroom.gate.drift` finds the changes
that noise with a memory does not explain, and among those the steps and pulses (results that leave
a level together, and come back) that no drift explains; the others are a drift, or steps too small
to be distinguished from one. Then the sums of results on both sides, without the changes found
before, are compared with those under permutation of the series: that test is exact for any
distribution of results that are exchangeable, and counts that places were searched.

A change of spread is sought in what is left, without its memory. If there is one, each side of it
is searched again by itself, for it has its own noise. A pattern of weekdays is taken out first, if
permutation shows that there is one.

E-divisive means (Matteson and James, 2014), which Otava and others use, takes drifts for steps, and
tests each of its steps at the full level. Penalised methods such as PELT have no error rate at all:
their penalty is a guess of the noise. `python -m benches.histories` puts them side by side.

Invariant: adding a constant to a series, or multiplying it, changes no place.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from headroom.analysis.statistics.two_samples import shift_between
from headroom.experiment.protocol.run import FloatArray
from headroom.gate.drift import (
    SHORTEST,
    WIDEST,
    levels_between,
    likely_items,
    usual_reach,
)
from headroom.gate.permuted import (
    FINEST,
    MARGIN,
    accidents,
    shares_of,
    surviving,
    without_weekdays,
)

LEVEL = 0.01
"""Probability that a series without a change shows one."""
_SPREAD = 0.3
"""Share of the level for a change of spread."""
_SHOWN = 1.6449
"""Autocorrelation, in its standard deviations without any, from which on noise has a memory."""


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
    found = _found(series, level)
    spread = _split(series, found, level)
    if spread is not None:  # Each part has a noise of its own.
        found = {place: one for place, one in found.items() if abs(place - spread[0]) < SHORTEST}
        for start, stop in ((0, spread[0]), (spread[0], series.size)):
            part = _found(series[start:stop], level * (stop - start) / series.size)
            found |= {start + place: one for place, one in part.items()}
    ends = [0, *sorted(found), series.size]
    return [
        _change(series[start:place], series[place:stop], place, found[place])
        for start, place, stop in zip(ends, ends[1:], ends[2:], strict=False)
    ]


def _found(series: FloatArray, level: float) -> dict[int, tuple[float, bool]]:
    """Return the changes of level with their p-values, and whether they are abrupt."""
    changed, abrupt = likely_items(series, level)
    steps = {place for item in abrupt for place in item}
    less = [
        tuple(place for place in item if all(abs(place - step) >= SHORTEST for step in steps))
        for item in changed
    ]
    items = surviving(series, [*abrupt, *filter(None, less)], level)
    return {place: (p_value, place in steps) for item, p_value in items for place in item}


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
    series = without_weekdays(np.asarray(values, dtype=np.float64), weekdays)
    found = {change.place: (change.p_value, change.is_step) for change in changes}
    split = _split(series, found, level)
    if split is None:
        return None
    rest = np.abs(series - levels_between(series, [*found]))
    place, p_value = split
    return Spread(
        place=place,
        before=float(rest[:place].mean()),
        after=float(rest[place:].mean()),
        p_value=p_value,
    )


def _split(
    series: FloatArray, found: Mapping[int, tuple[float, bool]], level: float
) -> tuple[int, float] | None:
    """Return where the scatter changes, with its p-value; None if permutation explains it."""
    rest = series - levels_between(series, sorted(found))
    centred = rest - rest.mean()
    memory = float(centred[1:] @ centred[:-1]) / max(float(centred @ centred), 1e-300)
    memory = memory if memory > _SHOWN / math.sqrt(rest.size) else 0.0
    place, p_value = _narrower(rest[1:] - memory * rest[:-1], _SPREAD * level)
    return None if p_value == 1.0 else (place + 1, p_value)


def _narrower(rest: FloatArray, level: float) -> tuple[int, float]:
    """Return the most likely place at which a spread changes, with its p-value; 1 if above."""
    squares = rest**2
    if rest.size < 2 * SHORTEST or not squares.any():
        return 0, 1.0
    sizes = np.arange(SHORTEST, rest.size - SHORTEST + 1)
    least = 1e-6 * squares.mean()  # Rounded values have no scatter at all.

    def gains(rows: FloatArray) -> FloatArray:
        sums = np.cumsum(rows, axis=1)
        before, total = sums[:, sizes - 1], sums[:, -1:]
        logs = sizes * np.log(before / sizes + least) + (rest.size - sizes) * np.log(
            (total - before) / (rest.size - sizes) + least
        )
        found: FloatArray = rest.size * math.log(squares.mean() + least) - logs
        return found

    observed = gains(squares[None, :])[0]
    place = int(np.argmax(observed))
    largest = float(observed[place])
    return place + SHORTEST, accidents(
        squares, largest, lambda rows: gains(rows).max(axis=1), level
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


def _change(before: FloatArray, after: FloatArray, place: int, found: tuple[float, bool]) -> Change:
    p_value, is_step = found
    change = Change(
        place=place,
        before=float(np.median(before)),
        after=float(np.median(after)),
        p_value=p_value,
        is_step=is_step,
    )
    if min(float(before.min()), float(after.min())) <= 0.0:
        return change
    shift = shift_between(np.log(after), np.log(before))
    low, high = (None if end is None else math.exp(end) for end in (shift.low, shift.high))
    return msgspec.structs.replace(change, ratio=math.exp(shift.value), low=low, high=high)


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
