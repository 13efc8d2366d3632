"""SQLite under commits: the counts are true, nothing stays behind, memory is refused as a disk."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from studies.quick_form import ClaimRows, QuickForm, QuickRun

SCRIPT = Path(__file__).resolve().parent / "commits.py"
MEMORY = Path("/dev/shm")  # noqa: S108 - the place itself is meant


def commits(
    folder: Path, script: Path = SCRIPT, *, journal: str = "wal", rows: int = 3
) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(script), str(folder), "--journal", journal]
    argv += ["--synchronous", "off", "--rows", str(rows), "--seconds", "0.02"]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


class TestQuickForm(QuickForm, ClaimRows):
    """The quick variant, which `headroom demo` runs."""

    def test_rows_and_commits_agree(self, quick: QuickRun) -> None:
        """Law: rows a second are commits a second times the rows of a commit."""
        for point in quick.points():
            rows, of_commit = (
                point["estimates"][name]["value"] for name in ("rows_per_s", "commits_per_s")
            )
            assert rows == pytest.approx(of_commit * point["levels"]["rows"], rel=1e-9)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_the_database_holds_the_rows_that_are_reported(tmp_path: Path, journal: str) -> None:
    """Oracle: SQLite itself counts, in a copy of the program that removes nothing."""
    script = tmp_path / "kept.py"
    script.write_text(SCRIPT.read_text("utf-8").replace("shutil.rmtree(folder)", "shutil"), "utf-8")
    done = commits(tmp_path / "new", script, journal=journal, rows=7)
    found = json.loads(done.stdout)
    database = sqlite3.connect(tmp_path / "new" / "data.sqlite")
    (count,) = database.execute("SELECT count(*) FROM item").fetchone()
    (mode,) = database.execute("PRAGMA journal_mode").fetchone()
    database.close()
    assert count == found["rows"] == 7 * found["commits"] > 0
    assert mode == journal


def test_nothing_is_left_and_nothing_is_overwritten(tmp_path: Path) -> None:
    assert commits(tmp_path / "new").returncode == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    assert commits(tmp_path / "mine").returncode != 0
    assert (tmp_path / "mine").is_dir()


@pytest.mark.skipif(not MEMORY.is_dir(), reason="this machine has no folder in memory")
def test_a_folder_in_memory_is_refused_with_a_hint(tmp_path: Path) -> None:
    folder = MEMORY / f"headroom-{tmp_path.name}"
    done = commits(folder)
    assert done.returncode != 0
    assert "is in memory (tmpfs)" in done.stderr
    assert "--set experiment.fixed.target=" in done.stderr
    assert not folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
