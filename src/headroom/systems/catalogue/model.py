"""A metadata catalogue as a queueing model: clients, a line, servers with workers, databases."""

from collections.abc import Mapping
from typing import Annotated, Literal

from headroom.errors import StudyError
from headroom.experiment.protocol.model_parameters import parameter, parameters_of
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

Operation = Literal["query", "insert"]


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
    server_cpus: Annotated[
        float,
        parameter(
            unit="1",
            low=0,
            high=1024,
            source=_ASSUMED,
            description="Processors of a catalogue server; a part of one is a limit, "
            "0: those of the common machine",
        ),
    ] = 2,
    databases: Annotated[
        int, _count("Database servers, among which directories are spread evenly", high=100)
    ] = 1,
    database_cpus: Annotated[int, _count("Processors of a database server", high=1024)] = 2,
    machine_cpus: Annotated[
        int,
        _count(
            "Processors that clients, servers and databases share; 0: machines of their own",
            low=0,
            high=1024,
        ),
    ] = 0,
    machine_share: Annotated[
        float,
        parameter(
            unit="1",
            low=0.001,
            high=1,
            source=_ASSUMED,
            description="Share of the common machine that other programs leave",
        ),
    ] = 1.0,
    workers: Annotated[
        int, _count("Operations that a server holds at once; 0: all", low=0, high=1_000_000)
    ] = 0,
    pool: Annotated[
        int, _count("Connections of a server to each database; 0: one for each worker", low=0)
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
    operation: Annotated[
        Operation,
        parameter(unit="", source=_PAPER, description="Look up a pair, or insert one"),
    ] = "query",
    client_s: Annotated[float, _time("Processor time of the client for an operation")] = 0.0,
    client_connect_s: Annotated[float, _time("The same for a new connection")] = 0.0,
    client_tls_s: Annotated[float, _time("The same for a TLS handshake")] = 0.0,
    login_s: Annotated[
        float, _time("Processor time of the database for a login by certificate, case 1")
    ] = 0.0,
    direct_s: Annotated[
        float, _time("Processor time of the database that case 4 needs more than case 3")
    ] = 0.0,
    insert_s: Annotated[
        float, _time("Processor time of the database that an insertion needs more than a query")
    ] = 0.0,
    log_s: Annotated[
        float, _time("Flush of the database's log, for all insertions that wait; 0: none")
    ] = 0.0,
    line_s: Annotated[
        float, _time("Processor time that an operation costs a delaying proxy, with a line")
    ] = 0.0,
) -> Model:
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
    _check(dict(locals()))
    pairs = {TLS: pairs_tls, TCP: pairs_tcp, LASTING: pairs_lasting, DIRECT: pairs_direct}[case]
    if not (server_cpus or machine_cpus or case == DIRECT):
        raise StudyError(
            "server_cpus = 0 means those of a common machine, but there is none",
            cure="give `server_cpus`, or `machine_cpus`",
        )
    if transaction_pairs > pairs:
        raise StudyError(
            f"a transaction has {transaction_pairs} message pairs, its operation only {pairs}",
            cure="lower 'transaction_pairs', or raise the message pairs of the case",
        )
    is_new, is_tls, is_insertion = case in {TLS, TCP}, case == TLS, operation == "insert"
    work = Work(
        client_s=client_s
        + is_new * client_connect_s
        + is_tls * client_tls_s
        + (line_s if rtt_s and machine_cpus else 0.0),
        opening_s=is_new * connect_s + is_tls * tls_s,
        travel_s=(pairs - transaction_pairs) * rtt_s + pause_s,
        service_s=service_s if case != DIRECT else 0.0,
        switch_s=pairs * switch_s,
        database_s=database_s
        + is_tls * login_s
        + (case == DIRECT) * direct_s
        + is_insertion * insert_s,
        commit_s=transaction_pairs * rtt_s,
        log_s=is_insertion * log_s,
    )
    sizes = Sizes(
        servers=servers if case != DIRECT else 0,
        server_cpus=server_cpus,
        databases=databases,
        database_cpus=database_cpus,
        machine_cpus=machine_cpus,
        machine_share=machine_share,
        # Without any of these no caller asks who holds a worker: the model stays product form.
        workers=workers or (clients if switch_s or servers > 1 else 0),
        pool=pool,
    )
    model = Model("catalogue", time_unit="ms")
    program = model.program("operation")
    Site.of(model, sizes, has_log=work.log_s > 0).write(model, program, balancing, work)
    if switch_s and case != DIRECT:
        model.counted_by_hand(
            highest_throughput=highest_per_s(sizes, work, clients, think_s) / MS_PER_S,
            why="the work takes longer the more workers are held, which formulas do not know",
        )
    think = exponential(MS_PER_S * think_s) if think_s else None
    model.closed_class("clients", program, population=clients, think=think)
    return model


def _check(config: Mapping[str, Value]) -> None:
    """Refuse values out of range; studies do it before, direct callers rely on this."""
    for declared in parameters_of(catalogue_model):
        declared.check(config[declared.name])
