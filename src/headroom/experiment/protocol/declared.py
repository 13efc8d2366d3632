"""Parameters of a system, declared once: as the fields of a struct.

A field has its type, default, unit, range and source; the string below it describes it. What a
system needs follows from that: the parameters that a study may set, with their checks, messages and
row in the reference; typed access to the values of a point; and, by msgspec, the JSON that compiled
code reads.

Invariant: the parameters are in the order of the fields, and a field that is declared again keeps
its place.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar, Self, get_type_hints

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.model_parameters import checked_parameter
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, Value


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a system, or some that several share: one field each.

    Each is annotated with its type and `headroom.experiment.protocol.model_parameters.parameter`.
    A number without a unit is a count or a ratio.

    Examples
    --------
    >>> from typing import Annotated
    >>> from headroom.experiment.protocol.model_parameters import parameter
    >>> class Cup(Declared, frozen=True, kw_only=True):
    ...     turns: Annotated[int, parameter(low=1, source="assumed")] = 1
    >>> turns, = declared_by(Cup)
    >>> turns.name, turns.type, turns.unit, turns.default, turns.low
    ('turns', 'int', '1', 1, 1)
    >>> Cup.of({"turns": 2, "beside": "nothing of a cup"})
    Cup(turns=2)
    """

    @classmethod
    def of(cls, config: Mapping[str, Value]) -> Self:
        """Return the values of a point, which are checked; those that it lacks are defaults."""
        return cls(**{name: config[name] for name in cls.__struct_fields__ if name in config})

    @classmethod
    def checked(cls, given: Mapping[str, Value]) -> Self:
        """Return values of a caller, each checked.

        Raises
        ------
        StudyError
            One is unknown, of the wrong type or out of its range.

        Examples
        --------
        >>> Declared.checked({"turn": 2})
        Traceback (most recent call last):
        ...
        headroom.errors.StudyError: there is no parameter 'turn'
          hint: remove it: there is none here to choose from
        """
        known = {one.name: one for one in declared_by(cls)}
        for name in given:
            if name not in known:
                raise StudyError(f"there is no parameter {name!r}", cure=suggestion(name, known))
        return cls(**{name: known[name].check(value) for name, value in given.items()})


@cache
def declared_by(struct: type[Declared]) -> tuple[Parameter, ...]:
    """Return the parameters that the fields of a struct declare.

    Raises
    ------
    StudyError
        A field has no known type or unit, or an impossible default.
    """
    hints = get_type_hints(struct, include_extras=True)
    texts = field_texts(struct)
    return tuple(
        checked_parameter(
            f"{struct.__module__}.{struct.__name__}.{field.name}",
            field.name,
            hints[field.name],
            inspect.Parameter.empty if field.required else field.default,
            description=texts.get(field.name, ""),
        )
        for field in msgspec.structs.fields(struct)
    )


def field_texts(struct: type) -> dict[str, str]:
    """Return field -> the string below it, of a struct and those that it extends."""
    texts: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        texts |= _texts_of_module(base.__module__).get(base.__name__, {})
    return texts


@cache
def _texts_of_module(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return class -> field -> the string below it; nothing if there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {one.name: dict(_texts_of_class(one)) for one in classes}


def _texts_of_class(tree: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for item, below in zip(tree.body, tree.body[1:], strict=False):
        match item, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found.append((name, " ".join(text.split())))
    return found


class FromDeclaration:
    """What a system whose parameters are declared need not write itself."""

    __slots__ = ()
    setup_type: ClassVar[type[msgspec.Struct]]
    declared: ClassVar[type[Declared]]

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:  # noqa: ARG003 - the protocol's
        """Return the system for a validated `setup`, the only field of a system that loads so."""
        return cls(setup)  # type: ignore[call-arg]

    def parameters(self) -> tuple[Parameter, ...]:
        """Return one `Parameter` for each field of the struct `declared`."""
        return declared_by(self.declared)

    def prepare(self) -> Mapping[str, float | str]:
        """Return nothing: a replication notes what it finds, a simulation depends on no machine."""
        return {}
