"""The demo copies once and commits to a disk; `tests/test_wheel.py` runs it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.cli.study import demo_command
from headroom.cli.study.run_command import RunCommand
from headroom.errors import ExitCode
from headroom.experiment.machine.storage_facts import Mount


def runs(monkeypatch: pytest.MonkeyPatch, *codes: int) -> list[tuple[str, Sequence[str]]]:
    """Let each run of a study end with a code; return where the studies and settings are noted."""
    noted: list[tuple[str, Sequence[str]]] = []

    def run(asked: RunCommand) -> None:
        noted.append((asked.study.name, asked.settings))
        raise typer.Exit(codes[len(noted) - 1])

    monkeypatch.setattr(demo_command, "run_study", run)
    return noted


def mounts(monkeypatch: pytest.MonkeyPatch, *in_memory: str) -> None:
    def mount_of(folder: Path) -> Mount:
        kind = "tmpfs" if str(folder).startswith(in_memory) else "ext4"
        return Mount(device="1:1", point="/", type=kind, source="/dev/disk", options="")

    monkeypatch.setattr(demo_command, "mount_of", mount_of)


def test_a_second_demo_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, 0, 0, 0, 1)
    mounts(monkeypatch, "/nowhere")
    first = CliRunner().invoke(app, ["demo", str(tmp_path / "demo")])
    assert first.exit_code == ExitCode.DONE, first.output
    mine = tmp_path / "demo" / "quickstart" / "study.toml"
    mine.write_text("# mine")
    second = CliRunner().invoke(app, ["demo", str(tmp_path / "demo")])
    assert second.exit_code == ExitCode.POINTS_FAILED
    assert mine.read_text() == "# mine"
    assert "The pages, to open in a browser:" in second.stdout


def test_an_interruption_ends_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = runs(monkeypatch, ExitCode.INTERRUPTED)
    answer = CliRunner().invoke(app, ["demo", str(tmp_path / "demo")])
    assert answer.exit_code == ExitCode.INTERRUPTED
    assert [name for name, _ in noted] == ["quickstart"]


def test_in_memory_the_commits_go_to_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = runs(monkeypatch, 0, 0)
    mounts(monkeypatch, str(tmp_path))
    answer = CliRunner().invoke(app, ["demo", str(tmp_path)])
    assert answer.exit_code == ExitCode.DONE, answer.output
    assert noted[1] == ("sqlite_commits", ("experiment.fixed.target=/var/tmp",))
    assert "SQLite commits to /var/tmp (ext4 on /dev/disk)" in answer.stderr


def test_a_machine_without_a_disk_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, 0, 0)
    mounts(monkeypatch, "/")
    answer = CliRunner().invoke(app, ["demo", str(tmp_path)])
    assert answer.exit_code == ExitCode.ENVIRONMENT
    assert "hint: name a folder on a disk" in answer.stderr


def test_a_path_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "note").write_text("")
    answer = CliRunner().invoke(app, ["demo", str(tmp_path)])
    assert answer.exit_code == ExitCode.ENVIRONMENT
    assert "is not an empty folder" in answer.stderr
