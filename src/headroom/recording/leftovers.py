"""Folders that Headroom creates on a target, their marks, and the leftovers of a killed run.

Headroom announces its folder in a list of this user before creating it. The folder carries a mark,
which is locked as long as its process lives. The lock disappears when the process dies, so a later
run recognises leftovers. It removes a folder only if all proofs agree: the mark holds the same
secret word as the list or as the name of the folder, the lock is free, and the mark was made on
this machine by this user.

Invariant: only files that the mark names are removed, inside a folder that this module made; other
files there stay, and are named.
"""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headroom.errors import EnvironmentUnfitError

PREFIX = "headroom-storage-"
MARK = "made-by-headroom.json"
POOL = "pool"
"""Subfolder for the files of PostMark: Headroom owns everything in it."""
DATA = "data-"
"""Beginning of the names of files that are laid out."""
_DRAFT = ".draft"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the mark of a folder."""

    format: int
    token: str
    folder: str
    pid: int
    machine: str
    user: int


@dataclass(slots=True)
class OwnFolder:
    """A folder that this process made and removes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     own = make_folder(Path(place), state=Path(place) / "state")
    ...     before = own.path.is_dir()
    ...     own.remove()
    ...     before, own.path.exists()
    (True, False)
    """

    path: Path
    listed: Path
    locks: list[int]
    """Descriptors of the mark and of its place in the list, locked as long as they are open."""
    token: str
    """Secret word in the name of the folder and in its mark."""

    def remove(self) -> None:
        """Remove everything that was made; a second call does nothing."""
        if not self.locks:
            return
        _remove(self.path)
        self.listed.unlink(missing_ok=True)
        while self.locks:
            os.close(self.locks.pop())


def state_folder() -> Path:
    """Return where this user's list of folders is kept: `$XDG_STATE_HOME/headroom/storage`."""
    start = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(start) / "headroom" / "storage"


def make_folder(parent: Path, *, state: Path | None = None, prefix: str = PREFIX) -> OwnFolder:
    """Make Headroom's own folder in `parent`, listed and marked.

    Raises
    ------
    EnvironmentUnfitError
        The list cannot be written, or the folder cannot be made.
    """
    token = secrets.token_hex(8)
    path = parent.resolve() / f"{prefix}{token}"
    mark = Mark(
        format=1,
        token=token,
        folder=str(path),
        pid=os.getpid(),
        machine=this_machine(),
        user=os.getuid(),
    )
    content = msgspec.json.encode(mark)
    listed = (state or state_folder()) / f"{token}.json"
    locks = [_announce(listed, content)]
    try:
        path.mkdir(mode=0o700)
        locks.append(_write_locked(path / MARK, content))
    except OSError as error:
        with suppress(OSError):
            path.rmdir()
        listed.unlink(missing_ok=True)
        os.close(locks[0])
        raise EnvironmentUnfitError(
            f"no folder can be made in {parent}: {error.strerror}",
            cure="name another folder, free some space, or change its permissions",
        ) from error
    return OwnFolder(path, listed, locks, token)


def clean_up(
    *places: Path, state: Path | None = None, first: Callable[[str], None] = lambda _: None
) -> tuple[str, ...]:
    """Remove what runs that were killed left behind; returns one sentence for each.

    Parameters
    ----------
    places
        Folders to examine, in addition to those of this user's list.
    state
        Folder of the list.
    first
        Called with the token of each folder before its removal, to end what still uses it.
    """
    list_folder = state or state_folder()
    said: list[str] = []
    for listed in sorted(list_folder.glob("*.json")) if list_folder.is_dir() else []:
        mark = _read_mark(listed)
        if mark is not None:
            said += _clean(Path(mark.folder), mark.token, listed, first)
    for place in places:
        for folder in sorted(place.glob(f"{PREFIX}*")) if place.is_dir() else []:
            said += _clean(folder, folder.name.removeprefix(PREFIX), None, first)
    return tuple(said)


def this_machine() -> str:
    """Return the identity of this machine among others that may see the same files."""
    with suppress(OSError):
        if name := Path("/etc/machine-id").read_text(encoding="utf-8").strip():
            return name
    return os.uname().nodename


def _announce(listed: Path, content: bytes) -> int:
    try:
        listed.parent.mkdir(parents=True, exist_ok=True)
        return _write_locked(listed, content)
    except OSError as error:
        raise EnvironmentUnfitError(
            f"the list of what Headroom makes cannot be written ({listed.parent}): "
            f"{error.strerror}",
            cure="set XDG_STATE_HOME to a writable folder; without the list, files of a killed run "
            "would never be removed",
        ) from error


def _write_locked(path: Path, content: bytes) -> int:
    """Write a new file and lock it; returns its descriptor.

    It is locked under a name that no process looks for, so that none ever sees it unlocked.
    """
    draft = path.with_name(path.name + _DRAFT)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o600)
    os.write(descriptor, content)
    _try_lock(descriptor)
    draft.rename(path)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    """Return whether the mark could be locked: then no other process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # It is in use, or there are no locks here, so that nothing is proved.
    return True


def _read_mark(path: Path) -> Mark | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return msgspec.json.decode(file.read(65_536), type=Mark)
    except (OSError, msgspec.DecodeError):
        return None


def _clean(
    folder: Path, token: str, listed: Path | None, first: Callable[[str], None]
) -> Iterator[str]:
    """Remove one folder if everything proves that Headroom made it and no process uses it."""
    if listed is not None and not folder.exists():
        if folder.parent.exists():  # else it may be on a disk that is not attached now
            listed.unlink(missing_ok=True)
        return
    mark = _read_mark(folder / MARK)
    is_folder = folder.is_dir() and not folder.is_symlink()
    was_begun = mark is None and listed is not None and is_folder and not _strangers(folder)
    if was_begun and listed is not None:
        yield from _removed_if_free(folder, listed, listed, first)
    elif mark is not None and _is_ours(mark, folder, token):
        yield from _removed_if_free(folder, folder / MARK, listed, first)


def _removed_if_free(
    folder: Path, locked: Path, listed: Path | None, first: Callable[[str], None]
) -> Iterator[str]:
    """Remove a folder whose lock is free: its process is gone."""
    descriptor = os.open(locked, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _try_lock(descriptor):
            first(folder.name.rpartition("-")[2])
            yield from _removed(folder, listed)
    finally:
        os.close(descriptor)


def _is_ours(mark: Mark, folder: Path, token: str) -> bool:
    return (
        mark.token == token
        and folder.name.rpartition("-")[2] == token
        and not folder.is_symlink()
        and mark.machine == this_machine()
        and mark.user == os.getuid() == folder.stat().st_uid
    )


def _removed(folder: Path, listed: Path | None) -> Iterator[str]:
    states = [file.lstat() for file in folder.rglob("*") if file.name != MARK]
    size = sum(state.st_size for state in states if stat.S_ISREG(state.st_mode))
    strangers = _remove(folder)
    if listed is not None:
        listed.unlink(missing_ok=True)
    yield f"removed {folder}, which a run that was killed left behind ({size} bytes)"
    if strangers:
        names = ", ".join(strangers)
        yield f"left alone in {folder}, because Headroom did not make it: {names}"


def _strangers(folder: Path) -> list[str]:
    """Return the names in a folder that Headroom did not make."""
    names = (entry.name for entry in folder.iterdir())
    return sorted(
        n for n in names if n not in {MARK, MARK + _DRAFT, POOL} and not n.startswith(DATA)
    )


def _remove(folder: Path) -> list[str]:
    """Remove Headroom's files in a folder, and the folder if nothing else is left in it."""
    if not folder.is_dir() or folder.is_symlink():
        return []
    strangers = _strangers(folder)
    for entry in sorted(folder.iterdir()):
        if entry.name == POOL and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name not in {MARK, *strangers} and (entry.is_symlink() or entry.is_file()):
            entry.unlink(missing_ok=True)  # a link alone, never what it points to
    # The mark is removed last: if killed on the way, the next run still knows the folder.
    for name in (MARK + _DRAFT, MARK):
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
    return strangers
