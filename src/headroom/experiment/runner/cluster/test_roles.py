"""Experiments with their load on one host and their services on another, over TCP.

Two workers with addresses of their own stand for two machines.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.runner.cluster.address import parse_address
from headroom.experiment.runner.cluster.connection import Cluster
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.design import Plan, make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.dask_processes import DaskProcesses
from tests.support.study_sessions import after_commits, run_study
from tests.support.study_text import Head

pytestmark = pytest.mark.deep

ROOT = Path(__file__).resolve().parents[5]
SERVER = """\
import os, socket, sys, time
host, port, behind, pids = sys.argv[1:5]
open(pids, "a").write(f"{os.getpid()}\\n")
print("listening on", host, flush=True)
with socket.create_server((host, int(port))) as server:
    while True:
        visitor, _ = server.accept()
        said = f"{os.getpid()} at {host}"
        if behind:
            to, at = behind.split(":")
            with socket.create_connection((to, int(at))) as next_one:
                said += f" before {next_one.recv(99).decode()}"
        with visitor:
            until = time.thread_time() + 0.02
            while time.thread_time() < until:
                pass
            visitor.sendall(said.encode())
"""
CLIENT = """\
import socket, sys, time
host, port, length_s = sys.argv[1:4]
with socket.create_connection((host, int(port))) as server:
    print(server.recv(200).decode())
time.sleep(float(length_s))
"""
STUDY = Head("roles", "A server on another machine", "served").then("""\
HOSTS
replications.count = 4

[experiment.system]
name = "command"
argv = ["{python}", "{study}/client.py", "{front.host}", "{front.port}", "LENGTH"]
metric = [{ name = "pid", regex = 'before (\\d+) at' }]
observe = { interval_s = 0.05 }
ignore = ["PIDS"]

[[experiment.system.service]]
name = "db"
argv = ["{python}", "{study}/server.py", "{db.host}", "{db.port}", "", "PIDS"]

[[experiment.system.service]]
name = "front"
role = "balancer"
argv = ["{python}", "{study}/server.py", "{front.host}", "{front.port}", "{db.host}:{db.port}",
  "PIDS"]
""")
APART = 'hosts = { load = "gen1", server = "db1", balancer = "gen1" }'


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    folder = tmp_path_factory.mktemp("roles")
    with DaskProcesses(folder, worker_count=0, hosts=("gen1", "db1")) as processes:
        yield processes


def write_study(
    folder: Path, hosts: str = APART, *, length_s: float = 0.2, client: str = CLIENT
) -> Path:
    """Write a study; returns the file in which its servers note their process numbers."""
    folder.mkdir(exist_ok=True)
    pids = folder.parent / f"{folder.name}.pids"
    text = STUDY.replace("HOSTS", hosts).replace("PIDS", str(pids))
    (folder / "study.toml").write_text(text.replace("LENGTH", str(length_s)))
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(client)
    return pids


def run_there(folder: Path, dask: DaskProcesses) -> Outcome:
    plan = make_plan(load_study(folder), quick=False)
    with Cluster(parse_address(dask.on), lambda _: None) as cluster:
        return run_study(plan, place=cluster)


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def await_end(pids: Path) -> None:
    """Wait until no server runs any more; each ends within seconds of what held it."""
    numbers = [int(line) for line in pids.read_text().split()]
    assert numbers
    deadline = monotonic() + 60.0
    while any(map(is_running, numbers)):
        assert monotonic() < deadline, "a server outlives its session"
        sleep(0.05)


def rows_of(plan: Plan) -> tuple[list[ReplicationRow], dict[str, Any]]:
    (experiment,) = plan.experiments
    with Journal.open(plan.folder / "results" / "journal.sqlite", create=False) as journal:
        (point,) = experiment.points
        return list(journal.rows("served", point.key)), dict(journal.environments()[-1])


def test_services_run_on_the_hosts_of_their_roles(tmp_path: Path, dask: DaskProcesses) -> None:
    """The program reaches the balancer on its own host, which reaches the server on the other."""
    folder = tmp_path / "study"
    pids = write_study(folder)
    outcome = run_there(folder, dask)
    assert (outcome.done, outcome.failed) == (4, 0), outcome.notes
    plan = make_plan(load_study(folder), quick=False)
    rows, facts = rows_of(plan)
    run = rows[0].run
    assert run is not None
    assert {f"{run.values['pid']:.0f}"} <= set(pids.read_text().split())
    logs = {one.name: one.content for one in run.artefacts}
    assert logs["front.log"].startswith(b"listening on 127.0.0.2")
    assert logs["db.log"].startswith(b"listening on 127.0.0.3")
    declared = {metric.name for metric in plan.experiments[0].system.metrics({})}
    watched = {"machine.cpu.utilization", "machine.server.cpu.utilization"}
    assert watched | {"service.db.cpu.utilization", "program.cpu.utilization"} <= declared
    assert declared >= set(run.values) >= watched
    assert run.values["service.db.cpu.utilization"] > 0.0
    assert run.samples is not None
    (table,) = run.samples.tables
    assert {"machine.server.cpu", "service.db.cpu", "service.front.cpu"} <= set(table.names)
    assert table.columns["busy_s"].shape == (run.samples.times_s.size, len(table.names))
    assert run.counters["server_machine_services_busy_s"] >= 0.02
    named = {role: one["host"]["measured_as"] for role, one in facts["roles"].items()}
    assert (facts["host"]["measured_as"], named) == ("gen1", {"server": "db1"})
    await_end(pids)
    assert not list(dask.folder.rglob("headroom-*")), "nothing is left there"


def test_rows_count_for_these_machines_alone(tmp_path: Path, dask: DaskProcesses) -> None:
    folder = tmp_path / "study"
    write_study(folder, length_s=0.0)
    assert run_there(folder, dask).done == 4
    assert run_there(folder, dask).reused == 4
    _, facts = rows_of(make_plan(load_study(folder), quick=False))
    here = Machine.of({name: table for name, table in facts.items() if name != "roles"})
    assert here.difference(Machine.of(facts)) == "server on another machine than the load"
    facts["roles"]["server"]["cpu"]["usable_count"] = 512
    assert "server: usable processors 512, here" in Machine.of(
        rows_of(make_plan(load_study(folder), quick=False))[1]
    ).difference(Machine.of(facts))
    write_study(folder, 'host = "gen1"', length_s=0.0)
    outcome = run_there(folder, dask)
    assert (outcome.reused, outcome.done) == (0, 4)
    assert any("server on another machine" in reason for reason in outcome.kept)


def test_the_study_of_the_guide_measures_postgresql_over_the_network(
    tmp_path: Path, dask: DaskProcesses
) -> None:
    guide = (ROOT / "docs" / "guides" / "run-on-a-cluster.md").read_text()
    text = guide.partition("file=far/study.toml\n")[2].partition("```")[0]
    short = {'"10"': '"1"', "[1, 4, 16]": "[1]", "count = 6": "count = 1"}
    for long, less in short.items():
        assert long in text
        text = text.replace(long, less)
    (tmp_path / "study.toml").write_text(text)
    outcome = run_there(tmp_path, dask)
    assert (outcome.done, outcome.failed) == (1, 0), outcome.notes
    (experiment,) = make_plan(load_study(tmp_path), quick=False).experiments
    with Journal.open(tmp_path / "results" / "journal.sqlite", create=False) as journal:
        (row,) = journal.rows("reads", experiment.points[0].key)
    assert row.run is not None
    assert row.run.values["service.db.commits_per_s"] > 0.0
    assert row.run.values["service.db.cpu_s_per_op"] > 0.0


def worker(dask: DaskProcesses, host: str) -> Callable[[], None]:
    """Return a function that kills the worker of a host."""
    with dask.client() as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        (address,) = (one for one, facts in workers.items() if host in facts["resources"])
        pid = client.run(os.getpid, workers=[address])[address]
    return lambda: os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("host", ["gen1", "db1"])
def test_the_death_of_either_worker_ends_the_session_and_all_services(
    tmp_path: Path, dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    folder = tmp_path / "study"
    pids = write_study(folder, length_s=0.0)
    with monkeypatch.context() as patched:
        after_commits(patched, {2: worker(dask, host)})
        with pytest.raises(EnvironmentUnfitError, match=f"{host} no longer measures"):
            run_there(folder, dask)
    await_end(pids)
    dask.await_workers()
    outcome = run_there(folder, dask)
    assert (outcome.reused, outcome.done, outcome.failed) == (2, 2, 0)


def test_a_server_that_dies_fails_its_replication_with_its_log(
    tmp_path: Path, dask: DaskProcesses
) -> None:
    """Fault: the program kills the server on the other host; the next replication has a new one."""
    folder = tmp_path / "study"
    kill = CLIENT + (
        "import os, signal\n"
        f"once = {str(tmp_path / 'once')!r}\n"
        "if not os.path.exists(once):\n"
        "    open(once, 'w').close()\n"
        f"    os.kill(int(open({str(tmp_path / 'study.pids')!r}).readline()), signal.SIGKILL)\n"
    )
    pids = write_study(folder, length_s=0.0, client=kill)
    outcome = run_there(folder, dask)
    assert outcome.failed == 1
    rows, _ = rows_of(make_plan(load_study(folder), quick=False))
    (failed,) = (row for row in rows if row.error)
    assert "db1: service 'db' ended during the run" in failed.error
    assert "listening on 127.0.0.3" in failed.error
    assert len(pids.read_text().split()) == 4, "the balancer starts again, with the other port"


def command(folder: Path, dask: DaskProcesses) -> "subprocess.Popen[bytes]":
    arguments = ["run", str(folder), "--json", "-q", "--on", dask.on]
    return subprocess.Popen(
        [sys.executable, "-m", "headroom", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_commands_that_share_hosts_in_opposite_order_take_turns(
    tmp_path: Path, dask: DaskProcesses
) -> None:
    """Fault: a driver is killed while it measures; two that wait for both hosts end, each alone."""
    lock = str(tmp_path / "lock")
    alone = CLIENT + f"import os\nos.mkdir({lock!r})\ntime.sleep(0.1)\nos.rmdir({lock!r})\n"
    swapped = 'hosts = { load = "db1", server = "gen1", balancer = "db1" }'
    pids = write_study(tmp_path / "killed", length_s=1000.0)
    write_study(tmp_path / "one", client=alone, length_s=0.0)
    write_study(tmp_path / "two", swapped, client=alone, length_s=0.0)
    killed = command(tmp_path / "killed", dask)
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert killed.poll() is None
        sleep(0.05)
    both = [command(tmp_path / name, dask) for name in ("one", "two")]
    killed.kill()
    killed.communicate()
    for run in both:
        output, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
        content = json.loads(output)["content"]
        assert (content["done"], content["failed"]) == (4, 0)
    await_end(pids)


def test_services_end_with_the_scheduler(
    tmp_path: Path, dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    pids = write_study(folder, length_s=0.0)
    after_commits(monkeypatch, {1: dask.kill_scheduler})
    with pytest.raises(EnvironmentUnfitError):
        run_there(folder, dask)
    await_end(pids)
