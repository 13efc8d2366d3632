"""The space of configurations: axes with their levels, and the cost of each configuration.

Levels are ordered from the cheapest to the most expensive. A configuration is a tuple of positions
on the axes.

Invariant: the cost grows along every axis, so no configuration is dearer than one that has at
least as much of everything.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.quantities import format_level

Place: TypeAlias = tuple[int, ...]
MOST_CONFIGURATIONS = 1_000_000
_RANGE = re.compile(r"^(-?\d+)\.\.(-?\d+)$")
_CURE = 'write NAME=LOW..HIGH or NAME=VALUE,VALUE: "servers=1..64", "memory_gb=16,32,64"'


@dataclass(frozen=True, slots=True)
class Axis:
    """One factor with its levels, the cheapest first."""

    name: str
    levels: tuple[Value, ...]

    @property
    def is_priced_by_value(self) -> bool:
        """True where the levels are numbers of 0 or more that grow: they are the cost."""
        numbers = [float(level) for level in self.levels if _is_number(level)]
        return (
            len(numbers) == len(self.levels)
            and all(number >= 0.0 for number in numbers)
            and all(low < high for low, high in itertools.pairwise(numbers))
        )

    def prices(self) -> list[float]:
        """Return what each level costs at weight 1: its value, else its place from 1."""
        if self.is_priced_by_value:
            return [float(level) for level in self.levels]
        return [float(place) for place in range(1, len(self.levels) + 1)]


def parse_axis(text: str) -> Axis:
    """Return the axis that ``NAME=LOW..HIGH`` or ``NAME=VALUE,VALUE`` says.

    Raises
    ------
    StudyError
        The text is not of the form, a range is empty, or a level is there twice.

    Examples
    --------
    >>> parse_axis("servers=1..4").levels, parse_axis("disk=hdd,ssd").levels
    ((1, 2, 3, 4), ('hdd', 'ssd'))
    >>> parse_axis("cores=1..2,4,8").levels
    (1, 2, 4, 8)
    """
    name, sign, rest = text.partition("=")
    parts = [part.strip() for part in rest.split(",")]
    if not sign or not name.strip() or not all(parts):
        raise StudyError(f"the factor {text!r} cannot be read", cure=_CURE)
    levels = [level for part in parts for level in _levels(text, part)]
    if len(set(map(str, levels))) != len(levels):
        raise StudyError(f"the factor {text!r} has a level twice", cure="name each level once")
    return Axis(name.strip(), tuple(levels))


def parse_value(text: str) -> Value:
    """Return a level as the type that it looks like.

    Examples
    --------
    >>> parse_value("4"), parse_value("0.5"), parse_value("true"), parse_value("ssd")
    (4, 0.5, True, 'ssd')
    """
    words: dict[str, Value] = {"true": True, "false": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _levels(text: str, part: str) -> Sequence[Value]:
    match = _RANGE.match(part)
    if match is None:
        return [parse_value(part)]
    low, high = int(match.group(1)), int(match.group(2))
    if low > high:
        raise StudyError(f"the factor {text!r}: {part} is empty", cure="write the lower end first")
    if high - low >= MOST_CONFIGURATIONS:
        raise _too_many(high - low + 1)
    return range(low, high + 1)


def parse_costs(texts: Sequence[str], axes: Sequence[Axis]) -> dict[str, float]:
    """Return the weight of each axis from ``NAME=WEIGHT,NAME=WEIGHT``; 1 if none is given.

    Examples
    --------
    >>> parse_costs(["servers=3"], [parse_axis("servers=1..4"), parse_axis("disks=1..4")])
    {'servers': 3.0, 'disks': 1.0}
    """
    weights = {axis.name: 1.0 for axis in axes}
    for part in (part for text in texts for part in text.split(",")):
        name, sign, number = part.rpartition("=")
        name = name.strip()
        if not sign or name not in weights:
            raise StudyError(
                f"the cost {part!r} names no factor of --over", cure=suggestion(name, weights)
            )
        value = parse_value(number.strip())
        if not _is_number(value) or not 0 < float(value) < math.inf:
            raise StudyError(
                f"the cost {part!r} is not a number above 0", cure="write NAME=NUMBER, above 0"
            )
        weights[name] = float(value)
    return weights


@dataclass(frozen=True)
class Space:
    """All configurations: the product of the axes.

    Parameters
    ----------
    axes
        At least one, each with at least one level.
    weights
        What a unit of each axis costs, above 0.
    """

    axes: tuple[Axis, ...]
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        if self.size > MOST_CONFIGURATIONS:
            raise _too_many(self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels on each axis."""
        return tuple(len(axis.levels) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of configurations."""
        return math.prod(self.shape)

    @property
    def top(self) -> Place:
        """The configuration with the most of everything."""
        return tuple(count - 1 for count in self.shape)

    @cached_property
    def costs(self) -> npt.NDArray[np.float64]:
        """Cost of each configuration, in the shape of the space."""
        total = np.zeros(self.shape)
        for number, axis in enumerate(self.axes):
            prices = np.array(axis.prices()) * self.weights[axis.name]
            along = [1] * len(self.shape)
            along[number] = -1
            total += prices.reshape(along)
        return total

    def cost(self, place: Place) -> float:
        """Return the cost of a configuration."""
        return float(self.costs[place])

    def levels(self, place: Place) -> dict[str, Value]:
        """Return the level of each axis."""
        pairs = zip(self.axes, place, strict=True)
        return {axis.name: axis.levels[number] for axis, number in pairs}

    def text(self, place: Place) -> str:
        """Return a configuration as text."""
        return ", ".join(f"{n} = {format_level(v)}" for n, v in self.levels(place).items())

    def below(self, place: Place) -> Iterator[Place]:
        """Yield the neighbours that have one level less on one axis."""
        for axis, number in enumerate(place):
            if number > 0:
                yield (*place[:axis], number - 1, *place[axis + 1 :])


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _too_many(count: int) -> StudyError:
    return StudyError(
        f"the factors make {count:,} configurations, more than {MOST_CONFIGURATIONS:,}",
        cure="give fewer levels: narrow the ranges, or list powers of two",
    )
