"""Levels of a factor from a list or a range; decimals stay exact."""

from collections.abc import Sequence
from fractions import Fraction

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Parameter, Value
from headroom.experiment.study.study import Levels, Range

MOST_LEVELS = 100_000


def expand_levels(levels: Levels, parameter: Parameter) -> tuple[Value, ...]:
    """Return the levels of a factor, each checked against its parameter.

    A range with `count` on a whole-number parameter is rounded to whole numbers, and equal
    neighbours become one level.

    Raises
    ------
    StudyError
        A level is impossible, double, or the list is empty.

    Examples
    --------
    >>> rate = Parameter(name="rate", type="float", unit="1/s", source="assumed")
    >>> expand_levels(Range(start=0.1, stop=0.5, step=0.1), rate)
    (0.1, 0.2, 0.3, 0.4, 0.5)
    >>> users = Parameter(name="users", type="int", unit="1", source="assumed")
    >>> expand_levels(Range(start=1, stop=1000, count=4, scale="log"), users)
    (1, 10, 100, 1000)
    """
    raw = _range_levels(levels, parameter) if isinstance(levels, Range) else levels
    return checked_levels(raw, parameter)


def checked_levels(levels: Sequence[Value], parameter: Parameter) -> tuple[Value, ...]:
    """Return listed levels in the type of their parameter; refuse none and doubles."""
    if not levels:
        raise StudyError(f"factor {parameter.name!r} has no levels", cure="list at least one level")
    checked = tuple(checked_level(level, parameter) for level in levels)
    double = _first_double(checked)
    if double is not None:
        raise StudyError(
            f"factor {parameter.name!r} has the level {_as_written(double)} twice",
            cure="name it once",
        )
    return checked


def _first_double(levels: Sequence[Value]) -> Value | None:
    """Return the first level that was there before; true and 1 are two levels, 1 and 1.0 one."""
    seen: set[tuple[bool, Value]] = set()
    for level in levels:
        mark = (isinstance(level, bool), level)
        if mark in seen:
            return level
        seen.add(mark)
    return None


def _as_written(level: Value) -> str:
    """Return a level as TOML spells it."""
    return str(level).lower() if isinstance(level, bool) else repr(level)


def checked_level(level: Value, parameter: Parameter) -> Value:
    """Return one value in the type of its parameter; refuse NaN and infinity."""
    if isinstance(level, float) and level - level != 0:
        raise StudyError(f"parameter {parameter.name!r} is {level!r}", cure="give a finite number")
    return parameter.check(level)


def _range_levels(levels: Range, parameter: Parameter) -> list[Value]:
    _check_range(levels, parameter)
    if levels.step is not None:
        steps = _stepped(levels.start, levels.stop, levels.step)
        return [_shortest(step) for step in steps] if parameter.type == "any" else list(steps)
    count = levels.count or 2
    spread = _log_spread if levels.scale == "log" else _linear_spread
    numbers = spread(levels.start, levels.stop, count)
    if parameter.type == "int":
        return list(dict.fromkeys(round(number) for number in numbers))
    return list(numbers)


def _shortest(number: float) -> Value:
    """Return a whole number as such, unless its type is float."""
    return int(number) if number.is_integer() else number


def _check_range(levels: Range, parameter: Parameter) -> None:
    problem = _type_problem(parameter) or _range_problem(levels)
    if problem is not None:
        message, cure = problem
        raise StudyError(f"the range of factor {parameter.name!r} {message}", cure=cure)


def _type_problem(parameter: Parameter) -> tuple[str, str] | None:
    if parameter.type in {"int", "float", "any"}:
        return None
    return f"is for numbers, but its type is {parameter.type}", "list the levels instead"


def _range_problem(levels: Range) -> tuple[str, str] | None:
    if (levels.step is None) == (levels.count is None):
        return "needs either step or count", "give one of the two"
    if levels.stop <= levels.start:
        return "ends before it starts", "make `to` larger than `from`"
    if levels.scale == "log" and levels.step is not None:
        return "has a step on a log scale", "give count instead of step"
    if levels.scale == "log" and levels.start <= 0:
        return "starts at 0 or below on a log scale", "start above 0"
    return None if levels.step is None else _step_problem(levels.stop - levels.start, levels.step)


def _step_problem(width: float, step: float) -> tuple[str, str] | None:
    if step <= 0:
        return "has a step of 0 or less", "give a step above 0"
    if width / step > MOST_LEVELS:
        return f"has more than {MOST_LEVELS} levels", "give a larger step"
    return None


def _stepped(start: float, stop: float, step: float) -> list[float]:
    """Count in decimals, so that 0.1 + 2 x 0.1 is 0.3."""
    first, last, width = _exact(start), _exact(stop), _exact(step)
    return [float(first + number * width) for number in range(int((last - first) / width) + 1)]


def _linear_spread(start: float, stop: float, count: int) -> list[float]:
    first, last = _exact(start), _exact(stop)
    return [float(first + (last - first) * number / (count - 1)) for number in range(count)]


def _log_spread(start: float, stop: float, count: int) -> list[float]:
    ratio = stop / start
    inner = [start * ratio ** (number / (count - 1)) for number in range(1, count - 1)]
    return [start, *inner, stop]


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))
