"""Experiments that are measured on hosts of a cluster: two workers that stand for two machines."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.cluster.address import parse_address
from headroom.experiment.runner.cluster.connection import Cluster
from headroom.experiment.runner.fresh import mark_fresh
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.plan import Plan
from tests.support.dask_processes import DaskProcesses
from tests.support.study_sessions import after_commits, run_study
from tests.support.study_text import Head

pytestmark = pytest.mark.deep

TWO = """
[[experiment]]
name = "first"
host = "db1"
system = { name = "fake-keeper", log = "{log}" }
factors.mode = ["plain", "fails"]
replications.count = 3

[[experiment]]
name = "second"
host = "db2"
system = { name = "fake-measure", log = "{log}" }
replications.count = 2

[[experiment]]
name = "refused"
host = "db2"
system = { name = "fake-keeper" }
fixed.users = 1000

[[experiment]]
name = "model"
system = { name = "fake-model" }
replications.count = 4
"""
ONE = """
[[experiment]]
name = "first"
host = "db1"
system = { name = "fake-located" }
replications.count = 2
"""
COMMAND = Head("far", "Measured elsewhere", "program").then("""\
host = "db1"
system = { name = "command", argv = ["sh", "{study}/program.sh", "LOCK"] }
replications.count = 4
""")
ALONE = "mkdir $1 && sleep 0.1 && rmdir $1"
ENDLESS = "echo $$ > $1 && sleep 1000"


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    folder = tmp_path_factory.mktemp("hosts")
    with DaskProcesses(folder, worker_count=1, hosts=("db1", "db2")) as processes:
        yield processes


def run_there(plan: Plan, dask: DaskProcesses) -> tuple[Outcome, list[str]]:
    said: list[str] = []
    with Cluster(parse_address(dask.on), said.append) as cluster:
        return run_study(plan, place=cluster), said


def environments(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the environment of the rows of each experiment."""
    with Journal.open(plan.folder / "results" / "journal.sqlite", create=False) as journal:
        known = {int(facts["id"]): dict(facts) for facts in journal.environments()}
        return {
            one.spec.name: known[journal.newest_environment(one.spec.name)]
            for one in plan.experiments
        }


def test_each_experiment_is_measured_on_its_host(
    plan_of: MakePlan, tmp_path: Path, dask: DaskProcesses
) -> None:
    """The host's process runs it, opens and closes its system there, and describes its machine."""
    plan = plan_of(TWO.replace("{log}", str(tmp_path / "log")))
    outcome, _ = run_there(plan, dask)
    assert (outcome.done, outcome.failed) == (3 + 2 + 4, 3 + 1), outcome
    notes = "".join(outcome.notes)
    assert "all is gone" in notes
    assert "experiment 'refused' cannot run here: there is no place for 1000 users" in notes
    processes = {line.split()[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert str(os.getpid()) not in processes
    found = environments(plan)
    assert [found[one]["host"].get("measured_as") for one in ("first", "second", "model")] == [
        "db1",
        "db2",
        None,
    ]
    assert found["first"]["experiments"] == ["first"]
    assert found["second"]["facts"] == {"second": {"overhead_s": 0.25}}
    assert not list(dask.folder.rglob("headroom-*")), "nothing is left there"


def test_measurements_count_without_the_cluster_until_something_else_is_there(
    plan_of: MakePlan, tmp_path: Path, dask: DaskProcesses
) -> None:
    plan = plan_of(ONE)
    (tmp_path / "place-10").write_text("disk=1")
    assert run_there(plan, dask)[0].done == 2
    assert run_study(plan).reused == 2
    (tmp_path / "place-10").write_text("disk=2")
    assert run_there(plan, dask)[0].done == 2
    assert run_there(plan, dask)[0].reused == 2
    with Journal.open(tmp_path / "results" / "journal.sqlite", create=True) as journal:
        mark_fresh(plan, journal)
    assert run_there(plan, dask)[0].done == 2


def test_a_host_must_be_there(plan_of: MakePlan, dask: DaskProcesses) -> None:
    with pytest.raises(EnvironmentUnfitError, match="measured on db1, which is not this") as here:
        run_study(plan_of(ONE))
    assert "--on dask://HOST:PORT" in here.value.cure
    wrong = plan_of(ONE.replace("db1", "db3"))
    with pytest.raises(
        EnvironmentUnfitError, match=r"the host 'db3' .* announced: db1, db2"
    ) as far:
        run_there(wrong, dask)
    assert '--resources "db3=1"' in far.value.cure
    own = plan_of(ONE.replace("db1", socket.gethostname()))
    assert run_study(own).done == 2, "this machine has its own name"


def test_a_model_has_no_host(plan_of: MakePlan) -> None:
    with pytest.raises(StudyError, match="'fake-model' measures nothing, so it has no host"):
        plan_of(ONE.replace("fake-located", "fake-model"))


def test_a_host_that_dies_ends_the_session_and_the_next_one_resumes(
    plan_of: MakePlan, dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(ONE.replace("2", "6"))
    with dask.client() as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        (address,) = (one for one, facts in workers.items() if "db1" in facts["resources"])
        pid = client.run(os.getpid, workers=[address])[address]
    after_commits(monkeypatch, {3: lambda: os.kill(pid, signal.SIGKILL)})
    with pytest.raises(EnvironmentUnfitError, match="db1 no longer measures"):
        run_there(plan, dask)
    dask.await_workers()
    outcome, _ = run_there(plan, dask)
    assert (outcome.reused, outcome.done) == (3, 3)


def started(folder: Path, lock: Path, script: str, on: str) -> "subprocess.Popen[bytes]":
    """Start the command on a study with a program that takes a lock."""
    folder.mkdir()
    (folder / "study.toml").write_text(COMMAND.replace("LOCK", str(lock)))
    (folder / "program.sh").write_text(script)
    command = [sys.executable, "-m", "headroom", "run", str(folder), "--json", "-q", "--on", on]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_two_commands_never_measure_on_one_host_at_once(
    tmp_path: Path, dask: DaskProcesses
) -> None:
    """Fault: a driver is killed while it measures; the two that wait get the host in turn."""
    lock, pid_file = tmp_path / "lock", tmp_path / "pid"
    killed = started(tmp_path / "killed", pid_file, ENDLESS, dask.on)
    while not pid_file.exists() or not (text := pid_file.read_text().strip()):
        assert killed.poll() is None
        sleep(0.05)
    both = [started(tmp_path / name, lock, ALONE, dask.on) for name in ("one", "two")]
    killed.kill()
    for run in both:
        output, errors = run.communicate(timeout=60)
        assert run.returncode == 0, errors
        content = json.loads(output)["content"]
        assert (content["done"], content["failed"]) == (4, 0)
    assert not Path(f"/proc/{text}").exists(), "what the killed one started has ended"
    killed.communicate()
