"""One running service: its start, checks, signals and end.

A native launcher is the parent of each service: it ends the service and all its descendants when
this process ends, however that happens.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from headroom.errors import ExitCode, HeadroomError
from headroom.recording.launching.descendants import descendants
from headroom.recording.launching.launcher import Launch, Launcher
from headroom.recording.observers.group import Group
from headroom.recording.services.limits import (
    hierarchies,
    make_groups,
    memory_kills,
    remove_groups,
)
from headroom.recording.services.table import ServiceTable

MARK = "HEADROOM_SERVICE"
"""Variable of the environment of all processes of a service: the token of the session."""
LOOPBACK = "127.0.0.1"
_LOOK_S = 0.02
LOG_LIMIT_BYTES = 16_000_000
"""Size (B) beyond which a log is cut."""
LOG_KEPT_BYTES = 1_000_000
_LOG_BYTES = 4000
_LOG_LINES = 20
_SHELL = (
    'exec >>"$1" 2>&1; shift; '
    "while [ $1 != -- ]; do echo $$ >$1/cgroup.procs || exit 126; shift; done; "
    'shift; exec "$@"'
)
"""Appends to the log, enters control groups, then becomes the service."""


class ServiceFailedError(HeadroomError):
    """A service did not start, was not ready in time, or ended during a run."""

    exit_code = ExitCode.POINTS_FAILED


class PortTakenError(Exception):
    """A port was taken between its choice and the start of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a service is: its folder, log, programs, ports (by name) and address.

    Parameters
    ----------
    host
        Network address on which it listens.
    peers
        Addresses of other machines that use it.
    """

    folder: Path
    log: Path
    programs: str
    ports: Mapping[str, int]
    url: str = ""
    host: str = LOOPBACK
    peers: tuple[str, ...] = ()

    def words(self) -> dict[str, str]:
        """Return the values of the service's placeholders."""
        words = {"folder": str(self.folder), "log": str(self.log), "bin": self.programs}
        words |= {name: str(port) for name, port in self.ports.items()}
        return {**words, "url": self.url, "host": self.host}


@dataclass(slots=True, kw_only=True)
class Service:
    """A running service.

    Parameters
    ----------
    table
        Its description, with every placeholder filled.
    pid
        First process, the leader of a session.
    groups
        Control groups by controller; empty if this machine permits none.
    remarks
        Limits that could not be set, one sentence each.
    """

    table: ServiceTable
    place: Place
    launch: Launch
    launcher: Launcher
    pid: int
    groups: Mapping[str, Path]
    remarks: list[str] = field(default_factory=list)
    group: Group = field(init=False)
    """All its processes, to observe."""

    def __post_init__(self) -> None:
        self.group = Group(self.processes, self.groups, tuple(self.place.ports.values()))

    def processes(self) -> list[int]:
        """Return the numbers of all living processes, the first one first."""
        return [self.pid, *descendants(self.pid)] if self.is_alive() else []

    def is_alive(self) -> bool:
        """Return whether the first process lives."""
        return not self.launcher.has_answered()

    def check(self) -> None:
        """Raise `ServiceFailedError` if it has ended."""
        if not self.is_alive():
            raise self.failure("ended during the run")

    def failure(self, reason: str) -> ServiceFailedError:
        """Return an error with the end of the log, and with the limit of memory if it killed."""
        if kills := memory_kills(self.groups):
            limit = f"{self.table.limits.memory_mb:g} MB of memory"
            reason += f": it needed more than its limit of {limit} ({kills} processes killed)"
        tail = log_tail(self.place.log)
        said = f"; the end of its log:\n{tail}" if tail else "; its log is empty"
        return ServiceFailedError(
            f"service {self.table.name!r} {reason}{said}",
            cure="read its log, or run its command by hand",
        )

    def send(self, number: int, *, to_all: bool = True) -> None:
        """Send a signal to the service, unless it has ended."""
        for pid in self.processes() if to_all else self.processes()[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> None:
        """Ask it to end, then kill what is left of it, and remove its control groups."""
        if self.is_alive():
            self.send(signal.SIGCONT)
            self.send(signal.Signals[f"SIG{self.table.stop}"], to_all=False)
            self.launcher.has_answered(self.table.stop_within_s)
        self.launcher.close()
        remove_groups(self.groups)

    def start_again(self) -> None:
        """Start it again with its files and ports, unless it does not end within its limit."""
        if self.launcher.has_answered(self.table.stop_within_s):
            self.launcher.close()
            self.launcher = Launcher()
            self.pid = self.launcher.begin(self.launch)

    def wait_until_ready(self) -> None:
        """Return once it is ready; raise `ServiceFailedError` if it ends or its time is over."""
        deadline = time.monotonic() + self.table.ready.within_s
        while not self._is_ready():
            if self.launcher.has_answered(_LOOK_S):
                if any(map(self._is_taken, self.place.ports.values())):
                    raise PortTakenError
                raise self.failure("ended before it was ready")
            if time.monotonic() > deadline:
                raise self.failure(f"was not ready within {self.table.ready.within_s:g} s")

    def _is_ready(self) -> bool:
        ready = self.table.ready
        if ready.line:
            text = self.place.log.read_text("utf-8", "replace") if self.place.log.exists() else ""
            return re.search(ready.line, text, re.MULTILINE) is not None
        if ready.argv:
            return self._answers(ready.argv)
        ports = self.place.ports
        if isinstance(ready.port, int):
            return self._is_taken(ready.port)
        if not ports:
            return self.is_alive()
        return self._is_taken(ports[ready.port] if ready.port else next(iter(ports.values())))

    def _is_taken(self, port: int) -> bool:
        with socket.socket(_family(self.place.host)) as probe:
            probe.settimeout(1.0)
            return probe.connect_ex((self.place.host, port)) == 0

    def _answers(self, argv: list[str]) -> bool:
        limit_s = self.table.ready.within_s
        try:
            done = subprocess.run(argv, capture_output=True, check=False, timeout=limit_s)
        except subprocess.TimeoutExpired:
            return False
        except OSError as error:
            raise self.failure(f"cannot be checked by {argv[0]!r} ({error.strerror})") from error
        return done.returncode == 0


def start(
    table: ServiceTable, place: Place, *, token: str, environment: Mapping[str, str]
) -> Service:
    """Start a service whose texts are all filled, and wait until it is ready.

    Raises
    ------
    ServiceFailedError
        It ended, or was not ready in time.
    """
    groups, remarks = make_groups(f"{token}-{table.name}", table.limits, hierarchies())
    entered = [str(group) for group in dict.fromkeys(groups.values())]
    argv = ["sh", "-c", _SHELL, "sh", str(place.log), *entered, "--", *table.argv]
    with ExitStack() as undo:
        undo.callback(remove_groups, groups)
        launch = Launch(
            program=shutil.which("sh") or "/bin/sh",
            argv=argv,
            environment={**environment, **table.env, MARK: token},
            folder=place.folder,
            stdout=Path(os.devnull),
            stderr=Path(os.devnull),
        )
        launcher = undo.enter_context(Launcher())
        pid = launcher.begin(launch)
        service = Service(
            table=table, place=place, launch=launch, launcher=launcher, pid=pid, groups=groups,
            remarks=[f"service {table.name!r} {remark}" for remark in remarks],
        )  # fmt: skip
        service.wait_until_ready()
        undo.pop_all()
    return service


def cut_log(log: Path) -> None:
    """Keep the last part of a log that has grown beyond `LOG_LIMIT_BYTES`.

    The service appends to it, so it goes on behind the kept part; lines that it writes in this
    moment are lost.
    """
    if not log.exists() or log.stat().st_size <= LOG_LIMIT_BYTES:
        return
    with log.open("r+b") as file:
        file.seek(-LOG_KEPT_BYTES, os.SEEK_END)
        kept = file.read()
        file.truncate(0)
    with log.open("ab") as file:
        file.write(b"[earlier lines were cut: the log had grown too large]\n" + kept)


def free_ports(names: list[str], host: str = LOOPBACK) -> dict[str, int]:
    """Return a free port of an address of this machine for each name, all different.

    Raises
    ------
    OSError
        The machine has no such address.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(_family(host))) for _ in names]
        for one in sockets:
            one.bind((host, 0))
        return {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}


def end_of(path: Path, limit_bytes: int) -> str:
    """Return the end of a text file; a line that is cut at its beginning is left out."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit_bytes))
        text = file.read().decode(errors="replace")
    return text.partition("\n")[2] if size > limit_bytes else text


def log_tail(log: Path) -> str:
    """Return the last lines of a log, indented."""
    lines = end_of(log, _LOG_BYTES).splitlines()
    return "\n".join(f"    {line}" for line in lines[-_LOG_LINES:])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
