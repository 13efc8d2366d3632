"""One writer per journal: an advisory lock that is released when its process ends, in any way."""

import fcntl
import os
import socket
from pathlib import Path
from typing import Self

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal import journal_errors


class JournalLock:
    """The right to write one journal, held until `release` or the end of the process.

    The lock file stays: removing it would let two processes lock two files of the same name. Child
    processes do not inherit the lock.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, journal: Path) -> Self:
        """Take the lock, or raise `EnvironmentUnfitError` naming its holder."""
        path = journal.with_name(journal.name + ".lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise journal_errors.not_writable(journal, error.strerror or str(error)) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise EnvironmentUnfitError(
                f"another run is writing the journal {journal} ({holder or 'holder unknown'})",
                cure="wait until it has finished, or stop it; then run the same command again",
            ) from error
        _write_holder(descriptor)
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock back."""
        os.close(self._descriptor)


def _write_holder(descriptor: int) -> None:
    """Write the holder of the lock; a full disk must not stop a run just for this."""
    text = f"process {os.getpid()} on {socket.gethostname()}\n".encode()
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)
    except OSError:
        return
