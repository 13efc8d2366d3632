"""Facts that distinguish devices at the same path."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.device_facts import identity_of
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from tests.support.storage_sessions import config_of


def _disk(root: Path, number: str, **files: str) -> Path:
    """Make the kernel's view of a disk: a folder, and a link to it by its number."""
    folder = root / "sys/devices" / number.replace(":", "-")
    (folder / "queue").mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(f"{content}\n")
    link = root / "sys/dev/block" / number
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)
    return folder


def _mounted(root: Path, line: str) -> None:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/mountinfo").write_text(line + "\n")


def _identity(root: Path, **disk: str) -> str:
    _disk(root, "8:0", **disk)
    _mounted(root, "30 1 8:0 / / rw,relatime - ext4 /dev/sda rw")
    return identity_of(Path("/"), is_device=False, root=root)


def test_the_serial_number_and_the_size_tell_disks_apart(tmp_path: Path) -> None:
    identities = {
        _identity(tmp_path / str(number), **disk)
        for number, disk in enumerate(
            [
                {"serial": "S1", "size": "1000"},
                {"serial": "S2", "size": "1000"},
                {"serial": "S1", "size": "2000"},
                {"wwid": "naa.5", "size": "1000"},
            ]
        )
    }
    assert len(identities) == 4
    assert _identity(tmp_path / "same", serial="S1", size="1000") in identities


def test_names_and_mount_options_tell_nothing(tmp_path: Path) -> None:
    identity = _identity(tmp_path / "one", serial="S1", size="1000")
    _disk(tmp_path / "two", "8:16", serial="S1", size="1000")
    _mounted(tmp_path / "two", "41 1 8:16 / / rw,noatime - ext4 /dev/sdb rw,discard")
    assert identity_of(Path("/"), is_device=False, root=tmp_path / "two") == identity


def test_what_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    assert identity_of(Path("/"), is_device=False, root=tmp_path) == ""
    assert identity_of(tmp_path / "none", is_device=True, root=tmp_path) == ""


def _found(place: Path) -> str:
    table = TargetTable(kind="folder", path=str(place))
    system = StorageSystem.load(StorageSetup(targets={"one": table}), base=Path())
    return system.found_at(config_of(system, target="one"))


def test_a_file_system_that_is_made_anew_is_another_one(
    tmp_path: Path, attach: Callable[[Path], Path]
) -> None:
    """Fault: the user puts another file system at the path of the study."""
    image, place = tmp_path / "image", tmp_path / "place"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    device = attach(image)
    identities = []
    for options in (["-U", "random"], ["-U", "random"], None):
        if options is not None:
            subprocess.run(["mkfs.ext4", "-q", "-F", *options, str(device)], check=True)
        subprocess.run(["mount", str(device), str(place)], check=True)
        try:
            identities.append(_found(place))
        finally:
            subprocess.run(["umount", str(place)], check=True)
    assert identities[0] != identities[1]
    assert identities[1] == identities[2], "mounted again, it is the same"
    assert _found(place) not in identities, "what is below is another file system"


def test_places_without_a_device_or_an_answer_refuse_nothing(tmp_path: Path) -> None:
    targets = {
        "soft": TargetTable(kind="soft"),
        "nowhere": TargetTable(kind="file", path="{nowhere}/file"),
    }
    system = StorageSystem.load(StorageSetup(targets=targets), base=tmp_path)
    assert [system.found_at(config_of(system, target=name)) for name in targets] == ["", ""]
