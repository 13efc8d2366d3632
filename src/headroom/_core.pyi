"""The compiled core: conversion only; use it through `headroom.simulation`."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BUILD_PROFILE",
    "MECHANISM_KINDS",
    "KernelError",
    "__version__",
    "draw",
    "draw_arrivals",
    "layers",
    "mechanism_functions",
    "simulate",
]

BUILD_PROFILE: str
MECHANISM_KINDS: tuple[str, ...]
layers: dict[str, ModuleType]
"""What each layer brings; `native.pyi` in the folder of a layer has its types."""
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
    waits: Sequence[tuple[bool, str, str | None]] = ...,
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

def mechanism_functions(
    *, kind: str, parameters: bytes
) -> list[tuple[str, list[str], bool]] | None:
    """Return the functions of a mechanism, each with its arguments and whether it returns a time.

    None where the kind is not known. Raises ValueError for wrong parameters.
    """
