"""Types of the compiled functions of shared memory."""

from typing import Any

CHECKER_CODE: str
"""Hash of the sources of protocols and checker."""
PROGRAMS_CODE: str
"""Hash of the sources of the programs."""
MOST_CACHES: int
"""Caches that the checker can handle."""

MACHINE_CODE: str
"""Hash of the sources of machines and programs."""
MOST_NODES: int
"""Nodes of a machine at most."""
TIME_KINDS: list[str]
"""Kinds of a processor's time."""

def simulate_program(setup: bytes, program: bytes, *, seed: int) -> dict[str, Any]:
    """Simulate a program on a machine; see `headroom.systems.shared_memory.simulated.system`.

    Returns `run_s`, `spent_s` and `counts` (a list by kind for each processor),
    `first_level_misses` of all processors, `to_others` and `own_shared` (accesses that left the
    processors), `evictions`, `utilizations` (I/O bus, controller, bus, link), `messages`,
    `accesses`, `shared` (accesses of other homes and of the own), `page_bytes` (shared, private),
    `home_bytes`, `sharing` (by node and home), `moments` (end and times by kind of each phase), and
    `allocations` (name, bytes, accesses, time (s), copies taken away). Raises `ValueError`.
    """

TRACED_CODE: str
"""Hash of the sources of machines and of the reader of traces."""

def allocation_sites(path: str) -> tuple[list[int], str]:
    """Return the sites of a trace's allocations, and the maps of its program.

    Raises as `simulate_recording`.
    """

def simulate_recording(path: str, setup: bytes, *, instructions_per_access: int) -> dict[str, Any]:
    """Simulate the trace of a program; see `headroom.systems.shared_memory.far_memory.system`.

    Returns what `simulate_program` does, but for `allocations`; and `threads`, `groups` of
    allocations (site, number, bytes; the first is all other memory), `code` (site, group, accesses,
    time (s) outside of the node), `hot` lines (address, group, offset in the allocation, copies
    that nodes and that processors lost), and the program's `maps`. Raises `EOFError` if the trace
    is empty or was cut, `RuntimeError` if it is damaged, `ValueError` if it cannot be simulated.
    """

def conditions(protocol: str) -> list[tuple[str, str]]:
    """Return the conditions of a protocol: name and sentence.

    Raises `ValueError` for an unknown protocol.
    """

def check_protocol(
    protocol: str,
    *,
    caches: int,
    lines: int,
    entries: int | None,
    has_local: bool,
    most_states: int,
    without: str | None,
) -> dict[str, Any]:
    """Search all states; see `headroom.systems.shared_memory.checker.system`.

    Returns `states`, `steps`, `depth`, `is_complete`, `unused` (sentences of rules) and
    `violation`: None, or its sentence, the number of events to it, and their chart. Raises
    `ValueError`.
    """

def program_memory(program: bytes, *, threads: int) -> int:
    """Return the memory (B) of a program's data; see `program_parameters.program_json`.

    Raises `ValueError` if there is no such program, with the size that is wrong.
    """

def run_program(
    program: bytes,
    *,
    threads: int,
    seed: int,
    warm_runs: int,
    rounds: int,
    round_s: float,
    copies: int = 1,
) -> dict[str, Any]:
    """Run a program natively, with other copies beside it, and check its last result.

    Returns `phases`; `rounds`, each with its `runs`, and of one run `wall_s`, the lists `busy_s`
    and `cpu_s` of threads, and `counters`: the count of all threads by name, without those that the
    machine lacks; `deviations`: name, value and bound; and `fault`: None, or which deviation
    exceeds its bound. Raises `ValueError`.
    """

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
