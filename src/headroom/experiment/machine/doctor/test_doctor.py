"""Each check against machines made of files, good ones and spoilt ones; then the real machine."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.experiment.machine.doctor import examine, frequency, resources, sharing
from headroom.experiment.protocol.finding import Finding

CPU = "sys/devices/system/cpu"
POLICY = f"{CPU}/cpu0/cpufreq"
STAT = "cpu  1000 0 500 9000 0 0 0 {steal} 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
QUIET = {"proc/loadavg": "0.10 0.10 0.10 1/1 1", "proc/pressure/cpu": "some avg10=0.50 total=1"}
BUSY = {"proc/loadavg": "9.00 9.00 9.00 1/1 1", "proc/pressure/cpu": "some avg10=60.00 total=1"}
MEMORY = "MemTotal: 1000 kB\nMemAvailable: {left} kB\nSwapTotal: 500 kB\nSwapFree: {swap} kB\n"
GROUP = {"proc/self/cgroup": "0::/box", "sys/fs/cgroup/cgroup.controllers": "cpu"}
COSTS = "costs accuracy"
Check = Callable[[Path], Finding]

CASES: list[tuple[Check, dict[str, str], str, str]] = [
    (frequency.policy, {}, "unknown", "marks runs during which it took 10% longer"),
    (frequency.policy, {f"{POLICY}/scaling_governor": "performance"}, "fine", ""),
    (
        frequency.policy,
        {
            f"{POLICY}/scaling_governor": "powersave",
            f"{POLICY}/energy_performance_preference": "performance",
        },
        "fine",
        "",
    ),
    (
        frequency.policy,
        {
            f"{POLICY}/scaling_governor": "powersave",
            f"{POLICY}/cpuinfo_min_freq": "800000",
            f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
            f"{CPU}/cpu1/cpufreq/cpuinfo_max_freq": "4000000",
        },
        COSTS,
        "from 0.8 to 4.0 GHz, a factor of 5.0",
    ),
    (frequency.boost, {}, "unknown", ""),
    (frequency.boost, {f"{CPU}/intel_pstate/no_turbo": "1"}, "fine", ""),
    (frequency.boost, {f"{CPU}/cpufreq/boost": "0"}, "fine", ""),
    (frequency.boost, {f"{CPU}/cpufreq/boost": "1"}, COSTS, "first runs of a session"),
    (
        frequency.boost,
        {
            f"{CPU}/intel_pstate/no_turbo": "0",
            f"{POLICY}/base_frequency": "2000000",
            f"{POLICY}/cpuinfo_max_freq": "3000000",
            f"{POLICY}/cpuinfo_min_freq": "1000000",
        },
        COSTS,
        "by up to 50%",
    ),
    (frequency.hardware_threads, {f"{CPU}/smt/active": "1"}, COSTS, "slow each other"),
    (frequency.hardware_threads, {f"{CPU}/smt/active": "0"}, "fine", ""),
    (sharing.load, QUIET, "fine", ""),
    (sharing.load, BUSY, COSTS, "lose 5% of the processors"),
    (sharing.steal, {}, "unknown", ""),
    (sharing.steal, {"proc/stat": STAT.format(steal=0)}, "fine", ""),
    (sharing.steal, {"proc/stat": STAT.format(steal=500)}, COSTS, "percentiles"),
    (sharing.virtual_machine, {"proc/cpuinfo": "flags : fpu sse"}, "fine", ""),
    (sharing.virtual_machine, {"proc/cpuinfo": "Features : fp"}, "unknown", ""),
    (sharing.virtual_machine, {"proc/cpuinfo": "flags : hypervisor"}, COSTS, "host"),
    (sharing.mitigations, {f"{CPU}/vulnerabilities/a": "Mitigation: X; Y"}, "fine", ""),
    (lambda root: sharing.processors(root, 4), {}, "fine", ""),
    (lambda root: sharing.processors(root, 1), {}, COSTS, "load generator"),
    (
        lambda root: sharing.processors(root, 4),
        {**GROUP, "sys/fs/cgroup/box/cpu.max": "150000 100000"},
        COSTS,
        "every thread stops",
    ),
    (resources.free_memory, {}, "unknown", ""),
    (resources.free_memory, {"proc/meminfo": MEMORY.format(left=600, swap=500)}, "fine", ""),
    (resources.free_memory, {"proc/meminfo": MEMORY.format(left=50, swap=500)}, COSTS, "swapped"),
    (resources.free_memory, {"proc/meminfo": MEMORY.format(left=600, swap=400)}, COSTS, "swapped"),
    (
        resources.huge_pages,
        {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"},
        COSTS,
        "TLB",
    ),
    (
        resources.huge_pages,
        {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"},
        COSTS,
        "in the middle of a run",
    ),
    (
        resources.huge_pages,
        {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"},
        "fine",
        "",
    ),
    (resources.nodes, {}, "fine", ""),
    (
        resources.nodes,
        {f"sys/devices/system/node/node{n}/cpulist": "0" for n in (0, 1)},
        COSTS,
        "another node",
    ),
    (lambda root: resources.clock_source(root, lambda: 5e-8), {}, "fine", ""),
    (lambda root: resources.clock_source(root, lambda: 1e-6), {}, COSTS, "two readings"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "files", "verdict", "words"), CASES)
def test_a_check_reads_the_machine(
    check: Check, files: dict[str, str], verdict: str, words: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    before = sorted(tmp_path.rglob("*"))
    finding = check(tmp_path)
    assert finding.verdict == verdict, finding
    assert words in finding.effect
    assert str(tmp_path) not in finding.cure, "a cure names the machine, not a test's copy"
    if verdict == "costs accuracy":
        assert finding.effect, "a cost is explained"
        assert finding.cure, "a cost has a cure"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("check", "enough"), [(resources.open_files, 1024), (resources.locked_memory, 1 << 20)]
)
def test_limits_are_judged_by_their_soft_value(
    check: Callable[[resources.Limit], Finding], enough: int
) -> None:
    assert check((enough, enough)).verdict == "fine"
    assert check((resource.RLIM_INFINITY, resource.RLIM_INFINITY)).verdict == "fine"
    assert check((enough - 1, enough)).verdict == "costs accuracy"


@pytest.mark.parametrize(
    ("free", "kind", "verdict"),
    [
        (1 << 10, "ext4", "prevents"),
        (1 << 31, "ext4", "costs accuracy"),
        (1 << 40, "nfs4", "costs accuracy"),
        (1 << 40, "tmpfs", "costs accuracy"),
        (1 << 40, "ext4", "fine"),
    ],
)
def test_a_disk_is_judged_by_its_space_and_kind(
    free: int, kind: str, verdict: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = {"free_bytes": free, "size_bytes": 1 << 41, "type": kind, "is_network": kind == "nfs4"}
    monkeypatch.setattr(resources, "storage", lambda *_: known)
    assert resources.disk_space(tmp_path).verdict == verdict


def test_a_core_without_optimisation_prevents(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resources.build().verdict == "fine"
    monkeypatch.setattr(resources, "core_facts", lambda: {"core_build_profile": "dev"})
    assert resources.build().verdict == "prevents"
    monkeypatch.setattr(resources, "core_facts", dict)
    assert "cannot be loaded" in resources.build().state


def test_unsteady_work_is_found() -> None:
    assert sharing.steadiness({"processor": 1.01, "memory": 1.02}).verdict == "fine"
    assert sharing.steadiness({"processor": 1.2, "memory": 1.0}).verdict == "costs accuracy"


def test_the_worst_comes_first_on_this_machine(tmp_path: Path) -> None:
    verdicts = [finding.verdict for finding in examine.examine(tmp_path)]
    assert verdicts == sorted(verdicts, key=examine.WORST_FIRST.index)
    assert len(verdicts) > 15


def doctor(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "headroom", "doctor", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.deep
def test_the_command_answers_first_and_in_80_columns() -> None:
    done = doctor()
    assert done.returncode in {0, 5}, done.stderr
    machine, answer, *rest = done.stdout.splitlines()
    assert machine.startswith("This machine: ")
    assert answer.endswith((".", "measurements."))
    assert not [line for line in rest if len(line) > 80 and "hint: " not in line]
    assert "clock source" in done.stdout
    assert done.stderr == ""


@pytest.mark.deep
def test_the_document_has_every_check_with_its_verdict(tmp_path: Path) -> None:
    document = json.loads(doctor(str(tmp_path), "--json").stdout)
    assert document["kind"] == "examination"
    findings = document["content"]["findings"]
    assert {"check", "state", "verdict", "effect", "cure", "facts"} == set(findings[0])
    assert {"io_uring", "hardware counters"} <= {finding["check"] for finding in findings}


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    done = doctor(str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
