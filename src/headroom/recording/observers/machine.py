"""Totals of the whole machine, as the kernel of Linux keeps them.

Source: proc(5) and the kernel's `Documentation/admin-guide/iostats.rst`; for stalls (PSI),
`accounting/psi.rst`; for queues of connections, `networking/proc_net_tcp.rst`: `rx_queue` of a
listening socket is the length of its accept queue.
"""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_SECTOR_BYTES = 512
_LISTENS = "0A"
_BUSY = {"user": (0, 1), "system": (2, 5, 6), "steal": (7,)}
"""Columns of a line `cpu` of /proc/stat; time of guests is in `user` already."""
_WAIT = 4
_DISK = re.compile(r"^(?!loop|ram|zram|dm-|md)\S+$")
_SOME = re.compile(r"^some .*total=(\d+)$", re.MULTILINE)
DISK_BUSY = "disk_busy_s."
"""Begin of the names of the times (s) in which a disk had work."""
_MEMORY = re.compile(r"^(MemTotal|MemAvailable):\s+(\d+) kB", re.MULTILINE)


def machine_totals(proc: Path = _PROC) -> dict[str, float]:
    """Return processor times (s), counts and bytes since the boot, and memory in use (B).

    Examples
    --------
    >>> totals = machine_totals()
    >>> totals["busy_s"] >= totals["user_s"] > 0.0
    True
    """
    totals = _processors((proc / "stat").read_text(encoding="ascii"))
    totals |= _disks((proc / "diskstats").read_text(encoding="utf-8"))
    totals |= _network((proc / "net" / "dev").read_text(encoding="utf-8"))
    memory = dict(_MEMORY.findall((proc / "meminfo").read_text(encoding="ascii")))
    used_kib = float(memory["MemTotal"]) - float(memory["MemAvailable"])
    totals |= stalled(proc / "pressure" / "io")
    events = _numbers((proc / "vmstat").read_text(encoding="ascii"))
    faults = {"faults": events.get("pgfault", 0.0), "major_faults": events.get("pgmajfault", 0.0)}
    return {**totals, **faults, "memory_bytes": 1024 * used_kib}


def _processors(text: str) -> dict[str, float]:
    first, *_ = text.splitlines()
    times_s = [_TICK_S * float(ticks) for ticks in first.split()[1:]]
    totals = {f"{name}_s": sum(times_s[at] for at in columns) for name, columns in _BUSY.items()}
    numbers = _numbers(text)
    return {
        **totals,
        "busy_s": sum(totals.values()),
        "wait_s": times_s[_WAIT],
        "switches": numbers["ctxt"],
        "runnable": numbers["procs_running"],
    }


def _numbers(text: str) -> Mapping[str, float]:
    """Return the lines that hold a name and a number."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}  # noqa: PLR2004


def _disks(text: str) -> dict[str, float]:
    """Return the bytes of all whole disks, and how long each had work.

    A partition is a disk's name and a number more.
    """
    rows = {fields[2]: fields for fields in map(str.split, text.splitlines())}
    names = [name for name in rows if _DISK.match(name)]
    whole = [name for name in names if not any(_is_part(name, other) for other in names)]
    return {
        "disk_read_bytes": sum(_SECTOR_BYTES * float(rows[name][5]) for name in whole),
        "disk_write_bytes": sum(_SECTOR_BYTES * float(rows[name][9]) for name in whole),
        **{f"{DISK_BUSY}{name}": float(rows[name][12]) / 1e3 for name in whole},
    }


def stalled(file: Path) -> dict[str, float]:
    """Return how long (s) some thread has waited for a device; empty if no kernel counts it."""
    try:
        found = _SOME.search(file.read_text(encoding="ascii"))
    except OSError:  # the kernel was built or started without, or a container hides it
        return {}
    return {"stalled_s": float(found[1]) / 1e6} if found else {}


def _is_part(name: str, disk: str) -> bool:
    """Return whether a name is that of a partition of a disk.

    Examples
    --------
    >>> _is_part("vda1", "vda"), _is_part("nvme0n1p2", "nvme0n1"), _is_part("nvme0n10", "nvme0n1")
    (True, True, False)
    """
    separator = "p" if disk[-1].isdigit() else ""
    return re.fullmatch(re.escape(disk) + separator + r"\d+", name) is not None


def _network(text: str) -> dict[str, float]:
    """Return the bytes of all interfaces but the loop-back one."""
    lines = (line.partition(":") for line in text.splitlines()[2:])
    rows = [rest.split() for name, _, rest in lines if name.strip() != "lo"]
    return {
        "net_receive_bytes": sum(float(row[0]) for row in rows),
        "net_send_bytes": sum(float(row[8]) for row in rows),
    }


def waiting_connections(ports: Collection[int], net: Path = _PROC / "net") -> float | None:
    """Return the connections that wait to be accepted at TCP ports; None if none is listening."""
    found = None
    for name in ("tcp", "tcp6"):
        try:
            with (net / name).open(encoding="ascii") as lines:
                next(lines)
                for line in lines:
                    _, local, _, state, queues, *_ = line.split()
                    if state != _LISTENS:
                        break  # listening sockets come first: there may be very many others
                    if int(local.rpartition(":")[2], 16) in ports:
                        found = (found or 0.0) + int(queues.partition(":")[2], 16)
        except (OSError, StopIteration):
            continue
    return found
