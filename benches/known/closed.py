"""Subjects of the reference with a fixed number of jobs."""

from collections.abc import Iterator

from benches.known.chains import expected, stationary
from benches.known.formulas import convolution, mva, repairman_throughput, servers_factors
from benches.known.subject import (
    Answer,
    Subject,
    completes,
    mean_of,
    responds,
    response,
    throughput,
)
from headroom.simulation import Distribution, Model, exponential

BUZEN = "convolution, Buzen 1973"
MVA = "mean value analysis, Reiser & Lavenberg 1980"
BALANCE = "balance equations"


def subjects() -> list[Subject]:
    """Return the subjects, in the order of the reference."""
    lines = [repairman(*row) for row in REPAIRMEN]
    lines += [balanced(*row) for row in BALANCED]
    lines += [interactive(*row) for row in INTERACTIVE]
    lines += [two_classes()]
    lines += [central_server(*row) for row in CENTRAL]
    return lines + [nested(*row) for row in NESTED]


REPAIRMEN = (
    (10, 1, 9.0, "0.832037", "3.018700"),
    (20, 1, 10.0, "0.998131", "10.037451"),
    (20, 2, 10.0, "1.654791", "2.086122"),
    (64, 4, 15.0, "3.700119", "2.296743"),
)


def repairman(machines: int, crews: int, runs: float, rate: str, stays: str) -> Subject:
    """Machines that run, break, and wait for one of the crews."""

    def build() -> Model:
        model = Model("repairman", time_unit="s")
        repair = model.program("repair")
        repair.use(model.station("crew", servers=crews), exponential(1))
        model.closed_class("machines", repair, population=machines, think=exponential(runs))
        return model

    throughput_of = repairman_throughput(crews, machines, runs)
    return Subject(
        model="machine repairman",
        parameters=f"{machines} machines, {crews} crew(s), run {runs:g}",
        build=build,
        warm_up_s=2_000,
        measured_s=50_000,
        answers=(
            completes(throughput_of, BUZEN, printed=rate),
            responds(machines / throughput_of - runs, "Little's law", printed=stays),
        ),
    )


BALANCED = (
    (4, 3, 50_000, "0.666667"),
    (10, 5, 50_000, "0.714286"),
    (64, 17, 20_000, "0.8"),
)


def balanced(jobs: int, stations: int, measured_s: float, rate: str) -> Subject:
    """Equal stations in a ring."""

    def build() -> Model:
        model = Model("balanced", time_unit="s")
        cycle = model.program("cycle")
        for number in range(stations):
            cycle.use(model.station(f"station {number}"), exponential(1))
        model.closed_class("jobs", cycle, population=jobs)
        return model

    return Subject(
        model="balanced ring",
        parameters=f"{jobs} jobs, {stations} stations",
        build=build,
        measured_s=measured_s,
        answers=(
            completes(
                jobs / (jobs + stations - 1), "N/(D(N+M-1)), Lazowska et al. 1984", printed=rate
            ),
        ),
    )


INTERACTIVE = (
    (1, "0.892857", "0.120000"),
    (2, "1.778625", "0.124464"),
    (5, "4.386651", "0.139822"),
    (10, "8.516911", "0.174135"),
    (20, "15.359464", "0.302129"),
    (50, "19.986431", "1.501697"),
)
DEMANDS_S = {"cpu": 0.05, "disk": 0.03, "network": 0.04}


def interactive_model(
    users: int, think: Distribution, laws: dict[str, Distribution], discipline: str = "fcfs"
) -> Model:
    """Return users who think, and wait for three stations in turn."""
    model = Model("interactive", time_unit="s")
    interaction = model.program("interaction")
    for name, law in laws.items():
        station = model.station(name, discipline=discipline)  # type: ignore[arg-type]
        interaction.use(station, law)
    model.closed_class("users", interaction, population=users, think=think)
    return model


def interactive(users: int, rate: str, stays: str) -> Subject:
    """Three single servers and think time."""
    laws: dict[str, Distribution] = {name: exponential(d) for name, d in DEMANDS_S.items()}
    throughput_of, stays_s = mva(list(DEMANDS_S.values()), 1.0, users)
    return Subject(
        model="interactive system",
        parameters=f"{users} user(s), think 1",
        build=lambda: interactive_model(users, exponential(1), laws),
        warm_up_s=500,
        measured_s=50_000 / throughput_of + 500,
        answers=(
            completes(throughput_of, MVA, printed=rate),
            responds(sum(stays_s), MVA, printed=stays),
        ),
    )


Pair = tuple[int, int, int, int]
MEANS = ((0.4, 0.2), (0.1, 0.5))
"""Service times of each class, at each station."""
POPULATIONS, THINKS = (3, 2), (1.0, 2.0)


def _two_class_moves(state: Pair) -> Iterator[tuple[float, Pair]]:
    """Jobs of class 1 at both stations, then of class 2; the others think."""
    for kind, (jobs, think) in enumerate(zip(POPULATIONS, THINKS, strict=True)):
        first, second = 2 * kind, 2 * kind + 1
        at = list(state)
        thinking = jobs - state[first] - state[second]
        if thinking:
            at[first] += 1
            yield thinking / think, (at[0], at[1], at[2], at[3])
        for station, place in enumerate((first, second)):
            if not state[place]:
                continue
            at = list(state)
            at[place] -= 1
            if station == 0:
                at[second] += 1
            share = state[place] / (state[station] + state[station + 2])
            yield share / MEANS[kind][station], (at[0], at[1], at[2], at[3])


def two_classes() -> Subject:
    """Two classes that share two processors."""

    def build() -> Model:
        model = Model("two classes", time_unit="s")
        stations = [model.station(name, discipline="ps") for name in ("one", "two")]
        for kind, (jobs, think) in enumerate(zip(POPULATIONS, THINKS, strict=True)):
            cycle = model.program(f"cycle {kind + 1}")
            for station, mean in zip(stations, MEANS[kind], strict=True):
                cycle.use(station, exponential(mean))
            model.closed_class(
                f"class {kind + 1}", cycle, population=jobs, think=exponential(think)
            )
        return model

    shares = stationary((0, 0, 0, 0), _two_class_moves)
    rates = [
        expected(shares, lambda s, k=kind: POPULATIONS[k] - s[2 * k] - s[2 * k + 1]) / THINKS[kind]  # type: ignore[misc]
        for kind in (0, 1)
    ]
    queues = [expected(shares, lambda s, k=place: s[k] + s[k + 2]) for place in (0, 1)]  # type: ignore[misc]
    return Subject(
        model="two classes, shared stations",
        parameters="populations 3 and 2",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=(
            *(Answer(quantity=f"throughput of class {kind + 1}", value=rates[kind], source=BALANCE,
                     statistic=throughput(f"class {kind + 1}"), printed=printed)
              for kind, printed in enumerate(("1.463418", "0.653214"))),
            *(Answer(quantity=f"jobs at station {name}", value=queues[place], source=BALANCE,
                     statistic=mean_of("jobs_s", name), printed=printed)
              for place, (name, printed) in enumerate(
                  (("one", "1.122926"), ("two", "1.107228")))),
        ),
    )  # fmt: skip


CENTRAL = (
    (1, "0.052632"),
    (2, "0.101316"),
    (4, "0.188115"),
    (8, "0.326861"),
    (16, "0.509942"),
    (32, "0.696709"),
    (64, "0.844677"),
    (128, "0.940528"),
    (256, "0.990538"),
)
CPUS, DISKS, CPU_S, DISK_S = 4, 16, 4.0, 15.0
MIDDLE = 64
"""The population for which the reference also gives the queues; the disks of more forget slowly."""


def central_model(jobs: int, at_each_disk: int) -> Model:
    """Return the central server, started near its steady state."""
    model = Model("central server", time_unit="s")
    cpu = model.station("cpu", servers=CPUS)
    disks = [model.station(f"disk {number}") for number in range(DISKS)]
    cycle = model.program("cycle")
    cycle.use(cpu, exponential(CPU_S))
    cycle.use_one_of(disks, exponential(DISK_S), policy="probability")
    placed = {disk: at_each_disk for disk in disks if at_each_disk}
    model.closed_class("jobs", cycle, population=jobs, placed=placed)
    return model


def central_server(jobs: int, rate: str) -> Subject:
    """4 CPUs and 16 disks; the disks of many jobs forget slowly, so jobs start where they are."""
    disk = servers_factors(DISK_S / DISKS, 1, jobs)
    cpu = servers_factors(CPU_S, CPUS, jobs)
    constants = convolution([disk] * DISKS + [cpu])
    throughput_of = constants[-2] / constants[-1]
    demand = DISK_S / DISKS
    at_disk = sum(demand**k * constants[jobs - k] / constants[jobs] for k in range(1, jobs + 1))
    many = [completes(throughput_of, BUZEN, printed=rate)]
    if jobs == MIDDLE:
        many += [
            Answer(quantity="utilization of the CPUs", value=throughput_of * CPU_S / CPUS,
                   source="utilization law",
                   statistic=mean_of("busy_s", "cpu", each_of=CPUS), printed="0.844677"),
            Answer(quantity="utilization of a disk", value=throughput_of * demand,
                   source="utilization law", statistic=mean_of("busy_s", "disk 5"),
                   printed="0.791884"),
            Answer(quantity="jobs at the CPUs", value=jobs - DISKS * at_disk, source=BUZEN,
                   statistic=mean_of("jobs_s", "cpu"), printed="6.541137"),
            Answer(quantity="jobs at a disk", value=at_disk, source=BUZEN,
                   statistic=mean_of("jobs_s", "disk 5"), printed="3.591179"),
            Answer(quantity="cycle time", value=jobs / throughput_of, source="Little's law",
                   statistic=response(), printed="75.7686"),
        ]  # fmt: skip
    return Subject(
        model="central server",
        parameters=f"{jobs} job(s)",
        build=lambda: central_model(jobs, round(at_disk)),
        warm_up_s=5_000 if jobs <= MIDDLE else 20_000,
        measured_s=100_000,
        answers=tuple(many),
    )


NESTED = (
    (1, "0.990643", "5.094453"),
    (2, "1.249365", "3.004066"),
    (4, "1.353620", "2.387597"),
    (10, "1.364236", "2.330108"),
)


def nested(threads: int, rate: str, stays: str) -> Subject:
    """Ten clients; a thread is held during CPU and disk."""

    def build() -> Model:
        model = Model("threads", time_unit="s")
        pool = model.pool("threads", tokens=threads)
        request = model.program("request")
        with request.holding(pool):
            request.use(model.station("cpu"), exponential(0.5))
            request.use(model.station("disk"), exponential(0.5))
        model.closed_class("clients", request, population=10, think=exponential(5))
        return model

    def moves(state: tuple[int, int, int]) -> Iterator[tuple[float, tuple[int, int, int]]]:
        waiting, cpu, disk = state
        thinking = 10 - sum(state)
        if thinking:
            is_free = cpu + disk < threads
            yield thinking / 5, (waiting, cpu + 1, disk) if is_free else (waiting + 1, cpu, disk)
        if cpu:
            yield 2.0, (waiting, cpu - 1, disk + 1)
        if disk:
            yield 2.0, (waiting - 1, cpu + 1, disk - 1) if waiting else (0, cpu, disk - 1)

    shares = stationary((0, 0, 0), moves)
    throughput_of = expected(shares, lambda state: 10 - sum(state)) / 5
    return Subject(
        model="thread pool around CPU and disk",
        parameters=f"{threads} thread(s), 10 clients",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=(
            completes(throughput_of, BALANCE, printed=rate),
            responds(10 / throughput_of - 5, BALANCE, printed=stays),
        ),
    )
