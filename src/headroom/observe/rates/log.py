"""An access log: each line that is appended is one operation.

Invariant: nothing before the start counts; a log that is rotated or truncated goes on.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from headroom.observe.rates.adapter import Adapter, AdapterError

_CHUNK = 1 << 20


@dataclass(slots=True)
class LogAdapter(Adapter):
    """Counts the lines that a file grows by."""

    _file: BinaryIO | None = field(default=None, init=False)
    _lines: int = field(default=0, init=False)

    def count(self) -> float:
        """Return the lines appended since the first call."""
        try:
            if self._file is None:
                self._file = self._opened()
                self._file.seek(0, 2)
            self._read(self._file)
            if self._is_another(self._file):
                self._file.close()
                self._file = self._opened()
                self._read(self._file)
        except OSError as error:
            raise AdapterError(
                f"the log {self.place} cannot be read: {error.strerror}",
                cure="name a file that this user may read, such as a member of the group adm",
            ) from error
        return float(self._lines)

    def _opened(self) -> BinaryIO:
        return Path(self.place).open("rb")

    def _read(self, file: BinaryIO) -> None:
        while chunk := file.read(_CHUNK):
            self._lines += chunk.count(b"\n")

    def _is_another(self, file: BinaryIO) -> bool:
        """Return whether the path is another file now, or a shorter one."""
        try:
            now = Path(self.place).stat()
        except FileNotFoundError:  # between two names of a rotation
            return False
        own = Path(f"/proc/self/fd/{file.fileno()}").stat()
        if (now.st_ino, now.st_dev) != (own.st_ino, own.st_dev):
            return True
        return now.st_size < file.tell()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
