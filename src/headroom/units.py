"""Units as people write them: ``200 ms``, ``4 GiB``, ``5%``, and the base unit of each.

Figures are kept in base units (s, B, 1/s, 1); `headroom.quantities` scales them back for people.

Invariant: a unit has one base unit, and a factor above zero.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_DECIMAL = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12}


def _prefixed(word: str, prefixes: Mapping[str, float]) -> dict[str, float]:
    return {word: 1.0} | {f"{prefix}{word}": factor for prefix, factor in prefixes.items()}


_TIMES = {
    **_prefixed("s", _SMALL),
    "sec": 1.0, "seconds": 1.0, "msec": 1e-3, "usec": 1e-6, "nsec": 1e-9,
    "min": 60.0, "h": 3600.0,
}  # fmt: skip
_CHOICE = "chosen_"
_SIZES = {**_prefixed("B", _DECIMAL | _BINARY), "KB": 1e3, "bytes": 1.0}
UNITS: Mapping[str, Mapping[str, float]] = {
    "s": _TIMES,
    "B": _SIZES,
    "B/s": {f"{unit}/s": factor for unit, factor in _SIZES.items()},
    "bit/s": _prefixed("bit/s", _DECIMAL),
    "1/s": {
        "1/s": 1.0, "/s": 1.0, "per s": 1.0, "k/s": 1e3, "M/s": 1e6,
        "1/ms": 1e3, "1/us": 1e6, "1/min": 1 / 60, "/min": 1 / 60, "1/h": 1 / 3600, "/h": 1 / 3600,
        **_prefixed("Hz", _DECIMAL),
    },
    "1": {"1": 1.0, "%": 0.01},
    "J": _prefixed("J", _DECIMAL | _SMALL),
    "W": _prefixed("W", _DECIMAL | _SMALL),
}  # fmt: skip
"""Base unit to the units that are multiples of it, with the factors."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"^\s*({_NUMBER})\s*(\D.*?|1/\w+)?\s*$")


def is_choice(metric: str) -> bool:
    """Return whether `metric` is a setting that a system chose, as a user could set it.

    Examples
    --------
    >>> is_choice("chosen_node_bytes"), is_choice("node_bytes")
    (True, False)
    """
    return metric.startswith(_CHOICE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A named unit: its base unit, and the base units in one of it."""

    base: str
    factor: float


class QuantityError(ValueError):
    """A text is not a quantity of a unit; `hint` says what to write.

    Parameters
    ----------
    message
        The error.
    hint
        The remedy, an imperative.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def unit_named(word: str) -> Unit | None:
    """Return the unit that a word names, None for a word of the study's own.

    Examples
    --------
    >>> unit_named("ms"), unit_named("KiB"), unit_named("widgets")
    (Unit(base='s', factor=0.001), Unit(base='B', factor=1024.0), None)
    """
    return next((Unit(base, units[word]) for base, units in UNITS.items() if word in units), None)


def conversion(word: str, unit: str) -> float:
    """Return how many of `unit` one of `word` is; no unit and 1 are the same.

    Raises
    ------
    QuantityError
        They are units of different things, or one of them is not known.

    Examples
    --------
    >>> conversion("GHz", "MHz"), conversion("us", "ms"), conversion("widgets", "widgets")
    (1000.0, 0.001, 1.0)
    """
    if (word or "1") == (unit or "1"):
        return 1.0
    stated, wanted = unit_named(word), unit_named(unit or "1")
    if stated is None or wanted is None or stated.base != wanted.base:
        kept = "a plain number" if unit in {"", "1"} else f"in {unit}"
        raise QuantityError(f"the unit `{word}`, but the value is {kept}",
                            f"write {_example(unit)}")  # fmt: skip
    return float(f"{stated.factor / wanted.factor:.15g}")


def parse_quantity(text: str, unit: str) -> float:
    """Return a quantity in a unit; a number without a unit is in that unit.

    Parameters
    ----------
    text
        ``200 ms``, ``4 GiB``, ``80%`` or a number alone.
    unit
        Unit of the result: the text may have any multiple of it.

    Raises
    ------
    QuantityError
        The text is not of this form, or its unit is one of something else.

    Examples
    --------
    >>> parse_quantity("200 ms", "s"), parse_quantity("4 GiB", "B"), parse_quantity("80%", "1")
    (0.2, 4294967296.0, 0.8)
    """
    match = _QUANTITY.match(text)
    if match is None:
        raise QuantityError(f"`{text}` is not a quantity", f"write {_example(unit)}")
    number, word = float(match[1]), match[2] or ""
    try:
        return number * conversion(word or unit, unit)
    except QuantityError as error:
        raise QuantityError(f"`{text}` has {error}", error.hint) from error


def is_number(text: str) -> bool:
    """Return whether a text is a number without a unit.

    Examples
    --------
    >>> is_number("200"), is_number("200 ms"), is_number("soon")
    (True, False, False)
    """
    match = _QUANTITY.match(text)
    return match is not None and not match[2]


def _example(unit: str) -> str:
    shown = {"s": "200 ms", "B": "4 GiB", "1/s": "100 /s", "B/s": "200 MB/s", "1": "5%"}
    return f'a number with a unit, such as "{shown.get(unit, f"10 {unit}".strip())}"'
