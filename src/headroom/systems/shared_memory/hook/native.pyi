"""Types of the compiled readers of traces."""

from typing import Any

def trace_totals(path: str) -> dict[str, Any]:
    """Count the contents of a trace; a pipe is read until all its writers have closed it.

    `accesses` and `bytes` are lists by kind: read, write, atomic read, atomic write, atomic
    modification. `sites` is a list of sites (addresses of code) with such a list each. `missing` is
    empty unless the trace was cut. Raises `EOFError` if the trace is empty, `ValueError` if it is
    damaged, `OSError` if there is none.
    """

def trace_events(
    path: str, *, most: int, turn_accesses: int = 32
) -> tuple[list[tuple[int, str, int, int, int]], dict[str, Any]]:
    """Merge a trace; return its first events and a report, as of `trace_totals`.

    An event is a thread, a name, an address or a thread, bytes and a site. All events are checked.
    """
