"""The part in the Dask worker of a measured host: a hold, and the processes behind it.

A hold is a Dask task that needs all that its worker announces: the scheduler lets one hold run at a
time, and ends it soon after its driver is gone. While it runs, processes of Headroom's own answer
the driver's requests. That of the load may ask one on another host meanwhile: then this worker asks
the other worker.

Invariant: the processes end with their hold.
"""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headroom.experiment.runner.cluster.on_worker import Code, Here, code_here, current_task
from headroom.experiment.runner.cluster.parcel import unpack
from headroom.experiment.runner.fork_server import Forked
from headroom.experiment.runner.hosts import CALL, Call, Request
from headroom.experiment.runner.tasks import Visit

if TYPE_CHECKING:
    from distributed import Worker

_LOOK_S = 0.2
_END_S, _SOON_S = 10.0, 2.0
"""Time (s) in which a process may end; it is shorter without a driver, as it may be busy."""


class Chair(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of one process.

    Parameters
    ----------
    parcel
        The systems, encoded.
    configs
        Points to measure; empty if it runs services alone.
    own
        Host that it is.
    seats
        Host to address of the worker and name of the process, of all for the same experiments.
    """

    parcel: bytes
    configs: dict[str, dict[str, dict[str, bool | int | float | str]]]
    own: str
    seats: dict[str, tuple[str, str]]


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """The first message of a driver: its session, its program, and the processes by name."""

    session: str
    code: Code
    chairs: dict[str, Chair]


class OtherHostError(RuntimeError):
    """A host of services does not answer the host of the load."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(host, reason)
        self.host = host

    def __str__(self) -> str:
        return str(self.args[1])


def hold(encoded: bytes) -> str:
    """Keep the host for a driver until it lets go; returns why not, or nothing."""
    return _held(msgspec.msgpack.decode(encoded, type=Hold), current_task())


def _held(asked: Hold, here: Here) -> str:
    if refusal := asked.code.difference(code_here()):
        return refusal
    seats: dict[str, _Seat] = {}
    is_left = threading.Event()
    with ExitStack() as stack:
        for name, chair in asked.chairs.items():
            folder = Path(tempfile.mkdtemp(prefix="headroom-", dir=here.scratch))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            seats[name] = seat = _Seat(chair, folder)
            stack.callback(lambda one: one.end(_END_S if is_left.is_set() else _SOON_S), seat)
        held = _Held(seats, is_left.set)
        _HELD[asked.session] = held
        stack.callback(_HELD.pop, asked.session)
        while here.is_wanted() and not is_left.wait(_LOOK_S):
            pass
    return ""


async def ask(
    session: str, seat: str, request: bytes, dask_worker: "Worker | None" = None
) -> bytes | None:
    """Return the reply to a request; None while another driver holds the host, empty at a death.

    Raises
    ------
    OtherHostError
        The process asked one of another host, which has ended.
    """
    held = _HELD.get(session)
    if held is None:
        return None
    there = held.seats[seat]
    answer = await asyncio.to_thread(there.ask, request)
    while answer.startswith(CALL):
        call = msgspec.msgpack.decode(answer.removeprefix(CALL), type=Call)
        reply = await _called(session, there.others[call.host], call, dask_worker)
        answer = await asyncio.to_thread(there.ask, reply)
    return answer


async def _called(
    session: str, place: tuple[str, str], call: Call, worker: "Worker | None"
) -> bytes:
    """Return the reply of a process on another host."""
    from distributed.protocol.pickle import dumps  # noqa: PLC0415 - only there in a Dask worker

    if worker is None:
        raise TypeError("only a Dask worker asks another one")
    address, seat = place
    request = Request(what="serve", experiment=call.experiment, content=call.content)
    arguments = (session, seat, msgspec.msgpack.encode(request))
    try:
        answer = await worker.rpc(address).run(
            function=dumps(ask), args=dumps(arguments), kwargs=dumps({})
        )
    except OSError as error:
        raise OtherHostError(call.host, "its worker ended") from error
    reply: bytes | None = answer.get("result")
    if not reply:
        raise OtherHostError(call.host, "its process ended")
    return reply


def leave(session: str, seat: str) -> None:
    """End a process, and with the last one the hold."""
    if held := _HELD.get(session):
        held.leave(seat)


class _Seat:
    """A process that works for one driver."""

    def __init__(self, chair: Chair, folder: Path) -> None:
        self.others = chair.seats
        recipes = unpack(chair.parcel, folder)
        here, there = socket.socketpair()
        with there:
            self._process = Forked(there.fileno())
        self._connection: Connection[bytes, bytes] = Connection(here.detach())
        visit = Visit(
            sys_path=sys.path,
            recipes=recipes,
            configs=chair.configs,
            folder=os.fspath(folder),
            own=chair.own,
            addresses={host: _ip_of(address) for host, (address, _) in chair.seats.items()},
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


class _Held:
    """The processes of one hold."""

    def __init__(self, seats: dict[str, _Seat], end: Callable[[], None]) -> None:
        self.seats = seats
        self._left = set(seats)
        self._end = end

    def leave(self, seat: str) -> None:
        self._left.discard(seat)
        if not self._left:
            self._end()


def _ip_of(address: str) -> str:
    """Return the network address in that of a worker.

    Examples
    --------
    >>> _ip_of("tls://10.0.0.2:40123"), _ip_of("tcp://[::1]:8786")
    ('10.0.0.2', '::1')
    """
    return address.rpartition("://")[2].rpartition(":")[0].strip("[]")


_HELD: dict[str, _Held] = {}
"""By session of the driver."""
