"""Every command that writes a file which a user names leaves studies and their results alone."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode

STUDY = """
schema = 1
name = "queue"
title = "A queue"
seed = 1

[[experiment]]
name = "queue"
system = { name = "model", model = "mm1", completions = 1000 }
fixed = { utilization = 0.5 }
replications = { count = 2 }
"""
OUTPUTS = {
    "report": ["report", "study", "--output"],
    "index": ["report", ".", "--output"],
    "export": ["export", "study", "--output"],
    "history": ["history", "study/results/results.json", "--page"],
    "picture": ["model", "picture", "mm1", "--output"],
    "trace": ["model", "trace", "mm1", "--output"],
    "jsimg": ["model", "jsimg", "mm1", "--output"],
    "series": ["model", "series", "mm1", "--every", "10", "--completions", "1000", "--output"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outputs")
    (made / "study").mkdir()
    (made / "study/study.toml").write_text(STUDY, encoding="utf-8")
    (made / "study/model.py").write_text("# a model", encoding="utf-8")
    assert CliRunner().invoke(app, ["run", str(made / "study"), "--quiet"]).exit_code == 0
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("command", sorted(OUTPUTS))
def test_no_output_replaces_a_file_of_a_study(command: str, tmp_path: Path) -> None:
    for name in ("study.toml", "model.py", "results/journal.sqlite", "results/results.json"):
        file = Path("study", name)
        before = file.read_bytes()
        link = tmp_path / f"{file.stem}.html"
        link.symlink_to(file.absolute())
        for target in (file, link):
            answer = CliRunner().invoke(app, [*OUTPUTS[command], str(target)])
            assert answer.exit_code == ExitCode.USAGE, answer.output
            assert "is a file of a study or of its results" in " ".join(answer.stderr.split())
        assert file.read_bytes() == before


@pytest.mark.parametrize("command", sorted(OUTPUTS))
def test_an_output_is_written_again_and_without_its_folder_says_so(command: str) -> None:
    for _ in range(2):
        answer = CliRunner().invoke(app, [*OUTPUTS[command], "output"])
        assert answer.exit_code == 0, answer.output
    assert Path("output").stat().st_size > 100
    answer = CliRunner().invoke(app, [*OUTPUTS[command], "missing/output"])
    assert answer.exit_code != 0
    assert "mkdir -p" in answer.stderr


def test_a_search_leaves_the_results_of_a_study_alone() -> None:
    before = Path("study/results/report.html").read_bytes()
    words = ["mm1", "--target", "response_s_mean<=1", "--over", "utilization=0.1,0.2"]
    answer = CliRunner().invoke(app, ["size", *words, "--results", "study/results"])
    assert answer.exit_code == ExitCode.USAGE
    assert "has the results of a study" in answer.stderr
    assert Path("study/results/report.html").read_bytes() == before
