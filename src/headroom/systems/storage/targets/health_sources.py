"""Sources of a disk's health: sensors of the kernel, `smartctl`, `nvme`.

Invariant: a value has one name, whichever program reports it, in the unit of the name. Kelvin
becomes degrees Celsius here.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headroom.experiment.machine.machine_facts import ROOT, read_int, read_text

_PATIENCE_S = 10.0
_KELVIN_C = 273
_UNUSABLE = 0b11
"""Bits of the exit status of smartctl for a command that was not carried out."""
_ATTRIBUTES = {
    5: "reallocated_sectors", 197: "pending_sectors", 198: "uncorrectable_sectors",
    199: "crc_errors",
}  # fmt: skip
"""Number of an ATA attribute, and the name of its raw value."""
_LOG = {
    "temperature": "temperature_c",
    "percentage_used": "percentage_used", "percent_used": "percentage_used",
    "available_spare": "available_spare_percent", "avail_spare": "available_spare_percent",
    "critical_warning": "critical_warning", "media_errors": "media_errors",
}  # fmt: skip
"""Key of the health log of NVMe, in the words of smartctl and of nvme-cli."""
_MINUTES = ("warning_temp_time", "critical_comp_time")
_THROTTLES = ("thm_temp1_trans_count", "thm_temp2_trans_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a disk is.

    Parameters
    ----------
    figures
        Name, with its unit, to value.
    names
        Identity: model, serial number, firmware.
    why
        Why something is unknown; empty if all is known.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    names: Sequence[str] = ()
    why: str = ""

    def with_sensors(self, sensors: "Reading") -> "Reading":
        """Return this with current sensor readings of the kernel in place of earlier ones."""
        names = self.names or sensors.names
        return Reading(figures={**self.figures, **sensors.figures}, names=names, why=self.why)


def from_sensors(disk: Path) -> Reading:
    """Return temperature and names as the kernel has them, of `/sys/block/X`."""
    figures: dict[str, float] = {}
    for sensor in _sensors(disk):
        degrees = read_int(sensor / "temp1_input")
        if degrees is not None:
            figures["temperature_c"] = degrees / 1000
        limits = (read_int(sensor / f"temp1_{name}") for name in ("max", "crit"))
        limit = next((number for number in limits if number), None)
        if limit is not None:
            figures["temperature_limit_c"] = limit / 1000
    device = disk / "device"
    named = {
        "serial": read_text(device / "serial"),
        "firmware": read_text(device / "firmware_rev") or read_text(device / "rev"),
    }
    model = read_text(device / "model")
    names = [model] if model else []
    names += [f"{name} {text}" for name, text in named.items() if text]
    return Reading(figures=figures, names=names)


def _sensors(disk: Path) -> Iterator[Path]:
    """Yield the folders of sensors of a disk, wherever its driver hangs them."""
    device = disk / "device"
    for pattern in ("hwmon*", "hwmon/hwmon*", "device/hwmon/hwmon*", "nvme*/hwmon*"):
        for folder in sorted(device.glob(pattern)):
            if (folder / "temp1_input").exists():
                yield folder
                return


def from_programs(disk: Path, root: Path = ROOT) -> Reading:
    """Return the reading of the first program that is installed and allowed to ask."""
    node = str(root / "dev" / disk.name)
    is_nvme = disk.name.startswith("nvme")
    reasons = []
    programs = [("smartctl", ["--json", "-a", node], smartctl_reading)]
    if is_nvme:
        programs.append(("nvme", ["smart-log", "-o", "json", node], nvme_reading))
    for name, words, read in programs:
        if shutil.which(name) is None:
            reasons.append(f"{name} is not installed")
            continue
        reading = read(*_answer([name, *words]))
        if reading.figures:
            return reading
        reasons.append(f"{name}: {reading.why}")
    return Reading(why=", ".join(reasons))


def _answer(argv: Sequence[str]) -> tuple[str, int, str]:
    """Return output, exit status and messages of a program."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", -1, f"no answer ({type(error).__name__})"
    return done.stdout, done.returncode, done.stderr.strip()


def smartctl_reading(text: str, status: int, said: str) -> Reading:
    """Return the reading of `smartctl --json -a`, for an NVMe or an ATA or SCSI disk."""
    content = _content(text)
    messages = content.get("smartctl", {}).get("messages", [])
    why = "; ".join(str(message.get("string", "")) for message in messages) or said
    if status < 0 or status & _UNUSABLE:
        return Reading(why=why or f"exit status {status}")
    log = content.get("nvme_smart_health_information_log", {})
    table = content.get("ata_smart_attributes", {}).get("table", [])
    figures = _of_log(log) if log else {}
    for row in table:
        if row.get("id") in _ATTRIBUTES:
            figures[_ATTRIBUTES[row["id"]]] = float(row["raw"]["value"])
    current = content.get("temperature", {}).get("current")
    if current is not None:
        figures["temperature_c"] = float(current)
    limits = (
        content.get("nvme_composite_temperature_threshold", {}).get("warning"),
        content.get("temperature", {}).get("op_limit_max"),
    )
    limit = next((number for number in limits if number), None)
    if limit is not None:
        figures["temperature_limit_c"] = float(limit)
    if "scsi_grown_defect_list" in content:
        figures["reallocated_sectors"] = float(content["scsi_grown_defect_list"])
    if content.get("smart_status", {}).get("passed") is False:
        figures.setdefault("critical_warning", 0.0)
        figures["critical_warning"] = figures["critical_warning"] or float(_NOT_RELIABLE)
    keys = {"model_name": "", "serial_number": "serial ", "firmware_version": "firmware "}
    names = [f"{word}{content[key]}" for key, word in keys.items() if content.get(key)]
    return Reading(figures=figures, names=names, why=why if not figures else "")


_NOT_RELIABLE = 0b100
"""The bit of the critical warning for a disk whose own test has failed."""


def nvme_reading(text: str, status: int, said: str) -> Reading:
    """Return the reading of `nvme smart-log -o json`; it has temperatures in kelvin."""
    content = _content(text)
    if status or not content:
        return Reading(why=said.splitlines()[0] if said else f"exit status {status}")
    figures = _of_log(content)
    if "temperature_c" in figures:
        figures["temperature_c"] -= _KELVIN_C
    return Reading(figures=figures)


def _of_log(log: Mapping[str, Any]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for key, name in _LOG.items():
        value = log.get(key)
        # nvme-cli also gives the critical warning as a table of its bits.
        value = value.get("value") if isinstance(value, dict) else value
        if value is not None:
            figures[name] = float(value)
    for keys, name in ((_MINUTES, "too_hot_minutes"), (_THROTTLES, "throttle_count")):
        numbers = [float(log[key]) for key in keys if key in log]
        if numbers:
            figures[name] = sum(numbers)
    return figures


def _content(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
