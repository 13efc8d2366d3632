"""Caches according to the system, for comparison with the measured ones."""

import os
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path("/sys/devices/system/cpu")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCache:
    """A cache of data or of everything.

    Parameters
    ----------
    level, bytes, ways
        1 is the nearest; size (B); ways of a set, 0 if the system does not say.
    shared_by
        Processors that share it.
    """

    level: int
    bytes: int
    ways: int
    shared_by: int


def stated_caches(cpu: int, folder: Path = _FOLDER) -> list[StatedCache]:
    """Return the caches of a processor, the nearest first; none if the system does not say."""
    found = []
    for place in sorted((folder / f"cpu{cpu}" / "cache").glob("index*")):
        try:
            texts = {
                name: (place / name).read_text("ascii").strip()
                for name in ("type", "level", "size")
            }
        except OSError:
            continue
        if texts["type"] == "Instruction" or not texts["size"][:-1].isdigit():
            continue
        found.append(
            StatedCache(
                level=int(texts["level"]),
                bytes=int(texts["size"][:-1]) * _UNITS.get(texts["size"][-1], 1),
                ways=_number(place / "ways_of_associativity"),
                shared_by=_count(place / "shared_cpu_list"),
            )
        )
    return sorted(found, key=lambda one: one.level)


def memory_bytes() -> int:
    """Return the memory (B) of the machine that programs can have now."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(free.split()[1]) * 1024
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _number(path: Path) -> int:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _count(path: Path) -> int:
    """Return the length of a list such as ``0-3,8``."""
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return 1
    ends = [part.split("-") for part in text.split(",") if part]
    return sum(int(one[-1]) - int(one[0]) + 1 for one in ends)
