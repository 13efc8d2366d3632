"""Safety of user data: checks before a target is opened.

Rules. A target in use is never written to (`uses`): mounted, used for swap, held by a volume,
partitioned, a member of a volume group, locked by a process. Writing to any other device, and to a
file that already existed, requires a confirmation typed by the user that names the target and its
size. Nothing is ever created below /dev except on a memory file system mounted there, so a mistyped
name never becomes a file.

Invariant: a descriptor that may write belongs to a target that passed these checks, and to the
very device that was checked.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.machine.machine_facts import ROOT, read_text
from headroom.experiment.machine.shell import one_spaced, quoted
from headroom.experiment.machine.storage_facts import mount_of
from headroom.systems.storage.targets.device_facts import device_marks
from headroom.systems.storage.targets.places import MEMORY_TYPES
from headroom.systems.storage.targets.signatures import LVM, in_words, signatures_of
from headroom.systems.storage.targets.uses import (
    BLOCK_BYTES,
    allocated_below,
    device_uses,
    file_uses,
)

OVERWRITE = "--overwrite"
"""The option of `headroom run` that takes the typed words."""

_OF_KERNEL = frozenset({
    "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "mqueue",
    "proc", "pstore", "securityfs", "sysfs", "tracefs",
})  # fmt: skip
"""File systems whose files are not files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """A device or a file that was there before, and what speaks against writing to it.

    Parameters
    ----------
    path
        Its real path, links followed.
    size_bytes
        Its size (B).
    number
        Its identity, whatever its name: device number, or device and inode of a file.
    is_device
        Whether it is a block device.
    uses
        Its current uses; nothing may write to it then.
    contents
        The content found on it.
    is_read_only
        Whether the device or the file system refuses writes; the kernel may open a device for them
        nevertheless.
    marks
        What distinguishes it from another at the same path tomorrow, or a second later.
    is_own
        Whether Headroom made it.
    allocated_bytes
        Bytes (B) that have a place on the device, if known: reads of others are answered with
        zeros, and the device is not asked.
    """

    path: Path
    size_bytes: int
    number: tuple[int, int]
    is_device: bool
    uses: tuple[str, ...]
    contents: tuple[str, ...]
    is_read_only: bool = False
    marks: str = ""
    is_own: bool = False
    allocated_bytes: int | None = None

    @property
    def words(self) -> str:
        """The text that the user must type."""
        return f"{self.path} {self.size_bytes}"


def examine_device(path: Path, root: Path = ROOT) -> Existing:
    """Return the identity and content of a block device; opens it for reading only.

    Raises
    ------
    EnvironmentUnfitError
        There is no such device, it is not a block device, or it cannot be read.
    """
    real = _real(path, "block device")
    _check_block_device(path, real.stat())  # Opening a pipe may block indefinitely.
    descriptor = _open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        state = os.fstat(descriptor)
        _check_block_device(path, state)
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if size == 0:
            raise EnvironmentUnfitError(
                f"the block device {path} has no size: nothing is attached or inserted",
                cure="attach it first, or name another",
            )
        contents = signatures_of(descriptor, size)
    except OSError as error:
        raise EnvironmentUnfitError(
            f"the block device {path} cannot be read: {error.strerror}",
            cure="check it with `dmesg`; a device that fails here is not a target",
        ) from error
    finally:
        os.close(descriptor)
    number = (os.major(state.st_rdev), os.minor(state.st_rdev))
    return Existing(
        path=real,
        size_bytes=size,
        number=number,
        is_device=True,
        uses=(*device_uses(number, root), *([f"it is {LVM}"] if LVM in contents else [])),
        contents=contents,
        is_read_only=read_text(root / "sys/dev/block" / _text(number) / "ro") == "1",
        marks=_marks(number, size, root),
        allocated_bytes=allocated_below(number, root),
    )


def _marks(number: tuple[int, int], size_bytes: int, root: Path = ROOT) -> str:
    return " ".join([_text(number), str(size_bytes), *device_marks(number, root)])


def _check_block_device(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISBLK(state.st_mode):
        raise EnvironmentUnfitError(
            f"{path} is not a block device", cure="name one that `lsblk --paths` lists"
        )


def examine_file(path: Path) -> Existing:
    """Return the facts about an ordinary file; see `examine_device`."""
    real = _real(path, "file")
    state = real.stat()
    if not stat.S_ISREG(state.st_mode):
        raise EnvironmentUnfitError(
            f"{path} is neither a folder nor an ordinary file",
            cure='name another, or write kind = "block_device" for a device',
        )
    return Existing(
        path=real,
        size_bytes=state.st_size,
        number=(state.st_dev, state.st_ino),
        is_device=False,
        uses=tuple(file_uses(real)),
        contents=("a file that Headroom did not make",),
        is_read_only=bool(os.statvfs(real).f_flag & os.ST_RDONLY),
        marks=f"{state.st_dev} {state.st_ino}",
        allocated_bytes=state.st_blocks * BLOCK_BYTES,
    )


def examine_own_file(path: Path, number: tuple[int, int]) -> Existing:
    """Return the facts about a file that Headroom made, and that must still be that very file.

    Parameters
    ----------
    path
        Its path when it was made; no link is followed.
    number
        Device and inode that it got.

    Raises
    ------
    EnvironmentUnfitError
        Something else is there now: a link, another file, or a second name of one.
    """
    state = path.lstat()
    is_same = stat.S_ISREG(state.st_mode) and (state.st_dev, state.st_ino) == number
    if not is_same or state.st_nlink != 1:
        raise EnvironmentUnfitError(
            f"{path} is no longer the file that Headroom made there; nothing is written to it",
            cure="find out which program changes the folder, then run again",
        )
    return Existing(
        path=path,
        size_bytes=state.st_size,
        number=number,
        is_device=False,
        uses=(),
        contents=(),
        is_own=True,
    )


def open_existing(target: Existing, *, is_written: bool, direct: bool) -> int:
    """Open the examined target, and nothing else: never makes a file, never follows a link.

    A device that is to be written is opened exclusively: the kernel then refuses to mount it, and
    refuses to open a mounted device.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_DIRECT if direct else 0)
    flags |= os.O_RDWR if is_written else os.O_RDONLY
    if is_written and target.is_device:
        flags |= os.O_EXCL
    descriptor = _open(target.path, flags)
    try:
        _check_same(target, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_writable(target: Existing) -> None:
    """Refuse to write to a target that is in use or read-only, whatever the user typed.

    Raises
    ------
    EnvironmentUnfitError
        Nothing may be written there.
    """
    if target.uses:
        raise EnvironmentUnfitError(
            f"{target.path} is in use and is never written to: {in_words(target.uses)}",
            cure="unmount or detach it first, or name another target",
        )
    if target.is_read_only:
        raise EnvironmentUnfitError(
            f"{target.path} is read-only, and the workload writes",
            cure="take a workload that only reads, or another target",
        )


def check_allowed(target: Existing, typed: Iterable[str], *, command: str = "headroom run") -> None:
    """Refuse to write to a target that is in use, or that the user has not named.

    Parameters
    ----------
    target
        The target.
    typed
        What the user typed behind `OVERWRITE`, at this very call of the command.
    command
        That command.

    Raises
    ------
    EnvironmentUnfitError
        Writing is refused; the message holds the words to type, if they would allow it.
    """
    check_writable(target)
    if not any(one_spaced(words) == target.words for words in typed):
        raise unconfirmed(target, command)


def unconfirmed(target: Existing, command: str = "headroom run") -> HeadroomError:
    """Return the refusal to write to an unconfirmed target, with the words to type."""
    holds = f" It holds {in_words(target.contents)}." if target.contents else ""
    return EnvironmentUnfitError(
        f"the workload would overwrite {target.path}.{holds}",
        cure=f"to allow it, add {OVERWRITE} {quoted(target.words)} to `{command}`",
    )


def check_confirmed(target: Existing, marks: str | None) -> None:
    """Refuse a target other than the confirmed one, even with the same name and size.

    Parameters
    ----------
    target
        The current content.
    marks
        Marks of the content when the words were taken; None if there was none.

    Raises
    ------
    EnvironmentUnfitError
        It was exchanged.
    """
    if marks is not None and marks != target.marks:
        raise EnvironmentUnfitError(
            f"{target.path} is not what was confirmed: another device or file of the same size is "
            f"there now ({target.marks}; confirmed was {marks})",
            cure="check which device this is, and confirm it again",
        )


def check_may_create(folder: Path) -> None:
    """Refuse to make files in a folder that does not exist, is none, or belongs to devices.

    Raises
    ------
    EnvironmentUnfitError
        Nothing may be made there.
    """
    if not folder.exists():
        raise EnvironmentUnfitError(
            f"folder or file {folder} not found",
            cure="correct the path, or create the folder; Headroom does not create it",
        )
    if not folder.is_dir():
        raise EnvironmentUnfitError(f"{folder} is not a folder", cure="name a folder")
    real = folder.resolve()
    mount = mount_of(real)
    is_own = mount is not None and mount.type in MEMORY_TYPES and mount.point != "/dev"
    is_of_kernel = mount is not None and mount.type in _OF_KERNEL
    is_below = any(real.is_relative_to(place) for place in ("/sys", "/proc"))
    if is_of_kernel or is_below or (real.is_relative_to("/dev") and not is_own):
        raise EnvironmentUnfitError(
            f"{folder} is a place of devices or of the kernel, where Headroom makes no files",
            cure='write kind = "block_device" for a device; check its name with `lsblk --paths`',
        )
    if not os.access(real, os.W_OK | os.X_OK):
        raise EnvironmentUnfitError(
            f"{folder} cannot be written to: it is read-only, or not yours",
            cure=_NOT_EVEN_ROOT
            if os.geteuid() == 0
            else "name another folder, or change its permissions",
        )


def _text(number: tuple[int, int]) -> str:
    return f"{number[0]}:{number[1]}"


def _real(path: Path, what: str) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise EnvironmentUnfitError(
            f"there is no {what} {path}",
            cure="check the name; `lsblk --paths` lists the block devices of this machine",
        ) from error


_ALLOWED = "run as root, or join the group that may use it (often `disk`)"
_NOT_EVEN_ROOT = (
    "root is refused as well: it may be immutable (`lsattr`, `chattr -i`), or its file system, a "
    "server or a container forbids it; or name another target"
)
_CURES = {
    errno.EACCES: _ALLOWED,
    errno.EPERM: _ALLOWED,
    errno.EROFS: "it is read-only: take a workload that only reads, or another target",
    errno.EBUSY: "it is mounted or held by another program: unmount or detach it first",
    errno.EINVAL: 'it does not allow direct access: set direct = "no"',
    errno.ENXIO: "nothing is attached to it; check with `lsblk --paths`",
    errno.ENOMEDIUM: "insert a medium",
    errno.ELOOP: "its last part is a symbolic link; name what it leads to",
}


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags)
    except OSError as error:
        raise _unopened(path, error) from error


def _unopened(path: Path, error: OSError) -> HeadroomError:
    if error.errno in {errno.EACCES, errno.EPERM} and os.geteuid() == 0:
        return EnvironmentUnfitError(
            f"{path} cannot be opened: {error.strerror}", cure=_NOT_EVEN_ROOT
        )
    return EnvironmentUnfitError(
        f"{path} cannot be opened: {error.strerror}",
        cure=_CURES.get(error.errno or 0, "check it with another program, for example dd"),
    )


def _check_same(target: Existing, state: os.stat_result) -> None:
    if target.is_device:
        number = (os.major(state.st_rdev), os.minor(state.st_rdev))
        is_same = stat.S_ISBLK(state.st_mode) and number == target.number
        is_same = is_same and _marks(number, target.size_bytes) == target.marks
    else:
        is_same = stat.S_ISREG(state.st_mode) and (state.st_dev, state.st_ino) == target.number
        is_same = is_same and not (target.is_own and state.st_nlink != 1)
    if not is_same:
        raise StudyError(
            f"{target.path} became another device or file while it was checked",
            cure="run again when nothing changes there",
        )
