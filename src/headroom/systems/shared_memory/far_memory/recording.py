"""Programs of users, compiled with hooks and recorded.

Invariant: a trace has no name in the file system once it is recorded, so that it goes with the last
process that reads it, however that one ends.
"""

import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from headroom.errors import StudyError
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.variables import Variable, variables
from headroom.systems.shared_memory.hook.build import compile_hooked
from headroom.systems.shared_memory.hook.record import TraceError, record
from headroom.systems.shared_memory.hook.sites import Place, resolve

_KEPT = 2
"""Recordings that a process keeps."""
_SHOWN_LINES = 6


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program and how it is run.

    Parameters
    ----------
    sources
        Files of C and C++ that are compiled with hooks, none for a finished program.
    program
        A program that was compiled with hooks.
    flags
        Flags of the compiler.
    argv
        Its arguments.
    folder
        Folder in which it runs.
    """

    sources: tuple[Path, ...]
    program: Path | None
    flags: tuple[str, ...]
    argv: tuple[str, ...]
    folder: Path

    def files(self) -> tuple[Path, ...]:
        """Return the sources, or the program."""
        return self.sources or tuple(filter(None, [self.program]))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Recorded:
    """A recorded run of a program.

    Parameters
    ----------
    trace
        Descriptor of its trace, which is closed with the recording.
    places
        Where its accesses and allocations are in its sources, by site.
    variables
        Its variables, by address.
    """

    trace: int
    places: Mapping[int, Place]
    variables: tuple[Variable, ...]

    @property
    def path(self) -> str:
        """Path under which this process can open the trace."""
        return f"/proc/self/fd/{self.trace}"


@lru_cache(maxsize=_KEPT)
def recorded(program: Program, digest: str, number: int) -> Recorded:  # noqa: ARG001 - keys
    """Return a recording of a program; the same one each time.

    Parameters
    ----------
    program
        The program.
    digest
        Hash of its files: a changed program is recorded again.
    number
        Which of several recordings.

    Raises
    ------
    HeadroomError
        It cannot be compiled, has no hooks, fails, or records nothing.
    """
    with tempfile.TemporaryDirectory(prefix="headroom-far-") as name:
        path = program.program or compile_hooked(
            program.sources, output=Path(name, "program"), flags=program.flags
        )
        trace = Path(name, "trace")
        found = record([path, *program.argv], trace=trace, folder=program.folder)
        check_exit(path, found.exit_code, found.stderr)
        if found.accesses.missing:
            raise TraceError(
                f"the trace of {path.name} is not whole: {found.accesses.missing}",
                cure="let the program end by itself, and leave room in the temporary folder",
            )
        places = {site.address: site.place for site in found.accesses.sites}
        sites, maps = native.allocation_sites(str(trace))
        variables_of = variables(path, maps)
        places.update(zip(sites, resolve(sites, maps), strict=True))
        descriptor = os.open(trace, os.O_RDONLY | os.O_CLOEXEC)
    recording = Recorded(descriptor, places, variables_of)
    weakref.finalize(recording, os.close, descriptor)
    return recording


def check_exit(path: Path, exit_code: int, stderr: str) -> None:
    """Refuse a run that failed, with the end of what the program printed."""
    if exit_code == 0:
        return
    lines = stderr.strip().splitlines()[-_SHOWN_LINES:]
    said = "".join(f"\n    {line}" for line in lines)
    raise StudyError(
        f"{path.name} ended with exit code {exit_code}{said}",
        cure="correct the program or its argv",
    )


def is_runnable(path: Path) -> bool:
    """Return whether a file can be run."""
    return path.is_file() and os.access(path, os.X_OK)


def relative(places: Mapping[int, Place], folders: Sequence[Path]) -> dict[int, Place]:
    """Return places with the lines of files in the folders without these.

    Examples
    --------
    >>> relative({1: Place("f", "/home/me/study/a.c:3")}, [Path("/home/me/study")])[1].line
    'a.c:3'
    """
    starts = [f"{folder}/" for folder in folders]
    shorter = {}
    for site, place in places.items():
        line = place.line
        for start in starts:
            line = line.removeprefix(start)
        shorter[site] = Place(place.function, line)
    return shorter
