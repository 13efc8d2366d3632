"""Changing servers, speeds and tokens, compared with exactly solved Markov chains.

If changes happen at known times, the Kolmogorov equations are solved piece by piece with matrix
exponentials (Moler and Van Loan 2003), and the state repeats after a period. If a controller acts
at random times, its actions are transitions of one larger chain.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy.linalg import expm

from headroom.simulation import (
    Model,
    Schedule,
    SimulationError,
    SimulationResult,
    Station,
    constant,
    exponential,
    schedule,
    simulate,
)
from headroom.simulation.checks.capacity import offered_loads, work_rate
from headroom.simulation.checks.check import canonical_json, check_model

COMPLETIONS = 100_000
MOST_JOBS = 24
RATE = 1.0
State: TypeAlias = tuple[int, int]
"""Jobs present, and servers at work; more of these than there are servers end their service."""


def states(most_servers: int) -> list[State]:
    return [(n, b) for n in range(MOST_JOBS + 1) for b in range(min(n, most_servers) + 1)]


def moves(state: State, servers: int) -> Iterator[tuple[State, float]]:
    """Yield the next states of M/M/c with their rates."""
    jobs, busy = state
    if jobs < MOST_JOBS:
        yield (jobs + 1, max(busy, min(jobs + 1, servers))), RATE
    if busy:
        yield (jobs - 1, max(busy - 1, min(jobs - 1, servers))), float(busy)


def generator(
    known: list[Any], out: Callable[[Any], Iterator[tuple[Hashable, float]]]
) -> np.ndarray[Any, Any]:
    index = {state: place for place, state in enumerate(known)}
    zeros = np.zeros((len(known), len(known)))
    for state in known:
        for other, rate in out(state):
            zeros[index[state], index[other]] += rate
            zeros[index[state], index[state]] -= rate
    return zeros


def cyclic_means(times: Sequence[float], servers: Sequence[int], period: float) -> dict[str, float]:
    """Return means over a period of M/M/c(t) in its cyclic steady state."""
    known = states(max(servers))
    index = {state: place for place, state in enumerate(known)}
    ends = (*times[1:], period)
    steps, areas = [], []
    for begin, end, count in zip(times, ends, servers, strict=True):
        rates = generator(known, partial(moves, servers=count))
        size = len(known)
        block = np.zeros((2 * size, 2 * size))
        block[:size, :size], block[:size, size:] = rates, np.eye(size)
        grown = expm(block * (end - begin))
        jump = np.zeros((size, size))  # New servers begin at once; those that go end their job.
        for (jobs, busy), place in index.items():
            jump[place, index[jobs, max(busy, min(jobs, count))]] = 1.0
        steps.append(jump @ grown[:size, :size])
        areas.append(jump @ grown[:size, size:])
    whole = np.linalg.multi_dot(steps)
    system = np.vstack([whole.T - np.eye(len(known)), np.ones(len(known))])
    now = np.linalg.lstsq(system, np.append(np.zeros(len(known)), 1.0), rcond=None)[0]
    present, working = np.array(known, dtype=float).T
    means = {"jobs": 0.0, "busy": 0.0, "capacity": 0.0}
    for step, area, count in zip(steps, areas, servers, strict=True):
        spent = now @ area / period
        means["jobs"] += float(spent @ present)
        means["busy"] += float(spent @ working)
        means["capacity"] += float(spent @ np.maximum(working, count))
        now = now @ step
    return means


TIMES, SERVERS, PERIOD = (0.0, 5.0, 9.0), (0, 4, 2), 12.0
DAY = schedule(list(zip(TIMES, SERVERS, strict=True)), period=PERIOD)


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    """Means of a day with `DAY` servers, by the equations of Kolmogorov."""
    return cyclic_means(TIMES, SERVERS, PERIOD)


def visits_to(make: Callable[[Model], Station]) -> SimulationResult:
    model = Model("changing", time_unit="s")
    station, visit = make(model), model.program("visit")
    visit.use(station, exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(1 / RATE))
    return simulate(model, seed=3, completions=COMPLETIONS)


def means_of(result: SimulationResult) -> dict[str, float]:
    columns, end_s = result.stations.columns, float(result.snapshot_times_s[-1])
    names = {"jobs": "jobs_s", "busy": "busy_s", "capacity": "capacity_s"}
    return {name: float(columns[column][-1, 0]) / end_s for name, column in names.items()}


@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random"])
def test_servers_by_schedule_agree_with_the_equations_of_kolmogorov(
    discipline: str, expected: dict[str, float]
) -> None:
    result = visits_to(
        lambda model: model.station("web", servers=DAY, discipline=discipline)  # type: ignore[arg-type]
    )
    assert means_of(result) == pytest.approx(expected, rel=0.03)


def test_tokens_by_schedule_are_servers_by_another_name(expected: dict[str, float]) -> None:
    model = Model("tokens", time_unit="s")
    pool, visit = model.pool("desks", tokens=DAY), model.program("visit")
    with visit.holding(pool):
        visit.delay(exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(1 / RATE))
    result = simulate(model, seed=3, completions=COMPLETIONS)
    columns, end_s = result.pools.columns, float(result.snapshot_times_s[-1])
    jobs = (columns["held_s"] + columns["queue_s"])[-1, 0] / end_s
    assert jobs == pytest.approx(expected["jobs"], rel=0.03)
    assert columns["capacity_s"][-1, 0] / end_s == pytest.approx(expected["capacity"], rel=0.01)


def mean_jobs(known: list[Any], out: Callable[[Any], Iterator[tuple[Hashable, float]]]) -> float:
    """Return the mean of the first number of the states of a chain in steady state."""
    rates = generator(known, out)
    system = np.vstack([rates.T, np.ones(len(known))])
    chance = np.linalg.lstsq(system, np.append(np.zeros(len(known)), 1.0), rcond=None)[0]
    return float(chance @ np.array([state[0] for state in known], dtype=float))


def test_a_controller_that_looks_at_the_queue_is_a_chain_of_its_own() -> None:
    """One or three servers: three from four jobs on, one from one job down, looks each second."""

    def out(state: tuple[int, int, int]) -> Iterator[tuple[Hashable, float]]:
        jobs, busy, servers = state
        for (after, at_work), rate in moves((jobs, busy), servers):
            yield (after, at_work, servers), rate
        wanted = 3 if jobs >= 4 else 1 if jobs <= 1 else servers
        yield (jobs, max(busy, min(jobs, wanted)), wanted), 1.0

    known = [(n, b, c) for n, b in states(3) for c in (1, 3)]
    model = Model("scaled", time_unit="s")
    web, scale, visit = model.station("web"), model.program("scale"), model.program("visit")
    with scale.branch() as branch:
        with branch.when(model.jobs(web) >= 4):
            scale.set_servers(web, 3)
        with branch.when(model.jobs(web) <= 1):
            scale.set_servers(web, 1)
    model.controller("scaler", scale, every=exponential(1))
    visit.use(web, exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(1 / RATE))
    result = simulate(model, seed=3, completions=COMPLETIONS)
    assert means_of(result)["jobs"] == pytest.approx(mean_jobs(known, out), rel=0.04)


@pytest.mark.parametrize("discipline", ["fcfs", "ps", "lcfs_preempt"])
def test_a_speed_that_changes_holds_for_services_in_progress(discipline: str) -> None:
    """M/M/1 whose speed turns between 1 and 3 at random: a chain of jobs and speeds."""

    def out(state: tuple[int, int]) -> Iterator[tuple[Hashable, float]]:
        jobs, speed = state
        if jobs < MOST_JOBS:
            yield (jobs + 1, speed), RATE
        if jobs:
            yield (jobs - 1, speed), float(speed)
        yield (jobs, 4 - speed), 0.5

    model = Model("throttled", time_unit="s")
    cpu = model.station("cpu", discipline=discipline)  # type: ignore[arg-type]  # each in turn
    phase, turn, visit = model.attribute("phase"), model.program("turn"), model.program("visit")
    turn.set(phase, 1 - phase)
    turn.set_speed(cpu, 1 + 2 * phase)
    model.controller("governor", turn, every=exponential(2))
    visit.use(cpu, exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(1 / RATE))
    result = simulate(model, seed=7, completions=COMPLETIONS)
    expected = mean_jobs([(n, s) for n in range(MOST_JOBS + 1) for s in (1, 3)], out)
    assert means_of(result)["jobs"] == pytest.approx(expected, rel=0.05)


def test_a_speed_by_schedule_stretches_what_is_left_of_a_service() -> None:
    """A job of 10 s of work, at speed 1 for 4 s and then at speed 3, takes 4 + 6 / 3 s."""
    for discipline in ("fcfs", "ps"):
        model = Model("faster", time_unit="s")
        pace = schedule([(0, 1), (4, 3)])
        cpu = model.station("cpu", speeds=pace, discipline=discipline)
        work = model.program("work")
        work.use(cpu, constant(10))
        model.closed_class("job", work, population=1)
        result = simulate(model, seed=1, completions=1)
        assert result.snapshot_times_s[-1] == pytest.approx(6.0, abs=1e-8)


def test_a_server_that_goes_while_busy_ends_its_service_first() -> None:
    """Two servers until 3 s, one after: both services of 5 s end at 5 s, the third at 10 s."""
    model = Model("goes", time_unit="s")
    desk = model.station("desk", servers=schedule([(0, 2), (3, 1)]))
    visit = model.program("visit")
    visit.use(desk, constant(5))
    model.closed_class("visitors", visit, population=3)
    result = simulate(model, seed=1, completions=3)
    columns = result.stations.columns
    assert result.snapshot_times_s[-1] == 10.0
    assert columns["capacity_s"][-1, 0] == 5 * 2 + 5 * 1 == columns["busy_s"][-1, 0]


def test_the_buffer_stays_when_servers_change() -> None:
    """One place per server: with two servers three jobs fit, with one server two."""
    model = Model("places", time_unit="s")
    timed = schedule([(0, 2), (10, 1)])
    desk = model.station("desk", servers=timed, buffer=1, when_full="reject")
    visit = model.program("visit")
    visit.use(desk, constant(7))
    model.open_class("visitors", visit, interarrival=constant(100), batch=5)
    columns = simulate(model, seed=1, time=150).stations.columns
    assert columns["reject_count"][-1, 0] == 3


def _scaled(*counts: object) -> Model:
    model = Model("shut", time_unit="s")
    web, scale, visit = model.station("web"), model.program("scale"), model.program("visit")
    for count in counts:
        scale.set_servers(web, count if isinstance(count, int) else model.jobs(web))
        scale.delay(1)
    model.controller("scaler", scale, every=10)
    visit.use(web, exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(2))
    return model


def test_servers_that_are_taken_away_for_good_are_refused() -> None:
    with pytest.raises(SimulationError, match=r"the servers of 'web' are set to 0, and nothing"):
        check_model(_scaled(0))
    for counts in ((0, 1), (0, "jobs")):
        check_model(_scaled(*counts))


def test_a_delay_before_a_change_is_the_start_of_a_server_and_one_after_it_a_rest() -> None:
    """Looks at 1 s, start until 4 s, rest until 9 s, looks again at 10 s and takes it back."""
    model = Model("slow start", time_unit="s")
    web, scale, visit = model.station("web"), model.program("scale"), model.program("visit")
    wanted = 3 - model.servers(web)
    scale.delay(3)
    scale.set_servers(web, wanted)
    scale.delay(5)
    model.controller("scaler", scale, every=1)
    visit.use(web, constant(1))
    model.open_class("visitors", visit, interarrival=constant(2))
    columns = simulate(model, seed=1, time=20).stations.columns
    assert columns["capacity_s"][-1, 0] == 4 * 1 + 9 * 2 + 7 * 1
    assert columns["busy_s"][-1, 0] <= columns["capacity_s"][-1, 0]


def test_the_utilization_since_the_last_look_is_what_busy_time_gained() -> None:
    model = Model("watched", time_unit="s")
    web, look, visit = model.station("web"), model.program("look"), model.program("visit")
    last, load = model.attribute("last"), model.attribute("load")
    look.set(load, (model.busy_time(web) - last) / 10)
    look.set(last, model.busy_time(web))
    with look.branch() as branch, branch.when((load < 0.5) | (load > 0.5)):
        look.set_speed(web, 1000)
    model.controller("watcher", look, every=10)
    visit.use(web, constant(1))
    model.open_class("visitors", visit, interarrival=constant(2))
    columns = simulate(model, seed=1, time=101).stations.columns
    # The first look sees 4 of 10 s; from then on services take a thousandth.
    assert columns["busy_s"][-1, 0] == pytest.approx(4 + 46 / 1000)


def scheduled() -> Model:
    model = Model("scheduled", time_unit="s")
    web, visit = model.station("web", servers=DAY), model.program("visit")
    visit.use(web, exponential(1))
    model.open_class("visitors", visit, interarrival=exponential(1 / RATE))
    return model


def test_offered_loads_reckon_with_the_mean_of_a_schedule() -> None:
    model = scheduled()
    assert work_rate(model, "web") == pytest.approx(DAY.mean) == pytest.approx(22 / 12)
    assert offered_loads(model)["web"] == pytest.approx(RATE / DAY.mean)


def test_a_what_if_multiplies_a_schedule() -> None:
    changed = scheduled().with_servers("web", 8).stations["web"].server_schedule
    assert changed == Schedule((0.0, 5.0, 9.0), (0.0, 8.0, 4.0), 12.0)
    with pytest.raises(SimulationError, match="they are not whole numbers"):
        scheduled().with_servers("web", 5)


def test_a_controller_takes_no_step_of_jobs() -> None:
    model = scheduled()
    look = model.program("look")
    look.use(model.stations["web"], 1)
    model.controller("looker", look, every=1)
    with pytest.raises(SimulationError, match=r"controller 'looker' takes the step use"):
        canonical_json(model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: schedule([]), "at least one"),
        (lambda: schedule([(1, 2)]), "begin with time 0"),
        (lambda: schedule([(0, 2), (0, 3)]), "ascend"),
        (lambda: schedule([(0, 2), (5, 3)], period=5), "period above the last time"),
        (lambda: Model("m").station("s", servers=schedule([(0, 0.5)])), "whole numbers"),
        (lambda: Model("m").station("s", servers=schedule([(0, 0)])), "never has servers"),
        (lambda: Model("m").station("s", speeds=schedule([(0, 0)])), "numbers above 0"),
        (lambda: Model("m").station("s", servers=Model("m").now), "no job computes it"),  # type: ignore[arg-type]
    ],
)
def test_a_schedule_that_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SimulationError) as caught:
        make()
    assert message in f"{caught.value.message} {caught.value.cure}"
