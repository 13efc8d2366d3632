"""Folders that every machine has: one in memory and one on a disk, detected rather than guessed.

Invariant: the folder called memory is on a memory file system, and the one called a disk is not;
both are writable for this user.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.machine.machine_facts import ROOT, read_text
from headroom.experiment.machine.storage_facts import Mount, mount_of
from headroom.experiment.protocol.suggestions import suggestion

MEMORY_TYPES = frozenset({"tmpfs", "ramfs"})
MEMORY_VARIABLE = "HEADROOM_MEMORY"
"""Name of the variable that chooses the folder in memory, as TMPDIR chooses that on a disk."""
_PLACES = ("memory", "disk", "study")


def resolve(path: str, *, study: Path) -> Path:
    """Return the absolute path that a target's `path` means on this machine.

    Parameters
    ----------
    path
        Text of the study; may start with ``{memory}``, ``{disk}`` or ``{study}``. A relative path
        starts at the study.
    study
        Folder of the study.

    Raises
    ------
    StudyError
        The place has another name.
    EnvironmentUnfitError
        This machine has no such place.
    """
    if not path.startswith("{"):
        return study.absolute() / Path(path).expanduser()
    name, _, rest = path[1:].partition("}")
    if name not in _PLACES:
        raise StudyError(
            f"{path!r} starts at a place that does not exist", cure=suggestion(name, _PLACES)
        )
    start = {"memory": memory_folder, "disk": lambda: disk_folder(study), "study": study.absolute}
    return start[name]() / rest.lstrip("/")


def is_memory(folder: Path) -> bool:
    """Return whether a folder lies in memory."""
    mount = mount_of(folder)
    return mount is not None and mount.type in MEMORY_TYPES


def memory_folder() -> Path:
    """Return a writable folder in memory.

    It is the folder that `HEADROOM_MEMORY` names, else /dev/shm, else the memory file system with
    most space.
    """
    chosen = os.environ.get(MEMORY_VARIABLE)
    if chosen:
        return _checked(Path(chosen))
    usable = [folder for folder in _memory_folders() if _is_usable(folder)]
    if not usable:
        raise EnvironmentUnfitError(
            "this machine has no writable folder in memory for {memory}",
            cure="mount one (mount -t tmpfs tmpfs /mnt/memory), or name a path instead",
        )
    standard = Path("/dev/shm")  # noqa: S108 - the place itself is meant, no file in it
    return standard if standard in usable else max(usable, key=_free_bytes)


def _checked(folder: Path) -> Path:
    if not _is_usable(folder) or not is_memory(folder):
        raise EnvironmentUnfitError(
            f"{MEMORY_VARIABLE}={folder} is not a writable folder in memory with space left",
            cure="name a folder on a tmpfs, or unset the variable to use /dev/shm",
        )
    return folder


def disk_folder(study: Path) -> Path:
    """Return a writable folder on a disk: of temporary files, of caches, or the study's own."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in (Path(tempfile.gettempdir()), cache, study.absolute(), Path("/var/tmp")):  # noqa: S108 - as above
        mount = mount_of(folder)
        if _is_usable(folder) and mount is not None and _is_disk(mount):
            return folder.resolve()
    raise EnvironmentUnfitError(
        "{disk} needs a disk, but the folders of temporary files, of caches and of the study are "
        "not on one",
        cure="set TMPDIR to a folder on a disk, or name a path instead",
    )


def _memory_folders() -> Iterator[Path]:
    text = read_text(ROOT / "proc/self/mountinfo") or ""
    for line in text.splitlines():
        point = Path(line.split()[4].encode().decode("unicode_escape"))
        mount = mount_of(point)
        if mount is not None and mount.type in MEMORY_TYPES and mount.point == str(point):
            yield point


def _is_disk(mount: Mount) -> bool:
    return mount.type not in {*MEMORY_TYPES, "devtmpfs"} and not mount.is_network


def _is_usable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK) and _free_bytes(folder) > 0


def _free_bytes(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize
