"""The evidence of docs/reference/solvers.md: `python -m headroom.solvers.evidence known|errors`.

`known` solves models whose answers are published or follow by arithmetic. `errors` says how far off
each kind of estimate was on random models. Both print a table.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headroom.simulation import Distribution, Model, constant, erlang, exponential
from headroom.simulation import hyperexponential as h2
from headroom.solvers.known_errors import known_errors
from headroom.solvers.solution import Solution
from headroom.solvers.solve import solve


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A figure that is known, and how to read it off a solution."""

    model: str
    figure: str
    answer: float
    digits: int
    solution: Solution
    read: Callable[[Solution], float]


def queue(service: Distribution, *, load: float, servers: int = 1) -> Model:
    """Return one station of service mean 1 with Poisson arrivals."""
    model = Model("queue", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server", servers=servers), service)
    model.open_class("jobs", program, interarrival=exponential(1 / (load * servers)))
    return model


def central_server(jobs: int) -> Model:
    """Return 4 CPUs of mean 4 and 16 disks of mean 15, uniformly chosen, no think time."""
    model = Model("central server", time_unit="s")
    cpu = model.station("cpu", servers=4)
    disks = [model.station(f"disk{number}") for number in range(16)]
    program = model.program("cycle")
    program.use(cpu, exponential(4))
    with program.branch() as branch:
        for disk in disks:
            with branch.case(1 / 16):
                program.use(disk, exponential(15))
    model.closed_class("jobs", program, population=jobs)
    return model


def repairman(jobs: int, servers: int, think: float) -> Model:
    """Return machines that run for `think` and are repaired by `servers` in time 1."""
    model = Model("repairman", time_unit="s")
    program = model.program("repair")
    program.use(model.station("repair", servers=servers), exponential(1))
    model.closed_class("machines", program, population=jobs, think=exponential(think))
    return model


def interactive(users: int) -> Model:
    """Return users with think time 1 at three single servers."""
    model = Model("interactive", time_unit="s")
    program = model.program("request")
    for place, demand in enumerate((0.05, 0.03, 0.04)):
        program.use(model.station(f"server{place}"), exponential(demand))
    model.closed_class("users", program, population=users, think=exponential(1))
    return model


def balanced(jobs: int, stations: int) -> Model:
    """Return equal single servers in a ring."""
    model = Model("balanced", time_unit="s")
    program = model.program("round")
    for place in range(stations):
        program.use(model.station(f"server{place}"), exponential(1))
    model.closed_class("jobs", program, population=jobs)
    return model


def fork(arms: int, load: float) -> Model:
    """Return a fork over equal M/M/1 queues."""
    model = Model("fork", time_unit="s")
    stations = [model.station(f"queue{place}") for place in range(arms)]
    program = model.program("job")
    with program.fork() as opened:
        for station in stations:
            with opened.arm():
                program.use(station, exponential(1))
    model.open_class("jobs", program, interarrival=exponential(1 / load))
    return model


def wait(solution: Solution) -> float:
    """Return the mean wait at the only station."""
    return solution.stations[0].wait_s


def throughput(solution: Solution) -> float:
    """Return the completions per second."""
    return solution.throughput_per_s


def response(solution: Solution) -> float:
    """Return the mean response time."""
    return solution.response_s


def percentile(percent: int) -> Callable[[Solution], float]:
    """Return how to read a percentile of the response time."""
    return lambda solution: solution.classes[0].response_s_at[percent]


def known_answers() -> Iterator[Known]:
    """Yield every known answer that is a question to the solvers."""
    rows: list[tuple[str, str, float, int, Model, Callable[[Solution], float]]] = [
        ("M/M/1, rho 0.8", "W", 5.0, 6, queue(exponential(1), load=0.8), response),
        ("M/M/1, rho 0.8", "p95", 14.9787, 4, queue(exponential(1), load=0.8), percentile(95)),
        ("M/M/1, rho 0.8", "p99", 23.0259, 4, queue(exponential(1), load=0.8), percentile(99)),
    ]
    for servers, load, answer in ((2, 0.8, 1.777778), (4, 0.9, 1.969383), (8, 0.7, 0.112751),
                                  (16, 0.95, 0.975241)):  # fmt: skip
        model = queue(exponential(1), load=load, servers=servers)
        rows.append((f"M/M/{servers}, rho {load:g}", "Wq", answer, 6, model, wait))
    for name, law, answer in (("D", constant(1), 2.0), ("E2", erlang(1, 2), 3.0),
                              ("H2 (c2 4)", h2(1, c2=4), 10.0)):  # fmt: skip
        rows.append((f"M/{name}/1, rho 0.8", "Wq", answer, 6, queue(law, load=0.8), wait))
    machines = (
        (10, 1, 9, 0.832037, 3.018700),
        (20, 1, 10, 0.998131, 10.037451),
        (20, 2, 10, 1.654791, 2.086122),
        (64, 4, 15, 3.700119, 2.296743),
    )
    for jobs, servers, think, x, r in machines:
        name = f"repairman N {jobs}, c {servers}, Z {think}"
        rows.append((name, "X", x, 6, repairman(jobs, servers, think), throughput))
        rows.append((name, "R", r, 6, repairman(jobs, servers, think), response))
    for jobs, stations, answer in ((4, 3, 0.666667), (10, 5, 0.714286), (64, 17, 0.8)):
        name = f"balanced N {jobs}, M {stations}"
        rows.append((name, "X", answer, 6, balanced(jobs, stations), throughput))
    for users, x in ((1, 0.892857), (2, 1.778625), (5, 4.386651), (10, 8.516911), (20, 15.359464),
                     (50, 19.986431)):  # fmt: skip
        rows.append((f"interactive N {users}", "X", x, 6, interactive(users), throughput))
    for jobs, x in ((1, 0.052632), (2, 0.101316), (4, 0.188115), (8, 0.326861), (16, 0.509942),
                    (32, 0.696709), (64, 0.844677), (128, 0.940528), (256, 0.990538)):  # fmt: skip
        rows.append((f"central server N {jobs}", "X", x, 6, central_server(jobs), throughput))
    for arms, load, answer, digits in ((2, 0.5, 2.875, 6), (2, 0.8, 7.0, 6), (4, 0.5, 3.7898, 4),
                                       (4, 0.8, 8.9303, 4)):  # fmt: skip
        rows.append(
            (f"fork of {arms}, rho {load:g}", "R", answer, digits, fork(arms, load), response)
        )
    for model_name, figure, answer, digits, model, read in rows:
        yield Known(
            model=model_name,
            figure=figure,
            answer=answer,
            digits=digits,
            solution=solve(model),
            read=read,
        )


def known_table() -> list[list[str]]:
    """Return the known answers next to the found ones."""
    rows = [["model", "figure", "known", "found", "agrees", "answer"]]
    for one in known_answers():
        found = one.read(one.solution)
        agrees = abs(found - one.answer) <= 0.51 * 10.0**-one.digits
        known, shown = f"{one.answer:.{one.digits}f}", f"{found:.{one.digits}f}"
        rows.append(
            [one.model, one.figure, known, shown, "yes" if agrees else "NO", one.solution.label]
        )
    return rows


def pool(tokens: int, law: Distribution) -> Model:
    """Return ten clients who hold one of `tokens` threads at a CPU and a disk."""
    model = Model("pool", time_unit="s")
    cpu, disk = model.station("cpu"), model.station("disk")
    threads = model.pool("threads", tokens=tokens)
    program = model.program("request")
    with program.holding(threads):
        program.use(cpu, law)
        program.use(disk, exponential(0.5))
    model.closed_class("clients", program, population=10, think=exponential(5))
    return model


def classes() -> Model:
    """Return two classes with different service times at first-come-first-served stations."""
    model = Model("classes", time_unit="s")
    cpu, disk = model.station("cpu"), model.station("disk", servers=2)
    for name, cpu_s, disk_s in (("small", 0.1, 0.4), ("large", 0.6, 0.5)):
        program = model.program(name)
        program.use(cpu, exponential(cpu_s))
        program.use(disk, exponential(disk_s))
        model.closed_class(name, program, population=6, think=exponential(2))
    return model


def shop(rate: float, connections: int) -> Model:
    """Return an open web shop: a page is made, then its data is fetched over a connection."""
    model = Model("shop", time_unit="ms")
    program = model.program("page")
    program.use(model.station("web", servers=2), exponential(6))
    with program.holding(model.pool("connections", tokens=connections)):
        program.use(model.station("database", servers=2), exponential(8))
        program.delay(2)
    model.open_class("visits", program, interarrival=exponential(1000 / rate))
    return model


def threads(count: int, connections: int, *, rate: float = 0.0, users: int = 0) -> Model:
    """Return the shop whose web server also has threads; a thread waits for its connection."""
    model = Model("threads", time_unit="ms")
    program = model.program("page")
    with program.holding(model.pool("threads", tokens=count)):
        program.use(model.station("web", servers=4), exponential(6))
        with program.holding(model.pool("connections", tokens=connections)):
            program.use(model.station("database", servers=2), exponential(8))
            program.delay(4)
    if users:
        model.closed_class("users", program, population=users, think=exponential(300))
    else:
        model.open_class("visits", program, interarrival=exponential(1000 / rate))
    return model


def pages(connections: int, small: int | float, large: int | float) -> Model:
    """Return small and large pages that share a pool: a whole number is a population."""
    model = Model("pages", time_unit="ms")
    web, database = model.station("web", servers=2), model.station("database", servers=2)
    held = model.pool("connections", tokens=connections)
    for name, web_ms, database_ms, load in (("small", 3, 4, small), ("large", 5, 20, large)):
        program = model.program(name)
        program.use(web, exponential(web_ms))
        with program.holding(held):
            program.use(database, exponential(database_ms))
        if isinstance(load, int):
            model.closed_class(name, program, population=load, think=exponential(100))
        else:
            model.open_class(name, program, interarrival=exponential(1000 / load))
    return model


def around(connections: int, *, rate: float = 0.0, users: int = 0) -> Model:
    """Return pages that use one CPU before, while and after they hold a connection."""
    model = Model("around", time_unit="ms")
    cpu, database = model.station("cpu", servers=2), model.station("database")
    program = model.program("page")
    program.use(cpu, exponential(5))
    with program.holding(model.pool("connections", tokens=connections)):
        program.use(cpu, exponential(3))
        program.use(database, exponential(5))
    program.use(cpu, exponential(2))
    if users:
        model.closed_class("users", program, population=users, think=exponential(100))
    else:
        model.open_class("visits", program, interarrival=exponential(1000 / rate))
    return model


def unequal(
    speeds: Sequence[float],
    *,
    rate: float = 0.0,
    users: int = 0,
    think: float = 1.0,
    law: Distribution | None = None,
) -> Model:
    """Return one station whose servers have these speeds; work of mean 1."""
    model = Model("unequal", time_unit="s")
    program = model.program("job")
    program.use(model.station("cpu", servers=len(speeds), speeds=speeds), law or exponential(1))
    if users:
        model.closed_class("users", program, population=users, think=exponential(think))
    else:
        model.open_class("jobs", program, interarrival=exponential(1 / rate))
    return model


def pool_models() -> Iterator[tuple[str, Model]]:
    """Yield models with pools beyond one pool of one closed class."""
    for rate, connections in ((200, 3), (200, 5), (230, 20)):
        yield f"open shop {rate}/s, {connections} connections", shop(rate, connections)
    for rate, count, connections in ((180, 20, 3), (200, 6, 4)):
        name = f"open, {count} threads, {connections} connections"
        yield name, threads(count, connections, rate=rate)
    for users, count, connections in ((60, 20, 3), (90, 10, 4)):
        name = f"{users} users, {count} threads, {connections} connections"
        yield name, threads(count, connections, users=users)
    yield "two open classes, 3 connections", pages(3, 150.0, 50.0)
    yield "two closed classes, 3 connections", pages(3, 20, 10)
    yield "open and closed class, 3 connections", pages(3, 100.0, 10)
    yield "CPU inside and outside, open, 2 connections", around(2, rate=140)
    yield "CPU inside and outside, open, 4 connections", around(4, rate=140)
    yield "CPU inside and outside, 20 users", around(2, users=20)


def errors_table() -> list[list[str]]:
    """Return how far off each kind of estimate was; those beyond 20% are not printed."""
    rows = [["kind", "models", "median", "95%", "too high"]]
    for key, one in known_errors().items():
        shares = [f"{100 * share:.1f}%" for share in (one.median, one.p95)]
        rows.append([key, str(one.models), *shares, f"{100 * one.high:.0f}%"])
    return rows


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned columns.

    Examples
    --------
    >>> print(as_text([["a", "b"], ["long", "c"]]), end="")
    a     b
    long  c
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def main(arguments: Sequence[str]) -> None:
    """Print the table that is requested."""
    tables = {"known": known_table, "errors": errors_table}
    if list(arguments) not in ([name] for name in tables):
        sys.stderr.write("usage: python -m headroom.solvers.evidence known|errors\n")
        sys.exit(2)
    sys.stdout.write(as_text(tables[arguments[0]]()))


if __name__ == "__main__":
    main(sys.argv[1:])
