"""Queues with known answers, for measuring the coverage of the intervals.

The service rate is 1 unless stated otherwise; times are in seconds. Answers are in closed form
where available: M/M/c by Erlang, M/G/1 by Pollaczek and Khinchine, closed models by exact
convolution or balance equations (Lazowska et al., *Quantitative System Performance*, 1984).
Percentiles without a closed form are estimated from the runs of all experiments together, and the
table says so.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from headroom.simulation import Model, exponential, hyperexponential, lognormal


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A model and its known answers.

    Parameters
    ----------
    name
        Name in the table.
    build
        Returns the model.
    truths
        Metric to its exact value; None if only a long run can show it.
    """

    name: str
    build: Callable[[], Model]
    truths: Mapping[str, float | None]


def models() -> tuple[Known, ...]:
    """Return the models of the table."""
    return (
        mm1(0.5),
        mm1(0.8),
        mm1(0.9),
        mm4(),
        mh2(),
        two_classes(),
        central_server(),
        interactive(),
        nested(),
        priorities("priority"),
        priorities("priority_preempt"),
        fork_join(),
        heavy_tail(0.5),
        heavy_tail(0.7),
    )


def open_queue(name: str, *, servers: int, load: float, c2: float = 1.0) -> Model:
    """Return one station with Poisson arrivals; any load, also one beyond the capacity."""
    model = Model(name, time_unit="s")
    visit = model.program("visit")
    law = exponential(1.0) if c2 == 1.0 else hyperexponential(1.0, c2)
    visit.use(model.station("server", servers=servers), law)
    model.open_class("jobs", visit, interarrival=exponential(1.0 / (load * servers)))
    return model


def _truths(
    *, response_s: float, rate: float, servers: int, p95: float | None, p99: float | None
) -> dict[str, float | None]:
    return {
        "response_s_mean": response_s,
        "throughput": rate,
        "station.server.utilization": rate / servers,
        "station.server.queue_len_mean": rate * (response_s - 1.0),
        "response_s_p95": p95,
        "response_s_p99": p99,
    }


def mm1(load: float) -> Known:
    """Return M/M/1: responses are exponential with mean 1 / (1 - load)."""
    response_s = 1.0 / (1.0 - load)
    truths = _truths(
        response_s=response_s,
        rate=load,
        servers=1,
        p95=response_s * math.log(20.0),
        p99=response_s * math.log(100.0),
    )
    truths["response_s_p99_9"] = response_s * math.log(1000.0)
    name = f"M/M/1, load {load:g}"
    return Known(name=name, build=lambda: open_queue(name, servers=1, load=load), truths=truths)


def mm4() -> Known:
    """Return M/M/4 at load 0.9: Erlang's C is 0.787753, the mean wait 1.969383 s."""
    name = "M/M/4, load 0.9"
    response_s = 1.0 + 1.969383
    return Known(
        name=name,
        build=lambda: open_queue(name, servers=4, load=0.9),
        truths=_truths(response_s=response_s, rate=3.6, servers=4, p95=None, p99=None),
    )


def mh2() -> Known:
    """Return M/H2/1 with squared coefficient of variation 4: the mean wait is 10 s."""
    name = "M/H2/1, load 0.8, c2 4"
    return Known(
        name=name,
        build=lambda: open_queue(name, servers=1, load=0.8, c2=4.0),
        truths=_truths(response_s=11.0, rate=0.8, servers=1, p95=None, p99=None),
    )


def heavy_tail(load: float) -> Known:
    """Return M/G/1 with lognormal service of coefficient of variation 3 (Pollaczek-Khinchine).

    The mean wait is load (1 + 9) / (2 (1 - load)) service times.
    """
    name = f"M/G/1 lognormal, load {load:g}, cv 3"

    def build() -> Model:
        model = Model("heavy tail", time_unit="s")
        visit = model.program("visit")
        visit.use(model.station("server"), lognormal(1.0, c2=9.0))
        model.open_class("jobs", visit, interarrival=exponential(1.0 / load))
        return model

    response_s = 1.0 + load * 10.0 / (2.0 * (1.0 - load))
    truths = _truths(response_s=response_s, rate=load, servers=1, p95=None, p99=None)
    return Known(name=name, build=build, truths=truths)


def two_classes() -> Known:
    """Return two classes at one FCFS station, 0.4 jobs/s each, of 0.5 s and 1.5 s.

    M/G/1 with load 0.8 and mean square 2.5: both wait 0.8 x 2.5 / (2 x 0.2) = 5 s.
    """

    def build() -> Model:
        model = Model("two classes", time_unit="s")
        server = model.station("server")
        for name, service_s in (("short", 0.5), ("long", 1.5)):
            program = model.program(name)
            program.use(server, exponential(service_s))
            model.open_class(name, program, interarrival=exponential(1.0 / 0.4))
        return model

    return Known(
        name="two classes, load 0.8",
        build=build,
        truths={
            "class.short.response_s_mean": 5.5,
            "class.long.response_s_mean": 6.5,
            "class.short.throughput": 0.4,
            "station.server.utilization": 0.8,
            "station.server.queue_len_mean": 4.0,
            "class.short.response_s_p95": None,
            "class.short.response_s_p99": None,
        },
    )


def central_server() -> Known:
    """Return 64 jobs at 4 CPUs (4 s) and one of 16 disks (15 s): exact convolution."""

    def build() -> Model:
        model = Model("central server", time_unit="s")
        cpu = model.station("cpu", servers=4)
        disks = [model.station(f"disk {number}") for number in range(16)]
        cycle = model.program("cycle")
        cycle.use(cpu, exponential(4.0))
        with cycle.branch() as branch:
            for disk in disks:
                with branch.case(1 / 16):
                    cycle.use(disk, exponential(15.0))
        model.closed_class("jobs", cycle, population=64)
        return model

    return Known(
        name="central server, 64 jobs",
        build=build,
        truths={
            "response_s_mean": 75.7686,
            "throughput": 0.844677,
            "station.cpu.utilization": 0.844677,
            "station.cpu.queue_len_mean": 6.541137 - 4 * 0.844677,
            "station.disk 0.queue_len_mean": 3.591179 - 0.791884,
            "response_s_p95": None,
            "response_s_p99": None,
        },
    )


def interactive() -> Known:
    """Return 20 users who think for 10 s and share one server: the machine repairman."""

    def build() -> Model:
        model = Model("interactive", time_unit="s")
        request = model.program("request")
        request.use(model.station("server"), exponential(1.0))
        model.closed_class("users", request, population=20, think=exponential(10.0))
        return model

    rate = 0.998131
    truths = _truths(response_s=20 / rate - 10.0, rate=rate, servers=1, p95=None, p99=None)
    return Known(name="interactive, 20 users", build=build, truths=truths)


def nested() -> Known:
    """Return 10 clients at 2 threads, each held for CPU and disk: balance equations."""

    def build() -> Model:
        model = Model("nested pool", time_unit="s")
        cpu, disk = model.station("cpu"), model.station("disk")
        threads = model.pool("threads", tokens=2)
        request = model.program("request")
        with request.holding(threads):
            request.use(cpu, exponential(0.5))
            request.use(disk, exponential(0.5))
        model.closed_class("clients", request, population=10, think=exponential(5.0))
        return model

    return Known(
        name="nested pool, 2 threads",
        build=build,
        truths={
            "response_s_mean": 3.004066,
            "throughput": 1.249365,
            "station.cpu.utilization": 1.249365 * 0.5,
            "pool.threads.queue_len_mean": None,
            "response_s_p95": None,
            "response_s_p99": None,
        },
    )


def priorities(discipline: Literal["priority", "priority_preempt"]) -> Known:
    """Return two classes of 0.4 jobs/s each at one server, one of them more urgent.

    Without preemption they wait W0 / ((1 - s) (1 - s')) with W0 = 0.8: 4/3 and 20/3 s (Cobham
    1954). With preemption the urgent class does not see the other, 1 / (1 - 0.4) s, and all jobs
    together are those of M/M/1, which leaves 25/3 s.
    """
    preempts = discipline == "priority_preempt"
    urgent_s, patient_s = (5.0 / 3.0, 25.0 / 3.0) if preempts else (7.0 / 3.0, 23.0 / 3.0)

    def build() -> Model:
        model = Model("priorities", time_unit="s")
        server = model.station("server", discipline=discipline)
        for name, priority in (("urgent", 1), ("patient", 0)):
            program = model.program(name)
            program.use(server, exponential(1.0))
            model.open_class(name, program, interarrival=exponential(2.5), priority=priority)
        return model

    return Known(
        name=f"priorities{', preemptive' if preempts else ''}, load 0.8",
        build=build,
        truths={
            "class.urgent.response_s_mean": urgent_s,
            "class.patient.response_s_mean": patient_s,
            "class.patient.throughput": 0.4,
            "station.server.utilization": 0.8,
            "class.patient.response_s_p95": None,
            "class.patient.response_s_p99": None,
        },
    )


def fork_join() -> Known:
    """Return jobs that fork into two stations and join: (12 - 0.8) / 8 of M/M/1's 5 s.

    Exact for two (Nelson and Tantawi 1988); each station alone is M/M/1 at a load of 0.8.
    """

    def build() -> Model:
        model = Model("fork and join", time_unit="s")
        job = model.program("job")
        with job.fork() as fork:
            for name in ("left", "right"):
                with fork.arm():
                    job.use(model.station(name), exponential(1.0))
        model.open_class("jobs", job, interarrival=exponential(1.25))
        return model

    return Known(
        name="fork and join of 2, load 0.8",
        build=build,
        truths={
            "response_s_mean": 7.0,
            "throughput": 0.8,
            "station.left.utilization": 0.8,
            "station.left.queue_len_mean": 3.2,
            "response_s_p95": None,
            "response_s_p99": None,
        },
    )
