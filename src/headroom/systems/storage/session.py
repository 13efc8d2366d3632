"""What targets keep from run to run of one session: files that were laid out, folders for files.

All systems of a process share one `Session`, so that a file that ten experiments read is laid out
once. It is removed when the session ends, whichever way; see `leftovers` for what a kill leaves.

Invariant: a file is used again only where size and content are those that are asked for, and where
nobody else changed it.
"""

import atexit
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headroom.errors import EnvironmentUnfitError
from headroom.systems.storage.laying_out import check_space, lay_out
from headroom.systems.storage.leftovers import DATA, POOL, OwnFolder, clean_up, make_folder


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Files as a run wants them: in a folder, of a size each, with a content."""

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
    _laid_out: dict[Wanted, list[Path]] = field(default_factory=dict)
    _made_count: int = 0

    def start(self, say: Callable[[str], None]) -> None:
        """Remember whom to tell, and remove what earlier runs that were killed have left."""
        self.say = say
        for sentence in clean_up():
            say(sentence)
        atexit.register(self.end)

    def files(self, wanted: Wanted) -> list[Path]:
        """Return files as they are wanted, laid out now or earlier.

        Raises
        ------
        EnvironmentUnfitError
            They do not fit, or cannot be written.
        """
        found = self._laid_out.get(wanted)
        if found is not None and all(_is_whole(path, wanted.size) for path in found):
            return found
        for path in self._laid_out.pop(wanted, ()):
            path.unlink(missing_ok=True)
        self._make_room(wanted)
        folder = self._folder(wanted.parent)
        self._made_count += 1
        paths = [folder / f"{DATA}{self._made_count}-{number}" for number in range(wanted.count)]
        for number, path in enumerate(paths):
            lay_out(
                path,
                size=wanted.size,
                seed=number + 1,
                compressible_share=wanted.compressible_share,
                say=self.say,
            )
        self._laid_out[wanted] = paths
        return paths

    @contextmanager
    def pool(self, parent: Path) -> Iterator[Path]:
        """Make an empty folder for files that come and go; it is empty again afterwards."""
        folder = self._folder(parent) / POOL
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def end(self) -> None:
        """Remove everything; a second call does nothing."""
        self._laid_out.clear()
        while self._folders:
            _, folder = self._folders.popitem()
            folder.remove()
        atexit.unregister(self.end)

    def _folder(self, parent: Path) -> Path:
        real = parent.resolve()
        if real not in self._folders:
            clean_up(real)
            self._folders[real] = make_folder(real)
        return self._folders[real].path

    def _make_room(self, wanted: Wanted) -> None:
        """Check that the files fit; those of other sizes in the same folder go first."""
        needed = wanted.size * wanted.count
        try:
            check_space(wanted.parent, needed=needed, reserve=wanted.reserve)
        except EnvironmentUnfitError:
            others = [one for one in self._laid_out if one.parent == wanted.parent]
            if not others:
                raise
            for path in self._laid_out.pop(others[0]):
                path.unlink(missing_ok=True)
            self._make_room(wanted)


def _is_whole(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


SESSION = Session()
"""The session of this process."""
