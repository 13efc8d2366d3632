"""Capacities and speeds that follow a timetable, kept as data."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroom.simulation.errors import refused
from headroom.simulation.language.arguments import COUNT_LIMIT, is_number
from headroom.simulation.language.expression import Expression


@dataclass(frozen=True, slots=True)
class Schedule:
    """A number that changes at known times; made by `schedule`.

    Parameters
    ----------
    times
        When (time units) each value begins; the first is 0.
    values
        One value a time.
    period
        Time (time units) after which all is repeated; None for never.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    period: float | None = None

    @property
    def mean(self) -> float:
        """The mean in the long run: over a period, or the last value."""
        if self.period is None:
            return self.values[-1]
        ends = (*self.times[1:], self.period)
        parts = zip(self.times, ends, self.values, strict=True)
        return math.fsum(value * (end - begin) for begin, end, value in parts) / self.period

    @property
    def highest(self) -> float:
        """The largest value."""
        return max(self.values)

    def scaled(self, factor: float) -> "Schedule":
        """Return the schedule with all values multiplied by `factor`."""
        return replace(self, values=tuple(value * factor for value in self.values))

    def to_data(self, kind: str, name: str) -> dict[str, object]:
        """Return the schedule of the `kind` of number of the part `name` as the kernel reads it."""
        data: dict[str, object] = {
            "of": {kind: name},
            "times": list(self.times),
            "values": list(self.values),
        }
        return data if self.period is None else {**data, "period": self.period}


def schedule(changes: Sequence[tuple[float, float]], *, period: float | None = None) -> Schedule:
    """Return a number that changes at known times: servers, tokens, or speeds.

    Parameters
    ----------
    changes
        Pairs of a time and the value from then on: the first time is 0, the others ascend.
    period
        Time after which all is repeated (above the last time); None keeps the last value.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential, schedule
    >>> model = Model("call centre", time_unit="h")
    >>> day = schedule([(0, 4), (8, 10), (18, 4)], period=24)
    >>> agents = model.station("agents", servers=day)
    >>> day.mean
    6.5
    """
    pairs = [tuple(pair) if isinstance(pair, Sequence) else (pair,) for pair in changes]
    if not pairs or any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004 - time and value
        raise refused(
            f"a schedule has the changes {changes!r}", cure="give pairs (time, value), at least one"
        )
    times, values = zip(*pairs, strict=True)
    numbers = [*times, *values] + ([] if period is None else [period])
    if not all(is_number(number) and number >= 0 for number in numbers):
        raise refused(
            f"a schedule has the changes {changes!r} and the period {period!r}",
            cure="give finite numbers of 0 or more",
        )
    if times[0] != 0 or any(after <= before for before, after in itertools.pairwise(times)):
        raise refused(
            f"a schedule changes at the times {list(times)!r}",
            cure="begin with time 0, and let the times ascend",
        )
    if period is not None and period <= times[-1]:
        raise refused(
            f"a schedule repeats after {period!r}, and changes at {times[-1]!r}",
            cure="give a period above the last time",
        )
    return Schedule(
        tuple(float(time) for time in times),
        tuple(float(value) for value in values),
        None if period is None else float(period),
    )


def as_capacity(what: str, word: str, value: Any) -> tuple[Any, Schedule | None]:  # noqa: ANN401 - checked by the caller
    """Return a number of servers or tokens, the largest of its schedule if it has one."""
    if isinstance(value, Expression):
        raise refused(
            f"{what} has {value} {word}, but no job computes it",
            cure="give a number or schedule(...); for a number that depends on the state write a "
            "controller (model.controller) with the step set_servers or set_tokens",
        )
    if not isinstance(value, Schedule):
        return value, None
    if not all(count.is_integer() and count <= COUNT_LIMIT for count in value.values):
        raise refused(
            f"{what} has {list(value.values)!r} {word} by its schedule",
            cure=f"give whole numbers from 0 to {COUNT_LIMIT}",
        )
    if value.highest == 0:
        raise refused(f"{what} never has {word}", cure="give a value above 0 at some time")
    return int(value.highest), value
