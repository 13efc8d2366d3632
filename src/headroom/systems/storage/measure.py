"""The Python side of the storage engine: the only module that calls it.

Invariant: a job that cannot be run becomes an error with a hint; a signal that came while the
engine ran is raised here.
"""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from headroom.errors import EnvironmentUnfitError
from headroom.systems.storage import native

T = TypeVar("T")

HAS_SOFT_MOUNT = hasattr(native, "soft_mount")
"""Whether this system has FUSE at all."""


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out one job and return what the engine found; see `conversion`.

    Raises
    ------
    EnvironmentUnfitError
        The job cannot be run; a target that fails on the way does not raise.
    KeyboardInterrupt
        The user or the system requested the end.
    """
    result = run_until_stopped(job)
    if result["interrupt"] is not None:
        raise result["interrupt"]
    return result


def run_postmark(
    job: Mapping[str, Any], *, progress: Callable[[float], object] | None = None
) -> dict[str, Any]:
    """Run PostMark and return what the engine found; see `postmark.carry_out`."""
    return native.postmark(job=msgspec.json.encode(job), progress=progress)


def postmark_operations(
    job: Mapping[str, Any], *, count: int, thread: int
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the first operations of a thread of PostMark; see `postmark.operations`."""
    return native.postmark_operations(job=msgspec.json.encode(job), count=count, thread=thread)


def new_run() -> int:
    """Return a number that no other run has.

    Examples
    --------
    >>> new_run() != new_run()
    True
    """
    return secrets.randbits(63)


def run_until_stopped(job: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out one job as `run_job`, but return the results so far if a signal ended it.

    A run that verifies gets its own number if the job gives none.
    """
    if job.get("verify") is not None:
        job = {**job, "verify": {"run": new_run(), **job["verify"]}}
    return _told(lambda: native.run(job=msgspec.json.encode(job)))


def check_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Compare a target with the promises in its log; see `flush_check`.

    Raises
    ------
    EnvironmentUnfitError
        The log is none, or the target cannot be read.
    """
    return _told(lambda: native.check(job=msgspec.json.encode(job)))


def serve_soft_device(
    at: Path, script: object, *, size_bytes: int, is_ready: Callable[[], object]
) -> None:
    """Serve a soft device in the folder `at` until a signal comes; see `soft_mount`.

    Raises
    ------
    EnvironmentUnfitError
        Nothing can be mounted there.
    """
    text = msgspec.json.encode(script)
    _told(
        lambda: native.soft_mount(at=str(at), script=text, size_bytes=size_bytes, is_ready=is_ready)
    )


def source_seed(*, seed: int, key: int) -> int:
    """Return the seed of a stream of requests: that of stream `key` of a simulation with `seed`."""
    return native.source_seed(seed=seed, key=key)


def trace_description(workload: Mapping[str, Any], *, target_bytes: int) -> dict[str, Any]:
    """Return the content of a workload's trace on a target of `target_bytes`.

    Raises
    ------
    EnvironmentUnfitError
        The trace cannot be read, or a line of it is malformed.
    """
    text = msgspec.json.encode(workload)
    return _told(lambda: native.trace_description(workload=text, target_bytes=target_bytes))


def first_requests(
    workload: Mapping[str, Any], *, seed: int, target_bytes: int, count: int
) -> dict[str, Any]:
    """Return the first `count` requests of a workload, as arrays by name.

    Raises
    ------
    EnvironmentUnfitError
        The workload cannot be.

    Examples
    --------
    >>> micro = {"kind": "micro", "block_bytes": 4096, "pattern": "sequential"}
    >>> first_requests(micro, seed=1, target_bytes=1 << 20, count=3)["offset"].tolist()
    [0, 4096, 8192]
    """
    text = msgspec.json.encode(workload)
    return _told(
        lambda: native.requests(workload=text, seed=seed, target_bytes=target_bytes, count=count)
    )


def _told(call: Callable[[], T]) -> T:
    try:
        return call()
    except (native.StorageError, native.WorkloadError) as error:
        message, cure = error.args
        raise EnvironmentUnfitError(message, cure=cure) from error


def nothing_job(*, interface: str, read_share: float, requests: int, depth: int) -> dict[str, Any]:
    """Return the job that does nothing at all: its cost is the tool itself.

    Examples
    --------
    >>> nothing_job(interface="io_uring", read_share=1.0, requests=9, depth=128)["target"]
    {'kind': 'nothing'}
    """
    return {
        "seed": 1,
        "target": {"kind": "nothing"},
        "interface": interface,
        "workload": {"kind": "micro", "depth": depth, "block_bytes": 4096,
                     "read_share": read_share},
        "stop": {"requests": requests},
    }  # fmt: skip
