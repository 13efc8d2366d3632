"""The operation of a catalogue as a program of the kernel: its stations, pools and steps."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, TypeAlias

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

MS_PER_S = 1e3
_MOST_COMMITS = 1_000_000
_LEAST_LEFT = 0.1
"""Share of a common machine that limited servers leave to the others at least."""

Balancing: TypeAlias = Literal["round_robin", "shortest_queue", "two_choices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Needs of an operation (s), in its order; `switch_s` is for each other worker held."""

    client_s: float
    opening_s: float
    travel_s: float
    service_s: float
    switch_s: float
    database_s: float
    commit_s: float
    log_s: float

    @property
    def open_s(self) -> float:
        """Least time (s) that a connection of the pool is held."""
        return self.service_s + self.database_s + self.commit_s + self.log_s

    @property
    def hold_s(self) -> float:
        """Least time (s) that a worker is held."""
        return self.client_s + self.opening_s + self.travel_s + self.open_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much there is of everything.

    Parameters
    ----------
    server_cpus
        Processors of a server; 0: those of the common machine.
    machine_cpus, machine_share
        Processors of the common machine, and what other programs leave of them; 0: there is none.
    workers, pool
        Of a server, the latter for each database; 0: no limit.
    """

    servers: int
    server_cpus: float
    databases: int
    database_cpus: int
    machine_cpus: int
    machine_share: float
    workers: int
    pool: int

    @property
    def machine_left(self) -> float:
        """Processors of the common machine that limited servers leave."""
        whole = self.machine_cpus * self.machine_share
        return max(whole - self.servers * self.server_cpus, _LEAST_LEFT * whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Database:
    cpu: Station
    log: Station | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    cpu: Station
    workers: Pool | None
    connections: Sequence[Pool | None]


@dataclass(frozen=True, slots=True)
class Site:
    """Machines of a catalogue, as stations and pools of `model`."""

    machine: Station | None
    databases: Sequence[_Database]
    servers: Sequence[_Server]

    @classmethod
    def of(cls, model: Model, sizes: Sizes, *, has_log: bool) -> "Site":
        """Return the stations and pools."""
        machine = None
        if sizes.machine_cpus:
            machine = _cpus(model, "machine", sizes.machine_left, sizes.machine_cpus)
        databases = []
        for name in _numbered("database", sizes.databases):
            cpu = machine or _cpus(model, name, sizes.database_cpus)
            batch = (1, _MOST_COMMITS)
            databases.append(
                _Database(
                    cpu=cpu,
                    log=model.station(f"log of {name}", batch=batch) if has_log else None,
                )
            )
        servers = []
        for number in range(sizes.servers):
            inside = model.inside(f"server {number + 1}") if sizes.servers > 1 else nullcontext()
            with inside:
                servers.append(_server(model, sizes, machine))
        return cls(machine, databases, servers)

    def write(self, model: Model, operation: Program, balancing: Balancing, work: Work) -> None:
        """Let a server do the operation, the one with the fewest connections unless in turn."""
        if not self.servers:
            self._at_client(operation, work)
            _pass(operation, work.travel_s)
            self._at_a_database(operation, [None] * len(self.databases), work, None)
        elif len(self.servers) == 1:
            self._served(model, operation, self.servers[0], work)
        else:
            with operation.branch(balancing) as branch:
                for server in self.servers:
                    with branch.case(of=None if balancing == "round_robin" else server.workers):
                        self._served(model, operation, server, work)

    def _served(self, model: Model, operation: Program, server: _Server, work: Work) -> None:
        """Write the operation at one server, which holds a worker from beginning to end."""
        with _held(operation, server.workers):
            self._at_client(operation, work)
            if work.opening_s:
                operation.use(server.cpu, exponential(MS_PER_S * work.opening_s))
            _pass(operation, work.travel_s)
            use = (server.cpu, _service(model, server, work))
            self._at_a_database(operation, server.connections, work, use)

    def _at_client(self, operation: Program, work: Work) -> None:
        if self.machine is None:
            _pass(operation, work.client_s)
        elif work.client_s:
            operation.use(self.machine, exponential(MS_PER_S * work.client_s))

    def _at_a_database(
        self,
        operation: Program,
        connections: Sequence[Pool | None],
        work: Work,
        service: tuple[Station, Distribution | Expression] | None,
    ) -> None:
        """Hold a connection for the work at one database; directories are spread evenly."""
        for database, connection in _one_of(
            operation, [*zip(self.databases, connections, strict=True)]
        ):
            with _held(operation, connection):
                if service:
                    operation.use(*service)
                operation.use(database.cpu, exponential(MS_PER_S * work.database_s))
                _pass(operation, work.commit_s)
                if database.log:
                    operation.use(database.log, constant(MS_PER_S * work.log_s))


def highest_per_s(sizes: Sizes, work: Work, clients: int, think_s: float) -> float:
    """Return the bound of the throughput (1/s) if switches were free; they only lower it."""
    cpu_s = work.opening_s + work.service_s
    limits = [clients / (think_s + work.hold_s)]
    if sizes.server_cpus:
        limits.append(sizes.servers * sizes.server_cpus / cpu_s)
    if sizes.machine_cpus:
        served_s = 0.0 if sizes.server_cpus else cpu_s
        limits.append(sizes.machine_left / (work.client_s + served_s + work.database_s))
    else:
        limits.append(sizes.databases * sizes.database_cpus / work.database_s)
    if sizes.workers:
        limits.append(sizes.servers * sizes.workers / work.hold_s)
    if sizes.pool:
        limits.append(sizes.servers * sizes.databases * sizes.pool / work.open_s)
    return min(limits)


def _server(model: Model, sizes: Sizes, machine: Station | None) -> _Server:
    name = "cpu" if sizes.servers > 1 else "server"
    own = _cpus(model, name, sizes.server_cpus) if sizes.server_cpus else machine
    if own is None:
        raise ValueError("a server needs processors")
    names = _numbered("connections", sizes.databases)
    return _Server(
        cpu=own,
        workers=model.pool("workers", tokens=sizes.workers) if sizes.workers else None,
        connections=[model.pool(n, tokens=sizes.pool) if sizes.pool else None for n in names],
    )


def _cpus(model: Model, name: str, cpus: float, most: int = 0) -> Station:
    """Return shared processors; a part of one is a slow one, as a quota makes it."""
    count = most or max(math.ceil(cpus), 1)
    speeds = None if cpus == count else [cpus / count] * count
    return model.station(name, servers=count, discipline="ps", speeds=speeds)


def _numbered(name: str, count: int) -> list[str]:
    """Return one name for each, without a number if there is one.

    Examples
    --------
    >>> _numbered("database", 1), _numbered("database", 2)
    (['database'], ['database 1', 'database 2'])
    """
    return [name] if count == 1 else [f"{name} {number + 1}" for number in range(count)]


def _one_of(
    operation: Program, databases: Sequence[tuple[_Database, Pool | None]]
) -> Iterator[tuple[_Database, Pool | None]]:
    """Yield each database inside the case of a branch that leads to it."""
    if len(databases) == 1:
        yield databases[0]
        return
    with operation.branch() as branch:
        for one in databases:
            with branch.case(1 / len(databases)):
                yield one


def _service(model: Model, server: _Server, work: Work) -> Distribution | Expression:
    """Return the time (ms) of the work, with what it costs that others hold workers too."""
    service = exponential(MS_PER_S * work.service_s)
    if not work.switch_s or server.workers is None:
        return service
    held = model.tokens(server.workers) - model.free(server.workers)
    return service + MS_PER_S * work.switch_s * maximum(0, held - server.cpu.servers)


def _held(operation: Program, pool: Pool | None) -> AbstractContextManager[object]:
    return operation.holding(pool) if pool else nullcontext()


def _pass(operation: Program, time_s: float) -> None:
    if time_s:
        operation.delay(constant(MS_PER_S * time_s))
