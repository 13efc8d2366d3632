"""A program that stops its launcher fails, and nothing of it is left behind.

The same holds for servers that left the process tree: their resource use counts as the study's.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.experiment.machine.machine_watch import PREFIX, watched
from headroom.recording.launching import launcher
from headroom.systems.command import CommandSystem
from headroom.systems.command.failure import CommandFailedError
from headroom.systems.command.setup_table import CommandSetup


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


CONTINUE = "until grep -q stopped /proc/$PPID/status; do :; done; kill -CONT $PPID"


@pytest.mark.parametrize("after", ["wait", CONTINUE], ids=["for good", "for a while"])
def test_a_program_that_stops_its_launcher_fails(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: the driver waited indefinitely, since the stopped launcher kept no time limit."""
    monkeypatch.setattr(launcher, "_LOOK_MS", 10)
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; kill -STOP $PPID; {after}"
    setup = msgspec.convert({"argv": ["sh", "-c", script], "time_limit_s": 60}, CommandSetup)
    with pytest.raises(CommandFailedError, match="stop signal to the launcher"):
        CommandSystem.load(setup, base=tmp_path).run({}, seed=1)
    assert not is_running(int((tmp_path / "pid").read_text()))


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        while time.process_time() < 0.5:
            pass
        os.rename(sys.argv[1], sys.argv[2])
        time.sleep(1000)
    os._exit(0)
os.wait()
"""
"""Starts a server in its own session that uses 0.5 s of processor time and then stays."""


@pytest.mark.parametrize("role", ["argv", "set_up"])
def test_processor_time_of_a_server_that_left_the_process_tree_is_the_studys_own(
    role: str, tmp_path: Path
) -> None:
    """Foreign time would be a disturbance by *other programs*."""
    (tmp_path / "daemon.py").write_text(DAEMON)
    early, ready = tmp_path / "early", tmp_path / "ready"
    start = [sys.executable, str(tmp_path / "daemon.py"), str(early), str(ready)]
    wait = ["sh", "-c", f"until [ -e {ready} ]; do sleep 0.01; done"]
    both = ["sh", "-c", f"{sys.executable} {tmp_path}/daemon.py {early} {ready}; {wait[2]}"]
    table: dict[str, Any] = {"argv": both, "time_limit_s": 60}
    if role == "set_up":
        table |= {"argv": wait, "set_up": [start]}
    system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=tmp_path)
    with watched() as seen:
        system.run({}, seed=1)
    assert seen.counters[f"{PREFIX}own_busy_s"] >= 0.5
    assert not is_running(int(ready.read_text()))
