"""Hashes of files, so that a change of their content is noticed and nothing is read twice.

A hash is kept for as long as the file looks the same: device, inode, size, times of the last change
of content and of status. A clock of a file system ticks coarsely, so two changes may look like one:
of a file that changed just now nothing is kept.

Invariant: what is returned is the hash of the content at the time of the call.
"""

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import TypeAlias

_Look: TypeAlias = tuple[int, int, int, int, int]

_COARSEST_TICK_NS = 2_000_000_000
"""FAT stores times in steps of two seconds; no file system in use is coarser."""
_KNOWN: dict[str, tuple[_Look, str]] = {}


def digest_of_file(path: Path) -> str:
    """Return a hash (64 hexadecimal digits) of a file's content.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    name = os.fspath(path)
    look = _look_of(path.stat())
    known = _KNOWN.get(name)
    if known is not None and known[0] == look:
        return known[1]
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        after = _look_of(os.fstat(file.fileno()))
    is_settled = time.time_ns() - max(look[3:]) > _COARSEST_TICK_NS
    if look == after and is_settled:
        _KNOWN[name] = (look, found)
    return found


def is_regular(path: Path) -> bool:
    """Return whether a path is that of a file with content: no folder, pipe or device."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _look_of(status: os.stat_result) -> _Look:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
