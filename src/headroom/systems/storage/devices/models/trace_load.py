"""Traces as the load of modelled devices: the open file and its number of requests.

Invariant: a file is opened for reading only, once, and stays open as long as the process: models
name it by its descriptor, as jobs of the measuring engine do.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headroom.experiment.protocol.system import Value
from headroom.systems.storage.measure import first_requests, trace_description
from headroom.systems.storage.workloads.trace_files import format_of, trace_path
from headroom.systems.storage.workloads.workload_parameters import Trace


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """Facts about a trace known before it is replayed."""

    requests: int
    """Reads and writes that a replay gives."""
    read_share: float | None
    """Share of reads among them; None if a part of the trace is cut, so that it is unknown."""


def opened(config: Mapping[str, Value]) -> dict[str, Any]:
    """Return the missing entries of a trace's table: its open file and its format.

    Parameters
    ----------
    config
        Parameters of the load; a relative `trace_file` starts at the current folder.

    Raises
    ------
    EnvironmentUnfitError
        There is no such file.
    StudyError
        Its format is not recognised.
    """
    trace = Trace.of(config)
    path = trace_path(trace.trace_file, Path()).resolve()
    changed_ns = path.stat().st_mtime_ns
    return {
        "fd": _open(path, changed_ns),
        "format": format_of(path, trace.trace_format),
    }


@cache
def _open(path: Path, changed_ns: int) -> int:  # noqa: ARG001 - a changed file is another one
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def described(table: Mapping[str, Any], target_bytes: int) -> TraceFacts:
    """Return the content of a workload's trace on a device of `target_bytes`.

    Raises
    ------
    EnvironmentUnfitError
        The trace cannot be read, or a line of it is malformed.
    """
    description = trace_description(table, target_bytes=target_bytes)
    if not description["counters"]["trace_requests_left_out"]:
        still = description["requests"] - description["reads"] - description["writes"]
        return TraceFacts(
            description["counters"]["trace_requests"] - still, description["read_share"]
        )
    asked = first_requests(table, seed=0, target_bytes=target_bytes, count=description["requests"])
    return TraceFacts(int((asked["kind"] <= _WRITE).sum()), None)


_WRITE = 1
"""Number of a write; that of a read is 0, those of all that moves no data are larger."""
