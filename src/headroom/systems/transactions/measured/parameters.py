"""Parameters and metrics of a measured database."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from headroom.experiment.protocol.declared import Declared
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.observed_metrics import observed_metrics
from headroom.experiment.protocol.system import Metric, Value
from headroom.recording.observers.observed import metrics_of
from headroom.recording.observers.observing import PROGRAM
from headroom.recording.observers.postgres import postgres_metrics

SERVICE = "service.db"
TPC_C_CLASSES = ("new_order", "payment", "order_status", "delivery", "stock_level")
DEFERRED = "deferred_delivery"
TPC_B_CLASSES = ("change",)


class Asked(Declared, frozen=True, kw_only=True):
    """The database, and who asks it."""

    product: Annotated[Literal["sqlite", "postgres", "mariadb"], parameter(source="assumed")] = (
        "sqlite"
    )
    """The database: SQLite in the driver's process, or a server that is started for the study
    (unless the system has a `url`)"""
    workload: Annotated[Literal["tpcc", "tpcb"], parameter(source="TPC-C; TPC-B")] = "tpcc"
    """Five transactions of a wholesaler, or one of a bank"""
    warehouses: Annotated[int, parameter(low=1, high=100_000, source="TPC-C 4.2.1")] = 1
    """Warehouses, or branches of TPC-B: the size of the database"""
    terminals: Annotated[int, parameter(low=1, high=1_000_000, source="TPC-C 4.2.2")] = 10
    """Terminals, each of which waits for its answer; ten of each warehouse in the standard"""
    waits: Annotated[bool, parameter(source="TPC-C 5.2.5")] = True
    """Whether terminals key in and think, as the standard says; TPC-B has no such times"""
    rate_per_s: Annotated[float, parameter(unit="1/s", low=0.0, source="assumed")] = 0.0
    """Transactions due per second over `connections`, whatever the answers; 0: terminals wait"""
    connections: Annotated[int, parameter(low=0, high=10_000, source="assumed")] = 0
    """Connections that terminals share; 0: each has its own"""
    form: Annotated[Literal["function", "statement"], parameter(source="assumed")] = "function"
    """A transaction is one call of a function of the server, or single statements (as always in
    SQLite)"""
    pipelines: Annotated[bool, parameter(source="assumed")] = False
    """Whether statements that do not need each other's answers travel together; PostgreSQL"""
    isolation: Annotated[
        Literal["default", "read_committed", "repeatable_read", "serializable"],
        parameter(source="TPC-C 3.4"),
    ] = "default"
    """How far transactions see each other; default: what the server does"""
    server_cpus: Annotated[float, parameter(low=0.0, high=1024.0, source="assumed")] = 0.0
    """Processors that the server may use; 0: all"""
    processes: Annotated[int, parameter(low=1, high=64, source="assumed")] = 1
    """Processes of the driver"""


_OWN = (
    Metric(name="throughput", unit="1/s", better="high",
           description="Transactions per second, of all types"),
    Metric(name="jobs_mean", unit="1", description="Mean number of transactions in progress"),
    Metric(name="error_count", unit="1", better="low", description="Transactions that failed"),
    Metric(name="fail_ratio", unit="1", better="low",
           description="Share of the transactions that failed"),
    Metric(name="retry_count", unit="1", better="low",
           description="Times that a transaction was tried again after a conflict"),
    Metric(name="late_count", unit="1", better="low",
           description="Transactions that had to wait for a connection after they were due"),
    Metric(name="unfinished_count", unit="1", better="low",
           description="Transactions without an end when the run was over"),
    Metric(name="driver_cpu_s_per_op", unit="s", better="low",
           description="Processor time of the driver for a transaction; with SQLite, the "
           "database's is in it"),
    Metric(name="driver_share", unit="1", better="low",
           description="Share of the driver in all processor time, where the server is observed"),
    Metric(name="broken_conditions", unit="1", better="low",
           description="Rows or groups that break a consistency condition after the run"),
    Metric(name="miscounted_rows", unit="1", better="low",
           description="Rows by which the database's own counters differ from those of the "
           "transactions, if none was tried again"),
    Metric(name="run_s", unit="s", better="low", description="Time from the start to the end"),
)  # fmt: skip
_TPC_C = (
    Metric(name="nopm", unit="1/min", better="high",
           description="New orders per minute, after `warm_up_s`; derived from TPC-C"),
    Metric(name="ceiling_share", unit="1",
           description="New orders over the most that terminals with keying and think times can "
           "ask for: 12.605 a minute for each warehouse"),
    Metric(name="rollback_share", unit="1", description="New orders that were rolled back; 0.01"),
    Metric(name="remote_line_share", unit="1",
           description="Lines that another warehouse supplies; 0.01 of several warehouses"),
    Metric(name="remote_payment_share", unit="1",
           description="Payments by customers of another warehouse; 0.15 of several"),
    Metric(name="skipped_share", unit="1", better="low",
           description="Districts that a delivery found without an order"),
)  # fmt: skip


def classes(config: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the types of transactions, with that of the queue of deliveries."""
    if Asked.of(config).workload == "tpcb":
        return TPC_B_CLASSES
    return (*TPC_C_CLASSES, DEFERRED)


def metrics_for(config: Mapping[str, Value], *, has_service: bool) -> Iterator[Metric]:
    """Yield the metrics of a run of `config`."""
    point = Asked.of(config)
    yield from _OWN
    if point.workload == "tpcc":
        yield from _TPC_C
    yield from observed_metrics("response_s")
    for name in classes(config):
        yield Metric(
            name=f"class.{name}.throughput",
            unit="1/s",
            better="high",
            description=f"Transactions of the type {name} per second",
        )
        yield from observed_metrics(f"class.{name}.response_s")
    groups, limited = groups_for(config, has_service=has_service)
    yield from metrics_of(groups, limited, per_op=True)
    if has_service and point.product == "postgres":
        yield from postgres_metrics(SERVICE, per_op=True)


def groups_for(config: Mapping[str, Value], *, has_service: bool) -> tuple[list[str], list[str]]:
    """Return the observed groups of processes, and those whose processors are limited."""
    if not has_service or Asked.of(config).product == "sqlite":
        return [PROGRAM], []
    return [PROGRAM, SERVICE], [SERVICE] if Asked.of(config).server_cpus else []
