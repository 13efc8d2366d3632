"""HammerDB's TPROC-C: output of its command line, with what `jobs ID timing` and `tcount` print.

A virtual user has one procedure in flight, so Little's law holds for all procedures together.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated

_RESULT = re.compile(r"TEST RESULT : System achieved (\d+) NOPM from (\d+) (.+?) TPM")
_USERS = re.compile(r"(\d+) Active (?:Virtual Users|Sessions) configured")
_MINUTES = re.compile(r"Timing test period of (\d+) in minutes")
_FAILED = re.compile(r"Vuser \d+:\s*FINISHED FAILED|Vuser \d+:\s*Error[^\n]*")
_FINISHED = re.compile(r"FINISHED SUCCESS")
_VERSION = re.compile(r"^HammerDB CLI (\S+)", re.MULTILINE)
_SHARES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
_MS = 1e-3
_PER_MINUTE = 1.0 / 60.0


def is_hammerdb(text: str) -> bool:
    """Return whether a text is of HammerDB: a test result, or the times of procedures."""
    return bool(_RESULT.search(text)) or ('"ratio_pct"' in text and '"p99_ms"' in text)


def read_hammerdb(text: str, source: str) -> Sequence[Result]:
    """Return new orders and transactions, each procedure, and all procedures together.

    Examples
    --------
    >>> line = "Vuser 1:TEST RESULT : System achieved 60 NOPM from 180 PostgreSQL TPM"
    >>> [(one.name, one.throughput.value) for one in read_hammerdb(line, "a.log")]
    [('new orders', 1.0), ('transactions', 3.0)]
    """
    users, version = _USERS.search(text), _VERSION.search(text)
    failed = _FAILED.findall(text)
    error = f"{len(failed)} virtual users failed ({failed[0]})" if failed else ""
    shared: dict[str, Any] = {
        "error": error, "failed": 0.0 if _FINISHED.search(text) and not failed else None,
        "tool": "hammerdb", "source": source, "loop": "closed",
        "clients": float(users[1]) if users else None, "version": version[1] if version else "",
    }  # fmt: skip
    levels = {"clients": int(users[1])} if users else {}
    documents = list(_documents(text))
    timing = next((one for one in documents if "ratio_pct" in str(one)), {})
    counts = next((one for one in documents if any(key.endswith(" tpm") for key in one)), {})
    try:
        rows = [*_totals(text, counts), *_procedures(timing)]
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableError(
            f"{source}: the times of HammerDB lack {error}",
            cure="give all that `jobs ID timing` prints",
        ) from error
    return [
        Result(levels={"metric": row["name"], **levels}, view=row["name"], **shared, **row)
        for row in rows
    ]


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects among the lines."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, end = decoder.raw_decode(text, place)
        except ValueError:
            end = place + 1
        except RecursionError as error:
            raise UnreadableError(
                "JSON is nested too deeply", cure="give the file as the tool wrote it"
            ) from error
        else:
            yield found
        place = text.find("{", end)


def _totals(text: str, counts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match, minutes = _RESULT.search(text), _MINUTES.search(text)
    if match is None:
        return
    duration = None if minutes is None else Stated(60.0 * float(minutes[1]), 1.0)
    for name, tally in (("new orders", match[1]), ("transactions", match[2])):
        yield {
            "name": name, "throughput": Stated.printed(tally, scale=_PER_MINUTE),
            "duration_s": duration, "settings": {"database": match[3]},
            # The first reading of the counter is 0, and the last one may be of a stopped load.
            "rates": np.array([float(c) for one in counts.values() for c in one.values()][1:-1])
            * _PER_MINUTE if name == "transactions" else np.empty(0),
        }  # fmt: skip


def _procedures(timing: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    total_s, calls = 0.0, 0
    for name, row in timing.items():
        total_s, calls = total_s + float(row["total_ms"]) * _MS, calls + int(row["calls"])
        elapsed = Stated.printed(row["elapsed_ms"], scale=_MS)
        yield {
            "name": name, "count": int(row["calls"]), "duration_s": elapsed,
            "throughput": _rate(int(row["calls"]), elapsed),
            "mean": Stated.printed(row["avg_ms"], scale=_MS),
            "low": Stated.printed(row["min_ms"], scale=_MS),
            "high": Stated.printed(row["max_ms"], scale=_MS),
            # Alone among its times, the deviation is in microseconds.
            "stdev": Stated.printed(row["sd"], scale=1e-6),
            "percentiles": {
                share: Stated.printed(row[key], scale=_MS) for key, share in _SHARES.items()
            },
        }  # fmt: skip
    if calls:
        yield {
            "name": "all procedures", "count": calls, "duration_s": elapsed, "think_s": None,
            "throughput": _rate(calls, elapsed),
            "mean": Stated(total_s / calls, 1e-9 * total_s / calls + 1e-9),
        }  # fmt: skip


def _rate(calls: int, elapsed: Stated) -> Stated:
    return Stated(
        calls / elapsed.value, calls / elapsed.value * (elapsed.error / elapsed.value + 1e-9)
    )


FORMAT = Format(
    kind="text",
    expected='a line "TEST RESULT :" or `jobs ID timing`',
    fits=is_hammerdb,
    read=read_hammerdb,
)
