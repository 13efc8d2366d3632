"""Parameter files: every number of a machine or device with its unit, range and source.

A parameter file is TOML. Each table is a topic (any name), each entry in it a parameter::

    [processor]
    processor_mhz = { value = 200, unit = "MHz", low = 1, high = 10000, source = "data sheet: ...",
                      description = "Clock of a processor" }

What reads the file says which parameters there are; a file has each of them exactly once.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import Parameter, ParameterType

_TYPES: Mapping[Any, ParameterType] = {int: "int", float: "float", str: "str", bool: "bool"}
SOURCES = ("paper", "data sheet", "standard", "measured", "calibrated", "assumed")
"""With which word a source begins."""


def read_parameters(
    path: Path, fields: Mapping[str, Any], *, copy_of: str
) -> tuple[Parameter, ...]:
    """Return the parameters that a file declares, in its order.

    Parameters
    ----------
    path
        The file.
    fields
        Type of each parameter that there must be.
    copy_of
        File from which a reader may start, for the message where some are missing.

    Raises
    ------
    StudyError
        It cannot be read, or a parameter is missing, unknown or wrong.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyError(f"{path}: {error}", cure="correct the file") from error
    found = dict(_parameters(path, content, fields))
    if missing := [name for name in fields if name not in found]:
        raise StudyError(
            f"{path}: {', '.join(missing)} missing",
            cure=f"such a file says all that there is to say; copy {copy_of} and change it",
        )
    return tuple(found.values())


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


def _parameters(
    path: Path, content: Mapping[str, Any], fields: Mapping[str, Any]
) -> Iterator[tuple[str, Parameter]]:
    seen: set[str] = set()
    for topic, table in content.items():
        if not isinstance(table, dict):
            raise StudyError(
                f"{path}: {topic} stands outside of a table", cure="put it below a [topic]"
            )
        for name, entry in table.items():
            where = f"{path}: [{topic}] {name}"
            if name not in fields:
                raise StudyError(f"{where} is not known", cure=suggestion(name, fields))
            if name in seen:
                raise StudyError(f"{where} stands twice", cure="remove one")
            seen.add(name)
            yield name, _parameter(where, name, entry, _TYPES[fields[name]])


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file says of one parameter."""

    value: bool | int | float | str
    unit: str
    source: str
    low: float | None = None
    high: float | None = None
    choices: tuple[bool | int | float | str, ...] = ()
    description: str = ""


def _parameter(where: str, name: str, entry: object, kind: ParameterType) -> Parameter:
    try:
        found = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise StudyError(
            f"{where}: {error}",
            cure='write { value = 1, unit = "1", source = "assumed: why", low = 0, high = 9, '
            'description = "what" } or choices = [...] instead of low and high',
        ) from error
    if not found.source.startswith(SOURCES):
        raise StudyError(
            f"{where} has the source {found.source!r}",
            cure=f"begin it with one of {', '.join(SOURCES)}",
        )
    declared = Parameter(
        name=name,
        type=kind,
        unit=found.unit,
        source=found.source,
        default=found.value,
        low=found.low,
        high=found.high,
        choices=found.choices,
        description=found.description,
    )
    try:
        return replace(declared, default=declared.check(found.value))
    except StudyError as error:
        raise StudyError(f"{where}: {error.message}", cure=error.cure) from error
