"""Everything except data that affects an answer: this program and the files that it finds.

A stored answer may be reused only while all of this is unchanged. Files of the installed package
are compared by size and times, which change whenever a file is replaced.

Invariant: an identity is equal only if nothing has changed; it may differ for no reason, which only
costs time. Loads nothing slow: a kept answer should appear at once.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import time_ns
from typing import Any

import msgspec

from headroom.experiment.protocol.plug_ins import other_packages

_LIBRARIES = ("numpy", "scipy", "msgspec")
"""Packages whose version may change a result."""
PACKAGE = Path(__file__).resolve().parents[2]
"""Folder of the installed program."""
_NOT_CODE = (".md", ".rs", ".pyc")
_PORTABLE = (".py", ".toml", ".json")
"""Endings of files that are the same on every platform."""
_SETTLED_NS = 50_000_000
"""Age (ns) from which the times of a file reveal every later change: clocks of files are coarse."""

Stamp = tuple[int, int, int, int]
"""Size, inode and times (ns) of a file."""


def digest_of(content: Any) -> bytes:  # noqa: ANN401 - whatever can be written as MessagePack
    """Return 16 bytes that represent any plain content.

    Examples
    --------
    >>> digest_of([1, "a"]) == digest_of((1, "a")), digest_of(1) == digest_of(1.0)
    (True, False)
    """
    encoded = msgspec.msgpack.encode(content, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).digest()


def stamp_of(path: Path) -> Stamp | None:
    """Return a stamp that changes when a file is written or replaced; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def journal_stamp(journal: Path) -> Stamp | None:
    """Return a stamp of the journal; None if it is being written, or was just now."""
    log = stamp_of(journal.with_name(journal.name + "-wal"))
    if log is not None and log[0]:
        return None
    return settled_stamp(journal)


def settled_stamp(path: Path) -> Stamp | None:
    """Return a stamp that changes with a file; None if it is absent, or changed just now."""
    stamp = stamp_of(path)
    if stamp is None or time_ns() - max(stamp[2:]) < _SETTLED_NS:
        return None
    return stamp


@cache
def program_identity() -> bytes:
    """Return the identity of this program: its own files, and the libraries that it counts with."""
    libraries = [_origin_of(name) for name in _LIBRARIES]
    folders = [PACKAGE, *(_origin_of(name).parent for name in other_packages())]
    own = [(str(path), stamp_of(path)) for folder in folders for path in sorted(_files(folder))]
    return digest_of([sys.version, [(str(path), stamp_of(path)) for path in libraries], own])


def _origin_of(package: str) -> Path:
    spec = find_spec(package)
    return Path("" if spec is None or spec.origin is None else spec.origin)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a package that may change its behaviour: no tests, no texts."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(Path(entry.path))
            elif not entry.name.startswith("test_") and not entry.name.endswith(_NOT_CODE):
                yield Path(entry.path)


@cache
def code_digests() -> dict[str, str]:
    """Return a hash of the Python code and data of this program and of each plug-in, by package.

    Unlike `program_identity` it is equal on two machines that have the same code installed.
    Compiled modules differ by platform and are left out.
    """
    folders = {"headroom": PACKAGE, **{n: _origin_of(n).parent for n in other_packages()}}
    return {name: _code_digest(folder) for name, folder in folders.items()}


def _code_digest(folder: Path) -> str:
    files = (path for path in _files(folder) if path.suffix in _PORTABLE)
    kept = sorted(path for path in files if path.name != "conftest.py")
    content = [(str(path.relative_to(folder)), path.read_bytes()) for path in kept]
    return digest_of(content).hex()
