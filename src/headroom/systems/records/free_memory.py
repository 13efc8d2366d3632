"""The memory that a table may still take: of the machine, of a control group, of a limit."""

import os
import re
import resource
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from headroom.experiment.machine.machine_facts import ROOT, control_groups, read_int, read_text

_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Limit and use of a control group, in both versions."""


class Free(NamedTuple):
    """Memory (B) that is left, and who has it, as a message names it."""

    size: int
    owner: str


def free_memory() -> Free:
    """Return the tightest limit; looked up once a second, since a study has many points."""
    return _free_in(int(time.monotonic()))


@lru_cache(maxsize=1)
def _free_in(_second: int) -> Free:
    return min([*limits(ROOT), *_address_space()], default=Free(1 << 62, "this machine"))


def limits(root: Path) -> Iterator[Free]:
    """Yield what the machine has left, and each control group around this process."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", read_text(root / "proc/meminfo") or "", re.M)
    if found is not None:
        yield Free(int(found[1]) * 1024, "this machine")
    for folder in control_groups(root):
        for limit_name, used_name in _FILES:
            limit, used = read_int(folder / limit_name), read_int(folder / used_name)
            if limit is not None and used is not None:
                left = limit - used + _cached_bytes(folder)
                yield Free(max(left, 0), "the control group of this process")


def _cached_bytes(folder: Path) -> int:
    """Return the pages of files that the group gives back when memory is short."""
    text = read_text(folder / "memory.stat") or ""
    found = re.search(r"^(?:total_)?inactive_file (\d+)", text, re.M)
    return int(found[1]) if found else 0


def _address_space() -> Iterator[Free]:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = (read_text(ROOT / "proc/self/statm") or "0").split()[0]
    if soft != resource.RLIM_INFINITY:
        left = soft - int(pages) * os.sysconf("SC_PAGE_SIZE")
        yield Free(max(left, 0), "the address space of this process (ulimit -v)")
