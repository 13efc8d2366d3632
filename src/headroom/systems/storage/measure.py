"""The measuring engine from the side of Python: the one place that calls it.

Invariant: a job that cannot be run becomes an error with a cure; a signal that came while the
engine ran is raised here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from headroom import _core
from headroom.errors import EnvironmentUnfitError


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out one job and return what the engine found; see `conversion`.

    Raises
    ------
    EnvironmentUnfitError
        The job cannot be run; a target that fails on the way is no error here.
    KeyboardInterrupt
        The user or the system asked to stop.
    """
    try:
        found = _core.storage_run(job=msgspec.json.encode(job))
    except _core.StorageError as error:
        message, cure = error.args
        raise EnvironmentUnfitError(message, cure=cure) from error
    if found["interrupt"] is not None:
        raise found["interrupt"]
    return found


def run_postmark(
    job: Mapping[str, Any], *, progress: Callable[[float], object] | None = None
) -> dict[str, Any]:
    """Run PostMark and return what the engine found; see `postmark.carry_out`."""
    return _core.storage_postmark(job=msgspec.json.encode(job), progress=progress)


def postmark_operations(
    job: Mapping[str, Any], *, count: int, thread: int
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the first operations of a thread of PostMark; see `postmark.operations`."""
    return _core.storage_postmark_operations(
        job=msgspec.json.encode(job), count=count, thread=thread
    )


def nothing_job(*, interface: str, read_share: float, requests: int, depth: int) -> dict[str, Any]:
    """Return the job that asks nothing of nobody: what it costs is the tool itself.

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
