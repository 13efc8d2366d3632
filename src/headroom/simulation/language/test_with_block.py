"""A block written without `with` never vanishes silently."""

from collections.abc import Callable

import pytest

from headroom.simulation import Model, Program, SimulationError, exponential
from headroom.simulation.checks.check import canonical_json

Write = Callable[[Model, Program], object]

FORGOTTEN: dict[str, Write] = {
    "holding": lambda model, program: program.holding(model.pool("locks", tokens=1)),
    "loop": lambda _, program: program.loop(3),
    "branch": lambda _, program: program.branch(),
    "fork": lambda _, program: program.fork(),
    "network": lambda _, program: program.network(),
    "attempt": lambda _, program: program.attempt(timeout=5),
}


def model_with(write: Write) -> Model:
    """Return a model whose program has one service in addition to the steps of `write`."""
    model = Model("shop", time_unit="ms")
    program = model.program("visit")
    write(model, program)
    program.use(model.station("cpu"), exponential(1))
    model.closed_class("users", program, population=1)
    return model


@pytest.mark.parametrize("word", FORGOTTEN)
def test_a_block_without_with_is_refused_with_its_line(word: str) -> None:
    """A model with `program.holding(pool)` ran as if no token were ever held."""
    with pytest.raises(SimulationError, match=rf"test_with_block\.py:\d+: {word}\(\)") as caught:
        canonical_json(model_with(FORGOTTEN[word]))
    assert "with" in caught.value.cure


def test_a_case_of_a_branch_without_with_is_refused() -> None:
    """It was an AttributeError about a class of Python's own."""
    model = Model("shop")
    program = model.program("visit")
    with pytest.raises(SimulationError, match=r"branch\(\) is written without `with`"):
        program.branch().case(0.5)  # type: ignore[attr-defined]  # the mistake


def test_a_part_of_a_block_without_with_is_refused() -> None:
    """`attempt.work()` without `with` left the attempt without its work."""

    def write(_: Model, program: Program) -> None:
        with program.branch() as branch:
            branch.case(0.3)
            with branch.otherwise():
                program.delay(1)

    with pytest.raises(SimulationError, match=r"case\(\) is written without `with`"):
        canonical_json(model_with(write))


def test_a_mistake_in_a_block_keeps_its_own_error() -> None:
    def write(_: Model, program: Program) -> None:
        with program.loop(3):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model_with(write)


def test_a_copy_of_a_program_knows_what_was_forgotten() -> None:
    program = Model("shop").program("visit")
    program.loop(3)
    assert len(program.copy().unentered) == 1
