"""The health of a disk is read if possible; otherwise the reason is reported."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.systems.storage.targets.device_facts import disk_below
from headroom.systems.storage.targets.health import (
    PROGRAM_EVERY_S,
    HealthWatch,
    in_words,
    warnings_of,
)
from headroom.systems.storage.targets.health_sources import Reading, nvme_reading, smartctl_reading
from tests.support.study_text import Head

NVME: dict[str, Any] = {
    "smartctl": {"version": [7, 4], "exit_status": 0},
    "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
    "model_name": "Fast Drive 1TB",
    "serial_number": "S1",
    "firmware_version": "2B4",
    "nvme_composite_temperature_threshold": {"warning": 82, "critical": 85},
    "smart_status": {"passed": True, "nvme": {"value": 0}},
    "nvme_smart_health_information_log": {
        "critical_warning": 0, "temperature": 45, "available_spare": 100,
        "available_spare_threshold": 10, "percentage_used": 3, "media_errors": 0,
        "num_err_log_entries": 17, "warning_temp_time": 0, "critical_comp_time": 0,
        "temperature_sensors": [45, 61],
    },
    "temperature": {"current": 45},
}  # fmt: skip
ATA: dict[str, Any] = {
    "smartctl": {"exit_status": 64},
    "model_name": "Slow Disk 4TB",
    "serial_number": "Z9",
    "firmware_version": "CC43",
    "smart_status": {"passed": False},
    "ata_smart_attributes": {
        "table": [
            {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 8, "string": "8"}},
            {"id": 194, "name": "Temperature_Celsius", "raw": {"value": 34}},
            {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 2}},
            {"id": 198, "name": "Offline_Uncorrectable", "raw": {"value": 1}},
            {"id": 199, "name": "UDMA_CRC_Error_Count", "raw": {"value": 0}},
        ]
    },
    "temperature": {"current": 34, "op_limit_max": 60},
}
DENIED = {
    "smartctl": {
        "messages": [{"string": "/dev/sda: Permission denied", "severity": "error"}],
        "exit_status": 2,
    }
}
NVME_CLI = {
    "critical_warning": {"value": 2, "available_spare": 0, "temp_threshold": 1},
    "temperature": 318, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
    "media_errors": 1, "num_err_log_entries": 17, "warning_temp_time": 4, "critical_comp_time": 1,
    "thm_temp1_trans_count": 2, "thm_temp2_trans_count": 1,
}  # fmt: skip


def _sysfs(root: Path, name: str, **files: str) -> Path:
    """Make the kernel's view of a disk."""
    disk = root / "sys/block" / name
    for path, content in {"queue/rotational": "0", **files}.items():
        (disk / path).parent.mkdir(parents=True, exist_ok=True)
        (disk / path).write_text(f"{content}\n")
    return disk


def _program(folder: Path, name: str, says: str, status: int = 0) -> None:
    """Make a program that counts its calls and prints the same each time."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(says)
    path = folder / name
    path.write_text(
        f'#!/bin/sh\necho "$@" >> {folder}/{name}.calls\n/bin/cat {folder}/{name}.json\n'
        f"exit {status}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which programs are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_smartctl_tells_an_nvme_drive() -> None:
    reading = smartctl_reading(json.dumps(NVME), 0, "")
    assert reading.figures == {
        "temperature_c": 45.0, "percentage_used": 3.0, "available_spare_percent": 100.0,
        "critical_warning": 0.0, "media_errors": 0.0, "too_hot_minutes": 0.0,
        "temperature_limit_c": 82.0,
    }  # fmt: skip
    assert reading.names == ["Fast Drive 1TB", "serial S1", "firmware 2B4"]


def test_smartctl_tells_a_disk_that_is_failing() -> None:
    """Its exit status has bits for that, and is no failure of the command."""
    reading = smartctl_reading(json.dumps(ATA), 64 | 8, "")
    assert reading.figures["reallocated_sectors"] == 8.0
    assert reading.figures["pending_sectors"] == 2.0
    assert reading.figures["temperature_c"] == 34.0
    assert reading.figures["temperature_limit_c"] == 60.0
    (warning,) = warnings_of(reading, reading)
    assert "failing" in warning


def test_nvme_cli_counts_from_zero_kelvin() -> None:
    reading = nvme_reading(json.dumps(NVME_CLI), 0, "")
    assert reading.figures["temperature_c"] == 45.0
    assert reading.figures["throttle_count"] == 3.0
    assert reading.figures["too_hot_minutes"] == 5.0
    assert reading.figures["critical_warning"] == 2.0


def test_a_refusal_is_the_reason(programs: Path, tmp_path: Path) -> None:
    _program(programs, "smartctl", json.dumps(DENIED), status=2)
    reading = HealthWatch(_sysfs(tmp_path, "sda")).read()
    assert in_words(reading) == "not known: smartctl: /dev/sda: Permission denied"


def test_without_programs_and_sensors_the_reason_is_said(programs: Path, tmp_path: Path) -> None:
    assert list(programs.iterdir()) == []
    said = in_words(HealthWatch(_sysfs(tmp_path, "nvme0n1")).read())
    assert said == "not known: smartctl is not installed, nvme is not installed"
    assert "no disk" in in_words(HealthWatch(None).read())


@pytest.mark.parametrize(
    "folder", ["device/hwmon3", "device/hwmon/hwmon0", "device/device/hwmon/hwmon1"]
)
def test_the_kernels_sensor_is_fresher_than_the_program(
    programs: Path, tmp_path: Path, folder: str
) -> None:
    _program(programs, "smartctl", json.dumps(NVME))
    sensor = {f"{folder}/temp1_input": "57850", f"{folder}/temp1_max": "81850"}
    disk = _sysfs(tmp_path, "nvme0n1", **sensor)
    now_s = 0.0
    watch = HealthWatch(disk, root=tmp_path, clock=lambda: now_s)
    first = watch.read()
    assert first.figures["temperature_c"] == 57.85
    assert first.figures["percentage_used"] == 3.0
    (disk / folder / "temp1_input").write_text("60000\n")
    assert watch.read().figures["temperature_c"] == 60.0
    calls = programs / "smartctl.calls"
    assert calls.read_text().splitlines() == [f"--json -a {tmp_path}/dev/nvme0n1"]
    now_s = PROGRAM_EVERY_S
    watch.read()
    assert len(calls.read_text().splitlines()) == 2


def test_nvme_is_asked_where_smartctl_may_not(programs: Path, tmp_path: Path) -> None:
    _program(programs, "smartctl", json.dumps(DENIED), status=2)
    _program(programs, "nvme", json.dumps(NVME_CLI))
    reading = HealthWatch(_sysfs(tmp_path, "nvme0n1")).read()
    assert reading.figures["media_errors"] == 1.0


def test_what_grew_and_what_is_too_hot_is_a_warning() -> None:
    before = Reading(figures={"media_errors": 1.0, "temperature_c": 60.0})
    after = Reading(
        figures={"media_errors": 4.0, "temperature_c": 82.0, "temperature_limit_c": 82.0}
    )
    grown, hot = warnings_of(before, after)
    assert "3 more media errors" in grown
    assert "82 °C" in hot
    assert warnings_of(before, before) == []


def test_a_mapping_of_one_disk_is_that_disk_and_one_of_two_is_none(tmp_path: Path) -> None:
    devices, links = tmp_path / "sys/devices", tmp_path / "sys/dev/block"
    links.mkdir(parents=True)
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("dm-0", "253:0")):
        (devices / name / "queue").mkdir(parents=True)
        (devices / name / "dev").write_text(f"{number}\n")
        (links / number).symlink_to(devices / name)
    slaves = devices / "dm-0/slaves"
    slaves.mkdir()
    (slaves / "sda").symlink_to(devices / "sda")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("30 1 253:0 / / rw - ext4 /dev/dm-0 rw\n")
    assert disk_below(Path("/"), is_device=False, root=tmp_path) == devices / "sda"
    (slaves / "sdb").symlink_to(devices / "sdb")
    assert disk_below(Path("/"), is_device=False, root=tmp_path) is None


_STUDY = Head("warm", "A disk that gets warm", "reads").then("""\
fixed = { seconds = 0.05 }
replications = { count = 3 }
[experiment.system]
name = "storage"
reserve = "1 MiB"
targets.one = { kind = "file", path = "{study}", bytes = "1 MiB" }
""")


def test_a_run_keeps_the_health_before_and_after_and_the_page_says_it(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in place of smartctl describes a disk that gets an error at each call."""
    monkeypatch.setattr("headroom.systems.storage.targets.health.PROGRAM_EVERY_S", 0.0)
    monkeypatch.setattr(
        "headroom.systems.storage.targets.targets.disk_below",
        lambda *_, **__: _sysfs(tmp_path, "nvme0n1"),
    )
    log = {**NVME["nvme_smart_health_information_log"], "media_errors": "N"}
    template = json.dumps({**NVME, "nvme_smart_health_information_log": log})
    _program(programs, "smartctl", template)
    script = programs / "smartctl"
    script.write_text(
        f"#!/bin/sh\necho >> {programs}/smartctl.calls\n"
        f"n=$(/usr/bin/wc -l < {programs}/smartctl.calls)\n"
        f'/bin/sed "s/\\"N\\"/$n/" {programs}/smartctl.json\n'
    )
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").write_text(_STUDY)
    done = CliRunner().invoke(app, ["run", "--all", str(study)])
    assert "more media errors after" in " ".join(done.stdout.split()), done.output
    page = (study / "results/report.html").read_text()
    assert "45 °C (limit 82 °C)" in page
    assert "Fast Drive 1TB; serial S1; firmware 2B4" in page
    results = json.loads((study / "results/results.json").read_text())
    (point,) = results["experiments"][0]["points"]
    errors = point["disk_health"]["media_errors"]
    assert errors["first"] < errors["last"] == errors["highest"]
    assert point["remarks"]
