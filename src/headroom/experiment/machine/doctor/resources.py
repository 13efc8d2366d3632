"""Memory, limits, clock, disk space and the build: what runs out, or is read slowly."""

import resource
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns

from headroom.experiment.machine.environment import core_facts
from headroom.experiment.machine.machine_facts import ROOT, clock, container, memory, numa
from headroom.experiment.machine.shell import quoted
from headroom.experiment.machine.storage_facts import storage
from headroom.experiment.protocol.finding import Facts, Finding, Verdict, costs, fine, unknown
from headroom.quantities import format_quantity

SCARCE_MEMORY = 0.1
"""Share of memory below which the kernel starts to reclaim what programs use."""
LEAST_FREE_BYTES = 100_000_000
"""Free space below which a journal and a page may not fit."""
SCARCE_SPACE = 0.05
LEAST_FILES = 1024
SLOW_CLOCK_S = 2e-7
_READINGS = 2_000
_IN_MEMORY = ("tmpfs", "ramfs")
_SWAPPED = 0.01

Limit = tuple[int, int]
"""Soft and hard limit; RLIM_INFINITY for none."""


def _bytes(count: float) -> str:
    return format_quantity(count, "B")


def free_memory(root: Path = ROOT) -> Finding:
    """Check whether memory is scarce or swapped out."""
    known = memory(root)
    total, available = known.get("total_bytes"), known.get("available_bytes")
    if not total or available is None:
        return unknown("memory")
    bound = min(total, container(root).get("memory_bytes_max", total))
    swapped = known.get("swap_bytes", 0) - known.get("swap_free_bytes", 0)
    state = f"{_bytes(available)} of {_bytes(total)} available"
    state += f", a limit of {_bytes(bound)}" if bound < total else ""
    state += f", {_bytes(swapped)} swapped out" if swapped else ""
    facts: Facts = {
        "available_bytes": available, "total_bytes": total, "swapped_bytes": swapped,
    }  # fmt: skip
    if available >= SCARCE_MEMORY * total and swapped < _SWAPPED * total:
        return fine("memory", state, facts)
    return costs(
        "memory",
        state,
        effect="A program whose pages were swapped out waits for the disk, about 0.1 ms a page on "
        "flash and 10 ms on a disk; caches of files shrink. It affects everything.",
        hint="stop programs with much memory, then: sudo swapoff -a && sudo swapon -a",
        facts=facts,
    )


def huge_pages(root: Path = ROOT) -> Finding:
    """Check whether programs can get huge pages."""
    policy = memory(root).get("transparent_huge_pages")
    if policy is None:
        return unknown("huge pages")
    state = f"transparent huge pages: {policy}"
    if policy == "madvise":
        return fine("huge pages", state)
    effects = {
        "never": "Random accesses to more memory than the TLB covers walk page tables, and "
        "`headroom memory probe` cannot show what huge pages would gain.",
        "always": "The kernel may join pages in the middle of a run, so memory use and times "
        "change as programs age.",
    }
    return costs(
        "huge pages",
        state,
        effect=effects.get(policy, ""),
        hint="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def nodes(root: Path = ROOT) -> Finding:
    """Check whether memory has several distances."""
    count = numa(root).get("node_count", 1)
    if count == 1:
        return fine("memory nodes", "one")
    return costs(
        "memory nodes",
        f"{count} (NUMA)",
        effect="A run is slower if its memory is on another node than its processor, and chance "
        "decides that. `headroom memory probe` measures by how much.",
        hint="numactl --cpunodebind=0 --membind=0 headroom run STUDY",
    )


def _shown(limit: int) -> str:
    return "no limit" if limit == resource.RLIM_INFINITY else f"{limit:,}"


def open_files(limits: Limit | None = None) -> Finding:
    """Check how many files and connections a program may have open."""
    soft, hard = limits or resource.getrlimit(resource.RLIMIT_NOFILE)
    is_low = soft != resource.RLIM_INFINITY and soft < LEAST_FILES
    return Finding(
        check="open files",
        state=f"{_shown(soft)} (hard limit {_shown(hard)})",
        verdict="costs accuracy" if is_low else "fine",
        effect="A load with more connections or files than that fails.",
        cure="ulimit -n 65536" if is_low else "",
    )


def locked_memory(limits: Limit | None = None) -> Finding:
    """Check how much memory may be locked, as rings of requests need it."""
    soft, _ = limits or resource.getrlimit(resource.RLIMIT_MEMLOCK)
    is_low = soft != resource.RLIM_INFINITY and soft < 1 << 20
    return Finding(
        check="locked memory",
        state="no limit" if soft == resource.RLIM_INFINITY else _bytes(soft),
        verdict="costs accuracy" if is_low else "fine",
        effect="Too little for a deep ring of requests with registered buffers: `storage` copies "
        "more per request, or falls back to threads." if is_low else "",
        cure="ulimit -l 65536 (as root, or in /etc/security/limits.conf)" if is_low else "",
    )  # fmt: skip


def clock_reading_s() -> float:
    """Return the time (s) that one reading of the clock takes: the median of five series."""
    series = []
    for _ in range(5):
        start = perf_counter()
        for _ in range(_READINGS):
            perf_counter_ns()
        series.append((perf_counter() - start) / _READINGS)
    return median(series)


def clock_source(root: Path = ROOT, reading_s: Callable[[], float] = clock_reading_s) -> Finding:
    """Check which clock the kernel uses, and what a reading of it costs."""
    source = clock(root).get("source", "")
    cost_s = reading_s()
    is_slow = cost_s > SLOW_CLOCK_S or source in {"hpet", "acpi_pm", "jiffies"}
    state = f"{source or 'not published here'}, {cost_s * 1e9:.0f} ns a reading from Python"
    return Finding(
        check="clock source",
        state=state,
        verdict="costs accuracy" if is_slow else "fine",
        effect="Each operation that is timed pays for two readings, so short ones look longer and "
        "a generator reaches its limit earlier." if is_slow else "",
        cure="boot with clocksource=tsc, if the hardware has a stable counter"
        if is_slow
        else "",
        facts={"reading_s": cost_s},
    )  # fmt: skip


def disk_space(folder: Path, root: Path = ROOT) -> Finding:
    """Check the file system of a folder: space, network, memory."""
    known = storage(folder, root)
    free, size = known.get("free_bytes", 0), known.get("size_bytes", 0)
    kind = known.get("type", "unknown file system")
    state = f"{_bytes(free)} of {_bytes(size)} free in {folder.absolute()} ({kind})"
    verdict: Verdict = "fine"
    effect = cure = ""
    if free < LEAST_FREE_BYTES:
        verdict = "prevents"
        effect = "The journal and the page of a study may not fit, and a run ends with an error."
        cure = f"free some space: du -xh {quoted(str(folder.absolute()))} | sort -h | tail"
    elif known.get("is_network"):
        verdict = "costs accuracy"
        effect = "Each finished replication waits for the network, and storage loads measure it."
        cure = "copy the study to a local disk and run it there"
    elif kind in _IN_MEMORY:
        verdict = "costs accuracy"
        effect = "Files here are in memory: a commit waits for no disk, and results are lost when "
        effect += "the machine stops."
        cure = "run studies in a folder on a disk"
    elif free < SCARCE_SPACE * size:
        verdict = "costs accuracy"
        effect = "Nearly full file systems and flash devices write more slowly, and unevenly."
        cure = "free some space before you measure storage or databases"
    facts: Facts = {"free_bytes": free, "size_bytes": size, "type": kind}
    return Finding(
        check="disk space", state=state, verdict=verdict, effect=effect, cure=cure, facts=facts
    )


def build() -> Finding:
    """Check that the compiled core is optimised."""
    known = core_facts()
    profile = known.get("core_build_profile", "unknown")
    if not known or profile in {"dev", "debug"}:
        return Finding(
            check="Headroom's core",
            state=f"built without optimisation ({profile})" if known else "cannot be loaded",
            verdict="prevents",
            effect="Simulations and load generators would be many times too slow.",
            cure="make build, or: pip install --force-reinstall headroom-lab",
        )
    return Finding(
        check="Headroom's core", state=f"{known.get('core', '')} {profile}".strip(), verdict="fine"
    )
