"""Options of commands: those that several share, and those that a struct declares."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import typer

from headroom.cli.output import ColorMode
from headroom.experiment.protocol.options import QUICK, SEED, SETTINGS, Option, Options

_Asked = TypeVar("_Asked", bound=Options)


def as_typer(note: Option) -> Any:  # noqa: ANN401 - typer's own types are private
    """Return the note of an option as typer takes it."""
    bounds: dict[str, Any] = {} if note.read else {"min": note.low, "max": note.high}
    first, *others = note.names
    return typer.Option(first, *others, help=note.text, **bounds, **note.words)


def command(struct: type[_Asked]) -> Callable[[Callable[[_Asked], None]], Callable[..., None]]:
    """Make a function a command that has the fields of a struct as its options.

    A field has an `Option`, or typer's own note where Python has no such argument; others are no
    options. Those of the struct itself come last.
    """
    hints = get_type_hints(struct, include_extras=True)
    known = {one.name: one for one in fields(struct)}
    classes = [*struct.__mro__[1:], struct]
    names = dict.fromkeys(name for one in classes for name in vars(one).get("__annotations__", ()))
    notes = {
        name: (known[name], *get_args(hints[name])[:2])
        for name in names
        if get_origin(hints[name]) is Annotated
    }

    def decorated(function: Callable[[_Asked], None]) -> Callable[..., None]:
        @wraps(function)
        def called(**given: Any) -> None:  # noqa: ANN401 - as declared
            function(struct(**{n: _value(value, *notes[n][1:]) for n, value in given.items()}))

        signature = [_argument(*note) for note in notes.values()]
        vars(called)["__signature__"] = inspect.Signature(signature)
        called.__annotations__ = {one.name: one.annotation for one in signature}
        return called

    return decorated


def _argument(field: Field[Any], kind: Any, note: Any) -> inspect.Parameter:  # noqa: ANN401
    """Return a field as an argument that typer reads; several values are a list there."""
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    shown = note
    if isinstance(note, Option):
        shown = as_typer(note)
        if note.read:
            kind, default = (str | None if default is None else str), note.written
    if _is_several(kind):
        kind, default = (list[str] | None, None) if default == () else (list[str], default)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, shown],
    )


def _value(value: Any, kind: Any, note: Any) -> Any:  # noqa: ANN401
    """Return what typer found as the value of a field."""
    if _is_several(kind):
        return tuple(value or ())
    if isinstance(note, Option) and note.read and isinstance(value, str):
        return note.read(value, note.names[0])
    return value


def words_of(asked: Options, names: Iterable[str]) -> list[str]:
    """Return the words of the command line that give options their values, but for defaults."""
    found = {one.name: one for one in fields(asked)}
    hints = get_type_hints(type(asked), include_extras=True)
    words = []
    for name in names:
        value, note = getattr(asked, name), get_args(hints[name])[1]
        if value != found[name].default:
            option = note.names[0] if isinstance(note, Option) else note.default
            several = value if isinstance(value, tuple) else (value,)
            words += [word for one in several for word in (option, _text(one))]
    return words


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_several(kind: Any) -> bool:  # noqa: ANN401 - any annotation
    return get_origin(kind) is Sequence


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
