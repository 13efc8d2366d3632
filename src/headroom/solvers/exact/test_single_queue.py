"""Oracle: each queue as a chain written out state by state here, cut far out, solved by SciPy."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

from headroom.simulation import (
    Distribution,
    Model,
    changing_rate,
    constant,
    discrete,
    erlang,
    exponential,
    gamma,
    geometric,
    hyperexponential,
    lognormal,
    mmpp,
    uniform,
)
from headroom.solvers import Solution, solve
from headroom.solvers.exact.shortest import shortest_response_s

State = tuple[int, ...]
Moves = Callable[[State], Iterator[tuple[float, State]]]


def shares(start: State, moves: Moves) -> dict[State, float]:
    """Return the stationary share of each state that can be reached."""
    place, waiting, entries = {start: 0}, [start], []
    while waiting:
        state = waiting.pop()
        for rate, after in moves(state):
            if after not in place:
                place[after] = len(place)
                waiting.append(after)
            entries.append((place[after], place[state], rate))
            entries.append((place[state], place[state], -rate))
    rows, columns, values = (np.array(one) for one in zip(*entries, strict=True))
    balance = sparse.csc_matrix((values, (rows, columns)), shape=(len(place), len(place)))
    # The share of the first state is 1 until all are known.
    others = linalg.spsolve(balance[1:, 1:], -balance[1:, [0]].toarray()[:, 0])
    found = np.concatenate([[1.0], others])
    found /= found.sum()
    return {state: float(found[number]) for state, number in place.items()}


def mean_jobs(start: State, moves: Moves) -> float:
    """Return the mean of the first number of a state."""
    return sum(state[0] * share for state, share in shares(start, moves).items())


def queue(
    service: Distribution, arrivals: Any, *, servers: int = 1, **extra: Any
) -> tuple[Model, Any]:
    """Return one station, and the model that it is in."""
    model = Model("queue", time_unit="s")
    patience, batch = extra.pop("patience", None), extra.pop("batch", None)
    station = model.station("s", servers=servers, **extra)
    program = model.program("visit")
    program.use(station, service, patience=patience)
    model.open_class("jobs", program, interarrival=arrivals, batch=batch)
    return model, station


def exactly(model: Model) -> Solution:
    """Return the solution of a model, which must be an exact one."""
    found = solve(model)
    assert found.is_exact, found.label
    assert not found.reasons
    return found


@pytest.mark.parametrize("unit", ["all", "each"])
@pytest.mark.parametrize("servers", [1, 3])
def test_breakdowns_agree_with_the_chain_of_jobs_and_servers_that_are_up(
    servers: int, unit: Any
) -> None:
    rate, failing, mending = 0.5 * servers, 0.1, 0.4
    together = servers if unit == "all" else 1

    def moves(state: State) -> Iterator[tuple[float, State]]:
        jobs, up = state
        if jobs < 400:
            yield rate, (jobs + 1, up)
        if min(jobs, up):
            yield float(min(jobs, up)), (jobs - 1, up)
        if up:
            yield failing * up / together, (jobs, up - together)
        if up < servers:
            yield mending * (servers - up) / together, (jobs, up + together)

    model, station = queue(exponential(1), exponential(1 / rate), servers=servers)
    model.breakdowns(station, time_to_failure=exponential(10), repair=exponential(2.5), unit=unit)
    found = exactly(model)
    assert found.response_s == pytest.approx(mean_jobs((0, servers), moves) / rate, rel=1e-9)
    assert found.stations[0].utilization == pytest.approx(0.5 / 0.8)


def test_a_service_of_phases_is_interrupted_in_its_phase() -> None:
    """Erlang service and repair: the chain of jobs, stage of service, and stage of repair."""

    def moves(state: State) -> Iterator[tuple[float, State]]:
        jobs, stage, repair = state
        if jobs < 300:
            yield 0.5, (jobs + 1, stage, repair)
        if repair:
            yield 4.0, (jobs, stage, (repair + 1) % 3)
            return
        yield 0.2, (jobs, stage, 1)
        if jobs:
            yield 2.0, (jobs - stage, 1 - stage, 0)

    model, station = queue(erlang(1, 2), exponential(2))
    model.breakdowns(station, time_to_failure=exponential(5), repair=erlang(0.5, 2))
    assert exactly(model).response_s == pytest.approx(mean_jobs((0, 0, 0), moves) / 0.5, rel=1e-9)


@pytest.mark.parametrize("room", [None, 4])
def test_bursts_agree_with_the_chain_of_jobs_and_states(room: int | None) -> None:
    rates, jump = (1.6, 0.2), (0.1, 0.05)
    places = 600 if room is None else room + 1

    def moves(state: State) -> Iterator[tuple[float, State]]:
        jobs, phase = state
        if jobs < places:
            yield rates[phase], (jobs + 1, phase)
        if jobs:
            yield 1.0, (jobs - 1, phase)
        yield jump[phase], (jobs, 1 - phase)

    bursts = mmpp(rates=rates, switch_rates=[[0, jump[0]], [jump[1], 0]])
    extra: dict[str, Any] = {} if room is None else {"buffer": room, "when_full": "reject"}
    model, _ = queue(exponential(1), bursts, **extra)
    found, known = exactly(model), shares((0, 0), moves)
    served = sum(share for (jobs, _), share in known.items() if jobs)
    assert found.throughput_per_s == pytest.approx(served, rel=1e-9)
    jobs = sum(state[0] * share for state, share in known.items())
    assert found.response_s == pytest.approx(jobs / served, rel=1e-8)
    assert found.metrics()["jobs_mean"] == pytest.approx(jobs, rel=1e-8)


def test_phases_of_arrivals_and_services_agree_with_their_chain() -> None:
    """E2/H2/2: jobs, stage of the next arrival, and jobs in service in the slow branch."""
    law = hyperexponential(1, c2=4)
    share = (1 + math.sqrt(3 / 5)) / 2
    fast, slow = 2 * share, 2 * (1 - share)

    def moves(state: State) -> Iterator[tuple[float, State]]:
        jobs, stage, slows = state
        arrival = 2 * 1.5
        if stage == 0:
            yield arrival, (jobs, 1, slows)
        elif jobs >= 2:
            if jobs < 400:
                yield arrival, (jobs + 1, 0, slows)
        else:
            yield arrival * share, (jobs + 1, 0, slows)
            yield arrival * (1 - share), (jobs + 1, 0, slows + 1)
        busy = min(jobs, 2)
        for rate, gone in ((fast * (busy - slows), 0), (slow * slows, 1)):
            if rate and jobs > 2:
                yield rate * share, (jobs - 1, stage, slows - gone)
                yield rate * (1 - share), (jobs - 1, stage, slows - gone + 1)
            elif rate:
                yield rate, (jobs - 1, stage, slows - gone)

    model, _ = queue(law, erlang(1 / 1.5, 2), servers=2)
    assert exactly(model).response_s == pytest.approx(mean_jobs((0, 0, 0), moves) / 1.5, rel=1e-7)


def test_impatient_jobs_agree_with_the_chain_of_jobs_and_patience() -> None:
    """M/M/2 with patience above its capacity; a job that is served waited less than others."""
    rate, leaving, servers = 3.0, 0.5, 2

    def moves(state: State) -> Iterator[tuple[float, State]]:
        (jobs,) = state
        if jobs < 200:
            yield rate, (jobs + 1,)
        if jobs:
            yield min(jobs, servers) + leaving * max(jobs - servers, 0), (jobs - 1,)

    known = shares((0,), moves)
    served = sum(min(state[0], servers) * share for state, share in known.items())
    # One job in the queue, by first steps: served in the end, and with which wait.
    wait = 0.0
    for (jobs,), share in known.items():
        chance, spent = 1.0, 0.0
        for ahead in range(jobs - servers, -1, -1):
            pace = servers + ahead * leaving
            chance *= pace / (pace + leaving)
            spent += 1.0 / (pace + leaving)
        wait += share * chance * spent if jobs >= servers else 0.0
    model, _ = queue(exponential(1), exponential(1 / rate), servers=2, patience=exponential(2))
    found = exactly(model)
    assert found.throughput_per_s == pytest.approx(served, rel=1e-9)
    assert found.response_s == pytest.approx(1.0 + wait * rate / served, rel=1e-9)
    assert found.metrics()["jobs_mean"] == pytest.approx(mean_jobs((0,), moves), rel=1e-9)
    assert not found.classes[0].response_s_at


@pytest.mark.parametrize("size", [constant(3), geometric(2.5), discrete([1, 6], weights=[3, 1])])
@pytest.mark.parametrize("servers", [1, 2])
def test_batches_agree_with_the_chain_of_jobs(size: Distribution, servers: int) -> None:
    rate = 0.6 * servers / size.mean
    sizes = {3: 1.0} if size.kind == "constant" else {1: 0.75, 6: 0.25}
    if size.kind == "geometric":
        sizes = {n: 0.4 * 0.6 ** (n - 1) for n in range(1, 70)}

    def moves(state: State) -> Iterator[tuple[float, State]]:
        (jobs,) = state
        for count, share in sizes.items():
            if jobs + count < 500:
                yield rate * share, (jobs + count,)
        if jobs:
            yield float(min(jobs, servers)), (jobs - 1,)

    model, _ = queue(exponential(1), exponential(1 / rate), servers=servers, batch=size)
    known = mean_jobs((0,), moves) / (rate * size.mean)
    assert exactly(model).response_s == pytest.approx(known, rel=1e-8)


@pytest.mark.parametrize("gap", [constant(1.25), uniform(0.5, 2.0), lognormal(1.25, 3)])
def test_renewal_arrivals_wait_as_at_the_root_of_their_transform(gap: Distribution) -> None:
    """D/M/1 solves x = exp(-(1 - x) 1.25); others by summing 400,000 quantiles in bisection."""
    if gap.kind == "constant":
        values = np.array([1.25])
    else:
        steps = (np.arange(400_000) + 0.5) / 400_000
        spread = math.sqrt(math.log(4))
        normal = pytest.importorskip("scipy.special").ndtri(steps)
        values = (
            0.5 + 1.5 * steps if gap.kind == "uniform"
            else 1.25 * np.exp(spread * normal - spread**2 / 2)
        )  # fmt: skip
    low, high = 0.0, 1 - 1e-9
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.exp(-values * (1 - middle)).mean() > middle else (low, middle)
        )
    model, _ = queue(exponential(1), gap)
    assert exactly(model).response_s == pytest.approx(1 / (1 - low), rel=1e-4)


def test_erlang_arrivals_at_several_servers_have_the_same_wait_by_root_and_chain() -> None:
    by_chain = exactly(queue(exponential(1.2), erlang(0.5, 4), servers=3)[0])
    by_root = exactly(queue(exponential(1.2), gamma(0.5, 0.25), servers=3)[0])
    assert by_root.method == "GI/M/c by its root"
    assert by_chain.response_s == pytest.approx(by_root.response_s, rel=1e-9)


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_the_shorter_of_two_queues_agrees_with_the_chain_of_both(load: float) -> None:
    def moves(state: State) -> Iterator[tuple[float, State]]:
        total, first = state
        second = total - first
        if total < 150:
            if first <= second:
                yield 2 * load / (1 + (first == second)), (total + 1, first + 1)
            if second <= first:
                yield 2 * load / (1 + (first == second)), (total + 1, first)
        if first:
            yield 1.0, (total - 1, first - 1)
        if second:
            yield 1.0, (total - 1, first)

    found = shortest_response_s(2, 2 * load, 1.0)
    assert found is not None
    assert found[0] == pytest.approx(mean_jobs((0, 0), moves) / (2 * load), rel=2e-4)


def test_three_queues_of_which_two_are_looked_at_agree_with_their_chain() -> None:
    """Two of three drawn: the longest is never joined, and the shortest by two draws of three."""

    def moves(state: State) -> Iterator[tuple[float, State]]:
        total, *queues = state
        for rank, share in ((0, 2 / 3), (1, 1 / 3)):
            if total < 45:
                yield 2.4 * share, after(queues, rank, 1)
        for rank in range(3):
            if queues[rank]:
                yield 1.0, after(queues, rank, -1)

    def after(queues: list[int], rank: int, by: int) -> State:
        changed = sorted(count + by * (place == rank) for place, count in enumerate(queues))
        return (sum(changed), *changed)

    found = shortest_response_s(3, 2.4, 1.0, sample=2)
    assert found is not None
    assert found[0] == pytest.approx(mean_jobs((0, 0, 0, 0), moves) / 2.4, rel=2e-3)


def test_turns_make_arrivals_erlang() -> None:
    """Every third of Poisson arrivals: E3/M/1 at each station, x = (3 / (3 + 1.25 (1 - x)))^3."""
    model = Model("turns", time_unit="s")
    program = model.program("visit")
    stations = [model.station(f"s{n}") for n in range(3)]
    program.use_one_of(stations, exponential(1), policy="round_robin")
    model.open_class("jobs", program, interarrival=exponential(1.25 / 3))
    root = 0.0
    for _ in range(2000):
        root = (2.4 / (2.4 + 1 - root)) ** 3
    assert solve(model).response_s == pytest.approx(1 / (1 - root), rel=1e-9)


def test_a_delay_before_the_queue_and_arrivals_of_unknown_kind_make_no_exact_answer() -> None:
    """Cause: a random delay blurs the gaps between arrivals, so no GI/M/1 comes out of it."""
    model = Model("blurred", time_unit="s")
    visit = model.program("visit")
    visit.delay(exponential(20))
    visit.use(model.station("s"), exponential(0.7))
    model.open_class("jobs", visit, interarrival=constant(1))
    assert not solve(model).is_exact
    day = changing_rate(times=[0, 50], rates=[0.2, 0.9], period=100)
    assert solve(queue(exponential(1), day)[0]).refused


def test_a_queue_that_is_down_half_of_the_time_takes_18000_s() -> None:
    """Cause: 500 s were said, those of a server that is always up. 24 jobs by Little's law."""
    model, station = queue(exponential(300), exponential(750))
    model.breakdowns(station, time_to_failure=exponential(6000), repair=exponential(6000))
    found = exactly(model)
    assert found.response_s == pytest.approx(18_000, rel=1e-9)
    assert found.metrics()["jobs_mean"] == pytest.approx(24, rel=1e-9)


def test_arrivals_of_c2_25_wait_by_the_root_of_their_two_branches() -> None:
    """Cause: 51.4 s were said by Kingman's formula. x = sum p_i r_i / (r_i + (1 - x) / 5)."""
    share = (1 + math.sqrt(24 / 26)) / 2
    branches = [(part, 2 * part / 12) for part in (share, 1 - share)]
    root = 0.0
    for _ in range(20_000):
        root = sum(part * rate / (rate + (1 - root) / 5) for part, rate in branches)
    found = exactly(queue(exponential(5), hyperexponential(12, c2=25))[0])
    assert found.response_s == pytest.approx(5 / (1 - root), rel=1e-9)
    assert found.response_s == pytest.approx(20.54, abs=0.005)
