"""Named textbook models, as starting points and as checks of the laboratory.

Each docstring gives the formula that the simulation must agree with; the tests next to it verify
that. Sources: Kleinrock, *Queueing Systems*, volume 1 (1975); Lazowska, Zahorjan, Graham and
Sevcik, *Quantitative System Performance* (1984).
"""

from contextlib import nullcontext
from typing import Annotated

from headroom.experiment.protocol.model_parameters import parameter
from headroom.simulation import Model, Program, Station, exponential, from_moments
from headroom.simulation.checks.check import SHORTEST_MEAN
from headroom.simulation.language.model import SECONDS_PER_UNIT, TimeUnit

_TEXTBOOK = "assumed: a round number, as in textbooks"

ServiceTime = Annotated[
    float,
    parameter(
        unit="s", low=1e-6, high=3600, source=_TEXTBOOK, description="Mean service time of a job"
    ),
]
Utilization = Annotated[
    float,
    parameter(
        unit="1",
        low=0.001,
        high=0.999,
        source=_TEXTBOOK,
        description="Offered load of each server, arrival rate x service time / servers",
    ),
]


def mm1(*, utilization: Utilization = 0.8, service_s: ServiceTime = 0.01) -> Model:
    """Return M/M/1: random arrivals, random service times, one server.

    Mean response time R = S / (1 - U); mean number of jobs N = U / (1 - U).
    """
    return mmc(servers=1, utilization=utilization, service_s=service_s)


def mmc(
    *,
    servers: Annotated[
        int,
        parameter(unit="1", low=1, high=10_000, source=_TEXTBOOK, description="Equal servers"),
    ] = 4,
    utilization: Utilization = 0.8,
    service_s: ServiceTime = 0.01,
) -> Model:
    """Return M/M/c: random arrivals, random service times, c servers with one queue.

    With a = c U and C = (a^c / c!) / ((1 - U) sum of a^k / k! for k < c + a^c / c!) the
    probability of waiting (Erlang C), the mean response time is R = S + C S / (c (1 - U)).
    """
    interarrival_s = service_s / (servers * utilization)
    unit = _unit_of(interarrival_s)
    unit_s = SECONDS_PER_UNIT[unit]
    model = Model("M/M/c", time_unit=unit)
    station = model.station("server", servers=servers)
    job = model.program("job")
    job.use(station, exponential(service_s / unit_s))
    model.open_class("jobs", job, interarrival=exponential(interarrival_s / unit_s))
    return model


def _unit_of(interarrival_s: float) -> TimeUnit:
    """Return a unit in which the clock resolves the arrivals and lasts for 20,000 of them."""
    if interarrival_s < SHORTEST_MEAN:
        return "us"
    return "s" if interarrival_s <= SECONDS_PER_UNIT["h"] else "h"


def central_server(
    *,
    jobs: Annotated[
        int,
        parameter(unit="1", low=1, high=100_000, source=_TEXTBOOK, description="Jobs in memory"),
    ] = 16,
    cpus: Annotated[
        int, parameter(unit="1", low=1, high=1024, source=_TEXTBOOK, description="CPUs, one queue")
    ] = 1,
    disks: Annotated[
        int,
        parameter(unit="1", low=1, high=1024, source=_TEXTBOOK, description="Disks, a queue each"),
    ] = 4,
    accesses: Annotated[
        int,
        parameter(unit="1", low=1, high=10_000, source=_TEXTBOOK, description="Accesses per job"),
    ] = 10,
    cpu_s: Annotated[
        float,
        parameter(unit="s", low=1e-6, high=10, source=_TEXTBOOK, description="CPU per access"),
    ] = 0.002,
    disk_s: Annotated[
        float,
        parameter(unit="s", low=1e-6, high=10, source=_TEXTBOOK, description="Time of an access"),
    ] = 0.01,
) -> Model:
    """Return the central-server model: jobs alternate between CPUs and one of the disks.

    Buzen (1973). Demands D_cpu = accesses x cpu_s and D_disk = accesses x disk_s / disks; the
    throughput X never exceeds min(cpus / D_cpu, 1 / D_disk). With one CPU mean value analysis is
    exact: R_i(n) = D_i (1 + N_i(n-1)), X(n) = n / sum R_i(n), N_i(n) = X(n) R_i(n).
    """
    model = Model("central server", time_unit="s")
    cpu = model.station("cpu", servers=cpus)
    stations = [model.station(f"disk{number}") for number in range(1, disks + 1)]
    job = model.program("job")
    with job.loop(accesses):
        job.use(cpu, exponential(cpu_s))
        _use_any(job, stations, disk_s)
    model.closed_class("jobs", job, population=jobs)
    return model


def interactive(
    *,
    users: Annotated[
        int,
        parameter(unit="1", low=1, high=1_000_000, source=_TEXTBOOK, description="Users"),
    ] = 20,
    think_s: Annotated[
        float,
        parameter(unit="s", low=0, high=86_400, source=_TEXTBOOK, description="Mean think time"),
    ] = 1.0,
    service_s: ServiceTime = 0.05,
    servers: Annotated[
        int,
        parameter(unit="1", low=1, high=10_000, source=_TEXTBOOK, description="Equal servers"),
    ] = 1,
    service_c2: Annotated[
        float,
        parameter(
            unit="1",
            low=0,
            high=100,
            source=_TEXTBOOK,
            description="Squared coefficient of variation of the service time",
        ),
    ] = 1.0,
    delay_s: Annotated[
        float,
        parameter(
            unit="s",
            low=0,
            high=86_400,
            source=_TEXTBOOK,
            description="Time of a request outside the servers, where nobody waits",
        ),
    ] = 0.0,
) -> Model:
    """Return users at terminals who share servers with one queue: think, ask, wait, think again.

    The machine repairman model. Interactive response time law R = users / X - think_s; the
    asymptotes of the throughput X cross at users* = servers (think_s + service_s) / service_s.
    """
    shortest = min(think_s or service_s, service_s)
    unit: TimeUnit = "s" if shortest >= SHORTEST_MEAN else "us"
    unit_s = SECONDS_PER_UNIT[unit]
    model = Model("interactive", time_unit=unit)
    server = model.station("server", servers=servers)
    request = model.program("request")
    if delay_s:
        request.delay(delay_s / unit_s)
    request.use(server, from_moments(service_s / unit_s, service_c2))
    think = exponential(think_s / unit_s) if think_s else None
    model.closed_class("users", request, population=users, think=think)
    return model


def database(
    *,
    clients: Annotated[
        int,
        parameter(unit="1", low=1, high=100_000, source=_TEXTBOOK, description="Connections"),
    ] = 16,
    think_s: Annotated[
        float,
        parameter(unit="s", low=0, high=86_400, source=_TEXTBOOK, description="Mean think time"),
    ] = 0.01,
    servers: Annotated[
        int,
        parameter(unit="1", low=1, high=10_000, source=_TEXTBOOK, description="Processors"),
    ] = 2,
    service_s: Annotated[
        float,
        parameter(
            unit="s",
            low=1e-6,
            high=3600,
            source=_TEXTBOOK,
            description="Processor time of a transaction, apart from that with the hot row",
        ),
    ] = 0.0002,
    lock_s: Annotated[
        float,
        parameter(
            unit="s",
            low=0,
            high=3600,
            source=_TEXTBOOK,
            description="Processor time of a transaction while it holds the hot row",
        ),
    ] = 0.0,
    flush_s: Annotated[
        float,
        parameter(
            unit="s", low=0, high=3600, source=_TEXTBOOK, description="Time of a flush of the log"
        ),
    ] = 0.0,
) -> Model:
    """Return clients of a database: processors, one hot row, a log with group commit.

    A transaction takes `service_s` of a processor, waits for the row that all update and takes
    `lock_s` while it holds it, if that is above 0, and commits: one flush of the log serves all who
    wait when it starts. The row is held until the commit, so the throughput X is at most
    min(servers / (service_s + lock_s), 1 / (lock_s + flush_s)); without the row, at most
    clients / flush_s, and half of that where the first to come back starts the next flush alone.
    """
    shortest = min(value for value in (think_s, service_s, lock_s, flush_s) if value)
    unit: TimeUnit = "s" if shortest >= SHORTEST_MEAN else "us"
    unit_s = SECONDS_PER_UNIT[unit]
    model = Model("database", time_unit=unit)
    cpu = model.station("cpu", servers=servers)
    transaction = model.program("transaction")
    transaction.use(cpu, exponential(service_s / unit_s))
    row = model.pool("row", tokens=1) if lock_s else None
    log = model.station("log", batch=(1, clients)) if flush_s else None
    with transaction.holding(row) if row else nullcontext():
        if lock_s:
            transaction.use(cpu, exponential(lock_s / unit_s))
        if log:
            transaction.use(log, flush_s / unit_s)
    think = exponential(think_s / unit_s) if think_s else None
    model.closed_class("clients", transaction, population=clients, think=think)
    return model


def _use_any(program: Program, stations: list[Station], service_s: float) -> None:
    """Visit one of the stations, each with the same probability."""
    with program.branch() as branch:
        for station in stations[:-1]:
            with branch.case(1 / len(stations)):
                program.use(station, exponential(service_s))
        with branch.otherwise():
            program.use(stations[-1], exponential(service_s))
