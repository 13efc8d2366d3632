"""A part of a served system: `part.py PORT NEXT CPU_MS HOLD_MS TOKENS`.

Each line that comes in costs CPU_MS of processor time, then HOLD_MS of waiting with one of TOKENS,
then an answer of the next part, if NEXT is its port.
"""

import contextlib
import socket
import socketserver
import sys
import threading
import time

PORT, NEXT, CPU_MS, HOLD_MS, TOKENS = (float(word) for word in sys.argv[1:6])
POOL = threading.Semaphore(int(TOKENS))


def compute(ms: float) -> None:
    """Use processor time."""
    end_s = time.thread_time() + ms / 1e3
    while ms and time.thread_time() < end_s:
        pass


class Line(socketserver.StreamRequestHandler):
    """Answers the lines of one connection."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Work, wait, ask on, answer."""
        with contextlib.ExitStack() as stack:
            ask, answers = None, None
            if NEXT:
                ask = stack.enter_context(socket.create_connection(("127.0.0.1", int(NEXT))))
                ask.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = ask.makefile("rb")
            for line in self.rfile:
                compute(CPU_MS)
                if HOLD_MS:
                    with POOL:
                        time.sleep(HOLD_MS / 1e3)
                if ask and answers:
                    ask.sendall(line)
                    answers.readline()
                self.wfile.write(line)


class Server(socketserver.ThreadingTCPServer):
    """Takes many connections at once."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 200


if __name__ == "__main__":
    Server(("127.0.0.1", int(PORT)), Line).serve_forever()
