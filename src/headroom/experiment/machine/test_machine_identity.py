"""Machines are distinguished by the facts that affect a measurement; the difference is named."""

from pathlib import Path
from typing import Any

import pytest

from headroom.experiment.machine import machine_facts
from headroom.experiment.machine.machine_identity import NO_MACHINE_ID, Machine

GIB = 2**30
HERE: dict[str, dict[str, Any]] = {
    "host": {"machine_id": "a1", "name": "here", "kernel": "6.1"},
    "cpu": {"model": "EPYC", "usable_count": 8},
    "memory": {"total_bytes": 64 * GIB},
}


def changed(table: str, **facts: object) -> Machine:
    return Machine.of({**HERE, table: {**HERE.get(table, {}), **facts}})


@pytest.mark.parametrize(
    ("there", "difference"),
    [
        (changed("host", machine_id="b2"), "machine-id"),
        (changed("cpu", model="Xeon"), "processor Xeon, here EPYC"),
        (changed("cpu", usable_count=2), "usable processors 2, here 8"),
        (changed("container", cpu_count_max=1.5), "processor quota 1.5, here none"),
        (changed("container", memory_bytes_max=8 * GIB), "memory 8.59 GB, here 68.7 GB"),
    ],
)
def test_what_makes_another_machine_is_named(there: Machine, difference: str) -> None:
    assert Machine.of(HERE).difference(there) == difference


@pytest.mark.parametrize(
    "there",
    [
        changed("host", name="renamed"),
        changed("host", kernel="6.8"),
        changed("memory", total_bytes=int(63.5 * GIB)),
        changed("load", mean_1min=9.0),
    ],
)
def test_names_kernels_load_and_a_little_memory_do_not_make_a_machine(there: Machine) -> None:
    assert Machine.of(HERE).difference(there) == ""


def test_without_machine_ids_the_other_facts_decide() -> None:
    """A container is another host each time, and yet the same machine."""
    first, second = (changed("host", machine_id=NO_MACHINE_ID, name=name) for name in "ab")
    assert first.difference(second) == ""
    assert first.difference(Machine.of(HERE)) == "machine-id"


def test_a_session_that_stored_no_machine_id_is_known_by_its_host_name() -> None:
    """Sessions of earlier versions: host name, processor and memory, but neither id nor quota."""
    older = {**HERE, "host": {"name": "here"}}
    assert changed("container", cpu_count_max=2.0).difference(Machine.of(older)) == ""
    other = Machine.of({**HERE, "host": {"name": "there"}})
    assert Machine.of(HERE).difference(other) == "host there, here here"


def test_a_machine_id_is_kept_as_a_hash_only(tmp_path: Path) -> None:
    assert machine_facts.machine_id(tmp_path) is None
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("uninitialized\n")
    assert machine_facts.machine_id(tmp_path) is None
    number = "0123456789abcdef" * 2
    (tmp_path / "etc/machine-id").write_text(number + "\n")
    hashed = machine_facts.machine_id(tmp_path)
    assert hashed is not None
    assert len(hashed) == 16
    assert hashed not in number


def test_limits_of_older_control_groups_count(tmp_path: Path) -> None:
    """Fault: within a container the group's own path is not there, only its root."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n")
    files = {
        "cpu/cpu.cfs_quota_us": "150000",
        "cpu/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "1073741824",
        "memory/docker/1/memory.limit_in_bytes": "9223372036854771712",
    }
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert machine_facts.container(tmp_path) == {"memory_bytes_max": GIB, "cpu_count_max": 1.5}
