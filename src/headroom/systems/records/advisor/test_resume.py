"""A study of searches resumes after a kill: searches that were kept are not repeated."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.study_text import Head

STUDY = Head("advice", "Layouts", "layouts", seed=3).then("""\
system = { name = "records_advisor", seconds = 1, quick = true }
factors = { layout = ["array", "sorted"] }
fixed = { records = 2000 }
replications = { count = 1 }
""")
DRIVER = """
import sys
from tests.support.study_sessions import kill_at_row
from headroom.cli import main
kill_at_row(int(sys.argv[1]), sys.argv[2])
sys.argv = ["headroom", "run", sys.argv[3], "--quiet"]
main()
"""
Row = tuple[object, ...]


def driven(folder: Path, number: int = -1, stage: str = "before") -> int:
    """Run the study in another process, which may kill itself at a row; return how it ended."""
    command = [sys.executable, "-c", DRIVER, str(number), stage, str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def rows(folder: Path) -> list[Row]:
    """Return all rows in the order of their commits, whole."""
    path = folder / "results" / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT * FROM replication ORDER BY id").fetchall()


@pytest.mark.deep
def test_searches_that_were_kept_are_not_repeated_after_a_kill(tmp_path: Path) -> None:
    """Fault: SIGKILL of the driver between the second search and its row."""
    (tmp_path / "study.toml").write_text(STUDY)
    assert driven(tmp_path, 1, "before") == -signal.SIGKILL
    kept = rows(tmp_path)
    assert len(kept) == 1
    assert driven(tmp_path) == 0
    first, second = rows(tmp_path)
    assert first == kept[0]
    assert second != first
