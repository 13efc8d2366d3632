"""Files of k6: the summary as JSON, and the streams of points as JSON lines or CSV."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from headroom.audit.readers.fields import UnreadableError, exact, of_responses
from headroom.audit.readers.format import Format
from headroom.audit.readers.text import go_time, shares
from headroom.audit.result import Result, Stated
from headroom.input_file import decode_json

_REQUESTS = "http_req_duration"
_LINE = re.compile(r"^\s*(?:✓|✗|[|│])?\s*([a-z_0-9]+)\.{2,}: +(\S.*?)\s*$", re.MULTILINE)
_TIME = re.compile(r"(avg|min|med|max|p\([\d.]+\))=(\S+)")
_FEWEST = 4
CSV_HEADER = "metric_name,timestamp,metric_value"


def is_summary(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is a summary of k6."""
    metrics = document.get("metrics") if isinstance(document, dict) else None
    return isinstance(metrics, dict) and "iterations" in metrics


def read_summary(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the requests and the iterations of a summary (`--summary-export`, `handleSummary`).

    Iterations include the pauses of the script, so Little's law holds for them.
    """
    metrics = {name: one.get("values", one) for name, one in document["metrics"].items()}
    users = metrics.get("vus_max", {}).get("max") or metrics.get("vus", {}).get("max")
    dropped = int(metrics.get("dropped_iterations", {}).get("count", 0))
    shared: dict[str, Any] = {
        "tool": "k6", "source": source, "clients": None if users is None else float(users),
        "loop": "open" if dropped else "",
        "clients_vary": metrics.get("vus", {}).get("min") != users,
        "settings": {"dropped": str(dropped)},
    }  # fmt: skip
    pairs = (("iterations", "iteration_duration", 0.0), ("http_reqs", _REQUESTS, None))
    failed = metrics.get("http_req_failed", {})
    share = failed.get("value", failed.get("rate"))
    levels = {} if users is None else {"clients": int(users)}
    return [
        Result(
            name=counter, view=counter, think_s=think_s, count=int(metrics[counter]["count"]),
            failed=None if share is None or think_s is not None
            else share * metrics[counter]["count"],
            throughput=exact(metrics[counter]["rate"]), levels={"metric": counter, **levels},
            duration_s=_duration(metrics[counter]), **_trend(metrics[trend]), **shared,
        )
        for counter, trend, think_s in pairs
        if metrics.get(counter, {}).get("count") and trend in metrics
    ]  # fmt: skip


def is_text(text: str) -> bool:
    """Return whether a text is the summary of k6 for people."""
    return len(_LINE.findall(text)) >= _FEWEST and "iterations" in text


def read_text(text: str, source: str) -> Sequence[Result]:
    """Return the requests and the iterations of one or more summaries for people."""
    runs: list[dict[str, str]] = [{}]
    for name, value in _LINE.findall(text):
        if name in runs[-1]:
            runs.append({})
        runs[-1][name] = value
    return [one for rows in runs for one in _of_rows(rows, source)]


def _of_rows(rows: Mapping[str, str], source: str) -> Iterator[Result]:
    most = re.search(r"max=(\d+)", rows.get("vus_max", rows.get("vus", "")))
    least = re.search(r"min=(\d+)", rows.get("vus", ""))
    dropped = rows.get("dropped_iterations", "0").split()[0]
    users = float(most[1]) if most else None
    failed = rows.get("http_req_failed", "").split()
    share = Stated.printed(failed[0].rstrip("%"), scale=0.01).value if failed else None
    shared: dict[str, Any] = {
        "tool": "k6", "source": source, "clients": users, "loop": "open" if dropped != "0" else "",
        "clients_vary": least is None or float(least[1]) != users, "settings": {"dropped": dropped},
    }  # fmt: skip
    levels = {} if users is None else {"clients": int(users)}
    for counter, trend in (("iterations", "iteration_duration"), ("http_reqs", _REQUESTS)):
        if counter not in rows or trend not in rows:
            continue
        count, per_s = rows[counter].split()[:2]
        times = {name: go_time(one) for name, one in _TIME.findall(rows[trend])}
        rate = Stated.printed(per_s.removesuffix("/s"))
        is_all = counter == "iterations"
        yield Result(
            name=counter, view=counter, count=int(count), think_s=0.0 if is_all else None,
            throughput=rate, failed=None if is_all or share is None else share * int(count),
            mean=times.get("avg"), low=times.get("min"), high=times.get("max"),
            duration_s=_length(int(count), rate), levels={"metric": counter, **levels},
            percentiles=shares(("50" if name == "med" else name[2:-1], one)
            for name, one in times.items() if name == "med" or name.startswith("p(")),
            **shared,
        )  # fmt: skip


def _length(count: int, rate: Stated) -> Stated | None:
    """Return the time that a count took at a rate; None without one."""
    if rate.value <= 0.0:
        return None
    return Stated(count / rate.value, count / rate.value * (rate.error / rate.value))


def _duration(counter: Mapping[str, Any]) -> Stated | None:
    return exact(counter["count"] / counter["rate"]) if counter.get("rate") else None


def _trend(values: Mapping[str, Any]) -> dict[str, Any]:
    shares = {name[2:-1]: value for name, value in values.items() if name.startswith("p(")}
    percentiles = {float(name) / 100.0: exact(value, scale=1e-3) for name, value in shares.items()}
    if values.get("med") is not None:
        percentiles[0.5] = exact(values["med"], scale=1e-3)
    return {
        "mean": exact(values.get("avg"), scale=1e-3),
        "low": exact(values.get("min"), scale=1e-3),
        "high": exact(values.get("max"), scale=1e-3),
        "percentiles": {share: one for share, one in percentiles.items() if one and 0 < share < 1},
    }


def read_json_lines(text: str, source: str) -> Sequence[Result]:
    """Return the requests of a stream `--out json=FILE`."""
    return [_stream(_json_points(text, source), source)]


def _json_points(text: str, source: str) -> Iterator[tuple[float, float]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if f'"{_REQUESTS}"' not in line or '"Point"' not in line:
            continue
        try:
            point = decode_json(line, f"{source}:{number}", type=dict[str, Any])["data"]
            yield datetime.fromisoformat(point["time"]).timestamp(), point["value"] * 1e-3
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableError(
                f"{source}:{number}: not a point of k6: {error}", cure="give the whole stream"
            ) from error


def read_csv(text: str, source: str) -> Sequence[Result]:
    """Return the requests of a stream `--out csv=FILE`; its times are whole seconds."""
    rows = csv.DictReader(io.StringIO(text))
    found = (row for row in rows if row["metric_name"] == _REQUESTS)
    try:
        points = [(float(row["timestamp"]), float(row["metric_value"]) * 1e-3) for row in found]
    except (TypeError, ValueError) as error:
        raise UnreadableError(
            f"{source}: not a stream of k6: {error}", cure="give the whole stream"
        ) from error
    return [_stream(points, source)]


def _stream(
    points: "Iterator[tuple[float, float]] | list[tuple[float, float]]", source: str
) -> Result:
    table = np.array(list(points), dtype=float).reshape(-1, 2)
    if not table.size:
        raise UnreadableError(
            f"{source}: no response (`{_REQUESTS}`) in the stream",
            cure="give a stream with requests",
        )
    is_coarse = bool(np.all(table[:, 0] == np.floor(table[:, 0])))
    return of_responses(
        table[:, 0], table[:, 1], tick_s=1e-9, is_coarse=is_coarse,
        tool="k6-stream", source=source, name=_REQUESTS,
    )  # fmt: skip


def is_json_lines(lines: Sequence[str]) -> bool:
    """Return whether lines are of `--out json=FILE`."""
    return any('"type":"Point"' in line or '"type":"Metric"' in line for line in lines)


SUMMARY = Format(
    kind="json",
    expected="JSON with `metrics`, among them `iterations`",
    fits=is_summary,
    read=read_summary,
)
TEXT = Format(
    kind="text",
    expected='lines "iterations....: " and the like',
    fits=is_text,
    read=read_text,
)
JSON_LINES = Format(
    kind="lines",
    expected='lines of JSON, with `"type":"Point"`',
    fits=is_json_lines,
    read=read_json_lines,
)
CSV = Format(
    kind="lines",
    expected=f"a header {CSV_HEADER}...",
    fits=lambda lines: lines[0].startswith(CSV_HEADER),
    read=read_csv,
)
