"""Targets: who is found, and what is said where nobody is."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.observe import targets
from headroom.observe.targets import target_of

# Listens, and starts a child that has inherited the socket.
LISTENER = """
import socket, subprocess
server = socket.create_server(("127.0.0.1", 0))
server.set_inheritable(True)
child = subprocess.Popen(["sleep", "60"], close_fds=False)
print(server.getsockname()[1], child.pid, flush=True)
input()
child.kill()
"""


def test_a_port_is_the_process_that_listens_with_its_descendants() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port, child = map(int, process.stdout.readline().split())
        found = [target_of(port=port), target_of(pid=process.pid)]
        members = [set(one.group.members()) for one in found]
        process.communicate("\n")
    assert members == [{process.pid, child}] * 2
    assert found[0].label.startswith(f"port {port} (python")


def test_groups_and_units_are_found_by_folder_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod, web = tmp_path / "kubepods/pod-1234abcd", tmp_path / "system.slice/web.service"
    for folder in (pod, web):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
    (pod / "cpuacct.usage").write_text("2500000000\n")
    (web / "cpu.stat").write_text("usage_usec 1500000\n")
    monkeypatch.setattr(targets, "_tops", lambda: [tmp_path])
    for text in (str(pod), "kubepods/pod-1234abcd", "1234abc"):
        found = target_of(cgroup=text)
        assert found.label.startswith("group pod-1234abcd (")
        assert found.group.totals()["cpu_s"] == 2.5
    assert target_of(service="web").group.totals()["cpu_s"] == 1.5
    (tmp_path / "another-1234abcd").mkdir()
    with pytest.raises(StudyError, match="2 control groups match '1234abc'"):
        target_of(cgroup="1234abc")
    with pytest.raises(StudyError, match="no unit other"):
        target_of(service="other.service")
    (web / "cpu.stat").unlink()
    with pytest.raises(EnvironmentUnfitError, match="does not count processor time"):
        target_of(service="web")


def test_what_does_not_exist_or_may_not_be_seen_is_said_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faults, the last two: a socket is listed that no process shows; there is no /proc."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text("head\n0: 00000000:0050 0:0 0A 0:0 0:0 0 0 0 4242 1\n")
    named: dict[str, int | str]
    for named, message, place in [
        ({"port": closed}, f"nothing listens at port {closed}", ""),
        ({"pid": 999_999_999}, "there is no process 999999999", ""),
        ({"cgroup": "/nowhere/at/all"}, "no control groups match", ""),
        ({}, "0 targets are named, not one", ""),
        ({"pid": 1, "port": 2}, "2 targets are named", ""),
        ({"port": 80}, "port 80 is open", "_PROC"),
        ({"port": 80}, "there is no /proc", "_SELF"),
    ]:
        if place:
            monkeypatch.setattr(targets, place, tmp_path)
        with pytest.raises(HeadroomError, match=message) as caught:
            target_of(**named)  # type: ignore[arg-type]
        assert caught.value.cure
