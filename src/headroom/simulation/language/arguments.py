"""Validation of names, counts and plain numbers in the builder; errors name the user's line."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TypeGuard

from headroom.simulation.errors import refused

COUNT_LIMIT = 2**24 - 1
MOST_PARTS = 200_000
"""Steps of a program, or stations, pools and the like of a model: more are assumed to be an endless
loop in Python."""


def check_name(kind: str, name: object, taken: Mapping[str, object]) -> None:
    """Refuse anything that is not a name, or is already taken."""
    if not isinstance(name, str) or not name.strip():
        raise refused(f"{_a(kind)} has the name {name!r}", cure="give it a name")
    check_part_count("the model", len(taken))
    if name in taken:
        raise refused(
            f"the model has {_a(kind)} named {name!r} already", cure="give each one its own name"
        )


def check_part_count(what: str, count: int, *, cure: str = "") -> None:
    """Refuse more parts than any model has: the Python that builds it never ends."""
    if count >= MOST_PARTS:
        raise refused(
            f"{what} has more than {MOST_PARTS:,} parts: the Python code that builds it seems "
            "to loop forever",
            cure=f"{cure}let each loop of Python that adds to the model end",
        )


def check_count(what: str, word: str, count: object, *, least: int = 1) -> int:
    """Return `count` as an int; refuse anything but a whole number up to the kernel's limit."""
    if not is_whole(count) or not least <= count <= COUNT_LIMIT:
        raise refused(
            f"{what} has {count!r} {word}",
            cure=f"give a whole number from {least} to {COUNT_LIMIT}",
        )
    return int(count)


def is_whole(value: object) -> TypeGuard[int]:
    """Return True for an int, including NumPy's, that is not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return True for a real, finite number that is not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def choose(what: str, word: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among those known."""
    if value not in known:
        raise refused(
            f"{what} has the {word} {value!r}, which is not known",
            cure=f"choose one of {', '.join(known)}",
        )


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
