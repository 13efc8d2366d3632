"""The journal: one durable row per finished replication, in one SQLite file beside the study.

Invariants: a row that `append` returned for survives the loss of power (WAL, synchronous FULL);
rows are only ever added, so failures, other machines and earlier versions of a study stay
readable; one process writes, any number read. Only the driver of a run opens it for writing.
See docs/background/journal-and-resume.md.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

import msgspec

from headroom.errors import EnvironmentUnfitError
from headroom.experiment import journal_errors
from headroom.experiment.journal_errors import explained
from headroom.experiment.journal_lock import JournalLock
from headroom.experiment.run import Run
from headroom.experiment.run_codec import UnreadableRunError, decode_run, encode_run
from headroom.experiment.storage_facts import mount_of
from headroom.experiment.system import Value

APPLICATION_ID = 0x48_44_52_4D
"""Marks the file as a Headroom journal ("HDRM") for `file` and for this module."""
FORMAT = 1
BUSY_LIMIT_S = 10.0
"""How long to wait for another program that reads or writes the file at this moment."""
State: TypeAlias = Literal["done", "failed"]

_SCHEMA = f"""
BEGIN;
CREATE TABLE environment (
    id INTEGER PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT;
CREATE TABLE replication (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL,
    point_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    levels TEXT NOT NULL,
    replication INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
    started_at TEXT NOT NULL,
    wall_s REAL NOT NULL,
    error TEXT NOT NULL,
    run BLOB,
    environment INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT;
CREATE INDEX replication_of_point ON replication (experiment, point_key, replication);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_HEAD = (
    "experiment, point_key, fingerprint, levels, replication, seed, state, started_at, wall_s, "
    "error, environment, position"
)
_INSERT = f"INSERT INTO replication ({_HEAD}, run) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationRow:
    """One finished replication, as stored.

    Parameters
    ----------
    experiment, point_key
        The point.
    fingerprint
        Hash of everything that the run depended on, see `Point`.
    levels
        Levels of the point's factors.
    replication, seed
        Number of the replication, from 0, and its seed.
    state
        ``"done"`` or ``"failed"``.
    started_at
        Start, UTC, ISO 8601.
    wall_s
        Wall time (s) of the run as the engine saw it.
    error
        Why it failed; empty when done.
    run
        What the system returned; None when failed, or when only heads were read.
    environment
        Number of the environment in `Journal.environments`, 0 for none.
    position
        Place in the randomised order of its session, from 0.
    """

    experiment: str
    point_key: str
    fingerprint: str
    levels: Mapping[str, Value]
    replication: int
    seed: int
    state: State
    started_at: str
    wall_s: float
    error: str = ""
    run: Run | None = None
    environment: int = 0
    position: int = 0


class Journal:
    """The rows of one study's runs; a context manager.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> row = ReplicationRow(
    ...     experiment="web", point_key="k", fingerprint="f", levels={"users": 1}, replication=0,
    ...     seed=7, state="done", started_at="2025-01-01T00:00:00Z", wall_s=0.1,
    ...     run=Run(values={"wall_s": 0.1}))
    >>> with Journal.open(Path(folder.name) / "journal.sqlite", create=True) as journal:
    ...     journal.append(row)
    ...     journal.rows("web", "k")[0].run.values
    {'wall_s': 0.1}
    >>> folder.cleanup()
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: JournalLock | None
    ) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """Open a journal.

        Parameters
        ----------
        path
            The file.
        create
            True opens it for writing, alone, and creates file and folder where they are missing;
            False opens an existing one for reading, also while a run writes it.

        Raises
        ------
        EnvironmentUnfitError
            The file is missing, damaged, of another format, locked by another run, or its folder
            cannot be written.
        """
        return cls._open_writer(path) if create else cls._open_reader(path)

    @classmethod
    def _open_writer(cls, path: Path) -> Self:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise journal_errors.not_writable(path, error.strerror or str(error)) from error
        lock = JournalLock.acquire(path)
        try:
            connection = _connect_writer(path)
        except BaseException:
            lock.release()
            raise
        return cls(path, connection, lock)

    @classmethod
    def _open_reader(cls, path: Path) -> Self:
        if not path.exists():
            raise EnvironmentUnfitError(
                f"there is no journal {path}", cure="run the study first: headroom run STUDY"
            )
        return cls(path, _connect_reader(path), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a writer leaves one file without a write-ahead log behind."""
        try:
            self._connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def append(self, row: ReplicationRow) -> None:
        """Store one row; when this returns, the row survives a crash."""
        encoded = None if row.run is None else encode_run(row.run)
        self.append_encoded([(row, encoded)])

    def append_encoded(self, rows: Iterable[tuple[ReplicationRow, bytes | None]]) -> None:
        """Store rows whose runs are encoded already, in one commit."""
        values = [(*_head_values(row), encoded) for row, encoded in rows]
        with explained(self.path), self._connection:
            self._connection.executemany(_INSERT, values)

    def add_environment(self, facts: Mapping[str, Any]) -> int:
        """Store what is known about machine and software; returns its number."""
        text = msgspec.json.encode(facts, order="deterministic").decode()
        with explained(self.path), self._connection:
            cursor = self._connection.execute("INSERT INTO environment (facts) VALUES (?)", (text,))
        return cursor.lastrowid or 0

    def environments(self) -> list[dict[str, Any]]:
        """Return all environments in the order of their sessions; ``"id"`` is their number."""
        with explained(self.path):
            found = self._connection.execute("SELECT id, facts FROM environment ORDER BY id")
            return [{"id": number, **msgspec.json.decode(text)} for number, text in found]

    def rows(self, experiment: str, point_key: str) -> list[ReplicationRow]:
        """Return every row of a point, oldest first, runs included.

        These are all rows ever stored, failed ones and those of other machines and of earlier
        versions of the study too; `selection.select_rows` picks those that count,
        `selection.Selection` does it for a whole plan.
        """
        query = (
            f"SELECT {_HEAD}, run FROM replication "  # noqa: S608 - constants only
            "WHERE experiment = ? AND point_key = ? ORDER BY id"
        )
        with explained(self.path):
            found = self._connection.execute(query, (experiment, point_key)).fetchall()
        return [self._with_run(_row(values[:-1]), values[-1]) for values in found]

    def heads(self, experiment: str) -> Iterator[ReplicationRow]:
        """Yield every row of an experiment, oldest first, without the runs."""
        query = f"SELECT {_HEAD} FROM replication WHERE experiment = ? ORDER BY id"  # noqa: S608 - constants only
        with explained(self.path):
            for values in self._connection.execute(query, (experiment,)):
                yield _row(values)

    def newest_environment(self, experiment: str) -> int:
        """Return the number of the newest environment of an experiment's rows, 0 for none."""
        query = "SELECT max(environment) FROM replication WHERE experiment = ?"
        with explained(self.path):
            (number,) = self._connection.execute(query, (experiment,)).fetchone()
        return int(number or 0)

    def row_count(self) -> int:
        """Return the number of rows of all experiments."""
        with explained(self.path):
            (count,) = self._connection.execute("SELECT count(*) FROM replication").fetchone()
        return int(count)

    def _with_run(self, row: ReplicationRow, encoded: bytes | None) -> ReplicationRow:
        if encoded is None:
            return row
        try:
            return replace(row, run=decode_run(encoded))
        except UnreadableRunError as error:
            place = f"replication {row.replication} of point {row.point_key} of {row.experiment}"
            raise journal_errors.damaged(self.path, f"{place} is unreadable ({error})") from error


def _head_values(row: ReplicationRow) -> tuple[Any, ...]:
    levels = msgspec.json.encode(row.levels, order="deterministic").decode()
    return (
        row.experiment,
        row.point_key,
        row.fingerprint,
        levels,
        row.replication,
        row.seed,
        row.state,
        row.started_at,
        row.wall_s,
        row.error,
        row.environment,
        row.position,
    )


def _row(values: Sequence[Any]) -> ReplicationRow:
    names = _HEAD.split(", ")
    fields = dict(zip(names, values, strict=True))
    fields["levels"] = msgspec.json.decode(fields["levels"])
    return ReplicationRow(**fields)


def _connect_writer(path: Path) -> sqlite3.Connection:
    with explained(path):
        connection = sqlite3.connect(path, timeout=BUSY_LIMIT_S)
        try:
            _check_format(path, connection, may_be_new=True)
            _check_intact(path, connection)
            connection.execute(f"PRAGMA journal_mode = {_journal_mode(path)}")
            connection.execute("PRAGMA synchronous = FULL")
            if _pragma(connection, "user_version") == 0:
                connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection


def _journal_mode(path: Path) -> str:
    """Return WAL, or on a network file system, where its shared index is unsafe, DELETE."""
    mount = mount_of(path.parent)
    return "DELETE" if mount is not None and mount.is_network else "WAL"


def _connect_reader(path: Path) -> sqlite3.Connection:
    with explained(path):
        address = f"{path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=BUSY_LIMIT_S)
        try:
            _check_format(path, connection, may_be_new=False)
        except sqlite3.OperationalError:
            # In a folder that cannot be written SQLite has no place for the log's index. Without a
            # log the file alone is the whole journal.
            connection.close()
            if path.with_name(path.name + "-wal").exists():
                raise
            connection = sqlite3.connect(f"{address}&immutable=1", uri=True)
            _check_format(path, connection, may_be_new=False)
        except BaseException:
            connection.close()
            raise
        return connection


def _check_format(path: Path, connection: sqlite3.Connection, *, may_be_new: bool) -> None:
    found = _pragma(connection, "user_version")
    table_count = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if found == 0 and table_count == 0 and may_be_new:
        return
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise journal_errors.damaged(path, "it is not a journal of Headroom")
    if found != FORMAT:
        raise journal_errors.other_format(path, found, FORMAT)


def _check_intact(path: Path, connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise journal_errors.damaged(path, verdict)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
