"""Subjects of the reference with blocking stations, and with jobs that fork."""

from collections.abc import Callable, Iterator
from functools import cache

from benches.known.chains import expected, stationary
from benches.known.subject import Answer, Subject, completes, mean_of, responds, response
from headroom.simulation import Model, exponential

BALANCE = "balance equations"
Line = tuple[int, tuple[int, ...], tuple[bool, ...]]
"""Jobs before the first station left (or 1 if there are always some), at each further station, and
which stations hold a finished job that finds no room."""


def subjects() -> list[Subject]:
    """Return the subjects, in the order of the reference."""
    lines = [saturated(2, *row) for row in TWO]
    lines += [saturated(3, *row) for row in THREE]
    lines += [open_tandem(*row) for row in TANDEM]
    lines += [fork_of_two(*row) for row in FORK_2]
    return lines + [fork_of_four(*row) for row in FORK_4]


def _leave(first: int, jobs: list[int], blocked: list[bool], station: int) -> int:
    """Take the finished job from a station, and let the job blocked before it follow.

    Returns the jobs at the first station, one fewer if that is where the room appeared.
    """
    while True:
        blocked[station] = False
        if station == 0:
            return first - 1
        if not blocked[station - 1]:
            jobs[station - 1] -= 1
            return first
        station -= 1


def line_moves(
    rooms: tuple[int, ...], arrivals: float | None, room_before: int = 0
) -> Callable[[Line], Iterator[tuple[float, Line]]]:
    """Return the moves of a line of exponential stations of mean 1, blocking after service.

    `rooms` are the places at the second station and so on, the one in service included. Without
    `arrivals` the first station always has a job; with them at most `room_before` wait there.
    """
    is_open = arrivals is not None

    def moves(state: Line) -> Iterator[tuple[float, Line]]:
        first, jobs, blocked = state
        if arrivals is not None and first < room_before:
            yield arrivals, (first + 1, jobs, blocked)
        for station, present in enumerate((first, *jobs)):
            if not present or blocked[station]:
                continue
            now, held, left = list(jobs), list(blocked), first
            if station < len(rooms) and jobs[station] >= rooms[station]:
                held[station] = True
            else:
                left = _leave(first, now, held, station)
                if station < len(rooms):
                    now[station] += 1
            yield 1.0, (left if is_open else first, tuple(now), tuple(held))

    return moves


TWO = ((0, "0.666667"), (1, "0.75"), (2, "0.8"), (4, "0.857143"))
THREE = ((0, "0.564103"), (1, "0.670466"), (2, "0.734017"), (5, "0.830759"))


def saturated(stations: int, buffer: int, rate: str) -> Subject:
    """Return a line whose first station never lacks work: more jobs go round than fit behind."""

    def build() -> Model:
        model = Model("line", time_unit="s")
        cycle = model.program("cycle")
        cycle.use(model.station("station 1"), exponential(1))
        for number in range(2, stations + 1):
            cycle.use(model.station(f"station {number}", buffer=buffer), exponential(1))
        model.closed_class("jobs", cycle, population=(stations - 1) * (buffer + 1) + 2)
        return model

    rooms = (buffer + 1,) * (stations - 1)
    start: Line = (1, (0,) * (stations - 1), (False,) * stations)
    shares = stationary(start, line_moves(rooms, None))
    return Subject(
        model=f"{stations} stations that block, saturated",
        parameters=f"buffers of {buffer}",
        build=build,
        warm_up_s=1_000,
        measured_s=50_000,
        answers=(
            completes(expected(shares, lambda state: state[1][-1] > 0), BALANCE, printed=rate),
        ),
    )


TANDEM = (
    (1, "5.600000", "0.2"),
    (2, "4.410411", "0.089589"),
    (5, "4.018149", "0.010180"),
)


def open_tandem(room: int, stays: str, blocked: str) -> Subject:
    """Poisson arrivals of 0.5 to two stations, the second with room for `room` jobs."""

    def build() -> Model:
        model = Model("tandem", time_unit="s")
        visit = model.program("visit")
        visit.use(model.station("station 1"), exponential(1))
        visit.use(model.station("station 2", buffer=room - 1), exponential(1))
        model.open_class("jobs", visit, interarrival=exponential(2))
        return model

    empty: Line = (0, (0,), (False, False))
    shares = stationary(empty, line_moves((room,), 0.5, 300))
    inside = expected(shares, lambda state: state[0] + state[1][0])
    return Subject(
        model="open tandem that blocks",
        parameters=f"arrivals 0.5, room for {room}",
        build=build,
        answers=(
            responds(inside / 0.5, BALANCE, printed=stays),
            Answer(quantity="station 1 blocked",
                   value=expected(shares, lambda state: state[2][0]), source=BALANCE,
                   statistic=mean_of("blocked_s", "station 1"), printed=blocked),
        ),
    )  # fmt: skip


NELSON = "Nelson & Tantawi 1988"


def fork_model(arms: int, load: float) -> Model:
    """Return Poisson arrivals that split over `arms` equal stations and wait for all parts."""
    model = Model("fork", time_unit="s")
    visit = model.program("visit")
    with visit.fork() as fork:
        for number in range(arms):
            with fork.arm():
                visit.use(model.station(f"station {number}"), exponential(1))
    model.open_class("jobs", visit, interarrival=exponential(1 / load))
    return model


FORK_2 = ((0.5, "2.875"), (0.8, "7.0"))


def fork_of_two(load: float, stays: str) -> Subject:
    """Two arms have an exact answer."""
    return Subject(
        model="fork and join of 2",
        parameters=f"load {load:g}",
        build=lambda: fork_model(2, load),
        answers=(responds((12 - load) / 8 / (1 - load), f"exact, {NELSON}", printed=stays),),
    )


FORK_4 = ((0.5, "3.7898"), (0.8, "8.9303"))
CHAIN_UP_TO = 0.5
"""Load beyond which the chain of four queues has too many states."""


@cache
def fork_response(arms: int, load: float, room: int) -> float:
    """Return the mean response of a fork by its chain: the sorted lengths of the queues.

    Parts leave in the order of arrival, so the jobs in the system are the longest queue.
    """

    def moves(state: tuple[int, ...]) -> Iterator[tuple[float, tuple[int, ...]]]:
        if state[-1] < room:
            yield load, tuple(length + 1 for length in state)
        for place, length in enumerate(state):
            if length and (place == 0 or state[place - 1] < length):
                equal = state.count(length)
                yield float(equal), (*state[:place], length - 1, *state[place + 1 :])

    shares = stationary((0,) * arms, moves)
    return expected(shares, lambda state: state[-1]) / load


def fork_of_four(load: float, stays: str) -> Subject:
    """More arms have an approximation; at a low load the chain can be solved as well."""
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    scale = harmonic / 1.5 + 4 / 11 * (1 - harmonic / 1.5) * load
    answers = [
        Answer(quantity="response", value=scale * (12 - load) / 8 / (1 - load),
               source=f"approximation, {NELSON}", statistic=response(), printed=stays,
               is_exact=False),
    ]  # fmt: skip
    if load <= CHAIN_UP_TO:
        answers.append(responds(fork_response(4, load, 20), BALANCE))
    return Subject(
        model="fork and join of 4",
        parameters=f"load {load:g}",
        build=lambda: fork_model(4, load),
        answers=tuple(answers),
    )
