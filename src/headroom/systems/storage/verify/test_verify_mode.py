"""Verify mode and soft targets in a study: values equal the script, wrong data spoil a run."""

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.soft.soft_script import Misdirected, ScriptedError, SoftScript, Torn
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.places import memory_folder
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable, VerifyTable
from tests.support.storage_sessions import config_of, session_of
from tests.support.study_text import Head

MIB = 1 << 20
BIN = 1 / 64
"""More than the relative width of a bin of the engine's histograms."""

STUDY = Head("soft", "A device made of a script", "reads", seed=7).then("""\
fixed = { seconds = 0.0, requests = 4000, depth = 1, pattern = "sequential" }
factors = { target = ["scripted", "failing"] }
responses = ["throughput", "response_s_p50", "response_s_p95", "response_s_p99", "error_count"]
replications = { count = 2 }
[experiment.system]
name = "storage"
[experiment.system.targets.scripted]
kind = "soft"
bytes = "1 MiB"
script = { servers = 1, read_s = [TIMES] }
[experiment.system.targets.failing]
kind = "soft"
bytes = "1 MiB"
[experiment.system.targets.failing.script]
read_s = [1e-4]
errors = [{ kind = "read", offset = 65536, bytes = 4096, times = 3 }]

[[experiment]]
name = "writes"
fixed = { seconds = 0.0, requests = 512, depth = 1, pattern = "sequential", read_share = 0.0 }
factors = { target = ["honest", "liar"] }
responses = ["wrong_cell_count", "verified_cell_count"]
replications = { count = 2 }
[experiment.system]
name = "storage"
verify = { cell_bytes = 4096 }
[experiment.system.targets.honest]
kind = "soft"
bytes = "1 MiB"
script = { write_s = [2e-3] }
[experiment.system.targets.liar]
kind = "soft"
bytes = "1 MiB"
script = { write_s = [2e-3], lost = [300, 400, 401] }
""")


SMALL = Head("small", "Blocks smaller than a cell", "writes").then("""\
fixed = { seconds = 0.0, requests = 512, depth = 1, block_bytes = 512, read_share = 0.0 }
replications = { count = 2 }
[experiment.system]
name = "storage"
verify = { cell_bytes = 4096 }
[experiment.system.targets.soft]
kind = "soft"
bytes = "1 MiB"
""")


def _results(tmp_path: Path) -> dict[str, Any]:
    times = ["1e-4"] * 90 + ["1e-3"] * 8 + ["2e-2"] * 2
    (tmp_path / "study.toml").write_text(STUDY.replace("TIMES", ", ".join(times)))
    argv = [sys.executable, "-m", "headroom", "run", str(tmp_path)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert (tmp_path / "results" / "results.json").exists(), done.stderr
    content: dict[str, Any] = json.loads((tmp_path / "results" / "results.json").read_text())
    return content


@pytest.mark.deep
def test_the_figures_of_a_study_on_a_soft_device_are_those_of_its_script(tmp_path: Path) -> None:
    """Of a hundred reads, 90 take 0.1 ms, 8 take 1 ms and 2 take 20 ms, one after the other."""
    reads, writes = _results(tmp_path)["experiments"]
    scripted, failing = (
        {name: estimate["value"] for name, estimate in point["estimates"].items()}
        for point in reads["points"]
    )
    for name, expected in (("p50", 1e-4), ("p95", 1e-3), ("p99", 2e-2)):
        assert scripted[f"response_s_{name}"] == pytest.approx(expected, rel=BIN)
    mean_s = (90 * 1e-4 + 8 * 1e-3 + 2 * 2e-2) / 100
    # A discarded warm-up may take a part of a cycle of a hundred with it.
    assert scripted["throughput"] == pytest.approx(1 / mean_s, rel=0.05)
    assert scripted["error_count"] == 0.0
    assert failing["error_count"] == 3.0
    honest, liar = writes["points"]
    values = {name: estimate["value"] for name, estimate in honest["estimates"].items()}
    assert (values["wrong_cell_count"], values["verified_cell_count"]) == (0.0, 256.0)
    assert (honest["faults"], honest["remarks"]) == ([], [])
    # Wrong data gives no results; the fault says which.
    assert liar["estimates"] == {}
    (fault,) = liar["faults"]
    said = fault["message"]
    assert "3 cells hold an older write than the one that was acknowledged (lost)" in said
    for write in (300, 400, 401):
        assert f"at offset {(write - 257) * 4096} write {write} had to be" in said


def _system(table: TargetTable, **verify: Any) -> AbstractContextManager[StorageSystem]:
    return session_of(StorageSetup(targets={"one": table}, verify=VerifyTable(**verify)))


def _config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    plain: dict[str, Value] = {"seconds": 0.0, "requests": 2000, "read_share": 0.5}
    return config_of(system, **{**plain, **given})


def test_extremes_counters_and_faults_of_a_run_are_those_of_the_script() -> None:
    script = SoftScript(
        write_s=[1e-4] * 255 + [3e-2],
        lost=[300],
        torn=[Torn(write=310, kept_bytes=512)],
        misdirected=[Misdirected(write=320, to=0)],
        errors=[ScriptedError(kind="write", offset=8192, bytes=4096, times=1)],
    )
    with _system(TargetTable(kind="soft", bytes=MIB, script=script)) as system:
        config = _config(system, read_share=0.0, depth=1, pattern="sequential", requests=512)
        run = system.run(config, seed=1)
    for histogram in run.histograms:
        assert histogram.totals is not None
        assert histogram.totals.maxima.max() == pytest.approx(3e-2)
    assert run.values["error_count"] == run.counters["truth_error_count"] == 1.0
    truth = {name: run.counters[f"truth_{name}_count"] for name in ("lost", "torn", "misdirected")}
    assert truth == {"lost": 1.0, "torn": 1.0, "misdirected": 1.0}
    # A write that went elsewhere is also missing in its own place, which has an older one.
    assert run.values["lost_cell_count"] == 2.0
    assert run.values["torn_cell_count"] == run.values["misdirected_cell_count"] == 1.0
    assert not run.is_sound
    said = " ".join(run.faults)
    for number in (300, 310):
        assert f"at offset {(number - 257) * 4096} write {number} had to be" in said
    assert "at offset 0 write 257 had to be, write 320 of offset 258048 is" in said


@pytest.mark.parametrize("interface", ["io_uring", "threads"])
@pytest.mark.parametrize("cell_bytes", [512, 4096])
def test_no_false_alarm_under_overlapping_requests_of_mixed_sizes(
    interface: str, cell_bytes: int, tmp_path: Path
) -> None:
    """64 requests at once of 512 B to 64 KiB on 256 KiB: nearly every one meets another."""
    path = tmp_path / "target"
    path.write_bytes(bytes(256 * 1024))
    descriptor = os.open(path, os.O_RDWR)
    sizes = [{"bytes": bytes_, "weight": 1.0} for bytes_ in (512, 4096, 12288, 65536)]
    job = {
        "seed": cell_bytes,
        "target": {"kind": "files", "files": [{"fd": descriptor, "bytes": 256 * 1024}]},
        "interface": interface,
        "workload": {"kind": "micro", "depth": 64, "read_share": 0.5, "block_bytes": sizes,
                     "align_bytes": 512},
        "sync": {"every": 50, "kind": "fdatasync"},
        "stop": {"requests": 6000},
        "verify": {"cell_bytes": cell_bytes},
    }  # fmt: skip
    try:
        result = run_job(job)
    finally:
        os.close(descriptor)
    findings = result["findings"]
    assert sum(findings["counts"].values()) == 0, findings["first"]
    assert findings["cell_count"] - findings["unknown_count"] > 5000
    assert result["failures"] == []
    assert sum(class_["completion_count"] for class_ in result["classes"].values()) >= 6000


def test_what_an_earlier_run_with_the_same_seed_has_left_is_no_alarm(tmp_path: Path) -> None:
    """Points with common random numbers share their seeds, and may share a file."""
    table = TargetTable(kind="file", path=str(tmp_path), bytes=MIB)
    with _system(table) as system:
        long = system.run(_config(system, requests=3000), seed=1)
        short = system.run(_config(system, requests=100, depth=64), seed=1)
    for run in (long, short):
        assert run.is_sound, run.faults
        assert run.values["wrong_cell_count"] == 0.0
        assert run.values["verified_cell_count"] > 0.0


def test_a_log_lies_on_another_device_and_goes_after_a_sound_run(tmp_path: Path) -> None:
    table = TargetTable(kind="file", path=str(tmp_path), bytes=MIB)
    logs = memory_folder() / f"headroom-logs-{os.getpid()}"
    logs.mkdir()
    try:
        with _system(table, log_folder=str(logs)) as system:
            run = system.run(_config(system, requests=200), seed=1)
        assert run.is_sound
        assert list(logs.iterdir()) == []
    finally:
        logs.rmdir()
    with (
        _system(table, log_folder=str(tmp_path)) as system,
        pytest.raises(EnvironmentUnfitError, match="same device"),
    ):
        system.run(_config(system, requests=200), seed=1)


def test_a_script_is_checked_when_the_study_is_read() -> None:
    table = TargetTable(kind="soft", bytes=4096, script=SoftScript(lost=[1, 1]))
    with pytest.raises(StudyError, match="two entries for write"), _system(table):
        pass
    table = TargetTable(kind="nothing", script=SoftScript(lost=[1]))
    with pytest.raises(StudyError, match="has a script"), _system(table):
        pass


@pytest.mark.deep
def test_blocks_that_are_smaller_than_a_cell_verify_nothing_and_that_is_a_fault(
    tmp_path: Path,
) -> None:
    (tmp_path / "study.toml").write_text(SMALL)
    argv = [sys.executable, "-m", "headroom", "run", str(tmp_path)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    content = json.loads((tmp_path / "results" / "results.json").read_text())
    point = content["experiments"][0]["points"][0]
    assert any("nothing was verified" in fault["message"] for fault in point["faults"])
    assert not point["estimates"]
