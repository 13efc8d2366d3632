"""The compiled core: conversion only; use it through `headroom.simulation`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BUILD_PROFILE",
    "LAUNCHER",
    "MECHANISM_KINDS",
    "KernelError",
    "StorageError",
    "WorkloadError",
    "__version__",
    "draw",
    "draw_arrivals",
    "mechanism_functions",
    "simulate",
    "storage_check",
    "storage_postmark",
    "storage_postmark_operations",
    "storage_requests",
    "storage_run",
    "storage_soft_mount",
    "storage_source_seed",
    "storage_trace_description",
]

BUILD_PROFILE: str
LAUNCHER: bytes
MECHANISM_KINDS: tuple[str, ...]
__version__: str

class KernelError(Exception):
    """A model that cannot be run, or a run that had to stop.

    Its arguments: message, cure, and the name of the program or class, the index of the step and
    whether it is a class, or None.
    """

def simulate(
    *,
    model: bytes,
    seed: int,
    completions: int | None = None,
    time: float | None = None,
    sample_every: float | None = None,
    interval_ends: Sequence[float] = ...,
    trace_limit: int = 0,
    sampling: str = "fast",
) -> dict[str, Any]:
    """Run a model once; see `headroom.simulation.simulate`."""

def draw(
    *, distribution: bytes, seed: int, key: int, count: int, sampling: str = "fast"
) -> npt.NDArray[np.float64]:
    """Draw values of a distribution; see `headroom.simulation.Distribution.draw`."""

def draw_arrivals(*, process: bytes, seed: int, key: int, count: int) -> npt.NDArray[np.float64]:
    """Draw arrival times; see `headroom.simulation.ArrivalProcess.draw`."""

class StorageError(Exception):
    """A job of the storage engine that cannot be run. Its arguments: message and cure."""

def storage_run(*, job: bytes) -> dict[str, Any]:
    """Carry the requests of a job out on its target; see `headroom.systems.storage`."""

class WorkloadError(Exception):
    """A storage workload that cannot be carried out; its arguments: message and cure."""

def storage_requests(
    *, workload: bytes, seed: int, target_bytes: int, count: int
) -> dict[str, Any]:
    """Return the first `count` requests of a storage workload, fewer where it ends.

    In the order in which an engine that is never held up would issue them: by due time, closed
    streams in turn. Arrays `kind` (0 read, 1 write, 2 sync, 3 sync of data, 4 trim), `offset` (B),
    `length` (B), `due_s` (s; nan in closed streams) and `stream`; of the streams, `streams`
    (names), `depth` (2^32 - 1 is no limit) and `allowance_s` (when a request is late after its due
    time); `counters` (names to counts: how a trace was changed to fit).
    """

def storage_trace_description(*, workload: bytes, target_bytes: int) -> dict[str, Any]:
    """Describe the trace of a storage workload of the kind `trace`.

    `requests`, `reads`, `writes`, `read_bytes`, `write_bytes`, `read_share`, `duration_s`,
    `earlier` (requests that are earlier than the one before), `footprint_bytes` (different bytes
    touched, in units of 4 KiB), `size_bytes` and `size_count` (how often each size came),
    `devices` (name to number of requests and byte behind the last one touched), `lines_skipped`,
    and `counters` (what a replay on a target of `target_bytes` changes).
    """

def storage_source_seed(*, seed: int, key: int) -> int:
    """Return the seed of a source of requests in a run with `seed`.

    The mechanism `storage.requests` whose random stream has `key` takes it where it is given no
    other; a measurement that takes it too sees the same requests.
    """

def mechanism_functions(
    *, kind: str, parameters: bytes
) -> list[tuple[str, list[str], bool]] | None:
    """Return the functions of a mechanism, each with its arguments and whether it returns a time.

    None where the kind is not known. Raises ValueError for wrong parameters.
    """

def storage_postmark(
    *, job: bytes, progress: Callable[[float], object] | None = None
) -> dict[str, Any]:
    """Run PostMark; see `headroom.systems.storage.postmark.postmark.carry_out`."""

def storage_postmark_operations(
    *, job: bytes, count: int, thread: int = 0
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the first operations; see `headroom.systems.storage.postmark.postmark.operations`."""

def storage_check(*, job: bytes) -> dict[str, Any]:
    """Compare a target with what it had promised before a crash."""

def storage_soft_mount(
    *, at: str, script: bytes, size_bytes: int, is_ready: Callable[[], object]
) -> None:
    """Serve a soft device; see `headroom.systems.storage.soft.soft_mount`. On Linux only."""
