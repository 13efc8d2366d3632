"""A worker process: takes chunks of tasks from the driver and returns one result per task.

It ignores Ctrl-C (the driver decides), writes nothing to stdout, and ends at once when its driver
is gone: its standard input is a lifeline that only the driver holds.
"""

import os
import signal
import sys
import threading
from multiprocessing.connection import Connection

import msgspec

from headroom.experiment.runner.tasks import Start, SystemCache, Task, Visit

READY = b"ready"


def work(descriptor: int) -> None:
    """Serve the connection with this `descriptor` until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    with Connection(descriptor) as connection:
        try:
            _serve(connection)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _end_with_driver() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _serve(connection: "Connection[bytes, bytes]") -> None:
    messages = msgspec.msgpack.Decoder(Start | Visit | list[Task])
    encoder = msgspec.msgpack.Encoder()
    systems = SystemCache({})
    while True:
        message = messages.decode(connection.recv_bytes())
        if isinstance(message, Visit):
            from headroom.experiment.runner.hosts import serve  # noqa: PLC0415 - measurements only

            sys.path[:] = message.sys_path
            serve(connection, message)
            return
        if isinstance(message, Start):
            sys.path[:] = message.sys_path
            systems = SystemCache(message.recipes)
            connection.send_bytes(READY)
            continue
        for task in message:
            connection.send_bytes(encoder.encode(systems.run(task)))
