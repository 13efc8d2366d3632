"""The journal: durable, exclusive to one writer, and never the cause of lost rows."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError, ExitCode
from headroom.experiment.journal.journal import FORMAT, Journal, ReplicationRow
from headroom.experiment.machine.storage_facts import Mount
from headroom.experiment.protocol.run import Run, Series

ROW = ReplicationRow(
    experiment="web",
    point_key="00ff",
    fingerprint="f",
    levels={"users": 1, "rate": 0.5, "mode": "a", "is_on": True},
    replication=0,
    seed=2**63 - 1,
    state="done",
    started_at="2025-01-01T00:00:00.000000Z",
    wall_s=0.1,
    run=Run(values={"wall_s": 0.1}, series=(Series(metric="x", values=np.arange(3.0)),)),
    environment=1,
    position=4,
)


@contextmanager
def writer(path: Path) -> Iterator[Journal]:
    with Journal.open(path, create=True) as journal:
        yield journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "journal.sqlite"


def fill(path: Path, count: int) -> None:
    with writer(path) as journal:
        for number in range(count):
            journal.append(replace(ROW, replication=number))


def refusal(path: Path, *, create: bool) -> EnvironmentUnfitError:
    with pytest.raises(EnvironmentUnfitError) as caught:
        Journal.open(path, create=create)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.cure
    return caught.value


def test_a_row_comes_back_as_it_was(path: Path) -> None:
    fill(path, 1)
    with Journal.open(path, create=False) as journal:
        (row,) = journal.rows("web", "00ff")
    assert row.run is not None
    assert row.run.values == {"wall_s": 0.1}
    assert row.run.series[0].values.tolist() == [0.0, 1.0, 2.0]
    assert [type(level) for level in row.levels.values()] == [bool, str, float, int]
    assert replace(row, run=ROW.run) == ROW


def test_a_failed_row_keeps_its_message(path: Path) -> None:
    with writer(path) as journal:
        journal.append(replace(ROW, state="failed", run=None, error="no disk\n  hint: buy one"))
        (row,) = journal.rows("web", "00ff")
    assert (row.state, row.run, row.error) == ("failed", None, "no disk\n  hint: buy one")


def test_rows_are_added_and_never_replaced(path: Path) -> None:
    with writer(path) as journal:
        journal.append(replace(ROW, fingerprint="old"))
        journal.append(ROW)
        assert [row.fingerprint for row in journal.rows("web", "00ff")] == ["old", "f"]
        assert [row.fingerprint for row in journal.heads("web")] == ["old", "f"]
        assert journal.rows("web", "other") == []
        assert journal.row_count() == 2


def test_environments_are_numbered_from_one(path: Path) -> None:
    with writer(path) as journal:
        assert journal.add_environment({"host": {"name": "a"}}) == 1
        assert journal.add_environment({"host": {"name": "b"}, "ratio": 0.1}) == 2
        assert journal.environments() == [
            {"id": 1, "host": {"name": "a"}},
            {"id": 2, "host": {"name": "b"}, "ratio": 0.1},
        ]
        assert journal.newest_environment("web") == 0
        journal.append(replace(ROW, environment=2))
        assert journal.newest_environment("web") == 2


def test_a_reader_sees_rows_while_a_run_writes(path: Path) -> None:
    with writer(path) as journal:
        journal.append(ROW)
        with Journal.open(path, create=False) as reader:
            assert reader.row_count() == 1
            journal.append(replace(ROW, replication=1))
            assert reader.row_count() == 2


def test_a_closed_journal_is_one_file(path: Path) -> None:
    fill(path, 3)
    assert {file.name for file in path.parent.iterdir()} == {
        "journal.sqlite",
        "journal.sqlite.lock",
    }


def test_a_network_file_system_gets_no_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite: the index of the log is shared memory, which other hosts do not share."""
    home = Mount(device="0:1", point="/", type="nfs4", source="server:/", options="rw")
    with monkeypatch.context() as patch:
        patch.setattr("headroom.experiment.journal.journal.mount_of", lambda _: home)
        with writer(path) as journal:
            journal.append(ROW)
            assert journal._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
            assert not path.with_name("journal.sqlite-wal").exists()
    with writer(path) as journal:
        assert journal._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert journal.row_count() == 1


def test_two_runs_never_write_one_journal(path: Path) -> None:
    with writer(path):
        error = refusal(path, create=True)
    assert f"process {os.getpid()} on" in error.message
    with writer(path) as journal:
        assert journal.row_count() == 0


def test_the_lock_ends_with_its_process(path: Path) -> None:
    """A killed run must not lock its own resumption out."""
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from headroom.experiment.journal.journal import Journal\n"
        "Journal.open(Path(sys.argv[1]), create=True)\nos.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -9
    with writer(path) as journal:
        assert journal.row_count() == 0


def test_a_missing_journal_is_not_created_by_a_reader(path: Path) -> None:
    assert "no journal" in refusal(path, create=False).message
    assert not path.exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_left_alone(path: Path, *, create: bool) -> None:
    path.parent.mkdir()
    path.write_bytes(b"my precious notes " * 100)
    error = refusal(path, create=create)
    assert "damaged" in error.message
    assert path.read_bytes() == b"my precious notes " * 100


@pytest.mark.parametrize("create", [True, False])
def test_a_database_of_something_else_is_left_alone(path: Path, *, create: bool) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipe (name TEXT)")
    other.close()
    before = path.read_bytes()
    assert "not a journal of Headroom" in refusal(path, create=create).message
    assert path.read_bytes() == before


@pytest.mark.parametrize(("number", "age"), [(FORMAT + 1, "newer"), (0, "older")])
@pytest.mark.parametrize("create", [True, False])
def test_another_format_names_both_versions(
    path: Path, number: int, age: str, *, create: bool
) -> None:
    fill(path, 1)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    error = refusal(path, create=create)
    assert f"format {number}" in error.message
    assert f"reads format {FORMAT}" in error.message
    assert age in error.message


def test_a_torn_page_is_found_before_a_run_writes(path: Path) -> None:
    fill(path, 300)
    with path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(os.urandom(4096))
    before = path.read_bytes()
    assert "damaged" in refusal(path, create=True).message
    assert path.read_bytes() == before


DAMAGES = (
    "run = x'789c0000'",
    "run = CAST(substr(run, 1, 20) || randomblob(30) AS BLOB)",
    "levels = '{'",
    "levels = CAST(x'7bff7d' AS TEXT)",
    "replication = -1",
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_passed_over_and_counted(path: Path, damage: str) -> None:
    fill(path, 3)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"UPDATE replication SET {damage} WHERE id = 2")  # noqa: S608 - from the list above
    connection.close()
    for create in (False, True):
        with Journal.open(path, create=create) as journal:
            assert [row.replication for row in journal.rows("web", "00ff")] == [0, 2]
            assert journal.unreadable_count == 1
            heads = [row for row in journal.heads("web") if row.is_readable]
            assert [row.replication for row in heads] == [0, 2]
            assert journal.unreadable_count == 1


def test_a_damaged_environment_is_passed_over(path: Path) -> None:
    with writer(path) as journal:
        for number in range(3):
            journal.add_environment({"session": number})
        journal._connection.execute("UPDATE environment SET facts = '{\"a' WHERE id = 2")
        assert [facts["id"] for facts in journal.environments()] == [1, 3]


def test_a_journal_that_lost_its_log_is_still_a_journal(path: Path, tmp_path: Path) -> None:
    """Fault: killed and copied without its write-ahead log, which held every row."""
    copy = tmp_path / "copy" / "journal.sqlite"
    copy.parent.mkdir()
    with writer(path) as journal:
        journal.append(ROW)
        shutil.copy(path, copy)
    with Journal.open(copy, create=False) as journal:
        assert journal.row_count() == 0
    with writer(copy) as journal:
        journal.append(ROW)
        assert journal.notes == ()


def test_a_file_of_an_older_version_that_lost_its_log_is_not_taken_as_new(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert path.stat().st_size
    for create in (False, True):
        assert "lost" in refusal(path, create=create).message


def test_an_empty_file_with_a_log_is_not_taken_as_new(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    log = path.with_name(path.name + "-wal")
    log.write_bytes(bytes(5000))
    assert "its log journal.sqlite-wal is not" in refusal(path, create=True).message
    assert log.stat().st_size == 5000


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_in_the_place_of_the_journal_is_named(path: Path, *, create: bool) -> None:
    path.mkdir(parents=True)
    error = refusal(path, create=create)
    assert "folder where the journal belongs" in error.message
    assert "move the folder" in error.cure


def test_the_cure_for_damage_names_the_variant(tmp_path: Path) -> None:
    for folder, words in (("results", "STUDY --salvage"), ("quick", "STUDY --quick --salvage")):
        path = tmp_path / folder / "journal.sqlite"
        path.parent.mkdir()
        path.write_bytes(b"my precious notes " * 100)
        assert words in refusal(path, create=True).cure


def test_ten_thousand_small_rows_fit_into_50_megabytes(path: Path) -> None:
    """Counted over 500 rows: a few values and a hundred observations with their times."""
    random = np.random.default_rng(1)
    with writer(path) as journal:
        for number in range(500):
            values = random.exponential(size=100)
            series = Series(metric="response_s", values=values, end_times_s=values.cumsum())
            run = Run(values={"wall_s": 0.1, "user_s": 0.05}, series=(series,))
            journal.append(replace(ROW, replication=number, run=run))
    assert path.stat().st_size / 500 < 50e6 / 10_000


def test_an_empty_file_is_a_journal_that_has_not_begun(path: Path) -> None:
    """A run killed between creating the file and its tables."""
    path.parent.mkdir()
    path.touch()
    assert "no replication is stored yet" in refusal(path, create=False).message
    with writer(path) as journal:
        assert "was an empty file and is taken as new" in journal.notes[0]
        journal.append(ROW)
    with writer(path) as journal:
        assert journal.row_count() == 1
        assert journal.notes == ()


def test_a_full_disk_loses_no_stored_row(path: Path) -> None:
    """Fault: SQLite may not add pages any more."""
    with writer(path) as journal:
        journal.append(ROW)
        journal._connection.execute("PRAGMA max_page_count = 12")
        with pytest.raises(EnvironmentUnfitError, match="full") as caught:
            _append_until_refused(journal)
        assert "free some space" in caught.value.cure
        stored = journal.row_count()
        assert stored > 1
    with writer(path) as journal:
        assert journal.row_count() == stored
        journal.append(ROW)


def _append_until_refused(journal: Journal) -> None:
    series = Series(metric="x", values=np.random.default_rng(1).random(200))
    for number in range(10_000):
        journal.append(replace(ROW, replication=number, run=Run(series=(series,))))


LIMITED = """
import resource, sys
from pathlib import Path
from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.test_journal import _append_until_refused
with Journal.open(Path(sys.argv[1]), create=True) as journal:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        _append_until_refused(journal)
    except EnvironmentUnfitError as error:
        print(error)
        print(journal.row_count())
"""


def test_a_file_size_limit_loses_no_stored_row(path: Path) -> None:
    """Fault: the kernel refuses to let any file of the process grow further."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    message, cure, count = done.stdout.splitlines()
    assert "journal" in message
    assert "again" in cure
    assert int(count) > 1
    with writer(path) as journal:
        assert journal.row_count() == int(count)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a small file system in memory; skip if that is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    try:
        allowed = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a tmpfs needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_file_system_loses_no_stored_row(tmp_path: Path) -> None:
    """Fault: a real file system of 256 KiB."""
    folder = tmp_path / "small"
    with mounted(folder, "size=256k"):
        with (
            writer(folder / "journal.sqlite") as journal,
            pytest.raises(EnvironmentUnfitError) as caught,
        ):
            _append_until_refused(journal)
        assert "again" in caught.value.cure
        with Journal.open(folder / "journal.sqlite", create=False) as journal:
            rows = list(journal.heads("web"))
        assert [row.replication for row in rows] == list(range(len(rows)))
        assert len(rows) > 1


def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    with mounted(folder, "size=256k"):
        fill(folder / "journal.sqlite", 2)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        error = refusal(folder / "journal.sqlite", create=True)
        assert str(folder) in error.cure
        with Journal.open(folder / "journal.sqlite", create=False) as journal:
            assert journal.row_count() == 2


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where the folder should be")
    error = refusal(tmp_path / "results" / "quick" / "journal.sqlite", create=True)
    assert "cannot be opened" in error.message


def test_a_journal_locked_by_another_program_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, 1)
    monkeypatch.setattr("headroom.experiment.journal.journal.BUSY_LIMIT_S", 0.0)
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    with writer(path) as journal, pytest.raises(EnvironmentUnfitError, match="locked") as caught:
        journal.append(ROW)
    other.close()
    assert "close the program" in caught.value.cure
