"""User data are safe: on real devices, files and mounts."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.systems.storage.targets.laying_out import lay_out
from headroom.systems.storage.targets.safety import (
    check_allowed,
    check_confirmed,
    check_may_create,
    examine_device,
    examine_file,
    examine_own_file,
    open_existing,
)
from headroom.systems.storage.targets.signatures import SIGNATURES, signatures_of
from headroom.systems.storage.targets.uses import device_uses, file_uses

MIB = 1 << 20
Attach = Callable[..., Path]
Mount = Callable[..., Path]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Make a file of zeros that can become a device."""
    path = tmp_path / "image"
    path.write_bytes(bytes(8 * MIB))
    return path


@pytest.mark.parametrize(
    "signature", SIGNATURES, ids=lambda signature: f"{signature.name} at {signature.offset}"
)
def test_each_signature_is_found_where_its_format_has_it(signature: object, image: Path) -> None:
    known = signature
    with image.open("r+b") as file:
        offset = known.offset if known.offset >= 0 else 8 * MIB + known.offset  # type: ignore[attr-defined]
        file.seek(offset)
        file.write(known.magic)  # type: ignore[attr-defined]
    with image.open("rb") as file:
        assert known.name in signatures_of(file.fileno(), 8 * MIB)  # type: ignore[attr-defined]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("label", range(4))
@pytest.mark.parametrize("rest", [0, 1, 255], ids=lambda rest: f"{rest} KiB left over")
def test_each_label_of_zfs_is_found(label: int, order: str, rest: int, image: Path) -> None:
    """Oracle: `vdev_label_offset` of OpenZFS; a device is used up to a multiple of 256 KiB."""
    size = 8 * MIB + rest * 1024
    os.truncate(image, size)
    start = (0, 256 * 1024, 8 * MIB - 512 * 1024, 8 * MIB - 256 * 1024)[label]
    for uberblock in (0, 127):
        with image.open("r+b") as file:
            file.seek(start + 128 * 1024 + uberblock * 1024)
            file.write((0x00BAB10C).to_bytes(8, order))  # type: ignore[arg-type]
        with image.open("rb") as file:
            assert signatures_of(file.fileno(), size) == ("a ZFS pool",)
        image.write_bytes(b"")
        os.truncate(image, size)


def test_zeros_carry_no_signature_and_a_tiny_file_is_no_error(image: Path, tmp_path: Path) -> None:
    with image.open("rb") as file:
        assert signatures_of(file.fileno(), 8 * MIB) == ()
    (tmp_path / "tiny").write_bytes(b"\0")
    with (tmp_path / "tiny").open("rb") as file:
        assert signatures_of(file.fileno(), 1) == ()


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["mkfs.ext4", "-q", "-F"], "an ext file system"),
        (["mkswap"], "swap space"),
    ],
)
def test_what_real_programs_write_is_recognised(
    argv: list[str], found: str, image: Path, attach: Attach
) -> None:
    """Oracle: the programs that make file systems and swap."""
    subprocess.run([*argv, str(image)], check=True, capture_output=True)
    device = examine_device(attach(image))
    assert found in device.contents
    with pytest.raises(EnvironmentUnfitError) as caught:
        check_allowed(device, [])
    assert found in caught.value.message
    assert f'--overwrite "{device.path} {8 * MIB}"' in caught.value.cure


def test_a_device_is_written_only_with_the_very_words(image: Path, attach: Attach) -> None:
    device = examine_device(attach(image))
    assert (device.size_bytes, device.uses, device.contents) == (8 * MIB, (), ())
    for wrong in ([], [str(device.path)], [f"{device.path} {8 * MIB + 512}"], ["/dev/sdb 1"]):
        with pytest.raises(EnvironmentUnfitError, match="would overwrite"):
            check_allowed(device, wrong)
    check_allowed(device, [f"  {device.path}   {8 * MIB} "])


def test_a_mounted_device_is_never_written_whatever_is_typed(
    image: Path, attach: Attach, mount: Mount
) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    path = attach(image)
    folder = mount(str(path))
    device = examine_device(path)
    assert device.uses == (f"{path.name} is mounted on {folder}",)
    with pytest.raises(EnvironmentUnfitError, match="is in use and is never written to"):
        check_allowed(device, [device.words])
    with pytest.raises(EnvironmentUnfitError, match="cannot be opened") as caught:
        open_existing(device, is_written=True, direct=False)
    assert "unmount" in caught.value.cure
    os.close(open_existing(device, is_written=False, direct=False))


def test_a_device_opened_for_writing_cannot_be_mounted_meanwhile(
    image: Path, attach: Attach, tmp_path: Path
) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    path = attach(image)
    descriptor = open_existing(examine_device(path), is_written=True, direct=False)
    (tmp_path / "here").mkdir()
    argv = ["mount", str(path), str(tmp_path / "here")]
    assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
    os.close(descriptor)


def test_a_read_only_device_says_so(image: Path, attach: Attach) -> None:
    device = examine_device(attach(image, "--read-only"))
    os.close(open_existing(device, is_written=False, direct=False))
    with pytest.raises(EnvironmentUnfitError, match="is read-only"):
        check_allowed(device, [device.words])


def test_partitions_holders_and_swap_of_a_device_are_found(tmp_path: Path) -> None:
    """A machine made of files: no test may partition, hold or swap to a disk of the host."""
    disk = tmp_path / "sys/devices/sdz"
    (disk / "sdz1/holders/dm-0").mkdir(parents=True)
    (disk / "sdz1/partition").write_text("1\n")
    (disk / "sdz1/dev").write_text("8:241\n")
    (disk / "sdz2/holders").mkdir(parents=True)
    (disk / "sdz2/partition").write_text("2\n")
    (disk / "sdz2/dev").write_text("8:242\n")
    (disk / "dev").write_text("8:240\n")
    links = tmp_path / "sys/dev/block"
    links.mkdir(parents=True)
    (links / "8:240").symlink_to(disk)
    (links / "8:242").symlink_to(disk / "sdz2")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        "22 1 8:242 / /home rw - ext4 /dev/sdz2 rw\n23 1 0:40 / /data rw - btrfs /dev/sdz rw\n"
    )
    assert list(device_uses((8, 240), tmp_path)) == [
        "sdz is mounted on /data",
        "sdz1 is used by dm-0",
        "sdz2 is mounted on /home",
        "sdz has partitions (sdz1, sdz2)",
    ]


def test_files_that_were_there_want_words_and_links_are_followed_to_the_truth(
    tmp_path: Path,
) -> None:
    real = tmp_path / "precious"
    real.write_bytes(b"x" * 100)
    link = tmp_path / "link"
    link.symlink_to(real)
    examined = examine_file(link)
    assert examined.words == f"{real} 100"
    with pytest.raises(EnvironmentUnfitError, match="a file that Headroom did not make"):
        check_allowed(examined, [f"{link} 100"])
    check_allowed(examined, [f"{real} 100"])


def test_a_file_that_was_exchanged_after_the_check_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    examined = examine_file(path)
    other = tmp_path / "other"
    other.write_bytes(b"y")
    other.rename(path)
    with pytest.raises(Exception, match="became another device or file"):
        open_existing(examined, is_written=True, direct=False)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentUnfitError, match="cannot be opened"):
        open_existing(examined, is_written=True, direct=False)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("folder", ["/dev", "/dev/pts", "/proc", "/sys", "/sys/fs/cgroup"])
def test_nothing_is_ever_made_in_places_of_devices_and_of_the_kernel(folder: str) -> None:
    with pytest.raises(EnvironmentUnfitError, match="makes no files"):
        check_may_create(Path(folder))


def test_a_mistyped_device_never_becomes_a_file() -> None:
    path = Path("/dev/headroom-no-such-device")
    for check in (examine_device, examine_file, check_may_create):
        with pytest.raises(EnvironmentUnfitError, match=r"there is no|not found") as caught:
            check(path)
        assert caught.value.cure
    assert not path.exists()


def test_a_character_device_and_an_empty_loop_device_are_refused() -> None:
    with pytest.raises(EnvironmentUnfitError, match="is not a block device"):
        examine_device(Path("/dev/null"))
    with pytest.raises(EnvironmentUnfitError, match="neither a folder nor an ordinary file"):
        examine_file(Path("/dev/null"))


def test_a_read_only_file_system_is_refused_before_anything_is_made(mount: Mount) -> None:
    folder = mount("tmpfs", "-t", "tmpfs", "-o", "ro,size=1m")
    with pytest.raises(EnvironmentUnfitError, match="read-only, or not yours"):
        check_may_create(folder)


def test_what_lies_under_a_mounted_loop_device_is_never_written(
    image: Path, attach: Attach, mount: Mount
) -> None:
    """The image, and a device that is the ground of another."""
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    lower = attach(image)
    upper = attach(lower)
    folder = mount(str(upper))
    words = f"{upper.name}, mounted on {folder}"
    assert examine_device(lower).uses == (f"{lower.name} is the ground of {words}",)
    examined = examine_file(image)
    assert examined.uses == (f"{image.name} is the ground of {lower.name}",)
    with pytest.raises(EnvironmentUnfitError, match="is in use and is never written to"):
        check_allowed(examined, [examined.words])


def test_a_file_that_is_swapped_to_is_in_use(tmp_path: Path) -> None:
    swap = tmp_path / "swap filé"
    swap.write_bytes(bytes(4096))
    (tmp_path / "proc").mkdir()
    name = str(swap).replace(" ", "\\040")
    (tmp_path / "proc/swaps").write_text(f"Filename Type Size Used Priority\n{name} file 4 0 -2\n")
    assert list(file_uses(swap, tmp_path)) == ["swap filé is swap space in use"]


def test_a_file_that_another_process_has_locked_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "database"
    path.write_bytes(b"x" * 100)
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('locked', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"locked\n"
        examined = examine_file(path)
        assert examined.uses == (f"database is locked by process {other.pid} (flock)",)
        with pytest.raises(EnvironmentUnfitError, match="is in use and is never written to"):
            check_allowed(examined, [examined.words])
        other.stdin.close()
        other.wait()
    assert examine_file(path).uses == ()


def test_a_disk_that_was_exchanged_after_it_was_confirmed_is_not_written(
    image: Path, attach: Attach, tmp_path: Path
) -> None:
    path = attach(image)
    confirmed = examine_device(path)
    other = tmp_path / "other"
    other.write_bytes(bytes(image.stat().st_size))
    subprocess.run(["losetup", "--detach", str(path)], check=True)
    subprocess.run(["losetup", str(path), str(other)], check=True)
    exchanged = examine_device(path)
    assert exchanged.words == confirmed.words
    check_confirmed(confirmed, confirmed.marks)
    with pytest.raises(EnvironmentUnfitError, match="is not what was confirmed"):
        check_confirmed(exchanged, confirmed.marks)
    with pytest.raises(HeadroomError, match="became another device or file"):
        open_existing(confirmed, is_written=True, direct=False)


def test_a_file_of_ours_that_became_a_link_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * 4096)
    own = tmp_path / "data-1"
    number = lay_out(own, size=4096, seed=1)
    target = examine_own_file(own, number)
    second = tmp_path / "second"
    os.link(own, second)
    with pytest.raises(EnvironmentUnfitError, match="no longer the file that Headroom made"):
        examine_own_file(own, number)
    with pytest.raises(HeadroomError, match="became another device or file"):
        open_existing(target, is_written=True, direct=False)
    second.unlink()
    own.unlink()
    own.symlink_to(precious)
    with pytest.raises(EnvironmentUnfitError, match="no longer the file that Headroom made"):
        examine_own_file(own, number)
    with pytest.raises(EnvironmentUnfitError, match="cannot be opened"):
        open_existing(target, is_written=True, direct=False)
    assert precious.read_bytes() == b"x" * 4096
