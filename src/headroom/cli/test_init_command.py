"""A new study runs as it is written; what it can be like is named."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["server", "spax"])
def test_a_machine_that_is_like_another_says_only_what_differs(name: str) -> None:
    answer = CliRunner().invoke(app, ["init", "mine", "--like", name])
    assert answer.exit_code == 0, answer.stderr
    lines = Path("mine/machine.toml").read_text().splitlines()
    said = [line for line in lines if line and not line.startswith(("#", "["))]
    assert said == [f'like = "{name}"']
    planned = CliRunner().invoke(app, ["run", "mine", "--dry-run"])
    assert planned.exit_code == 0, planned.stderr


def test_the_numbers_of_the_example_are_ones_of_a_machine() -> None:
    """What is commented out must be right once it is not."""
    CliRunner().invoke(app, ["init", "mine", "--like", "server"])
    path = Path("mine/machine.toml")
    path.write_text(path.read_text().replace("# processor_mhz", "processor_mhz"))
    path.write_text(path.read_text().replace("# terminals", "terminals"))
    answer = CliRunner().invoke(app, ["model", "show", "mine/model.py"])
    assert answer.exit_code == 0, answer.stderr
    assert "processor_mhz = 3500 MHz" in answer.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--like", "serve"), "there is no machine 'serve'"),
        (("--like", "spax", "--system", "storage"), "--system storage is none"),
    ],
)
def test_what_a_machine_cannot_be_like_is_refused(words: tuple[str, ...], why: str) -> None:
    answer = CliRunner().invoke(app, ["init", "mine", *words])
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())
    assert not Path("mine").exists()
