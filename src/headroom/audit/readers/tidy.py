"""Tidy CSV: one result a row, with the columns of `COLUMNS`; all others tell results apart."""

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated
from headroom.experiment.protocol.system import Value
from headroom.units import UNITS

COLUMNS = {
    "system": "name of the system or configuration",
    "loop": "closed or open",
    "clients": "requests in flight at most",
    "think_s": "mean pause (s) of a client between reply and next request",
    "duration_s": "measured time (s)",
    "count": "completed requests",
    "failed": "of these, requests that failed",
    "samples": "responses of the distribution, if not all",
    "throughput": "completions (1/s)",
    "offered": "scheduled arrivals (1/s)",
    "cpus": "processors of the system",
    "cpu_utilization": "busy share of them, 1 is all",
}
"""Columns by name; `response_s_STATISTIC` too, in any unit of time."""
_RESPONSE = re.compile(r"response_([^_]+)_(mean|stdev|min|max|p\d+(?:\.\d+)?)")
_FIELDS = {"mean": "mean", "stdev": "stdev", "min": "low", "max": "high"}
_NUMBERS = {"clients", "think_s", "offered", "cpus", "failed"}


def is_tidy(header: str) -> bool:
    """Return whether a line is the header of a tidy CSV.

    Examples
    --------
    >>> is_tidy("system,clients,throughput,response_ms_mean"), is_tidy("a,b")
    (True, False)
    """
    names = [name.strip() for name in header.split(",")]
    known = [name for name in names if name in COLUMNS or _RESPONSE.fullmatch(name)]
    if any(re.search(r"error|fail", name.lower()) for name in names if name not in known):
        # The reader of any table knows such columns by their names.
        return False
    return len(known) > 1 and ("throughput" in known or any("response" in one for one in known))


def rounded(text: str, *, scale: float = 1.0) -> Stated:
    """Return a number of a published table: zeros at the end of a whole number may be rounding.

    Examples
    --------
    >>> rounded("12000").error, rounded("12.0").error
    (500.0, 0.05)
    """
    whole = text.lstrip("-")
    zeros = len(whole) - len(whole.rstrip("0")) if whole.isdigit() else 0
    stated = Stated.printed(text, scale=scale)
    if not 0.0 <= stated.value < math.inf:
        raise ValueError(f"{text!r} is not a number of 0 or more")
    return Stated(stated.value, stated.error * 10.0**zeros)


def read_tidy(text: str, source: str) -> Sequence[Result]:
    """Return one result per row."""
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    return [_result(row, source, number) for number, row in enumerate(rows, start=2)]


def _result(row: Mapping[str, str], source: str, number: int) -> Result:
    cells = {key: value.strip() for key, value in row.items() if key and isinstance(value, str)}
    filled = {key.strip(): value for key, value in cells.items() if value}
    levels = {
        key: level(value) for key, value in filled.items()
        if key in {"system", "clients", "offered", "loop"}
        or (key not in COLUMNS and not _RESPONSE.fullmatch(key))
    }  # fmt: skip
    try:
        given = _fields(filled)
    except ValueError as error:
        raise UnreadableError(
            f"{source}:{number}: {error}", cure="write numbers with a decimal point, without units"
        ) from error
    name = filled.get("system") or f"row {number}"
    return Result(tool="csv", source=source, name=name, levels=levels, settings=filled, **given)


def _fields(row: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {key: rounded(row[key]).value for key in _NUMBERS & row.keys()}
    given |= {key: round(float(row[key])) for key in {"count", "samples"} & row.keys()}
    given |= {key: rounded(row[key]) for key in {"throughput", "duration_s"} & row.keys()}
    percentiles = {}
    for key, text in row.items():
        if match := _RESPONSE.fullmatch(key):
            if match[1] not in UNITS["s"]:
                raise ValueError(f"{key} is in {match[1]!r}, which is not a unit of time")
            stated = rounded(text, scale=UNITS["s"][match[1]])
            if match[2] in _FIELDS:
                given[_FIELDS[match[2]]] = stated
            else:
                percentiles[float(match[2][1:]) / 100.0] = stated
    if "loop" in row:
        if row["loop"] not in {"open", "closed"}:
            raise ValueError(f"loop is {row['loop']!r}, not open or closed")
        given["loop"] = row["loop"]
    if "cpu_utilization" in row:
        share, cpus = rounded(row["cpu_utilization"]), float(row.get("cpus", "1"))
        given |= {"busy": Stated(share.value * cpus, share.error * cpus), "cpus": cpus}
    return {**given, "percentiles": percentiles}


def level(text: str) -> Value:
    """Return a cell as a number if it is one.

    Examples
    --------
    >>> level("8"), level("0.5"), level("4k")
    (8, 0.5, '4k')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


FORMAT = Format(
    kind="lines",
    expected="a header with two documented columns or more",
    fits=lambda lines: is_tidy(lines[0]),
    read=read_tidy,
    is_general=True,
)
