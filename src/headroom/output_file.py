"""Files that Headroom writes: whole or not at all, and never over what cannot be made again.

Invariant: a path that a user named is a regular file, which is replaced by a rename, or a pipe,
terminal or other device of characters, which is written to; anything else is refused.
"""

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from headroom.errors import EnvironmentUnfitError, StudyError

_STUDY = "study.toml"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf")
_OWN_NAMES = re.compile(r"results\.json|journal\.sqlite.*|.*\.(py|toml|sqlite|cache)")
_OWN_CONTENT = re.compile(rb'SQLite format 3\0|\s*\{\s*"format"\s*:\s*\d')
"""How a journal and stored results begin, whatever their names are."""


@contextmanager
def output_file(path: Path | str, *, reads: Path | str = "") -> Iterator[TextIO]:
    """Open a file that a user named for an output; it is there when the block ends well.

    Links are followed, and an existing file keeps its permissions. `reads` is a file that the
    output is made from.

    Raises
    ------
    HeadroomError
        What is there may not be replaced, or cannot be written.
    """
    path = Path(path)
    check_output(path, reads=reads)
    with ExitStack() as stack:
        with _refusals(path):
            descriptor = _in_place(path)
            opened = _replaced(path.resolve()) if descriptor is None else _text(descriptor)
            stream = stack.enter_context(opened)
        yield stream


def write_output(path: Path | str, content: str | bytes) -> None:
    """Write a file that a user named for an output; see `output_file`."""
    with output_file(path) as stream:
        stream.buffer.write(content.encode() if isinstance(content, str) else content)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file of Headroom's own, so that a reader finds all of the old or the new content."""
    with _replaced(path) as stream:
        stream.buffer.write(content.encode() if isinstance(content, str) else content)


def csv_cell(value: object) -> object:
    """Return a cell of CSV that no spreadsheet takes for a formula; numbers stay numbers.

    Examples
    --------
    >>> [csv_cell(value) for value in ("=1+1", "@now", "-5", -5.0, "a=b")]
    ["'=1+1", "'@now", '-5', -5.0, 'a=b']
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    return value if _NUMBER.fullmatch(value) else f"'{value}"


def check_output(path: Path | str, *, reads: Path | str = "") -> None:
    """Raise `StudyError` if an output at `path` would replace a file of a study or its results."""
    path = Path(path)
    with _refusals(path):
        found = _status(path)
        what = _kept_at(path, path.resolve(), found)
        source = _status(Path(reads)) if reads else None
        if found is not None and source is not None and os.path.samestat(source, found):
            what = "what the output is made from"
    if what:
        raise StudyError(f"{path} is {what}", cure="name another file for the output")


def _kept_at(path: Path, target: Path, found: os.stat_result | None) -> str:
    """Return which file of a study or of its results is at a path, as text."""
    own, places = "a file of a study or of its results", (path.absolute(), target)
    if any(_OWN_NAMES.fullmatch(place.name) for place in places):
        return own
    if found is None or not stat.S_ISREG(found.st_mode):
        return ""
    with suppress(PermissionError), target.open("rb") as file:
        if _OWN_CONTENT.match(file.read(64)):
            return own
    study = next(filter(None, map(_study_using, places)), None)
    return f"a file of the study in {study}" if study else ""


def _study_using(place: Path) -> Path | None:
    """Return the folder of the study around a file, if it is a text on it, or its files name it."""
    folder = next((one for one in place.parents if (one / _STUDY).is_file()), None)
    if folder is None or place.suffix == ".md":
        return folder
    name = re.compile(rf"""["'/]{re.escape(place.name)}["']""")
    files = (folder / _STUDY, *folder.glob("*.py"))
    return folder if any(name.search(one.read_text("utf-8", "replace")) for one in files) else None


def _status(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _in_place(path: Path) -> int | None:
    """Return a descriptor of what is written to in place; None for a file, or if nothing is there.

    A file that is this program's own output is one too: the shell opened it, to append or not.
    """
    if (found := _status(path)) is None:
        return None
    named = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    for number in [int(named[1])] if named else [1, 2]:
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(number)):
                sys.stdout.flush()
                return os.dup(number)
    if stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode):
        return os.open(path, os.O_WRONLY | os.O_NOCTTY)
    if not stat.S_ISREG(found.st_mode):
        raise StudyError(f"{path} is not a file", cure="name a file for the output")
    if not os.access(path, os.W_OK):
        raise PermissionError(0, "it is write-protected")
    return None


def _text(descriptor: int) -> TextIO:
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


@contextmanager
def _replaced(target: Path) -> Iterator[TextIO]:
    """Open a draft next to a file, which takes the file's place when the block ends well."""
    found = _status(target)
    draft = target.with_name(f".headroom-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with _text(descriptor) as stream:
            if found is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, found.st_uid, found.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
            yield stream
            stream.flush()
            os.fsync(descriptor)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Turn a refusal of the operating system into an error that names the user's path."""
    try:
        yield
    except FileNotFoundError as error:
        raise StudyError(
            f"{path} cannot be written: its folder does not exist",
            cure=f"create the folder first: mkdir -p {path.resolve().parent}",
        ) from error
    except OSError as error:
        raise EnvironmentUnfitError(
            f"{path} cannot be written: {error.strerror}",
            cure="name another file, or make this one and its folder writable",
        ) from error
