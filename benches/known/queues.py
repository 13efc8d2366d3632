"""Subjects of the reference with one station: waiting, loss, priorities, limited room."""

import math
from collections.abc import Callable

from benches.known.chains import birth_death
from benches.known.formulas import (
    cobham_waits,
    erlang_b,
    erlang_c,
    mg1_wait,
    mmc_wait,
    preemptive_responses,
)
from benches.known.subject import (
    Answer,
    Subject,
    class_wait,
    mean_of,
    percentile,
    responds,
    response,
    share_of,
    visits_for_each,
    wait,
)
from headroom.simulation import (
    ArrivalProcess,
    Distribution,
    Model,
    Program,
    Station,
    constant,
    erlang,
    exponential,
    hyperexponential,
)

SERVER = "server"
KLEINROCK = "Kleinrock 1975"


def subjects() -> list[Subject]:
    """Return the subjects, in the order of the reference."""
    lines = [mm1()]
    lines += [mmc(*row) for row in MMC]
    lines += [loss(*row) for row in LOSS]
    lines += [mg1(*row) for row in MG1]
    lines += [limited_room(*row) for row in ROOM]
    return [*lines, priorities(), preemption()]


def queue(
    service: Distribution,
    interarrival: Distribution | ArrivalProcess,
    add: Callable[[Model], Station] = lambda model: model.station(SERVER),
) -> Model:
    """Return one station that jobs visit once; they are the class ``jobs``."""
    model = Model("queue", time_unit="s")
    visit = model.program("visit")
    visit.use(add(model), service)
    model.open_class("jobs", visit, interarrival=interarrival)
    return model


def mm1() -> Subject:
    """M/M/1 at 0.8."""
    of = f"exponential of mean 1/(1-rho), {KLEINROCK}"
    return Subject(
        model="M/M/1",
        parameters="load 0.8",
        build=lambda: queue(exponential(1), exponential(1.25)),
        answers=(
            responds(5.0, of, printed="5"),
            Answer(quantity="wait", value=4.0, source="response less service",
                   statistic=wait(SERVER), printed="4"),
            Answer(quantity="jobs", value=4.0, source="Little's law",
                   statistic=mean_of("jobs_s", SERVER), printed="4"),
            Answer(quantity="response p95", value=-5 * math.log(0.05), source=of,
                   statistic=percentile(0.95), printed="14.9787"),
            Answer(quantity="response p99", value=-5 * math.log(0.01), source=of,
                   statistic=percentile(0.99), printed="23.0259"),
        ),
    )  # fmt: skip


MMC = (
    (2, 0.8, 100_000, "1.777778", "0.711111"),
    (4, 0.9, 100_000, "1.969383", "0.787753"),
    (8, 0.7, 100_000, "0.112751", "0.270603"),
    (16, 0.95, 60_000, "0.975241", "0.780192"),
)


def mmc(servers: int, load: float, measured_s: float, waits: str, waiting: str) -> Subject:
    """M/M/c: wait, and the share of jobs that find all servers busy, as they see it."""

    def build() -> Model:
        model = Model("M/M/c", time_unit="s")
        server = model.station(SERVER, servers=servers)
        late = model.station("found all busy", discipline="infinite")
        visit = model.program("visit")
        with visit.branch() as branch, branch.when(model.jobs(server) >= servers):
            visit.use(late, 0)
        visit.use(server, exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(1 / (servers * load)))
        return model

    return Subject(
        model=f"M/M/{servers}",
        parameters=f"load {load:g}",
        build=build,
        measured_s=measured_s,
        answers=(
            Answer(quantity="wait", value=mmc_wait(servers, servers * load), source="Erlang 1917",
                   statistic=wait(SERVER), printed=waits),
            Answer(quantity="share that waits", value=erlang_c(servers, servers * load),
                   source="Erlang C, 1917", statistic=visits_for_each("found all busy", SERVER),
                   printed=waiting),
        ),
    )  # fmt: skip


LOSS = ((5, 3.0, "0.110054"), (10, 8.0, "0.121661"))


def loss(servers: int, load: float, lost: str) -> Subject:
    """M/M/c/c."""
    return Subject(
        model=f"M/M/{servers}/{servers}",
        parameters=f"offered {load:g}",
        build=lambda: queue(exponential(1), exponential(1 / load), lambda model: model.station(
            SERVER, servers=servers, buffer=0, when_full="reject")),
        measured_s=50_000,
        answers=(
            Answer(quantity="share lost", value=erlang_b(servers, load), source="Erlang B, 1917",
                   statistic=share_of("lost_count"), printed=lost),
        ),
    )  # fmt: skip


MG1 = (
    ("M/D/1", constant(1), 0.0, "2"),
    ("M/E2/1", erlang(1, stages=2), 0.5, "3"),
    ("M/H2/1, c2 4", hyperexponential(1, c2=4), 4.0, "10"),
)


def mg1(name: str, service: Distribution, c2: float, waits: str) -> Subject:
    """M/G/1 at 0.8."""
    return Subject(
        model=name,
        parameters="load 0.8",
        build=lambda: queue(service, exponential(1.25)),
        measured_s=200_000 if c2 > 1 else 100_000,
        answers=(
            Answer(quantity="wait", value=mg1_wait(0.8, 1, c2), source="Pollaczek 1930",
                   statistic=wait(SERVER), printed=waits),
        ),
    )  # fmt: skip


ROOM = (
    (5, "0.088819", "1.868332", "2.563065"),
    (10, "0.023493", "2.966314", "3.797098"),
)


def limited_room(places: int, lost: str, jobs: str, stays: str) -> Subject:
    """M/M/1/K at 0.8; K counts the job in service."""
    shares = birth_death(lambda _: 0.8, lambda _: 1.0, places)
    inside = sum(number * share for number, share in enumerate(shares))
    return Subject(
        model=f"M/M/1/{places}",
        parameters="load 0.8",
        build=lambda: queue(exponential(1), exponential(1.25), lambda model: model.station(
            SERVER, buffer=places - 1, when_full="reject")),
        answers=(
            Answer(quantity="share lost", value=shares[-1], source=f"birth-death, {KLEINROCK}",
                   statistic=share_of("lost_count"), printed=lost),
            Answer(quantity="jobs", value=inside, source=f"birth-death, {KLEINROCK}",
                   statistic=mean_of("jobs_s", SERVER), printed=jobs),
            responds(inside / (0.8 * (1 - shares[-1])), "Little's law", printed=stays),
        ),
    )  # fmt: skip


def ranked(
    discipline: str, laws: tuple[tuple[float, Distribution], ...], servers: int = 1
) -> Model:
    """Return classes ``class 1``, ``class 2`` ... of falling urgency: rate and service of each."""
    model = Model("priorities", time_unit="s")
    server = model.station(SERVER, servers=servers, discipline=discipline)  # type: ignore[arg-type]
    for number, (rate, service) in enumerate(laws, start=1):
        visit: Program = model.program(f"visit {number}")
        visit.use(server, service)
        model.open_class(
            f"class {number}", visit, interarrival=exponential(1 / rate), priority=-number
        )
    return model


TWO_CLASSES = ((0.4, exponential(1)), (0.4, exponential(1)))


def priorities() -> Subject:
    """Two classes without preemption."""
    values = cobham_waits([0.4, 0.4], [1, 1], [1, 1])
    return Subject(
        model="M/M/1, priorities",
        parameters="2 classes of load 0.4",
        build=lambda: ranked("priority", TWO_CLASSES),
        answers=tuple(
            Answer(quantity=f"wait of class {number}", value=value, source="Cobham 1954",
                   statistic=class_wait(SERVER, f"class {number}"), printed=printed)
            for number, value, printed in zip((1, 2), values, ("1.333333", "6.666667"), strict=True)
        ),
    )  # fmt: skip


def preemption() -> Subject:
    """Two classes, the urgent one interrupting the other."""
    values = preemptive_responses([0.4, 0.4], [1, 1], [1, 1])
    return Subject(
        model="M/M/1, preemption",
        parameters="2 classes of load 0.4",
        build=lambda: ranked("priority_preempt", TWO_CLASSES),
        answers=tuple(
            Answer(quantity=f"response of class {number}", value=value, source="Jaiswal 1968",
                   statistic=response(f"class {number}"), printed=printed)
            for number, value, printed in zip((1, 2), values, ("1.666667", "8.333333"), strict=True)
        ),
    )  # fmt: skip
