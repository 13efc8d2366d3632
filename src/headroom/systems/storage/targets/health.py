"""The health of a disk: temperature, wear and errors, before and after the load.

Invariant: reads only, and guesses nothing. Unreadable values are absent, with the reason; a disk
without any values is measured as any other.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headroom.experiment.machine.machine_facts import ROOT
from headroom.experiment.machine.machine_watch import HEALTH_AFTER, HEALTH_BEFORE
from headroom.systems.storage.targets.health_sources import Reading, from_programs, from_sensors

PROGRAM_EVERY_S = 10.0
"""Time (s) before a program runs again: its answer takes the disk's time, too."""
LIMIT = "temperature_limit_c"
_UNITS = {"temperature_c": "°C", LIMIT: "°C limit", "percentage_used": "% used",
          "available_spare_percent": "% spare left"}  # fmt: skip
_GROWING = {
    "media_errors": "media errors",
    "reallocated_sectors": "reallocated sectors",
    "pending_sectors": "sectors that wait to be reallocated",
    "uncorrectable_sectors": "uncorrectable sectors",
    "crc_errors": "transfer errors on the cable",
    "throttle_count": "times that it throttled itself by heat",
    "too_hot_minutes": "minutes above its temperature limits",
}
"""Counters that never fall: their growth during a measurement is in the results."""


@dataclass(slots=True)
class HealthWatch:
    """Reads how one disk is.

    Parameters
    ----------
    disk
        Folder of the kernel for it; None if the target is not on a disk.
    root
        Root of the file system, for tests.
    clock
        Time (s) that never goes back.
    """

    disk: Path | None
    root: Path = ROOT
    clock: Callable[[], float] = time.monotonic
    _asked_s: float | None = None
    _asked: Reading = field(default_factory=Reading)

    def read(self) -> Reading:
        """Return the current health of the disk; program readings may be `PROGRAM_EVERY_S` old."""
        if self.disk is None:
            return Reading(why="it lies on no disk of this machine")
        now_s = self.clock()
        if self._asked_s is None or now_s - self._asked_s >= PROGRAM_EVERY_S:
            self._asked, self._asked_s = from_programs(self.disk, self.root), now_s
        return self._asked.with_sensors(from_sensors(self.disk))


def counters_of(before: Reading, after: Reading) -> dict[str, float]:
    """Return the counters that a run keeps from two readings.

    Examples
    --------
    >>> hot = Reading(figures={"temperature_c": 58.0})
    >>> counters_of(Reading(figures={"temperature_c": 41.0}), hot)
    {'health_before_temperature_c': 41.0, 'health_after_temperature_c': 58.0}
    """
    return {
        **{f"{HEALTH_BEFORE}{name}": value for name, value in before.figures.items()},
        **{f"{HEALTH_AFTER}{name}": value for name, value in after.figures.items()},
    }


def warnings_of(before: Reading, after: Reading) -> list[str]:
    """Return warnings about the disk for the reader of a run's results.

    Examples
    --------
    >>> warnings_of(Reading(figures={"media_errors": 1.0}), Reading(figures={"media_errors": 3.0}))
    ['the disk counts 2 more media errors after the run than before']
    """
    was, now = before.figures, after.figures
    said = [
        f"the disk counts {now[name] - was[name]:g} more {words} after the run than before"
        for name, words in _GROWING.items()
        if now.get(name, 0.0) > was.get(name, float("inf"))
    ]
    if now.get("critical_warning"):
        said.append(f"the disk warns that it is failing (critical warning {_bits(now)})")
    limit, hot = now.get(LIMIT), now.get("temperature_c")
    if limit is not None and hot is not None and hot >= limit:
        said.append(f"the disk has {limit:g} °C or more, its limit: it may have slowed itself down")
    return said


def in_words(reading: Reading) -> str:
    """Return a reading in one line.

    Examples
    --------
    >>> in_words(Reading(names=("Disk X",), figures={"temperature_c": 41.0, "media_errors": 0.0}))
    'Disk X; 41 °C, media errors 0'
    >>> in_words(Reading(why="smartctl is not installed"))
    'not known: smartctl is not installed'
    """
    if not reading.figures:
        return f"not known: {reading.why}"
    figures = (
        f"{value:g} {_UNITS[name]}" if name in _UNITS else f"{name.replace('_', ' ')} {value:g}"
        for name, value in reading.figures.items()
    )
    why = f"the rest is not known: {reading.why}" if reading.why else ""
    return "; ".join(filter(None, [*reading.names, ", ".join(figures), why]))


def _bits(figures: Mapping[str, float]) -> str:
    names = [
        name for bit, name in enumerate(_WARNINGS) if int(figures["critical_warning"]) >> bit & 1
    ]
    return ", ".join(names) or "set"


_WARNINGS: Sequence[str] = (
    "little spare left", "temperature beyond its limits", "not reliable any more",
    "read-only", "backup of the volatile memory failed", "persistent memory unreliable",
)  # fmt: skip
"""Bits of the critical warning, NVM Express base specification, SMART / health log."""
