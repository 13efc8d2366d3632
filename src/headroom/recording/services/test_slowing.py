"""What is slowed is held back by the share that is said, and afterwards runs as before."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headroom.recording.services.slowing import by_limit, in_slices

BUSY = "while True: pass"


@pytest.fixture
def busy() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield process.pid
    process.kill()
    process.wait()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_is_held_back_by_its_share_and_runs_again(busy: int) -> None:
    with in_slices(lambda: [busy], 0.25, 0.002) as slowed:
        states = []
        end_s = time.monotonic() + 1.0
        while time.monotonic() < end_s:
            states.append(state_of(busy))
            time.sleep(0.0007)
    assert slowed.share == pytest.approx(0.25, abs=0.06)
    assert states.count("T") / len(states) == pytest.approx(slowed.share, abs=0.15)
    assert state_of(busy) != "T"


def test_an_error_in_the_block_leaves_nothing_stopped(busy: int) -> None:
    def broken() -> None:
        with in_slices(lambda: [busy], 0.9, 0.005):
            time.sleep(0.02)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()
    os.kill(busy, signal.SIGTERM)  # which a stopped process would not take
    os.waitpid(busy, 0)


def test_a_process_that_has_ended_hurts_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with in_slices(lambda: [process.pid], 0.5, 0.001):
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "before", "during"),
    [("cpu.max", "50000 100000", "45000 100000"), ("cpu.cfs_quota_us", "50000", "45000")],
)
def test_a_limit_is_lowered_and_restored(
    tmp_path: Path, name: str, before: str, during: str
) -> None:
    file = tmp_path / name
    file.write_text(f"{before}\n", "ascii")
    with by_limit({"cpu": tmp_path}, 0.1) as slowed:
        assert file.read_text("ascii") == during
    assert file.read_text("ascii") == before
    assert slowed.share == pytest.approx(0.1)


def test_a_service_without_limit_is_refused() -> None:
    with pytest.raises(OSError, match="no limit of processors"), by_limit({}, 0.1):
        pass
