"""Subjects beyond the reference: balancing, redundancy, retries, calls, tokens, closed classes."""

from collections.abc import Callable, Iterator
from typing import Literal

from benches.known.chains import expected, stationary
from benches.known.closed import DEMANDS_S, MVA, interactive_model
from benches.known.formulas import cobham_waits, gm1_response, mva
from benches.known.lines import fork_model, fork_response
from benches.known.subject import (
    Answer,
    Subject,
    completes,
    mean_of,
    responds,
    response,
    share_of,
    throughput,
)
from headroom.simulation import Distribution, Model, constant, exponential, hyperexponential

BALANCE = "balance equations"


def subjects() -> list[Subject]:
    """Return the subjects."""
    lines = [round_robin(), shortest_queue(), two_choices(), redundancy()]
    lines += [quorum(count, mean) for count, mean in ((1, 1 / 3), (2, 5 / 6))]
    lines += [fork_of(3, 0.5, 30), fork_of(4, 0.3, 13), feedback(), retries()]
    lines += [second_phase(), two_tokens(), ranked_pool()]
    lines += [closed_ranks(interrupts=False), closed_ranks(interrupts=True)]
    lines += [reserved(buffer) for buffer in (0, 3)]
    return [*lines, insensitive_network()]


def farm(servers: int, policy: str, rate: float) -> Model:
    """Return equal queues behind a balancer."""
    model = Model("farm", time_unit="s")
    stations = [model.station(f"station {number}") for number in range(servers)]
    visit = model.program("visit")
    visit.use_one_of(stations, exponential(1), policy=policy)  # type: ignore[arg-type]
    model.open_class("jobs", visit, interarrival=exponential(1 / rate))
    return model


def round_robin() -> Subject:
    """In turns to two servers: each sees every second arrival, E2/M/1."""
    return Subject(
        model="two queues in turns",
        parameters="load 0.8",
        build=lambda: farm(2, "round_robin", 1.6),
        answers=(
            responds(
                gm1_response(lambda s: (1.6 / (1.6 + s)) ** 2), "E2/M/1, Kleinrock 1975 (6.27)"
            ),
        ),
    )


Lengths = tuple[int, ...]


def _changed(lengths: Lengths, place: int, by: int) -> Lengths:
    return tuple(sorted((*lengths[:place], lengths[place] + by, *lengths[place + 1 :])))


def balanced_jobs(servers: int, rate: float, room: int, chances: Callable[[int], float]) -> float:
    """Return the mean jobs of sorted queues, the i-th shortest taken with `chances(i)`."""

    def moves(lengths: Lengths) -> Iterator[tuple[float, Lengths]]:
        for place, length in enumerate(lengths):
            if length < room and chances(place):
                yield rate * chances(place), _changed(lengths, place, 1)
            if length:
                yield 1.0, _changed(lengths, place, -1)

    return expected(stationary((0,) * servers, moves), sum)


def shortest_queue() -> Subject:
    """Join the shorter of two queues."""
    value = balanced_jobs(2, 1.6, 90, lambda place: float(place == 0)) / 1.6
    return Subject(
        model="two queues, the shorter is joined",
        parameters="load 0.8",
        build=lambda: farm(2, "shortest_queue", 1.6),
        answers=(responds(value, f"{BALANCE}; Haight 1958"),),
    )


def two_choices() -> Subject:
    """Join the shorter of two out of three: the shortest of all with 2/3, the second with 1/3."""
    chances = (2 / 3, 1 / 3, 0.0)
    value = balanced_jobs(3, 2.1, 30, lambda place: chances[place]) / 2.1
    return Subject(
        model="three queues, the shorter of two is joined",
        parameters="load 0.7",
        build=lambda: farm(3, "two_choices", 2.1),
        answers=(responds(value, f"{BALANCE}; Mitzenmacher 2001"),),
    )


def redundancy() -> Subject:
    """Each job asks both servers and cancels the other: one server of twice the rate."""

    def build() -> Model:
        model = Model("redundancy", time_unit="s")
        visit = model.program("visit")
        with visit.fork(quorum=1, cancel=True) as fork:
            for name in ("left", "right"):
                with fork.arm():
                    visit.use(model.station(name), exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(1 / 1.6))
        return model

    return Subject(
        model="both servers asked, the first answers",
        parameters="arrivals 1.6",
        build=build,
        answers=(responds(1 / (2 - 1.6), "M/M/1 of rate 2, Gardner et al. 2015"),),
    )


def quorum(count: int, mean: float) -> Subject:
    """Wait for `count` of three parts without queues; the rest is cancelled."""

    def build() -> Model:
        model = Model("quorum", time_unit="s")
        cloud = model.station("cloud", discipline="infinite")
        ask = model.program("ask")
        with ask.fork(quorum=count, cancel=True) as fork:
            for _ in range(3):
                with fork.arm():
                    ask.use(cloud, exponential(1))
        model.closed_class("clients", ask, population=5, think=exponential(1))
        return model

    return Subject(
        model="quorum of parts",
        parameters=f"{count} of 3",
        build=build,
        measured_s=20_000,
        warm_up_s=100,
        answers=(responds(mean, "order statistic of exponentials"),),
    )


def fork_of(arms: int, load: float, room: int) -> Subject:
    """More arms than two, by their chain."""
    return Subject(
        model=f"fork and join of {arms}",
        parameters=f"load {load:g}",
        build=lambda: fork_model(arms, load),
        answers=(responds(fork_response(arms, load, room), BALANCE),),
    )


def feedback() -> Subject:
    """Two stations with routes back."""

    def build() -> Model:
        model = Model("jackson", time_unit="s")
        visit = model.program("visit")
        with visit.network() as net:
            with net.node("one", to={"one": 0.2, "two": 0.5, net.leave: 0.3}):
                visit.use(model.station("one"), exponential(1))
            with net.node("two", to={"one": 0.6, net.leave: 0.4}):
                visit.use(model.station("two"), exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(1 / 0.36))
        return model

    loads = (0.36 / 0.5, 0.36)
    jobs = [load / (1 - load) for load in loads]
    return Subject(
        model="open network with feedback",
        parameters="arrivals 0.36, loads 0.72 and 0.36",
        build=build,
        answers=(
            responds(sum(jobs) / 0.36, "Jackson 1957"),
            Answer(quantity="jobs at the first", value=jobs[0], source="Jackson 1957",
                   statistic=mean_of("jobs_s", "one")),
        ),
    )  # fmt: skip


def retries() -> Subject:
    """One server without waiting places; a rejected job tries once more after a pause."""

    def build() -> Model:
        model = Model("retries", time_unit="s")
        server = model.station("server", buffer=0, when_full="reject")
        visit = model.program("visit")
        with visit.attempt(tries=2, pause=exponential(2)) as attempt, attempt.work():
            visit.use(server, exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(1.25))
        return model

    def moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
        busy, pausing = state
        if not busy:
            yield 0.8, (1, pausing)
        elif pausing < 80:  # noqa: PLR2004 - rarer than 1e-12
            yield 0.8, (1, pausing + 1)
        if busy:
            yield 1.0, (0, pausing)
        if pausing:
            yield pausing / 2, (1, pausing - 1)

    shares = stationary((0, 0), moves)
    served = expected(shares, lambda state: state[0])
    failed = expected(shares, lambda state: 0.8 * state[0] + state[0] * state[1] / 2)
    return Subject(
        model="M/M/1/1, rejected jobs try again once",
        parameters="arrivals 0.8, pause 2",
        build=build,
        answers=(
            Answer(quantity="busy share", value=served, source=BALANCE,
                   statistic=mean_of("busy_s", "server")),
            Answer(quantity="failed tries for each job", value=failed / 0.8, source=BALANCE,
                   statistic=share_of("failed_try_count")),
        ),
    )  # fmt: skip


def second_phase() -> Subject:
    """Call a server that replies after its first phase and is held through its second."""

    def build() -> Model:
        model = Model("second phase", time_unit="s")
        thread = model.pool("thread", tokens=1)
        serve = model.program("serve")
        with serve.holding(thread):
            serve.use(model.station("cpu"), exponential(1))
            serve.reply()
            serve.use(model.station("log"), exponential(0.5))
        ask = model.program("ask")
        ask.call(serve)
        model.closed_class("clients", ask, population=4, think=exponential(2))
        return model

    def moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
        phase, waiting = state
        thinking = 4 - waiting - (phase == 1)
        if thinking:
            yield thinking / 2, (1, 0) if phase == 0 else (phase, waiting + 1)
        if phase == 1:
            yield 1.0, (2, waiting)
        if phase == 2:  # noqa: PLR2004
            yield 2.0, (1, waiting - 1) if waiting else (0, 0)

    idle: tuple[int, int] = (0, 0)
    rate = expected(stationary(idle, moves), lambda state: float(state[0] == 1))
    return Subject(
        model="call with a second phase",
        parameters="4 clients, phases 1 and 0.5",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=(
            completes(rate, f"{BALANCE}; Woodside et al. 1995"),
            responds(4 / rate - 2, "Little's law"),
        ),
    )


Holders = tuple[int, int, tuple[int, ...]]


def _granted(one: int, two: int, waiting: tuple[int, ...]) -> Holders:
    """Grant three tokens in order of arrival; no request overtakes a large one."""
    while waiting and one + 2 * two + waiting[0] <= 3:  # noqa: PLR2004
        one, two = one + (waiting[0] == 1), two + (waiting[0] == 2)  # noqa: PLR2004
        waiting = waiting[1:]
    return one, two, waiting


def _token_moves(state: Holders) -> Iterator[tuple[float, Holders]]:
    one, two, waiting = state
    for tokens, jobs, holding in ((1, 3, one), (2, 2, two)):
        thinking = jobs - holding - waiting.count(tokens)
        if thinking:
            yield float(thinking), _granted(one, two, (*waiting, tokens))
        if holding:
            left = (one - (tokens == 1), two - (tokens == 2))  # noqa: PLR2004
            yield float(holding), _granted(*left, waiting)


def two_tokens() -> Subject:
    """Three tokens: three jobs ask for one, two jobs for two, first come first served."""

    def build() -> Model:
        model = Model("tokens", time_unit="s")
        pool, cloud = model.pool("tokens", tokens=3), model.station("cloud", discipline="infinite")
        for tokens, jobs in ((1, 3), (2, 2)):
            work = model.program(f"work {tokens}")
            with work.holding(pool, tokens):
                work.use(cloud, exponential(1))
            model.closed_class(f"of {tokens}", work, population=jobs, think=exponential(1))
        return model

    nobody: Holders = (0, 0, ())
    shares = stationary(nobody, _token_moves)
    return Subject(
        model="tokens taken one or two at a time",
        parameters="3 tokens, populations 3 and 2",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=tuple(
            Answer(quantity=f"throughput of who takes {place + 1}",
                   value=expected(shares, lambda state, p=place: state[p]), source=BALANCE,  # type: ignore[misc]
                   statistic=throughput(f"of {place + 1}"))
            for place in (0, 1)
        ),
    )  # fmt: skip


def ranked_pool() -> Subject:
    """Grant the only token to the most urgent job that waits: M/M/1 without preemption."""

    def build() -> Model:
        model = Model("grants", time_unit="s")
        pool = model.pool("lock", tokens=1, order="priority")
        cloud = model.station("cloud", discipline="infinite")
        work = model.program("work")
        with work.holding(pool):
            work.use(cloud, exponential(1))
        for number in (1, 2):
            model.open_class(
                f"class {number}", work, interarrival=exponential(2.5), priority=-number
            )
        return model

    return Subject(
        model="pool granted by priority",
        parameters="2 classes of load 0.4",
        build=build,
        answers=tuple(
            Answer(quantity=f"response of class {number}", value=1 + value, source="Cobham 1954",
                   statistic=response(f"class {number}"))
            for number, value in enumerate(cobham_waits([0.4, 0.4], [1, 1], [1, 1]), start=1)
        ),
    )  # fmt: skip


JOBS, THINK_S, SERVICE_S = (3, 2), (2.0, 3.0), (1.0, 0.5)
Ranks = tuple[int, int, int]


def _ranked_moves(state: Ranks) -> Iterator[tuple[float, Ranks]]:
    """Yield the next states: class in service (0: none), and number waiting of each class."""
    served, *waiting = state
    for kind in (0, 1):
        thinking = JOBS[kind] - waiting[kind] - (served == kind + 1)
        if thinking:
            now = (waiting[0] + (kind == 0), waiting[1] + (kind == 1))
            rate = thinking / THINK_S[kind]
            yield rate, (served, *now) if served else (kind + 1, waiting[0], waiting[1])
    if served:
        first, second = waiting
        following = (1, first - 1, second) if first else (2, 0, second - 1)
        yield 1 / SERVICE_S[served - 1], following if first + second else (0, 0, 0)


def _interrupting_moves(state: tuple[int, int]) -> Iterator[tuple[float, tuple[int, int]]]:
    for kind in (0, 1):
        step = (int(kind == 0), int(kind == 1))
        if state[kind] < JOBS[kind]:
            rate = (JOBS[kind] - state[kind]) / THINK_S[kind]
            yield rate, (state[0] + step[0], state[1] + step[1])
        if state[kind] and (kind == 0 or not state[0]):
            yield 1 / SERVICE_S[kind], (state[0] - step[0], state[1] - step[1])


def closed_ranks(*, interrupts: bool) -> Subject:
    """Two closed classes at one server, the first the more urgent."""
    discipline: Literal["priority", "priority_preempt"]
    discipline = "priority_preempt" if interrupts else "priority"

    def build() -> Model:
        model = Model("closed priorities", time_unit="s")
        server = model.station("server", discipline=discipline)
        for kind in (0, 1):
            work = model.program(f"work {kind + 1}")
            work.use(server, exponential(SERVICE_S[kind]))
            model.closed_class(f"class {kind + 1}", work, population=JOBS[kind],
                               think=exponential(THINK_S[kind]), priority=-kind)  # fmt: skip
        return model

    if interrupts:
        present = stationary((0, 0), _interrupting_moves)
        inside = [expected(present, lambda state, k=kind: state[k]) for kind in (0, 1)]  # type: ignore[misc]
    else:
        shares = stationary((0, 0, 0), _ranked_moves)
        inside = [
            expected(shares, lambda state, k=kind: state[k + 1] + (state[0] == k + 1))  # type: ignore[misc]
            for kind in (0, 1)
        ]
    rates = [(JOBS[kind] - inside[kind]) / THINK_S[kind] for kind in (0, 1)]
    return Subject(
        model="closed classes, preemption" if interrupts else "closed classes, priorities",
        parameters="populations 3 and 2",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=tuple(
            Answer(quantity=f"throughput of class {kind + 1}", value=rates[kind], source=BALANCE,
                   statistic=throughput(f"class {kind + 1}"))
            for kind in (0, 1)
        ),
    )  # fmt: skip


def reserved(buffer: int) -> Subject:
    """Two stations, the first serving only while the second has a place: M/M/1/(B+1)."""

    def build() -> Model:
        model = Model("reserved", time_unit="s")
        cycle = model.program("cycle")
        cycle.use(model.station("first"), exponential(1), reserve=True)
        cycle.use(model.station("second", buffer=buffer), exponential(1))
        model.closed_class("jobs", cycle, population=buffer + 4)
        return model

    return Subject(
        model="2 stations, blocking before service",
        parameters=f"buffer of {buffer}",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=(completes((buffer + 1) / (buffer + 2), "(B+1)/(B+2), Perros 1994"),),
    )


def insensitive_network() -> Subject:
    """Shared stations and think time: the means count alone, whatever the laws."""
    laws: dict[str, Distribution] = {
        "cpu": hyperexponential(DEMANDS_S["cpu"], c2=4),
        "disk": constant(DEMANDS_S["disk"]),
        "network": exponential(DEMANDS_S["network"]),
    }
    rate, stays = mva(list(DEMANDS_S.values()), 1.0, 20)
    return Subject(
        model="interactive system, shared stations",
        parameters="20 users, laws H2, D, M, constant think",
        build=lambda: interactive_model(20, constant(1), laws, discipline="ps"),
        warm_up_s=500,
        measured_s=5_000,
        answers=(
            completes(rate, f"BCMP 1975; {MVA}"),
            responds(sum(stays), f"BCMP 1975; {MVA}"),
        ),
    )
