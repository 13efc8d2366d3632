"""Errors of SQLite, with their causes and hints.

Invariant: whatever happens to the journal, the message says that finished replications are kept
or names the file that still holds them; nothing is deleted here.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headroom.errors import EnvironmentUnfitError

_PRIMARY_CODE_MASK = 0xFF
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FULL = {sqlite3.SQLITE_FULL}
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite on the journal at `path` into `EnvironmentUnfitError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(path, error) from error
    except UnicodeDecodeError as error:  # SQLite's message cites a damaged name
        raise damaged(path, "its tables have damaged names") from error


def explain(path: Path, error: sqlite3.Error) -> EnvironmentUnfitError:
    """Return the error that a user can act on."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY_CODE_MASK
    if code in _FULL:
        return disk_full(path)
    if code in _DAMAGED:
        return damaged(path, str(error))
    if code in _REFUSED:
        return not_writable(path, str(error))
    if code in _LOCKED:
        return EnvironmentUnfitError(
            f"the journal {path} is locked by another program ({error})",
            cure="close the program that has the journal open, then run the same command again",
        )
    return EnvironmentUnfitError(
        f"the journal {path} could not be read or written: {error}",
        cure="check the disk (space, quota, file size limit, health), then run the same command "
        "again: it resumes with the stored replications",
    )


def disk_full(path: Path) -> EnvironmentUnfitError:
    """Return the error for a disk without space."""
    return EnvironmentUnfitError(
        f"the disk that holds the journal {path} is full; "
        "every replication that finished before is stored",
        cure="free some space and run the same command again: it resumes where it stopped",
    )


def damaged(path: Path, detail: str) -> EnvironmentUnfitError:
    """Return the error for a damaged journal file."""
    variant = " --quick" if path.parent.name == "quick" else ""
    return EnvironmentUnfitError(
        f"the journal {path} is damaged: {detail}",
        cure=f"recover the readable rows with `headroom run STUDY{variant} --salvage`, which "
        f"keeps the damaged file, or move the file (with {path.name}-wal) away to start again; "
        "nothing was changed",
    )


def nothing_to_salvage(path: Path) -> EnvironmentUnfitError:
    """Return the error for a file in which no row can be read."""
    return EnvironmentUnfitError(
        f"no replication can be read in {path}; nothing was changed",
        cure=f"move the file (with {path.name}-wal) away to start again, or put a copy of the "
        "journal in its place",
    )


def is_folder(path: Path) -> EnvironmentUnfitError:
    """Return the error for a folder that has the journal's name."""
    return EnvironmentUnfitError(
        f"there is a folder where the journal belongs: {path}",
        cure="move the folder away, then run the same command again",
    )


def not_begun(path: Path) -> EnvironmentUnfitError:
    """Return the error for a reader of an empty file."""
    return EnvironmentUnfitError(
        f"the journal {path} is empty: no replication is stored yet",
        cure="run the study first: headroom run STUDY",
    )


def journal_gone(path: Path, *, is_replaced: bool, kept_at: Path | None) -> EnvironmentUnfitError:
    """Return the error for a journal that was removed or replaced while a run wrote it."""
    what = "replaced by another file" if is_replaced else "removed"
    message = f"the journal {path} was {what} during the run, which ends here"
    if kept_at is None:
        return EnvironmentUnfitError(
            f"{message}; its replications could not be saved elsewhere and are lost",
            cure="run the study again, and leave its results folder alone meanwhile",
        )
    return EnvironmentUnfitError(
        f"{message}; all stored replications are saved in {kept_at}",
        cure=f"to keep them, move that file to {path} and run the same command again; "
        "to start over, delete it",
    )


def not_writable(path: Path, detail: str) -> EnvironmentUnfitError:
    """Return the error for a folder or file that refuses to be opened."""
    return EnvironmentUnfitError(
        f"the journal {path} cannot be opened: {detail}",
        cure=f"allow writing in {path.parent}, or copy the study to a folder of your own",
    )


def other_format(path: Path, stored: int, known: int) -> EnvironmentUnfitError:
    """Return the error for a journal of another Headroom version."""
    age = "newer" if stored > known else "older"
    return EnvironmentUnfitError(
        f"the journal {path} has format {stored}, written by a {age} Headroom; "
        f"this one reads format {known}",
        cure="use the Headroom version that wrote it, or move the file away to start again",
    )
