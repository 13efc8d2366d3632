"""Small servers whose limit is known: `python servers.py KIND PORT FOLDER`.

Each answers the lines of its connections. All but the event loop have one process for each
connection, so that no lock of the interpreter limits them; what they share is made before the fork.

Stands alone: a study starts it by the Python of the machine.
"""

import os
import select
import socket
import socketserver
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from multiprocessing import Lock, Semaphore
from pathlib import Path


def burn(of_s: float) -> None:
    """Take processor time (s)."""
    end_s = time.thread_time() + of_s
    while time.thread_time() < end_s:
        pass


def hog() -> None:
    """Take 0.8 ms of a processor."""
    burn(800e-6)


def within(limit: AbstractContextManager[object], hold_s: float) -> Callable[[], None]:
    """Return an operation that holds a place of a limit for a time (s) without a processor."""

    def operation() -> None:
        burn(100e-6)
        with limit:
            time.sleep(hold_s)

    return operation


def flushing(folder: Path) -> Callable[[], None]:
    """Return an operation that appends to a log and flushes it under a mutex."""
    lock = Lock()
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def operation() -> None:
        burn(50e-6)
        with lock:
            os.write(log, bytes(512))
            os.fsync(log)

    return operation


def forwarding() -> Callable[[], None]:
    """Return an operation that asks a second process, which answers one at a time in 0.7 ms."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    if os.fork() == 0:
        loop(listener, 700e-6)
    address = listener.getsockname()
    connections: dict[int, socket.socket] = {}

    def operation() -> None:
        burn(200e-6)
        if os.getpid() not in connections:
            connections[os.getpid()] = socket.create_connection(address)
        connections[os.getpid()].sendall(b"\n")
        connections[os.getpid()].recv(1)

    return operation


def loop(listener: socket.socket, work_s: float) -> None:
    """Answer the lines of all connections in one thread, one after the other."""
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    open_ones: dict[int, socket.socket] = {}
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                open_ones[connection.fileno()] = connection
                poll.register(connection, select.EPOLLIN)
            elif not answered(open_ones[number], work_s):
                poll.unregister(number)
                open_ones.pop(number).close()


def answered(connection: socket.socket, work_s: float) -> bool:
    """Answer a line; whether the other side was still there."""
    with suppress(ConnectionError):  # a load program ends in the middle of its requests
        if connection.recv(1):
            burn(work_s)
            connection.send(b"\n")
            return True
    return False


def serve(port: int, operation: Callable[[], None]) -> None:
    """Answer each connection in a process of its own."""

    class Answer(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with suppress(ConnectionError):  # a load program ends in the middle of its requests
                while self.request.recv(1):
                    operation()
                    self.request.sendall(b"\n")

    class Server(socketserver.ForkingTCPServer):
        allow_reuse_address = True
        request_queue_size = 128
        max_children = 256

    Server(("127.0.0.1", port), Answer).serve_forever()


OPERATIONS: dict[str, Callable[[Path], Callable[[], None]]] = {
    "hog": lambda _: hog,
    "quota": lambda _: hog,
    "client": lambda _: lambda: burn(50e-6),
    "mutex": lambda _: within(Lock(), 1.5e-3),
    "pool": lambda _: within(Semaphore(4), 4e-3),
    "fsync": flushing,
    "two": lambda _: forwarding(),
}


def main(kind: str, port: int, folder: Path) -> None:
    """Serve one kind."""
    if kind == "loop":
        loop(socket.create_server(("127.0.0.1", port), backlog=128), 500e-6)
    serve(port, OPERATIONS[kind](folder))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
