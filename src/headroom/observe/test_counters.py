"""Counters: limits of both versions, and the time that a process counts itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from headroom.observe.counters import Counters, quota_of
from headroom.observe.targets import Target, target_of
from headroom.recording.observers.group import Group

# Burns in a thread and in a child that ends; prints what the kernel counted of both.
WORKER = """
import os, subprocess, sys, threading, time
def burn():
    end_s = time.thread_time() + 0.3
    while time.thread_time() < end_s:
        pass
print("ready", flush=True)
input()
before_s = sum(os.times()[:4])
thread = threading.Thread(target=burn)
thread.start(); thread.join()
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
print(sum(os.times()[:4]) - before_s, flush=True)
input()
"""


def test_limits_and_totals_of_groups_of_both_versions(tmp_path: Path) -> None:
    """Known answer: the smallest limit of a group and those above it counts."""
    inner, outer, old = (tmp_path / name for name in ("inner", "outer", "old"))
    for folder, files in {
        inner: {"cpu.max": "max 100000"},
        outer: {"cpu.max": "150000 100000",
                "cpu.stat": "usage_usec 3\nthrottled_usec 250000"},
        old: {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000",
              "cpu.stat": "nr_throttled 3\nthrottled_time 500000000"},
    }.items():  # fmt: skip
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(f"{text}\n")
    assert (quota_of([inner]), quota_of([inner, outer]), quota_of([inner, old])) == (None, 1.5, 0.5)
    (old / "cpu.cfs_quota_us").write_text("-1\n")
    assert quota_of([old]) is None
    for folder, throttled_s in ((outer, 0.25), (old, 0.5)):
        group = Group(list, {"cpuacct": folder})
        counters = Counters(Target(label="x", group=group, limits=[folder]))
        assert counters.read().throttled_s == throttled_s


def test_time_of_threads_and_of_reaped_children_is_what_the_process_counts_itself() -> None:
    """Oracle: times(2) of the worker and of its children, in steps of 10 ms."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        counters = Counters(target_of(pid=process.pid))
        before = counters.read()
        process.stdin.write("\n")
        process.stdin.flush()
        truth_s = float(process.stdout.readline())
        after = counters.read()
        process.communicate("\n")
    assert after.own_s - before.own_s == pytest.approx(truth_s, abs=0.05)
    assert after.user_s - before.user_s + after.system_s - before.system_s >= truth_s - 0.1
    assert after.busy_s - before.busy_s >= truth_s - 0.1
    # A thread that came and went between two looks is in the sum alone.
    assert [name[:6] for name in counters.by_program(before, after)] == ["python"]
