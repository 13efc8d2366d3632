"""Options of commands: those that several share, and those that a struct declares."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin

import typer

from headroom.cli.output import ColorMode
from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.options import QUICK, SEED, SETTINGS, Option, Options, option_of
from headroom.experiment.protocol.system import Parameter

_Asked = TypeVar("_Asked", bound=Options)
_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def as_typer(note: Option) -> Any:  # noqa: ANN401 - typer's own types are private
    """Return the note of an option as typer takes it."""
    first, *others, text = note.words
    low, high = (None, None) if note.read else (note.low, note.high)
    return typer.Option(first, *others, help=text, min=low, max=high, metavar=note.metavar,
                        envvar=note.envvar, show_default=note.show_default)  # fmt: skip


def command(struct: type[_Asked]) -> Callable[[Callable[[_Asked], None]], Callable[..., None]]:
    """Make a function a command that has the fields of a struct as its options.

    A field has an `option`, or typer's own note where Python has no such argument; one that is a
    declared struct stands for its parameters; others are no options. Those of the struct itself
    come last.
    """
    known = {one.name: one for one in fields(struct)}
    classes = [*struct.__mro__[1:], struct]
    names = dict.fromkeys(name for one in classes for name in vars(one).get("__annotations__", ()))
    declared = {name: kind for name, one in known.items() if (kind := _declared(one))}
    signature = [
        *(_parameter(one) for kind in declared.values() for one in declared_by(kind)
          if one.name not in known),
        *(_argument(known[name]) for name in names if _split(known[name])[1] is not None),
    ]  # fmt: skip

    def decorated(function: Callable[[_Asked], None]) -> Callable[..., None]:
        @wraps(function)
        def called(**given: Any) -> None:  # noqa: ANN401 - as declared
            own = {name: _value(known[name], given.pop(name)) for name in [*given] if name in known}
            for name, kind in declared.items():
                own[name] = kind.checked(
                    {n: given[n] for n in kind.__struct_fields__ if n in given}
                )
            function(struct(**own))

        vars(called)["__signature__"] = inspect.Signature(signature)
        called.__annotations__ = {one.name: one.annotation for one in signature}
        return called

    return decorated


def _declared(field: Field[Any]) -> type[Declared] | None:
    kind = field.type
    return kind if isinstance(kind, type) and issubclass(kind, Declared) else None


def _parameter(one: Parameter) -> inspect.Parameter:
    """Return a declared parameter as an argument that typer reads."""
    name, choices = one.name.replace("_", "-"), ", ".join(map(str, one.choices))
    words = f"{one.description}: {choices}." if choices else f"{one.description}."
    note = typer.Option(f"--{name}", help=words, min=one.low, max=one.high)
    kind: Any = {"int": int, "float": float, "bool": bool}.get(one.type, str)
    shown = Annotated[kind, note]
    return inspect.Parameter(one.name, _BY_NAME, default=one.default, annotation=shown)


def _split(field: Field[Any]) -> tuple[Any, Any]:
    """Return the type of a field, and its note as typer takes it; None if it has none."""
    if get_origin(field.type) is Annotated:
        kind, shown = get_args(field.type)[:2]
        return kind, shown
    note = option_of(field)
    return field.type, as_typer(note) if note else None


def _argument(field: Field[Any]) -> inspect.Parameter:
    """Return a field as an argument that typer reads; several values are a list there."""
    (kind, shown), note = _split(field), option_of(field)
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    if note and note.read:
        kind, default = (str | None if default is None else str), note.written
    if get_origin(kind) is Sequence:
        kind, default = (list[str] | None, None) if default == () else (list[str], default)
    return inspect.Parameter(
        field.name, _BY_NAME, default=default, annotation=Annotated[kind, shown]
    )


def _value(field: Field[Any], value: Any) -> Any:  # noqa: ANN401 - of any field
    """Return what typer found as the value of a field."""
    if get_origin(_split(field)[0]) is Sequence:
        return tuple(value or ())
    note = option_of(field)
    if note and note.read and value is not None:
        return note.read(value, note.words[0])
    return value


def words_of(asked: Options, names: Iterable[str]) -> list[str]:
    """Return the words of the command line that give options their values, but for defaults."""
    known = {one.name: one for one in fields(asked)}
    words = []
    for name in names:
        value, note = getattr(asked, name), _split(known[name])[1]
        if value != known[name].default:
            several = value if isinstance(value, tuple) else (value,)
            words += [word for one in several for word in (note.default, _text(one))]
    return words


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


StudyPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="STUDY", help="Folder of the study, or its study.toml.")
]
Quick: TypeAlias = Annotated[bool, as_typer(QUICK)]
Seed: TypeAlias = Annotated[int | None, as_typer(SEED)]
Settings: TypeAlias = Annotated[list[str] | None, as_typer(SETTINGS)]
ShowsAll: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All results, not the answer alone.")
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Write one JSON document to stdout.")
]
Color: TypeAlias = Annotated[
    ColorMode, typer.Option("--color", help="Colours; NO_COLOR is honoured.", show_default=True)
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="HEADROOM_QUIET", help="No progress and no notes."),
]
