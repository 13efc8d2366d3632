"""Which code runs without a question, which is refused, and what is remembered of an agreement."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.study.file.shipped import FOLDER, shipped_names, shipped_study
from headroom.experiment.study.file.study_file import load_study
from headroom.sessions import trust
from tests.support.strangers_study import CODE, DATA, write_study

pytestmark = pytest.mark.usefixtures("stranger")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a user who has agreed to nothing yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.setattr(trust, "ask", [])
    monkeypatch.delenv("CI", raising=False)
    return tmp_path / "configuration" / "headroom" / "trust.json"


def is_asked(folder: Path) -> bool:
    try:
        trust.check_trust(load_study(folder))
    except StudyError as refusal:
        return "headroom trust" in refusal.cure
    return False


@pytest.mark.parametrize("system", CODE)
def test_code_is_refused_until_the_user_agrees(system: str, tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", CODE[system])
    assert is_asked(folder)
    trust.remember(folder, trust.code_of(load_study(folder)))
    assert not is_asked(folder)


@pytest.mark.parametrize("system", DATA)
def test_data_needs_no_agreement(system: str, tmp_path: Path) -> None:
    assert not is_asked(write_study(tmp_path / "study", DATA[system]))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("model.py", "other = 1\n"),
        ("helper.py", "other = 1\n"),
        ("deep/run.sh", "echo other\n"),
        ("study.toml", ""),
    ],
)
def test_a_change_of_code_asks_again_and_results_do_not(
    file: str, text: str, tmp_path: Path
) -> None:
    folder = write_study(tmp_path / "study", CODE["program"])
    trust.remember(folder, trust.code_of(load_study(folder)))
    (folder / "results").mkdir()
    (folder / "results" / "made.py").write_text("new")
    (folder / "notes.txt").write_text("new")
    assert not is_asked(folder)
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    changed = path.read_text().replace("model.py", "helper.py") if file == "study.toml" else text
    path.write_text(changed)
    assert is_asked(folder)


def test_the_same_code_elsewhere_asks_and_a_folder_for_good_does_not(tmp_path: Path) -> None:
    here, there = (write_study(tmp_path / name / "study", CODE["model"]) for name in ("a", "b"))
    trust.remember(here, trust.code_of(load_study(here)))
    assert is_asked(there)
    trust.remember(tmp_path / "b", None, for_good=True)
    (there / "model.py").write_text("edited = 1\n")
    assert not is_asked(there)
    trust.forget(tmp_path / "b")
    assert is_asked(there)


def test_a_long_script_is_no_path(tmp_path: Path) -> None:
    """Cause: a word of more than 255 signs ended in "the path is too long"."""
    script = f"echo {'a' * 400}"
    system = f'system = {{ name = "command", argv = ["sh", "-c", "{script}"] }}'
    assert is_asked(write_study(tmp_path / "study", system))


def test_modules_next_to_a_model_elsewhere_count(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", 'model = "../shared/model.py"\n')
    (tmp_path / "shared").mkdir()
    for name in ("model.py", "helper.py"):
        (tmp_path / "shared" / name).write_text("one = 1\n")
    trust.remember(folder, trust.code_of(load_study(folder)))
    assert not is_asked(folder)
    (tmp_path / "shared" / "helper.py").write_text("other = 1\n")
    assert is_asked(folder)


def test_what_lies_below_a_trusted_folder_is_not_called_forgotten(tmp_path: Path) -> None:
    trust.remember(tmp_path, None, for_good=True)
    trust.remember(tmp_path / "study", None, for_good=True)
    assert trust.forget(tmp_path / "study") == str(tmp_path)
    assert trust.forget(tmp_path) == ""


def test_the_agreement_is_private_and_a_file_of_others_does_not_count(
    stranger: Path, tmp_path: Path
) -> None:
    folder = write_study(tmp_path / "study", CODE["model"])
    trust.remember(folder, trust.code_of(load_study(folder)))
    assert stat.S_IMODE(stranger.stat().st_mode) == 0o600
    stranger.chmod(0o666)
    with pytest.raises(StudyError, match="can be written by others"):
        trust.check_trust(load_study(folder))


def test_continuous_integration_and_shipped_studies_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FOLDER.is_dir()
    assert not any(is_asked(shipped_study(name)) for name in shipped_names())
    folder = write_study(tmp_path / "study", CODE["model"])
    monkeypatch.setenv("CI", "true")
    assert not is_asked(folder)


def test_a_command_cannot_hide_itself_from_the_terminal(tmp_path: Path) -> None:
    system = CODE["command"].replace("touch", r"touch\u001b[2K")
    code = trust.code_of(load_study(write_study(tmp_path / "study", system)))
    assert code is not None
    assert code.names == (r"'touch\x1b[2K' '{study}/mark'",)


def test_the_answer_on_a_terminal_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_study(tmp_path / "study", CODE["model"])
    answers: list[trust.Answer] = ["no", "yes", "always"]
    asked: list[tuple[str, ...]] = []

    def answer(_: Path, code: trust.Code) -> trust.Answer:
        asked.append(code.names)
        return answers[len(asked) - 1]

    monkeypatch.setattr(trust, "ask", [answer])
    assert is_asked(folder)
    assert not is_asked(folder)
    assert not is_asked(folder)
    (folder / "model.py").write_text("edited = 1\n")
    assert not is_asked(folder)
    (folder / "model.py").write_text("edited = 2\n")
    assert not is_asked(folder)
    assert asked == [("model.py",)] * 3


def test_the_command_refuses_without_a_terminal_and_runs_once_trusted(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", CODE["command"])
    mark = folder / "mark"

    def headroom(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headroom", *words, str(folder)],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env=dict(os.environ),
        )

    refused = headroom("run")
    assert (refused.returncode, mark.exists()) == (2, False)
    assert "would run code that you have not agreed to: touch" in refused.stderr
    assert "headroom trust" in refused.stderr
    assert headroom("trust").returncode == 0
    assert not mark.exists()
    headroom("run")
    assert mark.exists()
    assert headroom("trust", "--revoke").returncode == 0
    mark.unlink()
    assert (headroom("run").returncode, mark.exists()) == (2, False)
    headroom("run", "--trust")
    assert mark.exists()
