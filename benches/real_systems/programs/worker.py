"""Workers of a queue in redis: `python worker.py PORT WORKERS WAIT_S WORK_S`.

A job names whom to answer; each worker takes one, works, waits, and pushes the answer.
"""

import os
import socket
import sys
import time
from typing import BinaryIO


def main(port: int, workers: int, wait_s: float, work_s: float) -> None:
    """Work for ever; all but one in further processes."""
    for _ in range(workers - 1):
        if os.fork() == 0:
            break
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answers = connection.makefile("rb")
    while True:
        client = ask(connection, answers, "BLPOP", "jobs", "0")
        end_s = time.thread_time() + work_s
        while time.thread_time() < end_s:
            pass
        time.sleep(wait_s)
        ask(connection, answers, "RPUSH", f"reply:{client}", "done")


def ask(connection: socket.socket, answers: BinaryIO, *words: str) -> str:
    """Send a command and return the last word of its answer."""
    parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    connection.sendall(f"*{len(words)}\r\n{parts}".encode())
    head = answers.readline().decode()
    if not head:
        sys.exit("redis has closed the connection")
    last = head[1:].strip()
    for _ in range(int(last) if head[0] == "*" else 0):
        answers.readline()
        last = answers.readline().decode().strip()
    return last


if __name__ == "__main__":
    port, workers, *times_s = sys.argv[1:]
    main(int(port), int(workers), *map(float, times_s))
