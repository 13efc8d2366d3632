"""Forked workers: what they take from their driver, and how their end is told."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import pytest

from headroom.errors import ExitCode
from headroom.experiment.runner import fork_server
from headroom.experiment.runner.fork_server import Forked
from headroom.experiment.runner.tasks import Start
from headroom.experiment.runner.worker import READY


@contextmanager
def forked() -> Iterator[tuple[Forked, "Connection[bytes, bytes]"]]:
    """Give a worker and the connection to it; it is killed in the end."""
    here, there = socket.socketpair()
    with there:
        process = Forked(there.fileno())
    with Connection(here.detach()) as connection:
        yield process, connection
        process.kill()
        process.release()
        process.wait()


def told_by_proc(process: Forked, name: str) -> str:
    return Path(f"/proc/{process.pid}/{name}").read_text(encoding="utf-8")


def test_workers_of_a_driver_come_from_one_server() -> None:
    with forked() as (first, _), forked() as (other, _):
        parents = {
            told_by_proc(process, "stat").rpartition(")")[2].split()[1]
            for process in (first, other)
        }
        assert len(parents) == 1
        assert parents != {str(os.getpid())}


def test_a_worker_has_folder_and_session_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with forked() as (process, connection):
        connection.send_bytes(msgspec.msgpack.encode(Start(sys_path=sys.path, recipes={})))
        assert connection.recv_bytes() == READY
        assert Path(f"/proc/{process.pid}/cwd").resolve() == tmp_path.resolve()
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None


def test_a_driver_whose_folder_was_removed_has_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with forked() as (process, connection):
        connection.send_bytes(msgspec.msgpack.encode(Start(sys_path=sys.path, recipes={})))
        assert connection.recv_bytes() == READY
        assert process.poll() is None


def test_the_end_of_a_worker_is_told_with_its_signal() -> None:
    with forked() as (process, _):
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM
        assert process.poll() == -signal.SIGTERM


def test_a_worker_ends_when_its_lifeline_is_cut() -> None:
    with forked() as (process, _):
        process.release()
        assert process.wait() == 1


def test_an_idle_worker_is_not_waited_for_for_ever() -> None:
    with forked() as (process, _), pytest.raises(TimeoutError, match="has not ended"):
        process.wait(0.0)


@pytest.mark.deep
@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_server_that_was_killed_is_replaced(
    monkeypatch: pytest.MonkeyPatch, *, is_noticed: bool
) -> None:
    with forked() as (process, _):
        (server,) = fork_server._servers
        if not is_noticed:
            monkeypatch.setattr(server, "is_usable", lambda: True)
        server._process.kill()
        server._process.wait()
        assert process.wait() == 1, "nobody can say how it ended"
        with forked() as (other, _):
            assert other.poll() is None


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), 9)"])
def test_server_and_workers_end_with_their_driver(end: str) -> None:
    """Fault: a driver that is killed; its server and its workers read the end of a connection."""
    script = f"""
import os, socket
from headroom.experiment.runner import fork_server
here, there = socket.socketpair()
process = fork_server.Forked(there.fileno())
print(process.pid, fork_server._servers[0]._process.pid, flush=True)
input()
{end}
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        pids = [int(pid) for pid in driver.stdout.readline().split()]
        ends = [os.pidfd_open(pid) for pid in pids]
        driver.communicate("\n")
    assert driver.returncode in (ExitCode.DONE, -signal.SIGKILL)
    for end_of_process in ends:
        assert select.select([end_of_process], [], [], 60)[0], "it has not ended"
        os.close(end_of_process)
