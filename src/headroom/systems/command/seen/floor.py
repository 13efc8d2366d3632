"""The floor where nothing is observed: libraries that programs link, and folders of packages."""

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headroom.errors import HeadroomError
from headroom.systems.command.plan import Words
from headroom.systems.command.study_tree import files_under

_PATHS = ("PYTHONPATH", "PERL5LIB", "RUBYLIB", "NODE_PATH", "CLASSPATH", "R_LIBS", "R_LIBS_USER",
          "LUA_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD")  # fmt: skip
"""Variables with folders, or files, of which programs load code."""
_ASSIGNED = re.compile(rf"\b({'|'.join(_PATHS)})=([^\s;'\"]+)")
_LIBRARY = re.compile(r"(?:=>|^)\s*(/\S+)", re.MULTILINE)
_LIMIT_S = 20.0
_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def libraries_of(program: Path) -> tuple[str, ...]:
    """Return the shared libraries that a program links, as the machine's own tool lists them."""
    try:
        with program.open("rb") as file:
            is_native = file.read(4) in _MAGIC
    except OSError:
        return ()
    return _listed(str(program)) if is_native else ()


@cache
def _listed(program: str) -> tuple[str, ...]:
    tool = ["otool", "-L"] if platform.system() == "Darwin" else ["ldd"]
    try:
        found = subprocess.run(
            [*tool, program], capture_output=True, text=True, timeout=_LIMIT_S, check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return ()
    return tuple(sorted({path for path in _LIBRARY.findall(found.stdout) if path != program}))


def packages_of(words: Words) -> Iterator[str]:
    """Yield the files of the folders in which interpreters look for packages."""
    texts = [f"{name}={words.environment.get(name, '')}" for name in _PATHS]
    texts += [word for argv in words.commands for word in argv]
    places = {
        place
        for text in texts
        for _, value in _ASSIGNED.findall(text)
        for place in value.split(os.pathsep)
        if place
    }
    for place in sorted(places):
        path = words.folder / place
        if path.is_file():
            yield str(path)
        elif path.is_dir():
            yield from _files_below(path)


def _files_below(folder: Path) -> Iterator[str]:
    try:
        names = list(files_under(folder))
    except HeadroomError:  # too many, or some that cannot be read: it is a floor
        return
    yield from (str(folder / name) for name in names)
