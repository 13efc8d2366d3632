"""How fast the processor and the memory are right now: known work before and after a measurement.

Counters of the system name some causes of slow replications (`machine_watch`); this loop notices
also those without a counter: a lower clock, a neighbour on the same core or the same memory.

Invariant: the work is the same in every call, whatever was measured before.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt

PREFIX = "calibration_"
"""Begins the name of every counter of this module."""
KINDS = ("processor", "memory")
DISTURBED = 0.1
"""Share by which known work takes longer than at its fastest: from there on, a disturbance."""
_PASSES = 5
_HASHED_BYTES = 1 << 20
_COPIED_BYTES = 1 << 24
"""More than private caches hold, and copied in some milliseconds."""


@dataclass(slots=True)
class Calibrated:
    """The times before and after a block; complete when the block is over."""

    counters: dict[str, float] = field(default_factory=dict)

    def times_s(self) -> dict[str, list[float]]:
        """Return the times (s) of each kind: before, after."""
        return times_of(self.counters)


def times_of(counters: Mapping[str, float]) -> dict[str, list[float]]:
    """Return the times (s) of each kind before and after a run; empty if it was not calibrated."""
    return {
        kind: [counters[f"{PREFIX}{kind}_s_{when}"] for when in ("before", "after")]
        for kind in KINDS
        if f"{PREFIX}{kind}_s_after" in counters
    }


@contextmanager
def calibrated(*, reuse_s: float = 0.0) -> Iterator[Calibrated]:
    """Time the known work before and after the block.

    Parameters
    ----------
    reuse_s
        Times that this process took less than so long (s) ago count again: a block may be shorter
        than the known work.

    Examples
    --------
    >>> with calibrated() as around:
    ...     pass
    >>> sorted(around.times_s())
    ['memory', 'processor']
    """
    around = Calibrated()
    before = _recent(reuse_s)
    yield around
    after = _recent(reuse_s)
    around.counters = {
        f"{PREFIX}{kind}_s_{when}": times[kind]
        for when, times in (("before", before), ("after", after))
        for kind in KINDS
    }


def relative_times(passes: int = 40) -> dict[str, float]:
    """Return, for each kind of known work, its median time over its shortest.

    Parameters
    ----------
    passes
        How often the work is timed; each takes some milliseconds.

    Examples
    --------
    >>> all(ratio >= 1.0 for ratio in relative_times(5).values())
    True
    """
    rows = [_times_s() for _ in range(passes)]
    columns = {kind: [row[kind] for row in rows] for kind in KINDS}
    return {kind: median(times) / min(times) for kind, times in columns.items()}


_last: list[tuple[float, dict[str, float]]] = []
"""When the known work was timed last in this process, and its times."""


def _recent(reuse_s: float) -> dict[str, float]:
    if _last and perf_counter() - _last[0][0] < reuse_s:
        return _last[0][1]
    times = _times_s()
    _last[:] = [(perf_counter(), times)]
    return times


def _times_s() -> dict[str, float]:
    hashed, copied = _memory()
    return {
        "processor": _median_s(lambda: hashlib.sha256(hashed)),
        "memory": _median_s(lambda: np.copyto(copied[0], copied[1])),
    }


def _median_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_PASSES):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return median(times)


@cache
def _memory() -> tuple[bytes, npt.NDArray[np.uint8]]:
    return bytes(_HASHED_BYTES), np.ones((2, _COPIED_BYTES), dtype=np.uint8)
