"""Amounts: the duration, count or size argument of a step.

An amount is a number, a distribution (drawn each time) or an expression (computed each time).
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headroom.simulation.errors import refused
from headroom.simulation.language.arguments import is_number
from headroom.simulation.language.expression import UNARY, Call, Expression, Token, number
from headroom.simulation.laws.distribution import Distribution, constant

Amount: TypeAlias = Distribution | Expression


def as_amount(value: object, word: str, model_id: int, *, may_be_negative: bool = False) -> Amount:
    """Return `value` as an amount; `word` names its purpose in messages."""
    if isinstance(value, Expression):
        check_expression(value, word, model_id)
        return value
    if isinstance(value, Distribution):
        return value
    if not is_number(value) or (value < 0 and not may_be_negative):  # type: ignore[operator]
        kind = "a finite number" if may_be_negative else "a number of 0 or more"
        raise refused(f"{word} is {value!r}", cure=f"give {kind}, a distribution or an expression")
    plain = float(value)  # type: ignore[arg-type]  # it is a number
    return constant(plain) if plain >= 0 else number(plain)


def as_law(value: object, word: str) -> Distribution:
    """Return `value` as a distribution: expressions have no job to be computed by here."""
    if isinstance(value, Expression):
        raise refused(
            f"{word} is the expression {value}, but no job computes it",
            cure="give a number or a distribution",
        )
    if isinstance(value, Distribution):
        return value
    if not is_number(value) or value < 0:  # type: ignore[operator]  # it is a number
        raise refused(f"{word} is {value!r}", cure="give a number of 0 or more, or a distribution")
    return constant(float(value))  # type: ignore[arg-type]  # it is a number


def as_condition(value: object, word: str, model_id: int) -> Expression:
    """Return `value` as an expression that a job computes for a choice."""
    if not isinstance(value, Expression):
        raise refused(
            f"{word} is {value!r}, which no job computes",
            cure="give an expression, e.g. size > 3 where size = model.attribute('size')",
        )
    check_expression(value, word, model_id)
    return value


def check_expression(value: Expression, word: str, model_id: int) -> None:
    """Refuse an expression of another model."""
    if value.model_id is not None and value.model_id != model_id:
        raise refused(
            f"{word} is {value}, which refers to another model",
            cure="use attributes, stations and pools of the same model",
        )


def amount_data(amount: Amount, source: str) -> dict[str, object]:
    """Return an amount as the kernel reads it; `source` names the streams of its draws."""
    if isinstance(amount, Distribution):
        return amount.to_data()
    return {"kind": "expression", "code": amount.to_code(source)}


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about a number before the run: its mean, and whether it is the same each time."""

    mean: float
    is_constant: bool


def mean_of(amount: Amount, attributes: Mapping[str, Known]) -> float | None:
    """Return the mean of an amount if it follows from the model, else None.

    Parameters
    ----------
    amount
        A distribution or an expression.
    attributes
        Facts about the job's attributes where the amount is computed.

    Notes
    -----
    Means of sums always add up. Means of products multiply if the factors are independent: each
    draw is independent of all else, but two attributes need not be.

    Examples
    --------
    >>> from headroom.simulation import draw, exponential, uniform
    >>> mean_of(draw(exponential(5)) * uniform(0, 4) + 1, {})
    11.0
    """
    if isinstance(amount, Distribution):
        return amount.mean
    known = known_of(amount, attributes)
    return None if known is None else known.mean


def known_of(amount: Amount, attributes: Mapping[str, Known]) -> Known | None:
    """Return the facts about an amount known before the run."""
    if isinstance(amount, Distribution):
        return Known(amount.mean, amount.kind == "constant")
    stack: list[_Part] = []
    for token in amount.tokens:
        if isinstance(token.value, Call):
            stack = stack[: len(stack) - token.value.arguments]
            stack.append(_returned(token.value))
            continue
        if token.kind != "apply":
            stack.append(_leaf(token, attributes))
            continue
        right = stack.pop()
        left = right if token.value in UNARY else stack.pop()
        stack.append(_combined(str(token.value), left, right))
    last = stack.pop()
    return None if last.mean is None else Known(last.mean, last.is_constant)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: its mean if known, and on what else it hangs."""

    mean: float | None
    is_constant: bool
    has_attributes: bool


def _returned(call: Call) -> _Part:
    """Return the model's facts about a mechanism's results; they may depend on all attributes."""
    mean = None if call.law is None else call.law.mean
    return _Part(mean, is_constant=False, has_attributes=True)


def _leaf(token: Token, attributes: Mapping[str, Known]) -> _Part:
    if isinstance(token.value, Distribution):
        return _Part(token.value.mean, token.value.kind == "constant", has_attributes=False)
    if token.kind == "number":
        return _Part(float(token.value), is_constant=True, has_attributes=False)  # type: ignore[arg-type]  # it is a number
    known = attributes.get(str(token.value)) if token.kind == "attribute" else None
    if known is None:
        return _Part(None, is_constant=False, has_attributes=True)
    return _Part(known.mean, known.is_constant, has_attributes=not known.is_constant)


def _combined(operation: str, left: _Part, right: _Part) -> _Part:
    is_constant = left.is_constant and right.is_constant
    has_attributes = left.has_attributes or right.has_attributes
    mean = None
    if left.mean is not None and right.mean is not None:
        mean = _mean_after(operation, left, right, left.mean, right.mean)
    return _Part(mean, is_constant and mean is not None, has_attributes)


def _mean_after(
    operation: str, left: _Part, right: _Part, mean: float, other: float
) -> float | None:
    is_divisor = right.is_constant and other != 0
    is_independent = not (left.has_attributes and right.has_attributes)
    result: float | None = None
    if operation == "negate":
        result = -mean
    elif operation in {"add", "subtract"}:
        result = mean + other if operation == "add" else mean - other
    elif operation == "multiply" and is_independent:
        result = mean * other
    elif operation == "divide" and is_divisor:
        result = mean / other
    elif operation in _ON_NUMBERS and left.is_constant and right.is_constant:
        result = _computed(operation, mean, other)
    return result


def _computed(operation: str, left: float, right: float) -> float | None:
    """Return the value of an operation on two known numbers."""
    if operation == "modulo" and right == 0:
        return None
    return float(_ON_NUMBERS[operation](left, right))


_ON_NUMBERS: Mapping[str, Callable[[float, float], float]] = {
    "minimum": min,
    "maximum": max,
    "floor": lambda value, _: math.floor(value),
    "modulo": operator.mod,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "and": lambda left, right: bool(left) and bool(right),
    "or": lambda left, right: bool(left) or bool(right),
    "not": lambda value, _: not value,
}
