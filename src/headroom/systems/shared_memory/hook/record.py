"""Run a hooked program and count its accesses, or keep them in a file.

Without a file the reader takes the trace from a pipe while the program runs, so that nothing is
stored; a simulator can take it in the same way.

Invariant: the program and all processes of its group have ended when `record` returns or raises.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.errors import StudyError
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.hook.build import NotHookedError
from headroom.systems.shared_memory.hook.sites import Place, resolve

_NOTED_SHARE, _NOTED_S = 0.25, 1e-3
"""Share and time (s) of processors without accesses from which on a remark names them."""
VARIABLE = "HEADROOM_TRACE"
"""Environment variable with the path of the trace, or `fd:` and the number of a descriptor."""
_SHOWN_LINES = 6


class TraceError(StudyError):
    """A trace is damaged, or has no accesses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Accesses of one place in the code.

    Parameters
    ----------
    address
        Return address of the hook in the memory of the program.
    place
        Function and line.
    reads, writes, atomics
        Number of accesses; atomic ones are not among the reads and writes.
    """

    address: int
    place: Place
    reads: int
    writes: int
    atomics: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accesses:
    """Contents of a trace.

    Parameters
    ----------
    threads
        Threads with events.
    reads, writes
        Plain accesses; copies and fills of any length count once.
    atomic_reads, atomic_writes, atomic_modifies
        Atomic accesses.
    read_bytes, written_bytes
        Bytes (B) of all accesses; an atomic modification counts in both.
    allocations, frees, allocated_bytes
        Calls of malloc and its relatives, ends of allocations, and all requested bytes (B).
    acquisitions, barrier_entries
        Locks taken, and arrivals of threads at barriers.
    function_entries
        Entries of hooked functions.
    regions
        Marked regions that began; 1 for a program that marks none.
    lost_words
        Words (8 B) that were dropped because a signal handler interrupted the runtime.
    processor_s
        Processor time (s) of the region, and of other processes that the program waited for.
    unseen_s
        The part of it (s) in which the hooks saw no access.
    forks
        Times that the program forked; nothing of other processes is recorded.
    missing
        Empty if the program closed its trace; otherwise what is missing of it.
    sites
        Places in the code, those with most accesses first.
    """

    threads: int
    reads: int
    writes: int
    atomic_reads: int
    atomic_writes: int
    atomic_modifies: int
    read_bytes: int
    written_bytes: int
    allocations: int
    frees: int
    allocated_bytes: int
    acquisitions: int
    barrier_entries: int
    function_entries: int
    regions: int
    lost_words: int
    processor_s: float
    unseen_s: float
    forks: int
    missing: str
    sites: tuple[Site, ...]

    @property
    def accesses(self) -> int:
        """Number of all accesses."""
        atomics = self.atomic_reads + self.atomic_writes + self.atomic_modifies
        return self.reads + self.writes + atomics

    def remarks(self) -> tuple[str, ...]:
        """Return which part of the run was not recorded, if that is much."""
        share = self.unseen_s / self.processor_s if self.processor_s else 0.0
        is_noted = share >= _NOTED_SHARE and self.unseen_s >= _NOTED_S
        forked = (
            f"the program forked {self.forks} time{'s' if self.forks > 1 else ''}, and accesses of "
            "other processes are not recorded"
        )
        unseen = (
            f"the hooks saw no access in {share:.0%} of the program's processor time: libraries "
            "without hooks, other processes or computing, which the result leaves out"
        )
        return (*([forked] if self.forks else []), *([unseen] if is_noted else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A finished run of a hooked program.

    Parameters
    ----------
    accesses
        What was recorded.
    exit_code
        Negative if a signal ended the program.
    stdout, stderr
        Its output.
    """

    accesses: Accesses
    exit_code: int
    stdout: str
    stderr: str


def record(
    argv: Sequence[str | Path],
    *,
    trace: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | str | None = None,
    time_limit_s: float | None = None,
) -> Recording:
    """Run a program that `compile_hooked` built, and count its accesses.

    Parameters
    ----------
    argv
        Program and arguments.
    trace
        Where the trace is kept, a file that does not exist yet; None to read it from a pipe.
    environment
        Environment variables in addition to those of this process.
    folder
        Working folder of the program.
    time_limit_s
        Time (s) after which the program is killed; None for no limit.

    Raises
    ------
    NotHookedError
        The program has no hooks.
    TraceError
        Its trace has no accesses.
    StudyError
        The program does not start, or ran past its limit.

    Examples
    --------
    >>> record(["/no/such/program"])
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: /no/such/program does not start: No such file or directory
      hint: give the path of a program that compile_hooked built
    """
    words = [str(word) for word in argv]
    added = {**os.environ, **(environment or {})}
    with tempfile.TemporaryDirectory(prefix="headroom-hook-") as name, _pipe() as pipe:
        target = f"fd:{pipe.write_end}" if trace is None else str(Path(trace).absolute())
        run = _Run(
            words=words,
            environment={**added, VARIABLE: target},
            folder=folder,
            outputs=Path(name),
            time_limit_s=time_limit_s,
        )
        with run.started(pass_on=[pipe.write_end] if trace is None else []) as process:
            pipe.close_write_end()
            source = f"/proc/self/fd/{pipe.read_end}"
            if trace is not None:
                _await(process)
                source = target
            totals = _totals(source, run)
        run.check_limit()
        accesses = _accesses(totals)
        _check_accesses(accesses, run, process.returncode)
        return Recording(
            accesses=accesses,
            exit_code=process.returncode,
            stdout=run.output("stdout"),
            stderr=run.output("stderr"),
        )


def read_trace(trace: Path | str) -> Accesses:
    """Return the contents of a trace in a file.

    Raises
    ------
    TraceError
        The file is missing, or not a sound trace.

    Examples
    --------
    >>> read_trace("/dev/null")
    Traceback (most recent call last):
    ...
    headroom.systems.shared_memory.hook.record.TraceError: /dev/null: the trace is empty: no \
hooked program wrote it
      hint: record it again, with a program that compile_hooked built
    """
    try:
        return _accesses(native.trace_totals(str(trace)))
    except (EOFError, OSError, ValueError) as error:
        raise TraceError(
            f"{trace}: {error}", cure="record it again, with a program that compile_hooked built"
        ) from error


@dataclass(slots=True)
class _Pipe:
    read_end: int
    write_end: int
    _is_open: bool = True

    def close_write_end(self) -> None:
        """Leave the write end to the program alone, so that its end is seen."""
        if self._is_open:
            os.close(self.write_end)
            self._is_open = False


@contextlib.contextmanager
def _pipe() -> Iterator[_Pipe]:
    pipe = _Pipe(*os.pipe())
    try:
        yield pipe
    finally:
        pipe.close_write_end()
        os.close(pipe.read_end)


@dataclass(slots=True, kw_only=True)
class _Run:
    """A program with its outputs in files."""

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | str | None
    outputs: Path
    time_limit_s: float | None
    is_late: bool = False

    @contextlib.contextmanager
    def started(self, *, pass_on: Sequence[int]) -> Iterator["subprocess.Popen[bytes]"]:
        """Run the program within the block, and wait for its end, or kill it after an error."""
        with (
            (self.outputs / "stdout").open("wb") as stdout,
            (self.outputs / "stderr").open("wb") as stderr,
        ):
            try:
                process = subprocess.Popen(
                    self.words,
                    env=self.environment,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    pass_fds=pass_on,
                    start_new_session=True,
                )
            except OSError as error:
                raise StudyError(
                    f"{self.words[0]} does not start: {error.strerror}",
                    cure="give the path of a program that compile_hooked built",
                ) from error
        timer = threading.Timer(self.time_limit_s or 0, self._end_late, [process])
        timer.daemon = True
        if self.time_limit_s is not None:
            timer.start()
        try:
            yield process
            _await(process)
        finally:
            timer.cancel()
            if self.time_limit_s is not None:
                timer.join()
            _kill_group(process)
            process.wait()

    def output(self, name: str) -> str:
        """Return the text of an output."""
        return (self.outputs / name).read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        """Return the end of stderr for a message."""
        lines = self.output("stderr").strip().splitlines()[-_SHOWN_LINES:]
        return "".join(f"\n    {line}" for line in lines)

    def check_limit(self) -> None:
        """Raise an error if the program was killed at its limit."""
        if self.is_late:
            raise StudyError(
                f"{self.words[0]} was killed at its time limit of {self.time_limit_s:g} s",
                cure="raise `time_limit_s`, or mark a shorter region",
            )

    def _end_late(self, process: "subprocess.Popen[bytes]") -> None:
        self.is_late = True
        _kill_group(process)


def _await(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of a program; its number stays taken, so that its group can be ended."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _totals(source: str, run: _Run) -> dict[str, Any]:
    try:
        return native.trace_totals(source)
    except (EOFError, FileNotFoundError) as error:
        run.check_limit()
        raise NotHookedError(
            f"{run.words[0]} wrote no trace{run.last_words()}",
            cure="build it with compile_hooked, or correct the reason that it printed",
        ) from error
    except (OSError, ValueError) as error:
        run.check_limit()
        raise TraceError(
            f"the trace of {run.words[0]} is damaged: {error}",
            cure="let nothing else write to the file or descriptor of the trace",
        ) from error


def _check_accesses(accesses: Accesses, run: _Run, exit_code: int) -> None:
    if accesses.accesses > 0:
        return
    if accesses.missing:
        reason = f"; it ended with exit code {exit_code}, and {accesses.missing}{run.last_words()}"
        cure = "let the program end by itself"
    elif accesses.regions == 0:
        reason, cure = ", because its region never began", "call headroom_begin() in the program"
    else:
        reason, cure = "", "compile the sources whose accesses count with hooks"
    raise TraceError(f"{run.words[0]} recorded no access{reason}", cure=cure)


def _accesses(totals: Mapping[str, Any]) -> Accesses:
    reads, writes, atomic_reads, atomic_writes, atomic_modifies = totals["accesses"]
    sizes = totals["bytes"]
    addresses = [address for address, _ in totals["sites"]]
    places = resolve(addresses, totals["maps"])
    sites = [
        Site(address=address, place=place, reads=by[0], writes=by[1], atomics=sum(by[2:]))
        for (address, by), place in zip(totals["sites"], places, strict=True)
    ]
    sites.sort(key=lambda site: (-(site.reads + site.writes + site.atomics), site.address))
    return Accesses(
        threads=totals["threads"],
        reads=reads,
        writes=writes,
        atomic_reads=atomic_reads,
        atomic_writes=atomic_writes,
        atomic_modifies=atomic_modifies,
        read_bytes=sizes[0] + sizes[2] + sizes[4],
        written_bytes=sizes[1] + sizes[3] + sizes[4],
        allocations=totals["allocations"],
        frees=totals["frees"],
        allocated_bytes=totals["allocated_bytes"],
        acquisitions=totals["acquisitions"],
        barrier_entries=totals["barrier_entries"],
        function_entries=totals["entries"],
        regions=totals["regions"],
        lost_words=totals["lost_words"],
        processor_s=(totals["processor_ns"] + totals["children_ns"]) / 1e9,
        unseen_s=(totals["unseen_ns"] + totals["children_ns"]) / 1e9,
        forks=totals["forks"],
        missing=totals["missing"],
        sites=tuple(sites),
    )
