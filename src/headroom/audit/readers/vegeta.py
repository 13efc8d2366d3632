"""JSON reports and encoded results of vegeta; its binary results have no stable format."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headroom.audit.readers.fields import UnreadableError, exact, moments, rate_of, rates_of
from headroom.audit.result import Log, Result, Stated

_NS = 1e-9
_SHARES = {"50th": 0.5, "90th": 0.9, "95th": 0.95, "99th": 0.99}
RANK_ERROR = 0.01
"""vegeta estimates percentiles with a t-digest: ranks within 1% of the samples."""
_LOG_COLUMNS = 12


def is_vegeta(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is a report of vegeta."""
    return isinstance(document, dict) and {"latencies", "status_codes"} <= document.keys()


def read_vegeta(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the result of a report; its throughput counts successes until the last reply."""
    times = document["latencies"]
    sent_s, wait_s = document["duration"] * _NS, document["wait"] * _NS
    count = int(document["requests"])
    percentiles = {share: exact(times.get(name), scale=_NS) for name, share in _SHARES.items()}
    return [
        Result(
            tool="vegeta", source=source, name=source, loop="open", count=count, samples=count,
            duration_s=Stated(sent_s + wait_s, 1e-6 * (sent_s + wait_s)), rank_error=RANK_ERROR,
            # The mean is total over requests, cut to whole nanoseconds.
            mean=Stated(times["mean"] * _NS, _NS), high=exact(times.get("max"), scale=_NS),
            low=exact(times.get("min"), scale=_NS), throughput=exact(count / (sent_s + wait_s))
            if sent_s + wait_s else None,
            percentiles={share: one for share, one in percentiles.items() if one is not None},
            settings={"sent_s": str(sent_s), "rate": str(document["rate"])},
            levels={"rate": round(float(document["rate"]), 3)},
        )
    ]  # fmt: skip


def is_encoded(lines: Sequence[str]) -> bool:
    """Return whether lines are of `vegeta encode --to csv`."""
    rows = list(csv.reader(lines))
    return bool(rows) and all(
        len(row) == _LOG_COLUMNS and len(row[0]) > 17 and row[0].isdigit() and row[2].isdigit()  # noqa: PLR2004
        for row in rows
    )


def read_encoded(text: str, source: str) -> Sequence[Result]:
    """Return the result of encoded attacks: single responses of an open load."""
    try:
        table = np.array([[int(r[0]), int(r[2])] for r in csv.reader(io.StringIO(text)) if r])
    except (ValueError, IndexError) as error:
        raise UnreadableError(
            f"{source}: not results of vegeta: {error}", cure="use `vegeta encode --to csv`"
        ) from error
    start_s = (table[:, 0] - table[:, 0].min()) * _NS
    response_s = table[:, 1] * _NS
    order = np.argsort(start_s + response_s, kind="stable")
    log = Log(ends_s=(start_s + response_s)[order], response_s=response_s[order])
    return [
        Result(
            tool="vegeta-log", source=source, name=source, loop="open", log=log,
            count=table.shape[0], throughput=rate_of(log),
            duration_s=Stated(float(log.ends_s[-1]), 1e-6),
            rates=rates_of(log), **moments(response_s, error=_NS),
        )
    ]  # fmt: skip
