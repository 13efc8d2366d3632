"""The interface of a run if the system rejects one: reported, and never a reason to fail.

The rejections are real: a system-call filter (seccomp) in a separate process, and memory limits.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headroom.systems.storage.conftest import need_root

SETUP, ENTER = 425, 426
"""Numbers of `io_uring_setup` and `io_uring_enter`, the same on all processors."""
EPERM, ENOSYS, ENOMEM = 1, 38, 12
_CHILD = """
import ctypes, json, os, struct, sys
from pathlib import Path
from headroom.errors import HeadroomError
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from headroom.systems.storage.system import StorageSystem

asked = json.loads(sys.argv[1])

def refuse(number, error):
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error),
            (0x06, 0, 0, 0x7FFF0000)]
    text = b"".join(struct.pack("HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(text)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()

if asked.get("locked") is not None:
    import resource
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (asked["locked"], asked["locked"]))
    os.setuid(65534)
if asked.get("filter") and not asked.get("late"):
    refuse(*asked["filter"])
target = TargetTable(kind="file", path=asked["folder"], bytes="1 MiB")
setup = StorageSetup(targets={"one": target}, reserve=4096)
system = StorageSystem.load(setup, base=Path(asked["folder"]))
said = {}
system.open_session(lambda text: None)
try:
    said["facts"] = system.prepare()
    if asked.get("late"):
        refuse(*asked["filter"])
    config = {one.name: one.default for one in system.parameters() if one.default is not None}
    config |= {"seconds": 0.0, "requests": 500, "depth": asked["depth"]}
    run = system.run(config | {"interface": asked["interface"]}, seed=1)
    said |= {"notes": run.notes, "faults": run.faults, "values": run.values}
except HeadroomError as error:
    said |= {"error": error.message, "cure": error.cure}
finally:
    system.close_session()
print(json.dumps(said))
"""


def _told(folder: Path, **asked: Any) -> dict[str, Any]:
    plan = {"folder": str(folder), "depth": 4, "interface": "auto", **asked}
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(plan)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _place(folder: Path) -> Path:
    """Return a folder that all users may use, on a disk."""
    folder.chmod(0o777)
    for parent in folder.parents:
        if parent.owner() == folder.owner() and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (SETUP, EPERM, "Operation not permitted"),
        (SETUP, ENOSYS, "Function not implemented"),
        (ENTER, EPERM, "Operation not permitted"),
        (ENTER, ENOSYS, "Function not implemented"),
    ],
)
def test_a_refused_ring_becomes_threads_and_the_run_says_so(
    tmp_path: Path, number: int, error: int, words: str
) -> None:
    said = _told(tmp_path, filter=[number, error])
    assert words in said["facts"]["io_uring refused"]
    assert "tool_threads_per_read_s" in said["facts"]
    assert "tool_io_uring_per_read_s" not in said["facts"]
    (note,) = [text for text in said["notes"] if "interface threads" in text]
    assert words in note
    assert said["faults"] == []
    assert said["values"]["error_count"] == 0.0


def test_a_ring_that_is_refused_only_when_the_run_begins_becomes_threads(tmp_path: Path) -> None:
    said = _told(tmp_path, filter=[SETUP, ENOMEM], late=True)
    assert "tool_io_uring_per_read_s" in said["facts"]
    (note,) = [text for text in said["notes"] if "interface threads" in text]
    assert "setting up a ring failed: Cannot allocate memory" in note
    assert said["values"]["tool_share"] > 0.0


@pytest.mark.parametrize(
    ("error", "cure"),
    [(ENOMEM, "ulimit -l"), (ENOSYS, "no io_uring"), (EPERM, "io_uring_disabled")],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_ring_that_is_asked_for_and_refused_is_an_error_with_its_cure(
    tmp_path: Path, error: int, cure: str, *, late: bool
) -> None:
    said = _told(tmp_path, filter=[SETUP, error], late=late, interface="io_uring")
    assert "setting up a ring failed" in said["error"]
    assert (cure if late else 'interface = "auto"') in said["cure"]


@pytest.mark.parametrize("locked_bytes", [0, 65536])
def test_a_limit_of_locked_memory_costs_registration_or_the_ring_but_no_run(
    tmp_path: Path, locked_bytes: int
) -> None:
    need_root()
    said = _told(_place(tmp_path), locked=locked_bytes, depth=64)
    assert said["faults"] == []
    assert said["values"]["error_count"] == 0.0
    is_refused = any("io_uring is refused" in note for note in said["notes"])
    assert is_refused or "tool_io_uring_per_read_s" in said["facts"]
