"""Current uses of a device or a file, as the kernel reports them: no data are overwritten.

A device is in use if it or a partition of it is mounted, used for swap, held by a volume or backs a
loop device. A file is in use if it is used for swap, locked, or backs a loop device. A disk with
partitions and a member of a volume group are also in use, even while idle.

Invariant: reads only. A use that the kernel does not report is not a use.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from headroom.experiment.machine.machine_facts import ROOT, read_text
from headroom.experiment.machine.storage_facts import mount_of

_OCTAL = re.compile(rb"\\([0-7]{3})")
"""How the kernel writes spaces in names."""
_DELETED = " (deleted)"
BLOCK_BYTES = 512
"""Unit in which the kernel counts what a file has."""


def device_uses(number: tuple[int, int], root: Path = ROOT) -> Iterator[str]:
    """Yield the users of a block device, its partitions included; nothing if it is free.

    Parameters
    ----------
    number
        Its device number, major and minor.
    root
        Root of the file system, for tests.
    """
    folder = (root / "sys/dev/block" / _text(number)).resolve()
    partitions = [entry for entry in _entries(folder) if (entry / "partition").exists()]
    for member in (folder, *partitions):
        own = read_text(member / "dev") or _text(number)
        name = member.name
        yield from (f"{name} is mounted on {point}" for point in _mount_points(own, root))
        yield from (f"{name} is used by {holder.name}" for holder in _entries(member / "holders"))
        if own in _swapped_devices(root):
            yield f"{name} is swap space in use"
        yield from (
            f"{name} is the ground of {loop}" for loop in _loops_on(root / "dev" / name, root)
        )
    if partitions:
        names = ", ".join(partition.name for partition in partitions)
        yield f"{folder.name} has partitions ({names})"


def file_uses(path: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield the users of an ordinary file; nothing if it is free.

    Parameters
    ----------
    path
        Its real path.
    root
        Root of the file system, for tests.
    """
    yield from (f"{path.name} is the ground of {loop}" for loop in _loops_on(path, root))
    state = path.stat()
    if (state.st_dev, state.st_ino) in _swapped_files(root):
        yield f"{path.name} is swap space in use"
    yield from _locks(path, state, root)


def allocated_below(number: tuple[int, int], root: Path = ROOT) -> int | None:
    """Return the bytes that the file below a loop device has, None for any other device."""
    ground = read_text(root / "sys/dev/block" / _text(number) / "loop/backing_file")
    try:
        state = None if ground is None else Path(ground.removesuffix(_DELETED)).stat()
    except OSError:
        return None
    is_file = state is not None and stat.S_ISREG(state.st_mode)
    return state.st_blocks * BLOCK_BYTES if state is not None and is_file else None


def _loops_on(path: Path, root: Path) -> Iterator[str]:
    """Yield the loop devices backed by a path, with their mount points."""
    for loop in _entries(root / "sys/block"):
        ground = read_text(loop / "loop/backing_file")
        if ground is None or not _is_same(Path(ground.removesuffix(_DELETED)), path):
            continue
        points = _mount_points(read_text(loop / "dev") or "", root)
        yield f"{loop.name}, mounted on {points[0]}" if points else loop.name


def _is_same(path: Path, other: Path) -> bool:
    try:
        first, second = path.stat(), other.stat()
    except OSError:
        return path == other
    if stat.S_ISBLK(first.st_mode) and stat.S_ISBLK(second.st_mode):
        return first.st_rdev == second.st_rdev
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _locks(path: Path, state: os.stat_result, root: Path) -> Iterator[str]:
    """Yield the locks and leases that other processes have on a file.

    The kernel names them by the device of the file system, which on Btrfs is not that of the file.
    """
    mount = mount_of(path, root)
    numbers = {_text((os.major(state.st_dev), os.minor(state.st_dev)))}
    numbers |= set() if mount is None else {mount.device}
    files = {f"{_in_hexadecimal(number)}:{state.st_ino}" for number in numbers if ":" in number}
    for line in (read_text(root / "proc/locks") or "").splitlines():
        words = line.split()
        if "->" in words or len(words) < 6 or words[5] not in files:  # noqa: PLR2004 - as proc(5) has it
            continue
        if words[4] != str(os.getpid()):
            yield f"{path.name} is locked by process {words[4]} ({words[1].lower()})"


def _in_hexadecimal(number: str) -> str:
    major, _, minor = number.partition(":")
    return f"{int(major):02x}:{int(minor):02x}"


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _mount_points(number: str, root: Path) -> list[str]:
    """Return where a device is mounted, by its number and, for Btrfs, by its name."""
    name = (root / "sys/dev/block" / number).resolve().name
    points = []
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        left, right = before.split(), after.split()
        if left[2] == number or (len(right) > 1 and right[1] == f"/dev/{name}"):
            points.append(left[4])
    return points


def _swaps(root: Path) -> Iterator[os.stat_result]:
    for line in (read_text(root / "proc/swaps") or "").splitlines()[1:]:
        name = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), os.fsencode(line.split()[0]))
        try:
            yield os.stat(name)  # noqa: PTH116 - as the kernel writes it
        except OSError:
            continue


def _swapped_devices(root: Path) -> set[str]:
    devices = (state for state in _swaps(root) if stat.S_ISBLK(state.st_mode))
    return {_text((os.major(state.st_rdev), os.minor(state.st_rdev))) for state in devices}


def _swapped_files(root: Path) -> set[tuple[int, int]]:
    files = (state for state in _swaps(root) if stat.S_ISREG(state.st_mode))
    return {(state.st_dev, state.st_ino) for state in files}


def _text(number: tuple[int, int]) -> str:
    return f"{number[0]}:{number[1]}"
