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


def experiment(folder: Path, text: str, *settings: str) -> Experiment:
    (folder / "study.toml").write_text(HEAD + text)
    return load_study(folder, settings).study.experiments[0]


def test_short_keys_are_the_long_ones_in_a_file_and_in_python(tmp_path: Path) -> None:
    long = experiment(tmp_path, LONG)
    named = SHORT.replace('model = "', 'system = { name = "model", model = "').replace(
        'op"', 'op" }'
    )
    assert experiment(tmp_path, SHORT) == experiment(tmp_path, named) == long
    quick = {"completions": 50, "replications": 2}
    built = hr.Experiment("load", "model.py:shop", completions=500, replications=3, quick=quick)
    assert hr.Study("k", [built], folder=tmp_path).loaded().study.experiments[0] == long
    changed = experiment(tmp_path, SHORT, "load.completions=9", "load.model=mm1")
    assert changed.system == {"name": "model", "model": "mm1", "completions": 9}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('model = "mm1"\nsystem.name = "model"', "study.toml:7: .*'model' is given here and in"),
        (LONG + "completions = 3", "study.toml:11: .*'completions' is given here and in"),
        ('model = "mm1"\nreplications = 0', "study.toml:8: .*replications.count: is 0"),
    ],
)
def test_what_contradicts_itself_is_refused_at_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "model.py").touch()
    (tmp_path / "study.toml").write_text(HEAD + text)
    with pytest.raises(StudyError, match=message):
        hr.run(tmp_path)


def test_a_key_of_a_file_that_is_called_otherwise_in_python_says_how() -> None:
    with pytest.raises(StudyError, match=r"hr\.Study takes no 'claim'") as caught:
        hr.Study("k", [hr.Experiment("load", "mm1")], claim=[])
    assert caught.value.cure.startswith("did you mean 'claims'?")
