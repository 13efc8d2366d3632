"""The flush check from the command line: kills, power losses, lying devices, and rejections.

An independent reader of the log determines what must be on a target. It is written here from the
description of the format (docs/background/formats.md) and of the promises (`verify/history.rs`).
"""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headroom.systems.storage.soft.soft_mount import SoftMount
from headroom.systems.storage.soft.soft_script import Misdirected, SoftScript, Torn
from headroom.systems.storage.targets.places import memory_folder

MIB = 1 << 20
LOOK_EVERY_S = 0.005
"""Pause between two looks at the log; busy waiting takes a processor from the writer."""
CELL, BLOCK = 4096, 16384
RECORD = struct.Struct("<5Q")
WRITE, WRITTEN, FLUSHED = 1, 2, 4
MODULE = [sys.executable, "-m", "headroom.systems.storage.flush.flush_check"]


@pytest.fixture
def log() -> Iterator[Path]:
    """Name a log in memory: on another device than any target here."""
    path = memory_folder() / f"headroom-test-{os.getpid()}.log"
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)


def records(log: Path) -> list[tuple[int, int, int, int]]:
    """Return kind, offset, length and generation of each whole entry."""
    content = log.read_bytes()[RECORD.size :]
    whole = len(content) // RECORD.size * RECORD.size
    return [row[:4] for row in RECORD.iter_unpack(content[:whole])]


def acknowledged(log: Path) -> dict[int, int]:
    """Return the last acknowledged write of each cell."""
    cells: dict[int, int] = {}
    for what, offset, length, generation in records(log):
        if what == WRITTEN:
            for cell in range(offset, offset + length, CELL):
                cells[cell] = max(cells.get(cell, 0), generation)
    return cells


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*MODULE, *map(str, words)], check=False, capture_output=True, text=True)


@contextmanager
def writer(target: Path, log: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a writer, continue once it has written and flushed, and end it after the block."""
    argv = [*MODULE, "write", str(target), "--log", str(log), "--flush-every", "16", *words]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not _is_under_way(log):
            time.sleep(LOOK_EVERY_S)
        assert process.poll() is None, process.communicate()[1]
        try:
            yield process
        finally:
            process.kill()


def _is_under_way(log: Path) -> bool:
    if not log.exists() or log.stat().st_size < 600 * RECORD.size:
        return False
    return sum(what == FLUSHED for what, *_ in records(log)) >= 5


def checked(target: Path, log: Path, *, after: str) -> dict[str, Any]:
    """Check, and return the findings; the exit code must agree with the verdict."""
    answer = run("check", target, "--log", log, "--after", after, "--json")
    assert answer.returncode in {0, 3}, answer.stderr
    findings: dict[str, Any] = json.loads(answer.stdout)
    assert findings["verdict"] == ("kept" if answer.returncode == 0 else "broken")
    return findings


@pytest.mark.parametrize("interface", ["threads", "io_uring"])
def test_whatever_was_acknowledged_outlives_the_kill_of_the_writer(
    interface: str, tmp_path: Path, log: Path
) -> None:
    target = tmp_path / "target"
    with writer(target, log, "--bytes", "4 MiB", "--interface", interface) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    findings = checked(target, log, after="kill")
    assert findings["verdict"] == "kept", findings
    assert findings["demanded_count"] == len(acknowledged(log))
    assert findings["written_count"] == sum(what == WRITTEN for what, *_ in records(log))
    assert target.stat().st_size == 4 * MIB


def test_a_file_that_loses_a_cell_after_the_kill_is_found_where_it_lost_it(
    tmp_path: Path, log: Path
) -> None:
    """A counter-check: the same file, with one acknowledged cell spoilt, fails."""
    target = tmp_path / "target"
    with writer(target, log, "--bytes", "4 MiB", "--depth", "1") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    begun = {
        cell: generation
        for what, offset, length, generation in records(log)
        if what == WRITE
        for cell in range(offset, offset + length, CELL)
    }
    certain = [cell for cell, last in acknowledged(log).items() if begun[cell] == last]
    with target.open("r+b") as file:
        file.seek(certain[0] + 100)
        file.write(b"spoilt")
    findings = checked(target, log, after="kill")
    assert findings["counts"] == {
        "lost": 0,
        "torn": 1,
        "misdirected": 0,
        "foreign": 0,
        "unknown": 0,
    }
    (first,) = findings["first"]
    assert (first["offset"], first["demanded"]) == (certain[0], begun[certain[0]])
    answer = run("check", target, "--log", log, "--after", "kill")
    assert answer.returncode == 3
    assert "BROKEN: every acknowledged write had to be there" in answer.stdout
    assert f"at offset {certain[0]}" in answer.stdout


@pytest.mark.parametrize("survivor_share", [0.0, 0.5, 1.0])
def test_an_honest_device_keeps_its_flushes_over_a_loss_of_power(
    survivor_share: float, soft_device: Callable[..., SoftMount], log: Path
) -> None:
    """Whatever of the rest survives, wholly or not at all: no false alarm."""
    script = SoftScript(is_volatile=True, survivor_share=survivor_share, write_s=[1e-4, 5e-5])
    findings = _after_a_loss_of_power(soft_device(script, 4 * MIB), log)
    assert findings["verdict"] == "kept", findings
    assert findings["demanded_count"] > 0


def test_a_device_that_lies_about_its_flushes_is_found(
    soft_device: Callable[..., SoftMount], log: Path
) -> None:
    """Nothing was kept, so every demand fails: zeros in place of data."""
    device = soft_device(SoftScript(is_volatile=True, flush_lies=True), 16 * MIB)
    findings = _after_a_loss_of_power(device, log)
    assert findings["verdict"] == "broken"
    counts = findings["counts"]
    # A cell that was begun again later may hold anything that this write may have left.
    assert 0 < counts["foreign"] <= findings["demanded_count"]
    assert sum(counts.values()) == counts["foreign"]


def _after_a_loss_of_power(device: SoftMount, log: Path) -> dict[str, Any]:
    size = str(device.device.stat().st_size)
    words = ["--overwrite", f"{device.device} {size}"]
    with writer(device.device, log, *words) as process:
        device.switch(has_power=False)
        assert process.wait() == 0
        assert process.stderr is not None
        assert "the target failed" in process.stderr.read()
    device.switch(has_power=True)
    return checked(device.device, log, after="power-cut")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"lost": [40, 90]}, "foreign"),
        ({"torn": [Torn(write=40, kept_bytes=6000), Torn(write=90, kept_bytes=6000)]}, "torn"),
        ({"misdirected": [Misdirected(write=40, to=0), Misdirected(write=90, to=0)]}, "foreign"),
    ],
    ids=["lost", "torn", "misdirected"],
)
def test_writes_that_a_device_treats_wrongly_are_found_in_the_cells_that_they_left_wrong(
    change: dict[str, Any], fault: str, soft_device: Callable[..., SoftMount], log: Path
) -> None:
    """With one write at a time, the number of a write is that of the script.

    After 300 writes, enough for the log that `writer` waits for, one takes so long that the signal
    comes in its time: else a busy machine writes on until later writes have covered the wrong ones.
    """
    device = soft_device(SoftScript(**change, write_s=[1e-6] * 300 + [1.0]), 32 * MIB)
    words = ["--depth", "1", "--overwrite", f"{device.device} {32 * MIB}"]
    with writer(device.device, log, *words) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    findings = checked(device.device, log, after="kill")
    assert findings["verdict"] == "broken"
    last = acknowledged(log)
    wrong = {cell for cell, generation in last.items() if generation in {40, 90}}
    first = findings["first"]
    places = {finding["offset"] for finding in first if finding["demanded"] in {40, 90}}
    if fault == "torn":
        # The first cell was kept, the second in part, the others not at all; which of them later
        # writes have covered is chance.
        assert places
        assert places <= wrong
    else:
        assert places == wrong
    assert fault in {finding["fault"] for finding in first}


@pytest.mark.deep
def test_a_log_may_leave_through_a_pipe(tmp_path: Path, log: Path) -> None:
    target = tmp_path / "target"
    argv = [*MODULE, "write", str(target), "--log", "-", "--bytes", "1 MiB", "--seconds", "0.2"]
    with log.open("wb") as to:
        done = subprocess.run(argv, check=False, stdout=to, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert "writes and" in done.stderr
    for after in ("kill", "power-cut"):
        assert checked(target, log, after=after)["verdict"] == "kept"


def test_a_log_that_lost_its_end_gives_no_false_alarm(tmp_path: Path, log: Path) -> None:
    """Writes whose entries were still on their way are newer, and not unknown."""
    target = tmp_path / "target"
    done = run("write", target, "--log", log, "--bytes", "2 MiB", "--seconds", "0.2")
    assert done.returncode == 0, done.stderr
    size = log.stat().st_size
    os.truncate(log, size * 2 // 3)
    findings = checked(target, log, after="kill")
    assert findings["verdict"] == "kept", findings
    assert findings["newer_count"] > 0


def test_what_the_user_has_is_never_touched_without_the_words(tmp_path: Path, log: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(bytes(MIB))
    refused = run("write", precious, "--log", log, "--seconds", "0.1")
    assert refused.returncode == 5
    assert f'--overwrite "{precious} {MIB}"' in refused.stderr
    assert "flush_check write" in refused.stderr
    assert precious.read_bytes() == bytes(MIB)
    assert not log.exists()
    words = f"{precious} {MIB}"
    allowed = run("write", precious, "--log", log, "--seconds", "0.1", "--overwrite", words)
    assert allowed.returncode == 0, allowed.stderr
    assert precious.read_bytes() != bytes(MIB)


@pytest.mark.deep
def test_refusals_make_nothing(tmp_path: Path, log: Path) -> None:
    target = tmp_path / "target"
    cases: list[tuple[list[str | Path], int, str]] = [
        (["write", target, "--log", tmp_path / "log", "--bytes", "1 MiB"], 5, "same device"),
        (["write", target, "--log", log], 2, "--bytes"),
        (["write", target, "--log", log, "--bytes", "many"], 2, "is not a size"),
        (["write", tmp_path / "no" / "target", "--log", log], 5, "not found"),
        (["write", Path("/dev/headroom-no-device"), "--log", log], 5, "place of devices"),
        (["check", target, "--log", log, "--after", "kill"], 5, "cannot be read"),
    ]
    for words, code, said in cases:
        answer = run(*words)
        assert answer.returncode == code, answer.stderr
        assert said in answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert not log.exists()


def test_a_log_is_never_written_over(tmp_path: Path, log: Path) -> None:
    log.write_text("precious")
    answer = run("write", tmp_path / "target", "--log", log, "--bytes", "1 MiB")
    assert answer.returncode == 5
    assert log.read_text() == "precious"
    assert not (tmp_path / "target").exists()


@pytest.mark.deep
def test_a_log_that_is_none_or_promises_nothing_is_no_success(tmp_path: Path, log: Path) -> None:
    target = tmp_path / "target"
    words = ["--flush-every", "1000000000", "--bytes", "1 MiB", "--seconds", "0.1"]
    done = run("write", target, "--log", log, *words)
    assert done.returncode == 0, done.stderr
    assert checked(target, log, after="kill")["verdict"] == "kept"
    nothing = run("check", target, "--log", log, "--after", "power-cut")
    assert nothing.returncode == 5
    assert "promises nothing" in nothing.stderr
    wrong = run("check", target, "--log", target, "--after", "kill")
    assert wrong.returncode == 5
    assert "not the log" in wrong.stderr
