"""Settings of a separate process before it runs a measured replication."""

import os
import resource
from contextlib import suppress

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.machine_watch import usable_cpus
from headroom.experiment.protocol.own_process import OwnProcess

CPU_COUNTER = "process_cpu_"
"""Begins the counters that name the processors of a replication: one for each, which is 1."""


def confine(process: OwnProcess) -> None:
    """Bind this process to its processors and limit its memory.

    Raises
    ------
    EnvironmentUnfitError
        This machine lacks a processor, or does not let this process use it.
    """
    if process.cpus:
        _bind(process.cpus)
    if process.memory_bytes is not None:
        limit = _mapped_bytes() + process.memory_bytes
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def cpu_counters() -> dict[str, float]:
    """Return the counters that name the processors which this process may use."""
    return {f"{CPU_COUNTER}{number}": 1.0 for number in sorted(usable_cpus())}


def _bind(cpus: tuple[int, ...]) -> None:
    bind = getattr(os, "sched_setaffinity", None)
    if bind is None:
        raise EnvironmentUnfitError(
            "this system cannot bind a process to processors",
            cure="leave `cpus` empty, or measure on Linux",
        )
    with suppress(OSError):
        bind(0, cpus)
    if usable_cpus() != frozenset(cpus):
        usable = ", ".join(map(str, sorted(usable_cpus())))
        wanted = ", ".join(map(str, cpus))
        raise EnvironmentUnfitError(
            f"a replication needs the processors {wanted}, but this process may use {usable} only",
            cure="choose other processors, or free them (cpuset, taskset)",
        )


def _mapped_bytes() -> int:
    """Return the address space (B) of this process."""
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0
