"""Cache of point answers, in one file next to the journal that can be deleted at any time.

Invariant: what comes out was put in by this program under this very key. A file that is damaged,
of another version, or cannot be written is passed over: the answers are found again.
"""

import hashlib
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec

from headroom.errors import HeadroomError
from headroom.input_file import read_file, unpack

_MAGIC = b"headroom answers 1\n"
_DIGEST_BYTES = 16
_LEVEL = 1


class KeptAnswers:
    """Encoded answers by their keys.

    Parameters
    ----------
    path
        The file; None keeps nothing.

    Examples
    --------
    >>> kept = KeptAnswers(None)
    >>> kept.put(b"key", b"answer")
    >>> kept.get(b"key"), kept.get(b"another key")
    (b'answer', None)
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._old = {} if path is None else _read(path)
        self._used: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the answer of this key, None if there is none."""
        packed = self._old.get(key) or self._used.get(key)
        if packed is None:
            return None
        self._used[key] = packed
        return unpack(packed)

    def __contains__(self, key: bytes) -> bool:
        """Return whether there is an answer of this key."""
        return key in self._old or key in self._used

    def put(self, key: bytes, answer: bytes) -> None:
        """Keep an answer."""
        self._used[key] = zlib.compress(answer, _LEVEL)

    def save(self) -> None:
        """Write the answers requested or added since the file was read; drop all others."""
        if self._path is None or self._used.keys() == self._old.keys():
            return
        write_sealed(self._path, _MAGIC, msgspec.msgpack.encode(self._used))


def _read(path: Path) -> dict[bytes, bytes]:
    content = read_sealed(path, _MAGIC)
    if content is None:
        return {}
    try:
        return msgspec.msgpack.decode(content, type=dict[bytes, bytes])
    except (msgspec.MsgspecError, RecursionError):
        return {}


def read_sealed(path: Path, magic: bytes) -> bytes | None:
    """Return the data of `write_sealed`, None if the file is missing, damaged or another one."""
    try:
        content = read_file(path)
    except HeadroomError:
        return None
    start = len(magic) + _DIGEST_BYTES
    if content[: len(magic)] != magic or content[len(magic) : start] != _seal(content[start:]):
        return None
    return content[start:]


def write_sealed(path: Path, magic: bytes, content: bytes) -> None:
    """Write a file of which a reader notices any damage; one that cannot be written is left out."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(magic + _seal(content) + content)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _seal(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
