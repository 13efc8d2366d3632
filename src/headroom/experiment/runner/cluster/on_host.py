"""What runs in the Dask worker of a host that is measured: a hold, and the process behind it.

A hold is a Dask task that needs the resource with the host's name, of which its worker has one: the
scheduler lets one hold run at a time, and ends it soon after its driver is gone. While it runs, a
process of Headroom's own answers the driver's requests.

Invariant: the process ends with its hold.
"""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from headroom.experiment.runner.cluster.on_worker import Here, Order, code_here, current_task
from headroom.experiment.runner.cluster.parcel import unpack
from headroom.experiment.runner.fork_server import Forked
from headroom.experiment.runner.tasks import Visit

_LOOK_S = 0.2
_END_S, _SOON_S = 10.0, 2.0
"""Time (s) in which a process may end; it is shorter without a driver, as it may be busy."""


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver sends to begin: an order without tasks, and the points to measure."""

    order: Order
    configs: dict[str, dict[str, dict[str, bool | int | float | str]]]


def hold(encoded: bytes) -> str:
    """Keep the host for a driver until it lets go; returns why not, or nothing."""
    return _held(msgspec.msgpack.decode(encoded, type=Hold), current_task())


def _held(asked: Hold, here: Here) -> str:
    if refusal := asked.order.code.difference(code_here()):
        return refusal
    folder = Path(tempfile.mkdtemp(prefix="headroom-", dir=here.scratch))
    seat = _Seat(asked, folder)
    _SEATS[asked.order.session] = seat
    try:
        while here.is_wanted() and not seat.is_left.wait(_LOOK_S):
            pass
    finally:
        del _SEATS[asked.order.session]
        seat.end(_END_S if seat.is_left.is_set() else _SOON_S)
        shutil.rmtree(folder, ignore_errors=True)
    return ""


async def ask(session: str, request: bytes) -> bytes | None:
    """Return the reply to a request; None while another driver holds the host, empty at a death."""
    seat = _SEATS.get(session)
    return None if seat is None else await asyncio.to_thread(seat.ask, request)


def leave(session: str) -> None:
    """End a hold."""
    if seat := _SEATS.get(session):
        seat.is_left.set()


class _Seat:
    """The process that measures for one driver."""

    def __init__(self, asked: Hold, folder: Path) -> None:
        self.is_left = threading.Event()
        recipes = unpack(asked.order.content or b"", folder)
        here, there = socket.socketpair()
        with there:
            self._process = Forked(there.fileno())
        self._connection: Connection[bytes, bytes] = Connection(here.detach())
        visit = Visit(
            sys_path=sys.path, recipes=recipes, configs=asked.configs, folder=os.fspath(folder)
        )
        self._connection.send_bytes(msgspec.msgpack.encode(visit))

    def ask(self, request: bytes) -> bytes:
        try:
            self._connection.send_bytes(request)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            return b""

    def end(self, within_s: float) -> None:
        """Let the process close what it keeps, or kill it with all that it has started."""
        self._connection.close()
        with suppress(TimeoutError):
            self._process.wait(within_s)
        self._process.kill()
        self._process.release()


_SEATS: dict[str, _Seat] = {}
"""By session of the driver."""
