"""Finite-valued attributes of jobs: their values and probabilities.

An expression of such attributes is evaluated for each of their values, so that a choice by them
(the disk that holds a page, the node of a processor) gets the same shares as in a run. Different
attributes are assumed independent. One attribute has the same value wherever an expression names
it.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from headroom.simulation import Distribution
from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.expression import UNARY, Expression
from headroom.solvers.moments import Moments

MOST_VALUES = 512
"""Values of a number at most; beyond it only its moments are followed."""
MOST_STATES = 5000
"""Combinations of values that an expression is computed for at most."""

Law = tuple[tuple[float, float], ...]
"""Values with their probabilities, the values ascending."""
Item = tuple[str, Any]
"""Of postfix code: "number", "attribute", "law", "apply", or "unknown"."""
Code = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """One case of a choice: how often it is taken, and what is known where it is."""

    share: float
    laws: Mapping[str, Law]


@dataclass(slots=True)
class Known:
    """Laws of attributes, and what was computed of them before."""

    laws: dict[str, Law]
    _codes: dict[int, tuple[object, Code]] = field(default_factory=dict)
    _found: dict[tuple[int, tuple[Law, ...]], Law | None] = field(default_factory=dict)
    _ways: dict[tuple[int, tuple[Law, ...]], list[Way] | None] = field(default_factory=dict)

    def law(self, amount: Amount) -> Law | None:
        """Return the law of an amount of a model, None if it is none of a few values."""
        code = self._code(amount)
        key = (id(amount), self._named(code))
        if key not in self._found:
            self._found[key] = law_of(code, self.laws)
        return self._found[key]

    def by_number(self, by: Sequence[object], count: int) -> list[Way] | None:
        """Return the cases of a choice by number, None if the number is not known."""
        code = self._code(by)
        key = (id(by), self._named(code))
        if key not in self._ways:
            self._ways[key] = numbered(code, self.laws, count)
        return self._ways[key]

    def by_conditions(self, conditions: Sequence[Sequence[object] | None]) -> list[Way] | None:
        """Return the cases of a choice by conditions, None if some are not known."""
        codes = [None if condition is None else self._code(condition) for condition in conditions]
        named = tuple(law for code in codes if code is not None for law in self._named(code))
        key = (id(conditions[0]), named)
        if key not in self._ways:
            self._ways[key] = chosen(codes, self.laws)
        return self._ways[key]

    def _code(self, amount: Amount | Sequence[object]) -> Code:
        if id(amount) not in self._codes:
            self._codes[id(amount)] = (amount, code_of(amount))
        return self._codes[id(amount)][1]

    def _named(self, code: Code) -> tuple[Law, ...]:
        return tuple(self.laws.get(name, ()) for kind, name in code if kind == "attribute")


def code_of(amount: Amount | Sequence[object]) -> Code:
    """Return what an amount computes, from a law, an expression, or an expression as data.

    Examples
    --------
    >>> from headroom.simulation import draw, floor, uniform
    >>> code_of(floor(draw(uniform(0, 2))))
    (('law', ((0.0, 0.5), (1.0, 0.5))),)
    """
    if isinstance(amount, Distribution):
        return (_drawn(amount.to_data()),)
    if isinstance(amount, Expression):
        items = [_token(token.kind, token.value) for token in amount.tokens]
    else:
        items = [_datum(one) for one in amount]
    found: list[Item] = []
    for item in items:
        if item == ("apply", "floor") and found and found[-1][0] == "uniform":
            found[-1] = ("law", _floored(*found[-1][1]))
        else:
            found.append(item)
    return tuple(found)


def _token(kind: str, value: object) -> Item:
    if isinstance(value, Distribution):
        return _drawn(value.to_data())
    return (kind, float(value)) if kind == "number" else (kind, value)  # type: ignore[arg-type]


def _datum(datum: object) -> Item:
    if not isinstance(datum, Mapping):
        return ("unknown", datum)
    kind, value = next(iter(datum.items()))
    return _drawn(value["law"]) if kind == "draw" else _token(kind, value)


def _drawn(law: Mapping[str, Any]) -> Item:
    """Return what a draw pushes: a law of few values, or a uniform one that may be cut."""
    if law["kind"] == "uniform":
        return ("uniform", (law["low"], law["high"]))
    if law["kind"] == "constant":
        return ("number", float(law["value"]))
    if law["kind"] in {"discrete", "empirical"}:
        values = law["values"]
        weights = law.get("weights") or [1.0] * len(values)
        return ("law", _summed(zip(map(float, values), weights, strict=True)))
    return ("unknown", law["kind"])


def _floored(low: float, high: float) -> Law:
    if not 0 < math.ceil(high) - math.floor(low) <= MOST_VALUES:
        return ()
    whole = range(math.floor(low), math.ceil(high))
    return _summed((float(one), min(one + 1, high) - max(one, low)) for one in whole)


def _summed(pairs: Iterable[tuple[float, float]]) -> Law:
    sums: dict[float, float] = {}
    for value, weight in pairs:
        sums[value] = sums.get(value, 0.0) + weight
    total = math.fsum(sums.values())
    return tuple((value, sums[value] / total) for value in sorted(sums) if sums[value] > 0)


def law_of(code: Code, laws: Mapping[str, Law]) -> Law | None:
    """Return the law of what `code` computes, None if it is none of a few values.

    Examples
    --------
    >>> code = code_of([{"attribute": "a"}, {"attribute": "a"}, {"apply": "multiply"}])
    >>> law_of(code, {"a": ((-1.0, 0.5), (1.0, 0.5))})
    ((1.0, 1.0),)
    """
    states = _states([code], laws)
    if states is None:
        return None
    pairs: list[tuple[float, float]] = []
    for state, weight in states:
        found = _computed(code, state)
        if found is None:
            return None
        pairs += [(value, weight * share) for value, share in found]
    result = _summed(pairs)
    return result if len(result) <= MOST_VALUES else None


def numbered(code: Code, laws: Mapping[str, Law], count: int) -> list[Way] | None:
    """Return `count` cases of which the one with the computed number is taken."""
    states = _states([code], laws)
    ways = _Ways(count)
    for state, weight in states or ():
        found = _computed(code, state)
        if found is None or any(value not in range(count) for value, _ in found):
            return None
        for value, share in found:
            ways.add(int(value), state, weight * share)
    return None if states is None else ways.found()


def chosen(codes: Sequence[Code | None], laws: Mapping[str, Law]) -> list[Way] | None:
    """Return cases of which the first whose condition holds is taken; None always holds."""
    states = _states([code for code in codes if code is not None], laws)
    ways = _Ways(len(codes))
    for state, weight in states or ():
        left = weight
        for place, code in enumerate(codes):
            found = ((1.0, 1.0),) if code is None else _computed(code, state)
            if found is None:
                return None
            holds = math.fsum(share for value, share in found if value != 0)
            ways.add(place, state, left * holds)
            left *= 1.0 - holds
    return None if states is None else ways.found()


class _Ways:
    """Collects how often each case is taken, and with which values of the attributes."""

    def __init__(self, count: int) -> None:
        self._taken: list[list[tuple[Mapping[str, float], float]]] = [[] for _ in range(count)]

    def add(self, place: int, state: Mapping[str, float], weight: float) -> None:
        """Let a case be taken in a state."""
        if weight > 0:
            self._taken[place].append((state, weight))

    def found(self) -> list[Way]:
        """Return the cases."""
        return [
            Way(
                math.fsum(weight for _, weight in taken),
                {
                    name: _summed((state[name], weight) for state, weight in taken)
                    for name in (taken[0][0] if taken else ())
                },
            )
            for taken in self._taken
        ]


def _states(
    codes: Sequence[Code], laws: Mapping[str, Law]
) -> list[tuple[dict[str, float], float]] | None:
    """Return the values that the attributes in `codes` can have, with how often."""
    named = [name for code in codes for kind, name in code if kind == "attribute"]
    names = list(dict.fromkeys(named))
    own = [laws.get(name, ()) for name in names]
    if not all(own) or math.prod(map(len, own)) > MOST_STATES:
        return None
    return [
        (
            {name: value for name, (value, _) in zip(names, pairs, strict=True)},
            math.prod(share for _, share in pairs),
        )
        for pairs in product(*own)
    ]


def _computed(code: Code, state: Mapping[str, float]) -> Law | None:
    """Return the law of what is computed where attributes have these values."""
    stack: list[Law] = []
    for kind, value in code:
        if kind == "number":
            stack.append(((value, 1.0),))
        elif kind == "attribute":
            stack.append(((state[value], 1.0),))
        elif kind == "law" and value:
            stack.append(value)
        elif kind == "apply" and value in _APPLY:
            found = _applied(str(value), stack)
            if found is None:
                return None
            stack.append(found)
        else:
            return None
    return stack[0] if len(stack) == 1 else None


def _applied(name: str, stack: list[Law]) -> Law | None:
    right = stack.pop()
    left = ((0.0, 1.0),) if name in UNARY else stack.pop()
    if len(left) * len(right) > MOST_STATES:
        return None
    function = _APPLY[name]
    try:
        if len(left) == 1 and len(right) == 1:
            return ((float(function(left[0][0], right[0][0])), 1.0),)
        pairs = [(float(function(a, b)), p * q) for a, p in left for b, q in right]
    except (ZeroDivisionError, OverflowError):
        return None
    return _summed(pairs)


_APPLY: Mapping[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "modulo": lambda a, b: a - b * math.floor(a / b),
    "minimum": min,
    "maximum": max,
    "floor": lambda _, b: math.floor(b),
    "negate": lambda _, b: -b,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "and": lambda a, b: a != 0 and b != 0,
    "or": lambda a, b: a != 0 or b != 0,
    "not": lambda _, b: b == 0,
}


def moments(law: Law) -> Moments:
    """Return mean and variability of a law.

    Examples
    --------
    >>> moments(((1.0, 0.5), (3.0, 0.5)))
    Moments(mean=2.0, c2=0.25, is_exponential=False)
    """
    mean = math.fsum(value * share for value, share in law)
    second = math.fsum(value * value * share for value, share in law)
    return Moments(mean, max(second / mean**2 - 1.0, 0.0) if mean else 0.0)


def mixed_law(laws: Iterable[tuple[float, Law | None]]) -> Law | None:
    """Return the mixture of laws by their shares, None if one is not known.

    Examples
    --------
    >>> mixed_law([(0.5, ((1.0, 1.0),)), (0.5, ((2.0, 1.0),))])
    ((1.0, 0.5), (2.0, 0.5))
    """
    pairs: list[tuple[float, float]] = []
    for share, law in laws:
        if not law:
            return None
        pairs += [(value, share * weight) for value, weight in law]
    found = _summed(pairs)
    return found if len(found) <= MOST_VALUES else None
