"""The machine as the modelled column sees it: caches and TLBs of a short probe.

The fit method `memory.machine` finds them. Costs of work stay those of the machine file, so the
model explains which part of the memory a mix waits for, and is not asked for the time itself.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headroom.experiment.protocol.fit_method import Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Value
from headroom.memory import native as memory
from headroom.systems.records.fit import machine_of_probe
from headroom.systems.records.model import ModelSetup, RecordsModel

_SMALLEST = 8 << 10
_LARGEST = 128 << 20
_QUICK_LARGEST = 64 << 20
_PAGE_STRIDE = 4096 + 64
"""Bytes (B) from line to line in chases over pages: another set of the cache each time."""
_FEWEST_PAGES, _MOST_PAGES = 16, 1 << 13
_CHAINS = (4, 16)
_ENOUGH = 4.0
"""A table this many times the size of the last cache is larger than the caches."""


@dataclass(slots=True)
class _Probed:
    """The machine that this process has probed."""

    config: dict[str, Value] | None = None


_PROBED = _Probed()


def probed_machine(*, is_quick: bool, say: Callable[[str, float], None]) -> dict[str, Value]:
    """Return the parameters of the model for this machine; a process probes once.

    Raises
    ------
    HeadroomError
        The probe shows no caches: the machine is too busy, or has none.
    """
    if _PROBED.config is None:
        _PROBED.config = _fitted(is_quick=is_quick, say=say)
    return _PROBED.config


def _fitted(*, is_quick: bool, say: Callable[[str, float], None]) -> dict[str, Value]:
    model = RecordsModel.load(ModelSetup(machine="fitted"), base=Path())
    config: dict[str, Value] = {
        one.name: one.default for one in model.parameters() if one.default is not None
    }
    points = list(_probe(is_quick=is_quick, say=say))
    target = Target(system=model, config=config)
    fitted = {one.name: one.value for one in machine_of_probe(points, target)}
    return {**config, **fitted}


def last_cache_bytes(config: Mapping[str, Value]) -> float:
    """Return the size (B) of the last cache that the probe found, 0.0 if it found none."""
    return max(float(config[f"cache{number}_bytes"]) for number in (1, 2, 3))


def sweep_bytes(config: Mapping[str, Value]) -> float:
    """Return the size (B) from which a table counts as larger than the caches: 32 to 128 MiB."""
    return min(max(_ENOUGH * last_cache_bytes(config), float(32 << 20)), float(128 << 20))


def _probe(*, is_quick: bool, say: Callable[[str, float], None]) -> Iterator[SourcePoint]:
    # A quick probe takes one size for each doubling.
    steps = (2,) if is_quick else (2, 3)
    largest = _QUICK_LARGEST if is_quick else _LARGEST
    sizes = _doublings(_SMALLEST // 2, steps, largest)
    counts = _doublings(_FEWEST_PAGES // 2, steps, _MOST_PAGES)
    for size in sizes:
        say("the caches", 0.0)
        yield _chase(size, 64, 1)
    for count in counts:
        say("the TLBs", 0.0)
        yield _chase(count * _PAGE_STRIDE, _PAGE_STRIDE, 1)
    for chains in _CHAINS:
        yield _chase(sizes[-1], 64, chains)


def _doublings(first: int, steps: Sequence[int], most: int) -> list[int]:
    """Return `first` times each step, and the doublings of these, up to `most`.

    Examples
    --------
    >>> _doublings(4, (2, 3), 32)
    [8, 12, 16, 24, 32]
    """
    found = (step * (first << octave) for octave in range(40) for step in steps)
    return sorted(size for size in found if size <= most)


def _chase(size: int, stride: int, chains: int) -> SourcePoint:
    seed = int.from_bytes(os.urandom(8))
    raw = memory.chase(
        bytes=size, stride_bytes=stride, pages="small", chains=chains, rounds=5, round_s=0.001,
        seed=seed,
    )  # fmt: skip
    load_s = float(np.min(raw["load_s"]))
    config: dict[str, Any] = {
        "bytes": size, "stride_bytes": stride, "pages": "small", "chains": chains, "kind": "chase",
    }  # fmt: skip
    observed = {"load_s": Observed(value=load_s), "access_s": Observed(value=load_s / chains)}
    return SourcePoint(
        experiment="probe", column=Column.MEASURE, levels={}, config=config, observed=observed
    )
