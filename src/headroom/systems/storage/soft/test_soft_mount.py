"""The soft device through the kernel: the real engine reports what the script says.

Measured times are compared with the script's only from below: a machine may always be slower.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.systems.storage import native
from headroom.systems.storage.conftest import need_fuse
from headroom.systems.storage.soft.soft_mount import SoftMount, clear_stale, mounted
from headroom.systems.storage.soft.soft_script import (
    Misdirected,
    ScriptedError,
    SoftScript,
    Stall,
    Torn,
)

MIB = 1 << 20
Mounted = Callable[..., SoftMount]

WAYS = pytest.mark.parametrize(
    ("interface", "direct"),
    [(interface, direct) for interface in ("io_uring", "threads") for direct in (0, os.O_DIRECT)],
    ids=["ring", "ring-direct", "threads", "threads-direct"],
)


def measured(path: Path, *, direct: int = 0, **job: Any) -> dict[str, Any]:
    """Run the engine on a file."""
    descriptor = os.open(path, os.O_RDWR | direct | os.O_CLOEXEC)
    try:
        files = [{"fd": descriptor, "bytes": MIB}]
        target = {"kind": "files", "files": files, "alignment": 4096}
        job = {"seed": 1, "target": target, **job}
        return native.run(job=json.dumps(job).encode())
    finally:
        os.close(descriptor)


@WAYS
def test_wrong_writes_are_found_as_many_as_the_script_has(
    soft_device: Mounted, interface: str, direct: int
) -> None:
    script = SoftScript(
        lost=[5, 70, 200],
        torn=[Torn(write=100, kept_bytes=512)],
        misdirected=[Misdirected(write=30, to=4096)],
    )
    device = soft_device(script)
    figures = measured(
        device.device,
        direct=direct,
        interface=interface,
        workload={"kind": "micro", "pattern": "sequential", "depth": 4, "read_share": 0.0},
        stop={"requests": 256},
        verify={"run": 9},
    )
    # Lost or misdirected writes left the zeros of an empty device.
    expected = {"lost": 0, "torn": 1, "misdirected": 1, "foreign": 4, "unknown": 0}
    assert figures["findings"]["counts"] == expected
    truth = device.truth()
    assert (truth["lost_count"], truth["torn_count"], truth["misdirected_count"]) == (3, 1, 1)
    assert truth["write_count"] == figures["classes"]["write"]["completion_count"] == 256


@WAYS
def test_errors_come_at_the_block_of_the_script_and_nowhere_else(
    soft_device: Mounted, interface: str, direct: int
) -> None:
    script = SoftScript(errors=[ScriptedError(kind="read", offset=65536, bytes=4096, times=3)])
    device = soft_device(script)
    figures = measured(
        device.device,
        direct=direct,
        interface=interface,
        workload={"kind": "micro", "pattern": "sequential", "depth": 4},
        stop={"requests": 1280},
    )
    (failure,) = figures["failures"]
    assert (failure["errno"], failure["count"], failure["first_offset"]) == (5, 3, 65536)
    assert figures["classes"]["read"]["completion_count"] == 1277
    assert device.truth()["error_count"] == 3
    assert device.truth()["read_count"] == 1280


def test_the_truth_keeps_its_length_so_that_it_can_be_read_under_load(soft_device: Mounted) -> None:
    """Fault: its reader found another digit behind what it had read."""
    device = soft_device(SoftScript())
    told = device.at / "truth"
    before = told.read_bytes()
    reads = {"kind": "micro", "pattern": "sequential", "depth": 4}
    measured(device.device, interface="threads", workload=reads, stop={"requests": 1280})
    assert device.truth()["read_count"] >= 10
    assert len(told.read_bytes()) == len(before) == told.stat().st_size


@WAYS
def test_no_share_of_the_requests_is_faster_than_the_script(
    soft_device: Mounted, interface: str, direct: int
) -> None:
    """Of a hundred reads, 90 take 0.5 ms, 9 take 5 ms and one 50 ms: order statistics bound."""
    times = [5e-4] * 90 + [5e-3] * 9 + [5e-2]
    figures = measured(
        soft_device(SoftScript(servers=1, read_s=times)).device,
        direct=direct,
        interface=interface,
        workload={"kind": "micro", "depth": 1},
        stop={"requests": 200},
    )
    for quantity in ("response_s", "service_s"):
        histogram = figures["histograms"][quantity]["read"]
        counts = histogram["counts"].sum(axis=0)
        slowest = np.repeat(histogram["bin_high"], counts)
        assert slowest.size == 200
        assert (np.sort(slowest) >= np.sort(times * 2) * (1.0 - 1e-9)).all()
    assert figures["end_s"] >= 2 * sum(times)
    assert figures["classes"]["read"]["service_s_max"] >= 5e-2


@WAYS
def test_requests_overtake_one_that_never_ends(
    soft_device: Mounted, interface: str, direct: int
) -> None:
    """Nothing on the way serves one after the other, so the rest of the load is carried out.

    A thread cannot be recalled from a call that never ends: it is abandoned.
    """
    device = soft_device(SoftScript(read_s=[9e5] + [1e-6] * 5000))
    figures = measured(
        device.device,
        direct=direct,
        interface=interface,
        workload={"kind": "micro", "depth": 4},
        stop={"requests": 1000},
        drain_s=0.1,
    )
    assert figures["classes"]["read"]["completion_count"] == 999
    assert figures["outstanding_count"] == 1
    assert "1 request had not finished" in figures["problem"]


def test_a_stall_is_felt_by_all_that_were_due_in_it(soft_device: Mounted) -> None:
    script = SoftScript(read_s=[1e-4], stalls=[Stall(at_s=0.1, for_s=0.4)])
    figures = measured(
        soft_device(script).device,
        interface="threads",
        workload={"kind": "micro", "rate_per_s": 500.0, "arrivals": "constant"},
        stop={"seconds": 2.0},
    )
    # The clocks of engine and script begin within one period, and so do its two ends.
    histogram = figures["histograms"]["response_s"]["read"]
    late = histogram["counts"][:, histogram["bin_high"] > 0.1].sum()
    assert late >= 0.3 * 500 - 2
    assert figures["classes"]["read"]["response_s_max"] >= 0.4 - 1 / 500


def test_a_device_that_vanishes_ends_the_run_with_what_was_measured(soft_device: Mounted) -> None:
    device = soft_device(SoftScript(read_s=[1e-3], vanishes_at_s=0.2))
    figures = measured(
        device.device, workload={"kind": "micro", "depth": 4}, stop={"seconds": 60.0}
    )
    assert figures["stop_reason"] == "target_failed"
    assert 0 < figures["classes"]["read"]["completion_count"] <= 4 * 200
    assert {failure["errno"] for failure in figures["failures"]} == {19}


def test_power_takes_what_was_not_flushed(soft_device: Mounted) -> None:
    device = soft_device(SoftScript(is_volatile=True))
    with device.device.open("r+b", buffering=0) as file:
        file.write(b"flushed")
        os.fsync(file.fileno())
        file.seek(4096)
        file.write(b"not flushed")
        device.switch(has_power=False)
        with pytest.raises(OSError, match="Input/output error"):
            os.pread(file.fileno(), 7, 0)
        device.switch(has_power=True)
        assert os.pread(file.fileno(), 7, 0) == b"flushed"
        assert os.pread(file.fileno(), 11, 4096) == bytes(11)
    assert device.truth()["flush_count"] == 1


def test_an_error_of_a_block_of_a_real_block_device_is_that_block(
    soft_device: Mounted, attach: Callable[..., Path]
) -> None:
    """A loop device on the soft file: an error comes through the whole block layer.

    One request at a time: the block layer merges neighbours that wait, which then fail together.
    """
    script = SoftScript(errors=[ScriptedError(kind="read", offset=262_144, bytes=4096)])
    device = soft_device(script)
    figures = measured(
        attach(device.device),
        direct=os.O_DIRECT,
        interface="io_uring",
        workload={"kind": "micro", "pattern": "sequential", "depth": 1},
        stop={"requests": 256},
    )
    (failure,) = figures["failures"]
    assert (failure["errno"], failure["count"], failure["first_offset"]) == (5, 1, 262_144)
    assert figures["classes"]["read"]["completion_count"] == 255


def test_it_is_gone_after_its_block_even_while_a_file_is_open(tmp_path: Path) -> None:
    need_fuse()
    with mounted(SoftScript(), size_bytes=MIB, at=tmp_path) as device:
        descriptor = os.open(device.device, os.O_RDONLY)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match=r"not connected|aborted"):
        os.read(descriptor, 1)
    with pytest.raises(OSError, match="not connected"):
        os.close(descriptor)


def test_a_killed_server_is_recognised_and_cleared(tmp_path: Path) -> None:
    need_fuse()
    folder = tmp_path / "soft"
    folder.mkdir()
    with _server(folder) as server:
        assert clear_stale(tmp_path) is False
        with pytest.raises(EnvironmentUnfitError, match="in use: headroom-soft"):
            clear_stale(folder)
        server.kill()
        server.wait()
        with pytest.raises(OSError, match="not connected"):
            folder.stat()
        with mounted(SoftScript(), size_bytes=MIB, at=folder) as device:
            assert device.device.stat().st_size == MIB
        assert clear_stale(folder) is False


def test_it_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    need_fuse()
    with _server(tmp_path) as server:
        assert server.stdin is not None
        ended = os.pidfd_open(server.pid)
        server.stdin.close()
        select([ended], [], [])
        os.close(ended)
        assert list(tmp_path.iterdir()) == []


def test_ctrl_c_unmounts(tmp_path: Path) -> None:
    need_fuse()
    with _server(tmp_path) as server:
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
        assert list(tmp_path.iterdir()) == []


def test_further_signals_do_not_interrupt_its_end(tmp_path: Path) -> None:
    """Cause: `terminate` and the end of the input each signal it, the second while it ends.

    Signals without a pause kept its sleep from ending: each made it begin anew.
    """
    need_fuse()
    with _server(tmp_path) as server:
        while server.poll() is None:
            server.terminate()
        assert server.returncode == 0
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (SoftScript(misdirected=[Misdirected(write=1, to=MIB)]), "puts write 1 to byte 1048576"),
        (SoftScript(lost=[3], torn=[Torn(write=3, kept_bytes=1)]), "two entries for write 3"),
    ],
)
def test_a_script_that_cannot_be_is_refused(script: SoftScript, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        script.check(MIB)


def test_a_folder_that_is_not_empty_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    need_fuse()
    (tmp_path / "mine").write_text("precious")
    with (
        pytest.raises(HeadroomError, match="did not start"),
        mounted(SoftScript(), size_bytes=MIB, at=tmp_path),
    ):
        pass
    assert "not an empty folder" in capfd.readouterr().err
    assert (tmp_path / "mine").read_text() == "precious"


@contextmanager
def _server(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a server by its command line, and end it."""
    argv = [sys.executable, "-m", "headroom.systems.storage.soft.soft_mount", str(folder), "-"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("{}\n")
        server.stdin.flush()
        assert server.stdout.readline() == "ready\n"
        try:
            yield server
        finally:
            server.terminate()
