"""Each word of the model language does what its formula, or plain arithmetic, predicts.

These tests cover single words, most of them exactly. Queues, networks and pools with a formula or a
chain of a few states are subjects of the known answers (`benches/known`), which `test_oracles.py`
runs. Sources of formulas: Kleinrock, *Queueing Systems* (1975, 1976); Cobham (1954) for priorities.
"""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    SimulationResult,
    constant,
    discrete,
    draw,
    exponential,
    floor,
    hyperexponential,
    maximum,
    simulate,
    uniform,
)
from headroom.simulation.checks.check import canonical_json
from tests.support.fake_programs import Outline, Parts, empty_model, outlines, write

pytestmark = pytest.mark.filterwarnings("ignore::headroom.simulation.ModelWarning")
"""Programs drawn at random leave parts idle, and one priority is as good as none."""

LOAD = 0.8
COMPLETIONS = 400_000


def column(result: SimulationResult, name: str, class_index: int = 0) -> float:
    return float(result.classes.columns[name][-1, class_index])


def response_s(result: SimulationResult, class_index: int = 0) -> float:
    completed = column(result, "completion_count", class_index)
    return column(result, "response_s_sum", class_index) / completed


def throughput(result: SimulationResult, class_index: int = 0) -> float:
    return column(result, "completion_count", class_index) / float(result.snapshot_times_s[-1])


def station_column(result: SimulationResult, station: str, name: str) -> float:
    index = result.stations.names.index(station)
    return float(result.stations.columns[name][-1, index])


def alone(write: Callable[[Model, Program], None]) -> SimulationResult:
    """Run one job round and round through the program that `write` writes."""
    model = Model("alone", time_unit="s")
    program = model.program("p")
    write(model, program)
    model.closed_class("job", program, population=1)
    return simulate(model, seed=1, completions=1000)


@pytest.mark.parametrize("discipline", ["ps", "lcfs_preempt"])
def test_symmetric_disciplines_do_not_feel_the_spread_of_service_times(discipline: str) -> None:
    """M/G/1 with ps or preemptive lcfs: R = S / (1 - U) for every c2."""
    model = Model("insensitive", time_unit="s")
    cpu = model.station("cpu", discipline=discipline)  # type: ignore[arg-type]  # each in turn
    program = model.program("p")
    program.use(cpu, hyperexponential(0.7, c2=4))
    model.open_class("jobs", program, interarrival=exponential(1))
    result = simulate(model, seed=3, completions=COMPLETIONS)
    assert response_s(result) == pytest.approx(0.7 / 0.3, rel=0.05)


def test_a_priority_that_is_computed_rules_like_one_that_is_given() -> None:
    model = Model("prioritize", time_unit="s")
    cpu = model.station("cpu", discipline="priority")
    for name, priority in (("urgent", 1), ("patient", 0)):
        program = model.program(name)
        program.prioritize(priority * 3 - 1)
        program.use(cpu, exponential(1))
        model.open_class(name, program, interarrival=exponential(2.5))
    result = simulate(model, seed=5, completions=COMPLETIONS)
    assert response_s(result, 0) == pytest.approx(2.333333, rel=0.03)


def test_a_limit_of_one_makes_sharing_first_come_first_served() -> None:
    """Constant service: shared by all R = 5, one by one R = 1 + 2 (Pollaczek and Khinchine)."""
    responses = []
    for limit in (None, 1):
        model = Model("limit", time_unit="s")
        program = model.program("p")
        program.use(model.station("cpu", discipline="ps", limit=limit), LOAD)
        model.open_class("jobs", program, interarrival=exponential(1))
        responses.append(response_s(simulate(model, seed=3, completions=COMPLETIONS)))
    assert responses == pytest.approx([4.0, LOAD + LOAD**2 / (2 * (1 - LOAD))], rel=0.04)


def test_a_faster_server_is_taken_first_and_divides_the_service_time() -> None:
    model = Model("speeds", time_unit="s")
    program = model.program("p")
    program.use(model.station("cpu", servers=2, speeds=[1, 4]), constant(2))
    model.closed_class("job", program, population=1)
    assert throughput(simulate(model, seed=1, completions=100)) == pytest.approx(2.0)
    assert throughput(
        simulate(model.with_speed("cpu", 3), seed=1, completions=100)
    ) == pytest.approx(6.0)


def test_a_batch_is_served_in_one_service_time() -> None:
    model = Model("batch", time_unit="s")
    program = model.program("p")
    program.use(model.station("bus", batch=4), constant(1))
    model.closed_class("jobs", program, population=4)
    assert throughput(simulate(model, seed=1, completions=4000)) == pytest.approx(4.0)


def test_attributes_are_set_computed_and_used() -> None:
    def write(model: Model, program: Program) -> None:
        x = model.attribute("x", initial=5)
        program.set(x, 3)
        program.set(x, x * 2 + 1)
        program.use(model.station("cpu"), x * 0.5)

    assert response_s(alone(write)) == pytest.approx(3.5)


def test_operators_compute_what_python_would() -> None:
    def write(model: Model, program: Program) -> None:
        x = model.attribute("x", initial=7)
        program.delay(maximum(x % 4, -x) + floor(x / 2) + (x >= 7) - (x != 7) + ~(x == 0) * 0.5)

    assert response_s(alone(write)) == pytest.approx(3 + 3 + 1 - 0 + 0.5)


def test_an_expression_may_draw() -> None:
    def write(_model: Model, program: Program) -> None:
        program.delay(draw(uniform(0, 2)) * uniform(0, 2) + 1)

    assert response_s(alone(write)) == pytest.approx(2, rel=0.05)


def test_the_state_of_stations_pools_and_the_clock_can_be_read() -> None:
    def write(model: Model, program: Program) -> None:
        cpu, pool = model.station("cpu"), model.pool("k", tokens=3)
        with program.holding(pool, 2), program.fork() as fork:
            with fork.arm():
                program.use(cpu, 10)
            with fork.arm():
                program.delay(1)
                program.delay(2 * model.jobs(cpu) + model.free(pool) + (model.now > 0))
                program.use(cpu, 0.5)

    assert response_s(alone(write)) == pytest.approx(10.5)


def test_a_loop_may_be_computed_and_drawn() -> None:
    def write(model: Model, program: Program) -> None:
        x = model.attribute("x", initial=7)
        with program.loop(floor(x / 2)):
            program.delay(1)
        with program.loop(discrete([1, 3], weights=[1, 1])):
            program.delay(0.5)

    assert response_s(alone(write)) == pytest.approx(4.0, rel=0.02)


def test_a_condition_chooses_the_first_that_is_true() -> None:
    def write(model: Model, program: Program) -> None:
        x = model.attribute("x")
        program.set(x, uniform(0, 1))
        with program.branch() as branch:
            with branch.when(x < 0.3):
                program.delay(10)
            with branch.when((x < 0.5) & (x >= 0.3)):
                program.delay(5)
        program.delay(1)

    assert response_s(alone(write)) == pytest.approx(1 + 0.3 * 10 + 0.2 * 5, rel=0.1)


def test_round_robin_takes_turns() -> None:
    def write(_model: Model, program: Program) -> None:
        with program.branch("round_robin") as branch:
            for time in (1, 2, 3, 6):
                with branch.case():
                    program.delay(time)

    assert response_s(alone(write)) == pytest.approx(3.0)


def test_equal_hashes_go_the_same_way() -> None:
    model = Model("hash", time_unit="s")
    stations = [model.station(name) for name in "abcd"]
    key = model.attribute("key")
    program = model.program("p")
    program.set(key, 42)
    program.use_one_of(stations, 1, policy="hash", by=key)
    model.closed_class("jobs", program, population=3)
    result = simulate(model, seed=1, completions=100)
    used = [station_column(result, name, "completion_count") for name in "abcd"]
    assert sorted(used)[:3] == [0, 0, 0]


@pytest.mark.parametrize(("quorum", "mean"), [(1, 1 / 3), (2, 5 / 6), (3, 11 / 6)])
def test_a_quorum_waits_for_the_fastest_arms(quorum: int, mean: float) -> None:
    """The k-th of 3 exponentials of mean 1: 1/3, 1/3 + 1/2, 1/3 + 1/2 + 1."""
    model = Model("quorum", time_unit="s")
    program = model.program("p")
    with program.fork(quorum=quorum, cancel=True) as fork:
        for _ in range(3):
            with fork.arm():
                program.delay(exponential(1))
    model.closed_class("job", program, population=1)
    result = simulate(model, seed=1, completions=200_000)
    assert response_s(result) == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize(("cancel", "visits"), [(True, 1), (False, 2)])
def test_the_rest_of_a_quorum_goes_on_unless_it_is_cancelled(*, cancel: bool, visits: int) -> None:
    model = Model("rest", time_unit="s")
    cpu, program = model.station("cpu", discipline="infinite"), model.program("p")
    with program.fork(quorum=1, cancel=cancel) as fork:
        for time in (1, 2):
            with fork.arm():
                program.use(cpu, time)
    model.closed_class("job", program, population=1, think=9)
    result = simulate(model, seed=1, completions=100)
    per_job = station_column(result, "cpu", "completion_count") / 100
    assert per_job == pytest.approx(visits, abs=0.02)
    assert response_s(result) == pytest.approx(1.0)


def test_a_second_phase_runs_beside_the_caller() -> None:
    def write(model: Model, program: Program) -> None:
        other = model.program("other")
        other.delay(1)
        other.reply()
        other.use(model.station("log", servers=9), 3)
        program.call(other)

    result = alone(write)
    assert response_s(result) == pytest.approx(1.0)
    busy = station_column(result, "log", "busy_s") / float(result.snapshot_times_s[-1])
    assert busy == pytest.approx(3.0, rel=0.01)


def test_a_started_job_is_not_waited_for() -> None:
    def write(model: Model, program: Program) -> None:
        mail = model.program("mail")
        mail.use(model.station("smtp", servers=9), 5)
        program.start(mail)
        program.delay(1)

    result = alone(write)
    assert response_s(result) == pytest.approx(1.0)
    busy = station_column(result, "smtp", "busy_s") / float(result.snapshot_times_s[-1])
    assert busy == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(
    ("work", "tries", "pause", "time"),
    [(0.5, 1, None, 0.5), (2, 1, None, 1 + 0.25), (2, 3, 0.125, 3 + 2 * 0.125 + 0.25)],
)
def test_an_attempt_ends_after_its_time_and_its_tries(
    work: float, tries: int, pause: float | None, time: float
) -> None:
    def write(_model: Model, program: Program) -> None:
        with program.attempt(timeout=1, tries=tries, pause=pause) as attempt:
            with attempt.work():
                program.delay(work)
            with attempt.failed():
                program.delay(0.25)

    result = alone(write)
    assert response_s(result) == pytest.approx(time)
    failed = tries if work > 1 else 0
    assert column(result, "failed_try_count") / 1000 == pytest.approx(failed, abs=0.01)


def test_a_failed_try_gives_back_what_it_held() -> None:
    """Without the token back, the second class would wait indefinitely."""
    model = Model("tokens", time_unit="s")
    pool = model.pool("k", tokens=1)
    impatient, patient = model.program("impatient"), model.program("patient")
    with impatient.attempt(timeout=1) as attempt, attempt.work(), impatient.holding(pool):
        impatient.delay(5)
    impatient.delay(1)
    with patient.holding(pool):
        patient.delay(1)
    model.closed_class("impatient", impatient, population=1)
    model.closed_class("patient", patient, population=1)
    result = simulate(model, seed=1, time=1000)
    assert column(result, "completion_count", 1) > 300


def test_a_rejected_job_takes_the_failed_part_of_its_attempt() -> None:
    model = Model("shed", time_unit="s")
    full = model.station("full", buffer=0, when_full="reject")
    program = model.program("p")
    with program.attempt() as attempt:
        with attempt.work():
            program.use(full, exponential(1))
        with attempt.failed():
            program.delay(0)
    model.open_class("jobs", program, interarrival=exponential(1))
    result = simulate(model, seed=1, completions=COMPLETIONS)
    assert column(result, "lost_count") == 0
    rejected = station_column(result, "full", "reject_count") / COMPLETIONS
    assert rejected == pytest.approx(0.5, rel=0.02)  # Erlang B: a / (1 + a) with a = 1


def test_jobs_may_arrive_together_and_be_there_at_the_start() -> None:
    model = Model("groups", time_unit="s")
    program = model.program("p")
    program.delay(1)
    model.open_class("groups", program, interarrival=10, batch=3, initial=2)
    result = simulate(model, seed=1, time=105)
    assert column(result, "completion_count") == 2 + 3 * 10


@pytest.mark.parametrize(("start", "first"), [("thinking", 5 + 1), ("ready", 1)])
def test_closed_jobs_may_start_at_once(start: str, first: float) -> None:
    model = Model("start", time_unit="s")
    program = model.program("p")
    program.delay(1)
    model.closed_class("job", program, population=1, think=5, start=start)  # type: ignore[arg-type]
    assert simulate(model, seed=1, completions=1).snapshot_times_s[-1] == pytest.approx(first)


def test_placed_jobs_are_at_their_station_at_the_start() -> None:
    """The first completion needs the second station alone; thinking jobs come much later."""
    model = Model("warm", time_unit="s")
    first, second = model.station("first"), model.station("second")
    program = model.program("p")
    program.use(first, 7)
    program.use(second, 2)
    model.closed_class("jobs", program, population=3, think=1000, placed={second: 2})
    assert simulate(model, seed=1, completions=2).snapshot_times_s[-1] == pytest.approx(4.0)


@pytest.mark.deep
@settings(deadline=None)
@given(outlines(), st.sampled_from(["open", "closed"]))
def test_random_programs_run_to_their_end(outline: Outline, kind: str) -> None:
    """No crash and no hang; jobs that wait for each other are reported as such."""
    built = empty_model()
    built.program.use(built.model.stations["s0"], exponential(1))
    write(built, outline)
    if kind == "open":
        built.model.open_class("c", built.program, interarrival=exponential(1))
    else:
        built.model.closed_class("c", built.program, population=3)
    assert outcome(built.model) in {"ended", "deadlock"}


@pytest.mark.deep
@settings(deadline=None, max_examples=300)
@given(outlines(), outlines(), st.integers(1, 5))
def test_a_model_that_passes_the_checks_never_deadlocks(
    one: Outline, other: Outline, population: int
) -> None:
    """Soundness: two classes walk random programs; accepted models run to their end."""
    built = empty_model(may_deadlock=False)
    second = Parts(built.model, built.model.program("q"))
    for parts, outline in ((built, one), (second, other)):
        parts.program.use(built.model.stations["s0"], exponential(1))
        write(parts, outline)
        built.model.closed_class(parts.program.name, parts.program, population=population)
    try:
        canonical_json(built.model)
    except SimulationError:
        return
    assert outcome(built.model) == "ended"


def outcome(model: Model) -> str:
    """Run a model for 100 units of its time; return how that ended."""
    try:
        result = simulate(model, seed=1, time=100)
    except SimulationError as error:
        return "deadlock" if "deadlock" in error.message else error.message
    return "ended" if result.snapshot_times_s[-1] == 0.1 else "cut short"


def test_a_job_that_returns_to_a_full_station_exchanges_its_place() -> None:
    """One job alone is never behind itself, nor counts twice, where stations block."""
    model = Model("ring of one", time_unit="s", may_deadlock=True)
    only = model.station("only", buffer=0)
    again = model.program("again")
    again.use(only, constant(1))
    again.use(only, constant(1))
    model.closed_class("job", again, population=1)
    result = simulate(model, seed=1, completions=100)
    assert result.stations.maxima["jobs"].tolist() == [1.0]
    assert result.stations.maxima["queue_len"].tolist() == [0.0]


def test_a_job_that_was_served_does_not_count_itself() -> None:
    """The station state that a job sees does not depend on a buffer further on."""
    for buffer in (None, 5):
        model = Model("look back", time_unit="s", may_deadlock=True)
        first, second = model.station("first"), model.station("second", buffer=buffer)
        look = model.program("look")
        look.use(first, constant(1))
        look.use(second, 1 + model.jobs(first))
        model.closed_class("job", look, population=1)
        result = simulate(model, seed=1, completions=100)
        columns = result.classes.columns
        assert columns["response_s_sum"][-1, 0] / columns["completion_count"][-1, 0] == 2.0


def test_a_time_out_ends_a_wait_that_would_be_a_deadlock() -> None:
    """Two jobs that hold one half each and want the other do not deadlock: they give up."""
    model = Model("halves", time_unit="s")
    pool = model.pool("k", tokens=2)
    greedy = model.program("greedy")
    with greedy.attempt(timeout=5, tries=2) as attempt, attempt.work(), greedy.holding(pool):
        greedy.delay(1)
        with greedy.holding(pool):
            greedy.delay(1)
    model.closed_class("jobs", greedy, population=2, think=exponential(10))
    result = simulate(model, seed=1, time=50_000)
    assert column(result, "failed_try_count") > 100
    for end in range(20, 60):
        assert simulate(model, seed=1, time=float(end)).counters["simulated_s"] == end


def test_nobody_overtakes_those_who_wait_outside() -> None:
    """A job that comes back at once to a full station goes behind those outside it."""
    model = Model("turns", time_unit="s", may_deadlock=True)
    turn = model.program("turn")
    turn.use(model.station("only", buffer=1), constant(1))
    model.closed_class("jobs", turn, population=4)
    trace = simulate(model, seed=1, completions=400, trace=10_000).trace
    assert trace is not None
    served = np.bincount(trace.job[trace.kind == 4])
    assert served.sum() >= 399
    assert served[served > 0].tolist() == pytest.approx([100] * 4, abs=1)
