"""The services of one session: started when first needed, kept, ended; leftovers are removed."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

import msgspec

from headroom.recording.launching.descendants import descendants
from headroom.recording.leftovers import POOL, OwnFolder, clean_up, make_folder, state_folder
from headroom.recording.services.kinds import folder_of_programs, kind_of
from headroom.recording.services.limits import groups_of, remove_groups
from headroom.recording.services.service import (
    LOOPBACK,
    MARK,
    Place,
    PortTakenError,
    Service,
    ServiceFailedError,
    cut_log,
    free_ports,
    start,
)
from headroom.recording.services.table import FaultTable, ServiceTable

Fill = Callable[[str, Mapping[str, str]], str]
"""Fills the placeholders of a text, given those of the services."""
_PORT_TRIES = 3
_LOOK_AT_LOGS_S = 0.5
_PREFIX = "headroom-services-"
_OWN = re.compile(r"(?<!\{)\{(?=[a-z])")
"""The brace before a placeholder; two of them are one brace."""
_WORD = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?)\}")


def fill_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text with its words `{NAME.port}` replaced; other braces stay.

    Examples
    --------
    >>> fill_words("{a.port} {b}", {"a.port": "1"})
    '1 {b}'
    """
    return _WORD.sub(lambda found: words.get(found[1], found[0]), text)


@dataclass(slots=True)
class Keeper:
    """Services that share a folder; one for each system of a session.

    Parameters
    ----------
    host
        Address of this machine on which they listen.
    peers
        Addresses of the other machines of the experiment, whose programs use them.
    """

    host: str = LOOPBACK
    peers: tuple[str, ...] = ()
    _folder: OwnFolder | None = None
    _running: dict[str, tuple[object, Service]] = field(default_factory=dict)
    _count: int = 0
    _closed: threading.Event = field(default_factory=threading.Event)

    def ensure(
        self,
        tables: Sequence[ServiceTable],
        fill: Fill,
        known: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, str]:
        """Start what does not run yet, in this order; return the values of all placeholders.

        A service that runs is kept if none of its texts differs and it is still alive. `known` are
        the placeholders of services on other machines.
        """
        words = dict(known)
        for table in tables:
            key = _filled(table, fill, {**words, **unknown_words(table), **_bin(table)})
            before, service = self._running.get(table.name, (None, None))
            if service is None or before != key or not service.is_alive():
                self._end(table.name)
                service = self._started(table, fill, words)
                self._running[table.name] = (key, service)
            words |= {f"{table.name}.{k}": v for k, v in service.place.words().items()}
        return words

    def services(self) -> list[Service]:
        """Return the running services."""
        return [service for _, service in self._running.values()]

    def busy_s(self) -> dict[int, float]:
        """Return the processor time (s) of each running service since its start, by process."""
        return {service.pid: service.group.totals()["cpu_s"] for service in self.services()}

    def busy_s_since(self, before_s: Mapping[int, float]) -> float:
        """Return the processor time (s) of the running services since `busy_s` was called."""
        return sum(time_s - before_s.get(pid, 0.0) for pid, time_s in self.busy_s().items())

    def check(self) -> None:
        """Raise `ServiceFailedError` if a service has ended that no fault was to end."""
        for service in self.services():
            fault = service.table.fault
            if fault is None or fault.signal == "STOP":
                service.check()

    @contextmanager
    def faults(self, more: Mapping[str, FaultTable] = MappingProxyType({})) -> Iterator[None]:
        """Send the signals of all faults at their moments after the beginning of the block.

        `more` are faults of services by name, in place of those of their tables. A service that
        starts again has done so at the end of the block.
        """
        found = [(one, more.get(one.table.name, one.table.fault)) for one in self.services()]
        disturbed = [(service, fault) for service, fault in found if fault is not None]
        timers = [timer for service, fault in disturbed for timer in _timers(service, fault)]
        for timer in timers:
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
                timer.join()
            for service, _ in disturbed:
                service.send(signal.SIGCONT)
        for service, fault in disturbed:
            if fault.starts_again_after_s is not None:
                if not service.is_alive():
                    service.start_again()
                service.wait_until_ready()

    def end_of_run(self) -> None:
        """End the services that each replication starts again."""
        for service in self.services():
            if service.table.per == "point":
                self._end(service.table.name)

    def close(self) -> None:
        """End all services, the last one first, and remove their folder."""
        self._closed.set()
        for name in reversed(list(self._running)):
            self._end(name)
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.remove()

    def _end(self, name: str) -> None:
        _, service = self._running.pop(name, (None, None))
        if service is not None:
            service.stop()
            # Hundreds of replications would fill the disk with files of servers that are gone.
            shutil.rmtree(service.place.folder, ignore_errors=True)

    def _started(self, table: ServiceTable, fill: Fill, words: Mapping[str, str]) -> Service:
        for _ in range(_PORT_TRIES):
            with suppress(PortTakenError):
                return self._try(table, fill, words)
        raise ServiceFailedError(
            f"service {table.name!r}: its ports were taken by others {_PORT_TRIES} times",
            cure="look for a program that opens many ports",
        )

    def _try(self, table: ServiceTable, fill: Fill, words: Mapping[str, str]) -> Service:
        if self._folder is None:
            parent = Path(tempfile.gettempdir())
            self._folder = make_folder(parent, state=services_state(), prefix=_PREFIX)
            self._closed = threading.Event()
            threading.Thread(target=self._watch_logs, args=[self._closed], daemon=True).start()
        self._count += 1
        base = self._folder.path / POOL / f"{table.name}-{self._count}"
        base.mkdir(parents=True)
        place = self._place(table, base)
        own = place.words() | _private_words(place)
        table = _with_kind(table)
        given = {**words, **own, **{f"{table.name}.{k}": v for k, v in own.items()}}
        ready = msgspec.convert(_filled(table, fill, given), ServiceTable)
        for name, text in ready.files.items():
            (place.folder / name).write_text(text, encoding="utf-8")
        for argv in _preparations(table, own):
            _run(table, argv, os.environ, "ready.within_s", table.ready.within_s)
        service = start(ready, place, token=self._folder.token, environment=os.environ)
        try:
            for argv in ready.set_up:
                environment = {**os.environ, **ready.env}
                _run(table, argv, environment, "set_up_within_s", table.set_up_within_s)
        except BaseException:
            service.stop()
            raise
        return service

    def _place(self, table: ServiceTable, base: Path) -> Place:
        kind = kind_of(table)
        try:
            ports = free_ports(table.ports, self.host)
        except OSError as error:
            raise ServiceFailedError(
                f"service {table.name!r} cannot listen on {self.host}: {error.strerror}",
                cure="start the worker of its machine with an address of its own: --host ADDRESS",
            ) from error
        url = kind.url.replace("{port}", str(next(iter(ports.values())))) if kind else ""
        folder = base / "files"
        folder.mkdir()
        return Place(
            folder=folder,
            log=base / "log",
            programs=folder_of_programs(table),
            ports=ports,
            url=url.replace("{url_host}", _in_url(self.host)),
            host=self.host,
            peers=self.peers,
        )

    def _watch_logs(self, closed: threading.Event) -> None:
        while not closed.wait(_LOOK_AT_LOGS_S):
            for service in self.services():
                with suppress(OSError):
                    cut_log(service.place.log)


def _private_words(place: Place) -> dict[str, str]:
    """Return words for the texts of known servers alone."""
    peers = (f"{peer}/{ip_address(peer).max_prefixlen}" for peer in place.peers)
    return {"url_host": _in_url(place.host), "peers": " ".join(peers)}


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def services_state() -> Path:
    """Return where this user's list of folders of services is kept."""
    return state_folder().with_name("services")


def unknown_words(table: ServiceTable) -> dict[str, str]:
    """Return the placeholders of a service that is not running, each as a name of itself."""
    return {name: f"<{name}>" for name in names_of(table)}


def _bin(table: ServiceTable) -> dict[str, str]:
    return {f"{table.name}.bin": folder_of_programs(table)}


def names_of(table: ServiceTable) -> tuple[str, ...]:
    """Return the names of the placeholders of a service."""
    own = ("folder", "log", "url", "bin", "host", *table.ports)
    return tuple(f"{table.name}.{name}" for name in own)


def remove_leftovers() -> tuple[str, ...]:
    """End and remove what runs that were killed left behind; returns one sentence for each."""
    return clean_up(state=services_state(), first=_end_leftovers)


def _end_leftovers(token: str) -> None:
    wanted = f"{MARK}={token}".encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                for pid in [*descendants(int(entry.name)), int(entry.name)]:
                    os.kill(pid, signal.SIGKILL)
    remove_groups({str(group): group for group in groups_of(token)})


def _with_kind(table: ServiceTable) -> ServiceTable:
    kind = kind_of(table)
    if kind is None:
        return table

    def named(argv: Sequence[str]) -> list[str]:
        return [_OWN.sub(f"{{{table.name}.", word) for word in argv]

    ready = table.ready
    if not (ready.port or ready.line or ready.argv):
        ready = msgspec.structs.replace(ready, argv=named(kind.ready), line=kind.ready_line)
    settings = {**kind.settings, **table.settings}
    own = {f"{table.name}.{name}": value for name, value in settings.items()}
    files = {name: _direct(named([text])[0], own) for name, text in kind.files.items()}
    return msgspec.structs.replace(
        table,
        argv=named(kind.argv(table)),
        stop=kind.stop,
        ready=ready,
        files={**files, **table.files},
    )


def _preparations(table: ServiceTable, own: Mapping[str, str]) -> list[list[str]]:
    kind = kind_of(table)
    commands = kind.prepare(table) if kind else []
    return [[_direct(word, own) for word in argv] for argv in commands]


def _direct(word: str, own: Mapping[str, str]) -> str:
    for name, value in own.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _filled(table: ServiceTable, fill: Fill, words: Mapping[str, str]) -> dict[str, object]:
    """Return a table with the placeholders of all its texts filled."""

    def of(value: object) -> object:
        if isinstance(value, str):
            return fill(value, words)
        if isinstance(value, list):
            return [of(one) for one in value]
        return {k: of(v) for k, v in value.items()} if isinstance(value, dict) else value

    data: dict[str, object] = msgspec.to_builtins(table)
    texts = {key: of(data[key]) for key in ("argv", "env", "settings", "files", "set_up")}
    ready = {**msgspec.to_builtins(table.ready), "argv": of(table.ready.argv)}
    return {**data, **texts, "ready": ready}


def _run(
    table: ServiceTable,
    argv: Sequence[str],
    environment: Mapping[str, str],
    key: str,
    limit_s: float,
) -> None:
    """Run a command of a service to its end, within the limit (s) that a key of its table gives."""
    try:
        done = subprocess.run(
            argv, env=environment, capture_output=True, check=False, text=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        reason = f"did not end within {limit_s:g} s; give it more by `{key}`"
    except OSError as error:
        reason = f"cannot be started: {error.strerror}"
    else:
        if not done.returncode:
            return
        said = (done.stderr or done.stdout)[-2000:]
        reason = f"ended with exit code {done.returncode}:\n{said}"
    command = " ".join(argv)
    raise ServiceFailedError(f"service {table.name!r}: `{command}` {reason}", cure="run it by hand")


def _timers(service: Service, fault: FaultTable) -> Iterator[threading.Timer]:
    number = signal.Signals[f"SIG{fault.signal}"]
    to_all = fault.to == "all"
    yield threading.Timer(fault.after_s, service.send, [number], {"to_all": to_all})
    if fault.signal == "STOP" and fault.for_s:
        end_s = fault.after_s + fault.for_s
        yield threading.Timer(end_s, service.send, [signal.SIGCONT], {"to_all": to_all})
    if fault.starts_again_after_s is not None:
        yield threading.Timer(fault.after_s + fault.starts_again_after_s, service.start_again)
