"""Real targets for tests: loop devices, small and read-only file systems; all need root.

Invariant: everything that a test attaches or mounts is gone afterwards.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headroom.systems.storage.soft.soft_mount import SoftMount, mounted, why_not
from headroom.systems.storage.soft.soft_script import SoftScript

NEEDS_ROOT = "needs root for loop devices and mounts: run the tests as root (sudo make test)"


def _run(*argv: str) -> str:
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def need_root() -> None:
    """Skip a test that cannot attach devices."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip(NEEDS_ROOT)


def need_fuse() -> None:
    """Skip a test that cannot mount a soft device."""
    why = why_not()
    if why is not None:
        pytest.skip(f"no FUSE here: {why}")


@pytest.fixture
def soft_device(tmp_path: Path) -> Iterator[Callable[..., SoftMount]]:
    """Mount soft devices of 1 MiB, and unmount them after the test."""
    need_fuse()
    with ExitStack() as stack:

        def mounted_device(script: SoftScript, size_bytes: int = 1 << 20) -> SoftMount:
            folder = tmp_path / f"soft-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            return stack.enter_context(mounted(script, size_bytes=size_bytes, at=folder))

        yield mounted_device


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the list of what tests make away from the user's own."""
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state / "headroom" / "storage"


@pytest.fixture
def attach() -> Iterator[Callable[[Path], Path]]:
    """Attach files as loop devices, and detach them after the test."""
    need_root()
    with ExitStack() as stack:

        def attached(file: Path, *options: str) -> Path:
            device = _run("losetup", "--find", "--show", *options, str(file))
            stack.callback(_detach, device)
            return Path(device)

        yield attached


def _detach(device: str) -> None:
    subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount something on a new folder, and unmount it after the test."""
    need_root()
    with ExitStack() as stack:

        def mounted(source: str, *options: str) -> Path:
            folder = tmp_path / f"mount-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            _run("mount", *options, source, str(folder))
            stack.callback(_run, "umount", str(folder))
            return folder

        yield mounted
