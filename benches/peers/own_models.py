"""The workloads in Headroom, with all statistics."""

import inspect
from collections.abc import Callable
from typing import Any

from benches.peers.workloads import (
    CPU_MS,
    CPUS,
    DISK_MS,
    DISKS,
    JOBS,
    LARGE_JOBS,
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
from headroom.simulation import Model, SimulationResult, exponential, simulate
from headroom.simulation.language.stations import Discipline

CAN_BLOCK = "buffer" in inspect.signature(Model.station).parameters


def mm1() -> Model:
    """Return M/M/1 with a mean service time of 1."""
    return open_queue(MM1_LOAD, 1)


def open_queue(offered: float, servers: int) -> Model:
    """Return M/M/c with a mean service time of 1."""
    model = Model(f"M/M/{servers}", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("station", servers=servers), exponential(1))
    model.open_class("customers", visit, interarrival=exponential(1 / offered))
    return model


def by_discipline(discipline: Discipline) -> Model:
    """Return M/M/1 with that discipline and two classes, one of which has priority if it counts."""
    model = Model("M/M/1", time_unit="s")
    station = model.station("station", discipline=discipline)
    urgent = 1 if discipline.startswith("priority") else 0
    for name, priority in (("patient", 0), ("urgent", urgent)):
        visit = model.program(name)
        visit.use(station, exponential(1))
        interarrival = exponential(2 / MM1_LOAD)
        model.open_class(name, visit, interarrival=interarrival, priority=priority)
    return model


def central_server() -> Model:
    """Return the closed network: a job uses a CPU and then one of the disks, indefinitely."""
    model = Model("central server", time_unit="ms")
    cycle = model.program("cycle")
    cycle.use(model.station("cpu", servers=CPUS), exponential(CPU_MS))
    with cycle.branch() as branch:
        for number in range(DISKS):
            with branch.case(1 / DISKS):
                cycle.use(model.station(f"disk {number}"), exponential(DISK_MS))
    model.closed_class("jobs", cycle, population=JOBS)
    return model


def pipeline() -> Model:
    """Return the ring whose stations, except the first, have few places."""
    model = Model("pipeline", time_unit="s")
    cycle = model.program("cycle")
    for number in range(PIPELINE_STATIONS):
        limits: dict[str, Any] = {"buffer": PIPELINE_BUFFER} if number > 0 else {}
        cycle.use(model.station(f"station {number + 1}", **limits), exponential(1))
    model.closed_class("jobs", cycle, population=PIPELINE_JOBS)
    return model


def many_stations(jobs: int = STATION_JOBS) -> Model:
    """Return the closed network whose jobs go from station to station at random."""
    model = Model("many stations", time_unit="s")
    hop = model.program("hop")
    with hop.branch() as branch:
        for number in range(STATIONS):
            with branch.case(1 / STATIONS):
                hop.use(model.station(f"station {number + 1}"), exponential(1))
    model.closed_class("jobs", hop, population=jobs)
    return model


def mean_response_s(result: SimulationResult) -> float:
    """Return the mean response time (s) of all completed jobs."""
    columns = result.classes.columns
    return float(columns["response_s_sum"][-1, 0] / columns["completion_count"][-1, 0])


def visits_per_s(result: SimulationResult) -> float:
    """Return the throughput (1/s) of all stations together."""
    return result.counters["visits"] / result.counters["simulated_s"]


def simulated(
    model: Model, *, completions: int, answer: Callable[[SimulationResult], float]
) -> Callable[[], Run]:
    """Return a function that simulates `model`, which is already built."""

    def run() -> Run:
        result = simulate(model, seed=1, completions=completions)
        return Run(visits=result.counters["visits"], answer=answer(result))

    return run


MODELS: dict[str, Callable[[], Callable[[], Run]]] = {
    "mm1": lambda: simulated(mm1(), completions=6_000_000, answer=mean_response_s),
    "mm4": lambda: simulated(
        open_queue(MMC_OFFERED, MMC_SERVERS), completions=6_000_000, answer=mean_response_s
    ),
    "central-server": lambda: simulated(
        central_server(),
        completions=4_000_000,
        answer=lambda result: visits_per_s(result) / 2 / 1000,
    ),
    "pipeline": lambda: simulated(
        pipeline(),
        completions=2_000_000,
        answer=lambda result: visits_per_s(result) / PIPELINE_STATIONS,
    ),
    "many-stations": lambda: simulated(many_stations(), completions=6_000_000, answer=visits_per_s),
    "many-jobs": lambda: simulated(
        many_stations(LARGE_JOBS), completions=6_000_000, answer=visits_per_s
    ),
}
"""Keys of the workloads to functions that build the model and return what simulates it."""
