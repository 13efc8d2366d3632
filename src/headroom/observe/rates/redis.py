"""Commands of a redis server, by `INFO stats`.

Source: redis documentation, command INFO (`total_commands_processed`).
"""

import re
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from headroom.observe.rates.adapter import PATIENCE_S, Adapter, AdapterError

_PROCESSED = re.compile(rb"^total_commands_processed:(\d+)", re.MULTILINE)
_PORT = 6379


@dataclass(slots=True)
class RedisAdapter(Adapter):
    """Asks a server ``//[:PASSWORD@]HOST:PORT``, the password by `AUTH`."""

    _link: socket.socket | None = field(default=None, init=False)
    _own: int = field(default=0, init=False)

    def count(self) -> float:
        """Return the commands processed, without those of this adapter."""
        try:
            if self._link is None:
                self._connect()
            answer = self._ask("INFO", "stats")
        except OSError as error:
            self.close()
            raise self._error(f"does not answer: {error.strerror or error}") from error
        found = _PROCESSED.search(answer)
        if found is None:
            self.close()
            raise self._error(f"says {answer[:80].decode(errors='replace').strip()!r}")
        # The command that asks is counted once it is done.
        processed = float(found[1]) - self._own
        self._own += 1
        return processed

    def _connect(self) -> None:
        place = urlsplit(self.place if "//" in self.place else f"//{self.place}")
        address = (place.hostname or "127.0.0.1", place.port or _PORT)
        self._link = socket.create_connection(address, timeout=PATIENCE_S)
        if place.password is not None:
            user = [place.username] if place.username else []
            answer = self._ask("AUTH", *user, place.password)
            self._own += 1
            if not answer.startswith(b"+"):
                self.close()
                raise self._error("refuses the password")

    def _ask(self, *words: str) -> bytes:
        link = self._link
        if link is None:
            raise OSError(0, "there is no connection")
        parts = [f"*{len(words)}\r\n", *(f"${len(w.encode())}\r\n{w}\r\n" for w in words)]
        link.sendall("".join(parts).encode())
        answer = b""
        while not _is_whole(answer):
            chunk = link.recv(65536)
            if not chunk:
                raise OSError(0, "it closed the connection")
            answer += chunk
        return answer

    def _error(self, why: str) -> AdapterError:
        place = self.place.rpartition("@")[2].removeprefix("//")
        return AdapterError(
            f"redis at {place} {why}",
            cure="write redis://:PASSWORD@HOST:PORT; the user needs the command INFO",
        )

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None


def _is_whole(answer: bytes) -> bool:
    r"""Return whether an answer is complete: a line, or a text with its length.

    Examples
    --------
    >>> _is_whole(b"+OK\r\n"), _is_whole(b"$5\r\nhel"), _is_whole(b"$5\r\nhello\r\n")
    (True, False, True)
    """
    head, end, rest = answer.partition(b"\r\n")
    if not end or not head.startswith(b"$"):
        return bool(end)
    return len(rest) >= int(head[1:]) + 2
