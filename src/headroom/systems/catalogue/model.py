"""A metadata catalogue as a queueing model: clients, a line, servers with workers, databases."""

from typing import Annotated, Literal, TypeAlias

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Value
from headroom.simulation import Model, exponential
from headroom.systems.catalogue.operation import (
    MS_PER_S,
    Balancing,
    Site,
    Sizes,
    Work,
    highest_per_s,
)

_ASSUMED = "assumed: a round number, until it is measured"
_PAPER = "Ahn et al., about 2008"
_PAIRS = f"{_PAPER}, section II.3, counts 7 or more for a new connection with TLS; others assumed"

TLS, TCP, LASTING, DIRECT = 1, 2, 3, 4
"""The paper's cases: a new connection with or without TLS, a lasting one, the database itself."""

_Time: TypeAlias = Annotated[float, parameter(unit="s", low=0, high=3600, source=_ASSUMED)]
_Work: TypeAlias = Annotated[float, parameter(unit="s", low=1e-8, high=3600, source=_ASSUMED)]
_Pairs: TypeAlias = Annotated[int, parameter(low=1, high=10_000, source=_PAIRS)]


class Catalogue(Declared, frozen=True, kw_only=True):
    """Clients, line, servers and databases."""

    case: Annotated[int, parameter(choices=(TLS, TCP, LASTING, DIRECT), source=_PAPER)] = TLS
    """1: new TLS connection for each operation, 2: new TCP connection, 3: lasting connection, 4:
    lasting connection to the database itself"""
    clients: Annotated[int, parameter(low=1, high=1_000_000, source=_ASSUMED)] = 16
    """Clients, closed loop"""
    think_s: _Time = 0.0
    """Mean time between operations, without a worker"""
    pause_s: _Time = 0.0
    """Pause inside an operation, which keeps its worker"""
    rtt_s: _Time = 0.0001
    """Round trip time of the line to the clients"""
    pairs_tls: _Pairs = 7
    """Message pairs of an operation, case 1"""
    pairs_tcp: _Pairs = 6
    """Message pairs of an operation, case 2"""
    pairs_lasting: _Pairs = 3
    """Message pairs of an operation, case 3"""
    pairs_direct: _Pairs = 4
    """Message pairs of an operation, case 4"""
    transaction_pairs: Annotated[int, parameter(low=0, high=10_000, source=_ASSUMED)] = 1
    """Those of the pairs during which a connection of the pool is held"""
    servers: Annotated[int, parameter(low=1, high=1000, source=_ASSUMED)] = 1
    """Catalogue servers behind the balancer"""
    server_cpus: Annotated[float, parameter(low=0, high=1024, source=_ASSUMED)] = 2
    """Processors of a catalogue server; a part of one is a limit, 0: those of the common machine"""
    databases: Annotated[int, parameter(low=1, high=100, source=_ASSUMED)] = 1
    """Database servers, among which directories are spread evenly"""
    database_cpus: Annotated[int, parameter(low=1, high=1024, source=_ASSUMED)] = 2
    """Processors of a database server"""
    machine_cpus: Annotated[int, parameter(low=0, high=1024, source=_ASSUMED)] = 0
    """Processors that clients, servers and databases share; 0: machines of their own"""
    machine_share: Annotated[float, parameter(low=0.001, high=1, source=_ASSUMED)] = 1.0
    """Share of the common machine that other programs leave"""
    workers: Annotated[int, parameter(low=0, high=1_000_000, source=_ASSUMED)] = 0
    """Operations that a server holds at once; 0: all"""
    pool: Annotated[int, parameter(low=0, high=10_000, source=_ASSUMED)] = 0
    """Connections of a server to each database; 0: one for each worker"""
    balancing: Annotated[Balancing, parameter(source=_ASSUMED)] = "shortest_queue"
    """How the server of an operation is chosen"""
    tls_s: _Time = 0.001
    """Processor time of a server for a TLS handshake"""
    connect_s: _Time = 0.0002
    """Processor time of a server for a new connection"""
    service_s: _Work = 0.0002
    """Processor time of a server for an operation itself"""
    database_s: _Work = 0.0002
    """Processor time of the database for an operation"""
    switch_s: _Time = 0.0
    """Processor time that a message pair costs more for each worker beyond processors"""
    operation: Annotated[Literal["query", "insert"], parameter(source=_PAPER)] = "query"
    """Look up a pair, or insert one"""
    client_s: _Time = 0.0
    """Processor time of the client for an operation"""
    client_connect_s: _Time = 0.0
    """The same for a new connection"""
    client_tls_s: _Time = 0.0
    """The same for a TLS handshake"""
    login_s: _Time = 0.0
    """Processor time of the database for a login by certificate, case 1"""
    direct_s: _Time = 0.0
    """Processor time of the database that case 4 needs more than case 3"""
    insert_s: _Time = 0.0
    """Processor time of the database that an insertion needs more than a query"""
    log_s: _Time = 0.0
    """Flush of the database's log, for all insertions that wait; 0: none"""
    line_s: _Time = 0.0
    """Processor time that an operation costs a delaying proxy, with a line"""

    @property
    def pairs(self) -> int:
        """Message pairs of an operation."""
        by_case = (self.pairs_tls, self.pairs_tcp, self.pairs_lasting, self.pairs_direct)
        return by_case[self.case - 1]


def catalogue_model(**given: Value) -> Model:
    """Return clients of a metadata catalogue: a line, balanced servers with workers, databases.

    An operation takes a worker of one server and keeps it to the end: for the handshakes
    (`connect_s`, `tls_s`), all round trips, the pause, the work (`service_s`) and the database
    (`database_s`). Processors are shared equally among all that want them.

    With M = message pairs x `rtt_s` + `pause_s`, D_s the processor time at a server and D_d that at
    the database, the throughput X is at most the least of clients / (think_s + M + D_s + D_d),
    servers x workers / (M + D_s + D_d), servers x server_cpus / D_s and databases x database_cpus /
    D_d; with a pool also databases x servers x pool / (service_s + database_s + transaction_pairs x
    rtt_s + log_s). Without workers, pool, log and switches, one server is product form, and mean
    value analysis is exact.

    With `machine_cpus`, clients, servers and databases share one machine: X is at most machine_cpus
    x machine_share / (all processor times). Servers with `server_cpus` then have a limit, and the
    others what those limits leave. An insertion waits for a flush of the log after its commit: a
    flush takes all that wait, and those that come meanwhile wait for the next.

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
    of = Catalogue.checked(given)
    if not (of.server_cpus or of.machine_cpus or of.case == DIRECT):
        raise StudyError(
            "server_cpus = 0 means those of a common machine, but there is none",
            cure="give `server_cpus`, or `machine_cpus`",
        )
    if of.transaction_pairs > of.pairs:
        raise StudyError(
            f"a transaction has {of.transaction_pairs} message pairs, its operation only "
            f"{of.pairs}",
            cure="lower 'transaction_pairs', or raise the message pairs of the case",
        )
    work, sizes = _work(of), _sizes(of)
    model = Model("catalogue", time_unit="ms")
    program = model.program("operation")
    Site.of(model, sizes, has_log=work.log_s > 0).write(model, program, of.balancing, work)
    if of.switch_s and of.case != DIRECT:
        model.counted_by_hand(
            highest_throughput=highest_per_s(sizes, work, of.clients, of.think_s) / MS_PER_S,
            why="the work takes longer the more workers are held, which formulas do not know",
        )
    think = exponential(MS_PER_S * of.think_s) if of.think_s else None
    model.closed_class("clients", program, population=of.clients, think=think)
    return model


catalogue_model.parameters = declared_by(Catalogue)  # type: ignore[attr-defined]


def _work(of: Catalogue) -> Work:
    """Return the times of an operation."""
    is_new, is_tls, is_insertion = of.case in {TLS, TCP}, of.case == TLS, of.operation == "insert"
    return Work(
        client_s=of.client_s
        + is_new * of.client_connect_s
        + is_tls * of.client_tls_s
        + (of.line_s if of.rtt_s and of.machine_cpus else 0.0),
        opening_s=is_new * of.connect_s + is_tls * of.tls_s,
        travel_s=(of.pairs - of.transaction_pairs) * of.rtt_s + of.pause_s,
        service_s=of.service_s if of.case != DIRECT else 0.0,
        switch_s=of.pairs * of.switch_s,
        database_s=of.database_s
        + is_tls * of.login_s
        + (of.case == DIRECT) * of.direct_s
        + is_insertion * of.insert_s,
        commit_s=of.transaction_pairs * of.rtt_s,
        log_s=is_insertion * of.log_s,
    )


def _sizes(of: Catalogue) -> Sizes:
    """Return how much there is of everything."""
    return Sizes(
        servers=of.servers if of.case != DIRECT else 0,
        server_cpus=of.server_cpus,
        databases=of.databases,
        database_cpus=of.database_cpus,
        machine_cpus=of.machine_cpus,
        machine_share=of.machine_share,
        # Without any of these no caller asks who holds a worker: the model stays product form.
        workers=of.workers or (of.clients if of.switch_s or of.servers > 1 else 0),
        pool=of.pool,
    )
