"""Subjects of questions: what a name means, and values of parameters."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.sessions.subjects import checked_settings, find_model, find_subject, with_config
from headroom.sizing.evaluate import Subject


def mm1() -> Subject:
    return find_subject("mm1", "", 100, [])[0]


def test_a_model_has_a_value_for_each_parameter_that_does_not_vary() -> None:
    declared = mm1().system.parameters()
    given = checked_settings({"utilization": 0.25}, declared)
    assert with_config(mm1(), given, []).config == {"utilization": 0.25, "service_s": 0.01}
    assert with_config(mm1(), {}, ["utilization"]).config == {"service_s": 0.01}


@pytest.mark.parametrize(
    ("values", "said"),
    [({"load": 0.5}, "no parameter 'load'"), ({"utilization": 2.0}, "above its highest value")],
)
def test_a_wrong_value_is_refused_with_a_hint(values: dict[str, float], said: str) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        checked_settings(values, mm1().system.parameters())
    assert caught.value.cure


def test_a_parameter_is_either_set_or_varied() -> None:
    with pytest.raises(StudyError, match="set and varied"):
        with_config(mm1(), {"utilization": 0.5}, ["utilization"])


def test_a_model_file_starts_at_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text(
        "from headroom.simulation import Model\n\n"
        "def shop(rate: float = 5.0):\n    return Model('x')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert [one.name for one in find_model("shop.py:shop").parameters()] == ["rate"]
