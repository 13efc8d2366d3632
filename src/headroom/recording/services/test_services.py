"""Services around a measured program: start, health, faults, limits, end, and leftovers."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.machine.machine_watch import SERVICES_BUSY
from headroom.recording.services import keeper as keeping
from headroom.recording.services.limits import hierarchies, make_groups, remove_groups
from headroom.recording.services.service import (
    LOG_LIMIT_BYTES,
    ServiceFailedError,
    cut_log,
    free_ports,
)
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
    first = pid_of(system)
    (service,) = system.keeper.services()
    assert first != pid_of(system, seed=2)
    # Cause: the files of all 54 servers of a study stayed until its end, and filled the disk.
    assert not service.place.folder.exists()


@pytest.mark.parametrize("ready", [{"line": "^listening"}, {"argv": ["true"]}, {"port": "port"}])
def test_it_is_ready_by_a_line_a_command_or_a_port(make: Make, ready: dict[str, Any]) -> None:
    system = make(ready=ready, program=["echo", "1"])
    assert pid_of(system) == 1


def test_it_is_ready_at_a_port_of_its_own_settings(make: Make) -> None:
    """Cause: a server with a fixed port, such as redis at 6379, needed a name for it."""
    (port,) = free_ports(["port"]).values()
    argv = [sys.executable, SERVER, str(port), ""]
    system = make(argv=argv, ports=[], ready={"port": port}, program=["echo", "1"])
    assert pid_of(system) == 1
    with socket.create_connection(("127.0.0.1", port), timeout=5.0):
        pass


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
    monkeypatch.setattr(
        keeping, "free_ports", lambda names, host: next(choices, None) or choose(names, host)
    )
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


def start_or_skip(system: CommandSystem) -> float:
    try:
        return system.run({}, seed=1).values["pid"]
    except HeadroomError as error:
        if "not installed" in error.message:
            pytest.skip(error.message)
        raise


FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


@pytest.mark.parametrize(
    ("kind", "program", "settings", "processes"),
    [
        ("postgres", ["{db.bin}/psql", "-At", "{db.url}", "-c", "show shared_buffers"],
         {"shared_buffers": "17MB"}, 2),
        ("mariadb", ["sh", "-c", "echo 17; grep -c . {db.log}"], {"max_connections": "17"}, 1),
        ("nginx", [sys.executable, "-c", FETCH, "{db.url}17.txt"], {"worker_processes": "2"}, 3),
    ],
)  # fmt: skip
def test_a_known_server_starts_answers_and_ends(
    make: Make, kind: str, program: list[str], settings: dict[str, str], processes: int
) -> None:
    files = {"17.txt": "17"} if kind == "nginx" else {}
    system = make(kind=kind, program=program, argv=[], settings=settings, files=files)
    assert start_or_skip(system) == 17
    with closing(system.keeper) as keeper:
        pids = keeper.services()[0].processes()
    assert len(pids) >= processes
    assert not any(is_running(pid) for pid in pids)


BURNING = """\
import socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        held = bytearray(b"x") * int(sys.argv[2])
        for number in range(int(sys.argv[3])):
            pass
        self.request.sendall(b"17")
socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def limited(make: Make, *, bytes_: int, turns: int, **limits: float) -> CommandSystem:
    """Return a system whose server takes memory and processor time for an answer."""
    if not {"cpu", "memory"} <= {c for one in hierarchies() for c in one.controllers}:
        pytest.skip("no control groups here: run as root with cgroup mounted")
    argv = [sys.executable, "-c", BURNING, "{db.port}", str(bytes_), str(turns)]
    return make(argv=argv, limits=limits)


def test_a_limit_of_memory_kills_the_service_and_the_message_says_so(make: Make) -> None:
    """Fault: an answer needs 300 MB, the limit is 60 MB."""
    system = limited(make, bytes_=300_000_000, turns=1, memory_mb=60.0)
    with pytest.raises(HeadroomError) as caught:
        [system.run({}, seed=seed) for seed in range(3)]
    assert "its limit of 60 MB of memory" in str(caught.value.message)


def test_a_limit_of_processors_holds_the_service_back(tmp_path: Path, make: Make) -> None:
    """A tenth of a processor: the answer takes far longer than its processor time."""
    del make  # only for its folder of state
    argv = [sys.executable, "-c", BURNING, "{db.port}", "1", "5000000"]
    table = {
        "argv": [sys.executable, "-c", ASK],
        "service": [{"name": "db", "argv": argv, "limits": {"cpus": 0.1}}],
        "metric": [PID],
        "observe": {"interval_s": 0.1},
        "time_limit_s": 300,
    }
    if "cpu" not in {c for one in hierarchies() for c in one.controllers}:
        pytest.skip("no control groups here: run as root with cgroup mounted")
    system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=tmp_path)
    with closing(system.keeper):
        values = system.run({}, seed=1).values
    assert values["service.db.throttled_share"] > 0.3
    # The kernel allows a little more at the end of a period.
    assert 0.5 < values["service.db.cpu.utilization"] < 1.5


@pytest.mark.usefixtures("make")
def test_haproxy_passes_requests_on_to_another_service(tmp_path: Path) -> None:
    servers = [
        {"name": "web", "kind": "nginx", "files": {"17.txt": "17"}},
        {"name": "db", "kind": "haproxy", "settings": {"server": "127.0.0.1:{web.port}"}},
    ]
    table = {
        "argv": [sys.executable, "-c", FETCH, "{db.url}17.txt"],
        "service": servers,
        "metric": [PID],
    }
    system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=tmp_path)
    with closing(system.keeper):
        assert start_or_skip(system) == 17


def test_a_setting_that_a_known_server_does_not_have_is_refused(make: Make) -> None:
    with pytest.raises(StudyError, match="has no setting 'worker_process'"):
        make(kind="nginx", settings={"worker_process": "1"}).plan.placeholders()


def test_files_of_a_service_are_written_with_their_words(make: Make) -> None:
    files = {"my.cfg": "port = {db.port} {{of 17}}"}
    system = make(files=files, program=["grep", "-o", "of 17", "{db.folder}/my.cfg"])
    assert pid_of(system) == 17
    (service,) = system.keeper.services()
    assert (
        f"port = {service.place.ports['port']} {{" in (service.place.folder / "my.cfg").read_text()
    )


@pytest.mark.parametrize("number", ["KILL", "TERM"])
def test_a_signal_ends_the_service_during_the_run_without_failing_it(
    make: Make, number: str
) -> None:
    """The program returns only once no server answers any more; the next run has a new one."""
    gone = f"while {sys.executable} -c \"{ASK}\" 2>&1 | grep -q '^[0-9]'; do :; done; echo 5"
    system = make(program=["sh", "-c", gone], fault={"signal": number, "after_s": 0.1})
    assert pid_of(system) == 5
    first = system.keeper.services()[0].pid
    assert not is_running(first)
    assert pid_of(system, seed=2) == 5
    assert system.keeper.services()[0].pid != first


def test_a_killed_service_starts_again_with_its_files_and_its_port(make: Make) -> None:
    """The program returns only once a new server answers at the port of the killed one."""
    asked = f'{sys.executable} -c "{ASK}" 2>/dev/null'
    other = f"until n=$({asked}) && [ $n != $(cat {{db.folder}}/pid) ]; do :; done; echo $n"
    note = ["sh", "-c", '[ -e pid ] || echo $$ > pid; exec "$@"', "sh", sys.executable, SERVER,
            "{db.port}"]  # fmt: skip
    fault = {"signal": "KILL", "after_s": 0.1, "starts_again_after_s": 0.1}
    system = make(argv=note, program=["sh", "-c", other], fault=fault)
    new = pid_of(system)
    (service,) = system.keeper.services()
    assert service.pid == new
    assert int((service.place.folder / "pid").read_text()) != new


def test_a_log_that_grows_too_large_keeps_its_last_part(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * LOG_LIMIT_BYTES + b"the last line\n")
        cut_log(log)
        writer.write(b"and one more\n")
    text = log.read_bytes()
    assert len(text) < LOG_LIMIT_BYTES / 2
    assert text.startswith(b"[earlier lines were cut")
    assert text.endswith(b"the last line\nand one more\n")


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ({"set_up": [["sh", "-c", "echo no space >&2; exit 3"]]}, "exit code 3:\nno space"),
        ({"set_up": [["no-such-program"]]}, "`no-such-program` cannot be started"),
        ({"set_up": [["sleep", "1000"]], "set_up_within_s": 0.5}, "by `set_up_within_s`"),
        ({"ready": {"argv": ["no-such-program"]}}, "cannot be checked by 'no-such-program'"),
        ({"ready": {"argv": ["sleep", "9"], "within_s": 0.2}}, "was not ready within 0.2 s"),
    ],
)
def test_what_goes_wrong_at_a_start_is_said_and_leaves_nothing(
    make: Make, service: dict[str, Any], words: str
) -> None:
    system = make(**service)
    with pytest.raises(ServiceFailedError) as failed:
        pid_of(system)
    assert words in failed.value.message
    assert system.keeper.services() == []


def test_limits_of_the_unified_hierarchy_are_written_as_it_reads_them(tmp_path: Path) -> None:
    """A fake tree of control groups, version 2."""
    own = tmp_path / "cgroup" / "me"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text("0::/me\n")
    (proc / "mounts").write_text(f"cgroup2 {tmp_path / 'cgroup'} cgroup2 rw,nosuid 0 0\n")
    groups, remarks = make_groups("db", LimitsTable(cpus=0.5, memory_mb=64.0), hierarchies(proc))
    assert remarks == []
    assert (groups["cpu"] / "cpu.max").read_text() == "50000 100000"
    assert (groups["memory"] / "memory.max").read_text() == "64000000"
    assert groups["cpu"].parent == own


@pytest.mark.deep
def test_the_processor_time_of_a_service_is_that_of_the_measured_system(make: Make) -> None:
    """Otherwise the report would call the work of the server a disturbance by other programs."""
    burn = [sys.executable, "-c", "while True: pass"]
    nap = [sys.executable, "-c", "import time; time.sleep(1); print(1)"]
    system = make(argv=burn, ready={"argv": ["true"]}, program=nap)
    counters = [system.run({}, seed=seed).counters[SERVICES_BUSY] for seed in (1, 2)]
    assert all(0.05 < busy_s < 5.0 for busy_s in counters), "of one run each, not since the start"
