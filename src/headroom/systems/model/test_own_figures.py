"""A model whose run is one job reports how long it took."""

from pathlib import Path

import pytest

from headroom.systems.model import ModelSystem
from headroom.systems.model.system import ModelSetup

MODEL = """
from headroom.experiment.protocol.system import Metric
from headroom.simulation import Model, constant


def build() -> Model:
    model = Model("batch", time_unit="s")
    station = model.station("work")
    walk = model.program("piece")
    walk.use(station, constant(0.5))
    model.closed_class("pieces", walk, population=1)
    model.stop(completions=8)
    return model


build.own_metrics = (Metric(name="run_s", unit="s", better="low", description="Whole run"),)
build.own_values = lambda result: {"run_s": float(result.snapshot_times_s[-1])}
"""


@pytest.fixture
def system(tmp_path: Path) -> ModelSystem:
    (tmp_path / "model.py").write_text(MODEL)
    return ModelSystem.load(ModelSetup(file="model.py"), base=tmp_path)


def test_own_figures_are_declared_first_and_given_by_every_kind_of_run(
    system: ModelSystem,
) -> None:
    assert system.metrics({})[0].name == "run_s"
    runs = [
        system.run({}, seed=1),
        system.run_model({}, seed=1, every_s=1.0),
        system.run_model({}, seed=1, changes=[]),
    ]
    assert [run.values for run in runs] == [{"run_s": 4.0}] * 3


def test_a_model_without_figures_of_its_own_has_none() -> None:
    plain = ModelSystem.load(ModelSetup(model="mm1", completions=100), base=Path())
    config = {parameter.name: parameter.default or 0 for parameter in plain.parameters()} | {
        "utilization": 0.5
    }
    assert plain.metrics(config)[0].name == "throughput"
    assert plain.run(config, seed=1).values == {}
