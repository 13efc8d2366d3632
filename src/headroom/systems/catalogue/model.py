"""A metadata catalogue as a queueing model: clients, a line, servers with workers, a database.

The sources of the constants are Ahn, Lee, Kim and Hwang (KISTI, about 2008), in this module "the
paper"; the layer's README names it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from headroom.errors import StudyError
from headroom.experiment.protocol.model_parameters import parameter, parameters_of
from headroom.experiment.protocol.system import Value
from headroom.simulation import (
    Distribution,
    Expression,
    Model,
    Pool,
    Program,
    Station,
    constant,
    exponential,
    maximum,
)

_ASSUMED = "assumed: a round number, until it is measured"
_PAPER = "Ahn et al., about 2008"
_PAIRS = f"{_PAPER}, section II.3, counts 7 or more for a new connection with TLS; others assumed"
_MS_PER_S = 1e3

TLS, TCP, LASTING, DIRECT = 1, 2, 3, 4
"""The paper's cases: a new connection with or without TLS, a lasting one, the database itself."""

_DATABASE_S = 0.00117
_LAN: dict[str, Value] = {
    "case": TLS,
    "clients": 16,  # paper, section II.1: at most 16 threads on a client node
    "think_s": 0.0,  # paper, section II.1: threads repeat operations continuously
    "pause_s": 0.0,  # paper, section II.1: no emulated line
    "rtt_s": 0.0001,  # paper, section II.3: 0.1 ms between machines of KISTI
    "pairs_tls": 7,  # paper, section II.3: 7 or more, by tcpdump
    "pairs_tcp": 6,  # assumed: one pair for TLS; invisible at 0.1 ms
    "pairs_lasting": 3,  # paper, section II.1: transaction, command, commit
    "pairs_direct": 4,  # paper, section II.1: the command is two statements
    "transaction_pairs": 1,  # has no effect without a pool
    "servers": 1,  # paper, section II.1; 1 to 4 in section II.2
    "server_cpus": 2,  # paper, section II.1: a Pentium D has two cores
    "database_cpus": 2,  # paper, section II.1: the same machine
    "workers": 130,  # paper, section II.1: MaxProcesses
    "pool": 0,  # paper, section II.3: a process keeps a connection of its own
    "balancing": "shortest_queue",  # assumed: the fewest connections, the default of LVS
    # Calibrated: the only two numbers that are. This one makes case 1 on one server saturate at
    # 2 / (8 x 1.17 ms) = 214/s; section II.3 says "some 200/s".
    "database_s": _DATABASE_S,
    # Calibrated: from 160/s with 512 processes in the WAN (section II.3).
    "switch_s": 0.88e-6,
    # Paper, section II.1: overheads of 80, 270 and 350% of direct access. As the database and a
    # server are equal machines, these are ratios of demands.
    "service_s": 1.8 * _DATABASE_S,
    "connect_s": 2.7 * _DATABASE_S,
    "tls_s": 3.5 * _DATABASE_S,
}
PAPER: Mapping[str, Value] = MappingProxyType(_LAN)
"""Parameters of the paper's measurements in the LAN (figures 1 and 3)."""

PAPER_WAN: Mapping[str, Value] = MappingProxyType(
    {
        **_LAN,
        "clients": 512,  # paper, section II.3: threads of one client node
        "workers": 512,  # paper, section II.3: MaxProcesses; 16 to 512 in figure 4
        "pause_s": 2.0,  # paper, section II.3: sleep(2) stands for 7 round trips of 300 ms
    }
)
"""Parameters of the paper's emulated WAN (figure 4): only load, processes and the sleep differ."""

Balancing = Literal["round_robin", "shortest_queue", "two_choices"]


def _time(description: str, source: str = _ASSUMED, *, low: float = 0) -> object:
    return parameter(unit="s", low=low, high=3600, source=source, description=description)


def _count(description: str, source: str = _ASSUMED, *, low: int = 1, high: int = 10_000) -> object:
    return parameter(unit="1", low=low, high=high, source=source, description=description)


def catalogue_model(
    *,
    case: Annotated[
        int,
        parameter(
            unit="1",
            choices=(TLS, TCP, LASTING, DIRECT),
            source=_PAPER,
            description="1: new TLS connection for each operation, 2: new TCP connection, "
            "3: lasting connection, 4: lasting connection to the database itself",
        ),
    ] = TLS,
    clients: Annotated[int, _count("Clients, closed loop", high=1_000_000)] = 16,
    think_s: Annotated[float, _time("Mean time between operations, without a worker")] = 0.0,
    pause_s: Annotated[float, _time("Pause inside an operation, which keeps its worker")] = 0.0,
    rtt_s: Annotated[float, _time("Round trip time of the line to the clients")] = 0.0001,
    pairs_tls: Annotated[int, _count("Message pairs of an operation, case 1", _PAIRS)] = 7,
    pairs_tcp: Annotated[int, _count("Message pairs of an operation, case 2", _PAIRS)] = 6,
    pairs_lasting: Annotated[int, _count("Message pairs of an operation, case 3", _PAIRS)] = 3,
    pairs_direct: Annotated[int, _count("Message pairs of an operation, case 4", _PAIRS)] = 4,
    transaction_pairs: Annotated[
        int, _count("Those of the pairs during which a connection of the pool is held", low=0)
    ] = 1,
    servers: Annotated[int, _count("Catalogue servers behind the balancer", high=1000)] = 1,
    server_cpus: Annotated[int, _count("Processors of a catalogue server", high=1024)] = 2,
    database_cpus: Annotated[int, _count("Processors of the database", high=1024)] = 2,
    workers: Annotated[
        int, _count("Operations that a server holds at once; 0: all", low=0, high=1_000_000)
    ] = 0,
    pool: Annotated[
        int, _count("Database connections of a server; 0: one for each worker", low=0)
    ] = 0,
    balancing: Annotated[
        Balancing,
        parameter(source=_ASSUMED, description="How the server of an operation is chosen"),
    ] = "shortest_queue",
    tls_s: Annotated[float, _time("Processor time of a server for a TLS handshake")] = 0.001,
    connect_s: Annotated[float, _time("Processor time of a server for a new connection")] = 0.0002,
    service_s: Annotated[
        float, _time("Processor time of a server for an operation itself", low=1e-8)
    ] = 0.0002,
    database_s: Annotated[
        float, _time("Processor time of the database for an operation", low=1e-8)
    ] = 0.0002,
    switch_s: Annotated[
        float,
        _time("Processor time that a message pair costs more for each worker beyond processors"),
    ] = 0.0,
) -> Model:
    """Return clients of a metadata catalogue: a line, balanced servers with workers, a database.

    An operation takes a worker of one server and keeps it to the end: for the handshakes
    (`connect_s`, `tls_s`), all round trips, the pause, the work (`service_s`) and the database
    (`database_s`). Processors are shared equally among all that want them.

    With M = message pairs x `rtt_s` + `pause_s`, D_s the processor time at a server and D_d that at
    the database, the throughput X is at most the least of clients / (think_s + M + D_s + D_d),
    servers x workers / (M + D_s + D_d), servers x server_cpus / D_s and database_cpus / D_d; with
    a pool also servers x pool / (service_s + database_s + transaction_pairs x rtt_s). Without
    workers, pool and switches, one server is product form, and mean value analysis is exact.

    Notes
    -----
    Each message pair lets a worker sleep once, and waking it costs more the more workers divide the
    caches and the scheduler's attention: `switch_s` for each worker held beyond the processors.
    So D_s grows by pairs x switch_s x (held - server_cpus), which is why more workers may do
    less. The number held is read when the work begins.

    Not expressed: memory, which limited the paper's database to fewer than 760 connections; that
    direct clients slow the database down if they are many; and in case 3, that a process of the
    paper stays with its connection between operations. Here an operation takes any free worker,
    of any server, so give case 3 as many workers as clients. The round trips pass before the
    work, instead of between its parts; only those of the transaction follow it.

    Raises
    ------
    StudyError
        A value is out of its range, or a transaction has more message pairs than its operation.

    Examples
    --------
    >>> from headroom.solvers import solve
    >>> slow, fast = (solve(catalogue_model(case=case, clients=1, rtt_s=0.3)) for case in (1, 3))
    >>> round(1 / slow.throughput_per_s, 4), round(1 / fast.throughput_per_s, 4)
    (2.1016, 0.9004)
    """
    _check(dict(locals()))
    pairs = {TLS: pairs_tls, TCP: pairs_tcp, LASTING: pairs_lasting, DIRECT: pairs_direct}[case]
    if transaction_pairs > pairs:
        raise StudyError(
            f"a transaction has {transaction_pairs} message pairs, its operation only {pairs}",
            cure="lower 'transaction_pairs', or raise the message pairs of the case",
        )
    model = Model("catalogue", time_unit="ms")
    work = _Work(
        opening_s=(connect_s if case in {TLS, TCP} else 0.0) + (tls_s if case == TLS else 0.0),
        travel_s=(pairs - transaction_pairs) * rtt_s + pause_s,
        service_s=service_s,
        switch_s=pairs * switch_s,
        database_s=database_s,
        commit_s=transaction_pairs * rtt_s,
        database=model.station("database", servers=database_cpus, discipline="ps"),
    )
    operation = model.program("operation")
    if case == DIRECT:
        _direct(operation, work)
    else:
        # Without any of these nobody asks who holds a worker, and the model stays product form.
        tokens = workers or (clients if switch_s or servers > 1 else 0)
        made = [_server(model, number, server_cpus, tokens, pool) for number in range(servers)]
        _balanced(model, operation, made, balancing, work)
        if switch_s:
            model.counted_by_hand(
                highest_throughput=_highest_per_s(made, work, clients, think_s) / _MS_PER_S,
                why="the work takes longer the more workers are held, which formulas do not know",
            )
    think = exponential(_MS_PER_S * think_s) if think_s else None
    model.closed_class("clients", operation, population=clients, think=think)
    return model


def _check(config: Mapping[str, Value]) -> None:
    """Refuse values out of range; studies do it before, direct callers rely on this."""
    for declared in parameters_of(catalogue_model):
        declared.check(config[declared.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What an operation needs (s), in its order; `switch_s` is for each other worker held."""

    opening_s: float
    travel_s: float
    service_s: float
    switch_s: float
    database_s: float
    commit_s: float
    database: Station


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    cpu: Station
    workers: Pool | None
    connections: Pool | None


def _server(model: Model, number: int, cpus: int, workers: int, connections: int) -> _Server:
    with model.inside(f"server {number + 1}"):
        return _Server(
            cpu=model.station("cpu", servers=cpus, discipline="ps"),
            workers=model.pool("workers", tokens=workers) if workers else None,
            connections=model.pool("connections", tokens=connections) if connections else None,
        )


def _direct(operation: Program, work: _Work) -> None:
    _pass(operation, work.travel_s)
    operation.use(work.database, exponential(_MS_PER_S * work.database_s))
    _pass(operation, work.commit_s)


def _balanced(
    model: Model, operation: Program, servers: list[_Server], balancing: Balancing, work: _Work
) -> None:
    """Let a server do the operation, the one with the fewest connections unless in turn."""
    if len(servers) == 1:
        _served(model, operation, servers[0], work)
        return
    with operation.branch(balancing) as branch:
        for server in servers:
            with branch.case(of=None if balancing == "round_robin" else server.workers):
                _served(model, operation, server, work)


def _served(model: Model, operation: Program, server: _Server, work: _Work) -> None:
    """Write the operation at one server, which holds a worker from beginning to end."""
    with _held(operation, server.workers):
        if work.opening_s:
            operation.use(server.cpu, exponential(_MS_PER_S * work.opening_s))
        _pass(operation, work.travel_s)
        with _held(operation, server.connections):
            operation.use(server.cpu, _service(model, server, work))
            operation.use(work.database, exponential(_MS_PER_S * work.database_s))
            _pass(operation, work.commit_s)


def _service(model: Model, server: _Server, work: _Work) -> Distribution | Expression:
    """Return the time (ms) of the work, with what it costs that others hold workers too."""
    service = exponential(_MS_PER_S * work.service_s)
    if not work.switch_s or server.workers is None:
        return service
    held = model.tokens(server.workers) - model.free(server.workers)
    return service + _MS_PER_S * work.switch_s * maximum(0, held - server.cpu.servers)


def _highest_per_s(servers: list[_Server], work: _Work, clients: int, think_s: float) -> float:
    """Return the bound of the throughput (1/s) if switches were free; they only lower it."""
    cpu_s = work.opening_s + work.service_s
    open_s = work.service_s + work.database_s + work.commit_s
    hold_s = work.opening_s + work.travel_s + open_s
    limits = [clients / (think_s + hold_s), work.database.servers / work.database_s]
    for pool, time_s in ((servers[0].workers, hold_s), (servers[0].connections, open_s)):
        if pool:
            limits.append(len(servers) * pool.tokens / time_s)
    return min(*limits, len(servers) * servers[0].cpu.servers / cpu_s)


def _held(operation: Program, pool: Pool | None) -> AbstractContextManager[object]:
    return operation.holding(pool) if pool else nullcontext()


def _pass(operation: Program, time_s: float) -> None:
    if time_s:
        operation.delay(constant(_MS_PER_S * time_s))
