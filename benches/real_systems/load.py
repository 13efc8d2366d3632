"""Closed clients in one process: `python load.py PORT CLIENTS THINK_S SECONDS SEED WORK_S LABELS`.

Each client sends a line, waits for its answer, takes WORK_S of this process's processor time, and
thinks for an exponential time. Prints the throughput and response times of all but the first fifth.
"""

import heapq
import random
import select
import socket
import sys
import time


def run(port: int, clients: int, think_s: float, length_s: float, work_s: float) -> list[float]:
    """Return the response times (s) in the order of completion, the start left out."""
    poll = select.epoll()
    known = {}
    for _ in range(clients):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        known[connection.fileno()] = connection
        poll.register(connection, select.EPOLLIN)
    start_s = time.monotonic()
    due = [(start_s + pause(think_s), number) for number in known]
    heapq.heapify(due)
    sent_s: dict[int, float] = {}
    responses_s = []
    while (now_s := time.monotonic()) < start_s + length_s:
        while due and due[0][0] <= now_s:
            _, number = heapq.heappop(due)
            sent_s[number] = time.monotonic()
            known[number].send(b"\n")
        wait_s = max(due[0][0] - time.monotonic(), 0.0) if due else 1.0
        for number, _ in poll.poll(min(wait_s, 1.0)):
            known[number].recv(1)
            now_s = time.monotonic()
            if now_s >= start_s + length_s / 5:
                responses_s.append(now_s - sent_s[number])
            end_s = time.thread_time() + work_s
            while work_s and time.thread_time() < end_s:
                pass
            heapq.heappush(due, (time.monotonic() + pause(think_s), number))
    return responses_s


def pause(think_s: float) -> float:
    """Return a think time (s)."""
    return random.expovariate(1.0 / think_s) if think_s else 0.0


def main(arguments: list[str]) -> None:
    """Print what was measured."""
    port, clients, think_s, length_s, seed, work_s, *_ = arguments
    random.seed(int(seed))
    responses_s = run(int(port), int(clients), float(think_s), float(length_s), float(work_s))
    responses_s.sort()
    print("throughput", len(responses_s) / (0.8 * float(length_s)))
    print("mean_s", sum(responses_s) / len(responses_s))
    print("p95_s", responses_s[int(0.95 * len(responses_s))])


if __name__ == "__main__":
    main(sys.argv[1:])
