"""Caches according to the system, for comparison with the measured ones."""

from dataclasses import dataclass
from pathlib import Path

from headroom.experiment.machine import machine_facts

_FOLDER = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCache:
    """A cache of data or of everything.

    Parameters
    ----------
    level, bytes
        1 is the nearest; size (B).
    shared_by
        Processors that share it.
    """

    level: int
    bytes: int
    shared_by: int


def stated_caches(cpu: int, folder: Path = _FOLDER) -> list[StatedCache]:
    """Return the caches of a processor, the nearest first; none if the system does not say."""
    found = [
        StatedCache(
            level=one["level"],
            bytes=one["size_bytes"],
            shared_by=_count(one.get("shared_by", "")),
        )
        for one in machine_facts.caches(folder / f"cpu{cpu}" / "cache")
        if one.get("type") != "Instruction" and {"level", "size_bytes"} <= one.keys()
    ]
    return sorted(found, key=lambda one: one.level)


def memory_bytes() -> int:
    """Return the memory (B) of the machine that programs can have now; 1 GiB if it is unknown."""
    return int(machine_facts.memory().get("available_bytes", 1 << 30))


def _count(processors: str) -> int:
    """Return the length of a list such as ``0-3,8``; 1 for an empty one.

    Examples
    --------
    >>> _count("0-3,8"), _count("")
    (5, 1)
    """
    ends = [part.split("-") for part in processors.split(",") if part]
    return sum(int(one[-1]) - int(one[0]) + 1 for one in ends) or 1
