"""The kernel's facts about the file system and the device below a target.

Facts that cannot be read are absent; none is guessed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from headroom.experiment.machine.machine_facts import ROOT, read_int, read_text
from headroom.experiment.machine.storage_facts import mount_of
from headroom.quantities import format_quantity
from headroom.systems.storage.targets.places import MEMORY_TYPES

SECTOR_BYTES = 512
_LIMITS = {
    "scheduler": "scheduler",
    "nr_requests": "queue depth",
    "max_sectors_kb": "largest request (KiB)",
    "write_cache": "write cache",
    "logical_block_size": "logical block (B)",
    "physical_block_size": "physical block (B)",
    "io_poll": "polling",
}
_SERIALS = ("serial", "wwid", "device/serial", "device/wwid", "device/model", "dm/uuid", "md/uuid")
"""Files that distinguish a disk from others; which of them exist depends on its driver."""


def facts_of(path: Path, *, is_device: bool, root: Path = ROOT) -> str:
    """Return file system, mount options and device of a path in one line.

    Examples
    --------
    >>> "tmpfs" in facts_of(Path("/dev/shm"), is_device=False)
    True
    """
    if is_device:
        return "; ".join([f"block device {path.resolve()}", *_device(_number_of(path), root)])
    mount = mount_of(path, root)
    if mount is None:
        return str(path)
    return "; ".join(
        [f"{mount.type} on {mount.point} ({mount.options})", *_device(mount.device, root)]
    )


def identity_of(path: Path, *, is_device: bool, root: Path = ROOT) -> str:
    """Return the identity of device and file system at a path, empty if there is none.

    These are the serial number and size of the disk, the start of a partition, and the number that
    a file system got when it was made. Facts that change without any other change do not count:
    names of devices, mount options, the number of a file system in memory.

    Examples
    --------
    >>> identity_of(Path("/dev/shm"), is_device=False)
    'tmpfs'
    """
    try:
        if is_device:
            return " ".join(_marks(_number_of(path), root))
        mount = mount_of(path, root)
        if mount is None:
            return ""
        made = "" if mount.type in MEMORY_TYPES else f"{os.statvfs(mount.point).f_fsid:x}"
    except OSError:
        return ""
    source = mount.source if mount.is_network else ""
    return " ".join(filter(None, [mount.type, source, made, *_marks(mount.device, root)]))


def _marks(number: str, root: Path) -> Iterator[str]:
    """Yield the kernel's facts about one disk or partition that hold for no other."""
    disk = disk_of(number, root)
    if disk is None:
        return
    part = (root / "sys/dev/block" / number).resolve()
    texts = [read_text(disk / name) for name in _SERIALS]
    texts += [read_text(part / name) for name in ("start", "size")]
    yield from filter(None, texts)


def device_marks(number: tuple[int, int], root: Path = ROOT) -> list[str]:
    """Return the kernel's current facts about a block device that hold for no other.

    In addition to the permanent identity of disks, this is the number that the kernel gives to each
    attached disk, never twice: a disk that was removed and reattached counts as another.
    """
    text = f"{number[0]}:{number[1]}"
    disk = disk_of(text, root)
    attached = None if disk is None else read_text(disk / "diskseq")
    return [*filter(None, [attached]), *_marks(text, root)]


def alignment_of(path: Path, *, is_device: bool, root: Path = ROOT) -> int:
    """Return the multiple (B) that direct access to a path needs."""
    if is_device:
        number = _number_of(path)
    else:
        mount = mount_of(path, root)
        number = "" if mount is None else mount.device
    folder = disk_of(number, root)
    block_bytes = None if folder is None else read_int(folder / "queue/logical_block_size")
    return block_bytes or SECTOR_BYTES


def _number_of(device: Path) -> str:
    state = device.stat()
    return f"{os.major(state.st_rdev)}:{os.minor(state.st_rdev)}"


def disk_of(number: str, root: Path = ROOT) -> Path | None:
    """Return the kernel's folder for the disk with a device number or with such a partition."""
    link = root / "sys/dev/block" / number
    if not number or not link.exists():
        return None
    folder = link.resolve()
    return folder if (folder / "queue").exists() else folder.parent


def disk_below(path: Path, *, is_device: bool, root: Path = ROOT) -> Path | None:
    """Return the kernel's folder for the one disk below a path, through mappings of one disk.

    None if there is no disk, or if several share the load.
    """
    mount = None if is_device else mount_of(path, root)
    number = _number_of(path) if is_device else "" if mount is None else mount.device
    disk = disk_of(number, root)
    while disk is not None and (disk / "slaves").is_dir() and any((disk / "slaves").iterdir()):
        below = [read_text(slave / "dev") or "" for slave in (disk / "slaves").iterdir()]
        disk = disk_of(below[0], root) if len(below) == 1 else None
    return disk


def _device(number: str, root: Path) -> Iterator[str]:
    folder = disk_of(number, root)
    if folder is None:
        return
    model = read_text(folder / "device/model")
    sectors = read_int(folder / "size") or 0
    size = format_quantity(sectors * SECTOR_BYTES, "B")
    yield f"disk {folder.name}{f' ({model})' if model else ''}, {size}"
    turning = read_int(folder / "queue/rotational")
    if turning is not None:
        yield "rotational" if turning else "not rotational"
    for file, words in _LIMITS.items():
        value = read_text(folder / "queue" / file)
        if value is not None:
            yield f"{words} {value}"
