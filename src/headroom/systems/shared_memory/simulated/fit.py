"""The fit method `shared_memory.host`: this machine, from a probe of its memory and one thread.

A curve of dependent loads shows how large the two nearest caches are, several chases at once show
what an access beyond them costs, and a line that two processors write in turn shows the way between
them. With those, the time of a program with one thread is linear in `work`, which takes the rest.

Invariant: no run of two threads is looked at, so a prediction of two is one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
    find_method,
    options_as,
)
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.program_parameters import program_json, program_parameters
from headroom.systems.shared_memory.simulated.machine_file import TIMES, setup_json
from headroom.systems.shared_memory.simulated.system import SharedMachine

_PROBE = "memory.machine"
_SEED = 1
"""Data of the simulated program: a fit is a function of its points."""
_UNIT_S = 1e-9
"""Time of an access where accesses are counted by their time."""
_BARRIER_HAND_OVERS = 2.0
"""The last thread takes the line of the barrier, and the others fetch it after the release."""
_BEHIND = 0.25
"""Octaves that noise may add to the size of a cache."""
_READS = 1000
"""Remote reads that show the time of one."""


class HostOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `shared_memory.host`."""

    chains: Annotated[int, msgspec.Meta(ge=1, le=16)] = 8
    """Chases at once, and lines handed over at once, whose time stands for an access of a program,
    which does not wait for each."""


class HostFit:
    """Caches, memory and the way between processors of a probe; work of one thread."""

    name: ClassVar[str] = "shared_memory.host"
    options_type: ClassVar[type[msgspec.Struct]] = HostOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return all parameters that are fitted."""
        return ("l1_bytes", "l2_bytes", "near_s", *_MEMORY, *_WAY, *_MEETING, "work")

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the machine, and the work of the program of the points.

        Raises
        ------
        FitError
            A measurement is missing, or memory alone takes longer than the program.
        """
        wanted = options_as(HostOptions, options)
        run = _single(points, target)
        chases = [point for point in points if point.config.get("kind") == "chase"]
        caches = _caches(chases, target)
        config = {**target.config, **_sizes(run), **caches, "nodes": 1}
        beyond = _beyond(chases, config, wanted.chains)
        way = _way(points, {**config, **beyond}, wanted.chains)
        work = _work(run, config, beyond)
        found = {**caches, **beyond, **way, "work": work}
        parameters = tuple(_parameter(name, value, target) for name, value in found.items())
        if target.is_replicate:
            return Found(parameters=parameters)
        return Found(
            parameters=parameters,
            residuals=(_residual(run, {**config, **found}),),
            notes=(_NOTE,),
        )


_MEMORY = ("private_s", "local_read_s", "hit_read_s")
"""Accesses that the processor's own caches do not answer, wherever the line is on this machine.

Writes to shared memory leave by the store buffer, and most of them announce a line that is there.
"""
_WAY = ("request_s", "reply_s", "controller_s", "memory_s", "hop_s")
"""What a read of another processor's line consists of, besides the time on links."""
_MEETING = ("barrier_s", "lock_s")
_NOTE = (
    "An access beyond a cache costs what one of several chases at once does, a line of another "
    "processor half a hand-over of several at once, and a barrier two hand-overs of one line."
)


def _single(points: Sequence[SourcePoint], target: Target) -> SourcePoint:
    """Return the run with one thread."""
    runs = [
        point for point in points if point.config.get("threads") == 1 and "program" in point.config
    ]
    if len(runs) != 1 or not isinstance(target.system, SharedMachine):
        raise FitError(
            f"{len(runs)} runs of a program with one thread, but one is needed",
            cure="fit the system shared_machine, name an experiment of shared_threads in `from`, "
            'and write where = { threads = 1 } and by = ["program"]',
        )
    return runs[0]


def _sizes(run: SourcePoint) -> dict[str, Value]:
    """Return the program of a run and its sizes, which both columns know by the same names."""
    return {one.name: run.config[one.name] for one in program_parameters()}


def _caches(chases: Sequence[SourcePoint], target: Target) -> dict[str, Value]:
    """Return the sizes (B) of the two nearest caches."""
    if target.is_replicate:
        # The program then counts the same, and need not be simulated again.
        return {name: target.config[name] for name in ("l1_bytes", "l2_bytes")}
    method = find_method(_PROBE)
    options = method.options_type()
    config = {**dict.fromkeys(method.parameter_names(options), 0.0), **target.config}
    found = method.fit(chases, replace(target, config=config), options)
    steps = {one.name: float(one.value) for one in found.parameters}
    first, second = steps["cache1_bytes"], steps["cache2_bytes"]
    if not 0.0 < first < second:
        raise FitError(
            "the probe shows fewer than two caches",
            cure="probe more sizes, from 8 KiB to four times the last cache",
        )
    return {"l1_bytes": _power(first), "l2_bytes": _power(second)}


def _power(size: float) -> int:
    """Return the size (B) of a cache that the probe found to end at `size`: a power of two.

    Pages that collide and other data let a cache end before its size, and never far behind.

    >>> _power(22_000), _power(34_000)
    (32768, 32768)
    """
    return 1 << math.ceil(math.log2(size) - _BEHIND)


def _beyond(
    chases: Sequence[SourcePoint], config: Mapping[str, Value], chains: int
) -> dict[str, float]:
    """Return what accesses beyond the first cache, and beyond the second, cost (s)."""
    curve = {
        float(point.config["bytes"]): point.observed["access_s"].value
        for point in chases
        if point.config["chains"] == chains and "access_s" in point.observed
    }
    if len(curve) < 2:  # noqa: PLR2004 - a curve
        raise FitError(
            f"{len(curve)} sizes were probed with {chains} chases at once",
            cure=f"add chains = [1, {chains}] to the factors of the probe",
        )
    first, second = float(config["l1_bytes"]), float(config["l2_bytes"])
    memory = float(native.program_memory(program_json(config), threads=1))
    far_s = _at(curve, max(memory, 2.0 * second))
    return {"near_s": _at(curve, math.sqrt(first * second)), **dict.fromkeys(_MEMORY, far_s)}


def _at(curve: Mapping[float, float], size: float) -> float:
    """Return the time at a size, between its neighbours by the logarithm."""
    sizes = sorted(curve)
    times = [curve[one] for one in sizes]
    return float(np.interp(math.log(size), np.log(sizes), times))


def _hand_over_s(points: Sequence[SourcePoint], lines: int) -> float:
    """Return the time (s) of a hand-over of one of several lines at once."""
    found = [
        one.observed["hand_over_s"].value
        for one in points
        if "hand_over_s" in one.observed and one.config.get("lines", 1) == lines
    ]
    if not found:
        raise FitError(
            f"no hand-over between processors with lines = {lines} was measured",
            cure='name an experiment of memory_probe with kind = "hand_over" and '
            f"lines = [1, {lines}] in `from`",
        )
    return float(np.median(found))


def _way(
    points: Sequence[SourcePoint], config: Mapping[str, Value], chains: int
) -> dict[str, float]:
    """Return what makes a remote read, a barrier and a lock as long as hand-overs say.

    A program does not wait for each of its remote reads, but for a lock and at a barrier. All parts
    of the way keep the proportions of the machine file.
    """
    hand_over_s = _hand_over_s(points, 1)
    many_s = _hand_over_s(points, chains)
    transfer_s = many_s / 2.0
    links_s = _remote_read_s({**config, **dict.fromkeys(_WAY, 0.0)})
    if transfer_s <= links_s:
        raise FitError(
            f"links alone take {links_s:.3g} s of a read, and a hand-over of two transfers "
            f"{many_s:.3g} s",
            cure="raise link_bytes_per_s and bus_bytes_per_s of the machine",
        )
    factor = (transfer_s - links_s) / (_remote_read_s(config) - links_s)
    return {
        **{name: factor * float(config[name]) for name in _WAY},
        "barrier_s": _BARRIER_HAND_OVERS * hand_over_s,
        "lock_s": hand_over_s / 2.0,
    }


def _remote_read_s(config: Mapping[str, Value]) -> float:
    """Return the time of a read of another node's memory, with nothing else going on."""
    asked = {**config, "program": "reads", "reads_of": "remote", "reads_words": _READS}
    asked |= {"reads_stride": 256, "nodes": 2, "placement": "owner"}
    found = native.simulate_program(setup_json(asked), program_json(asked), seed=_SEED)
    kind = native.TIME_KINDS.index("remote")
    return float(found["spent_s"][0][kind]) / float(found["counts"][0][kind])


@dataclass(frozen=True, slots=True)
class Counts:
    """What a program with one thread does, by what it costs."""

    instructions: float
    near: float
    private: float


def _work(run: SourcePoint, config: Mapping[str, Value], beyond: Mapping[str, float]) -> float:
    """Return the computing of a run for that of the simulated program."""
    counts = _counts(config)
    memory_s = counts.near * beyond["near_s"] + counts.private * beyond["private_s"]
    run_s = run.observed["run_s"].value
    computing_s = counts.instructions * float(config["instruction_s"])
    if memory_s >= run_s:
        raise FitError(
            f"memory alone takes {memory_s:.3g} s of the {run_s:.3g} s of {config['program']}",
            cure="probe and run on the same, quiet machine, or take more chains",
        )
    return (run_s - memory_s) / computing_s


def _counts(config: Mapping[str, Value]) -> Counts:
    times = dict.fromkeys((name for name in TIMES if not name.endswith("_per_s")), 0.0)
    return _counted(msgspec.json.encode({**config, **times, "near_s": _UNIT_S, "work": 1.0}))


@lru_cache(maxsize=64)
def _counted(encoded: bytes) -> Counts:
    """Return the counts of a program, where only accesses of the second cache take time."""
    config = msgspec.json.decode(encoded)
    found = native.simulate_program(setup_json(config), program_json(config), seed=_SEED)
    counts = dict(zip(native.TIME_KINDS, found["counts"][0], strict=True))
    return Counts(
        instructions=float(counts["compute"]),
        near=float(found["run_s"]) / _UNIT_S,
        private=float(counts["private"]),
    )


def _parameter(name: str, value: Value, target: Target) -> FittedParameter:
    return FittedParameter(name=name, value=value, unit=target.parameters[name].unit)


def _residual(run: SourcePoint, config: Mapping[str, Value]) -> Residual:
    """Return the run of one thread, and its time on the fitted machine."""
    known = run.observed["run_s"]
    found = native.simulate_program(setup_json(config), program_json(config), seed=_SEED)
    return Residual(
        experiment=run.experiment, levels=dict(run.levels), metric="run_s", unit="s",
        observed=known.value, low=known.low, high=known.high, fitted=float(found["run_s"]),
    )  # fmt: skip
