"""The journal: one durable row per finished replication, in one SQLite file in the study's folder.

Invariants: a row that `append` returned for survives the loss of power (WAL, synchronous FULL);
rows are only ever added, so failures, other machines and earlier versions of a study stay readable;
one process writes, any number read. Only the driver of a run opens it for writing. A commit to a
file that has left the journal's path is an error, and loses nothing. Unreadable rows are skipped
and counted. See docs/background/journal-and-resume.md, and formats.md for the bytes.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal import journal_errors
from headroom.experiment.journal.journal_errors import explained
from headroom.experiment.journal.journal_lock import JournalLock
from headroom.experiment.journal.journal_place import JournalPlace
from headroom.experiment.journal.journal_rows import (
    HEAD_COLUMNS,
    ReplicationRow,
    StoredRow,
    checksum_of,
    facts_of,
    head_of,
    head_values,
    is_readable,
    run_of,
)
from headroom.experiment.journal.run_codec import UnreadableRunError, encode_run
from headroom.experiment.journal.sqlite_pages import broken_log
from headroom.experiment.machine.storage_facts import mount_of
from headroom.experiment.protocol.kept_code import Records
from headroom.experiment.protocol.plain_form import from_bytes, to_bytes
from headroom.input_file import MissingFileError, check_regular

__all__ = ["APPLICATION_ID", "FORMAT", "Journal", "ReplicationRow", "connect_writer"]

APPLICATION_ID = 0x48_44_52_4D
"""Marks the file as a Headroom journal ("HDRM") for `file` and for this module."""
FORMAT = 1
BUSY_LIMIT_S = 10.0
"""How long to wait for another program that reads or writes the file at this moment."""
_LOOKS = 3

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
    position INTEGER NOT NULL,
    checksum INTEGER
) STRICT;
CREATE INDEX replication_of_point ON replication (experiment, point_key, replication);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_CODE_SCHEMA = """
CREATE TABLE IF NOT EXISTS code (
    name TEXT PRIMARY KEY,
    format INTEGER NOT NULL,
    content BLOB NOT NULL
) STRICT
"""
_HEAD = ", ".join(HEAD_COLUMNS)
_INSERT = f"INSERT INTO replication ({_HEAD}, run, checksum) VALUES ({'?,' * 13}?)"  # noqa: S608 - constants only


class Journal:
    """The rows of one study's runs; a context manager.

    Examples
    --------
    >>> import tempfile
    >>> from headroom.experiment.protocol.run import Run
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
        self,
        path: Path,
        connection: sqlite3.Connection,
        lock: JournalLock | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.notes = notes
        """Notes for the user about the file, one sentence each."""
        self._connection = connection
        self._lock = lock
        self._place = None if lock is None else JournalPlace(path, connection)
        seal = "checksum" if _has_checksums(connection) else "NULL"
        self._select = f"SELECT id, run, {seal}, {_HEAD} FROM replication"  # noqa: S608 - constants only
        self._unreadable: set[int] = set()
        self._headless: set[int] = set()
        self._readable: set[int] = set()

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """Open a journal.

        Parameters
        ----------
        path
            The file.
        create
            True opens it for writing, alone, and creates file and folder if missing; False opens an
            existing one for reading, also while a run writes it.

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
            notes = _notes_on_file(path)
            connection = connect_writer(path)
        except BaseException:
            lock.release()
            raise
        return cls(path, connection, lock, notes)

    @classmethod
    def _open_reader(cls, path: Path) -> Self:
        if not path.exists():
            raise EnvironmentUnfitError(
                f"there is no journal {path}", cure="run the study first: headroom run STUDY"
            )
        notes = _notes_on_file(path)
        return cls(path, _connect_reader(path), None, notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._check_place()
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; a writer leaves one file without a write-ahead log behind."""
        try:
            self._connection.close()
        finally:
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _check_place(self) -> None:
        """Raise if the file that is written is no longer the one at its path."""
        if self._place is not None:
            self._place.check()

    def append(self, row: ReplicationRow) -> None:
        """Store one row; when this returns, the row survives a crash."""
        encoded = None if row.run is None else encode_run(row.run)
        self.append_encoded([(row, encoded)])

    def append_encoded(self, rows: Iterable[tuple[ReplicationRow, bytes | None]]) -> None:
        """Store rows whose runs are already encoded, in one commit."""
        heads = [(head_values(row), encoded) for row, encoded in rows]
        values = [(*head, encoded, checksum_of(head)) for head, encoded in heads]
        with explained(self.path), self._connection:
            self._connection.executemany(_INSERT, values)
        self._check_place()

    def add_environment(self, facts: Mapping[str, Any]) -> int:
        """Store the facts about machine and software; returns their number."""
        text = msgspec.json.encode(facts, order="deterministic").decode()
        with explained(self.path), self._connection:
            cursor = self._connection.execute("INSERT INTO environment (facts) VALUES (?)", (text,))
        self._check_place()
        return cursor.lastrowid or 0

    def environments(self) -> list[dict[str, Any]]:
        """Return all environments in the order of their sessions; ``"id"`` is their number."""
        with explained(self.path):
            cursor = self._connection.execute("SELECT id, facts FROM environment ORDER BY id")
            known = [(number, facts_of(text)) for number, text in cursor]
        return [{"id": number, **facts} for number, facts in known if facts is not None]

    def keep_code(self, records: Records) -> None:
        """Store what the code of the study answered, in place of what is there."""
        with explained(self.path), self._connection:
            self._connection.execute(_CODE_SCHEMA)
            self._connection.executemany(
                "INSERT OR REPLACE INTO code (name, format, content) VALUES (?, 1, ?)",
                [(name, to_bytes(record)) for name, record in records.items()],
            )
        self._check_place()

    def code(self) -> Records:
        """Return what the code of the study answered when it ran; nothing if none was stored."""
        with explained(self.path):
            known = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'code'")
            if known.fetchone() is None:
                return {}
            rows = self._connection.execute("SELECT name, content FROM code WHERE format = 1")
            return {str(name): from_bytes(content) for name, content in rows}

    def rows(self, experiment: str, point_key: str) -> list[ReplicationRow]:
        """Return every row of a point, oldest first, runs included.

        These are all rows ever stored, failed ones and those of other machines and of earlier
        versions of the study too; `selection.select_rows` picks those that count,
        `selection.Selection` does it for a whole plan.
        """
        return self.decoded(self.stored(experiment, point_key))

    def stored(self, experiment: str, point_key: str) -> list[StoredRow]:
        """Return every row of a point as it lies in the file, oldest first; see `decoded`."""
        query = f"{self._select} WHERE experiment = ? AND point_key = ? ORDER BY id"
        with explained(self.path):
            rows = self._connection.execute(query, (experiment, point_key)).fetchall()
        return [StoredRow(number, run, tuple(head), seal) for number, run, seal, *head in rows]

    def decoded(self, rows: Iterable[StoredRow]) -> list[ReplicationRow]:
        """Return stored rows with their runs; those that cannot be read are left out."""
        decoded = map(self._row, rows)
        return [row for row in decoded if row is not None]

    def heads(self, experiment: str) -> Iterator[ReplicationRow]:
        """Yield every row of an experiment, oldest first, without the runs.

        The runs are checked: `is_readable` is False if a run is damaged.
        """
        query = f"{self._select} WHERE experiment = ? ORDER BY id"
        with explained(self.path):
            for number, encoded, seal, *values in self._connection.execute(query, (experiment,)):
                head, is_whole = head_of(values, seal), self._is_readable(number, encoded)
                if head is None:
                    self._headless.add(number)
                if head is None or not is_whole:
                    self._unreadable.add(number)
                if head is not None:
                    yield replace(head, is_readable=is_whole)

    def _is_readable(self, number: int, encoded: bytes | None) -> bool:
        """Return whether the run of a row can be read; decoded once, as rows never change."""
        if number not in self._readable and is_readable(encoded):
            self._readable.add(number)
        return number in self._readable

    @property
    def unreadable_count(self) -> int:
        """Number of damaged rows met so far; they were skipped."""
        return len(self._unreadable)

    @property
    def headless_count(self) -> int:
        """Number of rows met by `heads` of which not even the replication is known."""
        return len(self._headless)

    def finished_counts(self) -> dict[str, int]:
        """Return the number of finished replications of each experiment that has any."""
        query = (
            "SELECT experiment, count(DISTINCT point_key || '/' || replication) FROM replication "
            "WHERE state = 'done' GROUP BY experiment"
        )
        with explained(self.path):
            return {str(name): int(count) for name, count in self._connection.execute(query)}

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

    def _row(self, row: StoredRow) -> ReplicationRow | None:
        """Return a row with its run, None if it cannot be read."""
        head = head_of(row.values, row.checksum)
        if head is not None:
            try:
                run = run_of(row.encoded)
                kept = run if head.state == "done" else None
                return replace(head, run=kept, artefacts=run.artefacts if run else ())
            except UnreadableRunError:
                pass
        self._unreadable.add(row.number)
        return None


def _notes_on_file(path: Path) -> tuple[str, ...]:
    """Return oddities of a file about to be opened; raise if it must not be opened."""
    log = path.with_name(path.name + "-wal")
    check_files(path)
    size_bytes = path.stat().st_size if path.exists() else 0
    if size_bytes == 0 and log.exists() and log.stat().st_size:
        # SQLite would delete the log, and with it every row that is only there.
        raise journal_errors.damaged(path, f"it is empty or missing, but its log {log.name} is not")
    if size_bytes == 0 and path.exists():
        return (f"the journal {path} was an empty file and is taken as new",)
    return _notes_on_log(path, log)


def check_files(path: Path) -> None:
    """Raise if a journal or its log is no regular file: SQLite would wait for a FIFO."""
    if path.is_dir():
        raise journal_errors.is_folder(path)
    for end in ("", "-wal", "-shm"):
        with suppress(MissingFileError):
            check_regular(path.with_name(path.name + end))


def _notes_on_log(path: Path, log: Path) -> tuple[str, ...]:
    """Return that the log ends within a write; raise if commits are lost behind one.

    A run may be writing it at this moment, so that only what is seen again and again counts.
    """
    looks: list[tuple[bool, int]] = []
    while len(looks) < _LOOKS and log.exists():
        looks.append(broken_log(path))
        if not looks[-1][0]:
            return ()
    if not looks:
        return ()
    if min(count for _, count in looks) > 1:
        raise journal_errors.damaged(path, f"{log.name} holds rows behind a damaged one")
    return (f"{log.name} ends within a write: what was stored last is lost and will be run again",)


def connect_writer(path: Path) -> sqlite3.Connection:
    """Return a connection that may write, to a journal that is intact or made here.

    The tables are made before the log is turned on: a main file that lost its log is still a
    journal.
    """
    with explained(path):
        connection = _connection(path, str(path))
        try:
            is_new = _is_new(path, connection)
            if not is_new:
                _check_whole(path, connection)
            connection.execute("PRAGMA synchronous = FULL")
            if is_new:
                connection.executescript(_SCHEMA)
            elif not _has_checksums(connection):  # a journal of an earlier version
                connection.execute("ALTER TABLE replication ADD COLUMN checksum INTEGER")
            connection.execute(f"PRAGMA journal_mode = {_journal_mode(path)}")
        except BaseException:
            connection.close()
            raise
        return connection


def _has_checksums(connection: sqlite3.Connection) -> bool:
    columns = connection.execute("SELECT name FROM pragma_table_info('replication')")
    return ("checksum",) in columns.fetchall()


def _connection(path: Path, address: str) -> sqlite3.Connection:
    """Return a connection that reads damaged text too; its columns are checked row by row."""
    is_address = address != str(path)
    connection = sqlite3.connect(address, uri=is_address, timeout=BUSY_LIMIT_S)
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    return stored.decode(errors="replace")


def _journal_mode(path: Path) -> str:
    """Return WAL, or on a network file system, where its shared index is unsafe, DELETE."""
    mount = mount_of(path.parent)
    return "DELETE" if mount is not None and mount.is_network else "WAL"


def _connect_reader(path: Path) -> sqlite3.Connection:
    with explained(path):
        address = f"{path.resolve().as_uri()}?mode=ro"
        connection = _connection(path, address)
        try:
            _check_whole(path, connection)
        except sqlite3.OperationalError:
            # In a folder that cannot be written SQLite has no place for the log's index. Without a
            # log the file alone is the whole journal.
            connection.close()
            if path.with_name(path.name + "-wal").exists():
                raise
            connection = _connection(path, f"{address}&immutable=1")
            _check_whole(path, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """Return whether a file holds nothing yet."""
    page_count = _pragma(connection, "page_count")
    return page_count == 0 and path.stat().st_size == 0


def _check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Raise if a file is not a journal of this format, or its structure is damaged."""
    _check_format(path, connection)
    _check_intact(path, connection)


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    if _is_new(path, connection):
        raise journal_errors.not_begun(path)
    file_format = _pragma(connection, "user_version")
    table_count = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if file_format == 0 and table_count == 0:
        raise journal_errors.damaged(path, f"it holds no tables; was {path.name}-wal lost?")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise journal_errors.damaged(path, "it is not a journal of Headroom")
    if file_format != FORMAT:
        raise journal_errors.other_format(path, file_format, FORMAT)


def _check_intact(path: Path, connection: sqlite3.Connection) -> None:
    """Raise if the structure is damaged, or the index, which would hide rows, lacks some."""
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise journal_errors.damaged(path, verdict)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
