"""Provenance: facts as the kernel publishes them, and nothing else."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from headroom.experiment.machine import machine_facts as facts
from headroom.experiment.machine.environment import collect
from headroom.experiment.machine.machine_identity import Machine, machine_here
from headroom.experiment.machine.repository import repository_state
from headroom.experiment.machine.storage_facts import mount_of, storage

CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Fine CPU @ 2 GHz
flags\t\t: fpu vme hypervisor sse

processor\t: 1
model name\t: Another
"""
MEMINFO = "MemTotal:       1000 kB\nMemAvailable:    600 kB\nHugePages_Total:      4\n"
MOUNTS = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
40 27 0:40 / /home rw - nfs4 server:/home rw,vers=4.2
41 27 0:41 / /with\040space ro - ext4 /dev/vdb rw
"""
MACHINE = {
    "proc/cpuinfo": CPUINFO,
    "proc/meminfo": MEMINFO,
    "proc/loadavg": "0.50 0.25 0.10 1/100 1234",
    "proc/pressure/cpu": "some avg10=12.50 avg60=0 avg300=0 total=1",
    "proc/self/mountinfo": MOUNTS,
    "proc/self/cgroup": "0::/user.slice/box\n",
    "proc/sys/vm/swappiness": "60",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory",
    "sys/fs/cgroup/user.slice/memory.max": "1000000",
    "sys/fs/cgroup/user.slice/box/memory.max": "max",
    "sys/fs/cgroup/user.slice/box/cpu.max": "150000 100000",
    "sys/fs/cgroup/user.slice/cpu.max": "400000 100000",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0",
    "sys/devices/system/cpu/cpu0/topology/core_id": "0",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0",
    "sys/devices/system/cpu/cpu1/topology/core_id": "0",
    "sys/devices/system/cpu/cpu2/topology/physical_package_id": "1",
    "sys/devices/system/cpu/cpu2/topology/core_id": "0",
    "sys/devices/system/cpu/cpu0/cache/index0/level": "1",
    "sys/devices/system/cpu/cpu0/cache/index0/type": "Data",
    "sys/devices/system/cpu/cpu0/cache/index0/size": "48K",
    "sys/devices/system/cpu/cpu0/cache/index3/level": "3",
    "sys/devices/system/cpu/cpu0/cache/index3/size": "2M",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected",
    "sys/devices/system/cpu/vulnerabilities/spectre_v1": "Mitigation: barriers",
    "sys/devices/system/node/node0/cpulist": "0-1",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       500 kB",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/block/vda/queue/rotational": "0",
    "sys/devices/block/vda/queue/scheduler": "none [mq-deadline]",
    "sys/devices/block/vda/size": "2048",
    "sys/devices/block/vda/vda1/partition": "1",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of a machine made of files."""
    for name, text in MACHINE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    link = tmp_path / "sys/dev/block/254:1"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "sys/devices/block/vda/vda1")
    return tmp_path


def test_the_processor_is_described(root: Path) -> None:
    assert facts.cpu(root) == {
        "vendor": "GenuineIntel",
        "model": "Fine CPU @ 2 GHz",
        "socket_count": 2,
        "core_count": 2,
        "caches": [
            {"level": 1, "type": "Data", "size_bytes": 49152},
            {"level": 3, "size_bytes": 2 * 1024**2},
        ],
        "frequency_governor": "powersave",
        "mitigations": {"spectre_v1": "Mitigation: barriers"},
        "is_virtual": True,
    }


def test_memory_load_and_clock_are_described(root: Path) -> None:
    assert facts.memory(root) == {
        "total_bytes": 1024_000,
        "available_bytes": 614_400,
        "huge_page_count": 4,
        "transparent_huge_pages": "madvise",
        "swappiness": 60,
    }
    assert facts.system_load(root) == {
        "mean_1min": 0.5,
        "mean_5min": 0.25,
        "mean_15min": 0.1,
        "cpu_pressure_ratio_10s": 0.125,
    }
    assert facts.clock(root) == {"source": "tsc"}
    assert facts.numa(root) == {
        "node_count": 1,
        "nodes": [{"cpus": "0-1", "memory_bytes": 512_000}],
    }


def test_the_tightest_limit_of_the_containers_counts(root: Path) -> None:
    assert facts.container(root) == {"memory_bytes_max": 1_000_000, "cpu_count_max": 1.5}


def test_the_disk_of_a_folder_is_described(root: Path) -> None:
    described = storage(Path("/"), root)
    assert (described["type"], described["source"], described["options"]) == (
        "ext4",
        "/dev/vda1",
        "rw,relatime,discard",
    )
    assert described["disk"] == {
        "name": "vda",
        "size_bytes": 1024**2,
        "is_rotational": False,
        "scheduler": "mq-deadline",
    }
    assert described["free_bytes"] > 0


def test_mounts_are_found_by_their_longest_place(root: Path) -> None:
    (root / "proc/self/mountinfo").write_text(MOUNTS.replace("/home", str(root / "home")))
    home = mount_of(root / "home" / "me", root)
    assert home is None or home.point == "/"
    (root / "home").mkdir()
    home = mount_of(root / "home" / "me", root)
    assert home is not None
    assert (home.type, home.is_network) == ("nfs4", True)


def test_a_machine_that_publishes_nothing_has_no_facts(tmp_path: Path) -> None:
    readers = (facts.cpu, facts.memory, facts.numa, facts.container, facts.system_load, facts.clock)
    assert [read(tmp_path) for read in readers] == [{}] * len(readers)
    assert set(storage(tmp_path, tmp_path)) == {"size_bytes", "free_bytes"}


def test_the_facts_of_this_machine_survive_json(tmp_path: Path) -> None:
    here = collect(tmp_path)
    assert msgspec.json.decode(msgspec.json.encode(here)) == here
    assert {"host", "software", "storage"} <= set(here)
    assert here["software"]["core_build_profile"] in {"debug", "release"}
    assert not Machine.of(here).difference(machine_here())


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *names, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_commit_and_local_changes_of_a_study_are_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    study = tmp_path / "studies" / "web"
    (study / "results").mkdir(parents=True)
    (study / "study.toml").write_text("a = 1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "A study")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (study / "results" / "journal.sqlite").write_text("rows")
    assert repository_state(study) == {"commit": commit, "branch": "trunk", "is_changed": False}
    (tmp_path / "model.py").write_text("new")
    assert repository_state(study)["is_changed"]


def test_outside_a_repository_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert repository_state(tmp_path) == {}
    monkeypatch.setenv("PATH", "")
    assert repository_state(Path()) == {}
