"""Facts about processor, memory and container, as Linux publishes them under /proc and /sys.

Every function takes the root of the file system, so tests can pass in their own machine. Facts that
another system does not publish are absent from the result.
"""

import hmac
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path("/")
_CPUINFO_KEYS = {"vendor_id": "vendor", "model name": "model", "microcode": "microcode"}
_MEMINFO_KEYS = {
    "MemTotal": "total_bytes",
    "MemAvailable": "available_bytes",
    "SwapTotal": "swap_bytes",
    "SwapFree": "swap_free_bytes",
    "HugePages_Total": "huge_page_count",
    "Hugepagesize": "huge_page_bytes",
}
_NO_LIMIT_BYTES = 2**60
"""Control groups of version 1 write a number near 2**63 if memory is not limited."""


def read_text(path: Path) -> str | None:
    """Return a file's text without outer blanks, None if it is unreadable or empty."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def read_int(path: Path) -> int | None:
    """Return a file's number, None if there is none."""
    text = read_text(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def present(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are known."""
    return {name: value for name, value in facts.items() if value not in (None, {}, [])}


def cpu(root: Path = ROOT) -> dict[str, Any]:
    """Return model, topology, caches, frequency policy and mitigations of the processors."""
    folder = root / "sys/devices/system/cpu"
    info = _cpuinfo(root)
    policy = folder / "cpu0/cpufreq"
    return present(
        {
            **{name: info.get(key) for key, name in _CPUINFO_KEYS.items()},
            "logical_count": os.cpu_count() if root == ROOT else None,
            "usable_count": _usable_count() if root == ROOT else None,
            **_topology(folder),
            "caches": caches(folder / "cpu0/cache"),
            "frequency_governor": read_text(policy / "scaling_governor"),
            "frequency_driver": read_text(policy / "scaling_driver"),
            "frequency_khz_max": read_int(policy / "cpuinfo_max_freq"),
            "boost": read_text(folder / "cpufreq/boost"),
            "is_turbo_off": read_text(folder / "intel_pstate/no_turbo"),
            "smt": read_text(folder / "smt/control"),
            "mitigations": _mitigations(folder / "vulnerabilities"),
            "is_virtual": "hypervisor" in info["flags"].split() if "flags" in info else None,
        }
    )


def _usable_count() -> int | None:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else None


def _cpuinfo(root: Path) -> dict[str, str]:
    """Return the lines of the first processor in /proc/cpuinfo."""
    first = (read_text(root / "proc/cpuinfo") or "").split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}


def _topology(folder: Path) -> dict[str, int]:
    """Return how many sockets and cores the processors belong to."""
    places = [
        (read_int(topology / "physical_package_id"), read_int(topology / "core_id"))
        for topology in folder.glob("cpu[0-9]*/topology")
    ]
    known = [place for place in places if None not in place]
    if not known:
        return {}
    return {"socket_count": len({socket for socket, _ in known}), "core_count": len(set(known))}


def caches(folder: Path) -> list[dict[str, Any]]:
    """Return the caches of a processor, from its folder ``cache``."""
    found = []
    for index in sorted(folder.glob("index[0-9]*")):
        cache = {
            "level": read_int(index / "level"),
            "type": read_text(index / "type"),
            "size_bytes": _size(read_text(index / "size")),
            "line_bytes": read_int(index / "coherency_line_size"),
            "shared_by": read_text(index / "shared_cpu_list"),
        }
        found.append(present(cache))
    return found


def _size(text: str | None) -> int | None:
    """Return bytes of a size such as 48K."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    if match is None:
        return None
    return int(match.group(1)) << (10 * " KMG".index(match.group(2) or " "))


def _mitigations(folder: Path) -> dict[str, str]:
    """Return the processor flaws that affect this machine, and their mitigations."""
    states = {path.name: read_text(path) for path in sorted(folder.glob("*"))}
    return {name: state for name, state in states.items() if state and state != "Not affected"}


def memory(root: Path = ROOT) -> dict[str, Any]:
    """Return sizes of memory and swap, and the policy for huge pages."""
    pairs = (line.split() for line in (read_text(root / "proc/meminfo") or "").splitlines())
    sizes = {words[0].rstrip(":"): _scaled(words[1:]) for words in pairs if len(words) > 1}
    policy = read_text(root / "sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", policy or "")
    return present(
        {
            **{name: sizes.get(key) for key, name in _MEMINFO_KEYS.items()},
            "transparent_huge_pages": chosen.group(1) if chosen else None,
            "swappiness": read_int(root / "proc/sys/vm/swappiness"),
        }
    )


def _scaled(words: list[str]) -> int | None:
    if not words[0].isdigit():
        return None
    return int(words[0]) * (1024 if words[1:] == ["kB"] else 1)


def numa(root: Path = ROOT) -> dict[str, Any]:
    """Return the NUMA nodes with their processors and memory."""
    nodes = []
    for folder in sorted((root / "sys/devices/system/node").glob("node[0-9]*")):
        total = re.search(r"MemTotal:\s+(\d+) kB", read_text(folder / "meminfo") or "")
        node = {
            "cpus": read_text(folder / "cpulist"),
            "memory_bytes": int(total.group(1)) * 1024 if total else None,
            "distances": read_text(folder / "distance"),
        }
        nodes.append(present(node))
    return present({"node_count": len(nodes) or None, "nodes": nodes})


def machine_id(root: Path = ROOT) -> str | None:
    """Return the identifier of this operating system installation, None if there is none.

    The number itself must not leave its machine (see machine-id(5)), so this is a keyed hash of it,
    as ``sd_id128_get_machine_app_specific`` makes one. Containers often have none.
    """
    for name in ("etc/machine-id", "var/lib/dbus/machine-id"):
        identifier = read_text(root / name)
        if identifier is not None and re.fullmatch(r"[0-9a-f]{32}", identifier):
            return hmac.new(bytes.fromhex(identifier), b"headroom", "sha256").hexdigest()[:16]
    return None


def container(root: Path = ROOT) -> dict[str, Any]:
    """Return the limits that a container or service puts on this process (cgroups)."""
    limits = [
        *(_limits(folder) for folder in _control_groups(root)),
        *(_older_limits(folder) for folder in _older_control_groups(root)),
    ]
    memories = [limit["memory_bytes_max"] for limit in limits if "memory_bytes_max" in limit]
    shares = [limit["cpu_count_max"] for limit in limits if "cpu_count_max" in limit]
    cpusets = [limit["cpus"] for limit in limits if "cpus" in limit]
    is_container = any((root / name).exists() for name in (".dockerenv", "run/.containerenv"))
    return present(
        {
            "is_container": is_container or None,
            "memory_bytes_max": min(memories, default=None),
            "cpu_count_max": min(shares, default=None),
            "cpus": cpusets[0] if cpusets else None,
        }
    )


def control_groups(root: Path = ROOT) -> Iterator[Path]:
    """Yield the control groups that limit this process, of both versions."""
    yield from _control_groups(root)
    yield from _older_control_groups(root)


def _control_groups(root: Path) -> Iterator[Path]:
    """Yield the control group of this process and those around it, innermost first."""
    text = read_text(root / "proc/self/cgroup") or ""
    own = next((line[3:] for line in text.splitlines() if line.startswith("0::")), None)
    mount = root / "sys/fs/cgroup"
    if own is None or not (mount / "cgroup.controllers").exists():
        return
    inner = Path(own.lstrip("/"))
    for relative in (inner, *inner.parents):
        yield mount / relative


def _older_control_groups(root: Path) -> Iterator[Path]:
    """Yield the groups of version 1 that limit processor time and memory, innermost first.

    Within a container the path of a group may name nothing: its root is the container's group.
    """
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, own = [*line.split(":", 2), "", ""][:3]
        for name in {"cpu", "memory"} & set(controllers.split(",")):
            inner = Path(own.lstrip("/"))
            for relative in (inner, *inner.parents):
                yield root / "sys/fs/cgroup" / name / relative


def _limits(folder: Path) -> dict[str, Any]:
    quota = (read_text(folder / "cpu.max") or "max").split()
    share = int(quota[0]) / int(quota[1]) if len(quota) > 1 and quota[0] != "max" else None
    return present(
        {
            "memory_bytes_max": read_int(folder / "memory.max"),
            "cpu_count_max": share,
            "cpus": read_text(folder / "cpuset.cpus"),
        }
    )


def _older_limits(folder: Path) -> dict[str, Any]:
    quota = read_int(folder / "cpu.cfs_quota_us") or -1
    period = read_int(folder / "cpu.cfs_period_us") or 0
    size_bytes = read_int(folder / "memory.limit_in_bytes")
    return present(
        {
            "memory_bytes_max": None if (size_bytes or 0) >= _NO_LIMIT_BYTES else size_bytes,
            "cpu_count_max": quota / period if quota > 0 and period > 0 else None,
        }
    )


def system_load(root: Path = ROOT) -> dict[str, Any]:
    """Return the load before the run: mean runnable tasks, and pressure (share of time)."""
    words = (read_text(root / "proc/loadavg") or "").split()
    loads = dict(zip(("mean_1min", "mean_5min", "mean_15min"), map(float, words[:3]), strict=False))
    pressures = {
        f"{name}_pressure_ratio_10s": _pressure(root / "proc/pressure" / name)
        for name in ("cpu", "memory", "io")
    }
    return present({**loads, **pressures})


def _pressure(path: Path) -> float | None:
    match = re.search(r"some avg10=([\d.]+)", read_text(path) or "")
    return float(match.group(1)) / 100 if match else None


def clock(root: Path = ROOT) -> dict[str, Any]:
    """Return the kernel's clock source."""
    folder = root / "sys/devices/system/clocksource/clocksource0"
    return present({"source": read_text(folder / "current_clocksource")})
