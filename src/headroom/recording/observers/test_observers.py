"""Observers: what they see is what the observed programs themselves count."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.recording.observers.group import Group
from headroom.recording.observers.machine import machine_totals, waiting_connections
from headroom.recording.observers.observed import Observed, metrics_of
from headroom.recording.observers.table import ObserveTable
from headroom.recording.observers.watch import AT, Look, Watch, named_groups, tree_of

# Burns processor time in a process, its thread and a child that ends; sleeps; writes 8 MB.
WORKER = """
import json, subprocess, sys, threading, time
from resource import RUSAGE_CHILDREN, getrusage
def burn(of_s, clock=time.thread_time):
    end = clock() + of_s
    while clock() < end:
        pass
def used():
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
print("started", flush=True)
input()
before = used()
burn(0.6)
thread = threading.Thread(target=burn, args=[0.5])
thread.start(); thread.join()
code = "import time\\nwhile time.process_time() < 0.7: pass"
subprocess.run([sys.executable, "-c", code])
time.sleep(0.4)
with open(sys.argv[1], "wb") as file:
    file.write(bytes(8_000_000))
print(json.dumps({"cpu_s": used() - before, "bytes": 8_000_000}), flush=True)
input()
"""


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[str]"]:
    """Return a worker that waits for a line before it works, and for one before it ends."""
    # Memory file systems write to no disk: the folder of the sources is on none.
    with (
        tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder,
        subprocess.Popen(
            [sys.executable, "-c", WORKER, f"{folder}/file"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        # What its start costs is no part of its work.
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        yield process
        process.kill()


def told(process: "subprocess.Popen[str]") -> dict[str, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    numbers: dict[str, float] = msgspec.json.decode(process.stdout.readline())
    return numbers


@pytest.mark.deep
def test_share_burned_and_bytes_written_are_observed_within_two_percent(
    worker: "subprocess.Popen[str]",
) -> None:
    with Watch({"worker": tree_of(worker.pid)}, interval_s=0.05) as watch:
        truth = told(worker)
    observed = Observed(looks=watch.looks, cpus=2, limits={}, own_cpu_s=watch.own_cpu_s)
    values = observed.values(skip_s=0.0, throughput=None)
    length_s = watch.looks[-1].at_s - watch.looks[0].at_s
    share = truth["cpu_s"] / length_s / 2
    assert values["worker.cpu.utilization"] == pytest.approx(share, rel=0.02)
    written = values["worker.disk_write_bytes_per_s"] * length_s
    assert written == pytest.approx(truth["bytes"], rel=0.02)
    busiest = values["worker.busiest_thread.utilization"] * length_s
    assert 0.6 <= busiest < 1.0, "the first thread or the child, alone"
    assert values["machine.cpu.utilization"] > 0.0
    assert 0.0 < values["observer.cpus"] < 1.0
    named = {metric.name for metric in metrics_of(["worker"], [], per_op=False)}
    assert {*values} <= named
    there = {"machine.disk.utilization", "machine.io.stalled_share"}  # not on every machine
    assert named - {*values} - there == {"worker.io.stalled_share", "worker.accept_queue_mean"}


@pytest.mark.deep
def test_a_child_that_came_and_went_between_two_looks_is_counted(
    worker: "subprocess.Popen[str]",
) -> None:
    group = tree_of(worker.pid)
    before = group.totals()["cpu_s"]
    truth = told(worker)
    assert group.totals()["cpu_s"] - before == pytest.approx(truth["cpu_s"], abs=0.03)


def test_the_memory_of_a_process_grows_by_what_it_fills() -> None:
    group = Group(members=lambda: [os.getpid()])
    before = group.totals()["memory_bytes"]
    held = bytearray(b"x") * (64 << 20)
    assert group.totals()["memory_bytes"] - before == pytest.approx(len(held), rel=0.1)


def test_a_thread_that_ended_keeps_its_switches_and_waits() -> None:
    """A load program ends its clients one after the other: its totals must not fall."""
    group = Group(members=lambda: [os.getpid()])
    rests = threading.Event()

    def rest() -> None:
        for _ in range(50):
            time.sleep(1e-4)
        rests.set()
        ends.wait()

    ends = threading.Event()
    thread = threading.Thread(target=rest)
    thread.start()
    rests.wait()
    before = group.totals()
    ends.set()
    thread.join()
    after = group.totals()
    for name in ("switches", "voluntary_switches", "queue_s", "cpu_s"):
        assert after[name] >= before[name], name


def test_values_per_operation_and_the_part_of_a_run_that_counts() -> None:
    group = {"cpu_s": 0.0, "queue_s": 0.0, "switches": 0.0, "faults": 0.0, "memory_bytes": 5.0,
             "disk_read_bytes": 0.0, "disk_write_bytes": 0.0}  # fmt: skip
    machine = dict.fromkeys(machine_totals(), 0.0)
    looks = [
        Look(at_s=at_s, totals={"machine": machine, "db": {**group, "cpu_s": cpu_s}},
             threads_s={"db": {(7, 7): cpu_s / 2}})
        for at_s, cpu_s in [(10.0, 0.0), (11.0, 3.0), (12.0, 3.5), (13.0, 4.0)]
    ]  # fmt: skip
    observed = Observed(looks=looks, cpus=4, limits={"db": 1.0}, own_cpu_s=0.03)
    values = observed.values(skip_s=0.5, throughput=100.0)
    assert values["db.cpu_s_per_op"] == pytest.approx(1.0 / 200)
    assert values["db.cpu.utilization"] == pytest.approx(0.5), "of its limit"
    assert values["db.busiest_thread.utilization"] == pytest.approx(0.25)
    assert values["observer.cpus"] == pytest.approx(0.01)
    assert observed.capacities() == {"machine.cpu": 4.0, "db.busiest_thread": 1.0, "db.cpu": 1.0}
    samples = observed.samples()
    assert samples is not None
    assert samples.times_s.tolist() == [1.0, 2.0]
    assert samples.tables[0].columns["busy_s"][:, 1].tolist() == [3.0, 3.5]


def test_totals_count_from_when_they_were_read() -> None:
    """A look on a full machine may take a second from its first reading to its last."""
    group = {"cpu_s": 0.0, "queue_s": 0.0, "switches": 0.0, "faults": 0.0, "memory_bytes": 5.0,
             "disk_read_bytes": 0.0, "disk_write_bytes": 0.0}  # fmt: skip
    machine = dict.fromkeys(machine_totals(), 0.0)
    looks = [
        Look(at_s=at_s, totals={"machine": machine, "db": {**group, "cpu_s": read_s, AT: read_s}},
             threads_s={"db": {}})
        for at_s, read_s in [(0.0, 0.0), (1.0, 1.9), (2.0, 2.1), (3.0, 3.0), (4.0, 4.0)]
    ]  # fmt: skip
    observed = Observed(looks=looks, cpus=1, limits={}, own_cpu_s=0.0)
    assert observed.values(skip_s=0.5, throughput=1.0)["db.cpu.utilization"] == pytest.approx(1.0)
    samples = observed.samples()
    assert samples is not None
    assert samples.tables[0].columns["busy_s"][:, 1] == pytest.approx(samples.times_s)


def test_totals_of_a_machine_with_partitions_and_loop_back(tmp_path: Path) -> None:
    """Known answer: partitions are parts of their disks, the loop-back interface is no network."""
    for name in ("net", "pressure"):
        (tmp_path / name).mkdir()
    for name, text in {
        "stat": "cpu 100 20 30 900 40 5 6 7 3 0\ncpu0 1\nctxt 123\nprocs_running 3\n",
        "diskstats": "8 0 sda 9 9 10 9 9 9 4 9 9 9 9\n8 1 sda1 9 9 8 9 9 9 4 9 9 9 9\n"
        "259 0 nvme0n1 9 9 1 9 9 9 2 9 9 9 9\n259 1 nvme0n1p1 9 9 1 9 9 9 2 9 9 9 9\n"
        "7 0 loop0 9 9 50 9 9 9 50 9 9 9 9\n",
        "pressure/io": "some avg10=0.05 avg60=0.5 total=2500000\nfull avg10=0.0 total=9\n",
        "net/dev": "h\nh\n lo: 500 0 0 0 0 0 0 0 500 0\neth0:70 0 0 0 0 0 0 0 80 0\n",
        "meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n",
        "vmstat": "pgfault 11\npgmajfault 2\n",
    }.items():
        (tmp_path / name).write_text(text)
    totals = machine_totals(tmp_path)
    assert (totals["user_s"], totals["system_s"]) == pytest.approx((1.2, 0.41))
    assert (totals["steal_s"], totals["busy_s"]) == pytest.approx((0.07, 1.68))
    assert totals["disk_read_bytes"] == 11 * 512
    assert totals["disk_write_bytes"] == 6 * 512
    assert (totals["net_receive_bytes"], totals["net_send_bytes"]) == (70.0, 80.0)
    assert (totals["disk_busy_s.sda"], totals["stalled_s"]) == (0.009, 2.5)
    assert "disk_busy_s.sda1" not in totals
    assert totals["memory_bytes"] == 600 * 1024
    assert (totals["switches"], totals["runnable"], totals["major_faults"]) == (123, 3, 2)


@pytest.mark.parametrize(
    ("files", "cpu_s", "throttled_s"),
    [
        ({"cpuacct.usage": "2500000000\n"}, 2.5, None),
        ({"cpu.stat": "nr_periods 4\nthrottled_time 500000000\n"}, 0.0, 0.5),
        ({"cpu.stat": "usage_usec 1500000\nthrottled_usec 250000\n"}, 1.5, 0.25),
    ],
)
def test_totals_of_control_groups_of_both_versions(
    tmp_path: Path, files: dict[str, str], cpu_s: float, throttled_s: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    totals = Group(list, {"cpu": tmp_path}).totals()
    assert totals["cpu_s"] == cpu_s
    assert totals.get("throttled_s") == throttled_s


def test_connections_that_nobody_accepts_wait_in_the_queue_of_their_port() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server, ExitStack() as stack:
        address = server.getsockname()
        group = Group(list, ports=(address[1],))
        assert group.totals()["accept_queue"] == 0
        for _ in range(3):
            stack.enter_context(socket.create_connection(address))
        assert group.totals()["accept_queue"] == 3
    assert waiting_connections([address[1]]) is None


def test_processes_are_named_by_number_or_file(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with subprocess.Popen(["sleep", "60"]) as process:
        file.write_text(f"{process.pid}\n")
        groups = named_groups(ObserveTable(processes={"one": str(process.pid), "two": str(file)}))
        members = [list(group.members()) for group in groups.values()]
        process.kill()
    assert list(groups) == ["process.one", "process.two"]
    assert members == [[process.pid]] * 2


@pytest.mark.parametrize("table", [{"processes": {"x": "nowhere"}}, {"cgroups": {"x": "/proc"}}])
def test_what_does_not_exist_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(EnvironmentUnfitError, match="x = "):
        named_groups(ObserveTable(**table))
