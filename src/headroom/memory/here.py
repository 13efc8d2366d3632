"""What a measurement of memory finds on this machine: processors, and hardware counters."""

import os

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
