"""Files are really written, fit, and are removed if they could not be finished."""

import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.recording.leftovers import PREFIX
from headroom.systems.storage.targets import laying_out
from headroom.systems.storage.targets.laying_out import check_space, lay_out
from headroom.systems.storage.targets.patience import Progress
from headroom.systems.storage.targets.places import (
    MEMORY_VARIABLE,
    disk_folder,
    is_memory,
    memory_folder,
    resolve,
)
from headroom.systems.storage.targets.session import Session, Wanted
from headroom.systems.storage.workloads.sizes import parse_bytes

MIB = 1 << 20


def _wanted(parent: Path, size: int = MIB, share: float = 0.0, reserve: int = 0) -> Wanted:
    return Wanted(parent=parent, size=size, count=2, compressible_share=share, reserve=reserve)


def test_a_file_has_its_size_no_holes_and_a_content_that_does_not_shrink(tmp_path: Path) -> None:
    size = 2 * MIB + 12_345
    lay_out(tmp_path / "file", size=size, seed=1)
    state = (tmp_path / "file").stat()
    assert state.st_size == size
    assert state.st_blocks * 512 >= size
    assert len(zlib.compress((tmp_path / "file").read_bytes())) > 0.99 * size


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_compressible_share_compresses(share: float, tmp_path: Path) -> None:
    lay_out(tmp_path / "file", size=MIB, seed=1, compressible_share=share)
    left = len(zlib.compress((tmp_path / "file").read_bytes())) / MIB
    assert left == pytest.approx(1.0 - share, abs=0.02)


def test_a_full_file_system_leaves_no_file_behind(mount: Callable[..., Path]) -> None:
    folder = mount("tmpfs", "-t", "tmpfs", "-o", "size=1m")
    with pytest.raises(EnvironmentUnfitError, match="could not be laid out") as caught:
        lay_out(folder / "file", size=3 * MIB, seed=1)
    assert "No space left" in caught.value.message
    assert list(folder.iterdir()) == []


def test_a_file_that_nobody_waits_for_any_more_is_given_up(tmp_path: Path) -> None:
    progress = Progress()

    def interrupt(_: str) -> None:
        progress.is_wanted = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laying_out, "_TOLD_EVERY_S", 0.0)
        with pytest.raises(EnvironmentUnfitError, match="has ended"):
            lay_out(tmp_path / "file", size=3 * MIB, seed=1, say=interrupt, progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_became_durable_too_late_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: the last call hangs; when it returns, the file must not count as usable."""
    progress, sync = Progress(), os.fsync

    def hang(descriptor: int) -> None:
        progress.is_wanted = False
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", hang)
    with pytest.raises(EnvironmentUnfitError, match="has ended"):
        lay_out(tmp_path / "file", size=MIB, seed=1, progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused_before_a_byte_is_written(
    mount: Callable[..., Path],
) -> None:
    folder = mount("tmpfs", "-t", "tmpfs", "-o", "size=4m")
    check_space(folder, needed=3 * MIB, reserve=0)
    with pytest.raises(EnvironmentUnfitError, match="a reserve of"):
        check_space(folder, needed=3 * MIB, reserve=2 * MIB)
    session = Session()
    with pytest.raises(EnvironmentUnfitError, match="free on its file system"):
        session.files(_wanted(folder, size=3 * MIB))
    session.end()
    assert list(folder.iterdir()) == []


def test_memory_is_not_filled_however_large_its_file_system_says_it_is() -> None:
    with pytest.raises(EnvironmentUnfitError, match=r"free (in memory|on its file system)"):
        check_space(memory_folder(), needed=1 << 50, reserve=0)


def test_files_are_used_again_where_they_fit_and_made_anew_where_not(tmp_path: Path) -> None:
    session = Session()
    first = session.files(_wanted(tmp_path))
    stamps = [path.stat().st_mtime_ns for path in first]
    assert session.files(_wanted(tmp_path)) == first
    assert [path.stat().st_mtime_ns for path in first] == stamps
    other = session.files(_wanted(tmp_path, share=0.5))
    assert set(other).isdisjoint(first)
    os.truncate(first[0], 10)
    again = session.files(_wanted(tmp_path))
    assert all(path.stat().st_size == MIB for path in again)
    session.end()
    assert list(tmp_path.iterdir()) == []


def test_room_is_made_by_dropping_what_other_points_and_targets_wanted(
    mount: Callable[..., Path],
) -> None:
    """Cause: two targets in two folders that fit alone, but not together, ended a run half way."""
    folder = mount("tmpfs", "-t", "tmpfs", "-o", "size=5m")
    said: list[str] = []
    session = Session(say=said.append)
    first = session.files(_wanted(folder, size=2 * MIB))
    second = session.files(_wanted(folder, size=2 * MIB - 4096))
    assert all(path.exists() for path in second)
    assert not any(path.exists() for path in first)
    (folder / "other").mkdir()
    third = session.files(_wanted(folder / "other", size=2 * MIB))
    assert all(path.exists() for path in third)
    assert not any(path.exists() for path in second)
    assert len(said) == 2
    assert f"removing files in {folder}" in said[-1]
    session.end()
    assert [path.name for path in folder.rglob("*")] == ["other"]


def test_a_pool_is_empty_before_and_after_also_when_its_block_fails(tmp_path: Path) -> None:
    session = Session()
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(KeyboardInterrupt))
        folder = stack.enter_context(session.pool(tmp_path))
        (folder / "file").write_text("x")
        raise KeyboardInterrupt
    with session.pool(tmp_path) as folder:
        assert list(folder.iterdir()) == []
    session.end()
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_places_are_what_they_are_called(tmp_path: Path) -> None:
    assert is_memory(memory_folder())
    assert not is_memory(disk_folder(tmp_path))
    assert resolve("{memory}/x", study=tmp_path) == memory_folder() / "x"
    assert resolve("data", study=tmp_path) == tmp_path / "data"
    with pytest.raises(StudyError, match="a place that does not exist") as caught:
        resolve("{memry}", study=tmp_path)
    assert "memory" in caught.value.cure


def test_the_folder_in_memory_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    other = memory_folder() / f"{PREFIX}test-{os.getpid()}"
    other.mkdir()
    try:
        monkeypatch.setenv(MEMORY_VARIABLE, str(other))
        assert memory_folder() == other
    finally:
        other.rmdir()
    for wrong in (other, disk_folder(tmp_path)):
        monkeypatch.setenv(MEMORY_VARIABLE, str(wrong))
        with pytest.raises(EnvironmentUnfitError, match=MEMORY_VARIABLE):
            memory_folder()


@given(st.integers(1, 1 << 50))
def test_sizes_are_read_back(size: int) -> None:
    assert parse_bytes(size) == parse_bytes(str(size)) == parse_bytes(f"{size} B") == size
    assert parse_bytes(f"{size} KiB") == size * 1024


@pytest.mark.parametrize("text", ["", "1 XB", "-1", "0", "1,5 GB", "0.1 B", "GiB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(StudyError):
        parse_bytes(text)
