"""What is observed: a process with its descendants, a control group, a port, a unit of systemd.

Invariant: a target is read only; its processes are looked up again at each look.

Source: proc(5), cgroups(7); systemctl(1), property `ControlGroup`.
"""

import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.recording.launching.descendants import descendants
from headroom.recording.observers.group import Group, members_of
from headroom.recording.services.limits import Hierarchy, hierarchies

_PROC = Path("/proc")
_SELF = Path("/proc/self")
_LISTENS = "0A"
_SHORTEST_NAME = 6
"""Signs of a group's name from which its folder is searched for, such as a container's number."""
_CANDIDATES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is observed.

    Parameters
    ----------
    label
        As people call it: ``port 8080 (nginx)``.
    group
        Reads its totals.
    limits
        Control groups that may limit it, the innermost first.
    """

    label: str
    group: Group
    limits: Sequence[Path] = ()

    @property
    def name(self) -> str:
        """The label without what explains it."""
        return self.label.partition(" (")[0]


def target_of(*, pid: int = 0, cgroup: str = "", port: int = 0, service: str = "") -> Target:
    """Return the one target that is named.

    Raises
    ------
    StudyError
        None is named, or several are, or it does not exist.
    EnvironmentUnfitError
        The machine is not Linux, or does not show whose the target is.
    """
    if not (_SELF / "stat").exists():
        raise EnvironmentUnfitError(
            "nothing can be observed here: there is no /proc",
            cure="run `headroom observe` on the Linux machine of the server; to measure from "
            "elsewhere, use the system `command` with a load generator",
        )
    given = [bool(pid), bool(cgroup), bool(port), bool(service)]
    if sum(given) != 1:
        raise StudyError(
            f"{sum(given)} targets are named, not one",
            cure="name one of --pid, --cgroup, --port and --service",
        )
    if pid:
        return _of_processes(f"process {pid}", [_alive(pid)])
    if port:
        return _of_processes(f"port {port}", _roots(_listeners(port)))
    if service:
        return _of_folder(f"service {service}", _folder_of_service(service))
    folder = _folder(cgroup)
    return _of_folder(f"group {folder.name}", folder)


def _alive(pid: int) -> int:
    if not (_PROC / str(pid)).exists():
        raise StudyError(
            f"there is no process {pid}",
            cure="list processes with `ps ax`; in a container, numbers differ from the host's",
        )
    return pid


def _of_processes(label: str, roots: Sequence[int]) -> Target:
    def members() -> Collection[int]:
        return {pid for root in roots for pid in (root, *descendants(root))}

    known = hierarchies(_PROC / str(roots[0]), _SELF)
    counted = next((one for one in known if one.has("cpuacct")), None)
    folders = {}
    # A group of these processes alone counts exactly, with all that has ended.
    if counted is not None and not _is_root(counted):
        with suppress(OSError):
            if set(members_of(counted.own)) == set(members()):
                folders = {"cpuacct": counted.own}
    limits = _chain(next((one for one in known if one.has("cpu")), None))
    names = sorted({name_of(root) for root in roots})
    return Target(
        label=f"{label} ({', '.join(filter(None, names))})",
        group=Group(members, folders),
        limits=limits,
    )


def _of_folder(label: str, folder: Path) -> Target:
    pids = members_of(folder)
    if not pids:
        raise StudyError(
            f"no process is in the control group {folder}", cure="start the server first"
        )
    known = hierarchies(_PROC / str(pids[0]), _SELF)
    # In version 1 the group of the same name may count time in one hierarchy and limit in another.
    limits = _chain(next((one for one in known if one.has("cpu")), None))
    counted = folder
    if not (folder / "cpuacct.usage").exists() and not (folder / "cgroup.controllers").exists():
        other = next((one for one in known if one.has("cpuacct")), None)
        counted = other.own if other is not None and not _is_root(other) else folder
    if counted.name != folder.name:
        raise EnvironmentUnfitError(
            f"the control group {folder} does not count processor time",
            cure="name its folder in the hierarchy `cpuacct`, or a process with --pid",
        )
    return Target(
        label=f"{label} ({', '.join(sorted({name_of(pid) for pid in pids})[:3])})",
        group=Group(partial(members_of, folder), {"cpuacct": counted}),
        limits=limits,
    )


def _is_root(one: Hierarchy) -> bool:
    return not (one.own.parent / "cgroup.procs").exists()


def _chain(one: Hierarchy | None) -> list[Path]:
    """Return a group and those above it."""
    chain: list[Path] = []
    folder = None if one is None else one.own
    while folder is not None and (folder / "cgroup.procs").exists():
        chain.append(folder)
        folder = folder.parent
    return chain


def name_of(pid: int) -> str:
    """Return the name of a process's program; empty if it has ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip()
    return ""


def _listeners(port: int) -> list[int]:
    """Return the processes that listen at a port of this machine."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        raise StudyError(
            f"nothing listens at port {port} of TCP here",
            cure="list ports with `ss -ltn`; the port of a container is that inside it: name the "
            "container with --cgroup",
        )
    found, is_hidden = [], False
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                if sockets & set(_descriptors(folder)):
                    found.append(int(folder.name))
            except PermissionError:
                is_hidden = True
            except OSError:
                continue
    if found in ([], [1]):
        why = "belongs to another user" if is_hidden else "is that of systemd or of a container"
        raise EnvironmentUnfitError(
            f"port {port} is open, but its process {why}",
            cure="run as root or as that user, or name it with --pid, --cgroup or --service",
        )
    return [pid for pid in found if pid != 1]


def _descriptors(process: Path) -> Iterator[str]:
    for one in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(one.readlink())


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / table).read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _roots(pids: Sequence[int]) -> list[int]:
    """Return the processes that descend from no other one of them."""
    below = {child for pid in pids for child in descendants(pid)}
    return sorted(set(pids) - below)


def _folder_of_service(unit: str) -> Path:
    """Return the control group of a unit, by systemd or else by its name."""
    unit = unit if "." in unit else f"{unit}.service"
    with suppress(OSError):
        asked = ["systemctl", "show", "--property=ControlGroup", "--value", unit]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10)
        for root in _tops() if done.stdout.strip() else ():
            folder = Path(f"{root}{done.stdout.strip()}")
            if (folder / "cgroup.procs").exists():
                return folder
    found = [one for root in _tops() for one in root.rglob(unit) if one.is_dir()]
    if not found:
        raise StudyError(
            f"systemd runs no unit {unit}", cure="list units with `systemctl list-units`"
        )
    return found[0]


def _tops() -> list[Path]:
    """Return the tops of the hierarchies that count processor time."""
    return [_chain(one)[-1] for one in hierarchies() if one.has("cpuacct") and _chain(one)]


def _folder(text: str) -> Path:
    """Return the folder of a control group: a path, or a part of the name of one group."""
    places = [Path(text), *(top / text.lstrip("/") for top in _tops())]
    for place in places:
        if (place / "cgroup.procs").exists():
            return place
    found = []
    if len(text) >= _SHORTEST_NAME and "/" not in text:
        found = [one for top in _tops() for one in top.rglob(f"*{text}*") if one.is_dir()]
        found = [one for one in found if not any(other in one.parents for other in found)]
    if len(found) != 1:
        shown = ", ".join(map(str, found[:_CANDIDATES_SHOWN]))
        raise StudyError(
            f"{len(found) or 'no'} control groups match {text!r}{': ' if shown else ''}{shown}",
            cure="give a folder below /sys/fs/cgroup, or the number of one container; "
            "`cat /proc/PID/cgroup` names the group of a process",
        )
    return found[0]
