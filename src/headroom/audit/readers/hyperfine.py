"""Files of `hyperfine --export-json`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headroom.audit.readers.fields import UnreadableError, exact
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated


def is_hyperfine(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of hyperfine."""
    rows = document.get("results") if isinstance(document, dict) else None
    return isinstance(rows, list) and bool(rows) and "command" in rows[0]


def read_hyperfine(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return one result per command; runs that failed to be timed are absent in the file.

    Examples
    --------
    >>> row = {"command": "true", "mean": 0.5, "times": [0.25, 0.75], "user": 0.1, "system": 0.1}
    >>> result, = read_hyperfine({"results": [row]}, "a.json")
    >>> result.name, result.count, result.levels
    ('true', 2, {'command': 'true'})
    """
    return [_result(row, source) for row in document["results"]]


def _result(row: Mapping[str, Any], source: str) -> Result:
    times = row.get("times")
    if not isinstance(times, list) or not times:
        raise UnreadableError(
            f"{source}: the command {row['command']!r} has no list `times`",
            cure="export with hyperfine --export-json, not --export-csv",
        )
    mean, user, system = (exact(row.get(name)) for name in ("mean", "user", "system"))
    busy = None
    if mean is not None and user is not None and system is not None and mean.value > 0.0:
        # Both are read from counters of the kernel, in ticks of 10 ms at the coarsest.
        share = (user.value + system.value) / mean.value
        busy = Stated(share, 0.01 / mean.value / len(times) ** 0.5 + 1e-9)
    parameters = row.get("parameters") or {}
    codes = row.get("exit_codes")
    bad = [code for code in codes or () if code != 0]
    return Result(
        tool="hyperfine", source=source, name=row["command"], count=len(times), clients=1.0,
        mean=mean, stdev=exact(row.get("stddev")), low=exact(row.get("min")),
        high=exact(row.get("max")), busy=busy, runs_s=np.array(times, dtype=float),
        percentiles={} if row.get("median") is None else {0.5: exact(row["median"]) or Stated(0.0)},
        failed=None if codes is None else float(len(bad)),
        settings={
            "exit_codes": " ".join(map(str, codes or ())) if bad else "",
            "errors": ", ".join(sorted({_code(one) for one in bad})),
        },
        levels=dict(parameters) if parameters else {"command": row["command"]},
    )  # fmt: skip


def _code(code: int | None) -> str:
    return "ended by a signal" if code is None else f"exit code {code}"


FORMAT = Format(
    kind="json",
    expected="JSON with a list `results`, each with a `command`",
    fits=is_hyperfine,
    read=read_hyperfine,
)
