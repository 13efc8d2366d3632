"""Types of the compiled functions of records."""

from typing import Any, Self, final

MEASURED_CODE: str
"""Hash of the sources that a measurement ran."""
MODELLED_CODE: str
"""Hash of the sources that a simulation ran."""

def footprint(spec: bytes) -> dict[str, int]:
    """Return `records_per_node`, and the bytes that a table would take, without making it.

    `spec` is JSON, as of `Table`. Raises `ValueError` for a table that cannot be.
    """

@final
class Table:
    """A table with the records 0 to n - 1."""

    def __new__(cls, spec: bytes) -> Self:
        """Make and fill it; see `headroom.systems.records.parameters.table_spec`.

        Raises `ValueError` for a table that cannot be, `MemoryError` if there is no memory.
        """

    def facts(self) -> dict[str, Any]:
        """Return `records`, `nodes`, `index_height`, `index_bytes` and `huge_bytes`."""

    def check(self) -> None:
        """Check all invariants; raises `ValueError` with the first that is broken."""

    def measure(
        self,
        *,
        cell: bytes,
        rounds: int,
        round_s: float,
        most_s: float,
        warm_up: int,
        is_cold: bool,
        seed: int,
    ) -> dict[str, Any]:
        """Time a cell: `cpu_s` and `wall_s` of a run, by round; `visits`, `runs`, `counters`."""

    def simulate(self, *, cell: bytes, machine: bytes, warm_up: int, seed: int) -> dict[str, Any]:
        """Count what a run of a cell meets on a machine of caches and TLBs.

        As `headroom.memory.simulate`, with `visits`, the kinds of work, and the accesses of memory
        that continue the last line (`streamed`) or do not (`lone`).
        """

    def keep_up(self, *, upkeep: bytes, updates: int, seed: int) -> dict[str, Any]:
        """Time updates with their upkeep: `wall_s`, `updates`, `bytes`; raises `OSError`."""
