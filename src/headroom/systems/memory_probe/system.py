"""The system `memory_probe`: one measurement of this machine's memory.

Invariant: a replication allocates new memory, so that its place in the caches and its pages are
another sample each time.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Matrix, Section, SectionPoint
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.memory import native
from headroom.memory.here import COUNTERS, allowed_cpus
from headroom.systems.memory_probe.check import counters_here

_DECLARED = "declared"
_ASSUMED = "assumed"
_LARGEST = 1 << 40


class ProbeSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of the probe."""

    rounds: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 15
    """Rounds of a replication that are timed one by one; their median counts."""
    round_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 0.002
    """Time (s) of a round, at least."""


def _parameters() -> Iterator[Parameter]:
    yield Parameter(
        name="kind", type="str", unit="", default="chase", source=_DECLARED,
        choices=("chase", "bandwidth", "hand_over"), description="Kind of measurement",
    )  # fmt: skip
    yield Parameter(
        name="bytes", type="int", unit="B", default=1 << 20, low=128, high=_LARGEST,
        source=_DECLARED, description="Memory that is touched, by each thread",
    )  # fmt: skip
    yield Parameter(
        name="stride_bytes", type="int", unit="B", default=64, low=8, high=_LARGEST,
        source=_DECLARED, description="Distance of the words of a chase, a multiple of 8",
    )  # fmt: skip
    yield Parameter(
        name="pages", type="str", unit="", default="small", source=_DECLARED,
        choices=("small", "transparent", "huge"),
        description="Pages: usual ones, ones that the system joins, ones set aside",
    )  # fmt: skip
    yield Parameter(
        name="chains", type="int", unit="1", default=1, low=1, high=16, source=_DECLARED,
        description="Chases at once in one thread",
    )  # fmt: skip
    yield Parameter(
        name="lines", type="int", unit="1", default=1, low=1, high=16, source=_DECLARED,
        description="Lines that are handed over at once",
    )  # fmt: skip
    yield Parameter(
        name="operation", type="str", unit="", default="read", source=_DECLARED,
        choices=("read", "write", "copy", "stream"),
        description="Work of the threads; stream writes past the caches",
    )  # fmt: skip
    for name, text in (("cpu", "Processor"), ("other_cpu", "Processor that answers")):
        yield Parameter(
            name=name, type="int", unit="1", default=-1, low=-1, high=4095, source=_ASSUMED,
            description=f"{text}; -1: one that this process may use",
        )  # fmt: skip
    yield Parameter(
        name="threads", type="int", unit="1", default=1, low=1, high=4096, source=_DECLARED,
        description="Threads that move bytes, one on each processor",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryProbe:
    """Memory of this machine.

    Examples
    --------
    >>> probe = MemoryProbe.load(ProbeSetup(rounds=3), base=Path())
    >>> config = {one.name: one.default for one in probe.parameters()}
    >>> probe.run(config, seed=1).values["load_s"] > 0.0
    True
    """

    name: ClassVar[str] = "memory_probe"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = ProbeSetup

    setup: ProbeSetup

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system for a validated `setup`."""
        return cls(msgspec.convert(msgspec.to_builtins(setup), ProbeSetup))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the kind, and what the kinds depend on."""
        return tuple(_parameters())

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
        if int(config["stride_bytes"]) % 8:
            raise StudyError(
                f"stride_bytes is {config['stride_bytes']}, but words have 8 bytes",
                cure="give a multiple of 8",
            )
        _cpus(config)

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess | None:
        """Return a process on one processor for a chase; threads choose theirs themselves."""
        if config["kind"] != "chase":
            return None
        return OwnProcess(per="replication", cpus=tuple(_cpus(config)))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication."""
        rounds, round_s = self.setup.rounds, self.setup.round_s
        kind, size = config["kind"], int(config["bytes"])
        try:
            if kind == "chase":
                found = native.chase(
                    bytes=size, stride_bytes=int(config["stride_bytes"]),
                    pages=str(config["pages"]), chains=int(config["chains"]),
                    rounds=rounds, round_s=round_s, seed=seed % 2**64,
                )  # fmt: skip
                return _chased(found, size, int(config["chains"]))
            if kind == "bandwidth":
                moved = native.bandwidth(
                    operation=str(config["operation"]), bytes=size, cpus=_cpus(config),
                    rounds=rounds, round_s=round_s,
                )  # fmt: skip
                return Run(values={"bytes_per_s": float(np.median(moved["bytes_per_s"]))})
            cpus = _cpus(config)
            taken_s = native.hand_over(
                cpus=(cpus[0], cpus[1]), lines=int(config["lines"]), rounds=rounds, round_s=round_s
            )
            return Run(values={"hand_over_s": float(np.median(taken_s))})
        except OSError as error:
            raise EnvironmentUnfitError(str(error), cure=_CURES[str(kind)]) from error

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


def _chased(found: Mapping[str, Any], size: int, chains: int) -> Run:
    load_s = float(np.median(found["load_s"]))
    values = {
        "load_s": load_s,
        "access_s": load_s / chains,
        "huge_share": min(found["huge_bytes"] / size, 1.0),
    }
    for name in COUNTERS:
        if not isinstance(count := found["counters"][name], str):
            values[f"{name}_per_access"] = count / found["loads"]
    return Run(values=values, counters={"loads": float(found["loads"])})


def _cpus(config: Mapping[str, Value]) -> list[int]:
    """Return the processors of a point; raise `EnvironmentUnfitError` if there are too few."""
    wanted = {"chase": 1, "hand_over": 2}.get(str(config["kind"]), int(config["threads"]))
    named = [int(config["cpu"])]
    named += [int(config["other_cpu"])] if config["kind"] == "hand_over" else []
    named = [one for one in named if one >= 0]
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
