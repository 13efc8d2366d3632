"""Files of a target, fully written before the measurement: holes are not data.

Invariant: every byte of a laid-out file was written and is durable, and none of it is in the page
cache, if the file system can drop it; an unfinished file does not remain.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic

import numpy as np

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.machine_facts import ROOT, read_text
from headroom.quantities import format_quantity
from headroom.systems.storage.targets.patience import Progress
from headroom.systems.storage.targets.places import is_memory

CHUNK_BYTES = 1 << 20
_TOLD_EVERY_S = 2.0
_DURABLE_EVERY_BYTES = 256 << 20
"""How much may wait for the device: otherwise all of it would wait for the last call, which reports
no progress and may never end."""
_BLOCK_BYTES = 4096


_SMALLER = "make the target smaller (`bytes`), free some space, or name another folder"


def check_space(folder: Path, *, needed: int, reserve: int, cure: str = _SMALLER) -> None:
    """Refuse files that do not fit, before anything is made.

    Parameters
    ----------
    folder
        Folder for the files.
    needed
        Bytes to be written there.
    reserve
        Bytes that must stay free, on the file system and, for one in memory, of the memory.
    cure
        Hint if there is not enough space.

    Raises
    ------
    EnvironmentUnfitError
        There is too little space.
    """
    state = os.statvfs(folder)
    rooms = {"on its file system": state.f_bavail * state.f_frsize}
    if is_memory(folder):
        rooms["in memory"] = _available_memory()
    for place, free in rooms.items():
        if needed + reserve > free:
            raise EnvironmentUnfitError(
                f"{folder} needs {format_quantity(needed, 'B')} and a reserve of "
                f"{format_quantity(reserve, 'B')}, but {format_quantity(free, 'B')} are free "
                f"{place}",
                cure=cure,
            )


def _available_memory() -> int:
    for line in (read_text(ROOT / "proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 1 << 62


def lay_out(
    path: Path,
    *,
    size: int,
    seed: int,
    compressible_share: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Write a new file of `size` bytes and make it durable; return its device and inode.

    Parameters
    ----------
    path
        A name that nothing has yet.
    size
        Size (B).
    seed
        Of the content.
    compressible_share
        Share of each 4 KiB that is zero.
    say
        Called with the progress, every few seconds.
    progress
        Kept up to date; if it is no longer wanted, the file is abandoned.

    Raises
    ------
    EnvironmentUnfitError
        The file could not be written; it is not there then.
    """
    progress = progress or Progress()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise _not_laid_out(path, size, error) from error
    try:
        contents = _contents(size, np.random.default_rng(seed), compressible_share)
        for start, content in _told(contents, path.parent, size, say):
            _write_wanted(descriptor, content, progress)
            if start % _DURABLE_EVERY_BYTES == _DURABLE_EVERY_BYTES - CHUNK_BYTES:
                os.fdatasync(descriptor)
        os.fsync(descriptor)
        _check_wanted(progress)
        forget(descriptor)
        state = os.fstat(descriptor)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _not_laid_out(path, size, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return state.st_dev, state.st_ino


def _not_laid_out(path: Path, size: int, error: OSError) -> EnvironmentUnfitError:
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return EnvironmentUnfitError(
        f"{path} could not be laid out ({format_quantity(size, 'B')}): {error.strerror}",
        cure="free some space, or make the target smaller (`bytes`)"
        if is_full
        else "check the device: read the kernel's messages with `dmesg`",
    )


def _check_wanted(progress: Progress) -> None:
    if not progress.is_wanted:
        raise EnvironmentUnfitError("laying out the file was cancelled: the run has ended")


def _write_wanted(descriptor: int, content: bytes, progress: Progress) -> None:
    """Write all of `content`, as long as a caller still waits for it."""
    _check_wanted(progress)
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    progress.done_bytes += len(content)


def _told(
    contents: Iterable[tuple[int, bytes]], folder: Path, size: int, say: Callable[[str], None]
) -> Iterator[tuple[int, bytes]]:
    """Yield the same pieces, and say every few seconds how far it is."""
    told_s = monotonic()
    for start, content in contents:
        if monotonic() - told_s >= _TOLD_EVERY_S:
            told_s = monotonic()
            done, whole = format_quantity(start, "B"), format_quantity(size, "B")
            say(f"laying out {folder}: {done} of {whole}")
        yield start, content


def _contents(size: int, random: np.random.Generator, share: float) -> Iterator[tuple[int, bytes]]:
    """Yield the start and content of each piece."""
    zero = round(share * _BLOCK_BYTES)
    for start in range(0, size, CHUNK_BYTES):
        length = min(CHUNK_BYTES, size - start)
        blocks = -(-length // _BLOCK_BYTES)
        content = np.frombuffer(random.bytes(blocks * _BLOCK_BYTES), dtype=np.uint8)
        if zero:
            content = content.copy()
            content.reshape(blocks, _BLOCK_BYTES)[:, _BLOCK_BYTES - zero :] = 0
        yield start, content.tobytes()[:length]


def forget(descriptor: int) -> None:
    """Ask the kernel to drop cached data of a file; data that is not durable yet stays."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def allows_direct(path: Path) -> bool:
    """Return whether a file can be opened past the page cache."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    os.close(descriptor)
    return True
