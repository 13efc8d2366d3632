"""A target that never answers: the run ends, keeps and marks its results, names what hangs."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Value
from headroom.recording.leftovers import DATA, POOL, PREFIX, clean_up
from headroom.systems.storage.postmark.postmark import carry_out
from headroom.systems.storage.soft.soft_mount import SoftMount
from headroom.systems.storage.soft.soft_script import SoftScript
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets import safety
from headroom.systems.storage.targets.patience import SILENCE_S, NoAnswerError, within
from headroom.systems.storage.targets.session import Session
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from headroom.systems.storage.targets.targets import Target
from tests.support.storage_sessions import config_of, session_of
from tests.support.study_text import Head

Mounted = Callable[..., SoftMount]
NEVER_S = 9e5
LOOK_EVERY_S = 0.005
"""Pause between two looks at a state without an event; busy waiting takes a processor."""
_CALL_THREADS = {"headroom-call", "headroom-file"}
"""Names of the threads of the engine, of PostMark, and of `within`."""
INTERFACES = pytest.mark.parametrize("interface", ["io_uring", "threads"])


def _session(device: Path, **limits: float) -> AbstractContextManager[StorageSystem]:
    table = TargetTable(kind="file", path=str(device))
    setup = StorageSetup(targets={"one": table}, drain_s=0.05)
    return session_of(msgspec.structs.replace(setup, **limits))


def _config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    return config_of(system, **{"target": "one", **given})


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as the kernel lists them


def _descriptors_at_rest(*, calls: int = 0) -> int:
    """Return the number of open descriptors once no more than `calls` threads are in calls.

    Cause: the calls of an earlier test return when its device ends, and close theirs after that.
    """
    while sum(name in _CALL_THREADS for name in _thread_names()) > calls:
        time.sleep(LOOK_EVERY_S)
    return _descriptors()


def _thread_names() -> Iterator[str]:
    for name in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # it ended meanwhile
            yield name.read_text().strip()


@INTERFACES
def test_what_was_measured_is_kept_and_marked(soft_device: Mounted, interface: str) -> None:
    """Conservation: 50 reads are answered, the 51st never; one place, so nothing comes after it."""
    device = soft_device(SoftScript(read_s=[1e-4] * 50 + [NEVER_S]))
    with _session(device.device) as system:
        run = system.run(_config(system, interface=interface, seconds=0.3), seed=1)
    assert run.values["stuck_count"] == run.values["unfinished_count"] == 1.0
    assert run.values["error_count"] == 0.0
    assert not run.is_sound
    assert "did not answer: 1 request had not finished when the run ended" in run.faults[0]
    assert "a read of 4096 B at offset" in run.faults[0]
    responses = [
        histogram for histogram in run.histograms if histogram.metric == "class.read.response_s"
    ]
    assert responses[0].counts.sum() == 50
    assert run.resources[0].columns["completion_count"][-1].sum() == 50


@INTERFACES
def test_a_load_without_an_end_in_time_ends_with_its_silent_target(
    soft_device: Mounted, interface: str
) -> None:
    device = soft_device(SoftScript(read_s=[1e-4] * 50 + [NEVER_S]))
    with _session(device.device, silence_s=0.2) as system:
        config = _config(system, interface=interface, seconds=0.0, requests=1000)
        run = system.run(config, seed=1)
    assert run.values["stuck_count"] == 1.0
    assert "did not answer" in run.faults[0]


@INTERFACES
def test_a_target_that_never_answered_at_all_is_an_error(
    soft_device: Mounted, interface: str
) -> None:
    device = soft_device(SoftScript(read_s=[NEVER_S]))
    with _session(device.device) as system:
        config = _config(system, interface=interface, seconds=0.1, depth=3)
        with pytest.raises(EnvironmentUnfitError, match="3 requests had not finished") as caught:
            system.run(config, seed=1)
    assert caught.value.cure


def test_after_the_target_has_answered_nothing_is_left_of_the_run(soft_device: Mounted) -> None:
    """Buffers and descriptors of a stuck call live until it returns, and no longer."""
    device = soft_device(SoftScript(read_s=[1e-4] * 50 + [NEVER_S]))
    with _session(device.device) as system:
        system.prepare()
        before = _descriptors_at_rest()
        system.run(_config(system, interface="threads", seconds=0.1), seed=1)
        assert _descriptors_at_rest(calls=1) == before + 1
        # Requests in flight fail when the power goes, so the call returns.
        device.switch(has_power=False)
        while _descriptors() > before:
            time.sleep(LOOK_EVERY_S)


def test_a_server_that_is_gone_does_not_hold_the_end_of_a_run(soft_device: Mounted) -> None:
    """Cause: closing the file asks the server too, and Python waited for that."""
    device = soft_device(SoftScript(read_s=[1e-3]))

    is_over = threading.Event()

    def halt_once_used() -> None:
        while device.truth()["read_count"] < 20 and not is_over.wait(0.01):
            pass
        _halt(device.server)

    halted = threading.Thread(target=halt_once_used)
    with _session(device.device, silence_s=2.0) as system:
        config = _config(system, interface="threads", seconds=0.0, requests=1 << 40)
        system.prepare()
        halted.start()
        try:
            run = within(120.0, lambda: system.run(config, seed=1), what="the run")
        finally:
            is_over.set()
            halted.join()
            os.kill(device.server, signal.SIGCONT)
    assert "did not answer" in run.faults[0]
    assert run.values["stuck_count"] == 1.0


# Files that are laid out.


def test_a_place_that_falls_silent_while_files_are_laid_out_ends_the_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: the third call that writes never returns; the point is an error, nothing waits."""
    gate, write = threading.Event(), os.write
    calls: list[int] = []

    def hang(descriptor: int, content: bytes) -> int:
        calls.append(descriptor)
        if len(calls) == 3:
            gate.wait()
        return write(descriptor, content)

    monkeypatch.setattr(os, "write", hang)
    session = Session()
    table = TargetTable(kind="file", path=str(tmp_path), bytes="8 MiB")
    target = Target(
        name="one", table=table, study=tmp_path, reserve=0, silence_s=1.0, session=session
    )
    config = config_of(StorageSystem.load(StorageSetup(targets={"one": table}), base=tmp_path))
    with pytest.raises(EnvironmentUnfitError, match="target 'one' does not answer") as caught:
        target.opened(config, ()).__enter__()
    assert caught.value.cure
    (stuck,) = tmp_path.glob(f"{PREFIX}*")
    # A busy disk may take longer than the silence that the hung call had to break.
    patient = dataclasses.replace(target, silence_s=SILENCE_S)
    with patient.opened(config, ()) as opened:
        assert opened.size_bytes == 8 << 20, "a folder that was left is not used again"
    (said,) = session.end()
    assert str(stuck) in said
    assert list(tmp_path.glob(f"{PREFIX}*")) == [stuck]
    gate.set()
    while list(stuck.glob(f"{DATA}*")):
        time.sleep(LOOK_EVERY_S)


def test_what_opens_after_nobody_waits_any_more_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: opening a file of the user takes longer than any caller waits."""
    (tmp_path / "mine").write_bytes(bytes(1 << 20))
    gate, open_existing = threading.Event(), safety.open_existing

    def hang(*args: Any, **options: Any) -> int:
        gate.wait()
        return open_existing(*args, **options)

    monkeypatch.setattr(safety, "open_existing", hang)
    before, threads = _descriptors_at_rest(), threading.active_count()
    with _session(tmp_path / "mine", silence_s=0.1) as system:
        target, config = system.targets["one"], _config(system)
        with pytest.raises(NoAnswerError):
            target.opened(config, ()).__enter__()
        gate.set()
        while threading.active_count() > threads:
            time.sleep(LOOK_EVERY_S)
        assert _descriptors() == before


# PostMark.


def _halt(process: int) -> None:
    """Stop a process and wait until the last of its threads has stopped."""
    os.kill(process, signal.SIGSTOP)

    def states() -> set[str]:
        threads = Path(f"/proc/{process}/task").glob("*/stat")
        return {thread.read_text().rpartition(")")[2].split()[0] for thread in threads}

    while states() != {"T"}:
        time.sleep(LOOK_EVERY_S)


def test_postmark_ends_where_the_file_system_hangs(soft_device: Mounted) -> None:
    """Fault: the server is stopped, so no call returns; the copy of the folder lives on in it."""
    device = soft_device(SoftScript())
    folder = os.open(device.at, os.O_RDONLY | os.O_DIRECTORY)
    before = _descriptors_at_rest()
    job: dict[str, Any] = {
        "seed": 1,
        "target": {"kind": "folder", "fd": folder},
        "workload": {"files": 10},
        "silence_s": 0.1,
        "drain_s": 0.1,
    }
    _halt(device.server)
    try:
        done = carry_out(job)
        assert done.stopped is not None
        assert done.stopped.reason == "silent"
        assert (done.stopped.operation, done.stopped.phase) == ("create", "creation")
        assert done.stuck_count == 1
        assert "did not answer" in done.faults[0]
        assert "1 thread is left in a call" in done.faults[1]
        assert done.stopped.error().cure
        assert _descriptors_at_rest(calls=1) == before + 1
    finally:
        os.kill(device.server, signal.SIGCONT)
    while _descriptors() > before:
        time.sleep(LOOK_EVERY_S)
    os.close(folder)


def test_a_pool_that_is_not_removed_in_time_is_left_and_said_and_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, remove = threading.Event(), shutil.rmtree

    def hang(folder: Path, **options: bool) -> None:
        if (folder / "stuck").exists():
            gate.wait()
        remove(folder, **options)  # type: ignore[arg-type]  # as it is called there

    monkeypatch.setattr(shutil, "rmtree", hang)
    session = Session()
    with session.pool(tmp_path, silence_s=3.0) as first:
        (first / "stuck").write_text("")
    with session.pool(tmp_path) as second:
        assert second.parent != first.parent
    (said,) = session.end()
    assert str(first.parent) in said
    assert "does not answer" in said
    assert not second.parent.exists()
    # This process may still be in a call there, so no process treats it as a leftover.
    assert clean_up(tmp_path) == ()
    gate.set()
    while first.exists():
        time.sleep(LOOK_EVERY_S)


_STUDY = Head("frozen", "Frozen", "files").then("""\
fixed = {{ workload = "postmark", postmark_files = 2000, postmark_transactions = 1_000_000_000 }}
responses = ["throughput"]
replications = {{ count = 2 }}
[experiment.system]
name = "storage"
reserve = 0
silence_s = 1.0
drain_s = 0.1
targets.one = {{ kind = "folder", path = "{place}" }}
""")


@pytest.mark.deep
def test_a_study_ends_on_a_file_system_that_is_frozen_and_the_next_run_cleans_up(
    attach: Callable[[Path], Path], mount: Callable[..., Path], tmp_path: Path
) -> None:
    """Fault: a real file system stops during a run in a separate process."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    place = mount(str(attach(image)))
    (tmp_path / "study.toml").write_text(_STUDY.format(place=place))
    argv = [sys.executable, "-m", "headroom", "run", "--all", str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        while len(list(place.glob(f"{PREFIX}*/{POOL}/*"))) < 100:
            assert child.poll() is None
            time.sleep(LOOK_EVERY_S)
        subprocess.run(["fsfreeze", "--freeze", str(place)], check=True)
        try:
            # Its last words come before it ends, which it cannot do during a call.
            said = list(takewhile(lambda line: not line.startswith("Report:"), child.stdout))
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", str(place)], check=True)
    text = " ".join(" ".join(said).split())
    assert "the file system did not answer" in text
    assert "1 thread is left in a call that did not return" in text
    assert list(place.glob(f"{PREFIX}*"))
    setting = "experiment.fixed.postmark_transactions=2000"
    # Its status is not asserted: on a busy machine a run this short may have a fault of its own.
    again = subprocess.run([*argv, "--set", setting], check=False, capture_output=True, text=True)
    assert "which a run that was killed left behind" in " ".join(again.stderr.split())
    assert not list(place.glob(f"{PREFIX}*"))
