"""Totals of processor time of a target, and of the processors that it may use.

Times of the target are those of `headroom.recording.observers.group`.

Source: proc(5); the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
`Documentation/scheduler/sched-bwc.rst`.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headroom.observe.targets import Target, name_of
from headroom.recording.launching.descendants import one_look

_PROC = Path("/proc")
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_TIMES = 11
"""Columns of /proc/PID/stat after the name: user and system, and those of reaped children."""
_STEAL = 7
_BUSY = (0, 1, 2, 5, 6)
"""Columns of a line `cpuN` of /proc/stat: user, nice, system, irq, softirq."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Processor time (s) since a start that is the same for all looks.

    The target's own, by ticks in user and system, and of each thread by process and thread; and, of
    the processors that it may use, what is busy for any process or taken by a hypervisor.
    """

    own_s: float
    throttled_s: float
    user_s: float
    system_s: float
    busy_s: float
    steal_s: float
    threads_s: Mapping[tuple[int, int], float]


@dataclass(slots=True)
class Counters:
    """Reads the totals of a target, which may use some processors, or a `quota` of them."""

    target: Target
    usable: frozenset[int] = frozenset()
    quota: float | None = None
    _names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        allowed: set[int] = set()
        for pid in self.target.group.members():
            with suppress(OSError):
                allowed |= os.sched_getaffinity(pid)
        self.usable = frozenset(allowed or os.sched_getaffinity(0))
        self.quota = quota_of(self.target.limits)

    def read(self) -> Totals:
        """Return the totals now."""
        group = self.target.group
        with one_look():
            own_s, pids = group.totals()["cpu_s"], group.members()
        for pid in pids:
            self._names.setdefault(pid, name_of(pid))
        user_s, system_s = _split(pids)
        busy_s, steal_s = processors((_PROC / "stat").read_text(encoding="ascii"), self.usable)
        threads_s = {
            (pid, tid): time_s
            for pid, its in group.threads_s.items()
            for tid, time_s in its.items()
        }
        return Totals(
            own_s=own_s, throttled_s=_throttled_s(self.target.limits), user_s=user_s,
            system_s=system_s, busy_s=busy_s, steal_s=steal_s, threads_s=threads_s,
        )  # fmt: skip

    def by_program(self, first: Totals, last: Totals) -> dict[str, float]:
        """Return the time (s) that threads of each program took between two looks."""
        gained: dict[str, float] = {}
        for (pid, tid), time_s in last.threads_s.items():
            name = self._names.get(pid) or "ended"
            gained[name] = gained.get(name, 0.0) + time_s - first.threads_s.get((pid, tid), 0.0)
        return {name: time_s for name, time_s in gained.items() if time_s > 0.0}


def processors(stat: str, usable: Collection[int]) -> tuple[float, float]:
    r"""Return the busy and the stolen time (s) of some processors, from the text of /proc/stat.

    Examples
    --------
    >>> text = "cpu 9 9\ncpu0 100 0 50 9 9 0 0 30 0 0\ncpu1 7 7 7 7 7 7 7 7 7 7\nctxt 3\n"
    >>> processors(text, {0})
    (1.5, 0.3)
    """
    rows = [line.split() for line in stat.splitlines()]
    used = [row[1:] for row in rows if row[0][:3] == "cpu" and row[0][3:] in map(str, usable)]
    busy = sum(float(row[column]) for row in used for column in _BUSY)
    return busy * _TICK_S, sum(float(row[_STEAL]) for row in used) * _TICK_S


def quota_of(groups: Sequence[Path]) -> float | None:
    """Return the processors that a group and those above it leave, None without a limit."""
    found = []
    for folder in groups:
        with suppress(OSError, ValueError):  # version 2; "max" is no number
            quota, period = (folder / "cpu.max").read_text("ascii").split()
            found.append(float(quota) / float(period))
        with suppress(OSError):  # version 1; -1 is no limit
            quota_us, period_us = (
                float((folder / f"cpu.cfs_{name}_us").read_text("ascii"))
                for name in ("quota", "period")
            )
            found += [quota_us / period_us] if quota_us > 0.0 else []
    return min(found, default=None)


def _throttled_s(groups: Sequence[Path]) -> float:
    """Return the time (s) in which a group or one above it was held back."""
    total_s = 0.0
    for folder in groups:
        with suppress(OSError):
            words = (folder / "cpu.stat").read_text("ascii").split()
            numbers = dict(zip(words[::2], words[1::2], strict=True))
            total_s += float(numbers.get("throttled_usec", 0)) / 1e6
            total_s += float(numbers.get("throttled_time", 0)) / 1e9
    return total_s


def _split(pids: Collection[int]) -> tuple[float, float]:
    """Return user and system time (s) of living processes, in ticks."""
    ticks = [0.0, 0.0]
    for pid in pids:
        with suppress(OSError):
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            for place in (0, 1, 2, 3):
                ticks[place % 2] += float(fields[_TIMES + place])
    return ticks[0] * _TICK_S, ticks[1] * _TICK_S
