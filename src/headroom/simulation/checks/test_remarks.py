"""Parts of a model without effect are reported with their line, and stop nothing."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.simulation import Model, ModelWarning, Program, exponential, simulate, trace
from headroom.simulation.checks.remarks import remarks
from headroom.simulation.runs.run import ready, run_ready

Write = Callable[[Model, Program], object]
MARK = "# idle"


def model_with(write: Write) -> Model:
    model = Model("shop", time_unit="ms")
    program = model.program("request")
    program.use(model.station("web"), exponential(1))
    write(model, program)
    if not model.classes:
        model.closed_class("users", program, population=2, think=1)
    return model


def nobody_comes(model: Model, _program: Program) -> None:
    model.station("disk")  # idle


def counted_and_never_used(model: Model, program: Program) -> None:
    disk = model.station("disk")  # idle
    program.delay(model.jobs(disk) + 1)


def tokens_for_nobody(model: Model, _program: Program) -> None:
    model.pool("locks", tokens=1)  # idle


def attribute_without_value(model: Model, program: Program) -> None:
    size = model.attribute("size")
    program.delay(size * 2 + 1)  # idle


def urgent_among_equals(model: Model, program: Program) -> None:
    model.closed_class("users", program, population=2, think=1, priority=3)  # idle


def changed_among_equals(_model: Model, program: Program) -> None:
    program.prioritize(3)  # idle
    program.delay(1)


def order_of_one_class(model: Model, program: Program) -> None:
    disk = model.station("disk", discipline="priority")  # idle
    program.use(disk, 1)


def locks_of_one_class(model: Model, program: Program) -> None:
    with program.holding(model.pool("locks", tokens=1, order="priority")):  # idle
        program.delay(1)


def two_levels(model: Model, program: Program) -> None:
    program.use(model.station("disk", discipline="priority_preempt"), 1)
    model.closed_class("hurried", program, population=1, think=1, priority=1)
    model.closed_class("patient", program, population=1, think=1)


def computed_levels(model: Model, program: Program) -> None:
    program.prioritize(model.now)
    program.use(model.station("disk", discipline="priority"), 1)


def elsewhere_by_priority(model: Model, program: Program) -> None:
    """Only a called program comes to what serves by priority."""
    inner = model.program("inner")
    with inner.holding(model.pool("locks", tokens=1, order="priority")):
        inner.delay(1)
    program.call(inner)
    model.closed_class("hurried", program, population=1, think=1, priority=1)
    model.closed_class("patient", program, population=1, think=1)


def recorded_sizes(model: Model, program: Program) -> None:
    program.delay(model.attribute("size") + 1)
    arrivals = trace([1, 2], attributes={"size": [3, 4]})
    model.open_class("users", program, interarrival=arrivals)


def constant_of_the_model(model: Model, program: Program) -> None:
    program.delay(model.attribute("size", initial=8) * 2)


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (nobody_comes, "no program uses station 'disk'"),
        (counted_and_never_used, "no program uses station 'disk'"),
        (tokens_for_nobody, "no program acquires tokens of pool 'locks'"),
        (attribute_without_value, "attribute 'size' is never set, so it is 0 for every job"),
        (urgent_among_equals, "class 'users' has the priority 3, but no station and no pool"),
        (changed_among_equals, "jobs change their priority, but nothing serves by priority"),
        (order_of_one_class, "station 'disk' serves by priority, but all jobs that come to it"),
        (locks_of_one_class, "pool 'locks' serves by priority, but all jobs that come to it"),
    ],
)
def test_what_has_no_effect_is_said_at_its_line(write: Write, words: str) -> None:
    lines, first = inspect.getsourcelines(write)
    line = next(first + index for index, text in enumerate(lines) if MARK in text)
    model = model_with(write)
    with pytest.warns(ModelWarning, match=words) as caught:
        result = simulate(model, seed=1, completions=10)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    assert [warning.lineno for warning in caught] == [line]
    assert result.classes.columns["completion_count"][-1, 0] == 10
    assert [f":{line}: {words}" in text for text in remarks(model)] == [True]


@pytest.mark.parametrize(
    "write",
    [
        two_levels,
        computed_levels,
        elsewhere_by_priority,
        recorded_sizes,
        constant_of_the_model,
    ],
)
def test_what_has_an_effect_is_not_remarked_on(write: Write) -> None:
    model = model_with(write)
    assert remarks(model) == ()
    simulate(model, seed=1, completions=2)


def test_a_study_runs_its_models_without_warnings() -> None:
    assert run_ready(ready(model_with(nobody_comes)), seed=1, completions=5).counters["visits"] > 0
