"""Models kept between replications: reused, but never for another configuration."""

from pathlib import Path
from typing import Any

import pytest

from headroom.experiment.journal.run_codec import encode_run
from headroom.experiment.protocol.changes import parse_change
from headroom.simulation import Model, exponential
from headroom.simulation.runs.run import ReadyModel, ready
from headroom.systems.model import ModelSystem
from headroom.systems.model.ready_models import Recent, recent_ready_models
from headroom.systems.model.system import ModelSetup


def queue(name: str) -> Model:
    model = Model(name, time_unit="ms")
    program = model.program("visit")
    program.use(model.station("server"), exponential(1))
    model.closed_class("users", program, population=1)
    return model


class Builder:
    """Builds models and counts them."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> ReadyModel:
        """Build one more."""
        self.built += 1
        return ready(queue(f"model {self.built}"))


def _of_size(most: int) -> Recent[ReadyModel]:
    return Recent(most, lambda once: len(once.data))


def test_the_model_of_a_configuration_is_built_once() -> None:
    kept, build = recent_ready_models(), Builder()
    first = kept.of({"users": 1, "name": "a"}, [], build)
    assert kept.of({"name": "a", "users": 1}, [], build) is first
    assert build.built == 1


@pytest.mark.parametrize("other", [1.0, True, 2, "1"])
def test_values_that_python_calls_equal_are_not_mixed_up(other: Any) -> None:
    kept, build = recent_ready_models(), Builder()
    assert kept.of({"n": 1}, [], build) is not kept.of({"n": other}, [], build)
    assert build.built == 2


def test_a_changed_model_is_another_one() -> None:
    kept, build = recent_ready_models(), Builder()
    change = parse_change("station.server.servers=x2")
    assert kept.of({"n": 1}, [], build) is not kept.of({"n": 1}, [change], build)


def test_models_that_were_not_used_for_longest_are_let_go() -> None:
    build = Builder()
    size = len(Builder()().data)
    kept = _of_size(int(2.5 * size))
    first = kept.of({"n": 1}, [], build)
    second = kept.of({"n": 2}, [], build)
    assert kept.of({"n": 1}, [], build) is first
    kept.of({"n": 3}, [], build)
    assert kept.of({"n": 1}, [], build) is first
    assert kept.of({"n": 2}, [], build) is not second
    assert build.built == 4


def test_a_model_larger_than_all_that_is_kept_is_used_all_the_same() -> None:
    kept, build = _of_size(1), Builder()
    first = kept.of({"n": 1}, [], build)
    assert kept.of({"n": 1}, [], build) is first


MODEL = """
from pathlib import Path
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(users: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 1) -> Model:
    with (Path(__file__).parent / "built").open("a") as file:
        file.write(f"{users} ")
    model = Model("queue", time_unit="ms")
    program = model.program("visit")
    program.use(model.station("server"), exponential(1))
    model.closed_class("users", program, population=users)
    return model
"""


def test_replications_share_a_model_and_points_and_changes_do_not(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    setup = ModelSetup(file="model.py", completions=50)
    system = ModelSystem.load(setup, base=tmp_path)
    runs = [system.run({"users": users}, seed=seed) for seed in (1, 2) for users in (1, 5)]
    changed = system.run_model(
        {"users": 5}, seed=2, changes=[parse_change("station.server.speed=x2")]
    )
    assert (tmp_path / "built").read_text() == "1 5 "
    fresh = ModelSystem.load(setup, base=tmp_path)
    assert encode_run(fresh.run({"users": 5}, seed=2)) == encode_run(runs[3])
    assert encode_run(fresh.run({"users": 1}, seed=2)) == encode_run(runs[2])
    assert encode_run(changed) != encode_run(runs[3])
    assert runs[1].snapshot_times_s[-1] != runs[3].snapshot_times_s[-1]
