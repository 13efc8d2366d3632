"""Mean and variability of random quantities in a model: laws and expressions of attributes.

Expressions are evaluated by their first two moments, assuming independent parts. Anything that
those do not determine (a minimum, a comparison, the length of a queue) has no moments here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headroom.simulation import Distribution
from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.expression import Call, Expression


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and squared coefficient of variation of a number, and whether it is exponential."""

    mean: float
    c2: float
    is_exponential: bool = False
    law: Distribution | None = field(default=None, compare=False, repr=False)
    """The law itself, where it is drawn as it is."""

    @property
    def second(self) -> float:
        """Mean of the square."""
        return self.mean * self.mean * (1.0 + self.c2)


UNKNOWN = Moments(math.nan, math.nan)


def moments_of(amount: Amount, attributes: Mapping[str, Moments]) -> Moments:
    """Return the moments of a law or of an expression, not-a-number if nothing tells them.

    Examples
    --------
    >>> from headroom.simulation import Model
    >>> size = Model("sizes").attribute("size")
    >>> moments_of(size * 0.5, {"size": Moments(4.0, 1.0, is_exponential=True)})
    Moments(mean=2.0, c2=1.0, is_exponential=True)
    """
    if isinstance(amount, Distribution):
        return Moments(amount.mean, amount.c2, is_exponential(amount), amount)
    return _expression(amount, attributes)


def is_exponential(law: Distribution) -> bool:
    """Return whether a law is exponential, under whatever name."""
    parameters = dict(law.parameters)
    return law.kind == "exponential" or (
        (law.kind == "erlang" and parameters.get("stages") == 1)
        or (law.kind == "gamma" and parameters.get("c2") == 1.0)
        or (law.kind == "weibull" and parameters.get("shape") == 1.0)
    )


def _expression(amount: Expression, attributes: Mapping[str, Moments]) -> Moments:
    stack: list[Moments] = []
    for token in amount.tokens:
        if isinstance(token.value, Distribution):
            stack.append(moments_of(token.value, attributes))
        elif isinstance(token.value, Call):
            stack = stack[: len(stack) - token.value.arguments]
            stack.append(_returned(token.value))
        elif token.kind == "number":
            stack.append(Moments(float(token.value), 0.0))
        elif token.kind == "attribute":
            stack.append(attributes.get(str(token.value), UNKNOWN))
        elif token.kind == "apply" and str(token.value) in _APPLY and len(stack) > 1:
            right, left = stack.pop(), stack.pop()
            stack.append(_APPLY[str(token.value)](left, right))
        else:
            return UNKNOWN
    return stack[0] if len(stack) == 1 else UNKNOWN


def _returned(call: Call) -> Moments:
    """Return the model's declaration of the numbers that a mechanism returns.

    They are never known to be exponential, so that no formula becomes exact by them.
    """
    if call.law is None:
        return UNKNOWN
    is_plain = call.law.kind == "constant"
    return Moments(call.law.mean, 1.0 if is_plain else call.law.c2)


def _sum(mean: float, left: Moments, right: Moments) -> Moments:
    variance = left.c2 * left.mean**2 + right.c2 * right.mean**2
    is_same = left.is_exponential and right.mean == 0 and right.c2 == 0
    return Moments(mean, variance / mean**2 if mean else 0.0, is_same)


def _add(left: Moments, right: Moments) -> Moments:
    return _sum(left.mean + right.mean, left, right)


def _subtract(left: Moments, right: Moments) -> Moments:
    return _sum(left.mean - right.mean, left, right)


def _multiply(left: Moments, right: Moments) -> Moments:
    c2 = (1.0 + left.c2) * (1.0 + right.c2) - 1.0
    is_scaled = (left.is_exponential and right.c2 == 0) or (right.is_exponential and left.c2 == 0)
    return Moments(left.mean * right.mean, c2, is_scaled)


def _divide(left: Moments, right: Moments) -> Moments:
    if right.c2 != 0 or right.mean == 0:
        return UNKNOWN
    return Moments(left.mean / right.mean, left.c2, left.is_exponential)


_APPLY: Mapping[str, Callable[[Moments, Moments], Moments]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
}
