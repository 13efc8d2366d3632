"""A Dask cluster of separate processes: same rows as here, whatever dies."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

import headroom as hr
from headroom.errors import EnvironmentUnfitError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.cluster import connection, on_worker
from headroom.experiment.runner.cluster.address import parse_address
from headroom.experiment.runner.cluster.connection import Cluster
from headroom.experiment.runner.executors import InlineExecutor
from headroom.experiment.runner.hosts import Host
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.runner.tasks import Recipe
from headroom.experiment.study.plan import Plan, PlannedExperiment
from tests.support.dask_processes import DaskProcesses
from tests.support.model_study import write_model_study
from tests.support.study_sessions import after_commits, run_study

pytestmark = pytest.mark.deep

STUDY = """
[[experiment]]
name = "model"
system = { name = "fake-model", observations = 200 }
factors = { users = [1, 2, 3], mode = ["plain", "faulty", "crashes", "dies"] }
replications.count = 3

[[experiment]]
name = "open-ended"
system = { name = "fake-model" }
factors.users = [1, 2]
replications = { metric = "throughput", half_width = 0.1, minimum = 2, maximum = 12 }

[[experiment]]
name = "measured"
system = { name = "fake-measure" }
"""
MANY = """
[[experiment]]
name = "model"
system = { name = "fake-model", observations = 20000 }
factors = { users = [1, 2, 3], mode = ["plain", "faulty"] }
replications.count = 60
"""
TABLE = (
    "SELECT experiment, point_key, replication, seed, fingerprint, levels, state, error, run "
    "FROM replication ORDER BY experiment, point_key, replication, id"
)


def table(path: Path) -> list[tuple[Any, ...]]:
    with Journal.open(path, create=False) as journal:
        return list(journal._connection.execute(TABLE))


def simulated(plan: Plan) -> list[tuple[Any, ...]]:
    path = plan.folder / "results" / "journal.sqlite"
    return [row for row in table(path) if row[0] != "measured"]


def run_there(
    plan: Plan, dask: DaskProcesses, *, wait_s: float = 60.0
) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    with Cluster(parse_address(dask.on), said.append, wait_s=wait_s) as cluster:
        return run_study(plan, place=cluster), said


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as processes:
        yield processes


def test_rows_are_those_of_local_processes_to_the_last_bit(
    plan_of: MakePlan, dask: DaskProcesses
) -> None:
    plan = plan_of(STUDY)
    local = run_study(plan)
    expected = simulated(plan)
    (plan.folder / "results" / "journal.sqlite").unlink()
    there, said = run_there(plan, dask)
    assert (there.done, there.failed) == (local.done, local.failed)
    assert simulated(plan) == expected
    assert said == [f"simulations run on {dask.on} (2 workers)"]


def test_the_command_sends_models_helpers_and_data(tmp_path: Path, dask: DaskProcesses) -> None:
    tables = []
    for name, options in (("here", ["-j", "2"]), ("there", ["--on", dask.on])):
        study = write_model_study(tmp_path / name)
        command = [sys.executable, "-m", "headroom", "run", str(study), "--json", "-q", *options]
        ended = subprocess.run(command, capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert json.loads(ended.stdout)["kind"] == "study-result"
        tables.append(table(study / "results" / "journal.sqlite"))
    assert tables[0] == tables[1]
    assert len(tables[0]) == 6


def test_a_task_that_kills_three_workers_has_failed(plan_of: MakePlan, dask: DaskProcesses) -> None:
    plan = plan_of(
        "[[experiment]]\nname = 'load'\nsystem.name = 'fake-killer'\nreplications.count = 1\n"
        "factors = { users = [1], mode = ['plain', 'dies'] }"
    )
    outcome, _ = run_there(plan, dask)
    errors = {row[5]: row[7] for row in simulated(plan) if row[6] == "failed"}
    assert outcome.done + outcome.failed == 2
    assert errors.pop('{"mode":"dies","users":1}').startswith("3 workers of the cluster died")


def test_a_worker_with_another_program_is_refused(
    plan_of: MakePlan, dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = on_worker.code_here()
    other = msgspec.structs.replace(there, version="9.0")
    monkeypatch.setattr(on_worker, "code_here", lambda: other)
    with pytest.raises(EnvironmentUnfitError, match=f"Headroom {there.version}, here 9.0"):
        run_there(plan_of(STUDY), dask)


def shop() -> hr.Model:
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till"), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(0.02))
    return model


def test_functions_go_to_workers_with_the_same_python_alone(
    dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: bytecode of another Python ended the worker's process by a signal."""
    assert hr.simulate(shop, completions=300, on=dask.on)["throughput"].count == 10
    there = on_worker.code_here()
    other = msgspec.structs.replace(there, python="3.99.1")
    monkeypatch.setattr(on_worker, "code_here", lambda: other)
    both = f"Python {there.python}, here 3.99.1, and functions travel between equal versions only"
    with pytest.raises(EnvironmentUnfitError, match=both):
        hr.simulate(shop, completions=300, on=dask.on)
    assert hr.simulate("mm1", completions=300, on=dask.on)["throughput"].count == 10


OTHER = """
import msgspec
from headroom.experiment.runner.cluster import on_worker
own = msgspec.structs.replace(on_worker.code_here(), version="9.0")
on_worker.code_here = lambda: own
"""
NONE = """
import sys
sys.modules["headroom.experiment.runner.cluster.on_worker"] = None
"""


@pytest.mark.parametrize("case", ["Headroom 9.0, here", "9.0 that joins", "cannot be loaded"])
def test_a_worker_with_another_program_is_left_out_and_named(
    plan_of: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    plan = plan_of(MANY)
    run_study(plan)
    expected = simulated(plan)
    (plan.folder / "results" / "journal.sqlite").unlink()
    (tmp_path / "wrong.py").write_text(NONE if "loaded" in case else OTHER)
    with DaskProcesses(tmp_path, worker_count=1) as cluster:

        def join(processes: DaskProcesses) -> None:
            processes.join("--host", "127.0.0.1", "--preload", str(tmp_path / "wrong.py"))
            with processes.client() as client:
                client.wait_for_workers(2, timeout=120)

        if "joins" in case:
            after_commits(monkeypatch, {3: partial(join, cluster)})
        else:
            join(cluster)
        outcome, said = run_there(plan, cluster)
    assert outcome.done == len(expected)
    assert simulated(plan) == expected
    (named,) = (sentence for sentence in said if "is left out" in sentence)
    assert case.partition(" that")[0] in named


def test_tls_without_certificates_is_one_sentence() -> None:
    """Cause: Dask raised a type error about an SSL context, 40 lines long."""
    with pytest.raises(EnvironmentUnfitError, match="needs certificates, and") as caught:
        hr.simulate("mm1", on="tls://127.0.0.1:8786")
    assert "distributed.comm.tls.ca-file" in caught.value.cure


def test_nothing_is_left_on_workers_after_a_session(plan_of: MakePlan, dask: DaskProcesses) -> None:
    run_there(plan_of(STUDY), dask)
    assert not list(dask.folder.rglob("headroom-*"))
    with dask.client() as client:
        assert set(client.run(lambda: len(on_worker._STAGES)).values()) == {0}
    dask.await_workers()


def test_rows_survive_the_deaths_of_workers_and_of_the_scheduler(
    plan_of: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: two workers die in mid-session, then the scheduler; the next run fills the table."""
    plan = plan_of(MANY)
    run_study(plan)
    expected = simulated(plan)
    (plan.folder / "results" / "journal.sqlite").unlink()
    with DaskProcesses(tmp_path) as cluster:
        kills = {5: _kill_a_worker, 9: _kill_a_worker, 13: DaskProcesses.kill_scheduler}
        after_commits(
            monkeypatch, {number: partial(kill, cluster) for number, kill in kills.items()}
        )
        with pytest.raises(EnvironmentUnfitError, match="is lost") as stopped:
            run_there(plan, cluster)
        assert "the same command to resume" in stopped.value.cure
        stored = len(simulated(plan))
        assert 0 < stored < len(expected)
        cluster.stop()
        cluster.start()
        outcome, _ = run_there(plan, cluster)
    assert (outcome.reused, outcome.done) == (stored, len(expected) - stored)
    assert simulated(plan) == expected


def test_a_cluster_without_workers_ends_the_session(
    plan_of: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DaskProcesses(tmp_path, worker_count=1) as cluster:
        after_commits(monkeypatch, {3: cluster.kill_workers})
        with pytest.raises(EnvironmentUnfitError, match="has had no worker for 0 s"):
            run_there(plan_of(MANY), cluster, wait_s=0.0)
        with pytest.raises(EnvironmentUnfitError, match=r"has had no worker for 0\.1 s"):
            run_there(plan_of(MANY), cluster, wait_s=0.1)


def test_no_scheduler_is_an_unfit_environment(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = parse_address(f"dask://127.0.0.1:{taken.getsockname()[1]}")
    with (
        Cluster(address, print) as cluster,
        pytest.raises(EnvironmentUnfitError, match=f"no Dask scheduler answers at {address.text}"),
    ):
        run_study(plan_of(MANY), place=cluster)


class Resting:
    """A place that simulates in this process, and remembers what it was asked, in order."""

    worker_count = 1

    def __init__(self, log: Path) -> None:
        self.asked: list[str] = []
        self._log = log

    def executor(
        self, experiments: Iterable[PlannedExperiment], recipes: Mapping[str, Recipe]
    ) -> InlineExecutor:
        """Return an executor of this process."""
        self.asked.append(f"executor of {', '.join(recipes)}")
        return InlineExecutor({one.spec.name: one.system for one in experiments})

    def hosts(
        self, experiments: Mapping[str, Sequence[PlannedExperiment]], folder: Path
    ) -> Mapping[str, Host]:
        """Fail: nothing names a host."""
        raise AssertionError(experiments, folder)

    def close(self) -> None:
        """Note whether anything was measured before."""
        self.asked.append(f"close, measured: {self._log.exists()}")


def test_a_cluster_is_left_before_anything_is_measured(plan_of: MakePlan, tmp_path: Path) -> None:
    measured = "[[experiment]]\nname = 'real'\nsystem = { name = 'fake-measure', log = 'log' }\n"
    plan = plan_of(MANY.replace("60", "1") + measured)
    place = Resting(tmp_path / "log")
    run_study(plan, place=place)
    assert place.asked == ["executor of model", "close, measured: False"]
    assert (tmp_path / "log").exists()


def test_a_finished_study_needs_no_cluster(plan_of: MakePlan) -> None:
    plan = plan_of(MANY.replace("60", "2"))
    run_study(plan)
    with Cluster(parse_address("dask+open://nowhere.invalid:1"), print) as cluster:
        assert run_study(plan, place=cluster).done == 0


def _kill_a_worker(cluster: DaskProcesses) -> None:
    os.kill(cluster.worker_pids()[0], signal.SIGKILL)
