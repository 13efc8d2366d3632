"""Users in a circle: `load.py PORT USERS THINK_MS CPU_MS RUN_S`; prints rate and response."""

import socket
import sys
import threading
import time

PORT, USERS, THINK_MS, CPU_MS, RUN_S = (float(word) for word in sys.argv[1:6])


def compute(ms: float) -> None:
    """Use processor time."""
    end_s = time.thread_time() + ms / 1e3
    while ms and time.thread_time() < end_s:
        pass


def use(end_s: float, waits_s: list[float]) -> None:
    """Think, compute and ask until the end."""
    with socket.create_connection(("127.0.0.1", int(PORT))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = connection.makefile("rb")
        while time.monotonic() < end_s:
            time.sleep(THINK_MS / 1e3)
            compute(CPU_MS)
            asked_s = time.monotonic()
            connection.sendall(b"line\n")
            answers.readline()
            waits_s.append(time.monotonic() - asked_s)


def main() -> None:
    """Run all users."""
    start_s = time.monotonic()
    waits_s: list[float] = []
    users = [
        threading.Thread(target=use, args=[start_s + RUN_S, waits_s]) for _ in range(int(USERS))
    ]
    for user in users:
        user.start()
    for user in users:
        user.join()
    print("rate:", len(waits_s) / (time.monotonic() - start_s))
    print("mean:", sum(waits_s) / len(waits_s))


if __name__ == "__main__":
    main()
