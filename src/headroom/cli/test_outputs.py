"""Every command that writes a file which a user names leaves studies and their results alone."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.errors import ExitCode
from tests.support.study_text import Head

STUDY = Head("queue", "A queue", "queue").then("""\
system = { name = "model", model = "mm1", completions = 1000 }
replications = { count = 2 }
""")
COMMANDS = [
    "report study --output",
    "report . --output",
    "export study --output",
    "history study/results/results.json --page",
    "model picture mm1 --output",
    "model trace mm1 --output",
    "model jsimg mm1 --output",
    "model series mm1 --every 10 --completions 1000 --output",
]


def called(command: str) -> Result:
    return CliRunner().invoke(app, command.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outputs")
    (made / "study").mkdir()
    (made / "study/study.toml").write_text(STUDY, encoding="utf-8")
    (made / "study/model.py").write_text("# a model", encoding="utf-8")
    assert called(f"run {made}/study --quiet").exit_code == 0
    return made


@pytest.mark.deep
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_is_written_twice_and_replaces_no_file_of_a_study(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    for name in ("study.toml", "model.py", "results/journal.sqlite", "results/results.json"):
        file, link = folder / "study" / name, tmp_path / f"{Path(name).stem}.html"
        link.symlink_to(file)
        before = file.read_bytes()
        for target in (file, link):
            answer = called(f"{command} {target}")
            assert answer.exit_code == ExitCode.USAGE, answer.output
            assert "is a file of a study or of its results" in " ".join(answer.stderr.split())
        assert file.read_bytes() == before
    assert [called(f"{command} output").exit_code for _ in range(2)] == [0, 0]
    assert Path("output").stat().st_size > 100
    assert "mkdir -p" in called(f"{command} missing/output").stderr


def test_a_search_leaves_the_results_of_a_study_alone(folder: Path) -> None:
    words = "size mm1 --target response_s_mean<=1 --over utilization=0.1,0.2 --results"
    assert "has the results of a study" in called(f"{words} {folder}/study/results").stderr
