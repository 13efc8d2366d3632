"""Parameters and metrics of the measured catalogue."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from headroom.experiment.protocol.declared import Declared
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.observed_metrics import observed_metrics
from headroom.experiment.protocol.system import Metric, Value
from headroom.recording.observers.observed import metrics_of
from headroom.recording.observers.observing import PROGRAM
from headroom.recording.observers.postgres import postgres_metrics
from headroom.systems.catalogue.model import DIRECT, TLS

MOST_SERVERS = 16
_MOST_OF_A_LINE = 8000
POOL, PROCESS, DATABASE_ALONE = "pool", "process", "direct"
"""Architectures."""
_PAUSE = "paper, section II.3: sleep(2) stands for a line of 0.3 s"


class Served(Declared, frozen=True, kw_only=True):
    """The paper's cases, the clients and the servers."""

    case: Annotated[int, parameter(choices=(1, 2, 3, 4), source="paper, table 1")] = TLS
    """1: a new TLS connection for each operation, 2: a new plain one, 3: a lasting plain one, 4: a
    lasting one directly to the database"""
    architecture: Annotated[
        str,
        parameter(choices=(POOL, PROCESS, DATABASE_ALONE), source="paper, section II.3"),
    ] = POOL
    """pool: servers whose clients share database connections; process: as AMGA, a process with a
    database connection of its own for each client; direct: no servers, so that clients of cases 1
    and 2 open connections to the database"""
    workers: Annotated[
        int, parameter(low=1, high=10_000, source="paper, section II.1: MaxProcesses")
    ] = 130
    """Processes of each server in the architecture `process`; other clients wait"""
    operation: Annotated[Literal["query", "insert"], parameter(source="paper, section II.1")] = (
        "query"
    )
    """Look up the GUID of a name, or insert a pair"""
    form: Annotated[Literal["transaction", "single"], parameter(source="paper, section II.1")] = (
        "transaction"
    )
    """Begin, one command, commit as in the paper; or the command alone"""
    clients: Annotated[int, parameter(low=1, high=100_000, source="paper, figure 1")] = 8
    """Clients, each of which waits for its answer"""
    rate_per_s: Annotated[float, parameter(unit="1/s", low=0.0, source="assumed")] = 0.0
    """Operations due per second over `clients` connections; 0: clients ask again at once"""
    processes: Annotated[int, parameter(low=1, high=64, source="assumed")] = 1
    """Processes of the load"""
    servers: Annotated[int, parameter(low=1, high=MOST_SERVERS, source="paper, figure 3")] = 1
    """Catalogue servers; behind HAProxy if several"""
    server_cpus: Annotated[float, parameter(low=0.0, high=1024.0, source="assumed")] = 0.0
    """Processors that each catalogue server may use; 0: all"""
    pool: Annotated[int, parameter(low=1, high=1000, source="assumed")] = 16
    """Connections of each catalogue server to the database"""
    rtt_s: Annotated[
        float, parameter(unit="s", low=0.0, high=60.0, source="paper, section II.3: 0.3 s")
    ] = 0.0
    """Round trip time of the clients' line"""
    pause_s: Annotated[float, parameter(unit="s", low=0.0, high=60.0, source=_PAUSE)] = 0.0
    """Time that a client waits once it has connected; the server holds its worker"""
    database_memory_mb: Annotated[float, parameter(low=0.0, high=1e9, source="assumed")] = 0.0
    """Limit (MB) of the database's memory; 0: none"""
    resumes: Annotated[bool, parameter(source="assumed")] = False
    """Whether clients shorten TLS handshakes by tickets"""


_OWN = (
    Metric(name="throughput", unit="1/s", better="high", description="Operations per second"),
    Metric(name="jobs_mean", unit="1", description="Mean number of operations under way"),
    Metric(name="error_count", unit="1", better="low", description="Operations that failed"),
    Metric(name="fail_ratio", unit="1", better="low",
           description="Share of the operations that failed"),
    Metric(name="late_count", unit="1", better="low",
           description="Operations that had to wait for a connection after they were due"),
    Metric(name="unfinished_count", unit="1", better="low",
           description="Operations without an end when the run was over"),
    Metric(name="message_pairs_per_op", unit="1", better="low",
           description="Pairs of messages that an operation exchanges, counted at the socket"),
    Metric(name="connections_per_op", unit="1", better="low",
           description="Connections opened for an operation"),
    Metric(name="commits_per_op", unit="1",
           description="Commits that the database counts, per operation that clients count"),
    Metric(name="cpu_s_per_op", unit="s", better="low",
           description="Processor time of an operation in all processes: clients, servers, "
           "database, balancer and line"),
    Metric(name="database_kills", unit="1", better="low",
           description="Processes of the database that its limit of memory ended"),
    Metric(name="load_busy", unit="1", better="low",
           description="Busy share of the load's processes; near 1 they limit the result"),
    Metric(name="run_s", unit="s", better="low", description="Time from the start to the end"),
)  # fmt: skip


def metrics_for(config: Mapping[str, Value]) -> Iterator[Metric]:
    """Yield the metrics of a run of `config`."""
    yield from _OWN
    yield from observed_metrics("response_s")
    groups, limited = groups_for(config)
    yield from metrics_of(groups, limited, per_op=True)
    yield from postgres_metrics("service.db", per_op=True)


def groups_for(config: Mapping[str, Value]) -> tuple[list[str], list[str]]:
    """Return the observed groups of processes, and those whose processors are limited.

    Examples
    --------
    >>> point = {"case": 1, "architecture": "pool", "servers": 2, "server_cpus": 0.5, "rtt_s": 0.0,
    ...          "clients": 8, "processes": 1}
    >>> groups_for(point)[0]
    ['program', 'service.db', 'service.amga1', 'service.amga2', 'service.balancer']
    """
    servers = [f"service.{name}" for name in server_names(config)]
    balancer = ["balancer"] if has_balancer(config) else []
    others = [f"service.{name}" for name in (*balancer, *line_names(config))]
    limited = servers if Served.of(config).server_cpus else []
    return [PROGRAM, "service.db", *servers, *others], limited


def server_names(config: Mapping[str, Value]) -> list[str]:
    """Return the names of the catalogue servers."""
    return [f"amga{number}" for number in range(1, Served.of(config).servers + 1)]


def line_names(config: Mapping[str, Value]) -> list[str]:
    """Return the names of the delaying lines: each has two open files for a client.

    Processes of the load share them, so there are no more lines than processes.
    """
    point = Served.of(config)
    if not point.rtt_s:
        return []
    count = min(-(-point.clients // _MOST_OF_A_LINE), point.processes)
    return [f"line{number or ''}" for number in range(count)]


def has_balancer(config: Mapping[str, Value]) -> bool:
    """Return whether connections are spread over several servers."""
    return Served.of(config).servers > 1 and not is_direct(config)


def is_direct(config: Mapping[str, Value]) -> bool:
    """Return whether clients connect to the database itself."""
    point = Served.of(config)
    return point.case == DIRECT or point.architecture == DATABASE_ALONE
