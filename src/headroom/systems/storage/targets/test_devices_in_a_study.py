"""Block devices from the command line: a new disk, the same disk again, and an exchanged one."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.systems.storage.test_in_a_study import _headroom
from tests.support.study_text import Head

MIB = 1 << 20
STUDY = Head("disk", "A new disk", "load", seed=7).then("""\
fixed = {{ seconds = 0.2, read_share = 0.0, target = "disk" }}
factors = {{ depth = [1, 2] }}
replications = {{ count = 2 }}
warm_up = {{ method = "none" }}

[experiment.system]
name = "storage"
[experiment.system.targets.disk]
kind = "block_device"
path = "{device}"
""")
Attach = Callable[..., Path]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    path.write_bytes(bytes(8 * MIB))
    return path


@pytest.fixture
def device(image: Path, attach: Attach) -> Path:
    """Attach a disk on which nothing was ever written."""
    return attach(image)


@pytest.fixture
def study(device: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.format(device=device))
    return folder


@pytest.mark.deep
def test_a_new_disk_is_named_confirmed_and_written_twice(device: Path, study: Path) -> None:
    words = f"{device} {8 * MIB}"
    planned = _headroom("run", study, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert f'needs --overwrite "{words}"' in planned.stdout
    refused = _headroom("run", study)
    assert refused.returncode == 5
    assert f"{device} (nothing was recognised there)" in refused.stderr
    assert f'--overwrite "{words}"' in refused.stderr
    assert device.read_bytes() == bytes(8 * MIB)
    for _ in range(2):
        answer = _headroom("run", study, "--fresh", "--overwrite", words)
        assert answer.returncode == 0, answer.stderr
    assert device.read_bytes() != bytes(8 * MIB)


EXCHANGE = """
import subprocess, sys
from headroom.systems.storage import system
from headroom.systems.storage.blocks import block_run
device, other = sys.argv.pop(1), sys.argv.pop(1)
whole, runs = block_run.run_blocks, []

def exchanging(asked):
    if len(runs) == 1:
        subprocess.run(["losetup", "--detach", device], check=True)
        subprocess.run(["losetup", device, other], check=True)
    runs.append(asked)
    return whole(asked)

system.run_blocks = exchanging
from headroom.cli import main
main()
"""


@pytest.mark.deep
def test_a_disk_that_is_exchanged_during_a_run_is_not_written(
    device: Path, study: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(bytes(8 * MIB))
    argv = [sys.executable, "-c", EXCHANGE, str(device), str(other), "run", str(study)]
    words = ["--overwrite", f"{device} {8 * MIB}"]
    answer = subprocess.run([*argv, *words], check=False, capture_output=True, text=True)
    assert answer.returncode == 1, answer.stderr
    assert "is not what was confirmed" in " ".join((answer.stdout + answer.stderr).split())
    assert other.read_bytes() == bytes(8 * MIB)


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["block_device", "file"])
def test_reads_of_what_was_never_written_are_told_on_the_first_screen(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.write(bytes(2 * MIB))
        file.truncate(8 * MIB)
    path = request.getfixturevalue("attach")(sparse) if kind == "block_device" else sparse
    text = STUDY.format(device=path).replace("read_share = 0.0", "read_share = 1.0")
    text = text.replace("block_device", kind)
    (tmp_path / "study.toml").write_text(text)
    answer = _headroom("run", tmp_path, "--all")
    assert answer.returncode == 0, answer.stderr
    assert f"Only 25.0% of {path} has a place on the device" in " ".join(answer.stdout.split())
    with sparse.open("r+b") as file:
        file.write(b"x" * 8 * MIB)
    again = _headroom("run", tmp_path, "--fresh", "--all")
    assert "has a place on the device" not in again.stdout
    assert "nothing but zeros" not in again.stdout


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["block_device", "file"])
def test_reads_of_a_drive_that_holds_nothing_are_told_on_the_first_screen(
    kind: str, image: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its blocks are mapped, as those of a new drive are for all that the kernel knows."""
    path = request.getfixturevalue("attach")(image) if kind == "block_device" else image
    text = STUDY.format(device=path).replace("read_share = 0.0", "read_share = 1.0")
    (tmp_path / "study.toml").write_text(text.replace("block_device", kind))
    answer = _headroom("run", tmp_path, "--all")
    assert answer.returncode == 0, answer.stderr
    assert "64 of 64 places of" in answer.stdout
    assert "hold nothing but zeros" in " ".join(answer.stdout.split())
