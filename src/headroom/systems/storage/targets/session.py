"""State of targets between the runs of a session: laid-out files, folders for files.

All systems of a process share one `Session`, so a file that ten experiments read is laid out once.
It is removed when the session ends, in any way; `leftovers` handles what a kill leaves behind.

Invariants: a file is used again only if size and content are those requested, and if no other
process changed it. A folder that could not be emptied in time is never used again.
"""

import atexit
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headroom.errors import EnvironmentUnfitError
from headroom.recording.leftovers import DATA, POOL, OwnFolder, clean_up, make_folder
from headroom.systems.storage.targets.laying_out import check_space, lay_out
from headroom.systems.storage.targets.patience import SILENCE_S, NoAnswerError, Progress, within
from headroom.systems.storage.targets.places import is_memory

_REMOVAL_S = 10.0
"""Longest wait (s) for the removal of a pool: the engine has deleted its files."""


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Files as a run needs them: in a folder, of one size each, with content."""

    parent: Path
    size: int
    count: int
    compressible_share: float
    reserve: int


@dataclass(slots=True, eq=False)
class Session:
    """Folders and files of this process on its targets."""

    say: Callable[[str], None] = _silent
    _folders: dict[Path, OwnFolder] = field(default_factory=dict)
    """Headroom's folders by the real path of their parent."""
    _real: dict[Path, Path] = field(default_factory=dict)
    """Real paths, looked up once: a place that does not answer cannot give its own."""
    _laid_out: dict[Wanted, list[Path]] = field(default_factory=dict)
    _numbers: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Device and inode of each file that was laid out."""
    confirmed: dict[str, str] = field(default_factory=dict)
    """The targets found when these words were requested from the user."""
    blank: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Places that held nothing and places that were read, of targets that were there."""
    _left: list[OwnFolder] = field(default_factory=list)
    """Folders in which a call has not returned. Their locks stay closed: no process treats them as
    leftovers while this process may be in a call there."""
    _made_count: int = 0

    def start(self, say: Callable[[str], None]) -> tuple[str, ...]:
        """Remember where to report slow steps, and remove the remains of killed runs.

        Returns one sentence for each thing that was removed.
        """
        self.say = say
        atexit.register(self.end)
        try:
            return within(SILENCE_S, clean_up, what="a place where an earlier run left files")
        except EnvironmentUnfitError as error:
            return (f"{error.message}; the files stay until a later run",)

    def files(self, wanted: Wanted, *, progress: Progress | None = None) -> list[Path]:
        """Return the requested files, laid out now or earlier; `progress` shows how far it is.

        Raises
        ------
        EnvironmentUnfitError
            They do not fit, or cannot be written.
        """
        laid_out = self._laid_out.get(wanted)
        if laid_out is not None and all(_is_whole(path, wanted.size) for path in laid_out):
            return laid_out
        for path in self._laid_out.pop(wanted, ()):
            path.unlink(missing_ok=True)
        self._make_room(wanted)
        folder = self._own(wanted.parent).path
        self._made_count += 1
        paths = [folder / f"{DATA}{self._made_count}-{number}" for number in range(wanted.count)]
        for number, path in enumerate(paths):
            self._numbers[path] = lay_out(
                path,
                size=wanted.size,
                seed=number + 1,
                compressible_share=wanted.compressible_share,
                say=self.say,
                progress=progress,
            )
        self._laid_out[wanted] = paths
        return paths

    def number_of(self, path: Path) -> tuple[int, int]:
        """Return device and inode of a file that was laid out."""
        return self._numbers[path]

    @contextmanager
    def pool(self, parent: Path, *, silence_s: float = SILENCE_S) -> Iterator[Path]:
        """Make an empty folder for files that come and go; it is gone again afterwards.

        Raises
        ------
        EnvironmentUnfitError
            It cannot be made, or the file system has not answered for `silence_s` (s).
        """
        own = within(silence_s, lambda: self._own(parent), what=str(parent))
        folder = own.path / POOL
        within(silence_s, lambda: _make_empty(folder), what=str(folder))
        try:
            yield folder
        finally:
            self._remove_pool(own, folder, seconds=min(_REMOVAL_S, silence_s))

    def claim(self, parent: Path) -> None:
        """Make Headroom's own folder in `parent` now, so that obstacles show early."""
        self._own(parent)

    def leave(self, parent: Path) -> None:
        """Never use our folder in `parent` again: a call there has not returned."""
        own = self._folders.pop(self._real.get(parent, parent), None)
        if own is None:
            return
        self._left.append(own)
        for wanted, paths in list(self._laid_out.items()):
            if paths[0].parent == own.path:
                del self._laid_out[wanted]

    def end(self) -> tuple[str, ...]:
        """Remove everything; a second call does nothing.

        Returns one sentence for each folder that could not be removed.
        """
        self._laid_out.clear()
        while self._folders:
            _, folder = self._folders.popitem()
            try:
                within(SILENCE_S, folder.remove, what=str(folder.path))
            except EnvironmentUnfitError:
                self._left.append(folder)
        atexit.unregister(self.end)
        words = "could not be removed: it does not answer; a later run removes it"
        return tuple(f"{folder.path} {words}" for folder in self._left)

    def _own(self, parent: Path) -> OwnFolder:
        real = self._real[parent] = self._real.get(parent) or parent.resolve()
        if real in self._folders and not self._folders[real].path.is_dir():
            # It was removed by another process: only its place in the list is left.
            self._folders.pop(real).remove()
        if real not in self._folders:
            clean_up(real)
            self._folders[real] = make_folder(real)
        return self._folders[real]

    def _remove_pool(self, own: OwnFolder, folder: Path, *, seconds: float) -> None:
        """Remove a pool; if that does not end in time, the thread that removes it keeps it."""
        try:
            within(seconds, lambda: shutil.rmtree(folder, ignore_errors=True), what=str(folder))
        except NoAnswerError:
            self.leave(own.path.parent)

    def _make_room(self, wanted: Wanted) -> None:
        """Check that the files fit; other files of Headroom in the same space go first."""
        needed = wanted.size * wanted.count
        try:
            check_space(wanted.parent, needed=needed, reserve=wanted.reserve)
        except EnvironmentUnfitError:
            others = (
                earlier for earlier in self._laid_out if _share_space(earlier.parent, wanted.parent)
            )
            other = next(others, None)
            if other is None:
                raise
            self.say(f"removing files in {other.parent}: those of the next run need their space")
            for path in self._laid_out.pop(other):
                path.unlink(missing_ok=True)
            self._make_room(wanted)


def _share_space(path: Path, other: Path) -> bool:
    """Return whether removal in one place frees space in the other."""
    return path.stat().st_dev == other.stat().st_dev or (is_memory(path) and is_memory(other))


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _is_whole(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


SESSION = Session()
"""The session of this process."""
