"""Mechanisms: return values reach the job, each run creates them, and mistakes are reported."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.jmt import jsimg_text
from headroom.report.model_picture.words import law_words
from headroom.simulation import (
    Expression,
    Mechanism,
    Model,
    Program,
    SimulationError,
    SimulationResult,
    canonical_json,
    computed_arrivals,
    expected_visits,
    exponential,
    offered_loads,
    simulate,
    uniform,
)
from headroom.simulation.runs.run import ready, run_ready
from headroom.solvers import SolverError, solve

Write = Callable[[Model, Program, Mechanism], object]
COMPLETIONS = 1000


def duration(result: SimulationResult) -> float:
    return float(result.snapshot_times_s[-1])


def model_of(write: Write, *, time_unit: str = "s") -> Model:
    """Return a model of one job that cycles through the steps of `write`."""
    model = Model("arm", time_unit=time_unit)  # type: ignore[arg-type]  # one of them
    arm = model.mechanism("arm", kind="arm", parameters={"start": 2, "speed": 4})
    program = model.program("walk")
    write(model, program, arm)
    model.closed_class("job", program, population=1)
    return model


def served(model: Model, program: Program, arm: Mechanism) -> None:
    program.use(model.station("server"), arm.call("travel", uniform(0, 8), mean=0.7))


def delayed(_model: Model, program: Program, arm: Mechanism) -> None:
    program.delay(arm.call("travel", 10))


def set_before(model: Model, program: Program, arm: Mechanism) -> None:
    time = model.attribute("time")
    program.set(time, arm.call("distance", 10) / 4)
    program.delay(time)


def tried(model: Model, program: Program, arm: Mechanism) -> None:
    with program.attempt(timeout=arm.call("travel", 10)) as attempt:
        with attempt.work():
            program.use(model.station("server"), 100)
        with attempt.failed():
            program.delay(0)


def repeated(_model: Model, program: Program, arm: Mechanism) -> None:
    with program.loop(arm.call("distance", 10)):
        program.delay(0.25)
    program.delay(0)


def branched(_model: Model, program: Program, arm: Mechanism) -> None:
    with program.branch() as branch:
        with branch.when(arm.call("distance", 10) > 0):
            program.delay(2)
        with branch.otherwise():
            program.delay(0)


@pytest.mark.parametrize("write", [delayed, set_before, tried, repeated, branched])
def test_wherever_a_number_may_stand_a_mechanism_may_give_it(write: Write) -> None:
    """The arm goes from 2 to 10 at 4 a second: 2 s once, then it stays there."""
    assert duration(simulate(model_of(write), seed=1, completions=5)) == 2.0


@pytest.mark.parametrize(("time_unit", "expected"), [("us", 2.0), ("s", 2.0), ("h", 2.0)])
def test_seconds_are_turned_into_the_unit_of_the_model(time_unit: str, expected: float) -> None:
    result = simulate(model_of(delayed, time_unit=time_unit), seed=1, completions=1)
    assert duration(result) == pytest.approx(expected, rel=1e-5)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=6))
def test_a_curve_is_what_numpy_interpolates(points: list[tuple[int, int]]) -> None:
    points = sorted(dict(points).items())
    if len(points) < 2:
        return
    low, high = points[0][0], points[-1][0]
    model = Model("curve", time_unit="s")
    curve = model.mechanism("curve", kind="curve", parameters={"points": points})
    x, program = model.attribute("x", initial=low), model.program("walk")
    step = (high - low) / 8
    program.delay(curve.call("at", x) + 50)
    program.set(x, x + step)
    model.closed_class("job", program, population=1)
    xs, ys = zip(*points, strict=True)
    expected = sum(np.interp(low + step * n, xs, ys) + 50 for n in range(8))
    result = simulate(model, seed=1, completions=8)
    assert duration(result) == pytest.approx(expected, abs=1e-6)


def everything(result: SimulationResult) -> bytes:
    columns = [*result.classes.columns.values(), *result.stations.columns.values()]
    return b"".join(column.tobytes() for column in columns)


def test_each_run_makes_its_mechanisms_anew() -> None:
    """Even if the model was read once, and if runs proceed at the same time."""
    model = model_of(served)
    first = everything(simulate(model, seed=1, completions=COMPLETIONS))
    once = ready(model)
    again = [run_ready(once, seed=seed, completions=COMPLETIONS) for seed in (1, 2, 1)]
    assert [everything(one) == first for one in again] == [True, False, True]
    with ThreadPoolExecutor(4) as threads:
        runs = threads.map(lambda _: run_ready(once, seed=1, completions=COMPLETIONS), range(8))
    assert {everything(run) for run in runs} == {first}


def test_a_model_with_mechanisms_is_data_and_can_be_copied() -> None:
    model = model_of(served)
    twin = model.copy()
    assert canonical_json(twin) == canonical_json(model)
    twin.mechanism("other", kind="arm")
    assert list(model.mechanisms) == ["arm"]
    faster = model.with_speed("server", 2)
    slow = duration(simulate(model, seed=1, completions=COMPLETIONS))
    assert duration(simulate(faster, seed=1, completions=COMPLETIONS)) == pytest.approx(slow / 2)


def test_parameters_count_for_the_content_of_a_model_and_hints_do_not() -> None:
    def text(speed: float, mean: float | None) -> bytes:
        model = Model("arm")
        arm = model.mechanism("arm", kind="arm", parameters={"speed": speed})
        program = model.program("walk")
        program.delay(arm.call("travel", 3, mean=mean))
        model.closed_class("job", program, population=1)
        return canonical_json(model)

    assert text(1, 5) == text(1, None) != text(2, None)


def test_a_model_without_mechanisms_is_the_data_that_it_was() -> None:
    model = Model("plain")
    program = model.program("walk")
    program.delay(1)
    model.closed_class("job", program, population=1)
    assert "mechanisms" not in model.to_data()


def test_a_mean_is_used_by_all_that_do_not_run_the_model() -> None:
    model = model_of(served)
    assert expected_visits(model).demands == {"job": {"server": 0.7}}
    assert expected_visits(model).is_exact == {"job": True}
    answer = solve(model)
    assert answer.bounds[0].throughput_per_s_high == pytest.approx(1 / 0.7)
    assert not answer.is_exact
    assert any("is what a mechanism returns" in reason for reason in answer.reasons)


def test_without_a_mean_formulas_say_that_they_do_not_know_it() -> None:
    model = model_of(delayed)
    assert expected_visits(model).is_exact == {"job": False}
    with pytest.raises(SolverError, match=r"test_mechanisms.py:\d+: the mean of what the step"):
        solve(model)


def test_a_picture_shows_the_call() -> None:
    size = Model("files").attribute("size")
    arm = Model("arm").mechanism("arm", kind="arm")
    assert str(arm.call("distance", 3) + 1) == "(arm.distance(3) + 1)"
    code = (arm.call("distance", 3) + 1).to_code("here")
    assert law_words({"kind": "expression", "code": code}, "s") == "arm.distance(3) + 1"
    assert str(size) == "size"


def test_jmt_is_told_of_no_mechanism() -> None:
    with pytest.raises(SimulationError, match=r"test_mechanisms.py:\d+: JMT computes no expr"):
        jsimg_text(model_of(served))


def test_a_call_that_fails_ends_the_run_with_its_line() -> None:
    def beyond(model: Model, program: Program, _arm: Mechanism) -> None:
        points = {"points": [[0, 0], [5, 1]]}
        program.delay(model.mechanism("c", kind="curve", parameters=points).call("at", 6))

    told = r"test_mechanisms.py:\d+: .* in program 'walk', a delay at 0 s: at\(6\) of mechanism 'c'"
    with pytest.raises(SimulationError, match=told):
        simulate(model_of(beyond), seed=1)


def unknown_kind(model: Model, _arm: Mechanism) -> object:
    return model.mechanism("b", kind="amr")


def wrong_parameter(model: Model, _arm: Mechanism) -> object:
    return model.mechanism("b", kind="arm", parameters={"sped": 1})


def no_data(model: Model, _arm: Mechanism) -> object:
    return model.mechanism("b", kind="arm", parameters={"speed": object()})


def no_number(model: Model, _arm: Mechanism) -> object:
    return model.mechanism("b", kind="arm", parameters={"speed": float("nan")})


def same_name(model: Model, _arm: Mechanism) -> object:
    return model.mechanism("arm", kind="arm")


def unknown_function(_model: Model, arm: Mechanism) -> Expression:
    return arm.call("travl", 3)


def too_few(_model: Model, arm: Mechanism) -> Expression:
    return arm.call("travel")


def of_another(_model: Model, arm: Mechanism) -> Expression:
    return arm.call("travel", Model("b").attribute("x"))


def negative_mean(_model: Model, arm: Mechanism) -> Expression:
    return arm.call("travel", 3, mean=-1)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (unknown_kind, "has the kind 'amr', which is not known\n  hint: did you mean 'arm'?"),
        (wrong_parameter, "of kind 'arm': unknown field `sped`"),
        (no_data, "has parameters that are not plain data"),
        (no_number, "has parameters that are not plain data"),
        (same_name, "has a mechanism named 'arm' already"),
        (unknown_function, "has no function 'travl'\n  hint: did you mean 'travel'?"),
        (too_few, "is called with 0 arguments\n  hint: call travel(position)"),
        (of_another, "is called with parts of another model"),
        (negative_mean, "the mean of arm.travel is -1"),
    ],
)
def test_a_mistake_is_refused_on_its_line(
    write: Callable[[Model, Mechanism], object], why: str
) -> None:
    model = Model("arm")
    arm = model.mechanism("arm", kind="arm", parameters={"speed": 4})
    with pytest.raises(SimulationError) as caught:
        write(model, arm)
    line = write.__code__.co_firstlineno + 1
    assert f"test_mechanisms.py:{line}: " in str(caught.value)
    assert why in str(caught.value)


def test_computed_arrivals_come_when_the_source_says_and_carry_what_it_set() -> None:
    model = Model("countdown", time_unit="s")
    left, twice = model.attribute("left", initial=4), model.attribute("twice")
    job = model.program("job")
    job.use(model.station("server"), twice)
    sets = {left: left - 1, twice: left * 2}
    arrivals = computed_arrivals(left, sets=sets, goes_on=left > 0)
    model.open_class("jobs", job, interarrival=arrivals)
    result = simulate(model, seed=1, time=100, trace=100)
    assert result.trace is not None
    assert result.trace.time_s[result.trace.kind == 0].tolist() == [3.0, 5.0, 6.0]
    # Services of 6, 4 and 2 s: at 9, 13 and 15 s, so 6, 8 and 9 s after the arrival.
    assert float(result.classes.columns["response_s_sum"][-1, 0]) == 6 + 8 + 9


def test_computed_exponential_arrivals_make_an_open_queue() -> None:
    """Oracle: M/M/1 with load 0.5 has R = 1 / (1 - 0.5)."""
    model = Model("queue", time_unit="s")
    job = model.program("job")
    job.use(model.station("server"), exponential(0.5))
    arrivals = computed_arrivals(exponential(1), mean_rate=1)
    model.open_class("jobs", job, interarrival=arrivals)
    columns = simulate(model, seed=4, completions=200_000).classes.columns
    assert float(columns["response_s_sum"][-1, 0]) / 200_000 == pytest.approx(1.0, rel=0.02)
    assert offered_loads(model) == {"server": 0.5}
    answer = solve(model)
    assert answer.throughput_per_s == pytest.approx(1.0)
    assert any("arrivals are computed" in reason for reason in answer.reasons)


def test_a_computed_wait_below_zero_ends_the_run_with_the_line_of_its_class() -> None:
    model = Model("queue", time_unit="s")
    job = model.program("job")
    job.delay(1)
    model.open_class("jobs", job, interarrival=computed_arrivals(2 - 3 * model.now))
    told = r"test_mechanisms.py:\d+: .* in the arrivals of class 'jobs', the wait for the next"
    with pytest.raises(SimulationError, match=told):
        simulate(model, seed=1)
    with pytest.raises(SolverError, match=r"test_mechanisms.py:\d+: the arrivals of class 'jobs'"):
        solve(model)
