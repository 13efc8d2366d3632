"""The workloads in SimPy, counting only visits and response times."""

import random
from collections.abc import Callable, Generator
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import simpy

from benches.peers.workloads import (
    CPU_MS,
    CPUS,
    DISK_MS,
    DISKS,
    JOBS,
    MM1_LOAD,
    MMC_OFFERED,
    MMC_SERVERS,
    PIPELINE_BUFFER,
    PIPELINE_JOBS,
    PIPELINE_STATIONS,
    STATION_JOBS,
    STATIONS,
    Run,
)

NAME = f"SimPy {version('simpy')}"
VISITS = 60_000

Process = Generator[simpy.Event, Any, None]


class Tally:
    """The counters of a model in SimPy, and when it stops."""

    def __init__(self, environment: simpy.Environment) -> None:
        self.environment = environment
        self.visit_count = 0
        self.response_sum = 0.0
        self.is_done = environment.event()

    def visit(self, arrived: float) -> None:
        """Count a visit that began at `arrived`."""
        self.visit_count += 1
        self.response_sum += self.environment.now - arrived
        if self.visit_count == VISITS:
            self.is_done.succeed()

    def visits_per_time(self) -> Run:
        """Run to the end and return the throughput of all stations together."""
        self.environment.run(until=self.is_done)
        return Run(visits=self.visit_count, answer=self.visit_count / self.environment.now)


def open_queue(offered: float, servers: int) -> Run:
    """Simulate M/M/c with a mean service time of 1."""
    environment = simpy.Environment()
    station, tally = simpy.Resource(environment, capacity=servers), Tally(environment)
    draw = random.Random(1)  # noqa: S311 - a simulation, not a secret

    def customer() -> Process:
        arrived = environment.now
        with station.request() as turn:
            yield turn
            yield environment.timeout(draw.expovariate(1.0))
        tally.visit(arrived)

    def source() -> Process:
        while True:
            yield environment.timeout(draw.expovariate(offered))
            environment.process(customer())

    environment.process(source())
    environment.run(until=tally.is_done)
    return Run(visits=tally.visit_count, answer=tally.response_sum / tally.visit_count)


def central_server() -> Run:
    """Simulate the closed network: a job uses a CPU and then one of the disks, indefinitely."""
    environment = simpy.Environment()
    cpu = simpy.Resource(environment, capacity=CPUS)
    disks = [simpy.Resource(environment) for _ in range(DISKS)]
    tally = Tally(environment)
    draw = random.Random(1)  # noqa: S311

    def job() -> Process:
        while True:
            for station, mean in ((cpu, CPU_MS), (draw.choice(disks), DISK_MS)):
                arrived = environment.now
                with station.request() as turn:
                    yield turn
                    yield environment.timeout(draw.expovariate(1 / mean))
                tally.visit(arrived)

    for _ in range(JOBS):
        environment.process(job())
    run = tally.visits_per_time()
    return Run(visits=run.visits, answer=run.answer / 2)


def pipeline() -> Run:
    """Simulate the ring whose stations, except the first, have few places.

    A job keeps its server after service until it has a place at the next station.
    """
    environment = simpy.Environment()
    servers = [simpy.Resource(environment) for _ in range(PIPELINE_STATIONS)]
    limits = [PIPELINE_JOBS, *[1 + PIPELINE_BUFFER] * (PIPELINE_STATIONS - 1)]
    places = [simpy.Resource(environment, capacity=limit) for limit in limits]
    tally = Tally(environment)
    draw = random.Random(1)  # noqa: S311

    def job() -> Process:
        place = places[0].request()
        yield place
        while True:
            for number, server in enumerate(servers):
                arrived = environment.now
                turn = server.request()
                yield turn
                yield environment.timeout(draw.expovariate(1.0))
                tally.visit(arrived)
                next_place = places[(number + 1) % PIPELINE_STATIONS].request()
                yield next_place
                server.release(turn)
                places[number].release(place)
                place = next_place

    for _ in range(PIPELINE_JOBS):
        environment.process(job())
    run = tally.visits_per_time()
    return Run(visits=run.visits, answer=run.answer / PIPELINE_STATIONS)


def many_stations() -> Run:
    """Simulate the closed network whose jobs go from station to station at random."""
    environment = simpy.Environment()
    stations = [simpy.Resource(environment) for _ in range(STATIONS)]
    tally = Tally(environment)
    draw = random.Random(1)  # noqa: S311

    def job(first: simpy.Resource) -> Process:
        station = first
        while True:
            arrived = environment.now
            with station.request() as turn:
                yield turn
                yield environment.timeout(draw.expovariate(1.0))
            tally.visit(arrived)
            station = draw.choice(stations)

    for station, count in zip(stations, equilibrium(draw), strict=True):
        for _ in range(count):
            environment.process(job(station))
    return tally.visits_per_time()


def equilibrium(draw: random.Random) -> list[int]:
    """Return how many jobs each station holds in equilibrium, where a short run has to begin.

    Every way to spread the jobs is equally likely (Gordon & Newell 1967, equal demands), so bars
    are laid at random places between the jobs.
    """
    slots = STATION_JOBS + STATIONS - 1
    bars = [-1, *sorted(draw.sample(range(slots), STATIONS - 1)), slots]
    return [after - before - 1 for before, after in pairwise(bars)]


MODELS: dict[str, Callable[[], Run]] = {
    "mm1": lambda: open_queue(MM1_LOAD, 1),
    "mm4": lambda: open_queue(MMC_OFFERED, MMC_SERVERS),
    "central-server": central_server,
    "pipeline": pipeline,
    "many-stations": many_stations,
}
