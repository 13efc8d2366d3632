"""What an answer depends on besides its data: the program, and the files that a study brings.

A stored answer may be used again only while all of this is the same. Files of the installed
package are compared by size and times, which change whenever a file is replaced; files of a study
are compared by content.

Invariant: an identity is equal only where nothing has changed; it may differ for no reason, which
costs time and nothing else.
"""

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.plan import Plan, PlannedExperiment
from headroom.experiment.plug_ins import other_packages
from headroom.experiment.system import HasCode

_LIBRARIES = ("numpy", "scipy", "msgspec")
"""Packages whose version may change a figure."""
_PACKAGE = Path(__file__).resolve().parents[1]
_NOT_CODE = (".md", ".rs", ".pyc")
_MOST_HASHED_BYTES = 1 << 24
"""Size up to which a file of a study is compared by content; a recorded trace may be larger."""

Stamp = tuple[int, int, int, int]
"""Size, inode and times (ns) of a file."""


def digest_of(content: Any) -> bytes:  # noqa: ANN401 - whatever can be written as MessagePack
    """Return 16 bytes that stand for any plain content.

    Examples
    --------
    >>> digest_of([1, "a"]) == digest_of((1, "a")), digest_of(1) == digest_of(1.0)
    (True, False)
    """
    encoded = msgspec.msgpack.encode(content, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=16).digest()


def stamp_of(path: Path) -> Stamp | None:
    """Return what changes when a file is written or replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


@cache
def program_identity() -> bytes:
    """Return the identity of this program: its own files, and the libraries that it counts with."""
    libraries = [_origin_of(name) for name in _LIBRARIES]
    folders = [_PACKAGE, *(_origin_of(name).parent for name in other_packages())]
    own = [(str(path), stamp_of(path)) for folder in folders for path in sorted(_files(folder))]
    return digest_of([sys.version, [(str(path), stamp_of(path)) for path in libraries], own])


def _origin_of(package: str) -> Path:
    spec = find_spec(package)
    return Path("" if spec is None or spec.origin is None else spec.origin)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a package that may change what it does: no tests, no texts."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(Path(entry.path))
            elif not entry.name.startswith("test_") and not entry.name.endswith(_NOT_CODE):
                yield Path(entry.path)


def study_files_identity(plan: Plan) -> bytes:
    """Return the identity of the files that a planned study read: its models, and what they import.

    Take it right after the plan: a file that is edited later is another one.
    """
    paths = {*_imported(), *(path for one in plan.experiments for path in _named(one))}
    return digest_of(sorted((str(path), _content(path)) for path in paths))


def _imported() -> Iterator[Path]:
    """Yield the files of all modules that neither the interpreter nor a package brought.

    The script that was called is none of them: it only calls.
    """
    installed = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name != "__main__" and not file.startswith((*installed, str(_PACKAGE))):
            yield Path(file)


def _named(experiment: PlannedExperiment) -> Iterator[Path]:
    """Yield the files that the set-up of a system names, and those of its code."""
    if isinstance(experiment.system, HasCode):
        yield from experiment.system.code_files()
    for text in _texts(msgspec.to_builtins(experiment.setup)):
        try:
            path = experiment.base / text
            if text and path.is_file():
                yield path
        except (OSError, ValueError):
            continue  # A text that no path can be.


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, Iterable):
        for one in value:
            yield from _texts(one)


def _content(path: Path) -> bytes:
    stamp = stamp_of(path)
    if stamp is None or stamp[0] > _MOST_HASHED_BYTES:
        return digest_of(stamp)
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""
