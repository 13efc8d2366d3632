"""The survey behind `headroom memory probe`: all measurements of the map, within a time.

Invariant: the passes over all sizes follow each other, so that a disturbance of a second spoils one
value of each size at most.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from headroom.memory import native
from headroom.memory.here import allowed_cpus
from headroom.systems.memory_probe.fit import FEWEST_SIZES, machine_curves
from headroom.systems.memory_probe.levels import Curve
from headroom.systems.memory_probe.stated import StatedCache, memory_bytes, stated_caches

SMALLEST = 4096
PASSES = 3
DISTURBED = 1.25
"""Ratio of the slowest to the fastest pass from which a value counts as disturbed."""
_ROUNDS, _ROUND_S = 5, 0.001
_JOINED = 0.9
_LARGEST = 512 << 20
_QUICK_LARGEST = 64 << 20
_MOST_PAIRS = 28
CHAINS = (1, 2, 4, 8, 16)
PAGES = "pages"
"""Key of the latencies of chases with one line in each page, by the number of pages."""
_STRIDE = 4096 + 64
"""Bytes (B) from line to line in these: another set of the cache each time."""
_MOST_PAGES = 1 << 13


@dataclass(slots=True)
class Value:
    """One value of the map: the fastest pass, and the slowest.

    Parameters
    ----------
    passes
        What each pass measured.
    is_rate
        Whether more is better: then the largest counts.
    """

    passes: list[float] = field(default_factory=list)
    is_rate: bool = False

    @property
    def best(self) -> float:
        """The pass that was disturbed least."""
        return max(self.passes) if self.is_rate else min(self.passes)

    @property
    def is_disturbed(self) -> bool:
        """Whether most passes were much slower than the best one."""
        middle = _middle(self.passes)
        return max(middle, self.best) > DISTURBED * min(middle, self.best)

    def to_data(self) -> dict[str, Any]:
        """Return the value for programs."""
        return {"value": self.best, "passes": self.passes, "disturbed": self.is_disturbed}


@dataclass(slots=True, kw_only=True)
class Survey:
    """All that was measured.

    Parameters
    ----------
    cpu
        Processor of the chases.
    latency
        Kind of pages to size (B) to latency (s); ``small`` and, if there are any, ``huge``. Also
        `PAGES`: number of pages to latency with one line in each.
    chains
        Number of chases at once to the time (s) of an access at the largest size.
    bandwidth
        Operation and threads to bytes per second.
    hand_over
        Pair of processors to the time (s).
    counters
        Counter to its events in an access at the largest size, or why there are none.
    missing
        What could not be measured, and why.
    """

    cpu: int
    stated: Sequence[StatedCache]
    latency: dict[str, dict[int, Value]] = field(default_factory=dict)
    chains: dict[int, Value] = field(default_factory=dict)
    bandwidth: dict[tuple[str, int], Value] = field(default_factory=dict)
    hand_over: dict[tuple[int, int], Value] = field(default_factory=dict)
    counters: dict[str, float | str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    taken_s: float = 0.0

    def curve(self, pages: str) -> dict[float, float]:
        """Return size to latency of the best passes."""
        return {float(size): one.best for size, one in self.latency.get(pages, {}).items()}

    def curves(self) -> tuple[Curve | None, Curve | None]:
        """Return the steps of caches and of TLBs; None where there are too few sizes."""
        lines = self.curve("small")
        if len(lines) < FEWEST_SIZES:
            return None, None
        pages = {float(count): one.best for count, one in self.latency.get(PAGES, {}).items()}
        return machine_curves(lines, pages)


def survey(cpu: int | None, *, quick: bool, say: Callable[[str, int, int], None]) -> Survey:
    """Measure the map.

    Parameters
    ----------
    cpu
        Processor of the chases; None: the first that this process may use.
    quick
        Sizes up to 64 MiB, and fewer passes.
    say
        Called with what is measured, how many steps are done, and of how many.
    """
    start_s = time.monotonic()
    allowed = allowed_cpus()
    chosen = allowed[0] if cpu is None else cpu
    found = Survey(cpu=chosen, stated=stated_caches(chosen))
    sizes = sizes_for(found.stated, _QUICK_LARGEST if quick else _LARGEST, memory_bytes())
    tasks = list(_tasks(found, sizes, allowed))
    passes = 2 if quick else PASSES
    with _on(chosen):
        for number in range(passes):
            for place, (what, task) in enumerate(tasks):
                say(what, number * len(tasks) + place, passes * len(tasks))
                try:
                    task()
                except OSError as error:
                    found.missing[what] = str(error)
    for pages in [pages for pages, values in found.latency.items() if not values]:
        del found.latency[pages]
    found.taken_s = time.monotonic() - start_s
    return found


def sizes_for(stated: Sequence[StatedCache], largest: int, free: int) -> list[int]:
    """Return the sizes of the curve: two for each doubling, to four times the largest cache.

    Examples
    --------
    >>> [size // 1024 for size in sizes_for([], 16384, 2**40)]
    [4, 6, 8, 12, 16]
    """
    wanted = 4 * max((cache.bytes for cache in stated), default=largest // 4)
    end = min(max(wanted, 32 * SMALLEST if stated else 0), largest, free // 4)
    sizes = []
    for octave in range(int(math.log2(max(end, SMALLEST) / SMALLEST)) + 1):
        sizes += [SMALLEST << octave, (SMALLEST << octave) * 3 // 2]
    return [size for size in sizes if size <= max(end, SMALLEST)]


def _tasks(
    found: Survey, sizes: Sequence[int], allowed: Sequence[int]
) -> Iterator[tuple[str, Callable[[], None]]]:
    largest = sizes[-1]
    for pages in ("small", "transparent"):
        # Small sizes fit into one huge page, which is what the comparison needs.
        for size in sizes:
            yield f"{_in_words(size)} in {pages} pages", _chase(found, size, pages)
    counts = [size // 256 for size in sizes_for([], 256 * 4 * _MOST_PAGES, 2**60)]
    for count in (one for one in counts if one * _STRIDE <= 4 * largest and one <= _MOST_PAGES):
        yield f"one line in each of {count} pages", _pages(found, count)
    for chains in CHAINS:
        yield f"{chains} chases at once", _chains(found, largest, chains)
    for operation in ("read", "write", "copy", "stream"):
        for threads in dict.fromkeys((1, len(allowed))):
            order = [found.cpu, *(one for one in allowed if one != found.cpu)][:threads]
            yield f"{operation} with {threads} threads", _move(found, operation, order, largest)
    pairs = [(a, b) for a in allowed for b in allowed if a < b]
    for pair in pairs[:_MOST_PAIRS]:
        yield f"processors {pair[0]} and {pair[1]}", _between(found, pair)
    if len(pairs) > _MOST_PAIRS:
        found.missing["other pairs of processors"] = f"{len(pairs)} pairs, {_MOST_PAIRS} measured"


def _chase(found: Survey, size: int, pages: str) -> Callable[[], None]:
    def task() -> None:
        raw = _chased(size, pages, 1)
        is_joined = raw["huge_bytes"] >= _JOINED * min(size, raw["huge_bytes"] or size)
        if pages == "transparent" and not (raw["huge_bytes"] and is_joined):
            found.missing["huge pages"] = "the system joins none (transparent_hugepage/enabled)"
            return
        kind = "huge" if pages == "transparent" else "small"
        values = found.latency.setdefault(kind, {})
        values.setdefault(size, Value()).passes.append(_middle(raw["load_s"]))

    return task


def _pages(found: Survey, count: int) -> Callable[[], None]:
    def task() -> None:
        raw = _chased(count * _STRIDE, "small", 1, stride=_STRIDE)
        values = found.latency.setdefault(PAGES, {})
        values.setdefault(count, Value()).passes.append(_middle(raw["load_s"]))

    return task


def _chains(found: Survey, size: int, chains: int) -> Callable[[], None]:
    def task() -> None:
        pages = "transparent" if "huge" in found.latency else "small"
        raw = _chased(size, pages, chains)
        passes = found.chains.setdefault(chains, Value()).passes
        passes.append(_middle(raw["load_s"]) / chains)
        if chains == 1:
            found.counters = {
                name: count if isinstance(count, str) else count / raw["loads"]
                for name, count in raw["counters"].items()
            }

    return task


def _chased(size: int, pages: str, chains: int, stride: int = 64) -> Mapping[str, Any]:
    # Another seed each time: another order, another place of its pages.
    seed = int.from_bytes(os.urandom(8))
    return native.chase(
        bytes=size, stride_bytes=stride, pages=pages, chains=chains, rounds=_ROUNDS,
        round_s=_ROUND_S, seed=seed,
    )  # fmt: skip


def _move(found: Survey, operation: str, cpus: list[int], largest: int) -> Callable[[], None]:
    def task() -> None:
        each = max(largest // len(cpus), SMALLEST)
        raw = native.bandwidth(operation=operation, bytes=each, cpus=cpus, rounds=3, round_s=0.01)
        value = found.bandwidth.setdefault((operation, len(cpus)), Value(is_rate=True))
        value.passes.append(_middle(raw["bytes_per_s"]))

    return task


def _between(found: Survey, pair: tuple[int, int]) -> Callable[[], None]:
    def task() -> None:
        taken_s = native.hand_over(cpus=pair, lines=1, rounds=5, round_s=0.002)
        found.hand_over.setdefault(pair, Value()).passes.append(_middle(taken_s))

    return task


@contextmanager
def _on(cpu: int) -> Iterator[None]:
    """Run this thread on one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, before)


def _middle(values: Sequence[float] | npt.NDArray[np.float64]) -> float:
    return float(np.median(np.asarray(values)))


def _in_words(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"
