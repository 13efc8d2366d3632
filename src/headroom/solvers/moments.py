"""Mean and variability of what a model draws: laws, and expressions of attributes.

Expressions are followed by their first two moments, their parts taken as independent; what those
do not determine (a minimum, a comparison, the length of a queue) has no moments here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headroom.simulation import Distribution, SimulationError, law_from_data


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and squared coefficient of variation of a number, and whether it is exponential."""

    mean: float
    c2: float
    is_exponential: bool = False

    @property
    def second(self) -> float:
        """Mean of the square."""
        return self.mean * self.mean * (1.0 + self.c2)


UNKNOWN = Moments(math.nan, math.nan)


def law_of(data: Mapping[str, Any]) -> Distribution:
    """Return the distribution that a model's data describe.

    Examples
    --------
    >>> law_of({"kind": "exponential", "mean": 5.0}).mean
    5.0
    """
    return law_from_data(data)


def moments_of(amount: Mapping[str, Any], attributes: Mapping[str, Moments]) -> Moments:
    """Return the moments of a law or of an expression, not-a-number where nothing tells them.

    Examples
    --------
    >>> code = [{"attribute": "size"}, {"number": 0.5}, {"apply": "multiply"}]
    >>> sizes = {"size": Moments(4.0, 1.0, is_exponential=True)}
    >>> moments_of({"kind": "expression", "code": code}, sizes)
    Moments(mean=2.0, c2=1.0, is_exponential=True)
    """
    if amount.get("kind") == "expression":
        return _expression(amount["code"], attributes)
    try:
        law = law_of(amount)
    except SimulationError:
        return UNKNOWN
    return Moments(law.mean, law.c2, is_exponential(law))


def is_exponential(law: Distribution) -> bool:
    """Return whether a law is exponential, under whatever name."""
    parameters = dict(law.parameters)
    return law.kind == "exponential" or (
        (law.kind == "erlang" and parameters.get("stages") == 1)
        or (law.kind == "gamma" and parameters.get("c2") == 1.0)
        or (law.kind == "weibull" and parameters.get("shape") == 1.0)
    )


def _expression(code: list[Any], attributes: Mapping[str, Moments]) -> Moments:
    stack: list[Moments] = []
    for word in code:
        match word:
            case {"number": value}:
                stack.append(Moments(float(value), 0.0))
            case {"attribute": name}:
                stack.append(attributes.get(str(name), UNKNOWN))
            case {"draw": {"law": law}}:
                stack.append(moments_of(law, attributes))
            case {"apply": name} if name in _APPLY and len(stack) > 1:
                right, left = stack.pop(), stack.pop()
                stack.append(_APPLY[name](left, right))
            case _:
                return UNKNOWN
    return stack[0] if len(stack) == 1 else UNKNOWN


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
