"""The system `shared_machine`: a program with shared memory on a simulated machine.

A run executes the program, thread by thread between barriers, and sends each access that the
processors' caches do not answer through the machine: network cache, coherence protocol, stations.

Invariant: the times of a processor are those of its accesses, and add up to the time of the run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.program_parameters import (
    program_json,
    program_parameters,
    used,
)
from headroom.systems.shared_memory.simulated.machine_file import (
    machine_path,
    read_machine,
    setup_json,
)
from headroom.systems.shared_memory.simulated.sections import machine_sections
from headroom.systems.shared_memory.simulated.tables import tables

PLACEMENTS = ("equal_cut", "interleave", "owner", "first_touch", "most")
STATIONS = ("io_bus", "controller", "bus", "link")
"""Stations of a node, in the order of the compiled part."""


class SharedMachineSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of a simulated machine."""

    machine: Annotated[str, msgspec.Meta(min_length=1)] = "ncc"
    """Machine file: `ncc`, `numa`, ..., or the path of another, relative to the study."""


MovesPrivate: TypeAlias = Annotated[
    Literal["nothing", "pages", "parts"], parameter(source="declared")
]


class Placed(Declared, frozen=True, kw_only=True):
    """Where a program and its memory are."""

    nodes: Annotated[int, parameter(low=1, high=native.MOST_NODES, source="declared")] = 2
    """Nodes; on one, all memory is private"""
    placement: Annotated[str, parameter(choices=PLACEMENTS, source="declared")] = "equal_cut"
    """Homes of pages: each allocation in equal parts, pages in turn, the choice of the program, the
    first user, or the node that uses the page most"""
    moves_private: MovesPrivate = "nothing"
    """Shared memory of one node alone that becomes private: nothing, pages, or parts of 64 bytes,
    as if the program had been changed"""
    work: Annotated[float, parameter(low=0.001, high=1000.0, source="declared")] = 1.0
    """Computing of the program that is modelled, for one of this one: other compilers, steps, or a
    start-up that was timed too"""


METRICS = (
    Metric(name="run_s", unit="s", better="low", description="Time of a run, after its start-up"),
    Metric(
        name="remote_share", unit="1", better="none",
        description="Share of all processors' time in accesses that left their node",
    ),
    Metric(
        name="remote_per_local", unit="1", better="low",
        description="Accesses of shared memory of other homes, for one of the own home",
    ),
    Metric(
        name="missed_per_local", unit="1", better="low",
        description="The same of accesses that the processors' caches do not answer",
    ),
    Metric(name="compute_s", unit="s", better="low", description="Mean time in instructions"),
    Metric(name="private_s", unit="s", better="low", description="Mean time in private memory"),
    Metric(name="local_s", unit="s", better="low", description="Mean time in own shared memory"),
    Metric(name="hit_s", unit="s", better="low", description="Mean time in the network cache"),
    Metric(name="remote_s", unit="s", better="low", description="Mean time in other nodes"),
    Metric(name="waiting_s", unit="s", better="low", description="Mean time at barriers and locks"),
    Metric(
        name="l1d_misses", unit="1", better="low",
        description="Accesses that the first level of the processors' caches does not answer",
    ),
    Metric(name="misses", unit="1", better="low", description="Accesses that left their node"),
    Metric(name="evictions", unit="1", better="low", description="Lines given up for others"),
    Metric(name="messages", unit="1", better="low", description="Messages between nodes"),
    Metric(
        name="retries", unit="1", better="low",
        description="Messages that a full incoming queue refused, and that were sent again",
    ),
    Metric(name="accesses", unit="1", better="none", description="Accesses of the program"),
    Metric(name="program_bytes", unit="B", better="none", description="Its shared pages"),
    Metric(
        name="most_shared_bytes", unit="B", better="high",
        description="Shared memory that a node could have in the address space",
    ),
    *(
        Metric(
            name=f"{station}_utilization", unit="1", better="low",
            description=f"Utilization of the busiest {station.replace('_', ' ')}",
        )
        for station in STATIONS
    ),
)  # fmt: skip
"""Metrics of a run."""


@dataclass(frozen=True, slots=True)
class SharedMachine(FromDeclaration):
    """A program on a simulated machine.

    Examples
    --------
    >>> system = SharedMachine.load(SharedMachineSetup(machine="numa"), base=Path())
    >>> config = {one.name: one.default for one in system.parameters()}
    >>> config |= {"program": "reads", "reads_of": "remote", "reads_words": 100}
    >>> run = system.run(config, seed=1)
    >>> 4.0e-6 < run.values["remote_s"] * 2 / 100 < 4.1e-6
    True
    """

    name: ClassVar[str] = "shared_machine"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = SharedMachineSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Placed

    path: Path
    machine: tuple[Parameter, ...] = field(compare=False, repr=False)

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; paths start at `base`."""
        path = machine_path(msgspec.to_builtins(setup)["machine"], base)
        return cls(path, read_machine(path))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the program, its placement, and every number of the machine."""
        return (*program_parameters(), *declared_by(Placed), *self.machine)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the simulator and the parameters that the point uses."""
        return f"shared_machine {native.MACHINE_CODE} {sorted(used(config).items())}"

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Return what the time is spent on, and details if there is one program."""
        return machine_sections(points)

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse nodes for whose shared memory there are no addresses."""
        check_addresses(config)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Simulate the program once; the seed makes its data."""
        try:
            found = native.simulate_program(
                setup_json(config), program_json(config), seed=seed % 2**64
            )
        except ValueError as error:
            raise StudyError(str(error), cure="change the program or the machine") from error
        check_home(config, found)
        return Run(values=values(config, found), artefacts=tables(found))


def most_shared_bytes(config: Mapping[str, Value]) -> float:
    """Return the shared memory (B) of each node that fits in the address space.

    Examples
    --------
    >>> most_shared_bytes({"address_bits": 32, "main_bytes": 512 << 20, "nodes": 8}) / 2**20
    448.0
    """
    space = 2.0 ** int(config["address_bits"]) - float(config["main_bytes"])
    return space / int(config["nodes"])


def check_addresses(config: Mapping[str, Value]) -> None:
    """Refuse nodes for whose shared memory there are no addresses."""
    nodes, own = int(config["nodes"]), int(config["shared_bytes"])
    most = most_shared_bytes(config)
    if own > most:
        raise StudyError(
            f"{nodes} nodes with {own} B of shared memory do not fit in "
            f"{config['address_bits']}-bit addresses with {config['main_bytes']} B of main "
            f"memory: at most {max(int(most), 0)} B each",
            cure="use fewer nodes, less shared memory, or more address_bits",
        )


def check_home(config: Mapping[str, Value], found: Mapping[str, Any]) -> None:
    """Refuse a program for whose memory a node has no room."""
    needed, there = max(found["home_bytes"]), int(config["shared_bytes"])
    if needed > there:
        raise StudyError(
            f"the program needs {needed} B of shared memory of a node, which has {there} B",
            cure="use a smaller program, another placement, or more shared_bytes",
        )


def values(config: Mapping[str, Value], found: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a run as the compiled part reports it."""
    spent = dict(zip(native.TIME_KINDS, zip(*found["spent_s"], strict=True), strict=True))
    counts = dict(zip(native.TIME_KINDS, zip(*found["counts"], strict=True), strict=True))
    processors = len(found["spent_s"])
    everything = sum(map(sum, spent.values()))
    others, own = found["shared"]
    return {
        "run_s": found["run_s"],
        "remote_share": sum(spent["remote"]) / (everything or math.inf),
        "remote_per_local": others / (own or math.inf),
        "missed_per_local": found["to_others"] / (found["own_shared"] or math.inf),
        **{f"{kind}_s": sum(times) / processors for kind, times in spent.items()},
        "l1d_misses": float(found["first_level_misses"]),
        "misses": float(sum(counts["remote"])),
        "evictions": float(found["evictions"]),
        "messages": float(found["messages"]),
        "retries": float(found["retries"]),
        "accesses": float(found["accesses"]),
        "program_bytes": float(found["page_bytes"][0]),
        "most_shared_bytes": most_shared_bytes(config),
        **{
            f"{station}_utilization": value
            for station, value in zip(STATIONS, found["utilizations"], strict=True)
        },
    }
