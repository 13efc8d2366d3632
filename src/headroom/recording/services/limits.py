"""Control groups of services, version 1 or 2: limits, and a place to read what they use.

Groups are made below the group of this process only, so that limits of an outer group hold too.
They are named after the token of a session, by which a later run recognises those of a killed one.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headroom.recording.services.table import LimitsTable

PREFIX = "headroom-"
_PERIOD_US = 100_000
_PAUSE_S = 0.01
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted hierarchy: the folder of this process's own group, and its controllers."""

    own: Path
    version: int
    controllers: frozenset[str]

    def has(self, controller: str) -> bool:
        """Return whether groups have a controller; all of version 2 count processor time."""
        return controller in self.controllers or (controller, self.version) == ("cpuacct", 2)


def hierarchies(proc: Path = Path("/proc/self"), pid: str = "") -> list[Hierarchy]:
    """Return the hierarchies of this machine, or of process `pid`; empty without control groups."""
    try:
        own_folder = proc.parent / pid if pid else proc
        groups = (own_folder / "cgroup").read_text(encoding="utf-8").splitlines()
        mounts = (proc / "mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    own = {names: path for _, names, path in (line.split(":", 2) for line in groups)}
    found = []
    for _, point, kind, options, *_ in (line.split() for line in mounts):
        if kind == "cgroup":
            names = next((n for n in own if n and set(n.split(",")) <= set(options.split(","))), "")
            if names:
                found.append(_hierarchy(Path(point), own[names], 1, names.split(",")))
        elif kind == "cgroup2" and "" in own:
            listed = Path(point + own[""]) / "cgroup.controllers"
            with suppress(OSError):
                names_2 = listed.read_text(encoding="utf-8").split()
                found.append(_hierarchy(Path(point), own[""], 2, names_2))
    return found


def _hierarchy(point: Path, path: str, version: int, controllers: list[str]) -> Hierarchy:
    return Hierarchy(point / path.lstrip("/"), version, frozenset(controllers))


def make_groups(
    name: str, limits: LimitsTable, known: list[Hierarchy]
) -> tuple[dict[str, Path], list[str]]:
    """Make the groups of a service; return them by controller, and remarks on absent limits."""
    wanted = {"cpuacct": limits.cpus or 1.0, "cpu": limits.cpus, "memory": limits.memory_mb}
    groups: dict[str, Path] = {}
    remarks = []
    for controller, limit in wanted.items():
        hierarchy = next((one for one in known if one.has(controller)), None)
        if limit is None or (controller == "cpuacct" and hierarchy is None):
            continue
        try:
            if hierarchy is None:
                raise OSError(0, f"no control group with {controller} is mounted")  # noqa: TRY301
            groups[controller] = _make_group(hierarchy, name, controller, limit)
        except OSError as error:
            if controller != "cpuacct":
                remarks.append(f"has no limit of {controller}: {error.strerror}")
    return groups, remarks


def _make_group(hierarchy: Hierarchy, name: str, controller: str, limit: float) -> Path:
    group = hierarchy.own / f"{PREFIX}{name}"
    if hierarchy.version == 1:
        _check_nested(hierarchy.own, controller)
    elif controller != "cpuacct":
        (hierarchy.own / "cgroup.subtree_control").write_text(f"+{controller}")
    group.mkdir(exist_ok=True)
    for file, text in _settings(hierarchy.version, controller, limit).items():
        (group / file).write_text(text, encoding="ascii")
    return group


def _check_nested(own: Path, controller: str) -> None:
    """Refuse a group that would escape the memory limit of the group above it."""
    nests = own / "memory.use_hierarchy"
    if controller == "memory" and nests.exists() and nests.read_text().strip() == "0":
        raise OSError(0, "the group above does not count the memory of groups below it")


def _settings(version: int, controller: str, limit: float) -> Mapping[str, str]:
    if controller == "cpu":
        quota = max(1000, round(limit * _PERIOD_US))
        if version == 2:  # noqa: PLR2004
            return {"cpu.max": f"{quota} {_PERIOD_US}"}
        return {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
    if controller == "memory":
        file = "memory.limit_in_bytes" if version == 1 else "memory.max"
        return {file: str(round(limit * 1e6))}
    return {}


def remove_groups(groups: Mapping[str, Path]) -> None:
    """Kill what is left in groups and remove them."""
    for group in set(groups.values()):
        for _ in range(_TRIES):
            for pid in _members(group):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(OSError):
                group.rmdir()
            if not group.exists():
                break
            time.sleep(_PAUSE_S)


def memory_kills(groups: Mapping[str, Path]) -> int:
    """Return how many processes the limit of memory has killed."""
    if "memory" not in groups:
        return 0
    for file in ("memory.events", "memory.oom_control"):  # version 2, version 1
        with suppress(OSError):
            lines = (groups["memory"] / file).read_text(encoding="ascii").splitlines()
            counts = dict(line.split() for line in lines)
            return int(counts.get("oom_kill", 0))
    return 0


def groups_of(token: str) -> Iterator[Path]:
    """Yield all groups that the session with a token made."""
    for hierarchy in hierarchies():
        yield from hierarchy.own.glob(f"{PREFIX}{token}-*")


def _members(group: Path) -> list[int]:
    with suppress(OSError):
        return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    return []
