"""`results.json`: the analysed study as one document, written atomically.

Invariant: a reader sees the old file or the new one, never a part of either.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headroom.analysis.results import StudyResult
from headroom.analysis.stored_form import StoredStudy, read_form, stored_form
from headroom.defects import is_debugging
from headroom.errors import EnvironmentUnfitError
from headroom.input_file import MalformedError, MissingFileError, decode_json, read_file
from headroom.output_file import replace_file

FORMAT = 4
"""Version of the document; a change that old readers misread raises it."""


def write_results(result: StudyResult, path: Path) -> None:
    """Write `result` to `path`, replacing an older file in one step.

    Raises
    ------
    EnvironmentUnfitError
        The folder cannot be written or the disk is full; an older file is untouched.
    """
    encoded = msgspec.json.encode(stored_form(result)) + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, encoded)
    except OSError as error:
        raise EnvironmentUnfitError(
            f"the results cannot be written to {path}: {error.strerror or error}",
            cure="free space or make the folder writable; the journal keeps every replication",
        ) from error


def read_results(path: Path) -> StudyResult:
    """Return the study that `write_results` stored.

    Raises
    ------
    EnvironmentUnfitError
        The file is missing, damaged, or of another format.
    """
    try:
        content = read_file(path)
        stored = decode_json(content, path, type=StoredStudy)
    except MissingFileError as error:
        raise EnvironmentUnfitError(
            f"the results {path} cannot be read: there is no such file",
            cure="run the study, or write its report again: headroom report STUDY",
        ) from error
    except MalformedError as error:
        raise _unreadable(path, error.message.removeprefix(f"{path}: ")) from error
    if stored.format != FORMAT:
        raise _unreadable(path, f"format {stored.format}, this version reads {FORMAT}")
    return result_of(stored, path)


_MISFITS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def result_of(stored: StoredStudy, path: Path) -> StudyResult:
    """Return the result of a stored form; raise `EnvironmentUnfitError` if its parts do not fit."""
    try:
        return read_form(stored)
    except _MISFITS as error:
        raise _unreadable(path, f"its parts do not fit together ({error!r:.80})") from error


@contextmanager
def consistent(*paths: Path | None) -> Iterator[None]:
    """Blame what was stored if working with it fails: its parts need not fit together.

    With ``HEADROOM_DEBUG=1`` the failure is raised as it is: it may be a defect of Headroom.
    """
    try:
        yield
    except _MISFITS as error:
        if is_debugging():
            raise
        names = ", ".join(str(path) for path in paths if path)
        raise EnvironmentUnfitError(
            f"the parts of the results in {names} do not fit together: {type(error).__name__}",
            cure="write results again from their journal (headroom report STUDY), a journal by a "
            "run; if that does not help, report it, with HEADROOM_DEBUG=1",
        ) from error


def _unreadable(path: Path, reason: str) -> EnvironmentUnfitError:
    return EnvironmentUnfitError(
        f"{path} is not a results file of this version: {reason}",
        cure="write it again from the journal: headroom report STUDY",
    )
