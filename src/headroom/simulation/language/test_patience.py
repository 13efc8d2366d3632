"""Jobs that leave a queue: compared with Erlang-A, and for every queueing discipline.

Sources: Palm (1957), *Research on telephone traffic carried by full availability groups*, and
Garnett, Mandelbaum and Reiman (2002), *Manufacturing & Service Operations Management* 4, for
M/M/c+M; Baccelli and Hebuterne (1981), *On queues with impatient customers*, for M/M/1+D.
"""

import math
from typing import Any

import numpy as np
import pytest

from headroom.simulation import (
    Distribution,
    Model,
    SimulationError,
    SimulationResult,
    constant,
    exponential,
    schedule,
    simulate,
    uniform,
)

pytestmark = pytest.mark.filterwarnings("ignore::headroom.simulation.ModelWarning")
"""One priority is as good as none."""

MOST_JOBS = 2_000
COMPLETIONS = 60_000


def erlang_a(servers: int, rate: float, patience_s: float) -> tuple[float, float, float]:
    """Return share that leaves, mean queue and mean wait of the served of M/M/c+M (service 1 s).

    A birth-death chain: with n jobs, min(n, c) are served and n - c may leave. The wait of the
    served jobs follows from Little's law: jobs that leave waited `left_s` all together.
    """
    logs = np.zeros(MOST_JOBS)
    for jobs in range(1, MOST_JOBS):
        out = min(jobs, servers) + max(jobs - servers, 0) / patience_s
        logs[jobs] = logs[jobs - 1] + math.log(rate / out)
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    queue = float(np.maximum(np.arange(MOST_JOBS) - servers, 0) @ chance)
    share = queue / patience_s / rate
    return share, queue, _served_wait(chance, servers, patience_s, share)


def _served_wait(chance: Any, servers: int, patience_s: float, share: float) -> float:
    """Return the mean wait of the served: a job that finds n waits n - c + 1 steps, or leaves.

    With k jobs before it and itself in the queue, the next to go is one of c in service and k + 1
    with patience; it is served, moves up, or leaves. `reach` is the probability of being served
    from k, `time` the mean time until then of those that are.
    """
    reach, time = 1.0, 0.0
    waited = 0.0
    for place in range(len(chance) - servers):
        total = servers + (place + 1) / patience_s
        up = (total - 1 / patience_s) / total
        # Served with probability up * reach; the time of those adds one exponential step.
        reach, time = up * reach, up * (time + reach / total)
        waited += float(chance[servers + place]) * time
    return waited / (1 - share)


def queue_of(
    patience: Distribution | float,
    *,
    rate: float,
    servers: int = 1,
    discipline: str = "fcfs",
    **station: Any,
) -> SimulationResult:
    model = Model("impatient", time_unit="s")
    agents = model.station(
        "agents",
        servers=servers,
        discipline=discipline,  # type: ignore[arg-type]  # each in turn
        **station,
    )
    call = model.program("call")
    call.use(agents, exponential(1), patience=patience)
    model.open_class("callers", call, interarrival=exponential(1 / rate))
    return simulate(model, seed=5, completions=COMPLETIONS)


def share_left(result: SimulationResult) -> float:
    columns = result.stations.columns
    return float(columns["left_count"][-1, 0] / columns["arrival_count"][-1, 0])


@pytest.mark.parametrize(
    ("servers", "rate", "patience_s"),
    [(1, 0.8, 2.0), (1, 2.0, 0.5), (3, 2.5, 5.0), (3, 4.0, 2.0), (10, 12.0, 1.0), (20, 18.0, 4.0)],
)
def test_erlang_a_below_and_above_full_load(servers: int, rate: float, patience_s: float) -> None:
    """Tolerance 4%: about four standard errors of the share at 60,000 completions."""
    result = queue_of(exponential(patience_s), rate=rate, servers=servers)
    share, queue, wait_s = erlang_a(servers, rate, patience_s)
    columns, end_s = result.stations.columns, float(result.snapshot_times_s[-1])
    assert share_left(result) == pytest.approx(share, rel=0.04)
    assert columns["queue_s"][-1, 0] / end_s == pytest.approx(queue, rel=0.05)
    served = columns["served_wait_s_sum"][-1, 0] / columns["completion_count"][-1, 0]
    assert served == pytest.approx(wait_s, rel=0.05)
    lost = result.classes.columns["lost_count"][-1, 0]
    assert lost == columns["left_count"][-1, 0]


@pytest.mark.parametrize("discipline", ["lcfs", "random", "priority", "priority_preempt"])
def test_the_order_does_not_change_how_many_lose_exponential_patience(discipline: str) -> None:
    """Any order that does not know patience gives the same birth-death chain."""
    result = queue_of(exponential(2), rate=4, servers=3, discipline=discipline)
    assert share_left(result) == pytest.approx(erlang_a(3, 4, 2)[0], rel=0.04)


@pytest.mark.parametrize("rate", [0.8, 1.5])
def test_one_server_and_constant_patience(rate: float) -> None:
    """M/M/1+D, served first come first served, in closed form: see the comments."""
    patience_s = 1.0
    # Offered wait V of an arrival has the density p0 * rate * exp((rate - 1) * v) up to the
    # patience, and beyond it decays with the service rate, since no job joins any more.
    slope = rate - 1
    below = rate * math.expm1(slope * patience_s) / slope
    beyond = rate * math.exp(slope * patience_s)
    idle = 1 / (1 + below + beyond)
    assert share_left(queue_of(constant(patience_s), rate=rate)) == pytest.approx(
        idle * beyond, rel=0.04
    )


def test_patience_of_the_blocked_runs_outside_too() -> None:
    """Oracle: a queue with room for one and a line outside is one queue: Erlang-A again."""
    result = queue_of(exponential(2), rate=2, buffer=1)
    lost = result.classes.columns["lost_count"][-1, 0]
    share = lost / result.classes.columns["arrival_count"][-1, 0]
    assert share == pytest.approx(erlang_a(1, 2, 2)[0], rel=0.04)


def test_a_queue_that_rejects_and_is_left_is_a_cut_chain() -> None:
    """M/M/1/3+M at rate 2, service 1 s, patience 2 s: four states by hand."""
    result = queue_of(exponential(2), rate=2, buffer=2, when_full="reject")
    chance = np.cumprod([1.0, 2 / 1, 2 / 1.5, 2 / 2])
    chance /= chance.sum()
    queue = chance[2] + 2 * chance[3]
    arrived = 2 * (1 - chance[3])
    assert share_left(result) == pytest.approx(queue / 2 / arrived, rel=0.04)


def test_processor_sharing_with_a_limit_has_a_queue_to_leave() -> None:
    """Two share one server of speed 1: with exponential work that is M/M/1 with another line."""
    result = queue_of(exponential(2), rate=2, discipline="ps", limit=2)
    chance = np.cumprod([1.0, *(2 / (1 + max(n - 2, 0) / 2) for n in range(1, 60))])
    chance /= chance.sum()
    queue = np.maximum(np.arange(60) - 2, 0) @ chance
    assert share_left(result) == pytest.approx(queue / 2 / 2, rel=0.04)


def test_who_loses_patience_fails_the_attempt_and_may_come_again() -> None:
    """A closed load: a job that leaves thinks and tries again, so that none is lost."""
    model = Model("retry", time_unit="s")
    agent, call = model.station("agent"), model.program("call")
    with call.attempt(tries=50, pause=exponential(3)) as attempt, attempt.work():
        call.use(agent, exponential(1), patience=uniform(0, 1))
    model.closed_class("callers", call, population=4, think=exponential(1))
    result = simulate(model, seed=2, completions=20_000)
    columns = result.classes.columns
    assert columns["lost_count"][-1, 0] == 0
    left = result.stations.columns["left_count"][-1, 0]
    assert columns["failed_try_count"][-1, 0] == left > 0


def test_patience_ends_with_the_first_service_and_an_interrupted_job_stays() -> None:
    model = Model("preempted", time_unit="s")
    cpu = model.station("cpu", discipline="priority_preempt")
    low, high = model.program("low"), model.program("high")
    low.use(cpu, constant(5), patience=constant(2))
    high.use(cpu, constant(10))
    model.open_class("low", low, interarrival=constant(100))
    model.open_class("high", high, interarrival=constant(101), priority=1)
    result = simulate(model, seed=1, completions=6)
    assert result.stations.columns["left_count"][-1, 0] == 0


def test_a_pool_is_left_too() -> None:
    """A pool of c tokens held for the service is M/M/c+M."""
    model = Model("pool", time_unit="s")
    pool, call = model.pool("lines", tokens=3), model.program("call")
    with call.holding(pool, patience=exponential(2)):
        call.delay(exponential(1))
    model.open_class("callers", call, interarrival=exponential(1 / 4))
    columns = simulate(model, seed=5, completions=COMPLETIONS).pools.columns
    share = columns["abandon_count"][-1, 0] / columns["request_count"][-1, 0]
    assert share == pytest.approx(erlang_a(3, 4, 2)[0], rel=0.04)


def test_a_time_out_is_no_patience_since_it_ends_services_too() -> None:
    """The literal translation that misleads: more leave, because the clock runs on in service."""
    model = Model("timeout", time_unit="s")
    agents, call = model.station("agents", servers=3), model.program("call")
    with call.attempt(timeout=exponential(2)) as attempt, attempt.work():
        call.use(agents, exponential(1))
    model.open_class("callers", call, interarrival=exponential(1 / 2.5))
    columns = simulate(model, seed=5, completions=20_000).stations.columns
    gave_up = columns["abandon_count"][-1, 0] / columns["arrival_count"][-1, 0]
    left = columns["left_count"][-1, 0] / columns["arrival_count"][-1, 0]
    # A served job gives up during the service with probability 0.5 / 1.5 if memoryless.
    assert gave_up > 1.5 * erlang_a(3, 2.5, 2)[0] > 1.5 * left


@pytest.mark.parametrize("discipline", ["ps", "infinite", "lcfs_preempt"])
def test_where_nobody_waits_patience_is_refused(discipline: str) -> None:
    model = Model("no queue", time_unit="s")
    cpu = model.station("cpu", discipline=discipline)  # type: ignore[arg-type]  # each in turn
    with pytest.raises(SimulationError, match="no job waits for a first service"):
        model.program("p").use(cpu, 1, patience=1)


def test_servers_come_while_jobs_wait_for_them() -> None:
    """No server works in the first 10 s; all have patience for 3 s, so all of them leave."""
    model = Model("closed at first", time_unit="s")
    desk = model.station("desk", servers=schedule([(0, 0), (10, 1)]))
    visit = model.program("visit")
    visit.use(desk, constant(0.1), patience=constant(3))
    model.open_class("visitors", visit, interarrival=constant(1))
    columns = simulate(model, seed=1, time=20.5).stations.columns
    assert columns["left_count"][-1, 0] == 6  # those of 1 s to 6 s; that of 7 s is served at 10 s
