"""Totals of a group of processes: a process with its descendants, or a control group.

Processor time is that of the control group where there is one: exact, with all that has ended.
Elsewhere it is the larger of two lower bounds: what was last seen of each thread, to the
nanosecond, and what the kernel sums up of processes and of their reaped children, in steps of
10 ms.

Source: proc(5); the kernel's `Documentation/scheduler/sched-stats.rst` for `schedstat`.
"""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headroom.recording.observers.machine import stalled, waiting_connections

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")
_LASTING = (
    "cpu_s", "queue_s", "switches", "voluntary_switches", "faults", "disk_read_bytes",
    "disk_write_bytes",
)  # fmt: skip
"""Totals of which an ended process keeps its part."""
_CPU_STAT = {
    "usage_usec": ("cpu_s", 1e-6),
    "throttled_usec": ("throttled_s", 1e-6),
    "throttled_time": ("throttled_s", 1e-9),
}
"""Lines of `cpu.stat` of both versions of control groups: what each is, and its unit in s."""
_NAMES = (*_LASTING, "memory_bytes", "blocked", "reaped_s")


@dataclass(slots=True)
class Group:
    """Reads the totals of a group that changes.

    Parameters
    ----------
    members
        Returns the numbers of its living processes.
    folders
        Control groups by controller, if it has any.
    ports
        TCP ports of this machine on which it listens.

    Attributes
    ----------
    threads_s
        Process to the processor time (s) of each of its threads that was ever seen.
    queues_s
        The same for the time (s) that they waited for a processor.
    """

    members: Callable[[], Collection[int]]
    folders: Mapping[str, Path] = field(default_factory=dict)
    ports: Collection[int] = ()
    threads_s: dict[int, dict[int, float]] = field(default_factory=dict)
    queues_s: dict[int, dict[int, float]] = field(default_factory=dict)
    _switches: dict[int, dict[int, tuple[float, float]]] = field(default_factory=dict)
    """Process to the voluntary and all switches of each of its threads, those that ended too."""
    _last: dict[int, dict[str, float]] = field(default_factory=dict)
    _gone: dict[str, float] = field(default_factory=dict)
    _reaped_before_s: float | None = None

    def totals(self) -> dict[str, float]:
        """Return processor time (s), counts and bytes since the start, and memory in use (B)."""
        living = {pid: seen for pid in self.members() if (seen := self._process(pid))}
        for pid in self._last.keys() - living.keys():
            for name in _LASTING:
                self._gone[name] = self._gone.get(name, 0.0) + self._last[pid].get(name, 0.0)
        self._last = living
        now = {name: sum(seen.get(name, 0.0) for seen in living.values()) for name in _NAMES}
        reaped_s = now.pop("reaped_s")
        if self._reaped_before_s is None:
            self._reaped_before_s = reaped_s
        ended = {**self._gone}
        ended["cpu_s"] = max(ended.get("cpu_s", 0.0), reaped_s - self._reaped_before_s)
        totals = {name: value + ended.get(name, 0.0) for name, value in now.items()}
        if self.ports and (waiting := waiting_connections(self.ports)) is not None:
            totals["accept_queue"] = waiting
        return totals | self._of_folders()

    def _process(self, pid: int) -> dict[str, float]:
        """Return the totals of one process; empty if it has ended."""
        folder = _PROC / str(pid)
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            totals = self._threads(pid, folder)
        except (OSError, IndexError):
            return {}
        # The time of threads that ended between two looks is in the sum of their process alone.
        in_steps_s = _TICK_S * (float(stat[11]) + float(stat[12]))
        totals["cpu_s"] = max(totals["cpu_s"], in_steps_s)
        totals["faults"] = float(stat[7]) + float(stat[9])
        totals["reaped_s"] = _TICK_S * (float(stat[13]) + float(stat[14]))
        totals["memory_bytes"] = _PAGE_BYTES * float(stat[21])
        with suppress(OSError):  # of another user
            written = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
            totals["disk_read_bytes"] = float(written["read_bytes"])
            totals["disk_write_bytes"] = float(written["write_bytes"])
        return totals

    def _threads(self, pid: int, folder: Path) -> dict[str, float]:
        blocked = 0.0
        times_s = self.threads_s.setdefault(pid, {})
        queues_s = self.queues_s.setdefault(pid, {})
        switches = self._switches.setdefault(pid, {})
        for thread in (folder / "task").iterdir():
            with suppress(OSError):
                run_ns, queue_ns, _ = (thread / "schedstat").read_text().split()
                times_s[int(thread.name)] = float(run_ns) / 1e9
                queues_s[int(thread.name)] = float(queue_ns) / 1e9
                voluntary, forced, is_blocked = _status((thread / "status").read_text())
                switches[int(thread.name)] = (voluntary, voluntary + forced)
                blocked += is_blocked
        return {
            "blocked": blocked,
            "voluntary_switches": sum(voluntary for voluntary, _ in switches.values()),
            "switches": sum(each for _, each in switches.values()),
            "queue_s": sum(queues_s.values()),
            "cpu_s": sum(times_s.values()),
        }

    def _of_folders(self) -> dict[str, float]:
        totals: dict[str, float] = {}
        for folder in set(self.folders.values()):
            totals |= stalled(folder / "io.pressure")
            with suppress(OSError):  # version 1
                totals["cpu_s"] = float((folder / "cpuacct.usage").read_text()) / 1e9
            with suppress(OSError):
                lines = (folder / "cpu.stat").read_text().splitlines()
                numbers = {name: float(value) for name, value in map(str.split, lines)}
                totals |= {
                    to: numbers[name] * unit_s for name, (to, unit_s) in _CPU_STAT.items()
                    if name in numbers
                }  # fmt: skip
        return totals


def members_of(folder: Path) -> list[int]:
    """Return the processes of a control group and of those below it."""
    pids: list[int] = []
    for file in folder.rglob("cgroup.procs"):
        with suppress(OSError):
            pids += map(int, file.read_text().split())
    return pids


def _status(text: str) -> tuple[float, float, bool]:
    r"""Return voluntary and forced switches of a thread, and whether it waits for a device.

    Examples
    --------
    >>> _status("State:\tD (disk sleep)\nvoluntary_ctxt_switches:\t7\n"
    ...         "nonvoluntary_ctxt_switches:\t2\n")
    (7.0, 2.0, True)
    """
    lines = dict(line.split(":", 1) for line in text.splitlines())
    voluntary, forced = (lines.get(f"{kind}voluntary_ctxt_switches", "0") for kind in ("", "non"))
    return float(voluntary), float(forced), lines.get("State", "").strip().startswith("D")
