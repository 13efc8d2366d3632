"""Headroom removes its files on every exit path; anything not surely its own stays."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.recording.leftovers import MARK, POOL, PREFIX, clean_up, make_folder

_CHILD = """
import sys
from pathlib import Path
from headroom.recording.leftovers import make_folder, POOL
own = make_folder(Path(sys.argv[1]))
(own.path / "data-1-0").write_bytes(b"x" * 1000)
(own.path / POOL).mkdir()
(own.path / POOL / "7").write_bytes(b"y" * 10)
print(own.path, flush=True)
sys.stdin.read()
"""


def _child(place: Path) -> tuple["subprocess.Popen[str]", Path]:
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


def _kill(child: "subprocess.Popen[str]") -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


def test_a_killed_run_is_recognised_and_cleaned_by_the_next(tmp_path: Path) -> None:
    child, folder = _child(tmp_path)
    assert clean_up() == ()  # it lives: nothing is touched
    assert (folder / "data-1-0").exists()
    _kill(child)
    assert folder.exists()
    (said,) = clean_up()
    assert str(folder) in said
    assert "1010 bytes" in said
    assert not folder.exists()
    assert clean_up() == ()


def test_without_the_list_a_folder_is_found_where_it_lies(tmp_path: Path, own_state: Path) -> None:
    child, folder = _child(tmp_path)
    _kill(child)
    for listed in own_state.iterdir():
        listed.unlink()
    assert clean_up() == ()
    assert len(clean_up(tmp_path)) == 1
    assert not folder.exists()


def test_a_folder_of_a_living_process_is_never_touched(tmp_path: Path) -> None:
    child, folder = _child(tmp_path)
    try:
        assert clean_up(tmp_path) == ()
        assert (folder / "data-1-0").stat().st_size == 1000
    finally:
        _kill(child)


def test_what_somebody_else_put_there_stays_and_is_named(tmp_path: Path) -> None:
    child, folder = _child(tmp_path)
    (folder / "thesis.tex").write_text("years of work")
    (folder / "data-link").symlink_to(tmp_path / "target-of-link")
    (tmp_path / "target-of-link").write_text("mine")
    _kill(child)
    said = clean_up()
    assert said[1].endswith("Headroom did not make it: thesis.tex")
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "target-of-link").read_text() == "mine"
    assert not (folder / "data-1-0").exists()


@pytest.mark.parametrize("name", ["data-1-0", POOL])
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_link_in_place_of_data_goes_and_what_it_points_to_stays(
    name: str, tmp_path: Path, *, is_killed: bool
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data-1-0").write_text("mine")
    own = None if is_killed else make_folder(tmp_path)
    child, folder = _child(tmp_path) if own is None else (None, own.path)
    if name == POOL:
        shutil.rmtree(folder / POOL, ignore_errors=True)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(precious if name == POOL else precious / "data-1-0")
    if own is not None:
        own.remove()
    elif child is not None:
        _kill(child)
        assert len(clean_up()) == 1
    assert not folder.exists()
    assert (precious / "data-1-0").read_text() == "mine"


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    child, folder = _child(tmp_path)
    _kill(child)
    precious = folder.rename(tmp_path / "precious")
    (precious / MARK).unlink()
    folder.symlink_to(precious)
    assert clean_up() == ()
    assert (precious / "data-1-0").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"token": "0123456789abcdef"},
        {"machine": "another machine"},
        {"user": 4_000_000},
    ],
)
def test_a_folder_without_all_proofs_is_left_alone(
    change: dict[str, object], tmp_path: Path
) -> None:
    child, folder = _child(tmp_path)
    _kill(child)
    mark = msgspec.json.decode((folder / MARK).read_bytes())
    (folder / MARK).write_bytes(msgspec.json.encode({**mark, **change}))
    assert clean_up(tmp_path) == ()
    assert (folder / "data-1-0").exists()


def test_a_folder_of_the_name_without_a_mark_is_the_users_own(tmp_path: Path) -> None:
    folder = tmp_path / f"{PREFIX}0123456789abcdef"
    folder.mkdir()
    (folder / "data-1-0").write_text("mine")
    assert clean_up(tmp_path) == ()
    assert (folder / "data-1-0").read_text() == "mine"


def test_removing_twice_is_removing_once(tmp_path: Path, own_state: Path) -> None:
    own = make_folder(tmp_path)
    assert len(list(own_state.iterdir())) == 1
    own.remove()
    own.remove()
    assert list(own_state.iterdir()) == []
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_a_list_that_cannot_be_written_is_said_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnfitError, match="list of what Headroom makes"):
        make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_process_that_ends_in_order_or_by_sigterm_leaves_no_lock(tmp_path: Path) -> None:
    """The lock belongs to the kernel: however a process ends, its leftovers can be cleaned."""
    for number in (signal.SIGTERM, signal.SIGINT):
        child, folder = _child(tmp_path)
        os.kill(child.pid, number)
        child.communicate()
        assert len(clean_up()) == (1 if folder.exists() else 0) or not folder.exists()
        clean_up()
        assert not folder.exists()
