"""Results that are not there are told from those that are."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.experiment.study.paths import journal_path
from tests.support.study_text import Head

_STUDY = Head("one", "One", "one").then("""\
fixed = { seconds = 0.1 }
replications = { count = 2 }
[experiment.system]
name = "storage"
targets.one = { kind = "nothing" }
""")


@pytest.mark.parametrize(
    ("asked", "there", "said", "cure"),
    [
        ([], "nothing", "has no results yet", "run it first: headroom run {folder}"),
        ([], "quick", "results, but only of its quick variant", "headroom show {folder} --quick;"),
        (["--quick"], "whole", "results, but none of its quick variant", "headroom show {folder};"),
    ],
)
def test_results_that_are_not_there_are_told_from_those_that_are(
    asked: list[str], there: str, said: str, cure: str, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(_STUDY)
    if there != "nothing":
        journal = journal_path(tmp_path, there == "quick")
        journal.parent.mkdir(parents=True)
        journal.write_bytes(b"")
    answer = CliRunner().invoke(app, ["show", str(tmp_path), *asked])
    text = " ".join(answer.output.split())
    assert answer.exit_code == 2
    assert said in text
    assert cure.format(folder=tmp_path) in text
