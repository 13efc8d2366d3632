"""The workloads in Ciw, which records every visit of every customer.

Ciw supports only open networks. A closed network is modelled as an open one that all jobs enter at
time zero and that no job leaves.
"""

import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import ciw

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
    Run,
)

NAME = f"Ciw {version('ciw')}"
DURATION = 20_000.0
"""Time units of a run: 16,000 to 64,000 station visits."""

CANNOT = {
    "many-stations": "each event scans all stations: its start and 300 visits take over 100 s",
}


def visits_of(network: Any) -> list[Any]:  # noqa: ANN401 - Ciw has no types
    """Simulate a network and return the records of its visits."""
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(DURATION)
    records: list[Any] = simulation.get_all_records()
    return records


def open_queue(offered: float, servers: int) -> Run:
    """Simulate M/M/c with a mean service time of 1."""
    records = visits_of(
        ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(offered)],
            service_distributions=[ciw.dists.Exponential(1.0)],
            number_of_servers=[servers],
        )
    )
    response_sum = sum(record.exit_date - record.arrival_date for record in records)
    return Run(visits=len(records), answer=response_sum / len(records))


def closed_network(jobs: int, **network: Any) -> int:  # noqa: ANN401
    """Return the visits of a network into whose first station all jobs come at time zero."""
    others = len(network["number_of_servers"]) - 1
    return len(
        visits_of(
            ciw.create_network(
                arrival_distributions=[ciw.dists.Sequential([0.0, math.inf]), *[None] * others],
                batching_distributions=[
                    ciw.dists.Deterministic(jobs),
                    *[ciw.dists.Deterministic(1)] * others,
                ],
                **network,
            )
        )
    )


def central_server() -> Run:
    """Simulate the closed network: a job uses a CPU and then one of the disks, indefinitely."""
    visits = closed_network(
        JOBS,
        service_distributions=[
            ciw.dists.Exponential(1 / CPU_MS),
            *[ciw.dists.Exponential(1 / DISK_MS) for _ in range(DISKS)],
        ],
        number_of_servers=[CPUS, *[1] * DISKS],
        routing=[[0.0, *[1 / DISKS] * DISKS], *[[1.0, *[0.0] * DISKS]] * DISKS],
    )
    return Run(visits=visits, answer=visits / 2 / DURATION)


def pipeline() -> Run:
    """Simulate the ring whose stations, except the first, have few places."""
    visits = closed_network(
        PIPELINE_JOBS,
        service_distributions=[ciw.dists.Exponential(1.0) for _ in range(PIPELINE_STATIONS)],
        number_of_servers=[1] * PIPELINE_STATIONS,
        queue_capacities=[math.inf, *[PIPELINE_BUFFER] * (PIPELINE_STATIONS - 1)],
        routing=[
            [float(to == (number + 1) % PIPELINE_STATIONS) for to in range(PIPELINE_STATIONS)]
            for number in range(PIPELINE_STATIONS)
        ],
    )
    return Run(visits=visits, answer=visits / PIPELINE_STATIONS / DURATION)


MODELS: dict[str, Callable[[], Run]] = {
    "mm1": lambda: open_queue(MM1_LOAD, 1),
    "mm4": lambda: open_queue(MMC_OFFERED, MMC_SERVERS),
    "central-server": central_server,
    "pipeline": pipeline,
}
