"""The inputs of a command: files of its study, programs and inputs of this machine.

Files in the study's folder are compared by content, wherever the folder is. Things that this
machine supplies (programs, interpreters of scripts, named files, `inputs` elsewhere, environment
variables) are identified by short hashes under their names, so that a difference can be named.

Invariant: the inputs are those of the last look, so that all points of a plan see the same state,
and ten thousand points cost one look.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from headroom.errors import StudyError
from headroom.experiment.machine.file_digests import is_regular
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.seeds import digest
from headroom.systems.command.plan import Words
from headroom.systems.command.study_tree import (
    StudyTree,
    files_under,
    hashed,
    is_ignored,
    study_tree,
)

ABSENT = "absent"
MOST_HASHED_BYTES = 256 * 2**20
"""A larger file outside the study counts by size and time of its last change."""
_MOST_INTERPRETERS = 5
_TOKEN = re.compile(r"[^\s;|&()<>'\"`$={},:]+")
_SYSTEM = ("/proc", "/sys", "/dev")


@dataclass(slots=True)
class Content:
    """The files and programs of a command, as the last look found them.

    Parameters
    ----------
    study
        Folder of the study.
    ignored
        Patterns of files that do not count.
    """

    study: Path
    ignored: Sequence[str] = ()
    _tree: StudyTree | None = None
    _seen: dict[object, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tree(self) -> StudyTree:
        """The files of the study."""
        if self._tree is None:
            self._tree = study_tree(self.study, self.ignored)
        return self._tree

    def look_again(self) -> tuple[str, ...]:
        """Forget earlier looks; return the study's files that have changed since."""
        before, self._tree = self._tree, None
        self._seen.clear()
        return () if before is None else before.changes(self.tree)

    def tree_digest(self) -> str:
        """Return one hash of the files of the study that count."""
        return self._once("tree", lambda: (digest(self.tree.files),))[0]

    def named_in_study(self, words: Words) -> list[str]:
        """Return documents of the study that the command names, with their hashes."""
        named: dict[str, None] = {}
        for path in self.paths(words):
            if self._is_own(path):
                named |= dict.fromkeys(self._documents_at(path))
        return sorted(named)

    def inputs_in_study(self, inputs: Sequence[str]) -> list[str]:
        """Return one hash for each input within the study."""
        return [f"{text}={self._input(text)}" for text in inputs if self._is_own(self._place(text))]

    def supplied(
        self, words: Words, inputs: Sequence[str], variables: Mapping[str, str | None]
    ) -> str:
        """Return the inputs from this machine: ``NAME=HASH`` for each program, input, variable."""
        hashes = {f"${name}": _short(value) for name, value in variables.items()}
        for text in inputs:
            if not self._is_own(self._place(text)):
                hashes[text] = self._input(text)
        for argv in words.commands:
            if _is_missing(argv[0], words):
                hashes[argv[0]] = ABSENT
        for path in self.paths(words):
            if not self._is_own(path) and not path.is_dir():
                hashes[str(path)] = self._file(path)
        return " ".join(f"{quote(name, safe='/$*?.+-')}={hashes[name]}" for name in sorted(hashes))

    def check_inputs(self, inputs: Sequence[str]) -> None:
        """Raise `StudyError` for an input that names nothing."""
        missing = next((text for text in inputs if self._input(text) == ABSENT), None)
        if missing is None:
            return
        place = self._place(missing)
        near = sorted(path.name for path in place.parent.glob("*")) if place.parent.is_dir() else []
        cure = "correct it in `inputs`; a path starts at the study's folder"
        raise StudyError(
            f"input {missing!r} names nothing: there is no {place}",
            cure=f"{cure}; {suggestion(place.name, near)}" if near else cure,
        )

    def _once(self, key: object, find: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        if key not in self._seen:
            self._seen[key] = find()
        return self._seen[key]

    def _is_own(self, path: Path) -> bool:
        return path.is_relative_to(self.study)

    def _place(self, text: str) -> Path:
        return Path(os.path.normpath(self.study / Path(text).expanduser()))

    def _input(self, text: str) -> str:
        """Return a short hash of all files that an input names."""
        return self._once(("input", text), lambda: (self._input_now(text),))[0]

    def _input_now(self, text: str) -> str:
        place = self._place(text)
        roots = [place] if place.exists() else _globbed(place)
        if not roots:
            return ABSENT
        hashes: dict[str, str] = {}
        for root in sorted(roots):
            name = os.path.relpath(root, place.parent)
            if root.is_dir():
                below = {
                    f"{name}/{relative}": root / relative
                    for relative in files_under(root, self.ignored)
                }
            else:
                below = {name: root}
            hashes |= {key: self._file(path) for key, path in below.items() if is_regular(path)}
        return digest(hashes, size_bytes=8)

    def _documents_at(self, path: Path) -> Iterator[str]:
        """Yield the documents that a path within the study names: itself, or those below."""
        relative = path.relative_to(self.study).as_posix()
        if relative == ".":
            return  # The whole folder is named by accident: as a working folder or a search path.
        for document in self.tree.documents:
            if document == relative or document.startswith(f"{relative}/"):
                yield f"{document}={self._file(self.study / document)}"

    def paths(self, words: Words) -> list[Path]:
        """Return all paths that the texts of a command name, interpreters of scripts too."""
        search = words.environment.get("PATH", os.defpath)
        texts = [word for argv in words.commands for word in argv]
        texts += [*words.own_environment.values(), str(words.stdin)]
        named: dict[str, None] = {}
        for text in texts:
            key = ("text", text, search, str(words.folder))
            names = self._once(key, lambda text=text: tuple(self._named(text, words)))  # type: ignore[misc]  # bound at once
            named |= dict.fromkeys(names)
        return [Path(name) for name in named]

    def _named(self, text: str, words: Words) -> Iterator[str]:
        for token in dict.fromkeys([text, *_TOKEN.findall(text)]):
            for path in self._resolved(token, words):
                yield from self._with_interpreters(path, words)

    def _resolved(self, token: str, words: Words) -> Iterator[Path]:
        """Yield the meanings of a word: a path from the working folder, or a program on PATH."""
        if not token or "\0" in token:
            return
        path = Path(os.path.normpath(words.folder / token))
        if _is_there(path) and not self._is_left_out(path):
            yield path
        if os.sep not in token:
            program = shutil.which(token, path=words.environment.get("PATH", os.defpath))
            if program is not None and not self._is_left_out(Path(program).absolute()):
                yield Path(program).absolute()

    def _is_left_out(self, path: Path) -> bool:
        if str(path).startswith(_SYSTEM):
            return True
        name = path.relative_to(self.study).as_posix() if self._is_own(path) else str(path)
        return is_ignored(name, self.ignored)

    def _with_interpreters(self, path: Path, words: Words) -> Iterator[str]:
        """Yield a path, and for a script the program that runs it, recursively."""
        for _ in range(_MOST_INTERPRETERS):
            yield str(path)
            line = _first_line(path)
            if not line.startswith("#!"):
                return
            parts = line[2:].split()
            names = [part for part in parts[1:] if not part.startswith("-") and "=" not in part]
            if parts and Path(parts[0]).name == "env" and names:
                yield parts[0]
                program = shutil.which(names[0], path=words.environment.get("PATH", os.defpath))
                if program is None:
                    return
                path = Path(program)
            elif parts:
                path = Path(parts[0])

    def _file(self, path: Path) -> str:
        """Return a short hash of a file; a very large one counts by size and time."""
        return self._once(("file", str(path)), lambda: (_file_digest(path),))[0]


def _is_missing(program: str, words: Words) -> bool:
    """Return whether a program is not there; one from the working folder on may come yet."""
    if os.sep in program:
        return Path(program).is_absolute() and not Path(program).exists()
    return shutil.which(program, path=words.environment.get("PATH", os.defpath)) is None


def _globbed(place: Path) -> list[Path]:
    root = Path(place.anchor)
    return list(root.glob(str(place.relative_to(root))))


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(256).decode(errors="replace").strip()
    except OSError:
        return ""


def _file_digest(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ABSENT
    if not is_regular(path):
        return "special"
    if status.st_size > MOST_HASHED_BYTES:
        return digest([status.st_size, status.st_mtime_ns], size_bytes=8)
    if not os.access(path, os.R_OK):  # a program may be run and not read
        return digest([status.st_size, status.st_mtime_ns, "unread"], size_bytes=8)
    return hashed(path)[:16]


def _short(value: str | None) -> str:
    return ABSENT if value is None else hashlib.sha256(os.fsencode(value)).hexdigest()[:16]
