"""Settings from outside take effect where they are named, and nowhere else."""

import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.experiment.study.file.settings import with_settings
from headroom.experiment.study.file.study_file import load_study

STUDY = {
    "experiment": [
        {
            "name": "read",
            "fixed": {"seconds": 10},
            "system": {"name": "storage", "targets": {"disk": {"path": "/a"}, "none": {}}},
            "quick": {"fixed": {"seconds": 1}},
        },
        {"name": "write", "fixed": {}, "system": {"name": "storage", "targets": {"disk": {}}}},
    ]
}


def _set(*settings: str) -> list[dict[str, object]]:
    experiments: list[dict[str, object]] = with_settings(STUDY, settings)["experiment"]
    return experiments


def test_a_key_of_all_goes_where_it_stands_already_the_quick_variant_included() -> None:
    read, write = _set("experiment.fixed.seconds=3.5")
    assert read["fixed"] == {"seconds": 3.5}
    assert read["quick"] == {"fixed": {"seconds": 3.5}}
    assert write["fixed"] == {}


def test_a_bare_name_is_a_fixed_parameter_where_there_is_one() -> None:
    read, write = _set("seconds=3.5")
    assert (read["fixed"], read["quick"]) == ({"seconds": 3.5}, {"fixed": {"seconds": 3.5}})
    assert write["fixed"] == {}
    with pytest.raises(
        StudyError, match="no experiment has the fixed parameter 'second'"
    ) as caught:
        _set("second=3")
    assert "did you mean 'seconds'" in caught.value.cure


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("growht=2", "did you mean 'growth'"),
        ("growth=2", "--set experiment.factors.growth=[2]"),
        ("users=40", "experiment.fixed.users=40"),
    ],
)
def test_a_bare_name_that_is_no_fixed_parameter_is_told_what_it_is(text: str, cure: str) -> None:
    content = {"experiment": [{"name": "load", "factors": {"growth": [1, 2]}}]}
    with pytest.raises(StudyError) as caught:
        with_settings(content, [text])
    assert cure in caught.value.cure


def test_a_key_that_stands_nowhere_goes_where_its_table_stands() -> None:
    for experiment in _set("experiment.system.targets.disk.bytes=1 GiB"):
        assert experiment["system"]["targets"]["disk"]["bytes"] == "1 GiB"  # type: ignore[index]
    assert (
        "bytes"
        not in _set("experiment.system.targets.disk.bytes=1")[0]["system"]["targets"][  # type: ignore[index]
            "none"
        ]
    )


def test_a_key_of_one_experiment_is_set_there_alone_and_made_where_it_is_missing() -> None:
    read, write = _set("write.fixed.seconds=7", "write.replications.count=3")
    assert read == STUDY["experiment"][0]
    assert write["fixed"] == {"seconds": 7}
    assert write["replications"] == {"count": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("5e-1", 0.5),
        ("true", True),
        ('"5"', "5"),
        ("/dev/disk/by-id/a=b c", "/dev/disk/by-id/a=b c"),
        ("[1, 2]", [1, 2]),
        ("", ""),
        ("1 GiB", "1 GiB"),
    ],
)
def test_values_are_toml_or_text(text: str, value: object) -> None:
    assert _set(f"read.fixed.a={text}")[0]["fixed"] == {"seconds": 10, "a": value}


@given(st.text(max_size=40))
def test_any_text_is_a_setting_or_refused_with_a_cure_and_the_study_is_untouched(
    text: str,
) -> None:
    before = copy.deepcopy(STUDY)
    refusal = _refusal(text)
    assert refusal is None or refusal.cure
    assert refusal is not None or "=" in text
    assert before == STUDY


def _refusal(text: str) -> StudyError | None:
    try:
        _set(text)
    except StudyError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "does not have the form KEY=VALUE"),
        ("experiment.=1", "does not have the form KEY=VALUE"),
        ("red.fixed.seconds=1", "names neither"),
        ("experiment.sytem.targets.disk.path=/b", "no experiment has the table"),
        ("read.name.deep.key=1", "no experiment has the table"),
    ],
)
def test_what_has_no_place_is_refused_with_a_cure(text: str, words: str) -> None:
    with pytest.raises(StudyError, match=words) as caught:
        _set(text)
    assert caught.value.cure


def test_what_is_set_is_checked_like_the_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'schema = 1\nname = "s"\ntitle = "t"\nseed = 1\n'
        '[[experiment]]\nname = "e"\nsystem = { name = "model", model = "mm1" }\n'
    )
    loaded = load_study(tmp_path, ["e.replications.count=4"])
    assert loaded.study.experiments[0].replications.count == 4
    assert loaded.settings == ("e.replications.count=4",)
    with pytest.raises(StudyError, match="replications"):
        load_study(tmp_path, ["e.replications.count=none"])
