"""A damaged journal: whatever byte is wrong, each row is the one that was stored, or is missed."""

import os
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.journal.journal_salvage import salvage
from headroom.experiment.journal.test_journal import ROW, writer
from headroom.experiment.protocol.run import Run, Series


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "journal.sqlite"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, ReplicationRow]]:
    """Return a journal of 40 rows, short, longer than a page, and failed, and its rows."""
    path = tmp_path_factory.mktemp("whole") / "journal.sqlite"
    noise = np.random.default_rng(1)
    with writer(path) as journal:
        journal.add_environment({"host": "here"})
        for number in range(40):
            values = noise.random(1500 if number % 7 == 0 else 20)
            run = Run(series=(Series(metric="x", values=values),))
            row = replace(ROW, replication=number, run=run)
            failed = replace(row, run=None, state="failed", error="no disk")
            journal.append(failed if number % 11 == 0 else row)
    return path, {row.replication: row for row in rows_of(path)[0]}


def rows_of(path: Path) -> tuple[list[ReplicationRow], int]:
    """Return the rows of a journal, and how many it says are damaged."""
    with Journal.open(path, create=False) as journal:
        rows = journal.rows("web", "00ff")
        assert len(list(journal.heads("web"))) <= 40
        return rows, journal.unreadable_count


FLIP = st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
"""A place, as a share of the file, and the change of its byte."""


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(FLIP, min_size=1, max_size=3))
def test_rows_lost_to_flipped_bytes_are_rows_said(
    stored: tuple[Path, dict[int, ReplicationRow]], path: Path, flips: list[tuple[float, int]]
) -> None:
    """Cause: a flipped time or error was believed, and one in the index hid rows."""
    original, whole = stored
    content = bytearray(original.read_bytes())
    for place, change in flips:
        content[int(place * len(content))] ^= change
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    try:
        found, said = rows_of(path)
    except EnvironmentUnfitError:
        with suppress(EnvironmentUnfitError):  # so damaged that no row is left
            salvaged = salvage(path)
            found, said = rows_of(path)
            assert len(found) + salvaged.lost == 40
            assert said == 0
    else:
        assert len(found) + said == 40
    for row in found:
        assert repr(row) == repr(whole[row.replication])


def copy_of_a_killed_run(path: Path, copy: Path) -> Path:
    """Copy a journal whose 20 rows are in its log alone; return the log of the copy."""
    copy.parent.mkdir()
    with writer(path) as journal:
        for number in range(20):
            journal.append(replace(ROW, replication=number))
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(path.with_name(name), copy.with_name(name))
    return copy.with_name(f"{path.name}-wal")


@pytest.mark.parametrize("place", [5, 20, 32 + 4, 5_000])
def test_rows_behind_a_damaged_place_of_the_log_are_not_lost_in_silence(
    place: int, path: Path, tmp_path: Path
) -> None:
    """Fault: SQLite passes over all commits from the first wrong checksum on, and says nothing."""
    copy = tmp_path / "copy" / "journal.sqlite"
    log = copy_of_a_killed_run(path, copy)
    content = bytearray(log.read_bytes())
    content[place] ^= 16
    log.write_bytes(content)
    for create in (True, False):
        with pytest.raises(EnvironmentUnfitError, match="holds rows behind a damaged one"):
            Journal.open(copy, create=create)
    assert salvage(copy).rescued == 20
    assert len(rows_of(copy)[0]) == 20


def test_a_log_that_ends_within_a_write_is_said(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "journal.sqlite"
    log = copy_of_a_killed_run(path, copy)
    os.truncate(log, log.stat().st_size - 100)
    with Journal.open(copy, create=False) as journal:
        assert len(journal.rows("web", "00ff")) == 19
        assert "what was stored last is lost" in journal.notes[0]


def test_a_journal_of_an_earlier_version_is_read_and_continued(path: Path) -> None:
    with writer(path) as journal:
        journal.append(ROW)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE replication DROP COLUMN checksum")
    connection.commit()
    connection.close()
    before = rows_of(path)
    with writer(path) as journal:
        journal.append(replace(ROW, replication=1))
    after = rows_of(path)
    assert (len(before[0]), len(after[0]), after[1]) == (1, 2, 0)
    assert repr(after[0][0]) == repr(before[0][0])
