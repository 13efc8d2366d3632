"""Expressions: the kernel computes the same values as Python."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.simulation import (
    Expression,
    Model,
    draw,
    exponential,
    floor,
    maximum,
    minimum,
    uniform,
)
from headroom.simulation.language.amounts import Known, known_of, mean_of
from headroom.simulation.language.expression import UNARY, as_expression

MODEL = Model("numbers", time_unit="ms")
VALUES = {"a": 3.0, "b": -1.5, "c": 0.25}
ATTRIBUTES = {name: MODEL.attribute(name, initial=value) for name, value in VALUES.items()}

MEANING: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda a, b: a / b if b else 0.0,
    "modulo": lambda a, b: a % b if b else 0.0,
    "minimum": min,
    "maximum": max,
    "floor": math.floor,
    "negate": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": operator.not_,
}
BUILT: dict[str, Callable[..., Expression]] = {
    "minimum": minimum,
    "maximum": maximum,
    "floor": floor,
    "negate": operator.neg,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "divide": operator.truediv,
    "modulo": operator.mod,
}


def evaluated(code: Sequence[Any]) -> float:
    """Return the value that a kernel must compute from a postfix list."""
    stack: list[float] = []
    for item in code:
        if "number" in item:
            stack.append(item["number"])
        elif "attribute" in item:
            stack.append(VALUES[item["attribute"]])
        else:
            count = 1 if item["apply"] in UNARY else 2
            operands = stack[-count:]
            del stack[-count:]
            stack.append(float(MEANING[item["apply"]](*operands)))
    (result,) = stack
    return result


Pair = tuple[Expression, float]
LEAVES: st.SearchStrategy[Pair] = st.one_of(
    st.sampled_from([(ATTRIBUTES[name], value) for name, value in VALUES.items()]),
    st.integers(-3, 3).map(lambda value: (as_expression(value), float(value))),
)


def applied(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def apply(name: str, left: Pair, right: Pair) -> Pair:
        operands = [left] if name in UNARY else [left, right]
        build = cast("Callable[..., Expression]", BUILT.get(name, MEANING[name]))
        value = float(MEANING[name](*(value for _, value in operands)))
        return build(*(expression for expression, _ in operands)), value

    return st.builds(apply, st.sampled_from(sorted(MEANING)), inner, inner)


EXPRESSIONS = st.recursive(LEAVES, applied, max_leaves=12)


@given(EXPRESSIONS)
def test_the_postfix_list_computes_what_the_operators_say(pair: Pair) -> None:
    expression, value = pair
    assert evaluated(expression.to_code("test")) == pytest.approx(value)


@given(EXPRESSIONS)
def test_what_is_known_of_constants_is_their_value(pair: Pair) -> None:
    """A division or remainder by zero is not known: the kernel decides about it."""
    expression, value = pair
    constants = {name: Known(number, is_constant=True) for name, number in VALUES.items()}
    known = known_of(expression, constants)
    assert known is None or (known.is_constant and known.mean == pytest.approx(value))


def test_numbers_and_distributions_may_stand_on_either_side() -> None:
    size = ATTRIBUTES["a"]
    assert str(1 - size) == "(1 - a)"
    assert str(exponential(5) * size) == "(exponential(mean=5.0) * a)"
    assert str(3 < size) == "(a > 3)"  # noqa: SIM300 - the mirrored comparison is under test
    assert str(7 // size) == "floor((7 / a))"
    assert str(~(size % 2 == 1)) == "~((a % 2) == 1)"
    assert str(math.floor(size)) == "floor(a)"


def test_the_state_of_the_model_can_be_asked_for() -> None:
    model = Model("state", time_unit="ms")
    cpu, memory = model.station("cpu"), model.pool("memory", tokens=1)
    expression = (model.jobs(cpu) < 3) | (model.free(memory) > 0) | (model.now > 9)
    assert expression.to_code("test")[0] == {"jobs": "cpu"}
    assert {"free": "memory"} in expression.to_code("test")
    assert "now" in expression.to_code("test")


def test_each_draw_has_a_stream_of_its_own() -> None:
    law = exponential(5)
    first, second, _ = (draw(law) + law).to_code("program p: delay #1")
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["draw"]["law"] == second["draw"]["law"]
    assert first["draw"]["stream"] != second["draw"]["stream"]


@pytest.mark.parametrize(
    ("expression", "mean"),
    [
        (draw(exponential(5)) * exponential(3) + 1, 16.0),
        (draw(uniform(0, 4)) / 2 - 1, 0.0),
        (-draw(exponential(5)), -5.0),
        (draw(exponential(5)) * ATTRIBUTES["a"], 50.0),
        (ATTRIBUTES["a"] * ATTRIBUTES["a"], None),
        (1 / draw(exponential(5)), None),
        (maximum(draw(exponential(5)), 3), None),
        (ATTRIBUTES["b"] + 1, None),
    ],
    ids=str,
)
def test_a_mean_is_told_where_it_is_sure(expression: Expression, mean: float | None) -> None:
    """Attribute a is random with mean 10; b is unknown."""
    assert mean_of(expression, {"a": Known(10.0, is_constant=False)}) == mean
