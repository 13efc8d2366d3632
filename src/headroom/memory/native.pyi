"""Types of the compiled functions of memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

PROBE_CODE: str
"""Hash of the sources that a probe ran."""

def simulate(
    *, machine: bytes, path: str | None = None, packed: bytes | None = None
) -> dict[str, Any]:
    """Carry out a stream; see `headroom.memory.simulate`. `machine` is one as JSON.

    Raises `ValueError` for an impossible machine or a wrong line, `OSError` for a missing file.
    """

def stack_distances(
    *,
    line_bytes: int,
    rate: float = 1.0,
    path: str | None = None,
    packed: bytes | None = None,
) -> dict[str, Any]:
    """Return distances; see `headroom.memory.stack_distances`. Raises as `simulate` does."""

def sweep(
    *,
    line_bytes: list[int],
    most_sets: int,
    most_ways: int,
    path: str | None = None,
    packed: bytes | None = None,
) -> dict[str, Any]:
    """Return misses by line, sets and ways; see `headroom.memory.sweep`. Raises as `simulate`."""

def by_thread(*, path: str) -> dict[str, bytes]:
    """Return packed accesses by thread; see `headroom.memory.by_thread`. Raises as `simulate`."""

def chase(
    *,
    bytes: int,  # noqa: A002 - the word of the parameter
    stride_bytes: int,
    pages: str,
    chains: int,
    rounds: int,
    round_s: float,
    seed: int,
) -> dict[str, Any]:
    """Follow addresses: `load_s` (s) of each round, `loads`, `huge_bytes`, `counters`.

    A counter is its count, or the reason why there is none. Raises `OSError` if it cannot be.
    """

def bandwidth(
    *,
    operation: str,
    bytes: int,  # noqa: A002 - as above
    cpus: list[int],
    rounds: int,
    round_s: float,
) -> dict[str, Any]:
    """Move bytes: `bytes_per_s` of each round, of all threads together, and `huge_bytes`."""

def hand_over(
    *, cpus: tuple[int, int], lines: int, rounds: int, round_s: float
) -> npt.NDArray[np.float64]:
    """Return the time (s) of a hand-over of one of `lines` between two processors, by round."""
