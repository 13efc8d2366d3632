"""Modules next to a model file can be imported, belong to its study alone, and count."""

import importlib
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from threading import Event

import pytest

from headroom.errors import StudyError
from headroom.experiment.runner.what_ran import ChangedMeanwhileError
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan
from headroom.simulation import Model
from headroom.systems.model import ModelSystem, library, source, system
from headroom.systems.model.own_figures import own_code
from headroom.systems.model.system import ModelSetup
from headroom.systems.model.user_code import UserCode
from tests.support.study_sessions import run_study

MODEL = """
import helper
from headroom.simulation import Model, constant


def build() -> Model:
    model = Model("batch", time_unit="s")
    walk = model.program("piece")
    walk.use(model.station("work"), constant(helper.SERVICE_S))
    model.closed_class("pieces", walk, population=1)
    model.stop(completions=8)
    return model
"""
OWN = """
from headroom.experiment.protocol.system import Metric
build.own_metrics = (Metric(name="run_s", unit="s"),)
build.own_values = lambda result: {"run_s": helper.FACTOR * result.snapshot_times_s[-1]}
"""


def write(folder: Path, *, model: str = MODEL, helper: str = "SERVICE_S = 0.5") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.py").write_text(model)
    (folder / "helper.py").write_text(helper)
    return folder


def loaded(folder: Path) -> ModelSystem:
    return ModelSystem.load(ModelSetup(file="model.py"), base=folder)


def service_s(of: ModelSystem) -> float:
    run = of.run({}, seed=1)
    return float(run.snapshot_times_s[-1]) / 8


def test_a_model_imports_what_lies_beside_it_and_each_study_its_own(tmp_path: Path) -> None:
    """Cause: `import helper` failed; a module called `helper` must not leak to another study."""
    first = loaded(write(tmp_path / "a", helper="SERVICE_S = 0.5"))
    second = loaded(write(tmp_path / "b", helper="SERVICE_S = 0.25"))
    assert [service_s(first), service_s(second), service_s(first)] == [0.5, 0.25, 0.5]
    assert "helper" not in sys.modules


def test_a_module_may_be_imported_as_late_as_the_model_is_built(tmp_path: Path) -> None:
    late = MODEL.replace("import helper\n", "", 1).replace(
        "    walk", "    import helper\n    walk", 1
    )
    first = loaded(write(tmp_path / "a", model=late, helper="SERVICE_S = 0.5"))
    second = loaded(write(tmp_path / "b", model=late, helper="SERVICE_S = 0.25"))
    assert [service_s(first), service_s(second)] == [0.5, 0.25]


def test_packages_beside_a_model_and_modules_of_modules_are_found(tmp_path: Path) -> None:
    write(tmp_path, helper="from parts.inner import SERVICE_S")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/__init__.py").write_text("")
    (tmp_path / "parts/inner.py").write_text("from parts import numbers_\nSERVICE_S = numbers_.S")
    (tmp_path / "parts/numbers_.py").write_text("S = 0.125")
    assert service_s(loaded(tmp_path)) == 0.125
    assert not [name for name in sys.modules if name.partition(".")[0] == "parts"]


def test_a_module_of_the_same_name_elsewhere_is_there_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/helper.py").write_text("SERVICE_S = 9.0")
    monkeypatch.syspath_prepend(tmp_path / "site")
    other = importlib.import_module("helper")
    try:
        assert service_s(loaded(write(tmp_path / "study"))) == 0.5
        assert importlib.import_module("helper") is other
    finally:
        del sys.modules["helper"]


def test_a_file_beside_a_model_never_hides_a_module_of_python(tmp_path: Path) -> None:
    write(tmp_path, model="import statistics\n" + MODEL)
    (tmp_path / "statistics.py").write_text("raise RuntimeError")
    assert service_s(loaded(tmp_path)) == 0.5


def test_no_compiled_code_is_left_and_none_is_used(tmp_path: Path) -> None:
    """Fault: a cache is only compared by size and second, so it may be of an older text."""
    assert service_s(loaded(write(tmp_path, helper="SERVICE_S = 0.5"))) == 0.5
    assert service_s(loaded(write(tmp_path, helper="SERVICE_S = 0.2"))) == 0.2
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    ("helper", "place"),
    [
        ("SERVICE_S = 1 / 0", "helper.py:1: ZeroDivisionError"),
        ("\nSERVICE_S = (", "helper.py:2: '(' was never closed"),
        ("import headroom.nothing", "helper.py:1: ModuleNotFoundError"),
    ],
)
def test_a_mistake_beside_the_model_is_told_with_its_own_line(
    tmp_path: Path, helper: str, place: str
) -> None:
    with pytest.raises(StudyError) as caught:
        loaded(write(tmp_path, helper=helper))
    assert f"{tmp_path}/{place}" in caught.value.message


@pytest.mark.parametrize(
    ("model", "helper", "counts"),
    [
        (OWN.replace("FACTOR *", "FACTOR * 2 *"), "SERVICE_S = 0.5\nFACTOR = 1", True),
        (OWN, "SERVICE_S = 0.5\nFACTOR = 3", True),
        (OWN + "# a comment\n", "'''Text.'''\nSERVICE_S = 0.5\nFACTOR = 1  # one", False),
    ],
)
def test_the_code_of_own_values_counts_and_comments_do_not(
    tmp_path: Path, model: str, helper: str, *, counts: bool
) -> None:
    """Cause: own values are stored, and yet another formula for them reused the old ones."""
    before = loaded(write(tmp_path, model=MODEL + OWN, helper="SERVICE_S = 0.5\nFACTOR = 1"))
    after = loaded(write(tmp_path, model=MODEL + model, helper=helper))
    assert (before.fingerprint({}) != after.fingerprint({})) == counts


def test_without_own_values_only_the_model_counts(tmp_path: Path) -> None:
    same = loaded(write(tmp_path)).fingerprint({})
    assert loaded(write(tmp_path, helper="SERVICE_S = 1 / 2\nUNUSED = 1")).fingerprint({}) == same
    assert loaded(write(tmp_path, helper="SERVICE_S = 0.51")).fingerprint({}) != same


def test_a_registered_model_with_own_values_has_the_code_of_its_module() -> None:
    name = next(name for name in ModelSystem.model_names() if "postmark" in name)
    registered = ModelSystem.load(ModelSetup(model=name), base=Path())
    assert own_code(registered.function, registered.code)


def test_another_kernel_simulates_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = loaded(write(tmp_path))
    before = own.fingerprint({})
    monkeypatch.setattr(system, "KERNEL_VERSION", "another")
    assert own.fingerprint({}) != before


def plan_of(folder: Path) -> Plan:
    (folder / "study.toml").write_text(
        'schema = 1\nname = "s"\ntitle = "t"\nseed = 1\n[[experiment]]\nname = "e"\n'
        'replications.count = 2\nsystem = { name = "model", file = "model.py" }\n'
    )
    return make_plan(load_study(folder), quick=False)


def test_a_model_that_changed_before_a_worker_read_it_is_refused(tmp_path: Path) -> None:
    """Cause: the driver planned the old model, the worker ran the new one under its name."""
    plan = plan_of(write(tmp_path))
    write(tmp_path, helper="SERVICE_S = 0.75")
    with pytest.raises(ChangedMeanwhileError, match="the model or a file that it reads changed"):
        run_study(plan, jobs=1)
    assert run_study(plan_of(tmp_path), jobs=1).done == 2
    write(tmp_path)
    assert run_study(plan_of(tmp_path), jobs=1).kept == {
        "of other settings, or an earlier version of the study": 2
    }


def test_the_digest_of_code_is_that_of_what_is_imported(tmp_path: Path) -> None:
    code = UserCode(write(tmp_path) / "model.py")
    (tmp_path / "unrelated.py").write_text("1")
    assert UserCode(tmp_path / "model.py").digest == code.digest
    assert sorted(Path(name).name for name in code.texts) == ["helper.py", "model.py"]


def test_a_function_that_does_not_return_is_named_with_its_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_told, errors = Event(), StringIO()
    told = errors.write

    def write(text: str) -> int:
        written = told(text)
        is_told.set()
        return written

    errors.write = write  # type: ignore[method-assign]
    monkeypatch.setattr(source, "SLOW_S", 0.01)
    monkeypatch.setattr(sys, "stderr", errors)

    def build(rate: float) -> Model:
        assert is_told.wait(timeout=60)
        return library.mm1(utilization=rate)

    source.built_model(build, {"rate": 0.5})
    assert "build(rate = 0.5) has not returned" in errors.getvalue()


def test_a_model_is_built_once_for_a_point_and_once_more_to_see_that_it_is_the_same(
    tmp_path: Path,
) -> None:
    built: list[float] = []

    def build(rate: float = 0.5) -> Model:
        built.append(rate)
        return library.mm1(utilization=rate)

    setup = ModelSetup(model="mm1", completions=100)
    one = replace(ModelSystem.load(setup, base=tmp_path), function=build)
    for rate in (0.5, 0.6):
        config = {"rate": rate}
        one.fingerprint(config), one.metrics(config), one.model(config), one.run(config, seed=1)
    assert built == [0.5, 0.6]
    assert one.fingerprint_anew({"rate": 0.5}) == one.fingerprint({"rate": 0.5})
    assert built == [0.5, 0.6, 0.5]
