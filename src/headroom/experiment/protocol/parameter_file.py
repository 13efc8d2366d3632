"""Parameter files: every number of a machine or device with its unit, range and source.

A parameter file is TOML. Each table is a topic (any name), each entry in it a parameter::

    [processor]
    processor_mhz = { value = 200, unit = "MHz", low = 1, high = 10000, source = "data sheet: ...",
                      description = "Clock of a processor" }

The reader of the file defines the parameters; a file has each of them exactly once. A file that
begins with ``like = "server"`` lists only the differences from that file, and only the differing
fields of each number: ``processor_mhz = { value = 400, source = "data sheet: ..." }``.
"""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, ParameterType
from headroom.input_file import read_text
from headroom.units import QuantityError, conversion

_TYPES: Mapping[Any, ParameterType] = {int: "int", float: "float", str: "str", bool: "bool"}
SOURCES = ("paper", "data sheet", "standard", "measured", "calibrated", "assumed")
"""With which word a source begins."""


LIKE = "like"
"""Key of the file that another one differs from."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A parameter's entry in a file."""

    value: bool | int | float | str
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    choices: tuple[bool | int | float | str, ...] = ()
    description: str = ""


def read_parameters(
    path: Path, fields: Mapping[str, Any], *, copy_of: Path, own: Path | None = None
) -> tuple[Parameter, ...]:
    """Return the parameters that a file declares, in its order.

    Parameters
    ----------
    path
        The file.
    fields
        Type of each parameter that there must be.
    copy_of
        File from which a reader may start. A parameter has the unit that it has there, and what
        other files say in a multiple of it is converted.
    own
        Folder of the files that `LIKE` may name without a path; None knows no such key.

    Raises
    ------
    StudyError
        It cannot be read, or a parameter is missing, unknown or wrong.
    """
    entries = _read(path, fields, own, ())
    if missing := [name for name in fields if name not in entries]:
        raise StudyError(
            f"{path}: {', '.join(missing)} missing",
            cure=f"the file must set every parameter: copy {copy_of.name} and change it",
        )
    units = _units(copy_of)
    return tuple(
        _parameter(where, name, _in_unit(where, entry, units[name]), _TYPES[fields[name]])
        for name, (where, entry) in entries.items()
    )


@cache
def _units(path: Path) -> Mapping[str, str]:
    """Return the unit of each parameter in one of Headroom's own files."""
    tables = tomllib.loads(path.read_text(encoding="utf-8")).values()
    return {name: entry["unit"] for table in tables for name, entry in table.items()}


def _read(
    path: Path, fields: Mapping[str, Any], own: Path | None, before: tuple[Path, ...]
) -> dict[str, tuple[str, _Entry]]:
    """Return the place and entry of each parameter of a file, and of the file that it is like."""
    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # syntax, digits without end, or nesting
        raise StudyError(f"{path}: {error}", cure="correct the file") from error
    if own is None or LIKE not in content:
        return dict(_entries(path, content, fields, {}))
    base = _base(path, content.pop(LIKE), own)
    if base.resolve() in before:
        raise StudyError(
            f"{path}: like = {base.name!r} leads back to this file", cure="name another file"
        )
    known = _read(base, fields, own, (*before, path.resolve()))
    return known | dict(_entries(path, content, fields, known))


def _base(path: Path, named: object, own: Path) -> Path:
    if not isinstance(named, str):
        raise StudyError(
            f"{path}: like = {named!r} is not text", cure=f'write {LIKE} = "NAME" or a path'
        )
    beside = path.parent / named
    return named_file(beside if beside.is_file() else named, own, "parameter")


def named_file(name: str | Path, folder: Path, word: str) -> Path:
    """Return one of Headroom's own files of a folder by its name, or another by its path.

    Raises
    ------
    StudyError
        There is no such file.
    """
    own = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    path = own.get(str(name), Path(name))
    if not path.is_file():
        raise StudyError(
            f"there is no {word} file {str(name)!r}",
            cure=f"give the path of a .toml file, or one of {', '.join(own)}",
        )
    return path


def opening_comment(path: Path) -> str:
    """Return the first paragraph of the comment with which a file begins."""
    lines = takewhile(lambda line: line.startswith("# "), path.read_text("utf-8").splitlines())
    return " ".join(line.removeprefix("# ") for line in lines)


def _entries(
    path: Path,
    content: Mapping[str, Any],
    fields: Mapping[str, Any],
    known: Mapping[str, tuple[str, _Entry]],
) -> Iterator[tuple[str, tuple[str, _Entry]]]:
    seen: set[str] = set()
    for topic, table in content.items():
        if not isinstance(table, dict):
            raise StudyError(
                f"{path}: {topic} is outside of any table", cure="put it below a [topic]"
            )
        for name, entry in table.items():
            where = f"{path}: [{topic}] {name}"
            if name not in fields:
                raise StudyError(f"{where} is not known", cure=suggestion(name, fields))
            if name in seen:
                raise StudyError(f"{where} is defined twice", cure="remove one")
            seen.add(name)
            whole = _completed(where, entry, known[name][1]) if name in known else entry
            yield name, (where, _entry(where, whole))


def _completed(where: str, entry: object, known: _Entry) -> object:
    """Return an entry of a file, completed from the file that it is like."""
    if not isinstance(entry, dict):
        return entry
    with suppress(StudyError):  # A wrong unit is refused with the value.
        known = _in_unit(where, known, str(entry.get("unit", known.unit)))
    told = msgspec.to_builtins(known)
    return {name: told[name] for name in told if name not in {"value", "source"}} | entry


def _in_unit(where: str, entry: _Entry, unit: str) -> _Entry:
    """Return an entry with its numbers in a unit."""
    try:
        factor = conversion(entry.unit, unit)
    except QuantityError as error:
        raise StudyError(
            f"{where} has {error}", cure=f'write unit = "{unit}", or a multiple of it'
        ) from error

    def scaled(number: Any) -> Any:  # noqa: ANN401 - a value, a bound or none
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        return float(f"{number * factor:.15g}") if is_number and factor != 1.0 else number

    return msgspec.structs.replace(
        entry,
        unit=unit,
        value=scaled(entry.value),
        low=scaled(entry.low),
        high=scaled(entry.high),
        choices=tuple(map(scaled, entry.choices)),
    )


def _entry(where: str, entry: object) -> _Entry:
    try:
        table = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise StudyError(
            f"{where}: {error}",
            cure='write { value = 1, unit = "1", source = "assumed: why", low = 0, high = 9, '
            'description = "what" } or choices = [...] instead of low and high',
        ) from error
    if not table.source.startswith(SOURCES):
        raise StudyError(
            f"{where} has the source {table.source!r}",
            cure=f"begin it with one of {', '.join(SOURCES)}",
        )
    return table


def _parameter(where: str, name: str, table: _Entry, kind: ParameterType) -> Parameter:
    declared = Parameter(
        name=name,
        type=kind,
        unit=table.unit,
        source=table.source,
        default=table.value,
        low=table.low,
        high=table.high,
        choices=table.choices,
        description=table.description,
    )
    try:
        return replace(declared, default=declared.check(table.value))
    except StudyError as error:
        raise StudyError(f"{where}: {error.message}", cure=error.cure) from error
