"""The Python side of the launcher of measured programs.

The native launcher (`launch.rs`) starts and clocks programs, so neither the memory nor the
scheduling of this interpreter affects a result. One launcher serves one replication.

Invariant: when a launcher is closed, no process that it started is alive.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

from headroom.recording.launching import native
from headroom.recording.launching.descendants import child_of, kill_descendants

LAUNCHER_VERSION = 1
"""Part of each fingerprint: raise it when programs are started or clocked in another way."""
_GOODBYE = bytes(4)
_FIRST_LOOK_S = 0.002
"""Time (s) between two looks for the process of a program that was just started."""
_LOOK_MS = 1000
"""Time (ms) between two checks of a launcher that has not answered yet: a stop sends no message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The resources used by one finished program.

    Parameters
    ----------
    wall_s
        Time (s) on the monotonic clock, from just before the fork to the known end.
    user_s, system_s
        Processor time (s) of the program and of its children that it waited for.
    peak_memory_bytes
        Largest resident set (B) of the program or of any one child that it waited for. The
        kernel counts in pages, and batches the counts: a few pages per processor are its
        granularity.
    major_faults, involuntary_switches
        Pages read from storage; times the processor was taken away.
    exit_code, signal
        How it ended; `signal` is 0 unless one killed it.
    """

    wall_s: float
    user_s: float
    system_s: float
    peak_memory_bytes: int
    major_faults: int
    involuntary_switches: int
    exit_code: int
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program to start: `program` is its path, `argv` its arguments, files are its streams."""

    program: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    stdout: Path
    stderr: Path
    stdin: Path = Path(os.devnull)
    time_limit_s: float = 0.0
    """0 for no limit."""

    def encode(self) -> bytes:
        """Return the request as `launch.rs` reads it."""
        streams = (self.stdin, self.stdout, self.stderr)
        limit_ms = max(1, round(self.time_limit_s * 1000)) if self.time_limit_s else 0
        fields = [str(limit_ms), str(self.folder), *map(str, streams)]
        fields += [str(len(self.environment))]
        fields += [f"{name}={value}" for name, value in self.environment.items()]
        fields += [self.program, *self.argv]
        body = b"".join(os.fsencode(text) + b"\0" for text in fields)
        return len(body).to_bytes(4, "little") + body


class LauncherStoppedError(Exception):
    """The launcher was stopped, so nothing clocked its program; all that it started is gone."""


class TimeLimitError(Exception):
    """The program ran past its time limit; it and all that it started are gone."""


@dataclass(slots=True)
class Launcher:
    """Starts programs one after the other; see the module's description.

    Parameters
    ----------
    scratch
        Folder that the launcher removes if this process is killed before it can.

    Examples
    --------
    >>> import tempfile
    >>> with Launcher() as launcher, tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     launch = Launch(
    ...         program="/bin/sh", argv=["sh", "-c", "exit 3"], environment={}, folder=folder,
    ...         stdout=folder / "out", stderr=folder / "err", time_limit_s=60,
    ...     )
    ...     launcher.run(launch).exit_code
    3
    """

    scratch: Path | None = None
    watch: Callable[[], None] = lambda: None
    """Called about once per second while a program runs; what it raises ends the program."""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def pid(self) -> int:
        """Number of the launcher's process, the parent of all it starts; 0 while there is none."""
        return 0 if self._process is None else self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, launch: Launch) -> Usage:
        """Run a program to its end and return its resource use.

        Raises
        ------
        OSError
            The program could not be started.
        TimeLimitError
            It was killed at its time limit.
        LauncherStoppedError
            A signal stopped the launcher meanwhile.
        """
        process = self._begun(launch)
        try:
            answer = _answer(process, self.watch)
        except LauncherStoppedError:
            self._kill()
            raise
        except BaseException:
            self.close()
            raise
        return _parse_answer(answer)

    def begin(self, launch: Launch) -> int:
        """Start a program without waiting for its end; return its process number, 0 if it ended."""
        process = self._begun(launch)
        while not self.has_answered(_FIRST_LOOK_S):
            if (pid := child_of(process.pid)) is not None:
                return pid
        return 0

    def has_answered(self, within_s: float = 0.0) -> bool:
        """Return whether the program of `begin` has ended, at the latest after `within_s` (s)."""
        if self._process is None or self._process.stdout is None:
            return True
        return bool(select.select([self._process.stdout], [], [], within_s)[0])

    def _begun(self, launch: Launch) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = _start_launcher(self.scratch)
        _say(self._process, launch.encode())
        return self._process

    def close(self) -> None:
        """Kill whatever the programs have left, and end the launcher."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(BrokenPipeError), process:
                _say(process, _GOODBYE)

    def _kill(self) -> None:
        """End a launcher that cannot do it itself, and before it all that it started."""
        process, self._process = self._process, None
        if process is not None:
            kill_descendants(process.pid)
            process.kill()
            with suppress(BrokenPipeError), process:
                pass


def _start_launcher(scratch: Path | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [native_path("launch", native.LAUNCHER), *([str(scratch)] if scratch else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def native_path(name: str, program: bytes) -> str:
    """Return a path under which this process and its children find a program of the library.

    An anonymous file in memory, if the system has them: nothing to install, to find or to remove.
    Its path goes through this process, as the file is closed in children.
    """
    if hasattr(os, "memfd_create"):
        return f"/proc/{os.getpid()}/fd/{_in_memory(name, program)}"
    return str(_on_disk(name, program))


@cache
def _in_memory(name: str, program: bytes) -> int:
    descriptor = os.memfd_create(f"headroom-{name}", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(program)
    return descriptor


@cache
def _on_disk(name: str, program: bytes) -> Path:
    path = Path(tempfile.mkdtemp(prefix=f"headroom-{name}-")) / name
    path.write_bytes(program)
    path.chmod(0o700)
    return path


def _answer(process: subprocess.Popen[bytes], watch: Callable[[], None]) -> list[str]:
    if process.stdout is None:
        raise AssertionError("the launcher is always started with pipes")
    answered = select.poll()
    answered.register(process.stdout, select.POLLIN)
    while not answered.poll(_LOOK_MS):
        _check_running(process.pid)
        watch()
    _check_running(process.pid)
    return process.stdout.readline().decode(errors="replace").rstrip("\n").split(" ", 2)


def _check_running(pid: int) -> None:
    """Raise if a signal has stopped the launcher, even if it was continued later."""
    if os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG) is not None:
        raise LauncherStoppedError


def _say(process: subprocess.Popen[bytes], message: bytes) -> None:
    if process.stdin is None:
        raise AssertionError("the launcher is always started with pipes")
    process.stdin.write(message)
    process.stdin.flush()


def _parse_answer(answer: list[str]) -> Usage:
    match answer:
        case ["ended", wall_ns, rest]:
            numbers = [int(number) for number in rest.split()]
            return _usage(int(wall_ns), numbers)
        case ["limit", _]:
            raise TimeLimitError
        case ["failed", errno, text]:
            raise OSError(int(errno), text)
        case _:
            raise OSError(0, "the launcher was killed")


def _usage(wall_ns: int, numbers: Sequence[int]) -> Usage:
    user_us, system_us, peak, faults, switches, code, signal = numbers
    return Usage(
        wall_s=wall_ns / 1e9,
        user_s=user_us / 1e6,
        system_s=system_us / 1e6,
        peak_memory_bytes=peak,
        major_faults=faults,
        involuntary_switches=switches,
        exit_code=code,
        signal=signal,
    )
