"""The system `records_model`: the accesses of the same table on a machine of caches and TLBs.

The time of a run is a sum: work of the processor, each kind at its cost; misses of caches and
TLBs, each at the time that it takes longer, divided by how many of them overlap; lines of memory
that follow each other, divided by how many are fetched at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.systems.records import native
from headroom.systems.records.machine_file import (
    CACHES,
    TLBS,
    WORK,
    machine_path,
    machine_spec,
    read_machine,
)
from headroom.systems.records.parameters import (
    SCANS,
    cell_json,
    query_parameters,
    table_parameters,
    table_spec,
    used,
    version,
)

WORK_COUNTS = ("runs", "records", "record_nodes", "index_nodes", "comparisons", "copied_bytes")
"""Counts of work, in the order of the costs in `machine_file.WORK`."""


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of modelled records."""

    machine: str = "ultrasparc"
    """Name of one of Headroom's machines, or the path of a machine file."""
    warm_runs: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 1
    """Runs before, which fill the caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Time (s) of a run by its cause."""

    work: float
    copies: float
    caches: float
    memory: float
    tlbs: float

    @property
    def total(self) -> float:
        """Time (s) of the run."""
        return self.work + self.copies + self.caches + self.memory + self.tlbs


@dataclass(frozen=True, slots=True)
class RecordsModel:
    """A table on a machine.

    Examples
    --------
    >>> model = RecordsModel.load(ModelSetup(), base=Path())
    >>> config = {one.name: one.default for one in model.parameters()} | {"records": 500}
    >>> run = model.run(config, seed=1)
    >>> run.values["dtlb_misses_per_record"] < 0.1  # 500 records of 64 B fit into 48 pages
    True
    """

    name: ClassVar[str] = "records_model"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = ModelSetup

    setup: ModelSetup
    machine: tuple[Parameter, ...]

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; a path of a machine starts at `base`."""
        own = msgspec.convert(msgspec.to_builtins(setup), ModelSetup)
        here = base / own.machine
        path = here if here.is_file() else machine_path(own.machine)
        return cls(own, read_machine(path))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the table, the query and the machine."""
        return (*table_parameters(), *query_parameters(has_upkeep=False), *self.machine)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the metrics: times as they are measured, counts, and causes of the time."""
        per_record = {
            "dtlb_misses": "Misses of the TLBs of data",
            "memory_lines": "Lines of memory",
            "comparisons": "Compared keys",
        }
        causes = {
            "work": "work of the processor", "copies": "copies", "caches": "misses of near caches",
            "memory": "accesses of memory", "tlbs": "misses of TLBs",
        }  # fmt: skip
        return (
            Metric(name="run_s", unit="s", better="low", description="Time of a run"),
            Metric(name="record_s", unit="s", better="low", description="Time of a record"),
            *(
                Metric(name=f"{name}_per_record", unit="1", better="low", description=text)
                for name, text in per_record.items()
            ),
            *(
                Metric(name=f"{name}_share", unit="1", description=f"Share of the time: {text}")
                for name, text in causes.items()
            ),
        )

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the parameters that the point uses."""
        rest = sorted(used(config).items())
        return f"records_model {version(config)} {self.setup.warm_runs} {rest}"

    def prepare(self) -> Mapping[str, float | str]:
        """Return nothing: a simulation depends on no machine."""
        return {}

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a table or a machine that cannot be."""
        if config["placement"] == "malloc":
            raise StudyError(
                "the system's allocator places nodes differently on each machine",
                cure="give another placement: size_classes is like an allocator",
            )
        try:
            native.footprint(msgspec.json.encode(table_spec(config, 0)))
        except ValueError as error:
            raise StudyError(str(error), cure="change the sizes, or leave the point out") from error

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication: another seed gives nodes other places."""
        found = self.counts(config, seed)
        parts = time_of(config, found)
        visits = float(found["visits"])
        values = {
            "run_s": parts.total,
            "record_s": parts.total / visits,
            "dtlb_misses_per_record": tlb_misses(found) / visits,
            "memory_lines_per_record": (found["lone"] + found["streamed"]) / visits,
            "comparisons_per_record": found["comparisons"] / visits,
        }
        for name in ("work", "copies", "caches", "memory", "tlbs"):
            values[f"{name}_share"] = getattr(parts, name) / parts.total
        return Run(values=values, counters={"records": visits})

    def counts(self, config: Mapping[str, Value], seed: int) -> Mapping[str, Any]:
        """Return the counts of a run on the machine: independent of the times in `config`."""
        table = msgspec.json.encode(table_spec(config, seed))
        machine = msgspec.json.encode(machine_spec(config))
        warm_runs = self.setup.warm_runs if config["caches"] == "warm" else 0
        try:
            return _simulated(table, cell_json(config), machine, warm_runs, seed % 2**64)
        except ValueError as error:
            raise StudyError(str(error), cure="change the sizes of table or machine") from error


@lru_cache(maxsize=512)
def _simulated(
    table: bytes, cell: bytes, machine: bytes, warm_runs: int, seed: int
) -> Mapping[str, Any]:
    made = native.Table(table)
    found: Mapping[str, Any] = made.simulate(
        cell=cell, machine=machine, warm_up=warm_runs, seed=seed
    )
    return {**found, "runs": 1}


def tlb_misses(found: Mapping[str, Any]) -> float:
    """Return the misses of the last TLB: walks through the tables of pages."""
    return float(found.get("walks", 0))


def stalls(config: Mapping[str, Value], found: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the time (s) that misses would take without overlap.

    Returns
    -------
    near, lone, tlbs
        Hits of caches behind the nearest; accesses of memory at a line that does not follow the
        last; misses of TLBs.
    """
    levels = len(found["levels"])
    steps = [float(config[f"cache{number}_step_s"]) for number in CACHES]
    behind = [sum(steps[:number]) for number in range(levels + 1)]
    near = sum(count * cost for count, cost in zip(found["served"][1:levels], behind[1:levels],
                                                   strict=True))  # fmt: skip
    lone = found["lone"] * behind[levels]
    costs = [float(config[f"tlb{number}_step_s"]) for number in TLBS]
    tlbs = sum(
        (one["read_misses"] + one["write_misses"]) * cost
        for one, cost in zip(found["tlbs"], costs, strict=False)
    )
    return float(near), float(lone), float(tlbs)


def streamed_s(config: Mapping[str, Value], found: Mapping[str, Any]) -> float:
    """Return the time (s) that lines which follow each other would take one by one."""
    levels = len(found["levels"])
    return float(found["streamed"]) * sum(
        float(config[f"cache{number}_step_s"]) for number in CACHES[:levels]
    )


def overlap(config: Mapping[str, Value]) -> float:
    """Return how many misses of a query overlap."""
    if config["mode"] in SCANS[:2]:
        return float(config["scan_overlap"])
    return float(config["lookup_overlap"]) * batch_overlap(config)


def batch_overlap(config: Mapping[str, Value]) -> float:
    """Return how many look-ups of a batch wait at once."""
    if config["mode"] != "idx_ran":
        return 1.0
    return min(float(config["batch"]), float(config["parallel"]))


def time_of(config: Mapping[str, Value], found: Mapping[str, Any]) -> Parts:
    """Return the time of a run from its counts."""
    costs = [float(config[name]) for name in WORK]
    near, lone, tlbs = stalls(config, found)
    at_once = overlap(config)
    *work, copied = (
        cost * float(found[name]) for cost, name in zip(costs, WORK_COUNTS, strict=True)
    )
    return Parts(
        work=sum(work),
        copies=copied,
        caches=near / at_once,
        memory=lone / at_once + streamed_s(config, found) / float(config["stream_overlap"]),
        tlbs=tlbs / at_once,
    )
