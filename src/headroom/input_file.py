"""Files that others wrote: read whole, within limits that hold before a byte is read.

Invariant: only a regular file is opened, at most `most_bytes` of it are held, and no JSON is
decoded that is nested deeper than `MAX_DEPTH`; anything else is refused in one line.
See docs/background/formats.md for what is read within which limits.
"""

import os
import re
import stat
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from headroom.errors import EnvironmentUnfitError, StudyError

MAX_TEXT_BYTES = 16 << 20
"""Of what people write: a study file of 10,000 experiments has 2 MB."""
MAX_DATA_BYTES = 512 << 20
"""Of what programs write: results, pages, recorded runs, the output of a benchmark."""
MAX_DEPTH = 100
"""Of lists and tables in each other; results of Headroom have fewer than 20."""

_Content = TypeVar("_Content")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b'"[]{}')
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")


class MissingFileError(StudyError):
    """Nothing is at the path."""


class MalformedError(StudyError):
    """The content of a file is not what its format says."""


def read_file(path: Path, *, most_bytes: int = MAX_DATA_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    MissingFileError
        There is nothing at the path.
    StudyError
        It is not a regular file, or larger than `most_bytes`, also if it grew meanwhile.
    EnvironmentUnfitError
        The operating system refuses to read it.
    """
    try:
        # Before it is opened: that waits for the writer of a FIFO, or does something to a device.
        check_regular(path, most_bytes=most_bytes)
        # It may be another one now, so it is opened without waiting, and looked at again.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            _check(path, os.fstat(descriptor), most_bytes)
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise EnvironmentUnfitError(
            f"cannot read {path}: {error.strerror}", cure="make the file readable for you"
        ) from error
    if len(content) > most_bytes:
        raise _too_large(path, f"more than {most_bytes:,} bytes", most_bytes)
    return content


def read_text(path: Path, *, most_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of a regular file in UTF-8, without a byte order mark; see `read_file`."""
    content = read_file(path, most_bytes=most_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedError(
            f"{path} is not UTF-8 text (byte {error.start})", cure="save the file as UTF-8"
        ) from error


def check_regular(path: Path, *, most_bytes: int | None = None) -> None:
    """Raise unless a path leads to a regular file, of at most so many bytes if that is given.

    Raises
    ------
    HeadroomError
        As `read_file` does.
    """
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # a name with a NUL
        raise MissingFileError(f"{path}: no such file", cure="correct the name") from error
    except OSError as error:
        raise EnvironmentUnfitError(
            f"cannot read {path}: {error.strerror}", cure="make the file readable for you"
        ) from error
    _check(path, state, most_bytes)


def _check(path: Path, state: os.stat_result, most_bytes: int | None) -> None:
    if not stat.S_ISREG(state.st_mode):
        kind = next((name for is_it, name in _KINDS if is_it(state.st_mode)), "not a file")
        raise StudyError(f"{path} is {kind}, not a regular file", cure="name a regular file")
    if most_bytes is not None and state.st_size > most_bytes:
        raise _too_large(path, f"{state.st_size:,} bytes", most_bytes)


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _too_large(path: Path, size: str, most_bytes: int) -> StudyError:
    return StudyError(
        f"{path} has {size}; at most {most_bytes:,} are read",
        cure="name the file that was meant, or split it",
    )


def decode_json(content: bytes | str, where: object, *, type: type[_Content]) -> _Content:  # noqa: A002 - as msgspec names it
    """Return what a JSON text holds.

    Parameters
    ----------
    content
        The text.
    where
        Its file, and line, for the message.
    type
        What it must be.

    Raises
    ------
    MalformedError
        It is not JSON of this type, or nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> decode_json('{"a": [1, "[["]}', "a.json", type=dict[str, list[int | str]])
    {'a': [1, '[[']}
    """
    if is_deep(content):
        raise MalformedError(
            f"{where}: lists or tables are nested deeper than {MAX_DEPTH}",
            cure="give the file as the program wrote it",
        )
    try:
        return msgspec.json.decode(content, type=type)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise MalformedError(f"{where}: {error}", cure="give the whole file") from error


def is_deep(content: bytes | str) -> bool:
    """Return whether the brackets of a JSON text are nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> is_deep("[" * 101), is_deep("[" * 100 + "]" * 100), is_deep('"' + "[" * 101 + '"')
    (True, False, False)
    """
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    unescaped = re.sub(rb"\\.", b"", raw, flags=re.DOTALL) if b"\\" in raw else raw
    # Between quotes nothing counts; what is left is worn down, from the inside, level by level.
    outside = b"".join(unescaped.translate(None, _NO_BRACKETS).split(b'"')[::2])
    brackets = outside.translate(_AS_SQUARE)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return brackets.count(b"[") > MAX_DEPTH or b"[]" in brackets


def unpack(packed: bytes, *, most_bytes: int = MAX_DATA_BYTES) -> bytes:
    """Return what zlib or gzip packed, without unpacking more than `most_bytes`.

    Raises
    ------
    zlib.error
        It is damaged, cut off, or larger.
    """
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: either header
    content = unpacking.decompress(packed, most_bytes + 1)
    if not unpacking.eof or len(content) > most_bytes:
        raise zlib.error("cut off, or too large")
    return content
