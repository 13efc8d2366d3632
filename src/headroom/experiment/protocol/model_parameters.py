"""Parameters of a model function, declared in its signature.

Invariant: every argument of a registered model has type, unit and source, or the model is refused.
A model of a user may have plain arguments; the report says that they have no source.
"""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Parameter, ParameterType, Value

_TYPES: dict[object, ParameterType] = {int: "int", float: "float", str: "str", bool: "bool"}
_EXAMPLE = 'users: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 10'


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterNote:
    """The note of `parameter` on an argument; name, type and default are in the signature."""

    unit: str
    source: str
    low: float | None
    high: float | None
    choices: tuple[Value, ...]
    description: str


def parameter(
    *,
    unit: str = "",
    source: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Value, ...] = (),
    description: str = "",
) -> ParameterNote:
    """Describe an argument of a model function, inside `Annotated`.

    Parameters
    ----------
    unit
        Unit, ``"1"`` for a count or a ratio, ``""`` for words.
    source
        Source of the default: paper, data sheet, measured, calibrated or assumed, with the place.
        A registered model must state it.
    low, high
        Inclusive range, None for no bound.
    choices
        Allowed values, empty for any.
    description
        One sentence for the report.

    Examples
    --------
    >>> from typing import Annotated
    >>> def build(*, rate: Annotated[float, parameter(unit="1/s", source="assumed")] = 0.5):
    ...     pass
    >>> declared, = parameters_of(build)
    >>> declared.name, declared.type, declared.unit, declared.default
    ('rate', 'float', '1/s', 0.5)
    """
    return ParameterNote(
        unit=unit, source=source, low=low, high=high, choices=choices, description=description
    )


def parameters_of(
    function: Callable[..., Any], *, is_registered: bool = False
) -> tuple[Parameter, ...]:
    """Return the parameters that a model function declares in its signature.

    An object that builds models may instead have them as its attribute ``parameters``.

    Parameters
    ----------
    function
        The function.
    is_registered
        True for a model of a library or layer, whose arguments need unit and source.

    Raises
    ------
    StudyError
        An argument has no known type, an impossible default, or lacks what it needs.

    Examples
    --------
    >>> def shop(rate: float = 50.0, disk: str = "ssd"):
    ...     pass
    >>> [(one.name, one.type, one.default, one.source) for one in parameters_of(shop)]
    [('rate', 'float', 50.0, ''), ('disk', 'str', 'ssd', '')]
    """
    given = getattr(function, "parameters", None)
    if isinstance(given, tuple) and all(isinstance(item, Parameter) for item in given):
        return given
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise StudyError(
            f"{place_of(function)}: an annotation cannot be read: {error}",
            cure="import every name that the signature uses",
        ) from error
    arguments = inspect.signature(function).parameters.values()
    return tuple(
        _parameter(function, argument, hints, is_registered=is_registered) for argument in arguments
    )


def _parameter(
    function: Callable[..., Any],
    argument: inspect.Parameter,
    hints: dict[str, Any],
    *,
    is_registered: bool,
) -> Parameter:
    where = f"{place_of(function)}: argument {argument.name!r} of {function.__name__}()"
    if argument.kind in {argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.POSITIONAL_ONLY}:
        raise StudyError(
            f"{where} cannot be given by name",
            cure=f"write a named argument: {argument.name}: float = 1.0",
        )
    hint = hints.get(argument.name, argument.default)
    notes = [note for note in typing.get_args(hint) if isinstance(note, ParameterNote)]
    if is_registered and not (notes and notes[0].source):
        raise StudyError(
            f"{where} does not say what it is: type, unit, range and source",
            cure=f"annotate it with int, float, str or bool and a note: {_EXAMPLE}",
        )
    if _type_of(hint)[0] is None:
        raise StudyError(
            f"{where} is neither a number nor text nor a truth value",
            cure=f"annotate it with int, float, str or bool: {argument.name}: float = 1.0",
        )
    return checked_parameter(where, argument.name, hint, argument.default)


def _type_of(hint: object) -> tuple[ParameterType | None, tuple[Value, ...]]:
    """Return the type and choices of an annotation, or of a default without one."""
    if hint is inspect.Parameter.empty:
        return "any", ()
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        kinds = {type(choice) for choice in choices}
        return (_TYPES.get(kinds.pop()) if len(kinds) == 1 else None), choices
    return _TYPES.get(hint if isinstance(hint, type) else type(hint)), ()


def checked_parameter(
    where: str,
    name: str,
    hint: object,
    default: Any,  # noqa: ANN401 - checked against the hint
    *,
    description: str | None = None,
) -> Parameter:
    """Return the parameter of an annotation.

    Parameters
    ----------
    where
        What is annotated, for messages.
    default
        The default, `inspect.Parameter.empty` if it is required.
    description
        Of a declared field, whose number has the unit ``"1"`` if it names none; None for that of
        the note.
    """
    notes = [note for note in typing.get_args(hint) if isinstance(note, ParameterNote)]
    note = notes[0] if notes else parameter()
    has_default = default is not inspect.Parameter.empty
    kind, choices = _type_of(hint)
    unit = note.unit or ("1" if description is not None and kind in {"int", "float"} else "")
    try:
        declared = Parameter(
            name=name,
            type=kind or "any",
            unit=unit,
            source=note.source,
            default=default if has_default else None,
            low=note.low,
            high=note.high,
            choices=note.choices or choices,
            description=note.description if description is None else description,
        )
    except StudyError as error:
        raise StudyError(f"{where}: {error.message}", cure=error.cure) from error
    if has_default:
        try:
            declared.check(default)
        except StudyError as error:
            raise StudyError(f"{where}: invalid default: {error.message}", cure=error.cure) \
                from error  # fmt: skip
    return declared


def place_of(function: Callable[..., Any]) -> str:
    """Return ``file:line`` of a function's first line, or the location that it states itself."""
    if (place := getattr(function, "place", None)) is not None:
        return str(place)
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
