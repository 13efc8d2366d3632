"""The model `fitted_files`: PostMark on a file system whose operations have fitted costs.

One client executes the operations of the benchmark, those of a measured run with the same seed (the
mechanism `storage.postmark`). An operation takes a fixed time plus a time per byte; a file that is
made durable takes more, then and when it is deleted. The pool is filled in a separate cycle before
the transactions, and emptied in another after them.

Not modelled: the number of files in a folder, other clients, and later write-back by the file
system.

Invariant: only the costs come from a measurement; the operations and their sizes are the
benchmark's.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Metric, Parameter, Value
from headroom.simulation import (
    Expression,
    Model,
    Program,
    SimulationResult,
    Station,
    constant,
    draw,
    exponential,
    lognormal,
    uniform,
)
from headroom.systems.storage.blocks.job import OPERATIONS
from headroom.systems.storage.fit.file_parameters import FILES, KINDS, LOAD, SYNC
from headroom.systems.storage.postmark.postmark_figures import RUN_S
from headroom.systems.storage.workloads.workload_parameters import Postmark
from headroom.systems.storage.workloads.workload_table import pool_table

US_PER_S = 1e6
PHASES = ("creation", "transactions", "deletion")
"""Phases in the order of their numbers in the mechanism; each is a station."""
_OWN_WALKS = 2
"""Walks that are no transactions: the pool is filled, and emptied."""
_OTHER = (
    *(
        Metric(name=f"{phase}_s", unit="s", better="low", description="Time of the phase")
        for phase in PHASES
    ),
    Metric(name="transactions_per_s", unit="1/s", better="high",
           description="Transactions per second of their phase"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FittedFiles:
    """A model function with the parameters of fitted files.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> files = FittedFiles()
    >>> model = files(postmark_files=20, postmark_transactions=100)
    >>> values = files.own_values(simulate(model, seed=1))
    >>> parts = [values[f"{phase}_s"] for phase in PHASES]
    >>> round(sum(parts) / values["run_s"], 6)
    1.0
    """

    parameters: tuple[Parameter, ...] = (*LOAD, *FILES, *SYNC)
    place: str = "headroom.systems.storage.fit.files"

    @property
    def __name__(self) -> str:
        """Name of the model, for messages."""
        return "fitted_files"

    @property
    def own_metrics(self) -> tuple[Metric, ...]:
        """Metrics of a whole run, under the names of the measured column."""
        return (RUN_S, *_OTHER)

    def own_values(self, result: SimulationResult) -> dict[str, float]:
        """Return `own_metrics` of a run."""
        stations = result.stations
        jobs_s = stations.columns["jobs_s"][-1]
        times_s = {phase: float(jobs_s[stations.names.index(phase)]) for phase in PHASES}
        done = float(result.classes.columns["completion_count"][-1].sum()) - _OWN_WALKS
        values = {f"{phase}_s": time_s for phase, time_s in times_s.items()}
        values[RUN_S.name] = sum(times_s.values())
        if done > 0.0 and times_s["transactions"] > 0.0:
            values["transactions_per_s"] = done / times_s["transactions"]
        return values

    def __call__(self, **given: Value) -> Model:
        """Return the model of the benchmark with some parameters changed."""
        values = {parameter.name: parameter.default for parameter in self.parameters} | given
        asked = Postmark.of(values)  # type: ignore[arg-type]  # all have defaults
        if asked.postmark_low_bytes > asked.postmark_high_bytes:
            raise StudyError(
                "postmark_low_bytes is above postmark_high_bytes",
                cure="make the largest file at least as large as the smallest",
            )
        return _Builder(values).model()


class _Builder:
    """The phases, and the program that walks through the operations."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, self._asked = values, Postmark.of(values)
        self._model = Model("PostMark on fitted files", time_unit="us")
        self._phases = [self._model.station(phase) for phase in PHASES]
        names = ("is there", "kind", "bytes", "ends", "phase", "made", "written", "extra")
        self._at = {name: self._model.attribute(name) for name in names}
        self._operations = self._model.mechanism(
            OPERATIONS, kind="storage.postmark", parameters=pool_table(values)
        )
        self._add_stalls()

    def model(self) -> Model:
        model, at = self._model, self._at
        one_each = [self._operation(number) for number in range(len(PHASES))]
        walk = model.program("transaction")
        with walk.branch() as what:
            with what.when(at["made"] == 0):
                with walk.loop(self._asked.postmark_files):
                    self._next(walk)
                    walk.call(one_each[0])
                walk.set(at["made"], 1)
                self._next(walk)
            with what.when(at["is there"] == 0):
                walk.delay(0)
            with what.when(at["phase"] == len(PHASES) - 1):
                self._until(walk, one_each[-1], at["is there"] == 0)
            with what.otherwise():
                self._until(walk, one_each[1], at["extra"] == 1)
        model.closed_class("transactions", walk, population=1, start="ready")
        model.stop(completions=self._asked.postmark_transactions + _OWN_WALKS, is_all=True)
        model.counted_by_hand(
            highest_throughput=math.inf,
            why="operations come in the order of the benchmark, which formulas do not know",
        )
        return model

    def _us(self, name: str) -> float:
        return float(self._values[name]) * US_PER_S

    def _add_stalls(self) -> None:
        per_s = float(self._values["stalls_per_s"])
        if per_s > 0.0 and self._us("stall_s") > 0.0:
            for station in self._phases:
                self._model.breakdowns(
                    station,
                    time_to_failure=exponential(US_PER_S / per_s),
                    repair=exponential(self._us("stall_s")),
                )

    def _next(self, program: Program) -> None:
        """Take the next operation, if there is one."""
        at, operations = self._at, self._operations
        program.set(at["is there"], operations.call("next"))
        with program.branch() as more, more.when(at["is there"] == 1):
            program.set(at["kind"], operations.call("kind"))
            program.set(at["bytes"], operations.call("bytes"))
            program.set(at["ends"], operations.call("ends_transaction"))
            program.set(at["phase"], operations.call("phase"))

    def _until(self, walk: Program, operation: Program, is_over: Expression) -> None:
        """Carry operations out up to the last; the next one is then ready."""
        with walk.network() as steps:
            with steps.node("operate", to={steps.leave: is_over, "again": None}):
                walk.call(operation)
                walk.set(self._at["extra"], self._at["ends"])
                self._next(walk)
            with steps.node("again", to="operate"):
                pass

    def _operation(self, phase: int) -> Program:
        model, at, station = self._model, self._at, self._phases[phase]
        program = model.program(f"operation of {PHASES[phase]}")
        with program.branch() as what:
            for number, kind in enumerate(KINDS):
                with what.when(at["kind"] == number):
                    program.use(station, self._cost(kind, kind))
                    if kind in {"create", "append"}:
                        self._sync(program, station, kind)
                    if kind == "delete":
                        self._delete_durable(program, station)
        # The client's own time is in the length of a phase, and in no time of a transaction.
        own_us = self._us("between_s")
        if phase == 1:
            self._background(program, station, own_us)
        elif own_us > 0.0:
            program.use(station, constant(own_us))
        return program

    def _background(self, program: Program, station: Station, own_us: float) -> None:
        if own_us > 0.0:
            with program.branch() as last, last.when(self._at["ends"] == 1):
                program.use(station, constant(own_us))

    def _cost(self, name: str, scatter: str) -> Expression:
        bytes_us = self._at["bytes"] * self._us(f"{name}_s_per_byte")
        return (self._us(f"{name}_s") + bytes_us) * self._scatter(scatter)

    def _scatter(self, kind: str) -> Expression:
        cv = float(self._values[f"{kind}_cv"])
        return draw(lognormal(1.0, cv**2) if cv > 0.0 else constant(1.0))

    def _sync(self, program: Program, station: Station, kind: str) -> None:
        """Make every n-th written file durable: a new one needs its name and inode, too."""
        if self._asked.postmark_sync == "never":
            return
        at = self._at
        program.set(at["written"], at["written"] + 1)
        with (
            program.branch() as due,
            due.when(at["written"] >= self._asked.postmark_sync_every),
        ):
            program.set(at["written"], 0)
            program.use(station, self._cost(f"{kind}_sync", "sync"))

    def _delete_durable(self, program: Program, station: Station) -> None:
        """Let a durable file take longer: each n-th is one, if each n-th write was synced."""
        if self._asked.postmark_sync == "never":
            return
        share = 1.0 / self._asked.postmark_sync_every
        further = self._us("durable_delete_s")
        further_each = self._us("durable_delete_s_per_byte")
        is_durable = draw(uniform(0.0, 1.0)) < share
        program.use(station, is_durable * (further + self._at["bytes"] * further_each))


fitted_files = FittedFiles()
"""The registered model function."""
