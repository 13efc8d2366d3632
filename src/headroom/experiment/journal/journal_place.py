"""Check that the journal being written is still the file at its path.

Invariant: no row is lost in silence. If the file was removed or replaced, the content of the open
file is saved next to it under a free name, and the run ends.
"""

import itertools
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeAlias

from headroom.experiment.journal.journal_errors import journal_gone

Identity: TypeAlias = tuple[int, int] | None
"""Device and inode of a file; None if there is none."""


class JournalPlace:
    """A journal that is open for writing, and the file that its path meant then.

    Parameters
    ----------
    path
        Path of the journal.
    connection
        The connection that writes it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._file = identity(path)
        self._log = path.with_name(path.name + "-wal")
        self._log_file = identity(self._log)

    def check(self) -> None:
        """Raise `EnvironmentUnfitError` if the path no longer leads to the open file.

        Every stored row is saved before.
        """
        if identity(self._path) == self._file:
            self._log_file = identity(self._log)
            return
        is_replaced = self._path.exists()
        kept_at = self._save()
        if kept_at is not None and identity(self._log) == self._log_file:
            # Left there, SQLite would take it for the log of the file that is there now.
            self._log.unlink(missing_ok=True)
        raise journal_gone(self._path, is_replaced=is_replaced, kept_at=kept_at)

    def _save(self) -> Path | None:
        """Copy the open file to a free name; None if neither folder can be written."""
        for folder in (self._path.parent, Path(tempfile.gettempdir())):
            with suppress(OSError, sqlite3.Error):
                folder.mkdir(parents=True, exist_ok=True)
                copy = _free_name(folder, self._path.name)
                with closing(sqlite3.connect(copy)) as connection:
                    self._connection.backup(connection)
                return copy
        return None


def identity(path: Path) -> Identity:
    """Return what distinguishes a file from another that takes its path later."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _free_name(folder: Path, name: str) -> Path:
    names = (folder / f"{name}.saved-{number}" for number in itertools.count(1))
    return next(path for path in names if not path.exists())
