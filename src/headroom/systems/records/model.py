"""The system `records_model`: the accesses of the same table on a machine of caches and TLBs.

The time of a run is a sum: work of the processor, each kind at its cost, and waits for caches,
memory and TLBs, each kind divided by how many of them overlap. Hits of near caches overlap more
than accesses of memory; lines that follow each other are fetched ahead from the third on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration, declared_by
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
from headroom.systems.records.parameters import Query, cell_json, table_spec, used

WORK_COUNTS = (
    "runs", "records", "record_nodes", "index_nodes", "comparisons", "copies", "copied_bytes",
)  # fmt: skip
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
class RecordsModel(FromDeclaration):
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
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = Query

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
        return (*declared_by(Query), *self.machine)

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
        """Return the parameters that the point uses, and the compiled code that runs it."""
        code = f"{native.MODELLED_CODE} {self.setup.warm_runs}"
        return f"records_model 1 {code} {sorted(used(config).items())}"

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a table or a machine that cannot be."""
        if Query.of(config).placement == "malloc":
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
            "memory_lines_per_record": memory_lines(found) / visits,
            "comparisons_per_record": found["comparisons"] / visits,
        }
        for name in ("work", "copies", "caches", "memory", "tlbs"):
            values[f"{name}_share"] = getattr(parts, name) / parts.total
        return Run(values=values, counters={"records": visits})

    def counts(self, config: Mapping[str, Value], seed: int) -> Mapping[str, Any]:
        """Return the counts of a run on the machine: independent of the times in `config`."""
        table = msgspec.json.encode(table_spec(config, seed))
        machine = msgspec.json.encode(machine_spec(config))
        warm_runs = self.setup.warm_runs if Query.of(config).caches == "warm" else 0
        try:
            found = _simulated(table, cell_json(config), machine, warm_runs, seed % 2**64)
        except ValueError as error:
            raise StudyError(str(error), cure="change the sizes of table or machine") from error
        return completed(found, config)


@lru_cache(maxsize=512)
def _simulated(
    table: bytes, cell: bytes, machine: bytes, warm_runs: int, seed: int
) -> Mapping[str, Any]:
    made = native.Table(table)
    found: Mapping[str, Any] = made.simulate(
        cell=cell, machine=machine, warm_up=warm_runs, seed=seed
    )
    return found


def completed(found: Mapping[str, Any], config: Mapping[str, Value]) -> Mapping[str, Any]:
    """Return the counts of one run with those that follow from others."""
    copies = float(found["copied_bytes"]) / Query.of(config).record_bytes
    return {**found, "runs": 1, "copies": copies}


def tlb_misses(found: Mapping[str, Any]) -> float:
    """Return the misses of the last TLB: walks through the tables of pages."""
    return float(found.get("walks", 0))


def memory_lines(found: Mapping[str, Any]) -> int:
    """Return the lines that memory served."""
    return int(found["lone"][-1] + found["second"][-1] + found["streamed"][-1])


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits of one kind.

    Parameters
    ----------
    cause
        The field of `Parts` that has them.
    overlap
        The parameter that says how many overlap.
    alone_s
        Their time (s) one by one.
    """

    cause: str
    overlap: str
    alone_s: float


def waits(config: Mapping[str, Value], found: Mapping[str, Any]) -> tuple[Wait, ...]:
    """Return what a run waits for, by cause and overlap."""
    far = len(found["levels"])
    steps = [float(config[f"cache{number}_step_s"]) for number in CACHES]
    behind = [sum(steps[:number]) for number in range(far + 1)]
    lone, second, streamed = (
        [float(count) * cost for count, cost in zip(found[kind], behind, strict=True)]
        for kind in ("lone", "second", "streamed")
    )
    missed = [
        (one["read_misses"] + one["write_misses"]) * float(config[f"tlb{number}_step_s"])
        for number, one in zip(TLBS, found["tlbs"], strict=False)
    ]
    near, scan = {
        "phy_seq": ("near_overlap", "scan_overlap"),
        "idx_seq": ("index_overlap", "scan_overlap"),
    }.get(Query.of(config).mode, ("lookup_overlap", "lookup_overlap"))
    return (
        Wait("caches", near, sum(lone[:far])),
        Wait("caches", "second_overlap", sum(second[:far])),
        Wait("caches", "stream_overlap", sum(streamed[:far])),
        Wait("memory", scan, lone[far]),
        Wait("memory", "second_overlap", second[far]),
        Wait("memory", "stream_overlap", streamed[far]),
        Wait("tlbs", near, sum(missed[:-1])),
        Wait("tlbs", scan, sum(missed[-1:])),
    )


def overlap(config: Mapping[str, Value], name: str) -> float:
    """Return how many waits overlap: those of a batch of look-ups also overlap each other."""
    at_once = batch_overlap(config) if name == "lookup_overlap" else 1.0
    return float(config[name]) * at_once


def batch_overlap(config: Mapping[str, Value]) -> float:
    """Return how many look-ups of a batch wait at once."""
    query = Query.of(config)
    return min(query.batch, float(config["parallel"])) if query.mode == "idx_ran" else 1.0


def time_of(config: Mapping[str, Value], found: Mapping[str, Any]) -> Parts:
    """Return the time of a run from its counts."""
    *work, begun, copied = (
        float(config[cost]) * float(found[name])
        for cost, name in zip(WORK, WORK_COUNTS, strict=True)
    )
    parts = dict.fromkeys(("caches", "memory", "tlbs"), 0.0)
    for wait in waits(config, found):
        parts[wait.cause] += wait.alone_s / overlap(config, wait.overlap)
    return Parts(work=sum(work), copies=begun + copied, **parts)
