"""Subjects beyond the reference: limited room, speed, batches, breakdowns, patience, priorities."""

import math
from collections.abc import Iterator

from benches.known.chains import birth_death, expected, stationary
from benches.known.formulas import cobham_waits, erlang_c, preemptive_responses
from benches.known.queues import KLEINROCK, SERVER, queue, ranked
from benches.known.subject import Answer, Subject, class_wait, mean_of, responds, response, share_of
from headroom.simulation import Distribution, Model, constant, exponential, hyperexponential

BALANCE = "balance equations"
FAR = 600
"""Jobs at which chains without end are cut: rarer than 1e-12 in all of them."""


def subjects() -> list[Subject]:
    """Return the subjects."""
    lines = [some_room(), unequal_servers(), batches(1, 4, 2.4), batches(2, 4, 1.6)]
    lines += [breakdowns(), each_breaks(), reneging(), deadline()]
    return [*lines, three_ranks(), three_interrupting(), ranks_of_many()]


def some_room() -> Subject:
    """M/M/3 with room for 8."""
    shares = birth_death(lambda _: 2.7, lambda n: min(n, 3), 8)
    inside = sum(number * share for number, share in enumerate(shares))
    return Subject(
        model="M/M/3/8",
        parameters="arrivals 2.7",
        build=lambda: queue(exponential(1), exponential(1 / 2.7), lambda model: model.station(
            SERVER, servers=3, buffer=5, when_full="reject")),
        measured_s=60_000,
        answers=(
            Answer(quantity="share lost", value=shares[-1], source=f"birth-death, {KLEINROCK}",
                   statistic=share_of("lost_count")),
            responds(inside / (2.7 * (1 - shares[-1])), "Little's law"),
        ),
    )  # fmt: skip


def unequal_servers() -> Subject:
    """Mix a fast and a slow server; a job takes the fast one if it can, and stays."""

    def moves(state: tuple[int, int, int]) -> Iterator[tuple[float, tuple[int, int, int]]]:
        fast, slow, waiting = state
        if not fast:
            yield 1.2, (1, slow, 0)
        elif not slow:
            yield 1.2, (1, 1, 0)
        elif waiting < FAR:
            yield 1.2, (1, 1, waiting + 1)
        if fast:
            yield 1.5, (1, slow, waiting - 1) if waiting else (0, slow, 0)
        if slow:
            yield 0.5, (fast, 1, waiting - 1) if waiting else (fast, 0, 0)

    shares = stationary((0, 0, 0), moves)
    return Subject(
        model="M/M/2, unequal servers",
        parameters="speeds 1.5 and 0.5, arrivals 1.2",
        build=lambda: queue(
            exponential(1),
            exponential(1 / 1.2),
            lambda m: m.station(SERVER, servers=2, speeds=[1.5, 0.5]),
        ),
        answers=(
            responds(expected(shares, sum) / 1.2, f"{BALANCE}; Gumbel 1960"),
            Answer(quantity="busy servers",
                   value=expected(shares, lambda state: state[0] + state[1]), source=BALANCE,
                   statistic=mean_of("busy_s", SERVER)),
        ),
    )  # fmt: skip


def batches(least: int, most: int, rate: float) -> Subject:
    """Let a server take `least` to `most` waiting jobs together."""

    def moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
        served, waiting = state
        if waiting < FAR:
            begins = not served and waiting + 1 >= least
            yield rate, (waiting + 1, 0) if begins else (served, waiting + 1)
        if served:
            taken = min(waiting, most) if waiting >= least else 0
            yield 1.0, (taken, waiting - taken)

    inside = expected(stationary((0, 0), moves), sum)
    return Subject(
        model="M/M/1, service in batches",
        parameters=f"{least} to {most} jobs, arrivals {rate:g}",
        build=lambda: queue(
            exponential(1), exponential(1 / rate), lambda m: m.station(SERVER, batch=(least, most))
        ),
        answers=(responds(inside / rate, f"{BALANCE}; Neuts 1967"),),
    )


def breakdowns() -> Subject:
    """Break the server, whether it works or not: up 10, down 2."""
    rate, fails, repairs = 0.5, 0.1, 0.5
    both = fails + repairs
    inside = rate * (both**2 + fails) / (both * (repairs - rate * both))

    def build() -> Model:
        model = queue(exponential(1), exponential(1 / rate))
        station = model.stations[SERVER]
        model.breakdowns(
            station, time_to_failure=exponential(1 / fails), repair=exponential(1 / repairs)
        )
        return model

    return Subject(
        model="M/M/1 with breakdowns",
        parameters="arrivals 0.5, up 10, down 2",
        build=build,
        answers=(
            Answer(quantity="jobs", value=inside, source="White & Christie 1958",
                   statistic=mean_of("jobs_s", SERVER)),
            Answer(quantity="share of time down", value=fails / both, source="2 / (10 + 2)",
                   statistic=mean_of("down_s", SERVER)),
        ),
    )  # fmt: skip


def each_breaks() -> Subject:
    """Let two servers fail independently; an interrupted job continues at the next free server."""

    def build() -> Model:
        model = queue(exponential(1), exponential(1 / 1.2), lambda m: m.station(SERVER, servers=2))
        station = model.stations[SERVER]
        model.breakdowns(
            station, time_to_failure=exponential(20), repair=exponential(5), unit="each"
        )
        return model

    def moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
        jobs, up = state
        if jobs < FAR:
            yield 1.2, (jobs + 1, up)
        if jobs and up:
            yield float(min(jobs, up)), (jobs - 1, up)
        if up:
            yield up / 20, (jobs, up - 1)
        if up < 2:  # noqa: PLR2004 - the servers
            yield (2 - up) / 5, (jobs, up + 1)

    return Subject(
        model="M/M/2, each server breaks",
        parameters="arrivals 1.2, up 20, down 5",
        build=build,
        answers=(
            Answer(quantity="jobs",
                   value=expected(stationary((0, 2), moves), lambda state: state[0]),
                   source=f"{BALANCE}; Mitrany & Avi-Itzhak 1968",
                   statistic=mean_of("jobs_s", SERVER)),
        ),
    )  # fmt: skip


def impatient(patience: Distribution, rate: float) -> Model:
    """Return a queue whose jobs leave when their stay gets too long for them."""
    model = Model("impatient", time_unit="s")
    server = model.station(SERVER)
    visit = model.program("visit")
    with visit.attempt(timeout=patience) as attempt, attempt.work():
        visit.use(server, exponential(1))
    model.open_class("jobs", visit, interarrival=exponential(1 / rate))
    return model


def reneging() -> Subject:
    """Each job leaves after an exponential time of mean 5, waiting or in service."""
    shares = birth_death(lambda _: 1.2, lambda n: 1 + n / 5, 120)
    inside = sum(number * share for number, share in enumerate(shares))
    return Subject(
        model="M/M/1, stay up to an exponential time",
        parameters="arrivals 1.2, patience 5",
        build=lambda: impatient(exponential(5), 1.2),
        answers=(
            Answer(quantity="share that gives up", value=inside / 5 / 1.2,
                   source="birth-death; Ancker & Gafarian 1963",
                   statistic=share_of("failed_try_count")),
            Answer(quantity="jobs", value=inside, source="birth-death",
                   statistic=mean_of("jobs_s", SERVER)),
        ),
    )  # fmt: skip


def deadline() -> Subject:
    """Each job leaves after exactly 3, waiting or in service.

    Below the deadline the work ahead has the density of M/M/1, p0 rate exp((rate - 1) x), because
    only work above it is truncated; completions happen at rate 1 whenever the server works.
    """
    rate, limit = 0.8, 3.0
    idle = 1 / (1 + rate * -math.expm1((rate - 1) * limit) / (1 - rate))
    return Subject(
        model="M/M/1, stay up to a constant time",
        parameters="arrivals 0.8, deadline 3",
        build=lambda: impatient(constant(limit), rate),
        answers=(
            Answer(quantity="share that gives up", value=1 - (1 - idle) / rate,
                   source="level crossing; Baccelli & Hebuterne 1981",
                   statistic=share_of("failed_try_count")),
            Answer(quantity="busy share", value=1 - idle, source="level crossing",
                   statistic=mean_of("busy_s", SERVER)),
        ),
    )  # fmt: skip


RATES, MEANS, C2S = (0.3, 0.2, 0.1), (0.5, 1.0, 3.0), (0.0, 1.0, 4.0)
LAWS = (
    (0.3, constant(0.5)),
    (0.2, exponential(1)),
    (0.1, hyperexponential(3, c2=4)),
)


def three_ranks() -> Subject:
    """Three classes with services of their own."""
    return Subject(
        model="M/G/1, priorities",
        parameters="3 classes: D, M, H2",
        build=lambda: ranked("priority", LAWS),
        answers=tuple(
            Answer(quantity=f"wait of class {number}", value=value, source="Cobham 1954",
                   statistic=class_wait(SERVER, f"class {number}"))
            for number, value in enumerate(cobham_waits(RATES, MEANS, C2S), start=1)
        ),
    )  # fmt: skip


def three_interrupting() -> Subject:
    """Serve the same, the urgent ones interrupting the others."""
    return Subject(
        model="M/G/1, preemption",
        parameters="3 classes: D, M, H2",
        build=lambda: ranked("priority_preempt", LAWS),
        answers=tuple(
            Answer(quantity=f"response of class {number}", value=value, source="Jaiswal 1968",
                   statistic=response(f"class {number}"))
            for number, value in enumerate(preemptive_responses(RATES, MEANS, C2S), start=1)
        ),
    )  # fmt: skip


def ranks_of_many() -> Subject:
    """Two classes at four servers."""
    start = erlang_c(4, 3.2) / 4
    values = (start / (1 - 0.4), start / ((1 - 0.4) * (1 - 0.8)))
    return Subject(
        model="M/M/4, priorities",
        parameters="2 classes of load 0.4",
        build=lambda: ranked("priority", ((1.6, exponential(1)), (1.6, exponential(1))), servers=4),
        answers=tuple(
            Answer(quantity=f"wait of class {number}", value=value, source="Cobham 1954",
                   statistic=class_wait(SERVER, f"class {number}"))
            for number, value in enumerate(values, start=1)
        ),
    )  # fmt: skip
