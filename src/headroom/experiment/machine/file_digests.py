"""File hashes that detect every change of content and avoid reading a file twice.

A hash is kept as long as the file looks the same: device, inode, size, and times of the last change
of content and of status. The clock of a file system is coarse, so two changes may look like one.
Therefore no hash is kept of a file that changed very recently.

Invariant: the returned hash is that of the content at the time of the call.
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
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        after = _look_of(os.fstat(file.fileno()))
    is_settled = time.time_ns() - max(look[3:]) > _COARSEST_TICK_NS
    if look == after and is_settled:
        _KNOWN[name] = (look, digest)
    return digest


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
