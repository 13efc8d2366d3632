"""Types of the compiled functions of storage."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

class StorageError(Exception):
    """A job of the storage engine that cannot be run. Its arguments: message and cure."""

def run(*, job: bytes) -> dict[str, Any]:
    """Carry the requests of a job out on its target; see `headroom.systems.storage`."""

class WorkloadError(Exception):
    """A storage workload that cannot be carried out; its arguments: message and cure."""

def requests(*, workload: bytes, seed: int, target_bytes: int, count: int) -> dict[str, Any]:
    """Return the first `count` requests of a storage workload, fewer where it ends.

    In the order in which an engine that is never held up would issue them: by due time, closed
    streams in turn. Arrays `kind` (0 read, 1 write, 2 sync, 3 sync of data, 4 trim), `offset` (B),
    `length` (B), `due_s` (s; nan in closed streams) and `stream`; of the streams, `streams`
    (names), `depth` (2^32 - 1 is no limit) and `allowance_s` (when a request is late after its due
    time); `counters` (names to counts: how a trace was changed to fit).
    """

def trace_description(*, workload: bytes, target_bytes: int) -> dict[str, Any]:
    """Describe the trace of a storage workload of the kind `trace`.

    `requests`, `reads`, `writes`, `read_bytes`, `write_bytes`, `read_share`, `duration_s`,
    `earlier` (requests that are earlier than the one before), `footprint_bytes` (different bytes
    touched, in units of 4 KiB), `size_bytes` and `size_count` (how often each size came),
    `devices` (name to number of requests and byte behind the last one touched), `lines_skipped`,
    and `counters` (what a replay on a target of `target_bytes` changes).
    """

def source_seed(*, seed: int, key: int) -> int:
    """Return the seed of a source of requests in a run with `seed`.

    The mechanism `storage.requests` whose random stream has `key` takes it where it is given no
    other; a measurement that takes it too sees the same requests.
    """

def postmark(*, job: bytes, progress: Callable[[float], object] | None = None) -> dict[str, Any]:
    """Run PostMark; see `headroom.systems.storage.postmark.postmark.carry_out`."""

def postmark_operations(
    *, job: bytes, count: int, thread: int = 0
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the first operations; see `headroom.systems.storage.postmark.postmark.operations`."""

def check(*, job: bytes) -> dict[str, Any]:
    """Compare a target with what it had promised before a crash."""

def soft_mount(*, at: str, script: bytes, size_bytes: int, is_ready: Callable[[], object]) -> None:
    """Serve a soft device; see `headroom.systems.storage.soft.soft_mount`. On Linux only."""
