"""Recover the readable rows of a damaged journal; nothing is deleted.

Every readable row and environment is copied, with its number, into a new journal that replaces the
damaged file. The damaged file stays next to it under another name.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal import journal_errors
from headroom.experiment.journal.journal import APPLICATION_ID, FORMAT, check_files, connect_writer
from headroom.experiment.journal.journal_errors import explained
from headroom.experiment.journal.journal_lock import JournalLock
from headroom.experiment.journal.journal_rows import (
    HEAD_COLUMNS,
    checksum_of,
    facts_of,
    head_of,
    is_readable,
)
from headroom.experiment.journal.sqlite_pages import Cell, Stored, read_cells

_ENVIRONMENT_WIDTH = 2
_INDEX_WIDTH = 4
_WIDTH = len(HEAD_COLUMNS) + 3
_RUN = HEAD_COLUMNS.index("environment") + 1
"""Place of the run among the stored columns, of which the row's number is the first."""
_WALL_S = HEAD_COLUMNS.index("wall_s") + 1
_BATCH = 500
_COMPANIONS = ("-wal", "-shm", "")
"""The files of a journal; the log goes first, so that it never meets another file."""
_INSERT_ROW = (
    f"INSERT OR IGNORE INTO replication (id, {', '.join(HEAD_COLUMNS)}, run, checksum) "  # noqa: S608 - constants only
    f"VALUES ({', '.join('?' * _WIDTH)})"
)
_INSERT_ENVIRONMENT = "INSERT OR IGNORE INTO environment (id, facts) VALUES (?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The result of a salvage.

    Parameters
    ----------
    rescued
        Rows in the new journal.
    lost
        Stored rows that could not be read; they will be run again.
    kept_at
        Current path of the damaged file.
    """

    rescued: int
    lost: int
    kept_at: Path


def salvage(path: Path) -> Salvage:
    """Replace a damaged journal by a new one with everything that is readable in it.

    Parameters
    ----------
    path
        The journal.

    Raises
    ------
    EnvironmentUnfitError
        There is no journal, a run is writing it, another version of Headroom wrote it, the disk
        is full, or no row can be read. Nothing is changed then.
    """
    _check_present(path)
    lock = JournalLock.acquire(path)
    draft = path.with_name(path.name + ".salvaged")
    try:
        _remove(draft)
        copied = _copy(path, draft)
        if not copied.rescued:
            raise journal_errors.nothing_to_salvage(path)
        kept_at = _move_aside(path)
        draft.rename(path)
    except OSError as error:
        raise journal_errors.not_writable(path, error.strerror or str(error)) from error
    finally:
        _remove(draft)
        lock.release()
    return Salvage(rescued=copied.rescued, lost=copied.lost, kept_at=kept_at)


@dataclass(slots=True)
class _Found:
    """Rows on their way into the new journal."""

    connection: sqlite3.Connection
    rows: list[Sequence[Stored]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    rescued: int = 0

    @property
    def lost(self) -> int:
        """Rows are numbered without gaps, so missing ones were lost."""
        return max(self._newest() - self.rescued, 0)

    def _newest(self) -> int:
        """Return the highest number; a damaged one stands alone, and in the row or index only."""
        sound = (
            number
            for number, count in self.numbers.items()
            if count > 1 or {number - 1, number + 1} & self.numbers.keys()
        )
        return max(sound, default=len(self.numbers))

    def add(self, cell: Cell) -> None:
        """Add the cell to a journal if it belongs there."""
        width = len(cell.values)
        if cell.kind == "index" and width == _INDEX_WIDTH and isinstance(cell.values[3], int):
            self._count(cell.values[3])
        elif cell.kind == "table" and width in (_WIDTH - 1, _WIDTH):  # earlier ones lack a checksum
            self._add_row(cell)
        elif cell.kind == "table" and width == _ENVIRONMENT_WIDTH and facts_of(cell.values[1]):
            self.connection.execute(_INSERT_ENVIRONMENT, (cell.row_id, cell.values[1]))

    def store(self) -> None:
        """Write the rows that wait; a row already seen is left unchanged."""
        if self.rows:
            self.rescued += self.connection.executemany(_INSERT_ROW, self.rows).rowcount
            self.rows.clear()

    def _count(self, number: int) -> None:
        self.numbers[number] = self.numbers.get(number, 0) + 1

    def _add_row(self, cell: Cell) -> None:
        self._count(cell.row_id)
        run = cell.values[_RUN]
        *values, checksum = cell.values if len(cell.values) == _WIDTH else (*cell.values, None)
        head = [*values[1:_RUN], *values[_RUN + 1 :]]
        wall_s = cell.values[_WALL_S]  # a whole number of seconds is stored as an integer
        head[_WALL_S - 1] = float(wall_s) if isinstance(wall_s, int) else wall_s
        is_run = (run is None or isinstance(run, bytes)) and is_readable(run)
        is_head = isinstance(checksum, int | None) and head_of(head, checksum) is not None
        if is_run and is_head:
            self.rows.append((cell.row_id, *head, run, checksum_of(head)))
        if len(self.rows) >= _BATCH:
            self.store()


def _copy(path: Path, draft: Path) -> _Found:
    connection = connect_writer(draft)
    try:
        with explained(draft), connection:
            copied = _Found(connection)
            for cell in read_cells(path):
                copied.add(cell)
            copied.store()
    finally:
        connection.close()
    return copied


def _check_present(path: Path) -> None:
    check_files(path)
    if not any(path.with_name(path.name + end).exists() for end in _COMPANIONS):
        raise EnvironmentUnfitError(
            f"there is no journal {path}", cure="run the study without --salvage"
        )
    number = _format_of(path)
    if number not in (None, FORMAT):
        raise journal_errors.other_format(path, number or 0, FORMAT)


def _format_of(path: Path) -> int | None:
    """Return the format that an intact header states, None if there is none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        header = file.read(72)
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        return None
    return int.from_bytes(header[60:64], "big")


def _move_aside(path: Path) -> Path:
    """Give the damaged file and what belongs to it a name that is free; returns the name."""
    number = 1
    while any(_aside(path, number, end).exists() for end in _COMPANIONS):
        number += 1
    for end in _COMPANIONS:
        companion = path.with_name(path.name + end)
        if companion.exists():
            companion.rename(_aside(path, number, end))
    return _aside(path, number, "")


def _aside(path: Path, number: int, end: str) -> Path:
    return path.with_name(f"{path.name}.damaged-{number}{end}")


def _remove(draft: Path) -> None:
    for end in (*_COMPANIONS, "-journal"):
        draft.with_name(draft.name + end).unlink(missing_ok=True)
