"""The direct and indirect child processes of a process, as Linux shows them in /proc."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROC = Path("/proc")
_PAUSE_S = 0.01
"""Time (s) that killed processes get to end before the next look."""


_KEPT = threading.local()


@contextmanager
def one_look() -> Iterator[None]:
    """Read /proc once for all questions of this thread inside."""
    _KEPT.children = _children()
    try:
        yield
    finally:
        del _KEPT.children


def kill_descendants(ancestor: int) -> None:
    """Kill all descendants of a process that adopts orphans, until no living one is left."""
    while living := set(descendants(ancestor)):
        for pid in living:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def descendants(ancestor: int) -> Iterator[int]:
    """Yield the living descendants of a process; those that only wait to be reaped are dead."""
    children = getattr(_KEPT, "children", None) or _children()
    waiting = list(children.get(ancestor, []))
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _children() -> dict[int, list[int]]:
    """Return the living children of each process."""
    children: dict[int, list[int]] = {}
    for pid, parent, state in _processes():
        if state not in ("Z", "X"):
            children.setdefault(parent, []).append(pid)
    return children


def child_of(parent: int) -> int | None:
    """Return a living child of a process, if there is one."""
    is_child = (pid for pid, its, state in _processes() if its == parent and state not in "ZX")
    return next(is_child, None)


def _processes() -> Iterator[tuple[int, int, str]]:
    """Yield number, parent and state of every process."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                yield int(folder.name), int(parent), state
