"""Short keys say what long ones say, in a file, by a setting, and in Python."""

from pathlib import Path

import pytest

import headroom as hr
from headroom.errors import StudyError
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.study import Experiment

HEAD = 'schema = 1\nname = "k"\ntitle = "k"\nseed = 1\n[[experiment]]\nname = "load"\n'
LONG = """
system = { name = "model", file = "model.py", function = "shop", completions = 500 }
replications = { count = 3 }
quick = { system = { completions = 50 }, replications = { count = 2 } }
"""
SHORT = """
model = "model.py:shop"
completions = 500
replications = 3
quick = { completions = 50, replications = 2 }
"""
NAMED = """
system = { name = "model", model = "model.py:shop" }
completions = 500
replications = 3
quick = { system.completions = 50, replications.count = 2 }
"""


def experiment(folder: Path, text: str, *settings: str) -> Experiment:
    (folder / "study.toml").write_text(HEAD + text)
    return load_study(folder, settings).study.experiments[0]


@pytest.mark.parametrize("text", [SHORT, NAMED])
def test_short_keys_are_the_long_ones(tmp_path: Path, text: str) -> None:
    assert experiment(tmp_path, text) == experiment(tmp_path, LONG)


def test_python_takes_each_short_key_of_a_file(tmp_path: Path) -> None:
    quick = {"completions": 50, "replications": 2}
    built = hr.Experiment("load", "model.py:shop", completions=500, replications=3, quick=quick)
    found = hr.Study("k", [built], folder=tmp_path).loaded().study.experiments[0]
    assert found == experiment(tmp_path, LONG)


def test_settings_reach_short_and_long_keys_by_either_name(tmp_path: Path) -> None:
    for text in (SHORT, LONG):
        for key in ("experiment.completions", "experiment.system.completions", "load.completions"):
            found = experiment(tmp_path, text, f"{key}=9")
            assert found.system["completions"] == 9
    assert experiment(tmp_path, LONG, "load.replications=7").replications.count == 7
    other = experiment(tmp_path, LONG, "load.model=mm1").system
    assert other == {"name": "model", "model": "mm1", "completions": 500}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('model = "mm1"\nsystem = { name = "command" }', "study.toml:7: .*beside the table"),
        (LONG + "completions = 3", "study.toml:11: .*'completions' is given here and in"),
        ('model = "mm1"\nreplications = 0', "study.toml:8: .*replications.count: is 0"),
        ('model = "mm1"\nreplications = true', "a table is needed"),
    ],
)
def test_what_contradicts_itself_is_refused_at_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        experiment(tmp_path, text)


def test_a_wrong_end_is_refused_at_the_line_of_the_short_key(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD + 'model = "mm1"\ncompletions = "many"')
    with pytest.raises(StudyError, match=r"study.toml:8: .*system.completions: is 'many'"):
        hr.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "cure"), [("claim", "write claims=[...]"), ("sed", "did you mean 'seed'?")]
)
def test_a_key_of_a_file_that_is_called_otherwise_in_python_says_how(key: str, cure: str) -> None:
    with pytest.raises(StudyError, match=f"hr.Study takes no '{key}'") as caught:
        hr.Study("k", [hr.Experiment("load", "mm1")], **{key: []})  # type: ignore[arg-type]
    assert caught.value.cure.startswith(cure)
