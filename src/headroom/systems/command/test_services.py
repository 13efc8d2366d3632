"""Services around a measured program: start, health, faults, limits, end, and leftovers."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.recording.services import keeper as keeping
from headroom.recording.services.limits import hierarchies, make_groups, remove_groups
from headroom.recording.services.service import ServiceFailedError, free_ports
from headroom.recording.services.table import LimitsTable
from headroom.systems.command import CommandSystem
from headroom.systems.command.setup_table import CommandSetup

ROOT = Path(__file__).resolve().parents[4]
SERVER = str(ROOT / "tests" / "support" / "fake_server.py")
ASK = (
    "import socket, sys; print(socket.create_connection(('127.0.0.1', {db.port})).recv(9).decode())"
)
PID = {"name": "pid", "regex": r"(\d+)"}

Make = Callable[..., CommandSystem]


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def make(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Make]:
    """Return a maker of systems with one service, which are closed after the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made: list[CommandSystem] = []

    def system(mode: str = "", program: list[str] | None = None, **service: Any) -> CommandSystem:
        server = {"name": "db", "argv": [sys.executable, SERVER, "{db.port}", mode], **service}
        table = {
            "argv": program or [sys.executable, "-c", ASK],
            "service": [server],
            "metric": [PID],
            "time_limit_s": 300,
        }
        made.append(CommandSystem.load(msgspec.convert(table, CommandSetup), base=tmp_path))
        return made[-1]

    yield system
    for one in made:
        one.close_session()


def pid_of(system: CommandSystem, seed: int = 1) -> int:
    return int(system.run({}, seed=seed).values["pid"])


def test_a_service_serves_all_runs_of_a_session_and_ends_with_it(make: Make) -> None:
    system = make()
    first, second = pid_of(system), pid_of(system, seed=2)
    (service,) = system.keeper.services()
    assert first == second == service.pid
    folder = service.place.folder
    system.close_session()
    assert not is_running(first)
    assert not folder.exists()


def test_a_service_per_point_is_started_anew_for_each_replication(make: Make) -> None:
    system = make(per="point")
    pids = {pid_of(system), pid_of(system, seed=2)}
    assert len(pids) == 2
    assert not any(is_running(pid) for pid in pids)


def test_a_service_whose_texts_change_is_started_anew(make: Make) -> None:
    system = make("child", env={"SEED": "{seed}"})
    assert pid_of(system) != pid_of(system, seed=2)


@pytest.mark.parametrize("ready", [{"line": "^listening"}, {"argv": ["true"]}, {"port": "port"}])
def test_it_is_ready_by_a_line_a_command_or_a_port(make: Make, ready: dict[str, Any]) -> None:
    system = make(ready=ready, program=["echo", "1"])
    assert pid_of(system) == 1


def test_a_service_that_dies_at_its_start_fails_the_run_with_its_log(make: Make) -> None:
    with pytest.raises(ServiceFailedError, match=r"(?s)before it was ready.*the disk is on fire"):
        pid_of(make("dies"))


def test_a_service_that_is_never_ready_is_refused_after_the_stated_time(make: Make) -> None:
    with pytest.raises(ServiceFailedError, match=r"was not ready within 0\.3 s"):
        pid_of(make("deaf", ready={"within_s": 0.3}))


def test_a_service_that_dies_during_a_run_ends_the_run_with_its_log(make: Make) -> None:
    script = f"{ASK}; import time; time.sleep(1000)"
    with pytest.raises(ServiceFailedError, match=r"(?s)ended during the run.*second visitor"):
        pid_of(make("mortal", program=[sys.executable, "-c", script]))


def test_a_service_that_ignores_sigterm_is_killed_with_its_children(make: Make) -> None:
    system = make("stubborn", stop_within_s=0.1)
    pid = pid_of(system)
    system.close_session()
    assert not is_running(pid)


def test_processes_that_left_the_session_of_a_service_end_too(make: Make) -> None:
    system = make("child")
    pid_of(system)
    processes = system.keeper.services()[0].processes()
    assert len(processes) == 2
    system.close_session()
    assert not any(is_running(pid) for pid in processes)


def test_other_ports_are_chosen_if_one_is_taken_before_the_start(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first choice is a port where another program listens already."""
    other = make("", program=["echo", "1"])
    pid_of(other)
    taken = other.keeper.services()[0].place.ports
    choose = free_ports
    choices = iter([dict(taken)])
    monkeypatch.setattr(keeping, "free_ports", lambda names: next(choices, None) or choose(names))
    system = make(ready={"line": "^listening"})
    assert pid_of(system) == system.keeper.services()[0].pid
    assert system.keeper.services()[0].place.ports != taken


def test_a_pause_is_seen_by_the_program_and_is_over_afterwards(make: Make) -> None:
    """The program returns only once the server's state is `stopped`."""
    watch = (
        "until grep -q 'State:.*stopped' /proc/$(cat {db.folder}/pid)/status; do :; done; echo 1"
    )
    note = ["sh", "-c", 'echo $$ > pid; exec "$@"', "sh", sys.executable, SERVER, "{db.port}"]
    fault = {"signal": "STOP", "after_s": 0.0}
    system = make(argv=note, program=["sh", "-c", watch], fault=fault)
    pid_of(system)
    pid = system.keeper.services()[0].pid
    assert "stopped" not in Path(f"/proc/{pid}/status").read_text()


def test_a_limit_of_processors_is_set_where_control_groups_are_writable(make: Make) -> None:
    known = hierarchies()
    groups, remarks = make_groups("probe", LimitsTable(cpus=0.5), known)
    remove_groups(groups)
    system = make(limits={"cpus": 0.5})
    run = system.run({}, seed=1)
    (service,) = system.keeper.services()
    if remarks:
        assert any("no limit of cpu" in remark for remark in run.remarks)
        return
    group = service.groups["cpu"]
    assert str(service.pid) in (group / "cgroup.procs").read_text().split()
    system.close_session()
    assert not group.exists()


def test_a_limit_that_no_control_group_can_set_becomes_a_remark() -> None:
    groups, remarks = make_groups("x", LimitsTable(cpus=1.0, memory_mb=64.0), [])
    assert groups == {}
    assert [remark.split(":")[0] for remark in remarks] == [
        "has no limit of cpu",
        "has no limit of memory",
    ]


DRIVER = """
import os, signal, sys, msgspec
from pathlib import Path
from headroom.recording.launching import descendants
from headroom.systems.command import CommandSystem
from headroom.systems.command.setup_table import CommandSetup
server = [sys.executable, sys.argv[1], "{db.port}", "child"]
table = {"argv": ["true"], "service": [{"name": "db", "argv": server, "limits": {"cpus": 1.0}}]}
system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=Path("/tmp"))
system.run({}, seed=1)
service = system.keeper.services()[0]
print(service.place.folder, *service.groups.values(), *service.processes(), flush=True)
launcher = int(Path(f"/proc/{service.pid}/stat").read_text().rpartition(")")[2].split()[1])
if sys.argv[2] == "both":
    os.kill(launcher, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("killed", ["driver", "both"])
def test_the_next_run_removes_what_a_sigkill_left(make: Make, killed: str) -> None:
    """`both`: the launcher, which would end the service, is killed as well."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, SERVER, killed],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    words = done.stdout.split()
    paths = [Path(word) for word in words if word.startswith("/")]
    assert paths[0].exists()
    said = make().open_session(lambda _: None)
    assert any("which a run that was killed left behind" in sentence for sentence in said)
    assert [path for path in paths if path.exists()] == []
    assert [pid for pid in words if pid.isdigit() and is_running(int(pid))] == []


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ({"kind": "postgrse"}, "unknown kind"),
        ({"ready": {"port": "http"}}, "ready.port is 'http'"),
        ({"argv": []}, "has no `argv`"),
        ({"argv": ["x", "{db.prot}"]}, "names no port"),
    ],
)
def test_a_wrong_service_is_refused_early(make: Make, service: Any, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        make(**service).plan.placeholders()


def test_what_a_service_runs_decides_about_reuse(make: Make) -> None:
    plain, other = make(), make(env={"CACHE": "1"})
    assert plain.fingerprint({}) != other.fingerprint({})
    assert sys.executable in plain.found_at({})


def test_postgres_starts_answers_and_ends(make: Make) -> None:
    ask = ["{db.bin}/psql", "-At", "{db.url}", "-c", "show shared_buffers"]
    settings = {"shared_buffers": "17MB"}
    system = make(kind="postgres", program=ask, argv=[], settings=settings)
    try:
        assert pid_of(system) == 17
    except HeadroomError as error:
        if "not installed" in error.message:
            pytest.skip(error.message)
        raise
    with closing(system.keeper) as keeper:
        pids = keeper.services()[0].processes()
    assert len(pids) > 1
    assert not any(is_running(pid) for pid in pids)
