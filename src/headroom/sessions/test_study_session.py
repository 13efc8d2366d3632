"""Points are found by the values that a reader sees."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.analysis.results import PointResult
from headroom.cli.app import app
from headroom.experiment.study.paths import journal_path
from headroom.sessions.study_session import _is_level


def point(**levels: object) -> PointResult:
    """Return a point with these levels and nothing else."""
    return PointResult(key="k", levels=levels, done=0, failed=0, planned=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["rate=250", "rate = 250.0", "rate=2.5e2", "is_fast=true",
                                  "is_fast=True", "codec=xz", "size=10,000"])  # fmt: skip
def test_a_level_is_known_however_it_is_written(word: str) -> None:
    """Cause: the float level 250 was compared as '250.0', and true as 'True'."""
    levels = {"rate": 250.0, "is_fast": True, "codec": "xz", "size": 10_000}
    assert _is_level(word, point(**levels))


@pytest.mark.parametrize(
    "word", ["rate=251", "rate", "speed=250", "is_fast=1", "codec=XZ", "rate="]
)
def test_other_levels_are_told_apart(word: str) -> None:
    assert not _is_level(word, point(rate=250.0, is_fast=True, codec="xz"))


_STUDY = """
schema = 1
name = "one"
title = "One"
seed = 1
[[experiment]]
name = "one"
fixed = { seconds = 0.1 }
replications = { count = 2 }
[experiment.system]
name = "storage"
targets.one = { kind = "nothing" }
"""


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
