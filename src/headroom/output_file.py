"""Files that Headroom writes: whole or not at all, and never over what cannot be made again.

Invariant: a path that a user named is a regular file, which is replaced by a rename, or an open
pipe, terminal or device that takes text, which is written to; anything else is refused.
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
_OWN_NAMES = re.compile(r"study\.toml|results\.json|journal\.sqlite.*|.*\.(py|toml|sqlite|cache)")
"""Names of files of studies and results: no output is of these kinds."""
_OWN_CONTENT = re.compile(rb'SQLite format 3\0|\s*\{\s*"format"\s*:\s*\d')
"""How a journal and stored results begin, whatever their names are."""
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@contextmanager
def output_file(path: Path | str, *, reads: Path | str | None = None) -> Iterator[TextIO]:
    r"""Open a file that a user named for an output; it appears when the block ends well.

    Links are followed. An existing file keeps its permissions.

    Parameters
    ----------
    path
        The file.
    reads
        A file that the output is made from, if there is one: the same path is refused.

    Raises
    ------
    HeadroomError
        The path is no file that may be replaced, or it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with output_file(Path(folder) / "rows.csv") as stream:
    ...         _ = stream.write("users\n")
    ...     (Path(folder) / "rows.csv").read_text()
    'users\n'
    >>> with output_file("study.toml") as stream:
    ...     pass
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: study.toml is a file of a study or of its results, not an output
      hint: name another file for the output
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
    """Write one of Headroom's own files, so that a reader finds the old content or the new one."""
    with _replaced(path) as stream:
        stream.buffer.write(content.encode() if isinstance(content, str) else content)


def check_output(path: Path | str, *, reads: Path | str | None = None) -> None:
    """Raise `StudyError` if an output at `path` would replace a file of a study or its results."""
    path = Path(path)
    with _refusals(path):
        found = _status(path)
        places = {path.absolute(), path.resolve()}
        is_file = found is not None and stat.S_ISREG(found.st_mode)
        what = ""
        if any(_OWN_NAMES.fullmatch(place.name) for place in places) or (
            is_file and _has_own_content(path)
        ):
            what = "a file of a study or of its results, not an output"
        elif found is not None and reads is not None and _is_same(Path(reads), found):
            what = "what the output is made from"
        elif is_file and (study := next(filter(None, map(_study_using, places)), None)):
            what = f"a file that the study in {study} uses, not an output"
    if what:
        raise StudyError(f"{path} is {what}", cure="name another file for the output")


def _status(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _has_own_content(path: Path) -> bool:
    with suppress(PermissionError), path.open("rb") as file:
        return _OWN_CONTENT.match(file.read(64)) is not None
    return False


def _is_same(path: Path, found: os.stat_result) -> bool:
    other = _status(path)
    return other is not None and os.path.samestat(other, found)


def _study_using(place: Path) -> Path | None:
    """Return the folder of the study around a file, if it is a page of it or its files name it."""
    folder = next((one for one in place.parents if (one / _STUDY).is_file()), None)
    if folder is None:
        return None
    texts = (file.read_text("utf-8", "replace") for file in (folder / _STUDY, *folder.glob("*.py")))
    name = re.compile(rf"""["'/]{re.escape(place.name)}["']""")
    is_used = place.suffix == ".md" or any(name.search(text) for text in texts)
    return folder if is_used else None


def _text(descriptor: int) -> TextIO:
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


def _in_place(path: Path) -> int | None:
    """Return a descriptor of what is written to in place; None for a file, or where nothing is.

    A file that is this program's own output is one too: the shell has opened it, to append or not.
    """
    found = _status(path)
    if found is None:
        return None
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(number)):
                sys.stdout.flush()
                return os.dup(number)
    if (named := _DESCRIPTOR.fullmatch(str(path))) is not None:
        return os.dup(int(named[1]))
    if stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode):
        return os.open(path, os.O_WRONLY | os.O_NOCTTY)
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device or a socket"
        raise StudyError(f"{path} is {kind}", cure="name a file for the output")
    if not os.access(path, os.W_OK):
        raise PermissionError(0, "it is write-protected", str(path))
    return None


@contextmanager
def _replaced(target: Path) -> Iterator[TextIO]:
    """Open a draft beside a file, which takes the file's place when the block ends well."""
    draft = target.with_name(f".headroom-{secrets.token_hex(8)}")
    found = _status(target)
    descriptor = os.open(draft, _NEW, 0o666)
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
