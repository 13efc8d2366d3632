"""A program that stops the process which clocks it fails, and nothing of it is left."""

from pathlib import Path

import msgspec
import pytest

from headroom.systems.command import CommandSystem, measure
from headroom.systems.command.failure import CommandFailedError
from headroom.systems.command.setup_table import CommandSetup


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that waits to be reaped does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


CONTINUE = "until grep -q stopped /proc/$PPID/status; do :; done; kill -CONT $PPID"


@pytest.mark.parametrize("after", ["wait", CONTINUE], ids=["for good", "for a while"])
def test_a_program_that_stops_its_launcher_fails(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: the driver waited indefinitely, since the stopped launcher kept no time limit."""
    monkeypatch.setattr(measure, "_LOOK_MS", 10)
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; kill -STOP $PPID; {after}"
    setup = msgspec.convert({"argv": ["sh", "-c", script], "time_limit_s": 60}, CommandSetup)
    with pytest.raises(CommandFailedError, match="stop signal to the launcher"):
        CommandSystem.load(setup, base=tmp_path).run({}, seed=1)
    assert not is_running(int((tmp_path / "pid").read_text()))
