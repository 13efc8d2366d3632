"""Presence of other simulators of caches, and processor time of child processes."""

import importlib.util
import resource
import shutil
from collections.abc import Callable


def without_valgrind() -> str:
    """Return how to get valgrind if it is missing."""
    return "" if shutil.which("valgrind") else "valgrind is not installed: apt-get install valgrind"


def without_pycachesim() -> str:
    """Return how to get pycachesim if it is missing."""
    is_there = importlib.util.find_spec("cachesim") is not None
    return "" if is_there else "pycachesim is not installed: pip install pycachesim"


def children_s(work: Callable[[], object]) -> float:
    """Return the processor time (s) of the programs that a work runs.

    Examples
    --------
    >>> children_s(lambda: None)
    0.0
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
