"""Targets: who is found, and what is said where nobody is."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.observe import targets
from headroom.observe.targets import target_of

LISTENER = """
import socket, subprocess, sys
server = socket.create_server(("127.0.0.1", 0))
server.set_inheritable(True)
child = subprocess.Popen(["sleep", "60"], close_fds=False)
print(server.getsockname()[1], child.pid, flush=True)
input()
child.kill()
"""


@pytest.fixture
def listener() -> Iterator[tuple[int, int, int]]:
    """Yield port, process and child of a server whose child has inherited its socket."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port, child = map(int, process.stdout.readline().split())
        yield port, process.pid, child
        process.communicate("\n")


def test_a_port_is_the_process_that_listens_with_its_descendants(
    listener: tuple[int, int, int],
) -> None:
    port, pid, child = listener
    found = target_of(port=port)
    assert set(found.group.members()) == {pid, child}
    assert found.label.startswith(f"port {port} (python")
    assert found.name == f"port {port}"
    assert set(target_of(pid=pid).group.members()) == {pid, child}


def test_a_control_group_is_found_by_folder_and_by_a_part_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kubepods" / "pod-1234abcd"
    folder.mkdir(parents=True)
    (tmp_path / "cgroup.procs").write_text("")
    for place in (folder.parent, folder):
        (place / "cgroup.procs").write_text(f"{os.getpid()}\n")
        (place / "cpuacct.usage").write_text("2500000000\n")
    monkeypatch.setattr(targets, "_tops", lambda: [tmp_path])
    for text in (str(folder), "kubepods/pod-1234abcd", "1234abc"):
        found = target_of(cgroup=text)
        assert found.label.startswith("group pod-1234abcd (")
        assert found.group.totals()["cpu_s"] == 2.5
    (tmp_path / "another-1234abcd").mkdir()
    with pytest.raises(StudyError, match="2 control groups match '1234abc'"):
        target_of(cgroup="1234abc")


def test_a_unit_of_systemd_is_its_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "system.slice" / "web.service"
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
    (folder / "cgroup.controllers").write_text("cpu\n")
    (folder / "cpu.stat").write_text("usage_usec 1500000\n")
    monkeypatch.setattr(targets, "_tops", lambda: [tmp_path])
    assert target_of(service="web").group.totals()["cpu_s"] == 1.5
    with pytest.raises(StudyError, match="no unit other"):
        target_of(service="other.service")


def test_what_does_not_exist_is_said_with_a_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    with subprocess.Popen(["true"]) as process:
        process.wait()
    for named, message in [
        ({"port": closed}, f"nothing listens at port {closed}"),
        ({"pid": process.pid}, f"there is no process {process.pid}"),
        ({"cgroup": "/nowhere/at/all"}, "no control groups match"),
        ({}, "0 targets are named, not one"),
        ({"pid": 1, "port": 2}, "2 targets are named"),
    ]:
        with pytest.raises(HeadroomError, match=message) as caught:
            target_of(**named)
        assert caught.value.cure


def test_a_socket_of_another_user_and_no_linux_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: the socket is listed, no process shows its descriptors."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text("head\n0: 00000000:0050 0:0 0A 0:0 0:0 0 0 0 4242 1\n")
    monkeypatch.setattr(targets, "_PROC", tmp_path)
    with pytest.raises(EnvironmentUnfitError, match="port 80 is open"):
        target_of(port=80)
    monkeypatch.setattr(targets, "_SELF", tmp_path / "self")
    with pytest.raises(EnvironmentUnfitError, match="there is no /proc"):
        target_of(port=80)
