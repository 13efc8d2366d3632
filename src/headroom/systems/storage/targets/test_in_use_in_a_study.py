"""The command rejects targets that must never be written: swap, volume members, non-disks."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.systems.storage.targets.test_devices_in_a_study import MIB, STUDY
from headroom.systems.storage.test_in_a_study import _headroom

Attach = Callable[..., Path]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    path.write_bytes(os.urandom(8 * MIB))
    return path


def study(folder: Path, path: Path, kind: str) -> Path:
    made = folder / "study"
    made.mkdir()
    quoted = str(path).replace("\\", "\\\\").replace("\n", "\\n")
    text = STUDY.format(device=quoted).replace("block_device", kind)
    (made / "study.toml").write_text(text)
    return made


def refusal(folder: Path, path: Path, kind: str, words: str) -> str:
    """Return the command's message, on one line; it ends with the code of an unfit machine."""
    answer = _headroom("run", study(folder, path, kind), "--overwrite", words)
    assert answer.returncode == 5, answer.stdout + answer.stderr
    return " ".join(answer.stderr.split())


def test_an_image_that_is_swapped_to_is_not_written(image: Path, tmp_path: Path) -> None:
    subprocess.run(["chmod", "600", str(image)], check=True)
    subprocess.run(["mkswap", str(image)], check=True, capture_output=True)
    if subprocess.run(["swapon", str(image)], check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody swap to a file here: run as root on ext4 or XFS")
    before = image.read_bytes()
    try:
        said = refusal(tmp_path, image, "file", f"{image} {8 * MIB}")
    finally:
        subprocess.run(["swapoff", str(image)], check=True)
    assert "image is swap space in use" in said
    assert image.read_bytes() == before


def test_a_member_of_a_volume_group_is_not_written(
    image: Path, attach: Attach, tmp_path: Path
) -> None:
    with image.open("r+b") as file:
        file.seek(512 + 24)
        file.write(b"LVM2 001")
    before = image.read_bytes()
    device = attach(image)
    said = refusal(tmp_path, device, "block_device", f"{device} {8 * MIB}")
    assert "it is an LVM physical volume" in said
    assert image.read_bytes() == before


def test_a_disk_with_partitions_is_not_written(image: Path, attach: Attach, tmp_path: Path) -> None:
    """The kernel is given the partition: not every kernel reads a table from a loop device."""
    before = image.read_bytes()
    device = attach(image)
    subprocess.run(["addpart", str(device), "1", "2048", "2048"], check=True)
    try:
        said = refusal(tmp_path, device, "block_device", f"{device} {8 * MIB}")
    finally:
        subprocess.run(["delpart", str(device), "1"], check=True)
    assert "is in use and is never written to" in said
    assert f"{device.name}p1" in said
    assert image.read_bytes() == before


@pytest.mark.parametrize("kind", ["block_device", "file"])
def test_a_pipe_ends_the_command_at_once(kind: str, tmp_path: Path) -> None:
    """It has no writer: opening it would block indefinitely."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = refusal(tmp_path, pipe, kind, f"{pipe} 0")
    assert str(pipe) in said


@pytest.mark.deep
@pytest.mark.parametrize("name", ["two  spaces", "a\nline", "it's $HOME"])
def test_any_name_is_confirmed_by_what_the_refusal_prints(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"x" * 8 * MIB)
    folder = study(tmp_path, path, "file")
    refused = _headroom("run", folder)
    assert refused.returncode == 5
    (words,) = shlex.split(refused.stderr.partition("add --overwrite ")[2])
    answer = _headroom("run", folder, "--overwrite", words)
    assert answer.returncode == 0, answer.stderr
    assert path.read_bytes() != b"x" * 8 * MIB


SWAPPING = """
import sys
from pathlib import Path
from headroom.systems.storage import system
precious, folder = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
whole, runs = system.run_blocks, []

def exchanging(asked):
    if not runs:
        runs.append(asked)
        answer = whole(asked)
        (own,) = folder.rglob("data-*")
        own.unlink()
        own.symlink_to(precious)
        return answer
    return whole(asked)

system.run_blocks = exchanging
from headroom.cli import main
main()
"""


@pytest.mark.deep
def test_a_file_of_ours_that_becomes_a_link_during_a_study_is_not_written_through(
    tmp_path: Path,
) -> None:
    precious, place = tmp_path / "precious", tmp_path / "place"
    precious.write_bytes(b"x" * 8 * MIB)
    place.mkdir()
    folder = study(tmp_path, place, "file")
    text = (folder / "study.toml").read_text() + 'bytes = "8 MiB"\n'
    (folder / "study.toml").write_text(text)
    argv = [sys.executable, "-c", SWAPPING, str(precious), str(place), "run", str(folder)]
    answer = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert answer.returncode != 0
    said = " ".join((answer.stdout + answer.stderr).split())
    assert "no longer the file that Headroom made" in said
    assert precious.read_bytes() == b"x" * 8 * MIB
