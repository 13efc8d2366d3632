"""What is observed: a process with its descendants, a control group, a port, a unit of systemd.

Invariant: a target is read only; its processes are looked up again at each look.

Source: proc(5), cgroups(7).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.recording.launching.descendants import descendants
from headroom.recording.observers.group import Group, members_of
from headroom.recording.services.limits import hierarchies

_PROC = Path("/proc")
_SELF = Path("/proc/self")
_LISTENS = "0A"
_SHORTEST_NAME = 6
"""Signs of a group's name from which its folder is searched for, such as a container's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target such as ``port 8080 (nginx)``, and control groups that limit it, inmost first."""

    label: str
    group: Group
    limits: Sequence[Path] = ()


def target_of(*, pid: int = 0, cgroup: str = "", port: int = 0, service: str = "") -> Target:
    """Return the one target that is named.

    Raises `StudyError` if it does not exist, `EnvironmentUnfitError` if the machine does not show
    it.
    """
    if not (_SELF / "stat").exists():
        raise EnvironmentUnfitError(
            "nothing can be observed here: there is no /proc",
            cure="run it on the Linux machine of the server, or measure from here with the system "
            "`command` and a load generator",
        )
    count = sum(map(bool, (pid, cgroup, port, service)))
    if count != 1:
        raise StudyError(
            f"{count} targets are named, not one",
            cure="name one of --pid, --cgroup, --port and --service",
        )
    if pid:
        if not (_PROC / str(pid)).exists():
            raise StudyError(
                f"there is no process {pid}",
                cure="list processes with `ps -e`; inside a container they have other numbers",
            )
        return _of_processes(f"process {pid}", [pid])
    if port:
        return _of_processes(f"port {port}", _listeners(port))
    if service:
        return _of_folder(f"service {service}", _folder_of_service(service))
    folder = _folder(cgroup)
    return _of_folder(f"group {folder.name}", folder)


def _of_processes(label: str, roots: Sequence[int]) -> Target:
    def members() -> Collection[int]:
        return {pid for root in roots for pid in (root, *descendants(root))}

    return _target(label, roots, Group(members))


def _of_folder(label: str, folder: Path) -> Target:
    pids = members_of(folder)
    if not pids:
        raise StudyError(
            f"no process is in the control group {folder}", cure="start the server first"
        )
    # In version 1 the group of the same name may count time in one hierarchy and limit in another.
    known = [one.own for one in hierarchies(_SELF, str(pids[0])) if one.own.name == folder.name]
    counts = [
        one for one in (folder, *known)
        if (one / "cpuacct.usage").exists() or "usage_usec" in _read(one / "cpu.stat")
    ]  # fmt: skip
    if not counts:
        raise EnvironmentUnfitError(
            f"the control group {folder} does not count processor time",
            cure="name its folder in the hierarchy `cpuacct`, or a process with --pid",
        )
    return _target(label, pids, Group(partial(members_of, folder), {"cpuacct": counts[0]}))


def _target(label: str, pids: Sequence[int], group: Group) -> Target:
    names = sorted({name_of(pid) for pid in pids} - {""})[:3]
    limiting = next((one.own for one in hierarchies(_SELF, str(pids[0])) if one.has("cpu")), None)
    return Target(label=f"{label} ({', '.join(names)})", group=group, limits=_chain(limiting))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _chain(folder: Path | None) -> list[Path]:
    """Return a group and those above it."""
    chain: list[Path] = []
    while folder is not None and (folder / "cgroup.procs").exists():
        chain.append(folder)
        folder = folder.parent
    return chain


def name_of(pid: int) -> str:
    """Return the name of a process's program; empty if it has ended."""
    return _read(_PROC / str(pid) / "comm").strip()


def _listeners(port: int) -> list[int]:
    """Return the processes that listen at a port of this machine."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        raise StudyError(
            f"nothing listens at port {port} of TCP here",
            cure="list ports with `ss -ltn`; of a container, whose ports are its own, name the "
            "--cgroup",
        )
    found, is_hidden = [], False
    for folder in _PROC.glob("[0-9]*"):
        try:
            if sockets & set(_descriptors(folder)):
                found.append(int(folder.name))
        except PermissionError:
            is_hidden = True
        except OSError:
            continue
    if not set(found) - {1}:
        why = "belongs to another user" if is_hidden else "is that of systemd or of a container"
        raise EnvironmentUnfitError(
            f"port {port} is open, but its process {why}",
            cure="run as root or as that user, or name it with --pid, --cgroup or --service",
        )
    below = {child for pid in found if pid != 1 for child in descendants(pid)}
    return sorted(set(found) - {1} - below)


def _descriptors(process: Path) -> Iterator[str]:
    for one in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(one.readlink())


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        for line in _read(_PROC / "net" / table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _tops() -> list[Path]:
    """Return the tops of the hierarchies that count processor time."""
    chains = [_chain(one.own) for one in hierarchies() if one.has("cpuacct")]
    return [chain[-1] for chain in chains if chain]


def _folder_of_service(unit: str) -> Path:
    unit = unit if "." in unit else f"{unit}.service"
    found = [one for top in _tops() for one in top.rglob(unit) if (one / "cgroup.procs").exists()]
    if not found:
        raise StudyError(
            f"systemd runs no unit {unit}", cure="list units with `systemctl list-units`"
        )
    return found[0]


def _folder(text: str) -> Path:
    """Return the folder of a control group: a path, or a part of the name of one group."""
    for place in (Path(text), *(top / text.lstrip("/") for top in _tops())):
        if (place / "cgroup.procs").exists():
            return place
    found: list[Path] = []
    if len(text) >= _SHORTEST_NAME and "/" not in text:
        found = [one for top in _tops() for one in top.rglob(f"*{text}*") if one.is_dir()]
    if len(found) != 1:
        shown = "".join(f"\n  {one}" for one in found[:3])
        raise StudyError(
            f"{len(found) or 'no'} control groups match {text!r}{shown}",
            cure="give a folder below /sys/fs/cgroup, or the number of one container; "
            "`cat /proc/PID/cgroup` names the group of a process",
        )
    return found[0]
