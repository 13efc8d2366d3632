"""The compiled core: conversion only; use it through `headroom.simulation`."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BUILD_PROFILE",
    "LAUNCHER",
    "KernelError",
    "StorageError",
    "__version__",
    "draw",
    "draw_arrivals",
    "simulate",
    "storage_check",
    "storage_run",
]

BUILD_PROFILE: str
LAUNCHER: bytes
__version__: str

class KernelError(Exception):
    """A model that cannot be run, or a run that had to stop.

    Its arguments: message, cure, and the program and the index of the step, or None.
    """

def simulate(
    *,
    model: bytes,
    seed: int,
    completions: int | None = None,
    time: float | None = None,
    sample_every: float | None = None,
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

def storage_check(*, job: bytes) -> dict[str, Any]:
    """Compare a target with what it had promised before a crash."""
