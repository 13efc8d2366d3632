"""Caches and TLBs of a machine, and what a stream of accesses meets there."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from headroom.memory.native import simulate as _native
from headroom.memory.streams import Stream, given, refused

Replacement = Literal["lru", "fifo", "tree_plru", "random"]


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A level of cache.

    Parameters
    ----------
    name
        Name in the results.
    bytes
        Size (B): whole sets of `ways` lines; the number of sets may be any.
    ways
        Ways of a set; 0: fully associative.
    line_bytes
        Bytes (B) of a line: a power of two, not less than in the level above.
    replacement
        Who goes: ``lru``, ``fifo``, ``tree_plru`` (a power of two of ways) or ``random``.
    writes
        ``back``: written lines go to the next level when displaced; ``through``: every write
        continues, and a missing line is not brought in; ``uncounted``: as cachegrind, which does
        not know dirty lines.
    holds
        ``any``, ``inclusive`` (all of the levels above) or ``exclusive`` (what the level above
        displaces).
    prefetch
        ``none``, ``next_line`` (after a miss) or ``stride`` (after two equal distances in a page).
    latency
        Cost of a hit, in any unit; for `Result.mean_latency`.
    """

    name: str
    bytes: int
    ways: int = 8
    line_bytes: int = 64
    replacement: Replacement = "lru"
    writes: Literal["back", "through", "uncounted"] = "back"
    holds: Literal["any", "inclusive", "exclusive"] = "any"
    prefetch: Literal["none", "next_line", "stride"] = "none"
    latency: float = 0.0


class Tlb(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A TLB of `entries` translations in sets of `ways` (0: fully associative)."""

    name: str
    entries: int
    ways: int = 0
    replacement: Replacement = "lru"


class Paging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Translation of addresses.

    Parameters
    ----------
    tlbs
        The nearest first; one at least.
    page_bytes
        Bytes (B) of a page, a power of two.
    walk_levels
        Tables that a walk reads, through the caches: 4 for pages of 4 KiB on x86-64, 3 for 2 MiB.
    walk_cache_entries
        Upper entries in a cache next to the TLBs; 0: none.
    """

    tlbs: Sequence[Tlb]
    page_bytes: int = 4096
    walk_levels: int = 4
    walk_cache_entries: int = 0


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine.

    Parameters
    ----------
    levels
        Caches of data or of everything, the nearest first; one at least.
    instructions
        A nearest cache for instructions; its misses go to the second of `levels`. None: fetches are
        counted, and touch nothing.
    paging
        Translation; None: addresses are physical.
    classify
        Tell compulsory, capacity and conflict misses of the nearest level apart (Hill and Smith,
        IEEE Transactions on Computers 38, 1989); costs some five times as much.
    memory_latency
        Cost of an access that no cache serves.
    """

    levels: Sequence[Level]
    instructions: Level | None = None
    paging: Paging | None = None
    classify: bool = False
    memory_latency: float = 0.0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one level; a modification is a read.

    ``fetches`` and ``fetch_misses`` are those of instructions at a level that they share with data.
    """

    name: str
    reads: int
    writes: int
    read_misses: int
    write_misses: int
    evictions: int
    write_backs: int
    invalidations: int
    prefetches: int
    useful_prefetches: int
    compulsory_misses: int
    capacity_misses: int
    fetches: int = 0
    fetch_misses: int = 0

    @property
    def misses(self) -> int:
        """Reads and writes that missed."""
        return self.read_misses + self.write_misses

    @property
    def conflict_misses(self) -> int:
        """Misses that a fully associative cache would not have; only of a classified level."""
        return self.misses - self.compulsory_misses - self.capacity_misses

    @property
    def miss_ratio(self) -> float:
        """Misses per access at this level; 0 if there was no access."""
        return self.misses / max(self.reads + self.writes, 1)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a stream on a machine.

    Parameters
    ----------
    accesses, fetches
        All accesses, and those of instructions among them.
    levels, instructions, tlbs
        Counts, the nearest first.
    served
        Accesses of data by the level that served them, memory last.
    memory_reads, memory_writes
        Accesses of memory.
    walks, walk_reads
        Walks through the tables, and the entries read by the level that served them.
    mean_latency
        Mean cost of an access of data, by the latencies of the machine; without walks.
    """

    accesses: int
    fetches: int
    levels: list[Counts]
    instructions: Counts | None
    tlbs: list[Counts]
    served: list[int]
    memory_reads: int
    memory_writes: int
    walks: int = 0
    walk_reads: list[int] = []
    mean_latency: float = 0.0


def simulate(stream: Stream, machine: Machine) -> Result:
    """Carry out a stream of accesses on a machine with empty caches.

    Parameters
    ----------
    stream
        A path, or the result of `pack`.
    machine
        Caches and TLBs.

    Raises
    ------
    StudyError
        There is no such machine or file, or a line of it is no access.

    Examples
    --------
    >>> from headroom.memory import Level, Machine, pack, simulate
    >>> small = Level(name="L1", bytes=256, ways=2)
    >>> result = simulate(pack([0, 64, 0, 512, 0]), Machine(levels=[small], classify=True))
    >>> result.levels[0].misses, result.levels[0].compulsory_misses
    (3, 3)
    """
    try:
        raw = _native(machine=msgspec.json.encode(_plain(machine)), **given(stream))
    except (ValueError, OSError) as error:
        raise refused(error, stream) from error
    lists: dict[str, Any] = {
        name: raw[name].tolist() for name in ("served", "walk_reads") if name in raw
    }
    result = msgspec.convert({**raw, **lists}, Result)
    costs = [*(level.latency for level in machine.levels), machine.memory_latency]
    total = sum(result.served)
    cost = sum(count * one for count, one in zip(result.served, costs, strict=True))
    return msgspec.structs.replace(result, mean_latency=cost / total if total else 0.0)


def _plain(machine: Machine) -> dict[str, Any]:
    """Return the machine as the compiled part knows it: without costs."""
    data: dict[str, Any] = msgspec.to_builtins(machine)
    del data["memory_latency"]
    for level in [*data["levels"], *filter(None, [data["instructions"]])]:
        del level["latency"]
    return data
