"""Facts about the file system and disk that hold a folder, as Linux publishes them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.experiment.machine.machine_facts import ROOT, present, read_int, read_text

_NETWORK_TYPES = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "beegfs", "gpfs")
)
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    device: str
    point: str
    type: str
    source: str
    options: str

    @property
    def is_network(self) -> bool:
        """True if other hosts may write the same files."""
        return self.type in _NETWORK_TYPES or self.type.startswith("fuse.sshfs")


def storage(folder: Path, root: Path = ROOT) -> dict[str, Any]:
    """Return file system, mount options, space and disk of a folder."""
    mount = mount_of(folder, root)
    if mount is None:
        return present(_space(folder))
    facts = {
        "mount": mount.point,
        "type": mount.type,
        "source": mount.source,
        "options": mount.options,
        "is_network": mount.is_network or None,
        **_space(folder),
        "disk": _disk(mount.device, root),
    }
    return present(facts)


def mount_of(folder: Path, root: Path = ROOT) -> Mount | None:
    """Return the mount that holds a folder, None if the system does not say."""
    text = read_text(root / "proc/self/mountinfo")
    if text is None:
        return None
    place = _existing(folder)
    holders = [
        mount
        for line in text.splitlines()
        if (mount := _mount(line)) and place.is_relative_to(mount.point)
    ]
    # Of mounts on the same place the last one is on top.
    return max(
        enumerate(holders), key=lambda item: (len(item[1].point), item[0]), default=(0, None)
    )[1]


def _existing(folder: Path) -> Path:
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return place.resolve()


def _mount(line: str) -> Mount | None:
    before, _, after = line.partition(" - ")
    left, right = before.split(), after.split()
    if len(left) < 6 or len(right) < 3:  # noqa: PLR2004 - fields of proc_pid_mountinfo(5)
        return None
    options = dict.fromkeys([*left[5].split(","), *right[2].split(",")])
    return Mount(
        device=left[2],
        point=_OCTAL.sub(lambda match: chr(int(match.group(1), 8)), left[4]),
        type=right[0],
        source=right[1],
        options=",".join(options),
    )


def _space(folder: Path) -> dict[str, int]:
    try:
        state = os.statvfs(_existing(folder))
    except OSError:
        return {}
    return {
        "size_bytes": state.f_blocks * state.f_frsize,
        "free_bytes": state.f_bavail * state.f_frsize,
    }


def _disk(device: str, root: Path) -> dict[str, Any]:
    """Return the block layer's facts about the disk behind a device number."""
    link = root / "sys/dev/block" / device
    if not link.exists():
        return {}
    folder = link.resolve()
    if not (folder / "queue").exists():  # a partition is below its disk
        folder = folder.parent
    scheduler = re.search(r"\[([\w-]+)\]", read_text(folder / "queue/scheduler") or "")
    sectors = read_int(folder / "size")
    return present(
        {
            "name": folder.name,
            "model": read_text(folder / "device/model"),
            "size_bytes": sectors * 512 if sectors else None,
            "is_rotational": _flag(folder / "queue/rotational"),
            "scheduler": scheduler.group(1) if scheduler else None,
            "write_cache": read_text(folder / "queue/write_cache"),
            "logical_block_bytes": read_int(folder / "queue/logical_block_size"),
            "physical_block_bytes": read_int(folder / "queue/physical_block_size"),
        }
    )


def _flag(path: Path) -> bool | None:
    number = read_int(path)
    return None if number is None else number != 0
