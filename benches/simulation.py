"""The simulation kernel beside SimPy: station visits per processor second on one core.

Both sides simulate the same models. Headroom keeps its full statistics (areas, sums, snapshots,
series, histogram, conservation laws); SimPy's side sums response times only, which flatters it.
The lengths differ so that each measurement lasts about half a second; the figure is a rate.
"""

import random
from collections.abc import Generator
from importlib.metadata import version
from typing import Any

import simpy

from benches.harness import Case
from headroom.simulation import Model, exponential, simulate

HEADROOM_VISITS = 6_000_000
SIMPY_VISITS = 60_000
LOAD = 0.8
CPU_MS, CPUS = 4.0, 4
DISK_MS, DISKS = 15.0, 16
JOBS = 64


def cases() -> list[Case]:
    """Return the comparisons of this part."""
    simpy_name = f"SimPy {version('simpy')}"
    return [
        Case(
            name="M/M/1 at a load of 0.8",
            metric="station visits per processor second",
            unit="1/s",
            headroom=lambda: headroom_visits(mm1(), HEADROOM_VISITS),
            peers={simpy_name: simpy_mm1},
        ),
        Case(
            name=f"central server: {JOBS} jobs, {CPUS} CPUs, {DISKS} disks",
            metric="station visits per processor second",
            unit="1/s",
            headroom=lambda: headroom_visits(central_server(), HEADROOM_VISITS // 2),
            peers={simpy_name: simpy_central_server},
        ),
    ]


def headroom_visits(model: Model, completions: int) -> float:
    """Simulate `model` and return the number of station visits."""
    return simulate(model, seed=1, completions=completions).counters["visits"]


def mm1() -> Model:
    """Return the M/M/1 queue."""
    model = Model("M/M/1", time_unit="ms")
    visit = model.program("visit")
    visit.use(model.station("server"), exponential(LOAD))
    model.open_class("customers", visit, interarrival=exponential(1))
    return model


def central_server() -> Model:
    """Return the closed network: a job uses a CPU and then one of the disks, for ever."""
    model = Model("central server", time_unit="ms")
    cpu = model.station("cpu", servers=CPUS)
    disks = [model.station(f"disk {number}") for number in range(DISKS)]
    cycle = model.program("cycle")
    cycle.use(cpu, exponential(CPU_MS))
    with cycle.branch() as branch:
        for disk in disks:
            with branch.case(1 / DISKS):
                cycle.use(disk, exponential(DISK_MS))
    model.closed_class("jobs", cycle, population=JOBS)
    return model


class Tally:
    """What the SimPy models count."""

    def __init__(self, environment: simpy.Environment, visit_limit: int) -> None:
        self.environment = environment
        self.visit_count = 0
        self.visit_limit = visit_limit
        self.response_ms_sum = 0.0
        self.is_done = environment.event()

    def visit(self, arrived_ms: float) -> None:
        """Count a visit that began at `arrived_ms`."""
        self.visit_count += 1
        self.response_ms_sum += self.environment.now - arrived_ms
        if self.visit_count == self.visit_limit:
            self.is_done.succeed()


Process = Generator[simpy.Event, Any, None]


def simpy_mm1() -> float:
    """Simulate the M/M/1 queue with SimPy and return the number of visits."""
    environment = simpy.Environment()
    server, tally = simpy.Resource(environment), Tally(environment, SIMPY_VISITS)
    draw = random.Random(1)  # noqa: S311 - a simulation, not a secret

    def customer() -> Process:
        arrived_ms = environment.now
        with server.request() as turn:
            yield turn
            yield environment.timeout(draw.expovariate(1 / LOAD))
        tally.visit(arrived_ms)

    def source() -> Process:
        while True:
            yield environment.timeout(draw.expovariate(1.0))
            environment.process(customer())

    environment.process(source())
    environment.run(until=tally.is_done)
    return float(tally.visit_count)


def simpy_central_server() -> float:
    """Simulate the closed network with SimPy and return the number of visits."""
    environment = simpy.Environment()
    cpu = simpy.Resource(environment, capacity=CPUS)
    disks = [simpy.Resource(environment) for _ in range(DISKS)]
    tally = Tally(environment, SIMPY_VISITS)
    draw = random.Random(1)  # noqa: S311 - a simulation, not a secret

    def job() -> Process:
        while True:
            for station, mean_ms in ((cpu, CPU_MS), (draw.choice(disks), DISK_MS)):
                arrived_ms = environment.now
                with station.request() as turn:
                    yield turn
                    yield environment.timeout(draw.expovariate(1 / mean_ms))
                tally.visit(arrived_ms)

    for _ in range(JOBS):
        environment.process(job())
    environment.run(until=tally.is_done)
    return float(tally.visit_count)
