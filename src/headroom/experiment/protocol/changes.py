"""Changes of a system: more servers, more tokens, faster service, other parameters, as text.

``station.cpu.servers=8`` sets a number, ``station.cpu.servers=x2`` multiplies the current one;
``station.cpu.speed=x2`` halves every service time at the station, ``station.disk.repair=x0.5``
every repair of it, ``pool.connections.tokens=40`` sizes a pool; ``hit_ratio=0.9`` and ``rate=x2``
change a parameter.

Invariant: the text of a change is its identity; texts with the same meaning become the same text.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from headroom.errors import StudyError
from headroom.quantities import format_level

Aspect: TypeAlias = Literal["servers", "tokens", "speed", "repair", "value"]

_FORM = re.compile(
    r"^(station|pool)\.(.+)\.(servers|tokens|speed|repair)\s*=\s*(?:([x*])\s*)?([^\sx*]+)$"
)
_PARAMETER = re.compile(r"^(?!station\.|pool\.)([A-Za-z_][\w.\-]*)\s*=\s*(\S.*)$")
_FACTOR = re.compile(r"^[x*]\s*([\d.].*)$")
_SEPARATOR = "; "
_ASPECTS = {"station": ("servers", "speed", "repair"), "pool": ("tokens",)}
_CURE = (
    "write station.NAME.servers=8 or =x2 (twice as many), station.NAME.speed=x2 (twice as fast), "
    "station.NAME.repair=x0.5 (down half as long), pool.NAME.tokens=40 or =x2, or PARAMETER=VALUE "
    "or =x2"
)
LARGEST_CAPACITY = 2**24 - 1
"""Servers or tokens that a resource can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one station, pool or parameter.

    Parameters
    ----------
    kind, name
        The changed element.
    aspect
        The changed quantity: the number of servers or tokens, the speed of a station, the time of
        its repairs, or the value of a parameter.
    value
        The new number, or what the old one is multiplied by; above 0. Not used for a parameter
        with a new value.
    is_factor
        True if `value` multiplies; always so for a speed, and for a repair.
    word
        New value of a parameter as written, empty if it is multiplied.
    """

    kind: Literal["station", "pool", "parameter"]
    name: str
    aspect: Aspect
    value: float
    is_factor: bool
    word: str = ""

    @property
    def text(self) -> str:
        """The change as `parse_change` reads it.

        Examples
        --------
        >>> parse_change("station.cpu.servers = *2").text
        'station.cpu.servers=x2'
        """
        sign = "x" if self.is_factor else ""
        if self.kind == "parameter":
            return f"{self.name}={self.word or sign + format_level(self.value)}"
        return f"{self.kind}.{self.name}.{self.aspect}={sign}{format_level(self.value)}"

    def capacity_from(self, capacity: int) -> int:
        """Return the new number of servers or tokens.

        Raises
        ------
        StudyError
            It is not a whole number from 1 to `LARGEST_CAPACITY`.

        Examples
        --------
        >>> parse_change("pool.connections.tokens=x1.5").capacity_from(20)
        30
        """
        wanted = capacity * self.value if self.is_factor else self.value
        whole = round(wanted)
        if not math.isclose(wanted, whole) or not 1 <= whole <= LARGEST_CAPACITY:
            raise StudyError(
                f"{self.text} makes {wanted:g} of the {capacity} {self.aspect} of "
                f"{self.kind} {self.name!r}",
                cure=f"choose a change that gives a whole number from 1 to {LARGEST_CAPACITY}",
            )
        return whole


def parse_change(text: str) -> Change:
    """Return the change that `text` describes.

    Raises
    ------
    StudyError
        The text is not of the form, or its number is not above 0.

    Examples
    --------
    >>> parse_change("station.node 1/cpu.servers=8").name
    'node 1/cpu'
    >>> parse_change("station.cpu.speed=2").text
    'station.cpu.speed=x2'
    >>> parse_change("hit_ratio = 0.90").text, parse_change("rate=*2").text
    ('hit_ratio=0.9', 'rate=x2')
    """
    match = _FORM.match(text.strip())
    if match is None and (parameter := _PARAMETER.match(text.strip())):
        return _of_parameter(text, *parameter.groups())
    if match is None:
        raise StudyError(f"the change {text!r} cannot be read", cure=_CURE)
    kind, name, aspect, sign, number = match.groups()
    if aspect not in _ASPECTS[kind]:
        raise StudyError(f"the change {text!r}: a {kind} has no {aspect}", cure=_CURE)
    return Change(
        kind="station" if kind == "station" else "pool",
        name=name,
        aspect=_aspect(aspect),
        value=_number(text, number),
        is_factor=sign is not None or aspect in {"speed", "repair"},
    )


def doubled(kind: Literal["station", "pool"], name: str) -> tuple[Change, ...]:
    """Return the ways to double a resource: twice as many, and for a station twice as fast.

    Examples
    --------
    >>> [change.text for change in doubled("station", "cpu")]
    ['station.cpu.servers=x2', 'station.cpu.speed=x2']
    """
    aspects: tuple[Aspect, ...] = ("servers", "speed") if kind == "station" else ("tokens",)
    return tuple(
        Change(kind=kind, name=name, aspect=aspect, value=2.0, is_factor=True) for aspect in aspects
    )


def repaired_sooner(name: str) -> Change:
    """Return the change that halves the repairs of a station.

    Examples
    --------
    >>> repaired_sooner("disk").text
    'station.disk.repair=x0.5'
    """
    return Change(kind="station", name=name, aspect="repair", value=0.5, is_factor=True)


def _of_parameter(text: str, name: str, wanted: str) -> Change:
    factor = _FACTOR.match(wanted)
    return Change(
        kind="parameter",
        name=name,
        aspect="value",
        value=_number(text, factor[1]) if factor else 1.0,
        is_factor=factor is not None,
        word="" if factor else _canonical(wanted.strip()),
    )


def _canonical(word: str) -> str:
    """Return a value in its canonical form: a number with no more digits than it needs."""
    try:
        number = float(word)
    except ValueError:
        return word
    if not math.isfinite(number):
        return word
    return str(int(number)) if number.is_integer() else repr(number)


def split_changes(
    changes: Sequence[Change],
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Return the changes of parameters, and those of stations and pools.

    Examples
    --------
    >>> both = [parse_change("rate=x2"), parse_change("station.cpu.servers=8")]
    >>> [[one.name for one in part] for part in split_changes(both)]
    [['rate'], ['cpu']]
    """
    parameters = tuple(change for change in changes if change.kind == "parameter")
    return parameters, tuple(change for change in changes if change.kind != "parameter")


def _aspect(word: str) -> Aspect:
    return next(one for one in get_args(Aspect) if one == word)


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise StudyError(f"the change {text!r}: {number!r} is not a number above 0", cure=_CURE)
    return value


def text_of(changes: Iterable[Change]) -> str:
    """Return several changes as one text."""
    return _SEPARATOR.join(change.text for change in changes)


def changes_in(text: str) -> tuple[Change, ...]:
    """Return the changes that `text_of` wrote.

    Examples
    --------
    >>> [one.name for one in changes_in("station.a.servers=2; pool.b.tokens=x2")]
    ['a', 'b']
    """
    return tuple(parse_change(part) for part in text.split(_SEPARATOR))
