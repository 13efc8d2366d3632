"""The meaning of an argument of `headroom compare`: a path with results, or a command line.

Invariant: a text with two meanings is an error, never a guess.
"""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from headroom.errors import StudyError
from headroom.experiment.study.paths import PAGE_NAME, RESULTS_NAME, STUDY_NAME, results_folder

Kind: TypeAlias = Literal["command", "result"]
_SHELL = {"|", "||", "&&", ";", ">", "<", "&", ">>", "2>", "2>&1"}
_PLURAL = {"command": "a command", "result": "a result"}
_FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """An argument and its meaning.

    Parameters
    ----------
    kind, text
        What it is, and as the user wrote it.
    path
        Of a result: where it is.
    argv
        Words of a command.
    """

    kind: Kind
    text: str
    path: Path = Path()
    argv: tuple[str, ...] = ()


def meanings_of(texts: Sequence[str]) -> list[Meaning]:
    """Return the meanings of all arguments, which have to be of one kind.

    Raises
    ------
    StudyError
        An argument has no meaning or two, or they are of different kinds.
    """
    if len(texts) < _FEWEST:
        raise StudyError(
            "a comparison needs two: commands, or results",
            cure="headroom compare 'COMMAND A' 'COMMAND B', or headroom compare OLD NEW",
        )
    found = [meaning_of(text) for text in texts]
    kinds = {meaning.kind: meaning.text for meaning in found}
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise StudyError(
            f"`{first}` is {_PLURAL[one]}, but `{second}` is {_PLURAL[other]}",
            cure="compare commands with commands, and results with results",
        )
    return found


def meaning_of(text: str) -> Meaning:
    """Return the meaning of one argument.

    Examples
    --------
    >>> meaning_of("sort -n /dev/null").argv
    ('sort', '-n', '/dev/null')
    """
    result = _as_result(text)
    program = shutil.which(text) if text and "/" not in text else None
    if result is not None and program is not None:
        raise StudyError(
            f"`{text}` is a result here and a program, {program}",
            cure=f"write ./{text} for the result, or {program} for the program",
        )
    return result or command_of(text)


def _as_result(text: str) -> Meaning | None:
    path = Path(text)
    try:
        if path.is_dir():
            names = (STUDY_NAME, RESULTS_NAME, results_folder(Path(), quick=False) / RESULTS_NAME)
            is_result = any((path / name).exists() for name in names)
        else:
            is_result = path.name == STUDY_NAME or path.suffix in {".json", ".html"}
            is_result = is_result and path.is_file()
    except (OSError, ValueError):
        return None
    return Meaning(kind="result", text=text, path=path) if is_result else None


def command_of(text: str, folder: Path | None = None) -> Meaning:
    """Return a command line; no shell reads it, so signs of a shell are refused.

    Parameters
    ----------
    text
        The command line.
    folder
        Where it runs; None: here. Programs of a revision may not be built yet: they are not
        looked for.

    Raises
    ------
    StudyError
        The program is not there, or the line is meant for a shell.
    """
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise StudyError(f"`{text}`: {error}", cure="close the quotes") from error
    if not argv:
        raise StudyError("an empty command", cure="name a program")
    if sign := next((word for word in argv if word in _SHELL), None):
        raise StudyError(
            f"`{text}` needs a shell for `{sign}`, but none reads it",
            cure=f"write {shlex.quote(f'sh -c {shlex.quote(text)}')}, which measures the shell too",
        )
    if folder is None and shutil.which(argv[0]) is None:
        place = f" (nor is `{text}` a folder of results)" if len(argv) == 1 else ""
        raise StudyError(
            f"no such program: `{argv[0]}`{place}",
            cure=f"check PATH, or name it by its path; results are a study's folder, "
            f"{RESULTS_NAME} or {PAGE_NAME}; --rev names commits",
        )
    return Meaning(kind="command", text=text, argv=tuple(argv))
