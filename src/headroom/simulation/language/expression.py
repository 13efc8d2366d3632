"""Expressions: numbers that a job computes during a run, kept as data.

An expression is a postfix list that the kernel evaluates each time a job reaches it; none of it
runs in Python. It is built with ordinary operators from attributes of the job, the state of
stations and pools, the clock, draws and numbers. A comparison gives 1 if it is true, else 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from headroom.simulation.errors import refused
from headroom.simulation.language.arguments import is_number
from headroom.simulation.language.streams import stream_key
from headroom.simulation.laws.distribution import Distribution

Operation: TypeAlias = Literal[
    "add",
    "subtract",
    "multiply",
    "divide",
    "modulo",
    "minimum",
    "maximum",
    "floor",
    "negate",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "and",
    "or",
    "not",
]
UNARY: frozenset[str] = frozenset({"floor", "negate", "not"})
"""Operations on one operand; all others take two."""

TokenKind: TypeAlias = Literal[
    "number",
    "attribute",
    "draw",
    "jobs",
    "free",
    "servers",
    "tokens",
    "busy_time",
    "now",
    "call",
    "apply",
]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of a mechanism, and known facts about its results."""

    mechanism: str
    function: str
    arguments: int
    law: Distribution | None = None

    def to_data(self) -> dict[str, object]:
        """Return the call as the kernel reads it."""
        return {
            "mechanism": self.mechanism,
            "function": self.function,
            "arguments": self.arguments,
        }


@dataclass(frozen=True, slots=True)
class Token:
    """One element of the postfix list: a value to push, or an operation to apply."""

    kind: TokenKind
    value: float | str | Distribution | Call = 0.0

    def to_data(self, source: str, draw_number: int) -> object:
        """Return the token as the kernel reads it; `source` names the stream of a draw."""
        if self.kind == "now":
            return "now"
        if isinstance(self.value, Distribution):
            key = stream_key(f"{source}: draw #{draw_number}")
            return {"draw": {"law": self.value.to_data(), "stream": key}}
        if isinstance(self.value, Call):
            return {"call": self.value.to_data()}
        return {self.kind: self.value}


class Expression:
    """A number that each job computes; made from attributes, states, draws and operators.

    Operators are ``+ - * / % //``, ``< <= > >= == !=`` and ``& | ~`` (and, or, not); functions are
    `minimum`, `maximum`, `floor`, `draw` and those of mechanisms (`Mechanism.call`). A
    `Distribution` in an expression is drawn each time. An expression has no truth value in Python.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("files", time_unit="ms")
    >>> size = model.attribute("size")
    >>> print(size * 0.2 + exponential(5))
    ((size * 0.2) + exponential(mean=5.0))
    >>> print((size > 3) & (model.now < 1000))
    ((size > 3) & (now < 1000))
    """

    __slots__ = ("model_id", "tokens")

    def __init__(self, tokens: tuple[Token, ...], model_id: int | None) -> None:
        self.tokens = tokens
        self.model_id = model_id

    def to_code(self, source: str) -> list[object]:
        """Return the postfix list as the kernel reads it; `source` names the streams of draws."""
        draws = 0
        code = []
        for token in self.tokens:
            draws += token.kind == "draw"
            code.append(token.to_data(source, draws))
        return code

    def names(self, kind: TokenKind) -> frozenset[str]:
        """Return the attributes, stations or pools that are read."""
        return frozenset(str(token.value) for token in self.tokens if token.kind == kind)

    def calls(self) -> tuple[Call, ...]:
        """Return the calls of functions of mechanisms, in order."""
        return tuple(token.value for token in self.tokens if isinstance(token.value, Call))

    def laws(self) -> Iterator[Distribution]:
        """Yield the distributions that are drawn from, in order."""
        for token in self.tokens:
            if isinstance(token.value, Distribution):
                yield token.value

    def __add__(self, other: "Operand") -> "Expression":
        return _apply("add", self, other)

    def __radd__(self, other: "Operand") -> "Expression":
        return _apply("add", other, self)

    def __sub__(self, other: "Operand") -> "Expression":
        return _apply("subtract", self, other)

    def __rsub__(self, other: "Operand") -> "Expression":
        return _apply("subtract", other, self)

    def __mul__(self, other: "Operand") -> "Expression":
        return _apply("multiply", self, other)

    def __rmul__(self, other: "Operand") -> "Expression":
        return _apply("multiply", other, self)

    def __truediv__(self, other: "Operand") -> "Expression":
        return _apply("divide", self, other)

    def __rtruediv__(self, other: "Operand") -> "Expression":
        return _apply("divide", other, self)

    def __mod__(self, other: "Operand") -> "Expression":
        return _apply("modulo", self, other)

    def __rmod__(self, other: "Operand") -> "Expression":
        return _apply("modulo", other, self)

    def __floordiv__(self, other: "Operand") -> "Expression":
        return floor(self / other)

    def __rfloordiv__(self, other: "Operand") -> "Expression":
        return floor(other / self)

    def __floor__(self) -> "Expression":
        return floor(self)

    def __neg__(self) -> "Expression":
        return _apply("negate", self)

    def __pos__(self) -> "Expression":
        return self

    def __lt__(self, other: "Operand") -> "Expression":
        return _apply("less", self, other)

    def __le__(self, other: "Operand") -> "Expression":
        return _apply("less_equal", self, other)

    def __gt__(self, other: "Operand") -> "Expression":
        return _apply("greater", self, other)

    def __ge__(self, other: "Operand") -> "Expression":
        return _apply("greater_equal", self, other)

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]  # compared by the job
        return _apply("equal", self, other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]  # compared by the job
        return _apply("not_equal", self, other)

    __hash__ = object.__hash__

    def __and__(self, other: "Operand") -> "Expression":
        return _apply("and", self, other)

    def __rand__(self, other: "Operand") -> "Expression":
        return _apply("and", other, self)

    def __or__(self, other: "Operand") -> "Expression":
        return _apply("or", self, other)

    def __ror__(self, other: "Operand") -> "Expression":
        return _apply("or", other, self)

    def __invert__(self) -> "Expression":
        return _apply("not", self)

    def __bool__(self) -> NoReturn:
        raise refused(
            f"{self} has no truth value in Python: only a running job knows it",
            cure="write `with branch.when(condition):` instead of if and while; join conditions "
            "with & | ~ instead of and, or, not and chains such as 1 < x < 3; use minimum() and "
            "maximum() instead of min() and max()",
        )

    def __float__(self) -> NoReturn:
        raise refused(
            f"{self} is used as a number in Python, but only a running job knows it",
            cure="compute with + - * / % and floor(), minimum(), maximum() of headroom.simulation",
        )

    __int__ = __float__
    __index__ = __float__

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise refused(
            f"{self} is rounded in Python, but only a running job knows it",
            cure="write floor(value + 0.5)",
        )

    def __pow__(self, other: object) -> NoReturn:
        raise refused(
            f"{self} is raised to a power, which jobs cannot compute",
            cure="multiply it by itself, or give the power as an attribute of a trace",
        )

    def __str__(self) -> str:
        stack: list[str] = []
        for token in self.tokens:
            stack.append(_word(token, stack))
        return stack[-1]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


Operand: TypeAlias = Expression | Distribution | float


class Attribute(Expression):
    """A number that each job carries; made by `Model.attribute`."""

    __slots__ = ("initial", "name")

    def __init__(self, name: str, initial: float, model_id: int) -> None:
        super().__init__((Token("attribute", name),), model_id)
        self.name = name
        self.initial = initial


def draw(law: Distribution) -> Expression:
    """Return an expression that draws from `law` each time a job comes to it.

    Examples
    --------
    >>> from headroom.simulation import draw, exponential, uniform
    >>> print(draw(exponential(5)) + uniform(1, 2))
    (exponential(mean=5.0) + uniform(low=1.0, high=2.0))
    """
    if not isinstance(law, Distribution):
        raise refused(
            f"{law!r} is not a distribution to draw from", cure="pass a distribution to draw()"
        )
    return as_expression(law)


def minimum(first: Operand, *others: Operand) -> Expression:
    """Return the smallest of the operands, chosen by each job.

    Examples
    --------
    >>> from headroom.simulation import Model, minimum
    >>> print(minimum(Model("files").attribute("size"), 64))
    minimum(size, 64)
    """
    return _fold("minimum", first, others)


def maximum(first: Operand, *others: Operand) -> Expression:
    """Return the largest of the operands, chosen by each job.

    Examples
    --------
    >>> from headroom.simulation import Model, maximum
    >>> print(maximum(Model("files").attribute("size") - 3, 0))
    maximum((size - 3), 0)
    """
    return _fold("maximum", first, others)


def floor(operand: Operand) -> Expression:
    """Return the largest whole number that is not above `operand`.

    Examples
    --------
    >>> from headroom.simulation import Model, floor
    >>> print(floor(Model("files").attribute("size") / 8))
    floor((size / 8))
    """
    return _apply("floor", operand)


def number(value: float) -> Expression:
    """Return the expression that is always `value`."""
    return Expression((Token("number", float(value)),), None)


def as_expression(operand: object) -> Expression:
    """Return `operand` as an expression; refuse all but numbers, laws and expressions."""
    if isinstance(operand, Expression):
        return operand
    if isinstance(operand, Distribution):
        return Expression((Token("draw", operand),), None)
    if isinstance(operand, bool):
        return number(operand)
    if is_number(operand):
        return number(float(operand))  # type: ignore[arg-type]  # it is a number
    raise refused(
        f"an expression cannot compute with {operand!r}",
        cure="use finite numbers, attributes, model.jobs(), model.free(), model.now and "
        "distributions",
    )


def _fold(
    operation: Literal["minimum", "maximum"], first: Operand, others: tuple[Operand, ...]
) -> Expression:
    if not others:
        raise refused(f"{operation}() has one operand", cure="give it two or more")
    result = as_expression(first)
    for other in others:
        result = _apply(operation, result, other)
    return result


def _apply(operation: Operation, *operands: object) -> Expression:
    """Return the expression that applies `operation`; draws of each operand stay its own."""
    return _joined(operands, Token("apply", operation))


def called(call: Call, arguments: tuple[Operand, ...], model_id: int) -> Expression:
    """Return the expression that calls a function of a mechanism of a model."""
    joined = _joined(arguments, Token("call", call))
    if joined.model_id not in {None, model_id}:
        raise refused(
            f"mechanism {call.mechanism!r} is called with parts of another model: {joined}",
            cure="use attributes, stations and pools of the same model",
        )
    return Expression(joined.tokens, model_id)


def _joined(operands: tuple[object, ...], last: Token) -> Expression:
    """Return the expression that computes all operands, and then what `last` makes of them."""
    parts = [as_expression(operand) for operand in operands]
    ids = {part.model_id for part in parts if part.model_id is not None}
    if len(ids) > 1:
        raise refused(
            f"an expression mixes two models: {' and '.join(str(part) for part in parts)}",
            cure="use attributes, stations and pools of one model",
        )
    tokens = sum((part.tokens for part in parts), ())
    return Expression((*tokens, last), ids.pop() if ids else None)


_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "and": "&",
    "or": "|",
}


def _word(token: Token, stack: list[str]) -> str:
    """Return how a person writes a token; operands are taken from the stack."""
    match token.kind:
        case "number":
            return f"{token.value:g}"
        case "jobs" | "free" | "servers" | "tokens" | "busy_time":
            return f"{token.kind}({token.value!r})"
        case "apply" if token.value in UNARY:
            sign = {"negate": "-", "not": "~"}.get(str(token.value))
            return f"{sign}{stack.pop()}" if sign else f"{token.value}({stack.pop()})"
        case "apply":
            right, left = stack.pop(), stack.pop()
            sign = _SIGNS.get(str(token.value))
            return f"({left} {sign} {right})" if sign else f"{token.value}({left}, {right})"
    if isinstance(token.value, Call):
        taken = [stack.pop() for _ in range(token.value.arguments)][::-1]
        return f"{token.value.mechanism}.{token.value.function}({', '.join(taken)})"
    return "now" if token.kind == "now" else str(token.value)
