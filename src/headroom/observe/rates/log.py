"""An access log: each line that is appended is one operation.

Invariant: nothing before the start counts; a log that is rotated or truncated goes on.
"""

import os
from contextlib import suppress
from pathlib import Path

from headroom.observe.rates.adapter import Adapter, AdapterError

_CHUNK = 1 << 20


class LogAdapter(Adapter):
    """Counts the lines that a file grows by."""

    _lines = 0

    def __init__(self, place: str) -> None:
        super().__init__(place)
        with suppress(OSError):  # `count` says so
            self._file = Path(place).open("rb")  # noqa: SIM115 - until `close`
            self._file.seek(0, os.SEEK_END)

    def count(self) -> float:
        """Return the lines appended since the start."""
        try:
            self._read()
            with suppress(FileNotFoundError):  # between two names of a rotation
                now = Path(self.place).stat()
                is_same = os.path.samestat(now, os.fstat(self._file.fileno()))
                if not is_same or now.st_size < self._file.tell():
                    self._file.close()
                    self._file = Path(self.place).open("rb")  # noqa: SIM115 - as above
                    self._read()
        except (OSError, AttributeError) as error:
            raise AdapterError(
                f"the log {self.place} cannot be read: {getattr(error, 'strerror', 'not opened')}",
                cure="name a file that this user may read, such as a member of the group adm",
            ) from error
        return float(self._lines)

    def _read(self) -> None:
        while chunk := self._file.read(_CHUNK):
            self._lines += chunk.count(b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
