"""Models from files and by name: parameters, errors with their line, runs, fingerprints."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.run_codec import encode_run
from headroom.experiment.protocol.model_parameters import parameters_of
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.tasks import recipe_of
from headroom.simulation import Model, exponential, simulate
from headroom.systems.model import ModelSystem
from headroom.systems.model.conversion import run_of
from headroom.systems.model.metrics import metrics_of
from headroom.systems.model.system import ModelSetup

CONFIG = {"users": 4, "think_ms": 7.0}

HEAD = """
from typing import Annotated
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter
"""
BUILD = (
    HEAD
    + """
def build(
    *,
    users: Annotated[int, parameter(unit="1", low=1, high=99, source="assumed: few")] = 5,
    think_ms: Annotated[float, parameter(unit="ms", low=0.1, source="assumed: short")],
) -> Model:
    model = Model("small", time_unit="ms")
    request = model.program("request")
    connections = model.pool("connections", tokens=2)
    with request.holding(connections):
        request.use(model.station("web"), exponential(3))
    model.closed_class("users", request, population=users, think=exponential(think_ms))
    return model
"""
)


def load(folder: Path, **table: Any) -> ModelSystem:
    return ModelSystem.load(msgspec.convert(table, ModelSetup), base=folder)


def of_file(folder: Path, source: str, **table: Any) -> ModelSystem:
    (folder / "model.py").write_text(source)
    return load(folder, file="model.py", **table)


def column(run: Run, kind: str, name: str) -> list[float]:
    (table,) = (table for table in run.resources if table.kind == kind)
    values: list[float] = table.columns[name][-1].tolist()
    return values


def test_a_model_file_declares_its_parameters_in_its_signature(tmp_path: Path) -> None:
    users, think_ms = of_file(tmp_path, BUILD).parameters()
    assert (users.name, users.type, users.default, users.low, users.high) == (
        "users",
        "int",
        5,
        1,
        99,
    )
    assert (think_ms.unit, think_ms.default, think_ms.source) == ("ms", None, "assumed: short")


def test_a_model_file_may_postpone_its_annotations(tmp_path: Path) -> None:
    system = of_file(tmp_path, "from __future__ import annotations\n" + BUILD)
    assert [parameter.name for parameter in system.parameters()] == ["users", "think_ms"]


def test_a_run_is_that_of_the_kernel_number_by_number(tmp_path: Path) -> None:
    system = of_file(tmp_path, BUILD, completions=500)
    run = system.run(CONFIG, seed=3)
    assert column(run, "class", "completion_count") == [500]
    assert [table.kind for table in run.resources] == ["station", "pool", "class"]
    assert run.holds == {"connections": ("web",)}
    assert [series.metric for series in run.series] == ["response_s"]
    assert run.counters["simulated_s"] == run.snapshot_times_s[-1]
    again = system.run(CONFIG, seed=3)
    assert encode_run(again) == encode_run(run)
    other = system.run(CONFIG, seed=4)
    assert (other.series[0].values != run.series[0].values).any()


def test_a_time_limit_is_in_seconds_whatever_the_unit_of_the_model(tmp_path: Path) -> None:
    run = of_file(tmp_path, BUILD, time_s=2.5).run(CONFIG, seed=3)
    assert run.snapshot_times_s[-1] == pytest.approx(2.5)


def test_a_set_up_may_limit_the_time_of_a_replication(tmp_path: Path) -> None:
    setup = ModelSetup(model="mm1", time_limit_s=3)
    system = ModelSystem.load(setup, base=tmp_path)
    unlimited = ModelSystem.load(ModelSetup(model="mm1"), base=tmp_path)
    config = {
        parameter.name: parameter.default
        for parameter in system.parameters()
        if parameter.default is not None
    }
    assert system.fingerprint(config) == unlimited.fingerprint(config)
    assert recipe_of(system, setup, tmp_path).time_limit_s == 3


def test_several_classes_have_a_response_time_each() -> None:
    model = Model("two", time_unit="s")
    program = model.program("visit")
    program.use(model.station("server"), exponential(0.1))
    for name in ("a", "b"):
        model.closed_class(name, program, population=2, think=exponential(1))
    run = run_of(simulate(model, seed=1, completions=100))
    metrics = [series.metric for series in run.series]
    assert metrics == ["class.a.response_s", "class.b.response_s"]
    histograms = [histogram.metric for histogram in run.histograms]
    assert histograms == [*metrics, "station.server.jobs"]
    assert run.resources[-1].names == ("server.class.a", "server.class.b")
    named = {metric.name for metric in metrics_of(model)}
    assert {"station.server.class.a.wait_s_mean", "station.server.class.b.jobs_mean"} <= named


def test_metrics_name_every_station_pool_and_class(tmp_path: Path) -> None:
    metrics = of_file(tmp_path, BUILD).metrics(CONFIG)
    units = {metric.name: metric.unit for metric in metrics}
    assert units["throughput"] == "1/s"
    assert units["response_s_p99"] == units["class.users.response_s_p99"] == "s"
    assert units["station.web.utilization"] == units["pool.connections.queue_len_mean"] == "1"
    assert len(units) == len(metrics)


def test_the_fingerprint_is_that_of_the_model_as_data_and_not_of_its_text(tmp_path: Path) -> None:
    first = of_file(tmp_path, BUILD).fingerprint(CONFIG)
    assert of_file(tmp_path, BUILD + "\n# a remark\n").fingerprint(CONFIG) == first
    assert of_file(tmp_path, BUILD).fingerprint({"users": 5, "think_ms": 7.0}) != first
    assert of_file(tmp_path, BUILD.replace("exponential(3)", "3.0")).fingerprint(CONFIG) != first
    assert of_file(tmp_path, BUILD, completions=99).fingerprint(CONFIG) != first


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("x = 1\nimport nowhere\n", 2, "ModuleNotFoundError: No module named 'nowhere'"),
        ("def build(:\n", 1, "invalid syntax"),
        (HEAD + "def build():\n    return 1 / 0\n", 6, "ZeroDivisionError"),
        ("x = 1\nimport sys\nsys.exit(7)\n", 3, "SystemExit: 7"),
        (HEAD + "def build():\n    raise SystemExit\n", 6, "SystemExit"),
        (HEAD + "def build():\n    return Model('x')\n", 5, "has no class"),
        (HEAD + "def build():\n    return 7\n", 5, "returned int, not a Model"),
        (HEAD + "def build():\n    Model('x', time_unit='d')\n", 6, "time_unit is 'd'"),
        (HEAD + "def build(users=()):\n    pass\n", 5, "neither a number nor text"),
        (HEAD + "def build(users: list[int]):\n    pass\n", 5, "neither a number nor text"),
        (HEAD + "def build(*users):\n    pass\n", 5, "cannot be given by name"),
        (HEAD + "def build(users: 'Usres' = 5):\n    pass\n", 5, "'Usres' is not defined"),
        (
            HEAD + "def build(n: Annotated[int, parameter(unit='1', source='x', low=3)] = 2): pass",
            5,
            "invalid default",
        ),
    ],
)
def test_an_error_in_a_model_file_names_its_line(
    tmp_path: Path, source: str, line: int, words: str
) -> None:
    with pytest.raises(HeadroomError) as caught:
        of_file(tmp_path, source).fingerprint({})
    assert f"model.py:{line}: " in caught.value.message
    assert words in caught.value.message
    assert caught.value.cure


def test_an_error_deep_in_a_library_names_the_line_of_the_model_file(tmp_path: Path) -> None:
    source = HEAD + "import json\ndef helper():\n    json.loads('{')\ndef build():\n    helper()\n"
    with pytest.raises(StudyError, match=r"model\.py:7: JSONDecodeError"):
        of_file(tmp_path, source).fingerprint({})


@pytest.mark.parametrize(
    ("table", "words", "cure"),
    [
        ({}, "either a file or the name", "file ="),
        ({"file": "a.py", "model": "mm1"}, "both name a model", "one of the two"),
        ({"model": "mm1", "function": "build"}, "belongs to a file", "remove"),
        ({"model": "mm1", "completions": 9, "time_s": 1.0}, "both say", "one"),
        ({"model": "mm2"}, "no model 'mm2'", "mm1"),
        ({"file": "modle.py"}, "modle.py not found", "'model.py'"),
        ({"file": "other/x.py"}, "x.py not found", "holds no .py file"),
        ({"file": "model.py", "function": "CONST"}, "no function 'CONST'", "build"),
        ({"file": "model.py", "function": "biuld"}, "no function 'biuld'", "'build'"),
    ],
)
def test_a_wrong_table_is_refused_with_the_likely_correction(
    tmp_path: Path, table: dict[str, Any], words: str, cure: str
) -> None:
    (tmp_path / "model.py").write_text(BUILD + "CONST = 3\n")
    with pytest.raises(HeadroomError) as caught:
        load(tmp_path, **table)
    assert words in caught.value.message
    assert cure in caught.value.cure


def test_two_model_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    prints = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        source = BUILD.replace('"web"', f'"{name}"')
        prints.add(of_file(tmp_path / name, source).fingerprint(CONFIG))
    assert len(prints) == 2


def test_plain_arguments_are_for_users_and_refused_in_registered_models() -> None:
    def shop(rate: float = 50.0, disk: Literal["ssd", "hdd"] = "ssd", servers=2) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        del rate, disk, servers

    rate, disk, servers = parameters_of(shop)
    assert (rate.type, rate.unit, rate.source) == ("float", "", "")
    assert disk.choices == ("ssd", "hdd")
    assert (servers.type, servers.default) == ("int", 2)
    with pytest.raises(StudyError, match="does not say what it is"):
        parameters_of(shop, is_registered=True)
