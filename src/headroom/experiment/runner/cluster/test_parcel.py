"""Parcels: what a worker needs, whatever folders it comes from."""

import shutil
from pathlib import Path

import pytest

from headroom.errors import HeadroomError
from headroom.experiment.runner.cluster import parcel
from headroom.experiment.runner.cluster.parcel import Parcel, pack, unpack
from headroom.experiment.runner.tasks import load_system, recipe_of
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan
from tests.support.model_study import write_model_study


def plan_of(folder: Path) -> Plan:
    return make_plan(load_study(folder), quick=False)


def packed(plan: Plan) -> Parcel:
    recipes = {
        one.spec.name: recipe_of(one.system, one.setup, one.base) for one in plan.experiments
    }
    return pack(plan.experiments, recipes)


def fingerprint_there(sent: Parcel, folder: Path) -> str:
    """Return the fingerprint that a worker with an unpacked parcel finds."""
    folder.mkdir()
    system = load_system(unpack(sent.encoded, folder)["load"])
    return system.fingerprint({"users": 3})


def names_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "möbel 'n"
    write_model_study(folder)
    for left_out in ("results", ".git", "__pycache__"):
        (folder / left_out).mkdir()
        (folder / left_out / "file").write_text("not needed")
    return folder


def test_a_worker_finds_the_same_model_after_the_study_is_gone(study: Path, tmp_path: Path) -> None:
    plan = plan_of(study)
    expected = plan.experiments[0].system.fingerprint({"users": 3})
    sent = packed(plan)
    shutil.rmtree(study)
    assert fingerprint_there(sent, tmp_path / "there") == expected
    assert names_in(tmp_path / "there") == {"study.toml", "model.py", "pace.py", "data/rate.txt"}


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_model_outside_the_study_is_found_by_its_worker(
    study: Path, tmp_path: Path, *, is_absolute: bool
) -> None:
    shutil.copytree(study, tmp_path / "shared")
    (study / "model.py").unlink()
    file = (tmp_path / "shared" / "model.py").as_posix() if is_absolute else "../shared/model.py"
    text = (study / "study.toml").read_text().replace('"model.py"', f'"{file}"')
    (study / "study.toml").write_text(text)
    sent = packed(plan_of(study))
    shutil.rmtree(tmp_path / "shared")
    folder = tmp_path / "there"
    folder.mkdir()
    system = load_system(unpack(sent.encoded, folder)["load"])
    assert [parameter.name for parameter in system.parameters()] == ["users"]
    assert {"shared/model.py", "shared/pace.py"} <= names_in(folder)


def test_equal_contents_give_equal_parcels_and_others_do_not(study: Path, tmp_path: Path) -> None:
    first = packed(plan_of(study))
    shutil.copytree(study, tmp_path / "copy")
    assert packed(plan_of(tmp_path / "copy")).digest == first.digest
    (tmp_path / "copy" / "data" / "rate.txt").write_text("0.25")
    assert packed(plan_of(tmp_path / "copy")).digest != first.digest


def test_of_a_large_folder_only_named_files_and_modules_are_sent(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcel, "MAX_FOLDER_BYTES", 1000)
    (study / "large").write_bytes(bytes(2000))
    sent = packed(plan_of(study))
    assert "more than 1.00 kB" in sent.note
    (tmp_path / "there").mkdir()
    unpack(sent.encoded, tmp_path / "there")
    assert names_in(tmp_path / "there") == {"model.py", "pace.py"}


def test_named_files_that_are_too_large_are_refused(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parcel, "_MAX_NAMED_BYTES", 10)
    with pytest.raises(HeadroomError, match="larger than 10 B together"):
        packed(plan_of(study))
