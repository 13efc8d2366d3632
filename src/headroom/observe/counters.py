"""Totals of processor time: of the target, of the processors that it may use, and of its parts.

Times of the target are those of `headroom.recording.observers.group`; the processors' come from
/proc/stat, the limit from the control groups.

Source: proc(5); the kernel's `Documentation/admin-guide/cgroup-v2.rst` and
`Documentation/scheduler/sched-bwc.rst`.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headroom.observe.targets import Target, name_of
from headroom.recording.launching.descendants import one_look

_PROC = Path("/proc")
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12
"""Columns of /proc/PID/stat after the name; the next two are those of reaped children."""
_STEAL = 7
_BUSY = (0, 1, 2, 5, 6)
"""Columns of a line `cpuN` of /proc/stat: user, nice, system, irq, softirq."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Processor time (s) since a start that is the same for all looks.

    Parameters
    ----------
    own_s, throttled_s
        Of the target, and the time in which its limit held it back.
    user_s, system_s
        The same by ticks: their share counts, not their sum.
    busy_s, steal_s
        Of the processors that the target may use: busy for any process, and taken by a hypervisor.
    threads_s
        Time of each thread, by process and thread.
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
    """Reads the totals of a target.

    Attributes
    ----------
    usable
        Processors that it may use, limits left out.
    quota
        Processors that its limit leaves to it; None without one.
    """

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
            own = group.totals()
            pids = group.members()
        for pid in pids:
            self._names.setdefault(pid, name_of(pid))
        user_s, system_s = _split(group.folders.values(), pids)
        busy_s, steal_s = processors((_PROC / "stat").read_text(encoding="ascii"), self.usable)
        return Totals(
            own_s=own["cpu_s"],
            throttled_s=_throttled_s(self.target.limits),
            user_s=user_s,
            system_s=system_s,
            busy_s=busy_s,
            steal_s=steal_s,
            threads_s={
                (pid, tid): time_s
                for pid, its in group.threads_s.items()
                for tid, time_s in its.items()
            },
        )

    def by_program(self, first: Totals, last: Totals) -> dict[str, float]:
        """Return the time (s) that threads of each program took between two looks."""
        gained: dict[str, float] = {}
        for (pid, tid), time_s in last.threads_s.items():
            name = self._names.get(pid, "")
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
    busy = steal = 0.0
    for line in stat.splitlines():
        name, *ticks = line.split()
        if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in usable:
            busy += sum(float(ticks[column]) for column in _BUSY)
            steal += float(ticks[_STEAL])
    return busy * _TICK_S, steal * _TICK_S


def quota_of(groups: Sequence[Path]) -> float | None:
    """Return the processors that a group and those above it leave, None without a limit."""
    found = []
    for folder in groups:
        with suppress(OSError, ValueError):  # version 2; "max" is no number
            quota, period = (folder / "cpu.max").read_text("ascii").split()
            found.append(float(quota) / float(period))
        with suppress(OSError):  # version 1; -1 is no limit
            quota_us = float((folder / "cpu.cfs_quota_us").read_text("ascii"))
            period_us = float((folder / "cpu.cfs_period_us").read_text("ascii"))
            found += [quota_us / period_us] if quota_us > 0.0 else []
    return min(found, default=None)


def _throttled_s(groups: Sequence[Path]) -> float:
    """Return the time (s) in which a group or one above it was held back."""
    total_s = 0.0
    for folder in groups:
        with suppress(OSError):
            lines = dict(
                line.split() for line in (folder / "cpu.stat").read_text("ascii").splitlines()
            )
            total_s += float(lines.get("throttled_usec", 0.0)) / 1e6
            total_s += float(lines.get("throttled_time", 0.0)) / 1e9
    return total_s


def _split(folders: Iterable[Path], pids: Iterable[int]) -> tuple[float, float]:
    """Return user and system time (s), counted in ticks."""
    for folder in folders:
        for file, names, unit_s in (
            ("cpu.stat", ("user_usec", "system_usec"), 1e-6),
            ("cpuacct.stat", ("user", "system"), _TICK_S),
        ):
            with suppress(OSError, KeyError):
                lines = (folder / file).read_text("ascii").splitlines()
                numbers = dict(line.split() for line in lines)
                user, system = (float(numbers[name]) * unit_s for name in names)
                return user, system
    user_s = system_s = 0.0
    for pid in pids:
        with suppress(OSError, IndexError):
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            user_s += _TICK_S * (float(fields[_USER]) + float(fields[_USER + 2]))
            system_s += _TICK_S * (float(fields[_SYSTEM]) + float(fields[_SYSTEM + 2]))
    return user_s, system_s


def everybody() -> dict[str, float]:
    """Return the time (s) of all processes of this machine that it shows, by program."""
    found: dict[str, float] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError):
                name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
                fields = rest.split()
                ticks = float(fields[_USER]) + float(fields[_SYSTEM])
                found[name] = found.get(name, 0.0) + _TICK_S * ticks
    return found
