"""Measurements in processes of their own: fresh, bound, limited, and repeated when disturbed."""

import math
from pathlib import Path
from typing import Any

import pytest

from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.run_codec import decode_run
from headroom.experiment.machine.machine_watch import usable_cpus
from headroom.experiment.protocol.own_process import OwnProcess
from headroom.experiment.protocol.system import Value
from headroom.experiment.runner import measuring
from headroom.experiment.runner.measuring import MeasureExecutor
from headroom.experiment.runner.tasks import Result, Task, recipe_of
from headroom.experiment.runner.worker_pool import kept_workers
from tests.support.fake_systems import FakeAlone, FakeSetup
from tests.support.study_sessions import run_study

ALONE = "[[experiment]]\nname = 'alone'\nsystem.name = 'fake-alone'\nsystem.log = 'log'\n"


def processes(folder: Path) -> list[str]:
    """Return the process of each run, in their order."""
    return [line.split()[0] for line in (folder / "log").read_text().splitlines()]


@pytest.mark.parametrize(("users", "count"), [(1, 4), (10, 1), (100, 1)])
def test_each_replication_or_point_has_a_process(
    plan_of: MakePlan, tmp_path: Path, users: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant: also inside of a command that keeps its workers, which have run other things."""
    monkeypatch.setattr(measuring, "DISTURBED", math.inf)
    plan = plan_of(ALONE + f"fixed.users = {users}\nreplications.count = 4")
    with kept_workers():
        assert run_study(plan).failed == 0
    assert len(processes(tmp_path)) == 4
    assert len(set(processes(tmp_path))) == count


@pytest.mark.parametrize(
    ("fixed", "why"),
    [
        ("mode = 'dies'", "was killed by SIGKILL (9)"),
        ("mode = 'greedy'", "MemoryError"),
        ("users = 99", "needs the processors 9999, but this process may use"),
    ],
)
def test_what_a_process_does_not_survive_is_a_failed_replication(
    alone: "Alone", fixed: str, why: str
) -> None:
    name, _, value = fixed.partition(" = ")
    result = alone.run({name: int(value) if value.isdigit() else value.strip("'")})
    assert why in result.error
    assert not alone.run({}).error, "the next one has another process"


class Alone:
    """An executor of `FakeAlone`, and the words for the user."""

    def __init__(self, folder: Path) -> None:
        setup = FakeSetup(log="log")
        system = FakeAlone(setup, folder)
        self.said: list[str] = []
        self.executor = MeasureExecutor(
            {"alone": system}, {"alone": recipe_of(system, setup, folder)}, self.said.append
        )

    def run(self, changed: dict[str, Value]) -> Result:
        """Run one replication."""
        config: dict[str, Value] = {"users": 1, "rate": 0.0, "mode": "plain", **changed}
        self.executor.submit([Task(number=0, experiment="alone", config=config, seed=1)])
        (result,) = self.executor.results()
        return result


@pytest.fixture
def alone(tmp_path: Path) -> Any:
    made = Alone(tmp_path)
    yield made
    made.executor.close()


def test_processors_and_known_work_are_stored_with_the_run(alone: Alone) -> None:
    result = alone.run({})
    assert result.run is not None
    counters = decode_run(result.run).counters
    assert counters[f"process_cpu_{min(usable_cpus())}"] == 1.0
    assert len([name for name in counters if name.startswith("process_cpu_")]) == 1
    for kind, times_s in result.calibration_s.items():
        stored = [counters[f"calibration_{kind}_s_{when}"] for when in ("before", "after")]
        assert stored == times_s
        assert min(times_s) > 0
    assert set(result.calibration_s) == {"processor", "memory"}


def scripted(monkeypatch: pytest.MonkeyPatch, alone: Alone, times_s: list[float]) -> list[int]:
    """Let successive replications be calibrated with `times_s` around them; return their count."""
    script = iter(times_s)
    runs: list[int] = []

    def run(task: Task, process: OwnProcess) -> Result:
        del process
        runs.append(task.number)
        known = {"processor": [next(script)] * 2, "memory": [1.0, 1.0]}
        return Result(number=0, started_at="", wall_s=4.0, calibration_s=known)

    monkeypatch.setattr(alone.executor, "_alone", run)
    return runs


def test_a_replication_on_a_slower_machine_is_repeated(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = scripted(monkeypatch, alone, [1.0, 1.05, 1.2, 1.3, 1.0])
    assert alone.run({}).calibration_s["processor"] == [1.0, 1.0]
    assert alone.run({}).calibration_s["processor"] == [1.05, 1.05], "a twentieth is nothing"
    assert alone.run({}).calibration_s["processor"] == [1.0, 1.0]
    assert len(runs) == 5
    assert [text.partition(" was ")[2][:10] for text in alone.said] == ["20% slower", "30% slower"]


def test_repetitions_have_a_budget(alone: Alone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of 4 s fit into the free 10 s; the third into a fifth of the 60 s that count."""
    runs = scripted(monkeypatch, alone, [1.0] + [2.0] * 100)
    for _ in range(20):
        alone.run({})
    assert len(runs) == 20 + 3
    assert alone.run({}).calibration_s["processor"] == [2.0, 2.0], "and stays marked as slow"
