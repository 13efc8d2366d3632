"""The system `records`: a table of records in the memory of this machine.

Invariant: the points of one table share a process, which makes the table once; another replication
has another process, and with it other places of the nodes.
"""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.memory.here import COUNTERS, allowed_cpus
from headroom.systems.records import native
from headroom.systems.records.parameters import (
    UPKEEP,
    cell_json,
    query_parameters,
    table_key,
    table_parameters,
    table_spec,
    used,
    version,
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


def _parameters() -> Iterator[Parameter]:
    yield from table_parameters()
    yield from query_parameters(has_upkeep=True)
    yield Parameter(
        name="cpu", type="int", unit="1", default=-1, low=-1, high=4095, source="assumed",
        description="Processor; -1: one that this process may use",
    )  # fmt: skip


@dataclass(slots=True)
class _Made:
    """The table that this process made last."""

    key: str = ""
    table: native.Table | None = None


_MADE = _Made()


@dataclass(frozen=True, slots=True)
class RecordsSystem:
    """A table in the memory of this machine.

    Examples
    --------
    >>> system = RecordsSystem.load(RecordsSetup(), base=Path())
    >>> config = {one.name: one.default for one in system.parameters()} | {"records": 1000}
    >>> system.run(config, seed=1).values["record_s"] > 0.0
    True
    """

    name: ClassVar[str] = "records"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = RecordsSetup

    setup: RecordsSetup

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system for a validated `setup`."""
        return cls(msgspec.convert(msgspec.to_builtins(setup), RecordsSetup))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the table, and what is done to it."""
        return tuple(_parameters())

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
        """Return the parameters that the point uses."""
        setup, rest = msgspec.to_builtins(self.setup), sorted(used(config).items())
        return f"records {version(config)} {setup} {rest}"

    def found_at(self, config: Mapping[str, Value]) -> str:  # noqa: ARG002 - the protocol's
        """Return the machine: results of another one are not reused."""
        return f"{platform.node()} {platform.machine()} {os.cpu_count()}"

    def prepare(self) -> Mapping[str, float | str]:
        """Return nothing: a replication notes what it finds."""
        return {}

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse a table that cannot be, or that this machine has no memory for."""
        check_table(config)
        if config["mode"] in UPKEEP and config["placement"] == "malloc":
            raise StudyError(
                f"the mode {config['mode']!r} protects or writes whole pages, but the system's "
                "allocator shares them with others",
                cure="give another placement",
            )
        _cpu(config)

    def own_process(self, config: Mapping[str, Value]) -> OwnProcess:
        """Return a process on one processor for all points of a table."""
        return OwnProcess(per="group", group=table_key(config), cpus=(_cpu(config),))

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Run one replication."""
        table = _table(config, seed)
        if config["mode"] in UPKEEP:
            return self._keep_up(table, config, seed)
        setup = self.setup
        found = table.measure(
            cell=cell_json(config), rounds=setup.rounds, round_s=setup.round_s,
            most_s=setup.most_s, warm_up=setup.warm_runs, is_cold=config["caches"] == "cold",
            seed=seed % 2**64,
        )  # fmt: skip
        run_s = float(np.median(found["cpu_s"]))
        visits = float(found["visits"])
        facts = table.facts()
        values = {
            "run_s": run_s,
            "record_s": run_s / visits,
            "huge_share": _huge_share(config, facts),
            "index_height": float(facts["index_height"]),
        }
        for name in COUNTERS:
            if not isinstance(count := found["counters"][name], str):
                values[f"{name}_per_record"] = count / (visits * found["runs"])
        return Run(values=values, counters={"records": visits * found["runs"]})

    def _keep_up(self, table: native.Table, config: Mapping[str, Value], seed: int) -> Run:
        try:
            found = table.keep_up(
                upkeep=msgspec.json.encode(config["mode"]), updates=self.setup.updates,
                seed=seed % 2**64,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentUnfitError(str(error), cure="see dmesg, or leave this mode") from error
        values = {
            "run_s": found["wall_s"],
            "record_s": found["wall_s"] / found["updates"],
            "update_bytes": found["bytes"] / found["updates"],
            "huge_share": _huge_share(config, table.facts()),
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
    # Of scattered nodes only the pages that they touch are used, at most all of them.
    node_bytes = min(taken["area_bytes"], _pages_bytes(config, taken))
    needed = node_bytes + taken["index_bytes"] + 12 * int(config["records"])
    available = available_bytes()
    if needed > _FREE_SHARE * available:
        raise EnvironmentUnfitError(
            f"a table of {int(config['records']):,} records takes {needed / 2**20:,.0f} MiB, but "
            f"this machine has {available / 2**20:,.0f} MiB left",
            cure="take fewer or smaller records, or a denser placement",
        )
    return taken


def _pages_bytes(config: Mapping[str, Value], taken: Mapping[str, int]) -> int:
    page = 4096 if config["pages"] == "small" else 2 << 20
    nodes = taken["node_bytes"] // int(config["node_bytes"])
    return nodes * max(page, int(config["node_bytes"]) + page)


def available_bytes(path: Path = Path("/proc/meminfo")) -> int:
    """Return the memory (B) that programs may still take."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", path.read_text(encoding="ascii"), re.M)
    return int(found[1]) * 1024 if found else 1 << 62


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


def _huge_share(config: Mapping[str, Value], facts: Mapping[str, Any]) -> float:
    if facts["huge_bytes"] is None:
        return 0.0
    used_bytes = float(facts["nodes"]) * float(config["node_bytes"])
    return min(float(facts["huge_bytes"]) / used_bytes, 1.0)


def _cpu(config: Mapping[str, Value]) -> int:
    allowed = allowed_cpus()
    cpu = int(config["cpu"])
    if cpu < 0:
        return allowed[0]
    if cpu not in allowed:
        raise EnvironmentUnfitError(
            f"this process may not use processor {cpu}: it has {', '.join(map(str, allowed))}",
            cure="name another, or widen its set (taskset, cpuset)",
        )
    return cpu
