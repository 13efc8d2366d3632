"""Reports (JSON, HDR plot) and encoded results (CSV, JSON) of vegeta.

Its binary results have no stable format.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from headroom.audit.readers.fields import exact, of_responses
from headroom.audit.readers.format import Format
from headroom.audit.readers.text import go_time, ratio, shares
from headroom.audit.readers.tidy import level
from headroom.audit.result import Result, Stated
from headroom.input_file import decode_json

_NS = 1e-9
_SHARES = {"50th": 0.5, "90th": 0.9, "95th": 0.95, "99th": 0.99}
RANK_ERROR = 0.01
"""vegeta estimates percentiles with a t-digest: ranks within 1% of the samples."""
_PLOTTED = {0.5, 0.9, 0.95, 0.9875}
"""Shares that are read: a plot has all of them up to 1, also of few responses."""
_LOG_COLUMNS = 12
_HDRPLOT = ["Value(ms)", "Percentile", "TotalCount", "1/(1-Percentile)"]
_ROW = re.compile(r"^([A-Z][A-Za-z ]+?) +\[([^\]]+)\] +(\S.*)$", re.MULTILINE)
_CODE = re.compile(r"(\d+):(\d+)")
_HDRPLOT_ROW = re.compile(r"^([\d.]+) +([\d.]+) +(\d+) +[\d.]+ *$", re.MULTILINE)


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
            failed=None if "success" not in document else count * (1.0 - document["success"]),
            settings={"sent_s": str(sent_s), "rate": str(document["rate"])},
            # Measured: it differs between runs of one rate.
            levels={"rate": level(f"{float(document['rate']):.3g}")},
        )
    ]  # fmt: skip


def is_text(text: str) -> bool:
    """Return whether a text is a report of vegeta for people."""
    return "[total, rate, throughput]" in text and "Latencies" in text


def read_text(text: str, source: str) -> Sequence[Result]:
    """Return the result of a report for people, whose times have the digits that are printed."""
    rows = {name: (keys, values.strip()) for name, keys, values in _ROW.findall(text)}
    count, rate = _cells(rows["Requests"])["total"], _cells(rows["Requests"])["rate"]
    times = {name: go_time(one) for name, one in _cells(rows["Latencies"]).items()}
    lasted = go_time(_cells(rows["Duration"])["total"])
    success = rows["Success"][1].rstrip("%")
    codes = [(code, int(number)) for code, number in _CODE.findall(rows["Status Codes"][1])]
    bad = [(code, number) for code, number in codes if not code.startswith(("2", "3"))]
    share = Stated.printed(success, scale=0.01)
    return [
        Result(
            tool="vegeta", source=source, name=source, loop="open", count=int(count),
            duration_s=lasted, throughput=ratio(int(count), lasted), mean=times["mean"],
            low=times.get("min"), high=times["max"], rank_error=RANK_ERROR,
            percentiles=shares((name, one) for name, one in times.items() if name[0].isdigit()),
            failed=float(sum(n for _, n in bad)) if codes else int(count) * (1.0 - share.value),
            settings={
                "errors": ", ".join(f"{n} of status {code}" if code != "0" else f"{n} no reply"
                for code, n in bad), "rate": rate,
            },
            levels={"rate": level(f"{float(rate):.3g}")},
        )
    ]  # fmt: skip


def _cells(row: tuple[str, str]) -> dict[str, str]:
    keys, values = (re.split(r",\s*", one) for one in row)
    return dict(zip(keys, values, strict=True))


def is_encoded(lines: Sequence[str]) -> bool:
    """Return whether lines are of `vegeta encode --to csv`."""
    rows = list(csv.reader(lines))
    return bool(rows) and all(
        len(row) == _LOG_COLUMNS and len(row[0]) > 17 and row[0].isdigit() and row[2].isdigit()  # noqa: PLR2004
        for row in rows
    )


def is_encoded_json(lines: Sequence[str]) -> bool:
    """Return whether lines are of `vegeta encode`, which writes JSON unless told otherwise."""
    return bool(lines) and lines[0].startswith('{"attack":') and '"latency":' in lines[0]


def read_encoded(text: str, source: str) -> Sequence[Result]:
    """Return the result of attacks encoded as CSV: single responses of an open load."""
    return _log(
        [(int(row[0]), int(row[2])) for row in csv.reader(io.StringIO(text)) if row], source
    )


def read_encoded_json(text: str, source: str) -> Sequence[Result]:
    """Return the result of attacks encoded as JSON."""
    rows = [
        decode_json(line, f"{source}:{number}", type=dict[str, Any])
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    return _log(
        [(datetime.fromisoformat(row["timestamp"]).timestamp() * 1e9, row["latency"])
         for row in rows], source,
    )  # fmt: skip


def _log(rows: Sequence[tuple[float, float]], source: str) -> Sequence[Result]:
    first = rows[0][0]
    table = np.array([(start - first, response) for start, response in rows]) * _NS
    return [
        of_responses(
            table.sum(axis=1), table[:, 1], tick_s=_NS,
            tool="vegeta-log", source=source, name=source, loop="open",
        )
    ]  # fmt: skip


def is_hdrplot(lines: Sequence[str]) -> bool:
    """Return whether lines are of `vegeta report -type=hdrplot`."""
    return bool(lines) and lines[0].split() == _HDRPLOT


def read_hdrplot(text: str, source: str) -> Sequence[Result]:
    """Return the distribution of a plot: percentiles without the time or the rate of the run."""
    rows = [(float(v) * 1e-3, float(p), int(n)) for v, p, n in _HDRPLOT_ROW.findall(text)]
    (low, _, _), (high, _, count) = rows[0], rows[-1]
    percentiles = {share: Stated(value, _NS) for value, share, _ in rows if share in _PLOTTED}
    return [
        Result(
            tool="vegeta-plot", source=source, name=source, loop="open", count=count,
            low=Stated(low, _NS), high=Stated(high, _NS), percentiles=percentiles,
            rank_error=RANK_ERROR,
        )
    ]  # fmt: skip


REPORT = Format(
    kind="json",
    expected="JSON with `latencies` and `status_codes`",
    fits=is_vegeta,
    read=read_vegeta,
)
TEXT = Format(
    kind="text",
    expected='lines "Requests [total, rate, throughput]" and "Latencies"',
    fits=is_text,
    read=read_text,
    start=re.compile(r"^[ \t]*\**Requests\s+\[total", re.MULTILINE),
)
ENCODED_JSON = Format(
    kind="lines", expected="rows of `vegeta encode`", fits=is_encoded_json, read=read_encoded_json
)
HDRPLOT = Format(
    kind="lines",
    expected="rows of `vegeta report -type=hdrplot`",
    fits=is_hdrplot,
    read=read_hdrplot,
)
ENCODED_CSV = Format(
    kind="lines", expected="rows of `vegeta encode --to csv`", fits=is_encoded, read=read_encoded
)
