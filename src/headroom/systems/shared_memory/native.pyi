"""Types of the compiled functions of shared memory."""

from typing import Any

CHECKER_CODE: str
"""Hash of the sources of protocols and checker."""
MOST_CACHES: int
"""Caches that the checker can handle."""

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
