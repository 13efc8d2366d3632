"""The files of a study's folder that a command may depend on, and the hash of each.

All files count except results, study files, documents, and files created by version control,
editors and interpreters. Documents (README, *.md ...) describe a study and are written after its
run, so they count only if the command names them.

Invariant: the hashes depend on names and contents alone, not on the location of the folder.
"""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from headroom.errors import StudyError
from headroom.experiment.machine.file_digests import digest_of_file, is_regular
from headroom.experiment.study.paths import JOURNAL_NAME, STUDY_NAME

MOST_FILES = 20_000
MOST_BYTES = 4 * 2**30
LEFT_BEHIND = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "*.pyc",
    ".*_cache",
    ".DS_Store",
    "*~",
    ".*.sw?",
    ".#*",
    "#*#",
)
_DOCUMENTS = ("*.md", "*.rst", "*.adoc", "README*", "LICENSE*", "CHANGELOG*", "NOTICE*")
_EXPERIMENT = re.compile(rb"^\s*\[\[\s*experiment\s*\]\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StudyTree:
    """The result of a look at a study's folder.

    Parameters
    ----------
    files
        Relative path to hash, of the files that count.
    documents
        Relative paths of documents, which count if they are named.
    """

    files: dict[str, str] = field(default_factory=dict)
    documents: tuple[str, ...] = ()

    def changes(self, later: "StudyTree") -> tuple[str, ...]:
        """Return the files that a later look finds changed, new or gone."""
        names = {**self.files, **later.files}
        return tuple(
            sorted(name for name in names if self.files.get(name) != later.files.get(name))
        )


def study_tree(study: Path, ignored: Sequence[str]) -> StudyTree:
    """Examine a study's folder.

    Raises
    ------
    StudyError
        The folder holds too much to be hashed, or a file that cannot be read.
    """
    paths = [path for path in files_under(study, ignored) if not _is_study_file(study / path)]
    documents = tuple(sorted(path for path in paths if _is_document(path)))
    counted = sorted(set(paths) - set(documents))
    _check_size(study, counted)
    return StudyTree({path: hashed(study / path) for path in counted}, documents)


def hashed(path: Path) -> str:
    """Return the hash of a relevant file, or of nothing if it has vanished meanwhile."""
    try:
        return digest_of_file(path)
    except FileNotFoundError:
        return "absent"
    except OSError as error:
        raise StudyError(
            f"{path} counts as part of the study, but cannot be read: {error.strerror}",
            cure="make it readable, or name it in `ignore`",
        ) from error


def files_under(folder: Path, ignored: Sequence[str] = ()) -> Iterator[str]:
    """Yield the relative paths of all regular files under a folder that are not left over.

    Raises
    ------
    StudyError
        There are too many.
    """
    walked = _walk(folder, PurePosixPath(), ignored, seen=set())
    for count, relative in enumerate(walked):
        if count == MOST_FILES:
            raise StudyError(
                f"{folder} holds more than {MOST_FILES:,} files, which would all be hashed",
                cure="give the study its own folder, or list irrelevant files in `ignore`",
            )
        yield relative


def is_ignored(relative: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern matches a path, one of its folders, or the bare name of one.

    An absolute path, of a file outside the study, is matched in whole only.

    Examples
    --------
    >>> [is_ignored("out/a.csv", [one]) for one in ("out/", "*.csv", "out/*.txt", "/out")]
    [True, True, False, False]
    """
    path = PurePosixPath(relative)
    places = [place for place in (path, *path.parents) if place.name]
    return any(
        fnmatch.fnmatchcase(place.as_posix(), pattern)
        or (not path.is_absolute() and fnmatch.fnmatchcase(place.name, pattern))
        for pattern in (given.rstrip("/") for given in patterns)
        for place in places
    )


def _walk(
    root: Path, inner: PurePosixPath, ignored: Sequence[str], *, seen: set[str]
) -> Iterator[str]:
    folder = root / inner
    place = os.path.realpath(folder)
    if place in seen:
        return
    seen.add(place)
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StudyError(
            f"{folder} counts as part of the study, but cannot be read: {error.strerror}",
            cure="make it readable, or name it in `ignore`",
        ) from error
    for entry in entries:
        relative = inner / entry.name
        is_left = any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in LEFT_BEHIND)
        if is_left or is_ignored(relative.as_posix(), ignored):
            continue
        if entry.is_dir():
            if not _is_results(root, relative):
                yield from _walk(root, relative, ignored, seen=seen)
        elif is_regular(Path(entry.path)):
            yield relative.as_posix()


def _is_results(root: Path, relative: PurePosixPath) -> bool:
    if relative.name != "results":
        return False
    own = len(relative.parts) == 1
    return own or (root / relative / JOURNAL_NAME).exists()


def _is_document(relative: str) -> bool:
    name = PurePosixPath(relative).name
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _DOCUMENTS)


def _is_study_file(path: Path) -> bool:
    """Return whether a file is a study: its relevant parts are already part of each point."""
    if path.name == STUDY_NAME:
        return True
    if path.suffix != ".toml":
        return False
    try:
        return _EXPERIMENT.search(path.read_bytes()) is not None
    except OSError:
        return False


def _check_size(study: Path, relatives: Sequence[str]) -> None:
    size_bytes = 0
    for relative in relatives:
        try:
            size_bytes += (study / relative).stat().st_size
        except OSError:
            continue
    if size_bytes > MOST_BYTES:
        raise StudyError(
            f"the files of {study} take {size_bytes / 2**30:.1f} GiB, more than the "
            f"{MOST_BYTES / 2**30:g} GiB that are hashed to notice a change",
            cure="keep large data outside and name it in `inputs`, or name it in `ignore`",
        )
