"""The Python side of verify mode: the requested checks, and the findings as text and numbers.

Written cells carry run, offset, generation and checksum; the core judges data read (`verify/`).

Invariant: each call of the engine has its own run number, so data left by an earlier run is never
mistaken for data of this one.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.machine_facts import ROOT
from headroom.systems.storage.targets.device_facts import disk_of

FAULTS: Mapping[str, str] = {
    "lost": "hold an older write than the one that was acknowledged",
    "torn": "hold parts of several writes",
    "misdirected": "hold data of another place",
    "foreign": "hold data that were never written there",
    "unknown": "hold a write that was never begun",
}
"""Kind of wrong data -> the fault of a cell."""

NAMED_AT_MOST = 5
"""Wrong cells that are named in a message; all are counted."""


def verified_values(findings: Mapping[str, Any]) -> dict[str, float]:
    """Return how many cells were judged, and how many of them were wrong in each way.

    Parameters
    ----------
    findings
        Of the engine: `cell_count`, `unknown_count`, `counts` by kind, and the `first` ones.

    Examples
    --------
    >>> found = {"cell_count": 9, "unknown_count": 2, "counts": {"lost": 1, "torn": 0}}
    >>> verified_values(found)["verified_cell_count"], verified_values(found)["wrong_cell_count"]
    (7.0, 1.0)
    """
    counts = {name: float(count) for name, count in findings["counts"].items()}
    return {
        "verified_cell_count": float(findings["cell_count"] - findings["unknown_count"]),
        "wrong_cell_count": sum(counts.values()),
        **{f"{name}_cell_count": count for name, count in counts.items()},
    }


def findings_in_words(findings: Mapping[str, Any] | None) -> list[str]:
    """Return one sentence for each way in which data were wrong, with the first places.

    A run that was to verify and judged no cell says so: its blocks are smaller than a cell, or
    nothing that it had written was read back.

    Examples
    --------
    >>> found = {"cell_count": 3, "unknown_count": 3, "counts": {}, "first": []}
    >>> findings_in_words(found)
    ['nothing was verified: no read held a whole cell that this run had written']
    """
    if findings is None:
        return []
    if findings["cell_count"] == findings["unknown_count"]:
        return ["nothing was verified: no read held a whole cell that this run had written"]
    return [
        f"the target gave back wrong data: {count} {'cell' if count == 1 else 'cells'} "
        f"{FAULTS[name]} ({name}): {'; '.join(_places(findings, name))}"
        for name, count in findings["counts"].items()
        if count
    ]


def _places(findings: Mapping[str, Any], fault: str) -> Iterator[str]:
    of_kind = [finding for finding in findings["first"] if finding["fault"] == fault]
    yield from (finding_in_words(finding) for finding in of_kind[:NAMED_AT_MOST])
    if findings["counts"][fault] > NAMED_AT_MOST or not of_kind:
        yield "and more"


def finding_in_words(finding: Mapping[str, Any]) -> str:
    """Return the position of a wrong cell, its demanded content and its actual content.

    Examples
    --------
    >>> finding_in_words({"fault": "lost", "offset": 4096, "demanded": 7, "found": (1, 4096, 3)})
    'at offset 4096 write 7 had to be, write 3 is'
    """
    demanded = f"write {finding['demanded']}" if finding["demanded"] else "nothing of the run"
    actual = "nothing that it wrote"
    if finding["found"] is not None:
        _, offset, generation = finding["found"]
        elsewhere = "" if offset == finding["offset"] else f" of offset {offset}"
        actual = f"write {generation}{elsewhere}"
    return f"at offset {finding['offset']} {demanded} had to be, {actual} is"


def check_log_place(log: Path, target: Path) -> None:
    """Refuse a log on the device of the target: whatever takes one takes the other.

    Parameters
    ----------
    log
        Path of the log; its folder exists.
    target
        A block device, a file, or the folder for a new file.

    Raises
    ------
    EnvironmentUnfitError
        Both are on the same device.
    """
    if _device(log.parent) == _device(target):
        raise EnvironmentUnfitError(
            f"the log {log} would be on the same device as {target}: what destroys the data "
            "would destroy the log too",
            cure="name a folder on another device or in memory, or keep the log on another machine",
        )


def open_log(path: Path) -> BinaryIO:
    """Open a new log whose entries are on its device before the requests that they announce begin.

    Raises
    ------
    EnvironmentUnfitError
        There is a file of that name, or none can be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_DSYNC
    try:
        return os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
    except FileExistsError as error:
        raise EnvironmentUnfitError(
            f"file {path} already exists, and a log never overwrites a file",
            cure="check the target against it if it is a log, then remove it, or choose a name",
        ) from error
    except OSError as error:
        raise EnvironmentUnfitError(
            f"the log {path} cannot be made: {error.strerror}", cure="name another folder"
        ) from error


def _device(path: Path) -> str:
    """Return the disk below a path, or the number of the file system if there is none."""
    state = path.stat()
    number = state.st_rdev if stat.S_ISBLK(state.st_mode) else state.st_dev
    text = f"{os.major(number)}:{os.minor(number)}"
    disk = disk_of(text, ROOT)
    return text if disk is None else str(disk)
