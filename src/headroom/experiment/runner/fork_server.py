"""Worker processes by forking: modules are loaded once for all workers.

Python, NumPy and Headroom take a third of a second of processor time to load, a fork takes some
milliseconds. So the first worker of a process starts a server that has loaded them, and each
worker is a fork of that server: with the environment, the folder and the standard error that its
driver has at that moment, in a session of its own.

Invariant: the server has one thread and runs no code of users, so a fork of it is like a new
process. It ends with its driver, whose end closes their connection.
"""

import atexit
import functools
import importlib
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

_LENGTH = struct.Struct("!I")
_NUMBER = struct.Struct("!q")
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PRELOADED = re.compile(r"headroom\.systems\.(?!.*\b(test_|conftest))")
"""Names of modules that the server loads as well if its driver has loaded them; no tests, which
import from folders that the server does not know."""


class _Order(msgspec.Struct):
    """What a worker takes from its driver; its descriptors travel beside it."""

    environment: dict[str, str]
    folder: str


class Forked:
    """A process that the server has forked.

    Parameters
    ----------
    connection
        Descriptor that the process serves. The caller keeps the other end.

    Attributes
    ----------
    pid
        Its process and session.
    returncode
        None while it runs, as in `subprocess.Popen`.
    """

    def __init__(self, connection: int) -> None:
        self.returncode: int | None = None
        self.pid = self._forked(connection)
        if not self.pid:
            # The server may have ended since its last order; a new one is asked once.
            close_servers()
            self.pid = self._forked(connection)
        if not self.pid:
            self.returncode = 1

    def _forked(self, connection: int) -> int:
        """Return the number of a new process; 0 if the server has ended."""
        lifeline, self._lifeline = os.pipe()
        self._told, tell = os.pipe()
        try:
            with _lock:
                _server().order([connection, lifeline, 2, tell])
        finally:
            os.close(lifeline)
            os.close(tell)
        try:
            return self._next_number()
        except EOFError:
            self.release()
            os.close(self._told)
            self._told = -1
            return 0

    def poll(self) -> int | None:
        """Return the return code, None while the process runs."""
        return self._wait(0.0)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end of the process; `TimeoutError` where it takes longer."""
        code = self._wait(timeout_s)
        if code is None:
            message = f"process {self.pid} has not ended in {timeout_s} s"
            raise TimeoutError(message)
        return code

    def kill(self) -> None:
        """Kill the process and all others of its session, which may outlive it."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def release(self) -> None:
        """Close the lifeline, at which an idle process ends."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def _wait(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout_s)[0]:
            try:
                self.returncode = os.waitstatus_to_exitcode(self._next_number())
            except EOFError:  # the server was killed: nobody knows how its processes ended
                self.returncode = 1
        if self.returncode is not None and self._told >= 0:
            os.close(self._told)
            self._told = -1
        return self.returncode

    def _next_number(self) -> int:
        told = os.read(self._told, _NUMBER.size)
        if not told:
            raise EOFError
        return int(_NUMBER.unpack(told)[0])


class _Server:
    """The driver's end of a server."""

    def __init__(self) -> None:
        self.driver = os.getpid()
        modules = [name for name in sys.modules if _PRELOADED.match(name)]
        here, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(there.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,
                env=os.environ | dict.fromkeys(_ONE_THREAD, "1"),
            )
        self._connection = here

    def is_usable(self) -> bool:
        return self.driver == os.getpid() and self._process.poll() is None

    def order(self, descriptors: list[int]) -> None:
        folder = ""
        with suppress(OSError):  # it may have been removed
            folder = str(Path.cwd())
        content = msgspec.msgpack.encode(_Order(environment=dict(os.environ), folder=folder))
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._connection, [_LENGTH.pack(len(content))], descriptors)
            self._connection.sendall(content)

    def close(self) -> None:
        self._connection.close()
        if self.driver == os.getpid():
            self._process.wait()


_servers: list[_Server] = []
_lock = threading.Lock()
"""Threads of a worker of a cluster share one server: an order must not be cut by another."""


def _server() -> _Server:
    """Return the server of this process, and start one where there is none."""
    if not _servers or not _servers[-1].is_usable():
        close_servers()
        _servers.append(_Server())
    return _servers[-1]


@atexit.register
def close_servers() -> None:
    """End the servers of this process; the next worker starts another."""
    while _servers:
        _servers.pop().close()


def main() -> None:
    """Fork a worker for each order of the connection whose descriptor is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from headroom.experiment.runner.worker import work  # noqa: PLC0415 - the driver needs it not

    for name in sys.argv[2:]:
        with suppress(Exception):  # the worker that needs it says what is wrong
            importlib.import_module(name)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        _serve(orders, wake, work)
    os._exit(0)  # whoever waits for the end need not wait for a tidy one


def _serve(orders: socket.socket, wake: int, work: Callable[[int], None]) -> None:
    tells: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([orders.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _tell_of_the_ended(tells)
        if orders.fileno() not in ready:
            continue
        length, descriptors, _, _ = socket.recv_fds(orders, _LENGTH.size, 4)
        if not length:
            return
        content = _received(orders, _LENGTH.unpack(length)[0])
        connection, lifeline, standard_error, tell = descriptors
        pid = os.fork()
        if pid == 0:
            for other in [orders.fileno(), wake, tell, *tells.values()]:
                os.close(other)
            os.dup2(lifeline, 0)
            os.dup2(standard_error, 2)
            _become_worker(msgspec.msgpack.decode(content, type=_Order))
            for copied in (lifeline, standard_error):
                os.close(copied)
            _end_with(functools.partial(work, connection))
        tells[pid] = tell
        with suppress(BrokenPipeError):
            os.write(tell, _NUMBER.pack(pid))
        for copied in (connection, lifeline, standard_error):
            os.close(copied)


def _received(orders: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        content += orders.recv(size - len(content))
    return content


def _tell_of_the_ended(tells: dict[int, int]) -> None:
    while tells:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        tell = tells.pop(pid)
        with suppress(BrokenPipeError):
            os.write(tell, _NUMBER.pack(status))
        os.close(tell)


def _become_worker(order: _Order) -> None:
    woken = signal.set_wakeup_fd(-1)
    os.close(woken)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.environ.clear()
    os.environ.update(order.environment | dict.fromkeys(_ONE_THREAD, "1"))
    with suppress(OSError):
        os.chdir(order.folder)


def _end_with(work: Callable[[], None]) -> None:
    """Do `work` as a program does, and end this process."""
    code = 1
    try:
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
