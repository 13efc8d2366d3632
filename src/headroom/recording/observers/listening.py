"""Connections that a listening server has not accepted yet, as the kernel of Linux counts them.

Source: the kernel's `Documentation/networking/proc_net_tcp.rst`, and `sk_ack_backlog` in
`tcp_ipv4.c`: of a listening socket the column `rx_queue` is the length of its accept queue.
"""

from collections.abc import Collection
from pathlib import Path

_NET = Path("/proc/net")
_LISTENS = "0A"


def waiting_connections(ports: Collection[int], net: Path = _NET) -> float | None:
    """Return the connections that wait to be accepted at TCP ports; None if none is listening."""
    found = None
    for name in ("tcp", "tcp6"):
        try:
            with (net / name).open(encoding="ascii") as lines:
                next(lines)
                for line in lines:
                    _, local, _, state, queues, *_ = line.split()
                    if state != _LISTENS:
                        break  # listening sockets come first: there may be very many others
                    if int(local.rpartition(":")[2], 16) in ports:
                        found = (found or 0.0) + int(queues.partition(":")[2], 16)
        except (OSError, StopIteration):
            continue
    return found
