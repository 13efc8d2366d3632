"""A cached result is returned only while nothing has changed."""

import dataclasses
import os
from pathlib import Path

import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.kept_result import KeptResult, result_key
from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine.program_identity import journal_stamp
from headroom.experiment.protocol.run import Run
from tests.support.example_plan import ExampleStudy


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a closed journal that was written long ago, as far as its times tell."""
    path = tmp_path / "journal.sqlite"
    with Journal.open(path, create=True) as journal:
        ExampleStudy().fill(journal, lambda level, n: Run(values={"throughput": 1.0 * level + n}))
    return path


def key(path: Path, study: ExampleStudy, *, identity: bytes = b"program") -> bytes:
    with Journal.open(path, create=False) as journal:
        return result_key(
            study.plan(), journal, identity=identity, stamp=(1, 2, 3, 4), command="headroom run ."
        )


def test_a_kept_result_is_the_result(path: Path) -> None:
    with Journal.open(path, create=False) as journal:
        result = analyse(ExampleStudy().plan(), journal, environments=(), command="headroom run .")
    kept = KeptResult(path.with_name("result.cache"))
    assert kept.get(b"k" * 16) is None
    kept.put(b"k" * 16, result)
    assert kept.get(b"k" * 16) == result
    assert kept.get(b"l" * 16) is None
    kept.path.write_bytes(kept.path.read_bytes()[:-1])
    assert kept.get(b"k" * 16) is None


def test_the_key_changes_with_the_study_and_the_program(path: Path) -> None:
    study = ExampleStudy()
    keys = [
        key(path, study),
        key(path, study, identity=b"another program"),
        key(path, dataclasses.replace(study, seed=8)),
        key(path, dataclasses.replace(study, levels=(1, 2, 3))),
        key(path, dataclasses.replace(study, kept=["thr*"])),
    ]
    assert len(set(keys)) == len(keys)
    assert key(path, study) == keys[0]


def test_a_journal_that_was_just_written_or_is_being_written_has_no_stamp(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = path.stat().st_ctime_ns
    monkeypatch.setattr("headroom.experiment.machine.program_identity.time_ns", lambda: now + 1)
    assert journal_stamp(path) is None
    monkeypatch.setattr("headroom.experiment.machine.program_identity.time_ns", lambda: now + 10**9)
    before = journal_stamp(path)
    assert before is not None
    os.utime(path, ns=(1, 1))
    assert journal_stamp(path) != before
    path.with_name(path.name + "-wal").write_bytes(b"rows")
    assert journal_stamp(path) is None
