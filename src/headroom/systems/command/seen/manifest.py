"""What a command was seen to depend on: names with hashes, made once and compared ever after.

A name is a path, a folder's path with a final slash (its entries), or ``$VARIABLE``; paths in the
study's folder begin with ``{study}``. What was written while the command ran is kept by name only,
so that no other command of the study counts it as an input either.

Invariant: a file of which nothing changed has the same hash, whatever became of its times.
"""

import fnmatch
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, unquote

from headroom.experiment.machine.file_digests import digest_of_file
from headroom.experiment.study.seeds import digest
from headroom.recording.launching.observer import Look, Report
from headroom.systems.command.seen import variables
from headroom.systems.command.study_tree import LEFT_BEHIND, is_ignored

Hashes: TypeAlias = Mapping[str, str]

ABSENT = "absent"
WRITTEN = "written"
_SENTENCE = "?"
"""Name of the sentence for the reader."""
_STUDY = "{study}"
_PSEUDO = ("/proc/", "/sys/", "/dev/", "/run/", "/var/run/")
_DERIVED = ("/etc/ld.so.cache",)
"""An index: what is found through it counts itself."""
_TEMPORARY = tuple(dict.fromkeys(["/tmp", "/var/tmp", tempfile.gettempdir()]))  # noqa: S108 - listings of them never count
_MOST_HASHED_BYTES = 4 * 2**30
_TICK_NS = 2_000_000_000
"""A file that changed more recently may change again within the same time stamp."""


def encoded(hashes: Hashes, sentence: str = "") -> str:
    """Return hashes as one text.

    Examples
    --------
    >>> text = encoded({"$A": "1f", "/a b": "2e"}, "observed: 1 file")
    >>> text, sentence_of(text), decoded(text)
    ('$A=1f /a%20b=2e ?=observed%3A%201%20file', 'observed: 1 file', {'$A': '1f', '/a b': '2e'})
    """
    words = [f"{_quoted(name)}={hashes[name]}" for name in sorted(hashes)]
    return " ".join([*words, f"{_SENTENCE}={quote(sentence)}"] if sentence else words)


def decoded(text: str) -> dict[str, str]:
    """Return the hashes of a text."""
    words = dict(word.rpartition("=")[::2] for word in text.split())
    return {unquote(name): value for name, value in words.items() if name not in {"", _SENTENCE}}


def sentence_of(text: str) -> str:
    """Return what a text says to the reader."""
    last = text.rpartition(f" {_SENTENCE}=")
    return unquote(last[2]) if last[1] else ""


def _quoted(name: str) -> str:
    return quote(name, safe="/$*.+-{}")


@dataclass(slots=True)
class Files:
    """The files outside of the study's fingerprint that commands were seen to use.

    Parameters
    ----------
    study
        Folder of the study.
    ignored, ignored_variables
        Patterns of what does not count.
    counted
        Whether a relative path of the study counts already.
    """

    study: Path
    ignored: Sequence[str]
    ignored_variables: Sequence[str]
    counted: Callable[[str], bool]
    _known: dict[str, tuple[Look, str]] = field(default_factory=dict)

    def hashes(self, reports: Iterable[Report], *, scratch: Path, since_ns: int) -> dict[str, str]:
        """Return what the programs of these reports read.

        Parameters
        ----------
        reports
            What was seen.
        scratch
            Their temporary folder.
        since_ns
            Start of all that belongs to the run: what changed since was written by it.
        """
        hashes: dict[str, str] = {}
        for report in reports:
            for path, (_, look) in report.paths.items():
                name = self._name(path, look)
                if name is None or not self.counts(name, scratch):
                    continue
                before = look if not path.endswith(".pyc") else Look.at(name)
                if is_written(before, Look.at(name), since_ns):
                    hashes[self._entry(name)] = WRITTEN
                else:
                    hashes.setdefault(self._entry(name), self.hash_of(name))
        return hashes

    def _name(self, path: str, look: Look | None) -> str | None:
        """Return the path for which a used one stands; None if its kind never counts."""
        is_folder = look is not None and stat.S_ISDIR(look.mode)
        if look is not None and not is_folder and not stat.S_ISREG(look.mode):
            return None
        if path.endswith(".pyc") and os.path.exists(source := _source_of(path)):  # noqa: PTH110
            path = source  # compiled anew whenever it changes
        path = os.path.realpath(path) if ".." in path else os.path.normpath(path)
        is_own = path == str(self.study) or self._inner(path) is not None  # its files count
        return None if is_folder and (is_own or path in (*_TEMPORARY, "/")) else path

    def counts(self, path: str, scratch: Path = Path("/nowhere")) -> bool:
        """Return whether a path counts, and not within the fingerprint already."""
        real = os.path.realpath(path)
        if any(one.startswith(_PSEUDO) or one in _DERIVED for one in (path, real)):
            return False
        temporary = (f"{scratch}/", f"{tempfile.gettempdir()}/headroom-")
        if path == str(scratch) or path.startswith(temporary):
            return False
        inner = self._inner(path)
        if inner is None:
            return not is_ignored(path, self.ignored)
        is_left = any(
            fnmatch.fnmatchcase(part, pattern)
            for part in inner.split("/")
            for pattern in LEFT_BEHIND
        )
        is_result = inner.split("/")[0] == "results"
        return not (is_left or is_result or self.counted(inner) or is_ignored(inner, self.ignored))

    def _inner(self, path: str) -> str | None:
        """Return a path relative to the study; None outside of it."""
        place = Path(path)
        return (
            place.relative_to(self.study).as_posix() if place.is_relative_to(self.study) else None
        )

    def _shown(self, path: str) -> str:
        inner = self._inner(path)
        return path if inner is None else f"{_STUDY}/{inner}"

    def _entry(self, path: str) -> str:
        return f"{self._shown(path)}/" if Path(path).is_dir() else self._shown(path)

    def hash_of(self, name: str) -> str:
        """Return the present hash of a name, as far as it is a path."""
        path = name.replace(_STUDY, str(self.study), 1) if name.startswith(_STUDY) else name
        look = Look.at(path)
        if look is None:
            return ABSENT
        known = self._known.get(path)
        if known is not None and known[0] == look:
            return known[1]
        found = self._read(path, look)
        if look == Look.at(path) and time.time_ns() - max(look[3:5]) > _TICK_NS:
            self._known[path] = (look, found)
        return found

    def _read(self, path: str, look: Look) -> str:
        try:
            if stat.S_ISDIR(look.mode):
                return _listing(path)
            if not stat.S_ISREG(look.mode):
                return "special"
            if look.size <= _MOST_HASHED_BYTES:
                return digest_of_file(Path(path))[:16]
        except OSError:
            pass  # what may be run and not read counts by its times
        return digest([look.size, look.changed_ns], size_bytes=8)

    def changes(self, hashes: Hashes, now: Hashes) -> list[str]:
        """Return the names of what differs now, given the present hashes of variables."""
        before = {
            name: value
            for name, value in hashes.items()
            if name[0] == "$" and not variables.is_ignored(name, self.ignored_variables)
        }
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        changed += [
            name
            for name, value in hashes.items()
            if name[0] != "$" and value != WRITTEN and value != self.hash_of(name)
        ]
        return [name for name in changed if not self._is_left_out(name)]

    def _is_left_out(self, name: str) -> bool:
        path = name.removeprefix(f"{_STUDY}/").rstrip("/")
        return name[0] != "$" and is_ignored(path, self.ignored)


def is_written(before: Look | None, now: Look | None, since_ns: int) -> bool:
    """Return whether a file changed during a run that began at `since_ns`.

    Parameters
    ----------
    before, now
        How it looked before its first use and after the run; None if it was not there.
    """
    return before != now or (now is not None and now.touched_ns >= since_ns)


def sentence(reports: Sequence[Report], hashes: Hashes, unseen: Sequence[str] = ()) -> str:
    """Return what was observed and what was not, for the reader."""
    paths = [name for name, value in hashes.items() if name[0] != "$" and value != WRITTEN]
    programs = {
        path for report in reports for path, (kind, _) in report.paths.items() if kind == "x"
    }
    folders = [name for name in paths if name.endswith("/")]
    absent = [name for name in paths if hashes[name] == ABSENT]
    rest = [name for name in paths if name not in {*folders, *absent, *programs}]
    libraries = [name for name in rest if is_library(name)]
    counts = {
        "file": len(rest) - len(libraries),
        "library": len(libraries),
        "program": len(programs),
        "folder": len(folders),
        "absent file": len(absent),
    }
    notes = "".join(report.notes for report in reports)
    return f"observed: {counted(counts)}; {_unseen(notes, unseen)}"


def counted(counts: Mapping[str, int]) -> str:
    """Return counts as text.

    Examples
    --------
    >>> counted({"file": 3, "library": 1, "folder": 0})
    '3 files, 1 library'
    """
    plural = {"library": "libraries"}
    texts = [
        f"{n} {name if n == 1 else plural.get(name, f'{name}s')}" for name, n in counts.items() if n
    ]
    return ", ".join(texts) or "nothing"


def is_library(path: str) -> bool:
    """Return whether a path is that of a shared library."""
    name = os.path.basename(path)  # noqa: PTH119 - a text, of thousands
    return name.endswith((".so", ".dylib")) or ".so." in name


def _unseen(notes: str, others: Sequence[str]) -> str:
    meanings = {
        "n": "network used, not seen",
        "u": "files opened by io_uring not seen",
        "b": "files of 32-bit programs not seen",
        "c": "files within other file systems not seen",
    }
    said = [text for letter, text in meanings.items() if letter in notes]
    said += [f"{other} not seen" for other in others]
    return "; ".join(said if "n" in notes else ["no network", *said])


def _listing(path: str) -> str:
    names = os.listdir(path)  # noqa: PTH208 - names alone
    kept = (n for n in names if not any(fnmatch.fnmatchcase(n, one) for one in LEFT_BEHIND))
    return digest(sorted(kept), size_bytes=8)


def _source_of(compiled: str) -> str:
    """Return the Python source of a compiled file.

    Examples
    --------
    >>> _source_of("/a/__pycache__/b.cpython-311.opt-1.pyc"), _source_of("/a/b.pyc")
    ('/a/b.py', '/a/b.py')
    """
    folder, name = os.path.split(compiled)
    if os.path.basename(folder) != "__pycache__":  # noqa: PTH119 - a text, of thousands
        return compiled[:-1]
    return os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")  # noqa: PTH118, PTH120
