"""Other activity on the machine during a measured replication: raw counters, per run.

Counters are read before and after every measured replication, for all systems alike, and stored
among the counters of its run. The analysis decides what counts as a disturbance
(`headroom.analysis.verdicts.disturbances`), so an improved rule also applies to older rows.

Invariant: a counter that this machine does not publish is absent; none is guessed. Two looks
cost well under a millisecond.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter

from headroom.experiment.machine.machine_facts import ROOT, control_groups, read_text, system_load

PREFIX = "machine_"
"""Begins the name of every counter of this module."""
SERVICES_BUSY = f"{PREFIX}services_busy_s"
"""Processor time (s) of long-running programs of the measured system, which the system adds."""
HEALTH_BEFORE, HEALTH_AFTER = "health_before_", "health_after_"
"""Of how a disk is before and after a replication, which its system stores."""
BUSY_WAIT = 0.05
"""Share of time in which tasks wait for a processor from which on a machine is busy."""
_BUSY = (0, 1, 2, 5, 6)
"""Columns of /proc/stat that are work: user, nice, system, interrupts (hard and soft)."""
_STEAL = 7
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class Watch:
    """Counters of a machine since some time ago: two looks give the events in between.

    Parameters
    ----------
    root
        Root of the file system; tests hand in a machine of their own.
    cpus
        Processors that this process may use; only those count.
    """

    def __init__(self, root: Path, cpus: frozenset[int]) -> None:
        self._proc = root / "proc"
        self._cpu_names = {f"cpu{number}" for number in cpus}
        files = (folder / "cpu.stat" for folder in control_groups(root))
        self._limits = tuple(path for path in dict.fromkeys(files) if path.exists())

    def look(self) -> dict[str, float]:
        """Return the values published now."""
        return {
            "span_s": perf_counter(),
            "own_busy_s": sum(os.times()[:4]),
            **self._processors(),
            **self._waiting(),
            **self._swapping(),
            **self._throttling(),
        }

    def _processors(self) -> dict[str, float]:
        lines = (line.split() for line in _lines(self._proc / "stat", "cpu"))
        ticks = [
            [int(word) for word in words[1:]] for words in lines if words[0] in self._cpu_names
        ]
        if not ticks:
            return {}
        return {
            "busy_s": sum(cpu[column] for cpu in ticks for column in _BUSY) * _TICK_S,
            "steal_s": sum(cpu[_STEAL] for cpu in ticks) * _TICK_S,
        }

    def _waiting(self) -> dict[str, float]:
        """Return the time (s) in which some task waited for a processor."""
        for line in _lines(self._proc / "pressure/cpu", "some "):
            return {"cpu_wait_s": int(line.rpartition("total=")[2]) / 1e6}
        return {}

    def _swapping(self) -> dict[str, float]:
        counts = [int(line.split()[1]) for line in _lines(self._proc / "vmstat", "pswp")]
        return {"swapped_pages": float(sum(counts))} if counts else {}

    def _throttling(self) -> dict[str, float]:
        """Return in how many periods of a quota this process was stopped, and of how many."""
        counts = [_periods(path) for path in self._limits]
        if not any(periods for _, periods in counts):
            return {}
        return {
            "throttled_periods": sum(throttled for throttled, _ in counts),
            "quota_periods": max(periods for _, periods in counts),
        }


@dataclass(slots=True)
class Watched:
    """Events while a replication was measured; complete when the watch is over."""

    counters: dict[str, float] = field(default_factory=dict)


@contextmanager
def watched(watch: Watch | None = None) -> Iterator[Watched]:
    """Watch the machine during the block.

    Examples
    --------
    >>> with watched() as found:
    ...     pass
    >>> found.counters["machine_span_s"] >= 0.0
    True
    """
    seen = Watched()
    watch = watch or _watch_here()
    before = watch.look()
    yield seen
    after = watch.look()
    seen.counters = {
        f"{PREFIX}{name}": after[name] - before[name] for name in after if name in before
    } | {f"{PREFIX}cpu_count": float(len(usable_cpus()))}


@cache
def _watch_here() -> Watch:
    return Watch(ROOT, usable_cpus())


def usable_cpus() -> frozenset[int]:
    """Return the numbers of the processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return frozenset(affinity(0) if affinity is not None else range(os.cpu_count() or 1))


def _lines(path: Path, start: str) -> Iterator[str]:
    """Yield the lines of a file of the kernel that start with a word."""
    for line in (read_text(path) or "").splitlines():
        if line.startswith(start):
            yield line


def _periods(path: Path) -> tuple[float, float]:
    """Return in how many periods of a quota its processes were stopped, and of how many."""
    pairs = dict(line.split()[:2] for line in _lines(path, "nr_"))
    return float(pairs.get("nr_throttled", 0)), float(pairs.get("nr_periods", 0))


def busy_words(root: Path = ROOT) -> str:
    """Return why measurements that begin now would be disturbed; empty if the machine is idle.

    It is busy if tasks waited for a processor in 5% of the last ten seconds. If the kernel does not
    report that, the mean load of the last minute has to leave no processor free.
    """
    load = system_load(root)
    mean, waited = load.get("mean_1min", 0.0), load.get("cpu_pressure_ratio_10s")
    count = len(usable_cpus())
    if (mean < count) if waited is None else (waited < BUSY_WAIT):
        return ""
    share = "" if waited is None else f", and tasks waited for one in {waited:.0%} of the last 10 s"
    return (
        f"this machine is busy: load {mean:.1f} on {count} processors{share}; other "
        "programs will disturb the measurements: stop them (`top` names them) and run again"
    )
