"""Trace files: their location and format.

Invariant: a file is opened for reading only; its lines are for the engine to judge.
"""

import re
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError

_LINES = {
    "fio_iolog": re.compile(r"fio version \d+ iolog"),
    "blkparse": re.compile(r"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s"),
    "msr": re.compile(r"\d{15,},[^,]*,\d+,(Read|Write),", re.IGNORECASE),
    "spc": re.compile(r"\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*[rRwW]\s*,"),
}
"""First line of each format."""


def trace_path(name: str, study: Path) -> Path:
    """Return the path of a trace of a study.

    Raises
    ------
    EnvironmentUnfitError
        There is no such file.
    """
    path = study / Path(name).expanduser()
    if not path.is_file():
        raise EnvironmentUnfitError(
            f"trace {path} not found",
            cure="correct trace_file, a path relative to the study's folder",
        )
    return path


def format_of(path: Path, wish: str) -> str:
    """Return the format of a trace: as requested, or by its first informative line.

    Raises
    ------
    StudyError
        The line is of no known format.
    """
    if wish != "auto":
        return wish
    with path.open(encoding="utf-8", errors="replace") as file:
        line = next((text for text in file if text.strip() and not text.startswith("#")), "")
    for name, pattern in _LINES.items():
        if pattern.match(line):
            return name
    raise StudyError(
        f"the format of {path} is not clear from its line {line.strip()[:60]!r}",
        cure=f"set trace_format to one of {', '.join(_LINES)}",
    )
