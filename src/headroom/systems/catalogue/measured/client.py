"""A small client of AMGA's protocol, for setting up a catalogue.

Source: AMGA's manual page of the protocol; `service/src/wire` is the other side.
"""

import socket
from typing import Self

from headroom.errors import EnvironmentUnfitError

_END = b"\x04"
_PATIENCE_S = 30.0


class AmgaClient:
    """A plain connection of the user `login`, who proves nothing.

    Parameters
    ----------
    host, port
        Where the catalogue listens.
    """

    def __init__(self, host: str, port: int, *, login: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=_PATIENCE_S)
        self._file = self._socket.makefile("rb")
        self._file.readline()
        protocol = self._file.readline().split()
        self._ends = 1 if protocol[1:] == [b"1"] else 2
        self._file.readline()
        self._socket.sendall(b"plain\n\n")
        self._file.readline()
        self._socket.sendall(f"0 {login}\n\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def command(self, text: str, *, accepted: tuple[int, ...]) -> None:
        """Send a command and wait for its reply.

        Raises
        ------
        EnvironmentUnfitError
            The catalogue refuses with a code that is not `accepted`.
        """
        self._socket.sendall(f"{text}\n".encode())
        code, _, message = self._first_line().partition(" ")
        if int(code) not in accepted:
            raise EnvironmentUnfitError(
                f"the catalogue refused `{text}`: {message or code}", cure="look at its log"
            )

    def _first_line(self) -> str:
        content = b""
        while content.count(_END) < self._ends:
            byte = self._file.read(1)
            if not byte:
                raise EnvironmentUnfitError(
                    "the catalogue closed the connection", cure="look at its log"
                )
            content += byte
        return content.partition(_END)[0].partition(b"\n")[0].decode()
