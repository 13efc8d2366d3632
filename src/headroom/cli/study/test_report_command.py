"""Pages and pictures by command: a study, a folder of studies, figures as files."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.analysis.results_file import read_results
from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.report.check import agreement, rows
from headroom.report.check.agreement import disagreements
from headroom.report.test_page_in_browser import browser_or_skip
from tests.test_first_light import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study that has run."""
    folder = write_study(tmp_path_factory.mktemp("studies") / "shop", completions=500)
    assert CliRunner().invoke(app, ["run", str(folder), "--quiet"]).exit_code == ExitCode.DONE
    return folder


def test_figures_are_written_as_files_and_counted_on_stderr(study: Path, tmp_path: Path) -> None:
    argv = ["export", str(study), "--what", "figures", "--output", str(tmp_path / "new" / "here")]
    answer = CliRunner().invoke(app, argv)
    written = sorted(path.name for path in (tmp_path / "new" / "here").iterdir())
    assert answer.exit_code == ExitCode.DONE, answer.output
    assert written[0] == "01-answer.svg"
    assert answer.stdout == ""
    assert f"{len(written)} figures in" in answer.stderr


@pytest.mark.deep
def test_figures_can_be_png(study: Path, tmp_path: Path) -> None:
    browser_or_skip()
    argv = ["export", str(study), "--what", "figures", "--format", "png", "-o", str(tmp_path)]
    assert CliRunner().invoke(app, argv).exit_code == ExitCode.DONE
    content = (tmp_path / "01-answer.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width = int.from_bytes(content[16:20], "big")
    assert width == 2 * (724 + 36)


def test_png_without_a_browser_says_what_to_install(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMIUM", "no-such-program")
    argv = ["export", str(study), "--what", "figures", "--format", "png", "-o", str(tmp_path)]
    answer = CliRunner().invoke(app, argv)
    assert answer.exit_code == ExitCode.ENVIRONMENT
    assert "install Chromium" in answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--what", "figures"], "--output FOLDER"),
        (["--what", "figures", "--format", "csv", "-o", "x"], "--format svg"),
        (["--format", "png"], "--what figures"),
    ],
)
def test_a_wrong_choice_is_refused_with_a_hint(study: Path, words: list[str], message: str) -> None:
    answer = CliRunner().invoke(app, ["export", str(study), *words])
    assert answer.exit_code == ExitCode.USAGE
    assert message in answer.stderr


def test_a_folder_of_studies_becomes_one_page(study: Path) -> None:
    answer = CliRunner().invoke(app, ["report", str(study.parent)])
    page = study.parent / "index.html"
    assert answer.stdout.strip() == str(page)
    assert 'href="shop/results/report.html"' in page.read_text(encoding="utf-8")
    again = CliRunner().invoke(app, ["report", str(study.parent)])
    assert again.exit_code == ExitCode.DONE


def test_a_folder_without_studies_is_refused(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert answer.exit_code == ExitCode.USAGE


def test_the_command_ends_with_3_where_an_answer_is_contradicted(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = CliRunner().invoke(app, ["report", str(study), "--check"])
    assert (whole.exit_code, "0 contradictions" in whole.stderr) == (ExitCode.DONE, True)
    page = (study / "results" / "report.html").read_text(encoding="utf-8")
    assert disagreements(read_results(study / "results" / "results.json"), page) == []
    monkeypatch.setattr(rows, "faults_of", lambda _: ["it is not so"])
    monkeypatch.setattr(agreement, "disagreements", lambda *_: [])
    broken = CliRunner().invoke(app, ["report", str(study), "--check"])
    assert (broken.exit_code, "it is not so" in broken.stderr) == (ExitCode.CLAIMS_DIFFER, True)
