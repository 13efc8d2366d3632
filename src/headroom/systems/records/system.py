"""The system `records`: a table of records in the memory of this machine.

Invariant: the points of one table share a process, which makes the table once; another replication
has another process, and with it other places of the nodes.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.memory.here import COUNTERS, allowed_cpus
from headroom.systems.records import native
from headroom.systems.records.free_memory import free_memory
from headroom.systems.records.parameters import (
    CHANGES,
    PAPER,
    SCANS,
    UPKEEP,
    Query,
    Table,
    cell_json,
    table_key,
    table_spec,
    used,
)

_FREE_SHARE = 0.9
"""Share of the available memory that a table may take."""


class RecordsSetup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.system]` of measured records."""

    rounds: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 3
    """Rounds of a replication that are timed one by one; their median counts."""
    round_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 0.0005
    """Time (s) of a round, at least: shorter runs are repeated."""
    most_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 0.02
    """Time (s) after which no further round begins."""
    warm_runs: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 1
    """Runs before, which are not timed."""
    updates: Annotated[int, msgspec.Meta(ge=1)] = 2000
    """Updates of a run of upkeep."""


class MeasuredQuery(Query, frozen=True, kw_only=True):
    """What is measured of a table: upkeep as well, on a processor."""

    mode: Annotated[str, parameter(choices=(*SCANS, *CHANGES, *UPKEEP), source=PAPER)] = "idx_ran"
    cpu: Annotated[int, parameter(low=-1, high=4095, source="assumed")] = -1
    """Processor; -1: one that this process may use"""


@dataclass(slots=True)
class _Made:
    """The table that this process made last."""

    key: str = ""
    table: native.Table | None = None


_MADE = _Made()


@dataclass(frozen=True, slots=True)
class RecordsSystem(FromDeclaration):
    """A table in the memory of this machine.

    Examples
    --------
    >>> system = RecordsSystem(RecordsSetup())
    >>> config = {one.name: one.default for one in system.parameters()} | {"records": 1000}
    >>> system.run(config, seed=1).values["record_s"] > 0.0
    True
    """

    name: ClassVar[str] = "records"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = RecordsSetup
    code_key: ClassVar[str] = ""
    declared: ClassVar[type[Declared]] = MeasuredQuery

    setup: RecordsSetup

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        """Return the metrics of a mode."""
        common = (
            Metric(name="run_s", unit="s", better="low", description="Time of a run"),
            Metric(name="record_s", unit="s", better="low", description="Time of a record"),
            Metric(name="huge_share", unit="1", description="Share of the nodes in huge pages"),
        )
        if config["mode"] in UPKEEP:
            text = "Bytes protected or written for an update"
            return (*common, Metric(name="update_bytes", unit="B", better="low", description=text))
        return (
            *common,
            Metric(name="index_height", unit="1", description="Levels of the index"),
            *(
                Metric(name=f"{name}_per_record", unit="1", better="low", description=text)
                for name, text in COUNTERS.items()
            ),
        )

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the parameters that the point uses, and the compiled code that runs it."""
        setup = msgspec.to_builtins(self.setup)
        return f"records 1 {native.MEASURED_CODE} {setup} {sorted(used(config).items())}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine: results of another one are not reused."""
        return f"{platform.node()} {platform.machine()} {os.cpu_count()}"

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a table that cannot be, or that this machine has no memory for."""
        check_table(config)
        query = MeasuredQuery.of(config)
        if query.mode in UPKEEP and query.placement == "malloc":
            raise StudyError(
                f"the mode {query.mode!r} protects or writes whole pages, but the system's "
                "allocator shares them with others",
                cure="give another placement",
            )
        _cpu(query.cpu)

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess:
        """Return a process on one processor for all points of a table."""
        return OwnProcess(
            per="group", group=table_key(config), cpus=(_cpu(MeasuredQuery.of(config).cpu),)
        )

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication."""
        table, query = _table(config, seed), MeasuredQuery.of(config)
        if query.mode in UPKEEP:
            return self._keep_up(table, query, seed)
        setup = self.setup
        found = table.measure(
            cell=cell_json(config), rounds=setup.rounds, round_s=setup.round_s,
            most_s=setup.most_s, warm_up=setup.warm_runs, is_cold=query.caches == "cold",
            seed=seed % 2**64,
        )  # fmt: skip
        run_s = float(np.median(found["cpu_s"]))
        visits = float(found["visits"])
        facts = table.facts()
        values = {
            "run_s": run_s,
            "record_s": run_s / visits,
            "huge_share": _huge_share(query, facts),
            "index_height": float(facts["index_height"]),
        }
        for name in COUNTERS:
            if not isinstance(count := found["counters"][name], str):
                values[f"{name}_per_record"] = count / (visits * found["runs"])
        return Run(values=values, counters={"records": visits * found["runs"]})

    def _keep_up(self, table: native.Table, query: MeasuredQuery, seed: int) -> Run:
        try:
            found = table.keep_up(
                upkeep=msgspec.json.encode(query.mode), updates=self.setup.updates,
                seed=seed % 2**64,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentUnfitError(str(error), cure="see dmesg, or leave this mode") from error
        values = {
            "run_s": found["wall_s"],
            "record_s": found["wall_s"] / found["updates"],
            "update_bytes": found["bytes"] / found["updates"],
            "huge_share": _huge_share(query, table.facts()),
        }
        return Run(values=values, counters={"records": float(found["updates"])})


def check_table(config: Mapping[str, Value]) -> dict[str, int]:
    """Return the memory that a table takes.

    Raises
    ------
    StudyError
        It cannot be.
    EnvironmentUnfitError
        This machine has not so much memory.
    """
    try:
        taken = native.footprint(msgspec.json.encode(table_spec(config, 0)))
    except ValueError as error:
        raise StudyError(str(error), cure="change the sizes, or leave the point out") from error
    table = Table.of(config)
    # Of scattered nodes only the pages that they touch are used, at most all of them.
    node_bytes = min(taken["area_bytes"], _pages_bytes(table, taken))
    needed = node_bytes + taken["index_bytes"] + 12 * table.records
    free = free_memory()
    if needed > _FREE_SHARE * free.size:
        raise EnvironmentUnfitError(
            f"a table of {table.records:,} records takes {needed / 2**20:,.0f} MiB, but "
            f"{free.owner} has {free.size / 2**20:,.0f} MiB left",
            cure="take fewer or smaller records, or a denser placement",
        )
    return taken


def _pages_bytes(table: Table, taken: Mapping[str, int]) -> int:
    page = 4096 if table.pages == "small" else 2 << 20
    nodes = taken["node_bytes"] // table.node_bytes
    return nodes * max(page, table.node_bytes + page)


def _table(config: Mapping[str, Value], seed: int) -> native.Table:
    """Return the table of a point, which this process may have made before."""
    key = table_key(config)
    if _MADE.table is None or _MADE.key != key:
        _MADE.table = None
        try:
            _MADE.table = native.Table(msgspec.json.encode(table_spec(config, seed)))
        except MemoryError as error:
            raise EnvironmentUnfitError(
                str(error),
                cure="take fewer records or other pages; /proc/sys/vm/nr_hugepages sets huge "
                "pages aside",
            ) from error
        except ValueError as error:
            raise StudyError(str(error), cure="change the sizes of the point") from error
        _MADE.key = key
    return _MADE.table


def _huge_share(query: Query, facts: Mapping[str, Any]) -> float:
    if facts["huge_bytes"] is None:
        return 0.0
    used_bytes = float(facts["nodes"]) * query.node_bytes
    return min(float(facts["huge_bytes"]) / used_bytes, 1.0)


def _cpu(cpu: int) -> int:
    """Return the processor of a point: the named one, or the first that this process may use."""
    allowed = allowed_cpus()
    if cpu < 0:
        return allowed[0]
    if cpu not in allowed:
        raise EnvironmentUnfitError(
            f"this process may not use processor {cpu}: it has {', '.join(map(str, allowed))}",
            cure="name another, or widen its set (taskset, cpuset)",
        )
    return cpu
