"""Runs: contents of a result, stopping rules, and failures."""

import signal
from types import FrameType

import numpy as np
import pytest

from headroom.simulation import (
    Model,
    SimulationError,
    SimulationResult,
    constant,
    exponential,
    simulate,
)
from headroom.simulation.runs.run import Sampling
from headroom.simulation.runs.test_reproducibility import shop

AGES = ("age_s", "queue_age_s")
"""The columns that are the state at a snapshot, not cumulative."""


UNUSED = (
    "abandon_count",
    "abandon_s_sum",
    "blocked_s",
    "down_s",
    "reject_count",
    "lost_count",
    "lost_s_sum",
    "failed_try_count",
    "delay_s",
    "join_s",
    "outside_s",
)
"""The columns for which the shop has no occasion, at least not in every row."""


@pytest.fixture(scope="module")
def result() -> SimulationResult:
    return simulate(shop(with_audit=True), seed=5, completions=30_000)


def test_snapshots_are_sorted_and_end_with_the_run(result: SimulationResult) -> None:
    times = result.snapshot_times_s
    assert 32 <= len(times) <= 64
    assert (np.diff(times) >= 0).all()
    assert times[-1] == result.counters["simulated_s"]


def test_cumulative_columns_never_decrease(result: SimulationResult) -> None:
    for table in (result.stations, result.pools, result.classes):
        for name, values in table.columns.items():
            assert values.shape == (len(result.snapshot_times_s), len(table.names))
            if name in AGES:
                continue
            assert (np.diff(values, axis=0) >= 0).all(), name
            assert name in UNUSED or (values[-1] > 0).all(), name


def test_areas_and_sums_agree_between_the_columns(result: SimulationResult) -> None:
    """Jobs present are those waiting and those in service; so are their times."""
    columns = result.stations.columns
    assert np.allclose(columns["jobs_s"], columns["queue_s"] + columns["busy_s"], rtol=1e-12)
    waiting = columns["response_s_sum"] - columns["wait_s_sum"]
    assert np.allclose(waiting[-1], columns["busy_s"][-1], rtol=1e-3)
    assert (result.stations.maxima["queue_len"] <= result.stations.maxima["jobs"]).all()


def test_histograms_and_series_count_every_completion(result: SimulationResult) -> None:
    completions = result.classes.columns["completion_count"][-1]
    responses = result.classes.columns["response_s_sum"][-1]
    for index, (histogram, series) in enumerate(zip(result.histograms, result.series, strict=True)):
        assert histogram.counts.sum() == completions[index]
        middle = (histogram.bin_low + histogram.bin_high) / 2
        mean = (histogram.counts.sum(axis=0) * middle).sum() / completions[index]
        assert mean == pytest.approx(responses[index] / completions[index], rel=0.005)
        assert len(series.values) == completions[index] // series.batch_size
        assert (np.diff(series.end_times_s) >= 0).all()


def test_a_run_stops_after_the_completions_asked_for() -> None:
    run = simulate(shop(), seed=1, completions=123)
    assert run.classes.columns["completion_count"][-1, 0] == 123


def test_a_run_stops_at_the_time_asked_for() -> None:
    """1000 ms are 1 s, exactly."""
    assert simulate(shop(), seed=1, time=1000).snapshot_times_s[-1] == 1.0


def test_a_deterministic_model_takes_the_time_that_arithmetic_says() -> None:
    """One job, 0.1 ms of work: after ten rounds it is 1 ms, with no drift at all."""
    model = Model("clock", time_unit="ms")
    program = model.program("tick")
    program.use(model.station("cpu"), constant(0.1))
    model.closed_class("job", program, population=1)
    assert simulate(model, seed=1, completions=10).snapshot_times_s[-1] == 0.001


def test_tokens_are_granted_in_the_order_in_which_they_were_asked_for() -> None:
    """A small request does not overtake a large waiting one."""
    model = Model("order", time_unit="s")
    pool = model.pool("memory", tokens=2)
    for name, start, tokens in (("first", 0, 1), ("large", 1, 2), ("small", 2, 1)):
        program = model.program(name)
        program.delay(constant(start))
        with program.holding(pool, tokens):
            program.delay(constant(10))
        program.delay(constant(1000))
        model.closed_class(name, program, population=1)
    run = simulate(model, seed=1, time=500)
    assert run.pools.columns["wait_s_sum"][-1, 0] == pytest.approx((10 - 1) + (20 - 2))


def crossed(model: Model) -> Model:
    """Add two classes that take two pools in opposite order."""
    left, right = model.pool("left", tokens=1), model.pool("right", tokens=1)
    for name, first, second in (("up", left, right), ("down", right, left)):
        program = model.program(name)
        with program.holding(first):
            program.delay(constant(1))
            with program.holding(second):
                program.delay(constant(1))
        model.closed_class(name, program, population=1)
    return model


def test_a_deadlock_names_its_cycle() -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(crossed(Model("crossed", time_unit="s", may_deadlock=True)), seed=1)
    assert caught.value.message == (
        "model 'crossed': deadlock at 1 s: 2 job(s) wait indefinitely; job 0 of class 'up' in "
        "program 'up' holds 1 of 1 token(s) of pool 'left' and waits for 1 of 1 token(s) of pool "
        "'right', held up by job 1 of class 'down' in program 'down' holds 1 of 1 token(s) of pool "
        "'right' and waits for 1 of 1 token(s) of pool 'left', which closes the cycle at job 0"
    )
    assert "same order" in caught.value.cure


def test_a_deadlock_of_a_part_is_found_while_the_rest_goes_on() -> None:
    model = crossed(Model("half", time_unit="s", may_deadlock=True))
    busy = model.program("busy")
    busy.use(model.station("cpu"), exponential(1))
    model.closed_class("busy", busy, population=1)
    with pytest.raises(SimulationError, match="deadlock at 1 s: 2 job\\(s\\) wait indefinitely"):
        simulate(model, seed=1, completions=1000)


def test_a_parent_that_holds_what_its_arm_needs_is_a_deadlock() -> None:
    model = Model("family", time_unit="s", may_deadlock=True)
    pool = model.pool("key", tokens=1)
    program = model.program("parent")
    with program.holding(pool), program.fork() as fork, fork.arm(), program.holding(pool):
        program.delay(constant(1))
    model.closed_class("jobs", program, population=1)
    with pytest.raises(SimulationError, match="waits for the arms of its fork"):
        simulate(model, seed=1)


def test_waiting_in_a_long_queue_is_no_deadlock() -> None:
    model = Model("queue", time_unit="s")
    pool = model.pool("key", tokens=1)
    program = model.program("visit")
    with program.holding(pool):
        program.delay(constant(1))
    model.closed_class("jobs", program, population=500)
    run = simulate(model, seed=1, completions=10)
    assert run.pools.maxima["queue_len"][0] == 499


def test_time_beyond_the_clock_is_an_error_that_names_the_cure() -> None:
    model = Model("aeons", time_unit="ps")
    program = model.program("age")
    program.delay(constant(1e10))
    model.closed_class("rock", program, population=1)
    with pytest.raises(SimulationError, match="simulated time passed") as caught:
        simulate(model, seed=1)
    assert "larger time_unit" in caught.value.cure


def test_a_model_without_any_time_is_an_error_and_no_hang() -> None:
    model = Model("instant", time_unit="s")
    program = model.program("nothing")
    program.delay(model.now * 0)  # Only a run shows that it is 0.
    model.closed_class("jobs", program, population=1)
    with pytest.raises(SimulationError, match="without simulated time passing"):
        simulate(model, seed=1, time=1)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_an_impossible_seed_is_refused(seed: int) -> None:
    with pytest.raises(SimulationError, match="the seed is"):
        simulate(shop(), seed=seed)


def test_a_long_run_can_be_interrupted() -> None:
    """The kernel asks now and then whether a signal came in, although it holds no lock."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise InterruptedError

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        with pytest.raises(InterruptedError):
            simulate(shop(), seed=1, completions=10**15)
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_antithetic_pairs_vary_less_than_independent_runs() -> None:
    """The waits of a queue rise with each draw of service, so mirrored draws balance."""
    model = Model("queue", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("server"), exponential(0.5))
    model.open_class("customers", visit, interarrival=exponential(1))

    def mean_s(seed: int, sampling: Sampling) -> float:
        columns = simulate(model, seed=seed, completions=2000, sampling=sampling).classes.columns
        return float(columns["response_s_sum"][-1, 0] / columns["completion_count"][-1, 0])

    seeds = range(60)
    alone = [mean_s(seed, "inversion") for seed in seeds]
    pairs = [
        (usual_s + mean_s(seed, "antithetic")) / 2
        for seed, usual_s in zip(seeds, alone, strict=True)
    ]
    assert np.mean(pairs) == pytest.approx(1.0, rel=0.05)
    assert np.var(pairs) < 0.4 * np.var(alone)


@pytest.mark.parametrize(
    ("batch", "time", "words"),
    [(None, -1.0, "was computed as -1"), (3, 1.0, "jobs at station 'cpu' wait for a full batch")],
)
def test_an_error_of_the_run_names_the_line_of_the_step(
    batch: int | None, time: float, words: str
) -> None:
    model = Model("m")
    cpu, program = model.station("cpu", batch=batch), model.program("p")
    work = model.attribute("work", initial=time)
    with program.loop(2):
        program.use(cpu, work)
        line = program.steps[-1].location
    model.closed_class("users", program, population=2)
    with pytest.raises(SimulationError, match=words) as refusal:
        simulate(model, seed=1, completions=10)
    assert str(refusal.value).startswith(f"{line}: model 'm': ")
