"""Looks at the machine and at groups of processes while something is measured.

A thread of this process looks at a fixed interval; its own processor time is part of what is
recorded. On a system without /proc it records nothing and says so.
"""

import os
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from headroom.errors import EnvironmentUnfitError
from headroom.recording.launching.descendants import descendants, one_look
from headroom.recording.observers.group import Group, members_of
from headroom.recording.observers.machine import machine_totals
from headroom.recording.observers.table import ObserveTable

AT = "at_s"
"""Total of each group: the time (s) of its reading."""
_EARLY = -10
"""Priority of a thread that may not be one of real time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: group (``machine``, ``service.db``) to its totals."""

    at_s: float
    totals: Mapping[str, Mapping[str, float]]
    threads_s: Mapping[str, Mapping[tuple[int, int], float]]
    """Group to the processor time (s) of each of its threads."""
    queues_s: Mapping[str, Mapping[tuple[int, int], float]] = field(default_factory=dict)
    """Group to the time (s) that each of its threads waited for a processor."""


@dataclass(slots=True)
class Watch:
    """Records looks from `__enter__` to `__exit__`.

    Parameters
    ----------
    groups
        Groups of processes by name.
    interval_s
        Time (s) between two looks.

    Attributes
    ----------
    looks
        All looks, the first at the beginning and the last at the end.
    own_cpu_s
        Processor time (s) that looking took.

    Examples
    --------
    >>> import os
    >>> with Watch({"here": Group(lambda: [os.getpid()])}, interval_s=1.0) as watch:
    ...     _ = sum(range(100_000))
    >>> first, *_, last = watch.looks
    >>> last.at_s > first.at_s and last.totals["here"]["cpu_s"] > 0.0
    True
    """

    groups: Mapping[str, Group]
    interval_s: float
    looks: list[Look] = field(default_factory=list)
    own_cpu_s: float = 0.0
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not Path("/proc/self/stat").exists():
            raise EnvironmentUnfitError(
                "the machine cannot be observed: there is no /proc",
                cure="use Linux, or remove the table `observe`",
            )
        self._look()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._look()

    def _keep_looking(self) -> None:
        _come_first()
        due_s = time.monotonic()
        while True:
            due_s = max(due_s + self.interval_s, time.monotonic())
            if self._ended.wait(due_s - time.monotonic()):
                return
            self._look()

    def _look(self) -> None:
        before_s = time.thread_time()
        at_s = time.monotonic()
        totals = {"machine": _timed(machine_totals())}
        with one_look():
            totals |= {name: _timed(group.totals()) for name, group in self.groups.items()}
        threads_s = {name: _flat(group.threads_s) for name, group in self.groups.items()}
        queues_s = {name: _flat(group.queues_s) for name, group in self.groups.items()}
        self.looks.append(Look(at_s=at_s, totals=totals, threads_s=threads_s, queues_s=queues_s))
        self.own_cpu_s += time.thread_time() - before_s


def _come_first() -> None:
    """Let this thread run as soon as it wakes up, where the machine permits it.

    On a full machine a look that takes milliseconds otherwise waits up to a second in its middle.
    """
    with suppress(AttributeError, OSError):  # no Linux, or no right to
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _EARLY)


def _timed(totals: dict[str, float]) -> dict[str, float]:
    """Return totals with the time at which they were read: a look may take long."""
    return {**totals, AT: time.monotonic()}


def _flat(times_s: Mapping[int, Mapping[int, float]]) -> dict[tuple[int, int], float]:
    return {(pid, tid): time_s for pid, its in times_s.items() for tid, time_s in its.items()}


def named_groups(table: ObserveTable) -> dict[str, Group]:
    """Return the groups that a study names; raise `EnvironmentUnfitError` if one does not exist."""
    groups = {}
    for name, text in table.processes.items():
        groups[f"process.{name}"] = tree_of(_number(name, text))
    for name, text in table.cgroups.items():
        folder = Path(text)
        if not (folder / "cgroup.procs").exists():
            raise EnvironmentUnfitError(
                f"observe.cgroups: {name} = {text!r} is not the folder of a control group",
                cure="give a folder below /sys/fs/cgroup that has a file cgroup.procs",
            )
        groups[f"cgroup.{name}"] = Group(partial(members_of, folder), {"": folder})
    return groups


def tree_of(pid: int, folders: Mapping[str, Path] | None = None) -> Group:
    """Return the group of a process and its descendants."""

    def members() -> Collection[int]:
        return [pid, *descendants(pid)]

    return Group(members, folders or {})


def _number(name: str, text: str) -> int:
    with suppress(OSError, ValueError):
        number = int(text) if text.isdigit() else int(Path(text).read_text("ascii"))
        if Path(f"/proc/{number}").exists():
            return number
    raise EnvironmentUnfitError(
        f"observe.processes: {name} = {text!r} names no running process",
        cure="give the number of a process, or a file with it, such as /run/nginx.pid",
    )
