"""Programs of users, compiled with hooks and recorded.

The process that prepares a study records, and its workers read that recording: the environment that
they take from it says where.

Invariant: a trace has no name in the file system once it is recorded, so that it goes with the last
process that reads it, however that one ends.
"""

import contextlib
import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from headroom.errors import StudyError
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.variables import Variable, variables
from headroom.systems.shared_memory.hook.build import compile_hooked
from headroom.systems.shared_memory.hook.record import TraceError, record
from headroom.systems.shared_memory.hook.sites import Place, resolve

_KEPT = 64
"""Recordings that a process keeps."""
_VARIABLE = "HEADROOM_RECORDING_"
"""Start of the variables that say where the recordings of this process and its parent are."""
_OPENMP = (b"GOMP_parallel", b"__kmpc_fork_call")
"""Functions by which code of gcc and clang starts the threads of OpenMP."""
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
    remarks
        Which part of the run it lacks.
    """

    trace: int
    places: dict[int, Place]
    variables: tuple[Variable, ...]
    remarks: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Path under which this process can open the trace."""
        return f"/proc/self/fd/{self.trace}"


@lru_cache(maxsize=_KEPT)
def recorded(program: Program, digest: str, number: int) -> Recorded:
    """Return a recording of a program; the same one each time, in workers too.

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
    content = repr((program, digest, number)).encode()
    variable = _VARIABLE + sha256(content).hexdigest()[:16]
    with contextlib.suppress(OSError):  # it was made on another machine
        trace, notes = os.environ.get(variable, ":").split(":")
        descriptor = os.open(trace, os.O_RDONLY | os.O_CLOEXEC)
        known = msgspec.json.decode(Path(notes).read_bytes(), type=Recorded)
        return _kept(replace(known, trace=descriptor))
    return _shared(_kept(_made(program)), variable)


def _kept(recording: Recorded) -> Recorded:
    """Close the trace with its recording."""
    weakref.finalize(recording, os.close, recording.trace)
    return recording


def _shared(recording: Recorded, variable: str) -> Recorded:
    """Let workers read a recording of this process."""
    notes = os.memfd_create("headroom-recording")
    os.write(notes, msgspec.json.encode(recording))
    weakref.finalize(recording, os.close, notes)
    place = f"/proc/{os.getpid()}/fd/"
    os.environ[variable] = f"{place}{recording.trace}:{place}{notes}"
    weakref.finalize(recording, os.environ.pop, variable, None)
    return recording


def _made(program: Program) -> Recorded:
    with tempfile.TemporaryDirectory(prefix="headroom-far-") as name:
        path = program.program or compile_hooked(
            program.sources, output=Path(name, "program"), flags=program.flags
        )
        check_openmp(path)
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
    return Recorded(descriptor, places, variables_of, found.accesses.remarks())


def check_openmp(path: Path) -> None:
    """Refuse a program whose threads wait where the hooks do not see it."""
    content = path.read_bytes()
    if any(name in content for name in _OPENMP):
        raise StudyError(
            f"{path.name} uses OpenMP, whose threads wait for each other in a library without "
            "hooks: their order would be lost",
            cure="leave out -fopenmp, or divide the work among threads of POSIX or C++",
        )


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
