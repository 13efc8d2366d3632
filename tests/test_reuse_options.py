"""`--check`, `--fresh` and `--reuse`: whether a displayed value was measured now."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.experiment.machine import machine_identity
from headroom.experiment.machine.machine_identity import Machine
from tests.support.study_text import Head

STUDY = Head("story", "A program", "speed").then("""\
replications = { count = 6 }
responses = ["printed"]

[experiment.system]
name = "command"
argv = ["PROGRAM"]

[[experiment.system.metric]]
name = "printed"
regex = '(\\d+)'

[[claim]]
name = "small"
text = "It prints 21"
experiment = "speed"
metric = "printed"
kind = "value"
value = 21
tolerance = 0.1
""")


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a program outside the study that prints 21."""
    monkeypatch.setattr("headroom.systems.command.system.launcher_overhead", dict)
    study, found = tmp_path / "study", tmp_path / "bin" / "program"
    for folder in (study, found.parent):
        folder.mkdir()
    found.write_text("#!/bin/sh\necho 21\n")
    found.chmod(0o755)
    (study / "study.toml").write_text(STUDY.replace("PROGRAM", str(found)))
    monkeypatch.chdir(study)
    return found


def headroom(*words: str) -> Result:
    """Run a command; `run` and `show` print all results, not the answer alone."""
    return CliRunner().invoke(app, [*words, "--all"], env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_a_rebuilt_program_does_not_keep_its_old_figures(program: Path) -> None:
    """Cause: "7 replications reused ... holds 21 ms" for a program that now takes 500 ms."""
    assert headroom("run", "--check").exit_code == 0
    program.write_text("#!/bin/sh\necho 500\n")
    shown = headroom("show")
    assert "0 of 6 replications done" in shown.stdout
    assert "6 replications left out: measured with another program" in shown.stderr
    answer = headroom("run", "--check", "--reuse")
    assert f"measured with another program, input or device ({program})" in answer.stderr
    assert answer.exit_code == 3
    assert "500" in answer.stdout


def test_a_check_measures_again_unless_it_is_told_to_reuse() -> None:
    assert headroom("run").exit_code == 0
    again = headroom("run", "--check")
    assert "headroom: measured again: speed" in again.stderr
    assert "6 replications kept, not reused: measured before the last --fresh" in again.stderr
    reused = headroom("run", "--check", "--reuse")
    assert "6 replications of earlier runs reused" in reused.stderr
    assert "All 6 replications done, 6 measurements reused" in reused.stdout


def test_fresh_measures_again_and_says_so_in_table_and_page() -> None:
    headroom("run", "-q")
    first = _measured()
    answer = headroom("run", "--fresh")
    assert answer.exit_code == 0
    later = _measured()
    assert (later["count"], later["reused"]) == (6, 0)
    assert later["oldest"] > first["newest"]
    sentence = "6 replications, "
    assert f"Measured   {sentence}" in answer.stdout
    assert sentence in Path("results/report.html").read_text()
    sessions = json.loads(Path("results/results.json").read_text())["environments"]
    assert len(sessions) == 2, "a mark is no session"


def test_more_replications_are_told_from_those_of_earlier_sessions() -> None:
    headroom("run", "-q")
    answer = headroom("run", "--set", "experiment.replications.count=8")
    # Two sessions in different minutes make a longer line, which is wrapped.
    assert "6 of them reused from earlier sessions" in " ".join(answer.stdout.split())


def test_a_reader_at_another_machine_is_told_where_figures_come_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headroom("run", "-q")
    reader = Machine(machine_id="reader", cpu_count=2)
    monkeypatch.setattr(machine_identity, "machine_here", lambda: reader)
    shown = headroom("show")
    assert "All 6 replications done" in shown.stdout
    assert "experiment 'speed' was measured on another machine (machine-id" in shown.stderr


def _measured() -> dict[str, Any]:
    result = json.loads(Path("results/results.json").read_text())
    found: dict[str, Any] = result["experiments"][0]["measured"]
    return found
