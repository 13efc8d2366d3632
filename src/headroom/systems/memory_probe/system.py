"""The system `memory_probe`: one measurement of this machine's memory.

Invariant: a replication allocates new memory, so that its place in the caches and its pages are
another sample each time.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Matrix, Section, SectionPoint
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.memory import native
from headroom.memory.here import COUNTERS, allowed_cpus
from headroom.systems.memory_probe.check import counters_here

_LARGEST = 1 << 40


class ProbeSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of the probe."""

    rounds: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 15
    """Rounds of a replication that are timed one by one; their median counts."""
    round_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 0.002
    """Time (s) of a round, at least."""


_Cpu: TypeAlias = Annotated[int, parameter(low=-1, high=4095, source="assumed")]


class Probed(Declared, frozen=True, kw_only=True):
    """What is measured, and of which memory."""

    kind: Annotated[Literal["chase", "bandwidth", "hand_over"], parameter(source="declared")] = (
        "chase"
    )
    """Kind of measurement"""
    bytes: Annotated[int, parameter(unit="B", low=128, high=_LARGEST, source="declared")] = 1 << 20
    """Memory that is touched, by each thread"""
    stride_bytes: Annotated[int, parameter(unit="B", low=8, high=_LARGEST, source="declared")] = 64
    """Distance of the words of a chase, a multiple of 8"""
    pages: Annotated[Literal["small", "transparent", "huge"], parameter(source="declared")] = (
        "small"
    )
    """Pages: usual ones, ones that the system joins, ones set aside"""
    chains: Annotated[int, parameter(low=1, high=16, source="declared")] = 1
    """Chases at once in one thread"""
    lines: Annotated[int, parameter(low=1, high=16, source="declared")] = 1
    """Lines that are handed over at once"""
    operation: Annotated[
        Literal["read", "write", "copy", "stream"], parameter(source="declared")
    ] = "read"
    """Work of the threads; stream writes past the caches"""
    cpu: _Cpu = -1
    """Processor; -1: one that this process may use"""
    other_cpu: _Cpu = -1
    """Processor that answers; -1: one that this process may use"""
    threads: Annotated[int, parameter(low=1, high=4096, source="declared")] = 1
    """Threads that move bytes, one on each processor"""


@dataclass(frozen=True, slots=True)
class MemoryProbe(FromDeclaration):
    """Memory of this machine.

    Examples
    --------
    >>> probe = MemoryProbe(ProbeSetup(rounds=3))
    >>> config = {one.name: one.default for one in probe.parameters()}
    >>> probe.run(config, seed=1).values["load_s"] > 0.0
    True
    """

    name: ClassVar[str] = "memory_probe"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = ProbeSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Probed

    setup: ProbeSetup

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of a kind."""
        kind = config["kind"]
        if kind == "bandwidth":
            text = "Bytes per second of all threads"
            return (Metric(name="bytes_per_s", unit="B/s", better="high", description=text),)
        if kind == "hand_over":
            text = "Time to hand a line over to another processor, the time of all by their number"
            return (Metric(name="hand_over_s", unit="s", better="low", description=text),)
        return (
            Metric(
                name="load_s", unit="s", better="low", description="Time of a load of one chain"
            ),
            Metric(
                name="access_s", unit="s", better="low", description="Time of an access, all chains"
            ),
            Metric(name="huge_share", unit="1", description="Share of the memory in huge pages"),
            *(
                Metric(name=f"{name}_per_access", unit="1", better="low", description=text)
                for name, text in COUNTERS.items()
            ),
        )

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the parameters that the kind uses, and the compiled code that runs it."""
        used = {name: config[name] for name in _USED[str(config["kind"])]}
        setup = msgspec.to_builtins(self.setup)
        return f"memory_probe 1 {native.PROBE_CODE} {setup} {config['kind']} {used}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine: results of another one are not reused."""
        return f"{platform.node()} {platform.machine()} {os.cpu_count()}"

    def prepare(self) -> Mapping[str, float | str]:
        """Return which counters this machine has."""
        return {
            f"counter {name}": value if isinstance(value, str) else "present"
            for name, value in counters_here().items()
        }

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a point that this machine cannot run."""
        probed = Probed.of(config)
        if probed.stride_bytes % 8:
            raise StudyError(
                f"stride_bytes is {probed.stride_bytes}, but words have 8 bytes",
                cure="give a multiple of 8",
            )
        _cpus(probed)

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess | None:
        """Return a process on one processor for a chase; threads choose theirs themselves."""
        probed = Probed.of(config)
        if probed.kind != "chase":
            return None
        return OwnProcess(per="replication", cpus=tuple(_cpus(probed)))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication."""
        probed, rounds, round_s = Probed.of(config), self.setup.rounds, self.setup.round_s
        try:
            if probed.kind == "chase":
                found = native.chase(
                    bytes=probed.bytes, stride_bytes=probed.stride_bytes, pages=probed.pages,
                    chains=probed.chains, rounds=rounds, round_s=round_s, seed=seed % 2**64,
                )  # fmt: skip
                return _chased(found, probed)
            cpus = _cpus(probed)
            if probed.kind == "bandwidth":
                moved = native.bandwidth(
                    operation=probed.operation, bytes=probed.bytes, cpus=cpus,
                    rounds=rounds, round_s=round_s,
                )  # fmt: skip
                return Run(values={"bytes_per_s": float(np.median(moved["bytes_per_s"]))})
            taken_s = native.hand_over(
                cpus=(cpus[0], cpus[1]), lines=probed.lines, rounds=rounds, round_s=round_s
            )
            return Run(values={"hand_over_s": float(np.median(taken_s))})
        except OSError as error:
            raise EnvironmentUnfitError(str(error), cure=_CURES[probed.kind]) from error

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return the hand-over times from processor to processor, if pairs were measured."""
        measured = [point for point in points if "hand_over_s" in point.estimates]
        pairs = {
            (int(one.config["cpu"]), int(one.config["other_cpu"])): one.estimates["hand_over_s"]
            for one in measured
        }
        rows, columns = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
        if len(pairs) < _FEWEST_PAIRS:
            return []
        return [
            Matrix(
                title="From processor to processor",
                caption="Time to hand a line of memory over; small where both share a cache.",
                rows=[str(one) for one in rows], columns=[str(one) for one in columns],
                row_title="processor", column_title="other processor",
                values=[[pairs.get((row, column)) for column in columns] for row in rows],
                metric="hand_over_s", unit="s",
            )
        ]  # fmt: skip


_FEWEST_PAIRS = 2
_USED = {
    "chase": ("bytes", "stride_bytes", "pages", "chains", "cpu"),
    "bandwidth": ("bytes", "operation", "threads", "cpu"),
    "hand_over": ("cpu", "other_cpu", "lines"),
}
"""Parameters that a kind depends on."""
_CURES = {
    "chase": "take fewer bytes or other pages; /proc/sys/vm/nr_hugepages sets huge pages aside",
    "bandwidth": "take fewer bytes or fewer threads",
    "hand_over": "name two processors that this process may use",
}


def _chased(found: Mapping[str, Any], probed: Probed) -> Run:
    load_s = float(np.median(found["load_s"]))
    values = {
        "load_s": load_s,
        "access_s": load_s / probed.chains,
        "huge_share": min(found["huge_bytes"] / probed.bytes, 1.0),
    }
    for name in COUNTERS:
        if not isinstance(count := found["counters"][name], str):
            values[f"{name}_per_access"] = count / found["loads"]
    return Run(values=values, counters={"loads": float(found["loads"])})


def _cpus(probed: Probed) -> list[int]:
    """Return the processors of a point; raise `EnvironmentUnfitError` if there are too few."""
    wanted = {"chase": 1, "hand_over": 2}.get(probed.kind, probed.threads)
    cpus = (probed.cpu, probed.other_cpu) if probed.kind == "hand_over" else (probed.cpu,)
    named = [one for one in cpus if one >= 0]
    allowed = allowed_cpus()
    missing = [one for one in named if one not in allowed]
    chosen = [*named, *(one for one in allowed if one not in named)][:wanted]
    if missing or len(chosen) < wanted:
        what = f"processor {missing[0]}" if missing else f"{wanted} processors"
        raise EnvironmentUnfitError(
            f"this process may not use {what}: it has {', '.join(map(str, allowed))}",
            cure="name others, or widen its set (taskset, cpuset)",
        )
    return chosen
