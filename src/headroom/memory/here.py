"""What a measurement of memory finds on this machine: processors, and hardware counters."""

import os
import platform

COUNTERS = {
    "cycles": "Cycles of the processor",
    "instructions": "Instructions",
    "l1d_misses": "Misses of the nearest cache",
    "llc_misses": "Misses of the last cache",
    "dtlb_misses": "Misses of the TLBs of data",
}
"""Hardware counters in user space, as the compiled part names them."""


def allowed_cpus() -> list[int]:
    """Return the processors that this process may use, ascending.

    Examples
    --------
    >>> len(allowed_cpus()) > 0
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def processors_here() -> str:
    """Return this machine and how many of its processors this process may use, as one text.

    Examples
    --------
    >>> processors_here().endswith(f" {len(allowed_cpus())} of {os.cpu_count()}")
    True
    """
    usable = len(allowed_cpus())
    return f"{platform.node()} {platform.machine()} {usable} of {os.cpu_count()}"
