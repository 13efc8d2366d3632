"""Runs that cannot succeed are rejected before the first replication, with cause and hint."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.recording.leftovers import PREFIX
from headroom.systems.storage.conftest import need_root
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable, VerifyTable
from tests.support.storage_sessions import config_of, session_of

Mount = Callable[..., Path]


def refusal(table: TargetTable, **given: Value) -> HeadroomError:
    """Return how a point on a target is refused; nothing may be left of that."""
    with (
        session_of(StorageSetup(targets={"one": table})) as system,
        pytest.raises(HeadroomError) as caught,
    ):
        system.check_point(config_of(system, target="one", **given))
    assert caught.value.cure
    return caught.value


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table = TargetTable(kind="folder", path=str(tmp_path), bytes="8000 TiB", files=3)
    error = refusal(table)
    assert "are free on its file system" in error.message
    assert list(tmp_path.iterdir()) == []


def test_a_pool_of_postmark_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    table = TargetTable(kind="folder", path=str(tmp_path))
    error = refusal(table, workload="postmark", postmark_high_bytes=1 << 40)
    assert "are free on its file system" in error.message
    assert "fewer or smaller files" in error.cure


def test_a_small_pool_needs_no_space_for_the_files_of_other_workloads(tmp_path: Path) -> None:
    table = TargetTable(kind="folder", path=str(tmp_path), bytes="8000 TiB")
    with session_of(StorageSetup(targets={"one": table})) as system:
        system.check_point(config_of(system, target="one", workload="postmark"))
    assert list(tmp_path.iterdir()) == []


def test_what_postmark_cannot_do_is_refused(tmp_path: Path) -> None:
    table = TargetTable(kind="folder", path=str(tmp_path))
    error = refusal(table, workload="postmark", postmark_files=2, postmark_threads=3)
    assert "3 threads share 2 files" in error.message


def test_requests_that_do_not_fit_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(bytes(8192))
    error = refusal(TargetTable(kind="file", path=str(tmp_path / "small")), block_bytes=1 << 16)
    assert isinstance(error, StudyError)
    assert "a request has 65536 B" in error.message


def test_a_small_file_system_is_refused_and_without_a_reserve_it_is_enough(mount: Mount) -> None:
    place = mount("tmpfs", "-t", "tmpfs", "-o", "size=1m")
    table = TargetTable(kind="file", path=str(place), bytes="1020 KiB")
    for reserve in (0, "64 KiB"):
        setup = StorageSetup(targets={"one": table}, reserve=reserve)
        system = StorageSystem.load(setup, base=Path())
        system.open_session(print)
        try:
            if reserve:
                with pytest.raises(EnvironmentUnfitError, match="are free"):
                    system.check_point(config_of(system, target="one"))
            else:
                system.check_point(config_of(system, target="one"))
        finally:
            system.close_session()


@contextmanager
def immutable(path: Path) -> Iterator[None]:
    need_root()
    done = subprocess.run(["chattr", "+i", str(path)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("this file system has no immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)


def test_a_file_that_nobody_may_write_is_refused_with_what_helps_root(tmp_path: Path) -> None:
    """Cause: the hint for EPERM was to become root, even for root."""
    path = tmp_path / "fixed"
    path.write_bytes(bytes(8192))
    setup = StorageSetup(targets={"one": TargetTable(kind="file", path=str(path))})
    with immutable(path), session_of(setup) as system:
        system.confirm([f"{path} 8192"])
        with pytest.raises(EnvironmentUnfitError, match="cannot be opened") as caught:
            system.check_point(config_of(system, target="one", read_share=0.0))
        assert "lsattr" in caught.value.cure
        system.check_point(config_of(system, target="one", read_share=1.0))


def test_a_folder_that_nobody_may_write_is_refused_with_what_helps_root(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    with immutable(folder):
        error = refusal(TargetTable(kind="file", path=str(folder), bytes="1 MiB"))
    assert "lsattr" in error.cure
    assert list(folder.glob(f"{PREFIX}*")) == []


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.5, 1)])
def test_a_content_that_is_not_written_is_said_to_change_nothing(
    share: float, count: int, tmp_path: Path
) -> None:
    """Cause: `compressible_share` was accepted silently for a file that is only read."""
    (tmp_path / "mine").write_bytes(bytes(1 << 20))
    table = TargetTable(kind="file", path=str(tmp_path / "mine"))
    with session_of(StorageSetup(targets={"one": table})) as system:
        config = config_of(system, target="one", compressible_share=share, requests=20)
        run = system.run(config, seed=1)
    assert sum("compressible_share" in remark for remark in run.remarks) == count


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workload": "postmark"}, "compares nothing"),
        ({"compressible_share": 0.5}, "their own content"),
    ],
)
def test_what_verifying_contradicts_is_refused(
    given: dict[str, Value], words: str, tmp_path: Path
) -> None:
    table = TargetTable(kind="folder", path=str(tmp_path))
    setup = StorageSetup(targets={"one": table}, verify=VerifyTable())
    system = StorageSystem.load(setup, base=Path())
    with pytest.raises(StudyError, match=words):
        system.fingerprint(config_of(system, target="one", **given))


def test_many_files_of_what_is_no_folder_are_refused() -> None:
    setup = StorageSetup(targets={"one": TargetTable(kind="nothing", files=3)})
    with pytest.raises(StudyError, match="has 3 files"):
        StorageSystem.load(setup, base=Path())


@pytest.mark.parametrize(("load", "pace"), [("open", "at its own times"), ("closed", "as fast")])
def test_what_a_run_writes_is_foreseen_with_its_pace(load: str, pace: str, tmp_path: Path) -> None:
    table = TargetTable(kind="file", path=str(tmp_path), bytes="1 MiB")
    system = StorageSystem.load(StorageSetup(targets={"one": table}), base=Path())
    said = system.foresight(config_of(system, target="one", load=load, read_share=0.0))
    assert pace in said[-1]


def test_a_folder_of_our_own_that_somebody_takes_away_is_made_again(tmp_path: Path) -> None:
    """Cause: the next replication failed with a bare error of the system."""
    table = TargetTable(kind="file", path=str(tmp_path), bytes="64 KiB")
    with session_of(StorageSetup(targets={"one": table})) as system:
        config = config_of(system, target="one", seconds=0.0, requests=20)
        for seed in (1, 2):
            run = system.run(config, seed=seed)
            assert run.is_sound
            (own,) = tmp_path.glob(f"{PREFIX}*")
            shutil.rmtree(own)
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_was_meant_as_a_file_is_told_from_a_folder(tmp_path: Path) -> None:
    """Cause: a target `/dev/vda` of kind "file" was to become a folder."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read_share in (0.0, 1.0):
        error = refusal(TargetTable(kind="file", path=str(pipe)), read_share=read_share)
        assert "neither a folder nor an ordinary file" in error.message
        assert "block_device" in error.cure
