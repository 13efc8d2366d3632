"""Subjects beyond the reference: disciplines, arrivals and servers of one station."""

import math
from collections.abc import Callable, Iterator

from scipy import integrate, optimize

from benches.known.chains import expected, stationary
from benches.known.formulas import (
    busy_period_percentile,
    erlang_b,
    gm1_response,
    mg1_wait,
    mmc_response_tail,
    mmc_wait,
)
from benches.known.queues import KLEINROCK, SERVER, queue
from benches.known.subject import (
    Answer,
    Subject,
    mean_of,
    percentile,
    responds,
    response,
    share_of,
    share_of_time,
    wait,
)
from headroom.simulation import (
    Distribution,
    Model,
    changing_rate,
    constant,
    erlang,
    exponential,
    hyperexponential,
    mmpp,
)

WIDE = hyperexponential(1, c2=4)
BALANCE = "balance equations"
FAR = 600
"""Jobs at which chains without end are cut: rarer than 1e-12 in all of them."""


def subjects() -> list[Subject]:
    """Return the subjects."""
    lines = [shared(WIDE, "H2, c2 4"), shared(constant(1), "constant"), shared_by_size()]
    lines += [stacked(), any_order("random"), any_order("lcfs"), occupancy()]
    lines += [response_percentile(4, 0.9), shared_servers(), limited_sharing()]
    lines += [insensitive_loss()]
    lines += [general_arrivals("D/M/1", constant(1.25), lambda s: math.exp(-1.25 * s))]
    lines += [
        general_arrivals("E3/M/1", erlang(1.25, stages=3), lambda s: (1 + 1.25 * s / 3) ** -3)
    ]
    return [*lines, bursts(), groups(), changing_load()]


def shared(service: Distribution, law: str) -> Subject:
    """Sharing feels the mean service alone."""
    return Subject(
        model="M/G/1, processor sharing",
        parameters=f"load 0.8, {law}",
        build=lambda: queue(
            service, exponential(1.25), lambda m: m.station(SERVER, discipline="ps")
        ),
        answers=(
            responds(5.0, "insensitive, Kleinrock 1976"),
            Answer(quantity="share of time with 3 jobs or more", value=0.8**3,
                   source="geometric, Kleinrock 1976", statistic=share_of_time(SERVER, 3)),
        ),
    )  # fmt: skip


def shared_by_size() -> Subject:
    """Under sharing the response is proportional to the service time."""

    def build() -> Model:
        model = Model("sizes", time_unit="s")
        server = model.station(SERVER, discipline="ps")
        for size in (0.5, 2.0):
            visit = model.program(f"size {size:g}")
            visit.use(server, size)
            model.open_class(f"size {size:g}", visit, interarrival=exponential(size / 0.35))
        return model

    return Subject(
        model="M/G/1, processor sharing",
        parameters="load 0.7, constant 0.5 or 2",
        build=build,
        answers=tuple(
            Answer(quantity=f"response of size {size:g}", value=size / 0.3,
                   source="x/(1-rho), Kleinrock 1976", statistic=response(f"size {size:g}"))
            for size in (0.5, 2.0)
        ),
    )  # fmt: skip


def stacked() -> Subject:
    """Last come, first served, interrupting: insensitive, and a response is a busy period."""
    return Subject(
        model="M/M/1, LCFS preemptive",
        parameters="load 0.5",
        build=lambda: queue(
            exponential(1), exponential(2), lambda m: m.station(SERVER, discipline="lcfs_preempt")
        ),
        answers=(
            responds(2.0, "insensitive, Kelly 1979"),
            Answer(quantity="response p95", value=busy_period_percentile(0.5, 0.95),
                   source=f"busy period, {KLEINROCK} (5.148)", statistic=percentile(0.95)),
        ),
    )  # fmt: skip


def any_order(discipline: str) -> Subject:
    """Serve in an order that ignores service times, which does not change the mean wait."""
    return Subject(
        model=f"M/G/1, {discipline} order",
        parameters="load 0.8, E2",
        build=lambda: queue(
            erlang(1, stages=2),
            exponential(1.25),
            lambda m: m.station(SERVER, discipline=discipline),  # type: ignore[arg-type]
        ),
        answers=(
            Answer(quantity="wait", value=mg1_wait(0.8, 1, 0.5),
                   source="as first come, first served, Kleinrock 1976", statistic=wait(SERVER)),
        ),
    )  # fmt: skip


def occupancy() -> Subject:
    """Servers for all: the jobs present are Poisson whatever the service."""
    return Subject(
        model="M/G/infinite",
        parameters="offered 3, H2, c2 4",
        build=lambda: queue(
            WIDE, exponential(1 / 3), lambda m: m.station(SERVER, discipline="infinite")
        ),
        answers=tuple(
            Answer(quantity=f"share of time with {jobs} job(s)",
                   value=math.exp(-3) * 3**jobs / math.factorial(jobs),
                   source="Poisson, Takacs 1962", statistic=share_of_time(SERVER, jobs, jobs))
            for jobs in (0, 3, 8)
        ),
    )  # fmt: skip


def response_percentile(servers: int, load: float) -> Subject:
    """Return the p95 of M/M/c."""
    offered = servers * load
    value = optimize.brentq(lambda t: mmc_response_tail(servers, offered, t) - 0.05, 0.1, 500)
    return Subject(
        model=f"M/M/{servers}",
        parameters=f"load {load:g}, percentile",
        build=lambda: queue(
            exponential(1), exponential(1 / offered), lambda m: m.station(SERVER, servers=servers)
        ),
        answers=(
            Answer(quantity="response p95", value=float(value), source="Gross & Harris 1998",
                   statistic=percentile(0.95)),
        ),
    )  # fmt: skip


def shared_servers() -> Subject:
    """Several servers shared by all: insensitive too, so as M/M/c."""
    return Subject(
        model="M/G/3, processor sharing",
        parameters="load 0.8, H2, c2 4",
        build=lambda: queue(
            WIDE, exponential(1 / 2.4), lambda m: m.station(SERVER, servers=3, discipline="ps")
        ),
        answers=(responds(1 + mmc_wait(3, 2.4), "Cohen 1979"),),
    )


Shared = tuple[int, int, int]


def limited_sharing() -> Subject:
    """At most three share; of H2 service, so that it lies between sharing and FCFS."""
    first = (1 + math.sqrt(3 / 5)) / 2
    kinds = ((first, 2 * first), (1 - first, 2 * (1 - first)))

    def moves(state: Shared) -> Iterator[tuple[float, Shared]]:
        one, two, waiting = state
        sharing = one + two
        for kind, (share, rate) in enumerate(kinds):
            if sharing < 3:  # noqa: PLR2004
                yield 0.7 * share, (one + (kind == 0), two + (kind == 1), 0)
            if not state[kind]:
                continue
            left = (one - (kind == 0), two - (kind == 1))
            speed = rate * state[kind] / sharing
            if not waiting:
                yield speed, (*left, 0)
                continue
            for taken, (chance, _rate) in enumerate(kinds):
                yield speed * chance, (left[0] + (taken == 0), left[1] + (taken == 1), waiting - 1)
        if sharing == 3 and waiting < FAR:  # noqa: PLR2004
            yield 0.7, (one, two, waiting + 1)

    inside = expected(stationary((0, 0, 0), moves), sum)
    return Subject(
        model="M/H2/1, limited sharing",
        parameters="load 0.7, c2 4, 3 share",
        build=lambda: queue(
            WIDE, exponential(1 / 0.7), lambda m: m.station(SERVER, discipline="ps", limit=3)
        ),
        answers=(responds(inside / 0.7, BALANCE),),
    )


def insensitive_loss() -> Subject:
    """Erlang's loss formula holds for every service law."""
    return Subject(
        model="M/G/4/4",
        parameters="offered 3, H2, c2 4",
        build=lambda: queue(
            WIDE,
            exponential(1 / 3),
            lambda m: m.station(SERVER, servers=4, buffer=0, when_full="reject"),
        ),
        answers=(
            Answer(quantity="share lost", value=erlang_b(4, 3), source="Sevastyanov 1957",
                   statistic=share_of("lost_count")),
        ),
    )  # fmt: skip


def general_arrivals(name: str, law: Distribution, transform: Callable[[float], float]) -> Subject:
    """Arrivals that are not Poisson."""
    return Subject(
        model=name,
        parameters="load 0.8",
        build=lambda: queue(exponential(1), law),
        answers=(responds(gm1_response(transform), f"root of the transform, {KLEINROCK} (6.27)"),),
    )


def bursts() -> Subject:
    """Poisson arrivals whose rate jumps between 1.2 and 0.2."""

    def moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
        jobs, phase = state
        yield 0.1, (jobs, 1 - phase)
        if jobs < FAR:
            yield (1.2, 0.2)[phase], (jobs + 1, phase)
        if jobs:
            yield 1.0, (jobs - 1, phase)

    inside = expected(stationary((0, 0), moves), lambda state: state[0])
    return Subject(
        model="MMPP/M/1",
        parameters="rates 1.2 and 0.2, jumps 0.1",
        build=lambda: queue(
            exponential(1), mmpp(rates=[1.2, 0.2], switch_rates=[[0, 0.1], [0.1, 0]])
        ),
        answers=(
            responds(inside / 0.7, f"{BALANCE}; Neuts 1981"),
            Answer(quantity="jobs", value=inside, source=BALANCE,
                   statistic=mean_of("jobs_s", SERVER)),
        ),
    )  # fmt: skip


def groups() -> Subject:
    """Three jobs at a time."""

    def build() -> Model:
        model = Model("groups", time_unit="s")
        visit = model.program("visit")
        visit.use(model.station(SERVER), exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(5), batch=3)
        return model

    return Subject(
        model="M/M/1, arrivals in groups",
        parameters="load 0.6, groups of 3",
        build=build,
        answers=(responds((1 + 3) / 2 / (1 - 0.6), "Gross & Harris 1998, section 3.1"),),
    )


def changing_load() -> Subject:
    """Servers for all under a load of two levels: Poisson at each moment."""
    low, high, half, mean = 0.5, 3.0, 10.0, 2.0
    fade = math.exp(-half / mean)
    top = mean * (low + (high - low) / (1 + fade))
    bottom = mean * high - (mean * high - mean * low) / (1 + fade)

    def empty(start: float, level: float) -> float:
        value, _error = integrate.quad(
            lambda t: math.exp(-(level + (start - level) * math.exp(-t / mean))), 0, half
        )
        return float(value)

    value = (empty(top, mean * low) + empty(bottom, mean * high)) / (2 * half)
    return Subject(
        model="M(t)/M/infinite",
        parameters="rate 0.5 and 3, 10 each",
        build=lambda: queue(
            exponential(mean),
            changing_rate(times=[0, half], rates=[low, high], period=2 * half),
            lambda m: m.station(SERVER, discipline="infinite"),
        ),
        answers=(
            Answer(quantity="share of time empty", value=value,
                   source="Eick, Massey & Whitt 1993", statistic=share_of_time(SERVER, 0, 0)),
        ),
    )  # fmt: skip
