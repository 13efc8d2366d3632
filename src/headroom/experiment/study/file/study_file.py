"""Reading a study file: syntax, types and names; errors name the line.

Invariant: a `LoadedStudy` satisfies the types of `study`; whether its names and levels make
sense to the systems is checked by `design.make_plan`, through the same located errors.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.study.file.settings import with_settings
from headroom.experiment.study.file.short_keys import spelled_out
from headroom.experiment.study.file.toml_lines import key_lines
from headroom.experiment.study.file.type_errors import find_type_error
from headroom.experiment.study.paths import STUDY_NAME
from headroom.experiment.study.study import Study
from headroom.input_file import MissingFileError, read_text

KeyPath: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedStudy:
    """A study with the text that it came from.

    Parameters
    ----------
    study
        The checked content.
    folder
        Folder of the study; relative paths in it start here.
    path
        The study file as it was named by the user; for a study that a program built, its name.
    lines
        Line (from 1) of every key path; 0 for a study that a program built.
    names
        Name of every experiment and claim, by table and number.
    settings
        Settings from outside, see `headroom.experiment.study.file.settings`.
    command
        What repeats a study that a program built; empty for a file.
    """

    study: Study
    folder: Path
    path: Path
    lines: Mapping[tuple[str | int, ...], int]
    names: Mapping[tuple[str, int], str]
    settings: tuple[str, ...] = ()
    command: str = ""

    def locate(self, key_path: KeyPath) -> int:
        """Return the line (from 1) of a key, or of the nearest table around it."""
        return nearest_line(self.lines, key_path)

    def error(self, key_path: KeyPath, message: str, *, cure: str) -> StudyError:
        """Return a `StudyError` that names file, line and key."""
        return StudyError(self._located(key_path, message), cure=cure)

    def relocated(self, key_path: KeyPath, error: HeadroomError) -> HeadroomError:
        """Return an error with file, line and key in front of its message."""
        if isinstance(error, CodeNotRunError):
            return error  # Nothing is wrong in the file.
        message = self._located(key_path, error.message)
        is_unfit = isinstance(error, EnvironmentUnfitError)
        return (EnvironmentUnfitError if is_unfit else StudyError)(message, cure=error.cure)

    def _located(self, key_path: KeyPath, message: str) -> str:
        line = self.locate(key_path)
        return _located(self.path, line, _place_text(key_path, self.names), message)


def load_study(path: Path, settings: Sequence[str] = ()) -> LoadedStudy:
    """Read and check a study file.

    Parameters
    ----------
    path
        The file, or the folder that holds `study.toml`.
    settings
        Keys to set before anything is checked, see `headroom.experiment.study.file.settings`.

    Raises
    ------
    StudyError
        The file is missing, no TOML, or has unknown keys or impossible values; the message names
        file, line and key, the hint a likely correction.
    """
    file = path / STUDY_NAME if path.is_dir() else path
    if file.suffix != ".toml" and file.exists():
        raise StudyError(
            f"{file} is not a study file: its name must end in .toml",
            cure="name the study.toml, or its folder",
        )
    text = _read(file)
    loaded = _checked(_parse(file, text), file, file.parent, key_lines(text), settings)
    _refuse_classes(loaded)
    return loaded


def _refuse_classes(loaded: LoadedStudy) -> None:
    """Refuse a class in place of the name of a system: programs pass functions in that way."""
    for number, experiment in enumerate(loaded.study.experiments):
        for place, table in (("system",), experiment.system), (
            ("quick", "system"), experiment.quick.system,
        ):  # fmt: skip
            if ":" in str(table.get("name", "")):
                raise loaded.error(
                    ("experiment", number, *place, "name"),
                    f"{table['name']!r} is no name of a system: a file cannot name a class",
                    cure='write name = "model" or another of `headroom list`; a layer registers '
                    "its systems by name",
                )


def study_of(
    content: Mapping[str, Any], *, folder: Path, settings: Sequence[str] = (), command: str
) -> LoadedStudy:
    """Check a study that a program built, with the keys of a study file.

    Parameters
    ----------
    content
        As `tomllib` reads it.
    folder
        Folder of its results and of relative paths.
    settings
        As for `load_study`.
    command
        What repeats the study, for the report.

    Raises
    ------
    StudyError
        As for `load_study`; the message names the study instead of file and line.
    """
    path = Path(f"study {content.get('name')!r}")
    loaded = _checked(content, path, folder, {(): 0}, settings)
    return replace(loaded, command=command)


def _checked(
    content: Mapping[str, Any],
    path: Path,
    folder: Path,
    lines: Mapping[tuple[str | int, ...], int],
    settings: Sequence[str],
) -> LoadedStudy:
    content = spelled_out(with_settings(content, settings))
    names = _names(content)
    problem = find_type_error(content, Study)
    if problem is not None:
        line = nearest_line(lines, problem.key_path)
        message = _located(path, line, _place_text(problem.key_path, names), problem.message)
        raise StudyError(message, cure=problem.cure)
    study = msgspec.convert(content, Study)
    loaded = LoadedStudy(
        study=study,
        folder=folder,
        path=path,
        lines=lines,
        names=names,
        settings=tuple(settings),
    )
    if not study.heading:
        raise loaded.error(
            (),
            "the study has neither a title nor a question",
            cure="add title = ..., or a question to its first [[ask]]",
        )
    return loaded


def key_text(key_path: KeyPath) -> str:
    """Return a key path as written in messages.

    Examples
    --------
    >>> key_text(["experiment", 0, "factors", "users"])
    'experiment[0].factors.users'
    """
    words = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in key_path]
    return "".join(words).removeprefix(".")


def nearest_line(lines: Mapping[tuple[str | int, ...], int], key_path: KeyPath) -> int:
    """Return the line of the longest known beginning of a key path."""
    path = tuple(key_path)
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _located(path: Path, line: int, place: str, message: str) -> str:
    where = f"{path}:{line}" if line else str(path)
    return ": ".join(part for part in (where, place, message) if part)


def _place_text(key_path: KeyPath, names: Mapping[tuple[str, int], str]) -> str:
    """Return a key path for a message; experiments and claims that have a name go by it."""
    match tuple(key_path):
        case (str() as table, int() as number, *rest) if (table, number) in names:
            named = f'{table} "{names[table, number]}"'
            return f"{named}: {key_text(rest)}" if rest else named
        case _:
            return key_text(key_path)


def _names(content: Mapping[str, Any]) -> dict[tuple[str, int], str]:
    """Return the names of a file's experiments and claims, as far as they are names."""
    names = {}
    for table in ("experiment", "claim"):
        items = content.get(table)
        for number, item in enumerate(items if isinstance(items, list) else []):
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
                names[table, number] = name
    return names


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except MissingFileError as error:
        raise StudyError(
            f"there is no study file {path}",
            cure="name a folder with a study.toml, or write one with `headroom init FOLDER`",
        ) from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # broken syntax, or a number with thousands of digits
        raise _syntax_error(path, text, str(error)) from error
    except RecursionError as error:
        raise StudyError(
            f"{path}: lists or tables are nested too deeply", cure="use fewer levels of brackets"
        ) from error


def _syntax_error(path: Path, text: str, detail: str) -> StudyError:
    """Return the error for broken TOML, with the line and what usually goes wrong there."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$", detail)
    lines = text.splitlines()
    number = int(place.group(1)) if place else max(len(lines), 1)
    what = detail[: place.start()] if place else detail.removesuffix(" (at end of document)")
    line = lines[number - 1].strip() if number <= len(lines) else ""
    shown = f" in `{line}`" if line else ""
    return StudyError(f"{path}:{number}: {what}{shown}", cure=_syntax_cure(what))


def _syntax_cure(what: str) -> str:
    cures = {
        "Invalid value": "put text in quotes, write true and false in small letters, "
        "and numbers without units",
        "Unclosed array": "close the list with ]",
        "Unclosed inline": "close the table with }",
        "Cannot overwrite": "the key is there twice; keep one of them",
        "Cannot mutate": "a table in { } is complete; write all its keys inside the braces",
        "Cannot declare": "the table is there twice; keep one, or write [[...]] for a list",
        "Expected '='": "write key = value; a header is written [name]",
        "Illegal character": "close the text with the quote that opened it",
        "Unterminated": "close the text with the quotes that opened it",
    }
    for beginning, cure in cures.items():
        if what.startswith(beginning):
            return cure
    return "see https://toml.io for the syntax; one key = value per line"
