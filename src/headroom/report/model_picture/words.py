"""Texts of the picture: laws, amounts and conditions in readable form.

Invariant: no data raises here; what is not known is told by its kind, or by a question mark.
"""

import math
from collections.abc import Mapping, Sequence

from headroom.quantities import format_given, format_level

SECONDS_PER_UNIT: Mapping[str, float] = {
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "\u00d7",
    "divide": "/",
    "modulo": "%",
    "less": "<",
    "less_equal": "\u2264",
    "greater": ">",
    "greater_equal": "\u2265",
    "equal": "=",
    "not_equal": "\u2260",
    "and": "and",
    "or": "or",
}
_CALLS = {"minimum": ("min", 2), "maximum": ("max", 2), "floor": ("floor", 1)}
_PREFIXES = {"negate": "-", "not": "not "}
_DISCIPLINES = {
    "fcfs": "",
    "lcfs": "last come first",
    "lcfs_preempt": "last come preempts",
    "priority": "priority",
    "priority_preempt": "preemptive priority",
    "ps": "processor sharing",
    "infinite": "infinite server",
    "random": "random order",
    "elevator": "elevator",
    "elevator_two_way": "elevator, both ways",
    "nearest": "nearest first",
}


def discipline_words(discipline: str) -> str:
    """Return the name of a discipline, nothing for first come first served.

    Examples
    --------
    >>> discipline_words("ps"), discipline_words("fcfs"), discipline_words("lottery")
    ('processor sharing', '', 'lottery')
    """
    return _DISCIPLINES.get(discipline, discipline)


def law_words(law: object, unit: str) -> str:
    """Return an amount as text: a law, an expression or a number.

    Parameters
    ----------
    law
        Data of a distribution or an expression.
    unit
        Time unit of the model; empty for amounts that are not times.

    Examples
    --------
    >>> law_words({"kind": "exponential", "mean": 5}, "ms"), law_words({"kind": "lottery"}, "ms")
    ('5 ms exponential', 'lottery')
    >>> law_words({"kind": "constant", "value": 0.2}, "s"), law_words(None, "s")
    ('200 ms', '')
    >>> law_words({"kind": "expression", "code": [{"attribute": "size"}, {"number": 2},
    ...     {"apply": "add"}]}, "ms")
    'size + 2'
    """
    if not isinstance(law, Mapping):
        return "" if law is None else format_level(law)
    kind = str(law.get("kind", "?"))
    if kind == "expression":
        return code_words(law.get("code"))
    mean = mean_words(law, unit)
    return mean if kind == "constant" else f"{mean} {kind}".strip().replace("_", " ")


def mean_words(law: object, unit: str) -> str:
    """Return the mean of a law where its data tell it, else nothing.

    Examples
    --------
    >>> mean_words({"kind": "uniform", "low": 1, "high": 3}, "s")
    '2 s'
    """
    mean = mean_of(law)
    if mean is None:
        return ""
    known = unit in SECONDS_PER_UNIT
    return format_given(mean * SECONDS_PER_UNIT[unit], "s") if known else format_given(mean, "1")


def mean_of(law: object) -> float | None:
    """Return the mean of a law in the model's unit, None if its data do not tell it plainly.

    Examples
    --------
    >>> mean_of({"kind": "constant", "value": 4}), mean_of({"kind": "pareto", "low": 1, "shape": 2})
    (4.0, None)
    >>> mean_of({"kind": "discrete", "values": [1, 10], "weights": [9, 1]})
    1.9
    """
    if not isinstance(law, Mapping):
        return None
    if law.get("kind") == "uniform":
        low, high = law.get("low"), law.get("high")
        return (low + high) / 2 if _is_number(low) and _is_number(high) else None  # type: ignore[operator]
    if law.get("kind") == "discrete":
        return _weighted_mean(law.get("values"), law.get("weights"))
    for name in ("mean", "value"):
        if _is_number(law.get(name)):
            return float(law[name])
    return None


def _weighted_mean(values: object, weights: object) -> float | None:
    if not isinstance(values, (list, tuple)) or not isinstance(weights, (list, tuple)):
        return None
    if len(values) != len(weights) or not all(map(_is_number, [*values, *weights])):
        return None
    whole = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / whole if whole > 0 else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def code_words(code: object) -> str:
    """Return a postfix expression as people write it.

    Examples
    --------
    >>> code_words([{"jobs": "cpu"}, {"number": 3}, {"apply": "less"}])
    'jobs(cpu) < 3'
    >>> code_words([{"number": 1}, {"attribute": "a"}, {"apply": "add"}, {"apply": "floor"}])
    'floor(1 + a)'
    >>> code_words([{"attribute": "packets"}, {"number": 1 / 3000}, {"apply": "multiply"}])
    'packets \u00d7 0.0003333'
    >>> call = {"mechanism": "disk", "function": "service", "arguments": 2}
    >>> code_words([{"attribute": "offset"}, {"number": 8}, {"call": call}])
    'disk.service(offset, 8)'
    >>> code_words([{"apply": "add"}]), code_words("?")
    ('? + ?', '?')
    """
    stack: list[str] = []
    for item in code if isinstance(code, (list, tuple)) else ():
        stack.append(_item_words(item, stack))
    return stack[-1] if stack else "?"


def _item_words(item: object, stack: list[str]) -> str:
    if not isinstance(item, Mapping) or not item:
        return str(item)
    name, value = next(iter(item.items()))
    if name == "apply":
        return _apply(str(value), stack)
    if name == "draw":
        law = value.get("law") if isinstance(value, Mapping) else None
        return f"draw({law_words(law, '')})"
    if name == "call":
        return _call(value, stack)
    return f"{name}({value})" if name in {"jobs", "free"} else _number_words(value)


def _number_words(value: object) -> str:
    """Return a number of an expression: whole ones as they are, others with a few digits."""
    is_computed = isinstance(value, float) and math.isfinite(value) and not value.is_integer()
    return format_level(float(f"{value:.4g}") if is_computed else value)


def _apply(operation: str, stack: list[str]) -> str:
    if operation in _PREFIXES:
        return f"{_PREFIXES[operation]}{_grouped(_popped(stack))}"
    if operation in _CALLS:
        name, count = _CALLS[operation]
        taken = [_popped(stack) for _ in range(count)][::-1]
        return f"{name}({', '.join(taken)})"
    right, left = _popped(stack), _popped(stack)
    return f"{_grouped(left)} {_SIGNS.get(operation, operation)} {_grouped(right)}"


def _call(call: object, stack: list[str]) -> str:
    """Return the call of a function of a mechanism, as `disk.service(offset)`."""
    if not isinstance(call, Mapping):
        return "?"
    count = call.get("arguments")
    taken = [_popped(stack) for _ in range(count if isinstance(count, int) else 0)][::-1]
    return f"{call.get('mechanism')}.{call.get('function')}({', '.join(taken)})"


def _popped(stack: list[str]) -> str:
    return stack.pop() if stack else "?"


def _grouped(text: str) -> str:
    is_plain = " " not in text or (text.endswith(")") and text.count("(") == 1)
    return text if is_plain else f"({text})"


def count_words(amount: object) -> str:
    """Return how often a loop repeats, with its sign.

    Examples
    --------
    >>> count_words({"kind": "constant", "value": 5.0})[-1], count_words({"kind": "discrete"})[2:]
    ('5', 'drawn')
    """
    if isinstance(amount, Mapping) and amount.get("kind") == "expression":
        return f"\u00d7 {code_words(amount.get('code'))}"
    mean = mean_of(amount)
    is_fixed = isinstance(amount, Mapping) and amount.get("kind") == "constant"
    if mean is None:
        return "\u00d7 drawn"
    return f"\u00d7 {'' if is_fixed else '~'}{format_given(mean, '1')}"


def chance_words(chance: float) -> str:
    """Return a probability in per cent, without idle digits.

    Examples
    --------
    >>> chance_words(0.3), chance_words(1 / 16), chance_words(0.9999999)
    ('30%', '6.25%', '100%')
    """
    return f"{100 * chance:.3g}%"


def shortened(text: str, most: int) -> str:
    """Return a text that is at most `most` signs long, cut in the middle.

    Examples
    --------
    >>> shortened("a rather long name", 11)
    'a rat… name'
    """
    if len(text) <= most:
        return text
    left = (most - 1) // 2
    return f"{text[:left]}\u2026{text[len(text) - (most - 1 - left) :]}"


def listed(names: Sequence[str], *, most: int = 3) -> str:
    """Return names in a row, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d"])
    ('a, b', 'a, b … d')
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} \u2026 {names[-1]}"
