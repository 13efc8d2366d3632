"""Invalid models are rejected before they run, with the line of the wrong step."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroom import _core
from headroom.simulation import (
    Model,
    Program,
    SimulationError,
    constant,
    exponential,
    simulate,
    uniform,
)
from headroom.simulation.checks.capacity import offered_loads
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.checks.holding import holds

THIS_FILE = Path(__file__).name


def model_with(write: Callable[[Model, Program], None]) -> Model:
    """Return a model whose only program is written by `write`."""
    model = Model("wrong", time_unit="ms")
    program = model.program("request")
    model.station("cpu")
    model.pool("memory", tokens=2)
    write(model, program)
    model.closed_class("users", program, population=1, think=constant(1))
    return model


def refusal(write: Callable[[Model, Program], None]) -> str:
    """Return the message with which the model is refused."""
    with pytest.raises(SimulationError) as caught:
        canonical_json(model_with(write))
    assert caught.value.cure
    assert f"{THIS_FILE}:" in caught.value.message
    return caught.value.message


def release_first(model: Model, program: Program) -> None:
    program.release(model.pools["memory"])


def keep(model: Model, program: Program) -> None:
    program.acquire(model.pools["memory"])


def keep_in_loop(model: Model, program: Program) -> None:
    with program.loop(2):
        program.acquire(model.pools["memory"])


def keep_in_arm(model: Model, program: Program) -> None:
    with program.fork() as fork, fork.arm():
        program.acquire(model.pools["memory"])


def keep_in_one_case(model: Model, program: Program) -> None:
    with program.branch() as branch:
        with branch.case(0.5):
            program.acquire(model.pools["memory"])
        with branch.otherwise():
            program.delay(constant(1))


def release_what_the_parent_holds(model: Model, program: Program) -> None:
    with program.holding(model.pools["memory"]), program.fork() as fork, fork.arm():
        program.release(model.pools["memory"])


def hold_too_many(model: Model, program: Program) -> None:
    with program.holding(model.pools["memory"], 2), program.holding(model.pools["memory"]):
        program.delay(constant(1))


def ask_too_many(model: Model, program: Program) -> None:
    program.acquire(model.pools["memory"], 3)


def call_itself(model: Model, program: Program) -> None:
    other = model.program("other")
    other.call(program)
    program.call(other)


def half_a_branch(_model: Model, program: Program) -> None:
    with program.branch() as branch, branch.case(0.5):
        program.delay(constant(1))


def too_much_of_a_branch(_model: Model, program: Program) -> None:
    with program.branch() as branch:
        with branch.case(0.7):
            program.delay(constant(1))
        with branch.case(0.7):
            program.delay(constant(1))
        with branch.otherwise():
            program.delay(constant(1))


def step_outside_a_case(_model: Model, program: Program) -> None:
    with program.branch():
        program.delay(constant(1))


def case_outside_its_branch(_model: Model, program: Program) -> None:
    with program.branch() as branch, branch.case(1.0), branch.case(1.0):
        program.delay(constant(1))


def fork_without_arms(_model: Model, program: Program) -> None:
    with program.fork():
        pass


def nothing_at_all(_model: Model, _program: Program) -> None:
    pass


def half_a_round(_model: Model, program: Program) -> None:
    with program.loop(constant(1.5)):
        program.delay(constant(1))


def another_models_station(_model: Model, program: Program) -> None:
    program.use(Model("other").station("cpu"), constant(1))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (release_first, "releases 1 token(s) of pool 'memory' where it holds 0"),
        (keep, "ends while it holds 1 of pool 'memory'"),
        (keep_in_loop, "holds 1 of pool 'memory' after a round of its loop and nothing before"),
        (keep_in_arm, "ends an arm while the arm holds 1 of pool 'memory'"),
        (keep_in_one_case, "holds nothing after one case of a branch and 1 of pool 'memory' after"),
        (release_what_the_parent_holds, "releases 1 token(s) of pool 'memory' where it holds 0"),
        (hold_too_many, "would hold 3 tokens of pool 'memory', which has 2"),
        (ask_too_many, "acquires 3 tokens of pool 'memory', which has 2"),
        (call_itself, "programs call themselves: "),
        (half_a_branch, "the probabilities of the branch sum to 0.5, not 1"),
        (too_much_of_a_branch, "no probability left for otherwise"),
        (step_outside_a_case, "has a step (delay) in a branch but in none of its cases"),
        (case_outside_its_branch, "opens a case outside its branch"),
        (fork_without_arms, "the fork has no arm"),
        (nothing_at_all, "program 'request' has no steps"),
        (half_a_round, "repeats a loop constant(value=1.5) times"),
        (another_models_station, "names the station 'cpu' of another model"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_program_is_refused_with_its_line(
    write: Callable[[Model, Program], None], words: str
) -> None:
    assert words in refusal(write)


def test_the_line_is_that_of_the_wrong_step() -> None:
    code = release_first.__code__
    assert f"{THIS_FILE}:{code.co_firstlineno + 1}: " in refusal(release_first)


def test_a_name_may_stand_once() -> None:
    model = Model("twice")
    model.station("cpu")
    with pytest.raises(SimulationError, match="has a station named 'cpu' already"):
        model.station("cpu")


@pytest.mark.parametrize("count", [0, -1, 1.5, True, 2**24])
def test_an_impossible_number_of_servers_is_refused(count: int) -> None:
    with pytest.raises(SimulationError, match="servers"):
        Model("sizes").station("cpu", servers=count)


def test_a_model_without_classes_is_refused() -> None:
    with pytest.raises(SimulationError, match="has no class"):
        canonical_json(Model("empty"))


def test_a_run_that_never_stops_is_refused() -> None:
    with pytest.raises(SimulationError, match="never stops"):
        Model("endless").stop()


def test_a_run_cannot_ask_for_more_work_than_a_model_holds() -> None:
    model = Model("benchmark", time_unit="s")
    program = model.program("transaction")
    program.use(model.station("disk"), exponential(1))
    model.closed_class("transactions", program, population=1)
    model.stop(completions=20, is_all=True)
    with pytest.raises(SimulationError, match="holds 20 jobs of work, and 21 completions are"):
        simulate(model, seed=1, completions=21)
    assert simulate(model, seed=1, completions=20).classes.columns["completion_count"][-1, 0] == 20
    model.stop(completions=20)
    assert simulate(model, seed=1, completions=21).classes.columns["completion_count"][-1, 0] == 21


def overloaded() -> Model:
    model = Model("overloaded", time_unit="s")
    cpu = model.station("cpu", servers=2)
    inner = model.program("inner")
    with inner.loop(3):
        inner.use(cpu, exponential(1))
    program = model.program("visit")
    with program.branch() as branch:
        with branch.case(0.5):
            program.call(inner)
        with branch.otherwise():
            program.use(cpu, exponential(1))
    model.open_class("customers", program, interarrival=exponential(1))
    return model


def test_an_open_load_beyond_capacity_is_refused_unless_the_run_stops_by_time() -> None:
    model = overloaded()
    assert offered_loads(model) == {"cpu": 1.0}
    with pytest.raises(SimulationError, match="load of 1 to each server of station 'cpu'"):
        simulate(model, seed=1, completions=10)
    assert simulate(model, seed=1, time=10).snapshot_times_s[-1] == 10


def test_holds_tells_the_stations_used_while_a_pool_is_held() -> None:
    """Through calls and forks, but not before or after."""
    model = Model("holds")
    cpu, disk, network, printer = (
        model.station(name) for name in ("cpu", "disk", "network", "printer")
    )
    pool, idle = model.pool("threads", tokens=2), model.pool("idle", tokens=1)
    inner = model.program("inner")
    inner.use(disk, constant(1))
    outer = model.program("outer")
    outer.use(printer, constant(1))
    with outer.holding(pool):
        outer.call(inner)
        with outer.fork() as fork, fork.arm():
            outer.use(network, constant(1))
        outer.use(cpu, constant(1))
    with outer.holding(idle):
        outer.delay(constant(1))
    model.closed_class("users", outer, population=1)
    assert holds(model) == {"threads": ("cpu", "disk", "network"), "idle": ()}


RAW_STEPS = {
    "names a station that is not there": ([{"op": "use", "station": "gpu"}], "cannot be read"),
    "releases what it does not hold": (
        [{"op": "release", "pool": "memory", "tokens": 1}],
        "releases tokens that it does not hold",
    ),
    "keeps what it holds": (
        [{"op": "acquire", "pool": "memory", "tokens": 1}],
        "ends while it still holds tokens",
    ),
    "asks for too much": (
        [{"op": "acquire", "pool": "memory", "tokens": 9}],
        "acquires 9 tokens of 2",
    ),
    "calls itself": ([{"op": "call", "program": "request"}], "calls itself"),
    "calls a stranger": ([{"op": "call", "program": "nobody"}], "no program is named 'nobody'"),
    "leaves a block open": ([{"op": "fork"}], "a block is not closed"),
    "closes nothing": ([{"op": "end"}], "an end closes nothing"),
    "has half a branch": (
        [
            {"op": "branch", "stream": 1},
            {"op": "case", "probability": 0.5},
            {"op": "end"},
            {"op": "end"},
        ],
        "sum to 0.5",
    ),
    "has a case without a branch": ([{"op": "case", "probability": 1}], "inside a branch"),
    "has an arm without a fork": ([{"op": "arm"}], "inside a fork"),
    "has a fork without arms": ([{"op": "fork"}, {"op": "end"}], "a fork has no arm"),
    "knows an unknown step": ([{"op": "teleport"}], "cannot be read"),
}


@pytest.mark.parametrize(("steps", "words"), RAW_STEPS.values(), ids=RAW_STEPS)
def test_the_kernel_refuses_data_that_no_builder_wrote(
    steps: list[dict[str, object]], words: str
) -> None:
    """Data written by other means gets a message, not a crash."""
    data = json.loads(
        canonical_json(model_with(lambda _model, program: program.delay(constant(1))))
    )
    data["programs"][0]["steps"] = steps
    with pytest.raises(_core.KernelError, match=words):
        _core.simulate(model=json.dumps(data).encode(), seed=1)


def test_blocks_may_be_nested_a_thousand_deep() -> None:
    model = Model("deep")
    cpu = model.station("cpu")
    program = model.program("deep")
    blocks = [program.loop(1) for _ in range(1000)]
    for block in blocks:
        block.__enter__()
    program.use(cpu, constant(1))
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    model.closed_class("users", program, population=1)
    result = simulate(model, seed=1, completions=10)
    assert result.snapshot_times_s[-1] == pytest.approx(0.010)


@pytest.mark.parametrize("place", ["service", "think"])
def test_a_mean_that_the_clock_cannot_tell_is_refused(place: str) -> None:
    """A mean of 1e-12 units is a thousandth of a tick and would be drawn as zero."""
    model = Model("fast", time_unit="s")
    program = model.program("request")
    program.use(model.station("cpu"), exponential(1e-12 if place == "service" else 1.0))
    think = exponential(1e-12) if place == "think" else None
    model.closed_class("users", program, population=1, think=think)
    with pytest.raises(SimulationError, match="its draws would be distorted") as caught:
        canonical_json(model)
    assert "smaller time_unit" in caught.value.cure


@pytest.mark.parametrize(
    ("time", "is_whole"), [(4e-10, False), (1.4e-9, False), (3e-9, True), (1e-3 / 3, True)]
)
def test_a_fixed_time_between_two_steps_of_the_clock_is_refused(
    time: float, *, is_whole: bool
) -> None:
    model = Model("fine", time_unit="s")
    program = model.program("wait")
    program.delay(time)
    model.closed_class("users", program, population=1, think=1)
    if is_whole:
        assert canonical_json(model)
        return
    with pytest.raises(SimulationError, match="lies between the steps of the clock") as caught:
        canonical_json(model)
    assert f"{THIS_FILE}:" in caught.value.message


def test_whole_numbers_of_numpy_are_counts() -> None:
    def build(kind: Any) -> bytes:
        model = Model("counts", time_unit="ms")
        narrow = model.station("narrow", servers=kind(2), buffer=kind(1), batch=(kind(1), kind(2)))
        shared = model.station("shared", discipline="ps", limit=kind(4))
        pool = model.pool("tokens", tokens=kind(3))
        program = model.program("walk")
        work = program.attempt(timeout=9, tries=kind(2))
        with program.holding(pool, kind(2)), work as attempt, attempt.work():
            program.use(narrow, 1)
        with program.fork(quorum=kind(1)) as fork:
            for _ in range(2):
                with fork.arm():
                    program.use(shared, 1)
        model.closed_class(
            "users",
            program,
            population=kind(5),
            think=1,
            priority=kind(1),
            placed={narrow: kind(1)},
        )
        model.open_class("guests", program, interarrival=99, initial=kind(2))
        model.stop(completions=kind(50))
        return canonical_json(model)

    assert build(np.int64) == build(int)
    with pytest.raises(SimulationError, match=r"has np\.float64\(2\.0\) servers"):
        build(np.float64)


@pytest.mark.parametrize(
    "wrong", [{"time": "10 s"}, {"time": math.nan}, {"completions": 2.5}, {"sample_every": "1"}]
)
def test_limits_that_are_no_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SimulationError, match=f"{THIS_FILE}:") as caught:
        simulate(overloaded(), seed=1, **wrong)
    assert caught.value.cure


@pytest.mark.parametrize("time", [0, constant(0), uniform(0, 0)])
def test_a_closed_class_that_takes_no_time_is_refused_with_its_cause(time: Any) -> None:
    """Before, ten million steps were taken at time 0 and the message named no step."""
    model = Model("timeless", time_unit="ms")
    cpu, program = model.station("cpu"), model.program("visit")
    program.delay(time)
    program.use(cpu, 0)
    model.closed_class("users", program, population=3)
    with pytest.raises(SimulationError, match=f"{THIS_FILE}:.* make no progress in time") as caught:
        canonical_json(model)
    assert "'users'" in caught.value.message
    assert "'visit'" in caught.value.message
    assert "think=" in caught.value.cure


def test_a_program_without_time_of_its_own_is_legal_where_others_make_it_wait() -> None:
    model = Model("waits for others", time_unit="ms")
    cpu, quick, slow = model.station("cpu"), model.program("quick"), model.program("slow")
    quick.use(cpu, 0)
    slow.use(cpu, 5)
    model.closed_class("others", slow, population=1)
    model.closed_class("users", quick, population=3)
    assert canonical_json(model)


def test_a_build_that_never_ends_is_stopped_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """`while True` in Python instead of a loop of the program filled the memory."""
    monkeypatch.setattr("headroom.simulation.language.arguments.MOST_PARTS", 100)
    program = Model("endless").program("visit")

    def build() -> None:
        while True:
            program.delay(1)

    with pytest.raises(SimulationError, match=f"{THIS_FILE}:.*'visit'.*to loop forever") as caught:
        build()
    assert "program.loop(count)" in caught.value.cure
    model = Model("endless")

    def add_stations() -> None:
        for number in itertools.count():
            model.station(f"station {number}")

    with pytest.raises(SimulationError, match="the model has more than 100 parts"):
        add_stations()
