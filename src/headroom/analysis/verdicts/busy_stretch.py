"""Periods in which a resource was saturated, even if it was not over the whole run.

A resource that is busy 75% of a day may be busy all the time from 11 to 13 h; the queue of those
hours is the answer that a reader needs. The taken share of each resource is examined interval by
interval, over all replications. Neighbouring intervals that reach `SATURATED` form a stretch.

Short intervals are noisy, and the largest of many noisy shares is biased upwards. So intervals are
joined until the standard error of a share, over all of them, is at most `SURE`. A resource that is
taken 85% of the time then exceeds 90% at random in fewer than one interval of 2,000.

Invariant: a stretch consists of whole intervals that all replications have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from headroom.analysis.run.time_windows import common_ends_s
from headroom.analysis.verdicts.culprits import SATURATED
from headroom.experiment.protocol.run import FloatArray, ResourceTable, Run

SURE = 0.015
"""Standard error that the taken share of an interval may have."""
MOST_JOINED = 8
"""Intervals that are joined at most: a twelfth of the run."""
_TAKEN = {"station": ("busy_s", "blocked_s", "down_s"), "pool": ("held_s",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A time (s) in which a resource was saturated, and the queue (job-seconds) meanwhile."""

    kind: Literal["station", "pool"]
    name: str
    from_s: float
    to_s: float
    queue_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    """Taken shares and queues of one kind: shape (replications, intervals, resources)."""

    kind: Literal["station", "pool"]
    names: tuple[str, ...]
    taken: FloatArray
    queues_s: FloatArray


def busy_stretches(runs: Sequence[Run]) -> list[Stretch]:
    """Return when which resources were saturated, that with the longest queue first.

    Parameters
    ----------
    runs
        Replications with intervals; without those nothing is found.
    """
    ends_s = common_ends_s(runs)
    if not ends_s:
        return []
    found = [
        stretch
        for kind in ("station", "pool")
        for shares, bounds_s in _joined(runs, kind, np.array(ends_s))
        for stretch in _stretches(shares, bounds_s)
    ]
    return sorted(found, key=lambda one: (-one.queue_s, one.from_s, one.name))


def _joined(
    runs: Sequence[Run], kind: Literal["station", "pool"], ends_s: FloatArray
) -> Iterator[tuple[_Shares, FloatArray]]:
    """Yield the shares in intervals as short as chance allows, with the bounds (s) of these."""
    group = 1
    while True:
        kept_s = _every(ends_s, group)
        shares = _shares(runs, kind, kept_s)
        if shares is None:
            return
        if group >= MOST_JOINED or _standard_error(shares.taken) <= SURE:
            yield shares, np.concatenate([[0.0], kept_s])
            return
        group *= 2


def _every(ends_s: FloatArray, group: int) -> FloatArray:
    """Return the end of every `group` intervals; the last one is always the end of all."""
    kept = ends_s[group - 1 :: group]
    return kept if kept.size and kept[-1] == ends_s[-1] else np.append(kept, ends_s[-1])


def _shares(
    runs: Sequence[Run], kind: Literal["station", "pool"], ends_s: FloatArray
) -> _Shares | None:
    tables = [_table(run, kind) for run in runs]
    first = tables[0]
    if first is None or any(table is None for table in tables):
        return None
    lengths_s = np.diff(ends_s, prepend=0.0)[:, None]
    rows = [_rows(run, ends_s) for run in runs]
    taken_s = np.array([
        sum(_gained(table.columns[name], kept) for name in _TAKEN[kind] if name in table.columns)
        for table, kept in zip(tables, rows, strict=True) if table is not None
    ])  # fmt: skip
    queues_s = np.array([
        _gained(table.columns["queue_s"], kept)
        for table, kept in zip(tables, rows, strict=True) if table is not None
    ])  # fmt: skip
    with np.errstate(invalid="ignore"):
        taken = taken_s / (first.capacity * lengths_s)
    known = np.isfinite(first.capacity) & (first.capacity > 0.0)
    return _Shares(
        kind=kind, names=first.names, taken=np.where(known, taken, 0.0), queues_s=queues_s
    )


def _table(run: Run, kind: str) -> ResourceTable | None:
    tables = () if run.intervals is None else run.intervals.tables
    return next((table for table in tables if table.kind == kind), None)


def _rows(run: Run, ends_s: FloatArray) -> npt.NDArray[np.int64]:
    """Return the rows of the tables of `run` that belong to `ends_s`."""
    if run.intervals is None:
        raise AssertionError("only runs with intervals have rows")
    return np.searchsorted(run.intervals.times_s, ends_s).astype(np.int64)


def _gained(column: FloatArray, rows: npt.NDArray[np.int64]) -> FloatArray:
    gained: FloatArray = np.diff(column[rows], axis=0, prepend=np.zeros((1, column.shape[1])))
    return gained


def _standard_error(taken: FloatArray) -> float:
    """Return the standard error of a mean share, over all intervals in which chance plays.

    A share near 0 or 1 hardly varies and would hide how much the others do. One replication shows
    no chance.
    """
    count = taken.shape[0]
    if count < 2:  # noqa: PLR2004 - a variance needs two
        return float("inf")
    means, variances = taken.mean(axis=0), taken.var(axis=0, ddof=1)
    plays = (means > 0.5) & (means < 0.99)  # noqa: PLR2004 - as documented
    if not plays.any():
        return 0.0
    per_resource = [
        float(variances[plays[:, place], place].mean())
        for place in range(taken.shape[2])
        if plays[:, place].any()
    ]
    return float(np.sqrt(max(per_resource) / count))


def _stretches(shares: _Shares, bounds_s: FloatArray) -> Iterator[Stretch]:
    taken, queues_s = shares.taken.mean(axis=0), shares.queues_s.mean(axis=0)
    for place, name in enumerate(shares.names):
        for first, last in _true_spans(taken[:, place] >= SATURATED):
            yield Stretch(
                kind=shares.kind,
                name=name,
                from_s=float(bounds_s[first]),
                to_s=float(bounds_s[last]),
                queue_s=float(queues_s[first:last, place].sum()),
            )


def _true_spans(flags: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield first and end of each run of true flags.

    Examples
    --------
    >>> list(_true_spans(np.array([True, False, True, True])))
    [(0, 1), (2, 4)]
    """
    padded = np.concatenate([[0], np.asarray(flags, dtype=np.int8), [0]])
    changes = np.flatnonzero(np.diff(padded))
    yield from zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True)


def queue_peak(runs: Sequence[Run], stretch: Stretch) -> float:
    """Return the longest queue of a stretch: the mean over replications of their longest."""
    peaks = [_longest(run, stretch) for run in runs]
    return float(np.mean(peaks))


def _longest(run: Run, stretch: Stretch) -> float:
    table = _table(run, stretch.kind)
    if run.intervals is None or table is None:
        raise AssertionError("only runs with intervals have stretches")
    times_s: FloatArray = run.intervals.times_s
    longest: Mapping[str, FloatArray] = run.intervals.queue_len_max
    inside = (times_s > stretch.from_s) & (times_s <= stretch.to_s)
    return float(longest[stretch.kind][inside, table.names.index(stretch.name)].max())
