"""Counters: quotas and throttling of both versions, and the time that a process counts itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from headroom.observe import counters
from headroom.observe.counters import Counters, quota_of
from headroom.observe.targets import target_of
from headroom.recording.observers.group import Group

# Burns in a thread and in a child that ends; prints what the kernel counted of both.
WORKER = """
import subprocess, sys, threading, time
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
def used():
    both = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)
def burn():
    end_s = time.thread_time() + 0.3
    while time.thread_time() < end_s:
        pass
print("ready", flush=True)
input()
before_s = used()
thread = threading.Thread(target=burn)
thread.start(); thread.join()
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
print(used() - before_s, flush=True)
input()
"""


def test_the_limit_is_the_smallest_of_a_group_and_those_above_it(tmp_path: Path) -> None:
    inner, outer, old = (tmp_path / name for name in ("inner", "outer", "old"))
    for folder in (inner, outer, old):
        folder.mkdir()
    (inner / "cpu.max").write_text("max 100000\n")
    assert quota_of([inner]) is None
    (outer / "cpu.max").write_text("150000 100000\n")
    assert quota_of([inner, outer]) == 1.5
    (old / "cpu.cfs_quota_us").write_text("-1\n")
    (old / "cpu.cfs_period_us").write_text("100000\n")
    assert quota_of([old]) is None
    (old / "cpu.cfs_quota_us").write_text("50000\n")
    assert quota_of([inner, outer, old]) == 0.5


def test_throttled_time_and_the_split_are_read_from_both_versions(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    old.mkdir()
    (new / "cpu.stat").write_text("user_usec 300000\nsystem_usec 100000\nthrottled_usec 250000\n")
    (old / "cpu.stat").write_text("nr_throttled 3\nthrottled_time 500000000\n")
    (old / "cpuacct.stat").write_text("user 30\nsystem 10\n")
    target = target_of(pid=1)
    for folder, throttled_s in ((new, 0.25), (old, 0.5)):
        group = Group(list, {"cpuacct": folder})
        one = Counters(type(target)(label="x", group=group, limits=[folder]))
        totals = one.read()
        assert totals.throttled_s == throttled_s
        assert (totals.user_s, totals.system_s) == pytest.approx((0.3, 0.1))


def test_time_of_threads_and_of_reaped_children_is_what_the_process_counts_itself() -> None:
    """Oracle: getrusage of the worker and of its children; exited ones count in steps of 10 ms."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        one = Counters(target_of(pid=process.pid))
        before = one.read()
        process.stdin.write("\n")
        process.stdin.flush()
        truth_s = float(process.stdout.readline())
        after = one.read()
        process.communicate("\n")
    assert after.own_s - before.own_s == pytest.approx(truth_s, abs=0.05)
    assert sum(one.by_program(before, after).values()) <= truth_s + 0.05
    assert after.busy_s - before.busy_s >= truth_s - 0.1
    assert len(one.usable) >= 1
    assert counters.everybody()
