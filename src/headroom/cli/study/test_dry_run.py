"""Output of `headroom run --dry-run`, before anything is created."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app

_STUDY = """
schema = 1
name = "two"
title = "Two experiments on the same folder"
seed = 1
"""
_EXPERIMENT = """
[[experiment]]
name = "{name}"
fixed = {{ seconds = 0.1 }}
replications = {{ count = 2 }}

[experiment.system]
name = "storage"
targets.one = {{ kind = "file", path = "{{study}}", bytes = "1 MiB" }}
"""


@pytest.mark.parametrize(
    ("only", "users", "count"),
    [([], "(first, second)", "2 points"), (["--only", "second"], "(second)", "1 point")],
)
def test_what_is_made_names_the_experiments_that_run(
    only: list[str], users: str, count: str, tmp_path: Path
) -> None:
    text = _STUDY + "".join(_EXPERIMENT.format(name=name) for name in ("first", "second"))
    (tmp_path / "study.toml").write_text(text)
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run", *only])
    assert answer.exit_code == 0, answer.output
    (made,) = [line for line in answer.stdout.splitlines() if "writes files" in line]
    assert made.endswith(users)
    assert answer.stdout.splitlines()[-1] == count
    assert all(line == line.rstrip() for line in answer.stdout.splitlines())


def test_what_two_replications_can_never_decide_is_said_before_the_first_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "study.toml").write_text(_STUDY + _EXPERIMENT.format(name="first"))
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run"])
    text = " ".join(answer.stdout.split())
    assert "2 replications can never be enough for the 95% interval of a median" in text
    assert "set replications.count = 6" in text
    as_json = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run", "--json"])
    assert "can never be enough" in as_json.stdout


@pytest.mark.parametrize(
    ("setup", "code", "message"),
    [
        ('argv = ["true"]\ninputs = ["no-such-file"]', 2, "input 'no-such-file' names nothing"),
        ('argv = ["true"]\ninputs = ["*.nothing"]', 2, "input '*.nothing' names nothing"),
        ('argv = ["no-such-program"]', 5, "program 'no-such-program' not found"),
    ],
)
def test_a_missing_input_or_program_is_named_and_nothing_is_made(
    setup: str, code: int, message: str, tmp_path: Path
) -> None:
    """Cause: only a run looked for them, after `--dry-run` had said that all is well."""
    text = 'schema = 1\nname = "s"\ntitle = "t"\nseed = 1\n[[experiment]]\nname = "e"\n'
    (tmp_path / "study.toml").write_text(f'{text}[experiment.system]\nname = "command"\n{setup}\n')
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run"])
    assert answer.exit_code == code, answer.output
    assert message in " ".join(answer.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_points_that_cannot_run_are_refused_with_the_first_and_their_number(
    tmp_path: Path,
) -> None:
    """Cause: a record that is larger than its node stopped its experiment at run time."""
    (tmp_path / "study.toml").write_text(
        _STUDY
        + """
[[experiment]]
name = "nodes"
system.name = "records"
factors.node_bytes = [64, 4096]
factors.record_bytes = [8, 128, 256]
replications = { count = 6 }
"""
    )
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run"])
    assert answer.exit_code == 2
    text = " ".join(answer.output.split())
    assert "experiment 'nodes', node_bytes = 64, record_bytes = 128: a record of 128 B" in text
    assert "1 more point cannot run" in text
    fits = CliRunner().invoke(
        app, ["run", str(tmp_path), "--dry-run", "--set", "experiment.factors.node_bytes=[4096]"]
    )
    assert fits.stdout.splitlines()[-1] == "3 points"


def test_a_target_that_does_not_fit_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    text = _STUDY + _EXPERIMENT.format(name="first").replace("1 MiB", "8000 TiB")
    (tmp_path / "study.toml").write_text(text)
    answer = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run"])
    assert answer.exit_code == 5, answer.output
    assert "are free on its file system" in " ".join(answer.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
