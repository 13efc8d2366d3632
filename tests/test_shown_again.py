"""What is said about left-out measurements is kept, and found again when the journal changes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.experiment.machine import program_identity
from headroom.sessions import study_session
from headroom.sessions.study_session import existing_journal, open_plan, what_counts

STUDY = """
schema = 1
name = "programs"
title = "Programs"
seed = 1
[[experiment]]
name = "run"
system = {{ name = "command", argv = ["echo", {word}] }}
replications.count = 2
"""


def write(folder: Path, word: str) -> None:
    text = STUDY.format(word=json.dumps(word))
    (folder / "study.toml").write_text(text)


def run(folder: Path) -> None:
    ran = CliRunner().invoke(app, ["run", str(folder), "--quiet"])
    assert ran.exit_code == 0, ran.stderr


def notes(folder: Path) -> list[str]:
    plan = open_plan(folder, quick=False)
    with existing_journal(plan, print) as journal:
        return what_counts(plan, journal)


def test_rows_are_surveyed_again_only_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_identity, "_SETTLED_NS", 0)
    write(tmp_path, "one")
    run(tmp_path)
    write(tmp_path, "two")
    (first,) = notes(tmp_path)
    assert first.startswith("2 replications left out")
    with monkeypatch.context() as patch:
        patch.setattr(study_session, "survey", None)  # whoever surveys, fails
        assert notes(tmp_path) == [first]
    run(tmp_path)
    assert notes(tmp_path) == []
    write(tmp_path, "three")
    (last,) = notes(tmp_path)
    assert last.startswith("2 replications left out")
