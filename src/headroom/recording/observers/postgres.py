"""Waits and counters of a PostgreSQL server, from its own views, while something is measured.

A separate connection reads the waits of all active clients every 0.1 s, and the counters of the
server at both ends of the run. It speaks the few messages of the protocol that this needs, so that
no client library is a dependency. A server that does not answer leaves a gap, never a failed run.

Sources: PostgreSQL documentation, chapters "The Cumulative Statistics System" and
"Frontend/Backend Protocol" (version 3.0).
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from headroom.experiment.protocol.system import Metric

INTERVAL_S = 0.1
"""Time (s) between two looks at the waits."""
_PATIENCE_S = 2.0
_PROTOCOL = 196_608
_HEAD_BYTES = 5
"""Bytes of a message before its content: a letter and a length."""
_AUTHENTICATED = 0
WAITS = {
    "Lock": "lock",
    "LWLock": "lwlock",
    "IO": "io",
    "IPC": "ipc",
    "Client": "client",
    "": "none",
}
"""Types of wait events that have a metric; all others count as ``other``."""
_MEANINGS = {
    "none": "Clients whose backend waits for nothing: it runs, or waits for a processor",
    "lock": "Clients that wait for a row, a table or another heavyweight lock",
    "lwlock": "Clients that wait for a structure in shared memory, such as the log's buffer",
    "io": "Clients that wait for a file, such as the flush of the log",
    "ipc": "Clients that wait for another process of the server",
    "client": "Clients whose backend waits for them",
    "other": "Clients that wait for anything else",
}
SELECT_WAITS = (
    "select coalesce(wait_event_type, ''), count(*) from pg_stat_activity "
    "where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid() "
    "group by 1"
)
_SELECT_COUNTERS = (
    "select 'commits', sum(xact_commit)::float from pg_stat_database union all "
    "select 'rollbacks', sum(xact_rollback) from pg_stat_database union all "
    "select 'deadlocks', sum(deadlocks) from pg_stat_database union all "
    "select 'blocks_read', sum(blks_read) from pg_stat_database union all "
    "select 'wal_records', wal_records from pg_stat_wal union all "
    "select 'wal_bytes', wal_bytes from pg_stat_wal"
)
_SELECT_FLUSHES = {
    # Since version 18 flushes of the log are counted with all other input and output.
    180_000: "select 'wal_flushes', sum(fsyncs)::float from pg_stat_io where object = 'wal' "
    "union all select 'wal_flush_s', sum(fsync_time) / 1000 from pg_stat_io where object = 'wal'",
    140_000: "select 'wal_flushes', wal_sync::float from pg_stat_wal union all "
    "select 'wal_flush_s', wal_sync_time / 1000 from pg_stat_wal",
}
"""Version from which a query works, the newest first."""
_PER_S = {
    "commits": "Transactions that commit",
    "rollbacks": "Transactions that roll back",
    "blocks_read": "Blocks that are not in the server's buffer",
    "wal_records": "Records of the log",
    "wal_bytes": "Bytes of the log",
    "wal_flushes": "Flushes of the log",
}
_PER_OPERATION = {
    "wal_bytes": ("B", "Bytes of the log for an operation"),
    "wal_flushes": ("1", "Flushes of the log for an operation; below 1 they are shared"),
}


class ServerError(Exception):
    """The server refuses a query or does not answer."""


class Connection:
    """A connection for simple queries.

    Parameters
    ----------
    host, port
        Where a server of this machine listens that trusts its local users.
    database
        Database to enter.
    """

    def __init__(self, host: str, port: int, database: str = "postgres") -> None:
        self._socket = socket.create_connection((host, port), timeout=_PATIENCE_S)
        self._file = self._socket.makefile("rb")
        words = {"user": "headroom", "database": database, "application_name": "headroom"}
        text = b"".join(f"{name}\0{value}\0".encode() for name, value in words.items()) + b"\0"
        try:
            self._socket.sendall(struct.pack("!ii", len(text) + 8, _PROTOCOL) + text)
            self._answer()
        except BaseException:
            self.close()
            raise

    def rows(self, query: str) -> list[list[str]]:
        """Return the rows of a query as texts, NULL as an empty one."""
        text = query.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
        return self._answer()

    def close(self) -> None:
        """Close it; the server notices."""
        self._file.close()
        self._socket.close()

    def _answer(self) -> list[list[str]]:
        rows: list[list[str]] = []
        error = ""
        while True:
            kind, content = self._message()
            if not kind:
                raise ServerError(error or "it closed the connection")
            if kind == b"D":
                rows.append(list(_columns(content)))
            elif kind == b"R" and struct.unpack("!i", content[:4])[0] != _AUTHENTICATED:
                raise ServerError("it asks for a password")
            elif kind == b"E":
                fields = content.decode(errors="replace").split("\0")
                error = next((one[1:] for one in fields if one.startswith("M")), "unknown error")
            elif kind == b"Z":
                if error:
                    raise ServerError(error)
                return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._file.read(5)
        if len(head) < _HEAD_BYTES:
            return b"", b""
        (length,) = struct.unpack("!i", head[1:])
        return head[:1], self._file.read(length - 4)


def _columns(content: bytes) -> Iterator[str]:
    """Yield the columns of a row."""
    (count,) = struct.unpack_from("!h", content)
    place = 2
    for _ in range(count):
        (length,) = struct.unpack_from("!i", content, place)
        place += 4
        yield content[place : place + max(length, 0)].decode(errors="replace")
        place += max(length, 0)


@dataclass(slots=True)
class PostgresWatch:
    """Records waits and counters from `__enter__` to `__exit__`.

    Attributes
    ----------
    waits
        Time (s, monotonic) and number of clients by type of wait, look by look.
    missing
        Why there is nothing, or a gap; empty if all is there.
    own_cpu_s
        Processor time (s) of the looks, without that of the server's backend for them.
    """

    host: str
    port: int
    waits: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    missing: str = ""
    own_cpu_s: float = 0.0
    _first: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _times_s: tuple[float, float] = (0.0, 0.0)
    _connection: Connection | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._first = self._counters()
        self._times_s = (time.monotonic(), 0.0)
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._last = self._counters()
        self._times_s = (self._times_s[0], time.monotonic())
        if self._connection is not None:
            self._connection.close()

    def values(self, *, skip_s: float, throughput: float | None) -> dict[str, float]:
        """Return the metrics without the prefix of the service.

        Parameters
        ----------
        skip_s
            Time (s) at the start whose waits do not count. Counters cover the whole run: a backend
            reports them once a second at most, so parts of a second are not told apart.
        throughput
            Operations per second.
        """
        begin_s, end_s = self._times_s
        values = {}
        looks = [seen for at_s, seen in self.waits if at_s >= begin_s + skip_s] or [
            seen for _, seen in self.waits[-1:]
        ]
        if looks:
            for name in _MEANINGS:
                total = sum(seen.get(name, 0) for seen in looks)
                values[f"waits.{name}_mean"] = total / len(looks)
        gained = {
            name: value - self._first[name]
            for name, value in self._last.items()
            if name in self._first and value >= self._first[name]
        }
        length_s = max(end_s - begin_s, 1e-9)
        values |= {f"{name}_per_s": gained[name] / length_s for name in _PER_S if name in gained}
        if "deadlocks" in gained:
            values["deadlock_count"] = gained["deadlocks"]
        if gained.get("wal_flushes") and gained.get("wal_flush_s"):
            values["wal_flush_s_mean"] = gained["wal_flush_s"] / gained["wal_flushes"]
        if throughput:
            values |= {
                f"{name}_per_op": gained[name] / (throughput * length_s)
                for name in _PER_OPERATION
                if name in gained
            }
        return values

    def _keep_looking(self) -> None:
        due_s = time.monotonic()
        while not self._ended.wait(max(due_s - time.monotonic(), 0.0)):
            before_s = time.thread_time()
            at_s = time.monotonic()
            rows = self._rows(SELECT_WAITS)
            if rows is not None:
                seen: dict[str, int] = {}
                for kind, count in rows:
                    name = WAITS.get(kind, "other")
                    seen[name] = seen.get(name, 0) + int(count)
                self.waits.append((at_s, seen))
            self.own_cpu_s += time.thread_time() - before_s
            due_s = max(due_s + INTERVAL_S, time.monotonic())

    def _counters(self) -> dict[str, float]:
        rows = self._rows(_SELECT_COUNTERS) or []
        version = self._rows("show server_version_num") or [["0"]]
        known = [query for since, query in _SELECT_FLUSHES.items() if int(version[0][0]) >= since]
        rows += (self._rows(known[0]) or []) if known else []
        return {name: float(value) for name, value in rows if value}

    def _rows(self, query: str) -> list[list[str]] | None:
        """Return the rows of a query, None if the server does not answer now."""
        try:
            if self._connection is None:
                self._connection = Connection(self.host, self.port)
            return self._connection.rows(query)
        except (OSError, ServerError, ValueError, struct.error) as error:
            self.missing = str(error)
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            return None


def postgres_metrics(service: str, *, per_op: bool) -> Iterator[Metric]:
    """Yield the metrics of a service ``service.NAME`` that is a PostgreSQL server.

    Examples
    --------
    >>> next(postgres_metrics("service.db", per_op=False)).name
    'service.db.waits.none_mean'
    """
    for name, text in _MEANINGS.items():
        yield Metric(name=f"{service}.waits.{name}_mean", unit="1", description=text)
    for name, text in _PER_S.items():
        unit = "B/s" if name == "wal_bytes" else "1/s"
        yield Metric(name=f"{service}.{name}_per_s", unit=unit, description=f"{text}, per second")
    yield Metric(name=f"{service}.deadlock_count", unit="1", better="low", description="Deadlocks")
    text = "Mean time of a flush of the log, if track_wal_io_timing is on"
    yield Metric(name=f"{service}.wal_flush_s_mean", unit="s", better="low", description=text)
    for name, (unit, text) in _PER_OPERATION.items() if per_op else ():
        yield Metric(name=f"{service}.{name}_per_op", unit=unit, better="low", description=text)
