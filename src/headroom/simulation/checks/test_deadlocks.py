"""Circular waits are found before the run; models without one are accepted."""

from collections.abc import Callable

import pytest

from headroom.simulation import (
    Model,
    Pool,
    Program,
    SimulationError,
    Station,
    draw,
    exponential,
    uniform,
)
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.language.stations import Discipline
from headroom.simulation.runs.run import ready, run_ready

Write = Callable[[Model], object]


def pools(model: Model, *, tokens: int = 1) -> tuple[Pool, Pool]:
    return model.pool("left", tokens=tokens), model.pool("right", tokens=tokens)


def taking(model: Model, name: str, *order: Pool) -> Program:
    """Return a program that acquires pools one inside the other."""
    program = model.program(name)
    blocks = [program.holding(pool) for pool in order]
    for block in blocks:
        block.__enter__()
    program.delay(1)
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    return program


def opposite(model: Model, *, tokens: int = 1, population: int = 1) -> None:
    left, right = pools(model, tokens=tokens)
    for name, order in (("up", (left, right)), ("down", (right, left))):
        model.closed_class(name, taking(model, name, *order), population=population)


def refusal(write: Write, *, stations: bool = False) -> str:
    """Return the message of a refusal that `may_deadlock` lifts."""
    model = Model("circle", time_unit="ms")
    write(model)
    with pytest.raises(SimulationError) as caught:
        canonical_json(model)
    assert "may_deadlock=True" in caught.value.cure
    allowed = Model("circle", time_unit="ms", may_deadlock=True)
    write(allowed)
    assert canonical_json(allowed)
    assert ("place(s)" in caught.value.message) == stations
    return caught.value.message


def accepted(write: Write) -> None:
    model = Model("no circle", time_unit="ms")
    write(model)
    assert canonical_json(model)


def test_opposite_orders_are_refused_with_both_lines() -> None:
    message = refusal(opposite)
    line = taking.__code__.co_firstlineno + 5
    assert "program 'up' waits for pool 'right' while it holds pool 'left'" in message
    assert "program 'down' waits for pool 'left' while it holds pool 'right'" in message
    assert message.count(f"test_deadlocks.py:{line}") == 4


def test_one_order_is_accepted() -> None:
    def write(model: Model) -> None:
        left, right = pools(model)
        for name in ("one", "two"):
            model.closed_class(name, taking(model, name, left, right), population=5)

    accepted(write)


def test_enough_tokens_for_all_jobs_never_run_out() -> None:
    """Two classes of 3 jobs, a token each: 6 tokens suffice, 5 do not."""
    accepted(lambda model: opposite(model, tokens=6, population=3))
    refusal(lambda model: opposite(model, tokens=5, population=3))


def test_a_circle_of_three_pools_is_found() -> None:
    def write(model: Model) -> None:
        parts = [model.pool(name, tokens=1) for name in "abc"]
        for index in range(3):
            name = f"p{index}"
            program = taking(model, name, parts[index], parts[(index + 1) % 3])
            model.open_class(name, program, interarrival=exponential(99))

    message = refusal(write)
    assert all(f"program 'p{index}'" in message for index in range(3))


def test_a_circle_through_a_call_is_found() -> None:
    def write(model: Model) -> None:
        left, right = pools(model)
        inner = taking(model, "inner", right)
        outer = model.program("outer")
        with outer.holding(left):
            outer.call(inner)
        model.closed_class("up", outer, population=1)
        model.closed_class("down", taking(model, "down", right, left), population=1)

    assert "program 'outer' waits for pool 'right'" in refusal(write)


def called_after_reply(model: Model, *, replies: bool) -> None:
    left, right = pools(model)
    inner = model.program("inner")
    if replies:
        inner.reply()
    with inner.holding(right):
        inner.delay(1)
    outer = model.program("outer")
    with outer.holding(left):
        outer.call(inner)
    model.closed_class("up", outer, population=1)
    model.closed_class("down", taking(model, "down", right, left), population=1)


def test_what_happens_after_the_reply_is_not_waited_for() -> None:
    accepted(lambda model: called_after_reply(model, replies=True))
    refusal(lambda model: called_after_reply(model, replies=False))


def attempted(model: Model, *, timeout: float | None) -> None:
    left, right = pools(model)
    full = model.station("full", buffer=0, when_full="reject")
    up = model.program("up")
    with up.holding(left), up.attempt(timeout=timeout) as attempt, attempt.work():
        up.use(full, 1)
        with up.holding(right):
            up.delay(1)
    model.closed_class("up", up, population=1)
    model.closed_class("down", taking(model, "down", right, left), population=1)


def test_a_time_out_ends_the_waiting() -> None:
    accepted(lambda model: attempted(model, timeout=9))
    refusal(lambda model: attempted(model, timeout=None))


def test_a_job_started_beside_is_not_waited_for() -> None:
    def write(model: Model) -> None:
        left, right = pools(model)
        inner = taking(model, "inner", right)
        outer = model.program("outer")
        with outer.holding(left):
            outer.start(inner)
        model.closed_class("up", outer, population=1)
        model.closed_class("down", taking(model, "down", right, left), population=1)

    accepted(write)


def upgrading(model: Model, *, tokens: int, first: int, second: int, population: int) -> None:
    pool = model.pool("memory", tokens=tokens)
    program = model.program("upgrade")
    with program.holding(pool, first):
        program.delay(1)
        with program.holding(pool, second):
            program.delay(1)
    model.closed_class("jobs", program, population=population)


@pytest.mark.parametrize(
    ("tokens", "first", "second", "population", "is_safe"),
    [
        (2, 1, 1, 2, False),  # each holds one and wants one more
        (2, 1, 1, 1, True),
        (3, 1, 1, 2, True),  # two hold one each, one is left
        (3, 1, 1, 3, False),
        (5, 2, 1, 9, True),  # at most two hold two each, one is left
        (4, 2, 1, 9, False),
        (9, 2, 3, 3, True),  # 9 - 3 * 2 = 3
        (9, 2, 3, 4, False),
    ],
)
def test_an_upgrade_is_refused_where_jobs_can_hold_all_and_want_more(
    *, tokens: int, first: int, second: int, population: int, is_safe: bool
) -> None:
    def write(model: Model) -> None:
        upgrading(model, tokens=tokens, first=first, second=second, population=population)

    if is_safe:
        accepted(write)
    else:
        assert "while it holds" in refusal(write)


def test_a_parent_that_holds_what_its_arm_needs_is_refused() -> None:
    def write(model: Model) -> None:
        pool = model.pool("key", tokens=1)
        program = model.program("parent")
        with program.holding(pool), program.fork() as fork, fork.arm(), program.holding(pool):
            program.delay(1)
        model.closed_class("jobs", program, population=1)

    assert "waits for 1 token(s) of pool 'key' while it holds 1 of it" in refusal(write)


def ring(model: Model, *, buffers: tuple[int | None, ...], population: int) -> Program:
    """Return a program of two rounds through blocking stations."""
    stations = [model.station(f"s{index}", buffer=size) for index, size in enumerate(buffers)]
    program = model.program("round")
    with program.loop(2):
        for station in stations:
            program.use(station, 1)
    model.closed_class("jobs", program, population=population)
    return program


def test_a_ring_of_blocking_stations_is_refused_when_the_jobs_can_fill_it() -> None:
    """Places: 1 server + 1 buffer, twice: 4 jobs fill them, 3 do not (Kundu and Akyildiz)."""
    accepted(lambda model: ring(model, buffers=(1, 1), population=3))
    message = refusal(lambda model: ring(model, buffers=(1, 1), population=4), stations=True)
    assert "station 's0' to 's1'" in message
    assert "station 's1' to 's0'" in message
    assert "these stations have 4 place(s)" in message


def test_a_station_with_room_without_end_opens_the_ring() -> None:
    accepted(lambda model: ring(model, buffers=(0, None, 0), population=99))


def line_of(model: Model, write: Callable[[Program, Station, Station], None]) -> None:
    first, second = model.station("first", buffer=0), model.station("second", buffer=0)
    program = model.program("line")
    write(program, first, second)
    model.open_class("jobs", program, interarrival=exponential(9))


def straight(program: Program, first: Station, second: Station) -> None:
    program.use(first, 1)
    program.use(second, 1)


def there_and_back(program: Program, first: Station, second: Station) -> None:
    straight(program, first, second)
    program.use(first, 1)


def back_after_a_pause(program: Program, first: Station, second: Station) -> None:
    straight(program, first, second)
    program.delay(1)
    program.use(first, 1)


def back_through_a_network(program: Program, first: Station, second: Station) -> None:
    with program.network() as net:
        with net.node("a", to="empty"):
            program.use(first, 1)
        with net.node("empty", to={"b": 0.5, net.leave: 0.5}):
            pass
        with net.node("b", to="a"):
            program.use(second, 1)


def test_a_line_of_blocking_stations_cannot_deadlock() -> None:
    accepted(lambda model: line_of(model, straight))
    accepted(lambda model: line_of(model, back_after_a_pause))


@pytest.mark.parametrize("write", [there_and_back, back_through_a_network])
def test_a_way_back_closes_the_circle(write: Callable[[Program, Station, Station], None]) -> None:
    refusal(lambda model: line_of(model, write), stations=True)


def reserving(discipline: Discipline, *, breaks: bool) -> Write:
    """Return a tandem in which a place is reserved before the first service."""

    def write(model: Model) -> None:
        first = model.station("first", servers=2, discipline=discipline)
        second = model.station("second", buffer=0)
        if breaks:
            model.breakdowns(first, time_to_failure=exponential(5), repair=exponential(2))
        program = model.program("walk")
        program.prioritize(draw(uniform(0, 9)))
        program.use(first, exponential(1), reserve=True)
        program.use(second, exponential(1))
        model.closed_class("users", program, population=8, think=exponential(3))

    return write


@pytest.mark.parametrize(
    ("discipline", "breaks", "words"),
    [
        ("lcfs_preempt", False, "interrupts jobs (lcfs_preempt)"),
        ("priority_preempt", False, "interrupts jobs (priority_preempt)"),
        ("priority_preempt", True, "interrupts jobs (priority_preempt)"),
        ("lcfs", True, "breaks down and then serves by lcfs"),
        ("priority", True, "breaks down and then serves by priority"),
        ("random", True, "breaks down and then serves by random"),
    ],
)
def test_a_place_is_not_reserved_where_a_job_may_be_interrupted(
    discipline: Discipline, words: str, *, breaks: bool
) -> None:
    """The refused model does deadlock."""
    assert words in refusal(reserving(discipline, breaks=breaks))
    model = Model("circle", time_unit="s", may_deadlock=True)
    reserving(discipline, breaks=breaks)(model)
    with pytest.raises(SimulationError, match="deadlock at"):
        run_ready(ready(model), seed=1, completions=20_000)


@pytest.mark.parametrize(
    ("discipline", "breaks"),
    [("fcfs", True), ("ps", True), ("lcfs", False), ("priority", False), ("random", False)],
)
def test_a_place_is_reserved_where_nobody_comes_before(
    discipline: Discipline, *, breaks: bool
) -> None:
    model = Model("line", time_unit="s")
    reserving(discipline, breaks=breaks)(model)
    result = run_ready(ready(model), seed=1, completions=20_000)
    assert result.classes.columns["completion_count"][-1, 0] == 20_000
