"""TPC-C on one database server as a queueing model: terminals, processors, rows and a log."""

import math
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Value
from headroom.simulation import (
    Expression,
    Model,
    Pool,
    Program,
    draw,
    floor,
    from_moments,
    uniform,
)
from headroom.systems.transactions.workload.load import CARDS
from headroom.systems.transactions.workload.tpcc import DECK, DISTRICTS, Kind

_ASSUMED = "assumed: a round number, until it is fitted"
_MOST_ROWS = 256
"""Rows of warehouses and of districts that are told apart; with more, hardly anybody waits."""
_MS = 1e3
_Time: TypeAlias = Annotated[float, parameter(unit="s", low=0, high=3600, source=_ASSUMED)]
_Work: TypeAlias = Annotated[float, parameter(unit="s", low=1e-7, high=3600, source=_ASSUMED)]
COMMITS: frozenset[Kind] = frozenset({"New-Order", "Payment", "Delivery"})
"""Transactions whose commit waits for the log."""


class Database(Declared, frozen=True, kw_only=True):
    """Terminals without keying and think times, and what they share."""

    terminals: Annotated[int, parameter(low=1, high=100_000, source=_ASSUMED)] = 16
    """Terminals, each with a connection of its own"""
    warehouses: Annotated[int, parameter(low=1, high=100_000, source=_ASSUMED)] = 4
    """Warehouses, whose rows Payment locks until its commit"""
    cpus: Annotated[float, parameter(low=0.01, high=1024, source=_ASSUMED)] = 2.0
    """Processors that server and driver share; a part of one is a quota"""
    server_cpus: Annotated[float, parameter(low=0, high=1024, source=_ASSUMED)] = 0.0
    """Processors of these that the server may use; 0: all"""
    server_share: Annotated[float, parameter(low=0.01, high=1, source=_ASSUMED)] = 1.0
    """Share of the server in the processor time of a transaction"""
    new_order_s: _Work = 0.0007
    """Processor time of a New-Order, the driver's included, with one terminal"""
    payment_s: _Work = 0.0003
    """The same of a Payment"""
    order_status_s: _Work = 0.0002
    """The same of an Order-Status"""
    delivery_s: _Work = 0.0015
    """The same of a Delivery"""
    stock_level_s: _Work = 0.001
    """The same of a Stock-Level"""
    work_c2: Annotated[float, parameter(low=0, high=100, source=_ASSUMED)] = 0.3
    """Squared coefficient of variation of these times within a type"""
    crowding: Annotated[float, parameter(low=-0.01, high=1, source=_ASSUMED)] = 0.0
    """Share by which processor times grow with each further terminal: snapshots, latches, caches"""
    flush_s: _Time = 0.0005
    """Flush of the log, for all commits that wait; 0: none"""
    flush_crowding: Annotated[float, parameter(low=-0.01, high=10, source=_ASSUMED)] = 0.0
    """Share by which a flush takes longer with each further terminal: whoever flushes has to be
    woken and to get a processor"""
    flush_factor: Annotated[float, parameter(low=0, high=10_000, source=_ASSUMED)] = 1.0
    """Times as long as `flush_s` that a flush takes: another log device; 0: it is not flushed"""
    delay_s: _Time = 0.0
    """Time of a transaction outside processors and log, where nobody waits"""
    row_share: Annotated[float, parameter(low=0, high=1, source=_ASSUMED)] = 0.9
    """Share of its processor time during which Payment holds the row of its warehouse, and
    New-Order that of its district"""

    def work_s(self, kind: Kind) -> float:
        """Return the processor time (s) of a transaction with that many terminals."""
        alone = {
            "New-Order": self.new_order_s,
            "Payment": self.payment_s,
            "Order-Status": self.order_status_s,
            "Delivery": self.delivery_s,
            "Stock-Level": self.stock_level_s,
        }[kind]
        return alone * max(1.0 + self.crowding * (self.terminals - 1), 0.1)

    @property
    def used_cpus(self) -> float:
        """Processors that all work can keep busy: those that are there, or what a quota lets."""
        if not self.server_cpus:
            return self.cpus
        return min(self.cpus, self.server_cpus / self.server_share)

    @property
    def crowded_flush_s(self) -> float:
        """Time (s) of a flush with that many terminals, on another device too."""
        return self.flush_s * (
            self.flush_factor + max(self.flush_crowding * (self.terminals - 1), 0.0)
            if self.flush_factor
            else 0.0
        )

    @property
    def mean_work_s(self) -> float:
        """Processor time (s) of a transaction of the mix."""
        return sum(cards * self.work_s(kind) for kind, cards in DECK.items()) / CARDS


def database_model(**given: Value) -> Model:
    """Return terminals that ask one database at once again: processors, rows, log.

    A transaction takes its processor time, which is shared equally; Payment holds the row of its
    warehouse, and New-Order that of its district, from `row_share` before its end until its commit
    is in the log. A flush takes all commits that wait, those that come meanwhile wait for the next.

    With D the mean processor time, the throughput X is at most used_cpus / D, and at most
    23/10 warehouses / (row_share payment_s + crowded_flush_s): 10 of 23 are Payments.

    Notes
    -----
    Not expressed: reads from disk, checkpoints and vacuum; rows of stock and customers; index pages
    that many insert into at once are in `crowding`.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> model = database_model(terminals=1, flush_s=0.0, work_c2=0.0)
    >>> model.stop(completions=2300)
    >>> result = simulate(model, seed=1)
    >>> mean_s = Database().mean_work_s
    >>> bool(abs(result.snapshot_times_s[-1] / 2300 / mean_s - 1) < 0.02)
    True
    """
    of = Database.checked(given)
    model = Model("tpcc", time_unit="ms")
    servers = math.ceil(of.used_cpus)
    cpu = model.station("processors", servers=servers, discipline="ps")
    flush_ms = _MS * of.crowded_flush_s
    log = model.station("log", batch=(1, of.terminals)) if flush_ms else None
    place = model.attribute("district")
    warehouses, districts = _rows(model, of)
    programs = {}
    for kind in DECK:
        program = programs[kind] = model.program(kind)
        if of.delay_s:
            program.delay(_MS * of.delay_s)
        program.set(place, floor(draw(uniform(0, of.warehouses * DISTRICTS))))
        work_ms = _MS * of.work_s(kind) * servers / of.used_cpus
        rows = {"Payment": warehouses, "New-Order": districts}.get(kind, ())
        free_ms = work_ms * (1.0 - of.row_share) if rows else 0.0
        if free_ms:
            program.use(cpu, from_moments(free_ms, of.work_c2))
        held = model.program(f"{kind} with its row") if rows else program
        held.use(cpu, from_moments(work_ms - free_ms, of.work_c2))
        if log and kind in COMMITS:
            held.use(log, flush_ms)
        if rows:
            index = floor(place / DISTRICTS) if kind == "Payment" else place
            _hold(program, held, rows, index)
    model.closed_mix(
        "terminals",
        {kind: (programs[kind], cards) for kind, cards in DECK.items()},
        population=of.terminals,
        draw="deck",
        start="ready",
    )
    return model


def _rows(model: Model, of: Database) -> tuple[Sequence[Pool], Sequence[Pool]]:
    """Return the rows of warehouses and of districts, or none where nearly nobody would wait."""
    counts = {"warehouse": of.warehouses, "district": of.warehouses * DISTRICTS}
    warehouses, districts = (
        [model.pool(f"{name} {number}", tokens=1, group=name) for number in range(1, count + 1)]
        if count <= _MOST_ROWS
        else []
        for name, count in counts.items()
    )
    return warehouses, districts


def _hold(program: Program, held: Program, rows: Sequence[Pool], index: Expression) -> None:
    """Carry `held` out while one of the rows is held."""
    with program.branch("index", by=index) as chosen:
        for row in rows:
            with chosen.case(), program.holding(row):
                program.call(held)


database_model.parameters = declared_by(Database)  # type: ignore[attr-defined]
