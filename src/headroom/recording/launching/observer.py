"""The Python side of the observer: what a program and its whole process tree opened and ran.

The native observer (`observe.rs`) stands between the launcher and the program; only runs that are
not measured have one. It needs no rights, but a kernel, a container or a debugger may refuse.

Invariant: a program whose observation is refused has not been started.
"""

import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from headroom.recording.launching import native
from headroom.recording.launching.launcher import Launch, Launcher, native_path

_FIELDS = 3
_FILE_CLOCK = 5
"""`CLOCK_REALTIME_COARSE` of Linux, whose ticks are those of file times."""


class Look(NamedTuple):
    """How a file looked; equal looks mean the same content."""

    device: int
    inode: int
    size: int
    changed_ns: int
    touched_ns: int
    mode: int

    @classmethod
    def at(cls, path: str | Path) -> "Look | None":
        """Return how a path looks now, links followed; None if there is nothing."""
        try:
            found = os.stat(path)  # noqa: PTH116 - thousands, twice as fast
        except (OSError, ValueError):
            return None
        return cls(
            found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns,
            found.st_mode,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """What was seen of one program.

    Parameters
    ----------
    notes
        Letters of `observe.rs`, such as ``n`` for a connection to a network.
    paths
        Path to its kind (``o``, ``w``, ``x``, ``m``) and to how it looked before its first use;
        None if it was absent.
    """

    notes: str
    paths: dict[str, tuple[str, Look | None]]


class NotObservedError(Exception):
    """The kernel does not permit to observe; the program was not started."""


def observed(launch: Launch, report: Path, *, keeps: bool = False) -> Launch:
    """Return the same program under the observer, which writes a report.

    What it leaves behind is killed, unless the observer `keeps` it, observed.

    Examples
    --------
    >>> folder = Path("/tmp")
    >>> plain = Launch(program="/bin/true", argv=["true"], environment={}, folder=folder,
    ...                stdout=folder / "out", stderr=folder / "err")
    >>> observed(plain, folder / "report").argv
    ['headroom-observe', 'end', '/tmp/report', '/bin/true', 'true']
    """
    argv = ["headroom-observe", "keep" if keeps else "end", str(report)]
    argv += [launch.program, *launch.argv]
    return replace(launch, program=native_path("observe", native.OBSERVER), argv=argv)


def read_report(path: Path) -> Report:
    """Return a report; raise `NotObservedError` if there is none or it is a refusal."""
    is_complete, notes = False, ""
    paths: dict[str, tuple[str, Look | None]] = {}
    for kind, look, name in _records(path):
        match kind:
            case "!":
                raise NotObservedError(name)
            case "=":
                is_complete = True
            case "o" | "w" | "x" | "m":
                paths[name] = (kind, Look(*map(int, look.split())) if look else None)
            case _:
                notes += kind
    if not is_complete:
        raise NotObservedError("the observer was killed")
    return Report(notes, paths)


def next_tick_ns() -> int:
    """Return the time of the clock that file systems use, once it has passed this moment.

    The times of what changed before are older, those of what changes from then on are not. That
    clock moves in ticks of milliseconds; recent kernels also give exact times, in between.
    """
    before = time.time_ns()
    while (now := time.clock_gettime_ns(_FILE_CLOCK)) <= before:
        time.sleep(0.0005)
    return now


def _records(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        fields = os.fsdecode(path.read_bytes()).split("\0")[:-1]
    except OSError:
        return
    for at in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        yield fields[at], fields[at + 1], fields[at + 2]


@cache
def why_not() -> str:
    """Return why nothing can be observed here; empty if it can be."""
    if platform.system() != "Linux":
        return "only Linux can observe"
    with tempfile.TemporaryDirectory(prefix="headroom-") as name, Launcher() as launcher:
        folder = Path(name)
        launch = Launch(
            program="/bin/sh", argv=["sh", "-c", "exit 0"], environment=os.environ, folder=folder,
            stdout=folder / "stdout", stderr=folder / "stderr", time_limit_s=60.0,
        )  # fmt: skip
        try:
            usage = launcher.run(observed(launch, folder / "report"))
            read_report(folder / "report")
        except (OSError, NotObservedError) as error:
            return str(error)
    return "" if usage.exit_code == 0 else f"a shell ended with {usage.exit_code}"
