"""Salvage recovers every undamaged row, whatever the damage, and deletes nothing."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.journal_salvage import Salvage, salvage
from headroom.experiment.journal.test_journal import ROW, writer
from headroom.experiment.protocol.run import Run, Series

COUNT = 120
PAGE = 4096
Row: TypeAlias = tuple[Any, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a closed journal whose rows are short, longer than a page, and failed."""
    path = tmp_path / "journal.sqlite"
    with writer(path) as journal:
        fill(journal, COUNT)
    return path


def fill(journal: Journal, count: int) -> None:
    noise = np.random.default_rng(1)
    for number in range(count):
        if number % 20 == 0:
            journal.add_environment({"host": {"name": "here"}, "session": number})
        size = 1500 if number % 7 == 0 else 20
        run = Run(series=(Series(metric="x", values=noise.random(size)),))
        row = replace(ROW, replication=number, run=run, wall_s=float(number % 3), error="")
        failed = replace(row, run=None, state="failed", error="no disk")
        journal.append(failed if number % 11 == 0 else row)


def content(path: Path) -> dict[int, Row]:
    connection = sqlite3.connect(path)
    rows = {row[0]: row for row in connection.execute("SELECT * FROM replication")}
    connection.close()
    return rows


def root_page(path: Path, name: str) -> int:
    connection = sqlite3.connect(path)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,))
    connection.close()
    return int(page[0])


def overwrite(path: Path, offset: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(random.Random(3).randbytes(size))  # noqa: S311 - noise needs no secrecy


def damage_header(path: Path) -> None:
    overwrite(path, 0, 300)


def damage_root_of_rows(path: Path) -> None:
    overwrite(path, (root_page(path, "replication") - 1) * PAGE, PAGE)


def damage_index(path: Path) -> None:
    overwrite(path, (root_page(path, "replication_of_point") - 1) * PAGE, PAGE)


def lose_environments(path: Path) -> None:
    overwrite(path, (root_page(path, "environment") - 1) * PAGE, PAGE)


HARMLESS: dict[str, Callable[[Path], None]] = {
    "header": damage_header,
    "root of the rows": damage_root_of_rows,
    "index": damage_index,
    "environments": lose_environments,
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("damage", HARMLESS.values(), ids=HARMLESS)
def test_damage_that_hits_no_row_loses_none(path: Path, damage: Callable[[Path], None]) -> None:
    whole = content(path)
    damage(path)
    before = path.read_bytes()
    salvaged = salvage(path)
    assert salvaged == Salvage(
        rescued=COUNT, lost=0, kept_at=path.with_name("journal.sqlite.damaged-1")
    )
    assert content(path) == whole
    assert salvaged.kept_at.read_bytes() == before
    with writer(path) as journal:
        assert journal.row_count() == COUNT


@pytest.mark.parametrize("damage", [damage_header, damage_root_of_rows, damage_index])
@pytest.mark.parametrize("is_writer", [True, False])
def test_a_damaged_structure_is_refused_by_readers_too(
    path: Path, damage: Callable[[Path], None], *, is_writer: bool
) -> None:
    damage(path)
    with pytest.raises(EnvironmentUnfitError, match="is damaged"):
        Journal.open(path, create=is_writer)


def test_environments_keep_their_numbers(path: Path) -> None:
    with Journal.open(path, create=False) as journal:
        before = journal.environments()
    damage_header(path)
    salvage(path)
    with Journal.open(path, create=False) as journal:
        assert journal.environments() == before
    assert len(before) == COUNT // 20


@pytest.mark.parametrize("seed", range(12))
def test_300_random_bytes_lose_only_the_rows_that_they_hit(path: Path, seed: int) -> None:
    """Fault: the place is random; a page holds a few rows, and a long row several pages."""
    whole = content(path)
    offset = random.Random(seed).randrange(PAGE, path.stat().st_size - 300)  # noqa: S311 - no secrecy
    overwrite(path, offset, 300)
    salvaged = salvage(path)
    rescued = content(path)
    assert all(whole[number] == row for number, row in rescued.items())
    assert (salvaged.rescued, salvaged.lost) == (len(rescued), COUNT - len(rescued))
    assert salvaged.lost <= 40
    with writer(path) as journal:
        assert len(journal.rows("web", "00ff")) == len(rescued)
        assert journal.unreadable_count == 0


def test_a_cut_off_file_gives_what_is_left(path: Path) -> None:
    whole = content(path)
    os.truncate(path, path.stat().st_size // 2)
    salvaged = salvage(path)
    assert salvaged.rescued > COUNT // 3
    assert content(path).items() <= whole.items()


def test_a_killed_run_is_salvaged_with_its_log(tmp_path: Path) -> None:
    """Rows that are only in the write-ahead log count; the main file has no row of theirs."""
    path = tmp_path / "killed" / "journal.sqlite"
    path.parent.mkdir()
    original = tmp_path / "journal.sqlite"
    with writer(original) as journal:
        fill(journal, 20)
        for name in ("journal.sqlite", "journal.sqlite-wal"):
            shutil.copy(original.with_name(name), path.with_name(name))
    damage_header(path)
    salvaged = salvage(path)
    assert (salvaged.rescued, salvaged.lost) == (20, 0)
    assert content(path) == content(original)
    assert salvaged.kept_at.with_name(salvaged.kept_at.name + "-wal").exists()


def test_a_lost_main_file_leaves_what_is_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "killed" / "journal.sqlite"
    path.parent.mkdir()
    with writer(tmp_path / "journal.sqlite") as journal:
        fill(journal, 20)
        shutil.copy(tmp_path / "journal.sqlite-wal", path.with_name("journal.sqlite-wal"))
    with pytest.raises(EnvironmentUnfitError, match="empty or missing"):
        Journal.open(path, create=True)
    assert salvage(path).rescued == 20


def test_a_second_salvage_keeps_the_first_damaged_file(path: Path) -> None:
    first, second = salvage(path), salvage(path)
    assert (first.kept_at.name, second.kept_at.name) == (
        "journal.sqlite.damaged-1",
        "journal.sqlite.damaged-2",
    )
    assert {file.name for file in path.parent.iterdir()} == {
        "journal.sqlite",
        "journal.sqlite.lock",
        first.kept_at.name,
        second.kept_at.name,
    }


@pytest.mark.parametrize("notes", [b"", b"my precious notes " * 1000], ids=["empty", "notes"])
def test_a_file_without_rows_is_left_alone(tmp_path: Path, notes: bytes) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(notes)
    with pytest.raises(EnvironmentUnfitError, match="no replication can be read"):
        salvage(path)
    assert path.read_bytes() == notes
    assert {file.name for file in tmp_path.iterdir()} == {path.name, path.name + ".lock"}


def test_a_missing_journal_and_a_folder_say_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfitError, match="no journal"):
        salvage(tmp_path / "journal.sqlite")
    (tmp_path / "journal.sqlite").mkdir()
    with pytest.raises(EnvironmentUnfitError, match="a folder where the journal belongs"):
        salvage(tmp_path / "journal.sqlite")


def test_a_journal_that_a_run_writes_is_not_salvaged(path: Path) -> None:
    with writer(path), pytest.raises(EnvironmentUnfitError, match="another run"):
        salvage(path)


def test_a_journal_of_another_format_is_left_to_its_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(EnvironmentUnfitError, match="format 9"):
        salvage(path)
