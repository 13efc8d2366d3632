"""Benchmarks of functions: google-benchmark, pytest-benchmark, JMH, criterion and `go test -bench`.

Repetitions are runs, in their order; their times are those of one operation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headroom.audit.readers.fields import exact
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "ps": 1e-12, "min": 60.0}
_GO = re.compile(r"^\s*(Benchmark\S*)\s+(\d+)\s+([\d.]+) ns/op", re.MULTILINE)
_CRITERION = re.compile(
    r"^(?P<name>\S[^\n]*?)?\s*\n?\s*time:\s+\[([\d.]+) (\w+) ([\d.]+) (\w+) ([\d.]+) (\w+)\]",
    re.MULTILINE,
)


def is_google(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of google-benchmark."""
    return isinstance(document, dict) and {"context", "benchmarks"} <= document.keys()


def read_google(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return one result for each benchmark, with its repetitions as runs."""
    context = document["context"]
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for one in document["benchmarks"]:
        rows.setdefault(one.get("run_name", one["name"]), []).append(one)
    return [_google(name, found, context, source) for name, found in rows.items()]


def _google(
    name: str, rows: Sequence[Mapping[str, Any]], context: Mapping[str, Any], source: str
) -> Result:
    runs = [one for one in rows if one.get("run_type", "iteration") == "iteration"]
    bad = [str(one.get("error_message", "no message")) for one in runs if one.get("error_occurred")]
    good = [one for one in runs if not one.get("error_occurred")]
    times = [float(one["real_time"]) * _UNITS_S[one.get("time_unit", "ns")] for one in good]
    stated = {
        one["aggregate_name"]: exact(one["real_time"], scale=_UNITS_S[one.get("time_unit", "ns")])
        for one in rows
        if one.get("run_type") == "aggregate" and one.get("aggregate_name") != "cv"
    }
    median = stated.get("median")
    threads = float(rows[0].get("threads", 1))
    busy = None
    if good and times[0] > 0.0:
        shares = [float(one["cpu_time"]) / float(one["real_time"]) for one in good]
        busy = Stated(threads * float(np.mean(shares)), 0.02 * threads)
    return Result(
        tool="google-benchmark", source=source, name=name, count=len(times), clients=threads,
        taken=str(context.get("date", "")), mean=stated.get("mean"), stdev=stated.get("stddev"),
        percentiles={0.5: median} if median else {}, failed=float(len(bad)),
        error=f"the benchmark reports an error: {bad[0]}" if bad and not good else "",
        runs_s=np.array(times), busy=busy, cpus=_number(context.get("num_cpus")),
        levels={"benchmark": name},
    )  # fmt: skip


def _number(value: Any) -> float | None:  # noqa: ANN401 - of JSON
    return None if value is None else float(value)


def is_pytest(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of pytest-benchmark."""
    return isinstance(document, dict) and {"machine_info", "benchmarks"} <= document.keys()


def read_pytest(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return one result for each benchmark, with its rounds as runs if the file has them."""
    found = []
    for one in document["benchmarks"]:
        stats = one["stats"]
        median = exact(stats.get("median"))
        found.append(
            Result(
                tool="pytest-benchmark", source=source, name=one["name"], failed=0.0, clients=1.0,
                taken=str(document.get("datetime", "")), count=int(stats["rounds"]),
                mean=exact(stats["mean"]), stdev=exact(stats.get("stddev")),
                low=exact(stats["min"]), high=exact(stats["max"]),
                percentiles={0.5: median} if median else {},
                runs_s=np.array(stats.get("data") or [], dtype=float),
                levels={"benchmark": one["fullname"], **_plain(one.get("params") or {})},
            )
        )  # fmt: skip
    return found


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in params.items() if isinstance(one, bool | int | float | str)}


def is_jmh(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of JMH."""
    return (
        isinstance(document, list)
        and bool(document)
        and {"benchmark", "primaryMetric", "mode"} <= document[0].keys()
    )


def read_jmh(document: Sequence[Mapping[str, Any]], source: str) -> Sequence[Result]:
    """Return one result for each benchmark: times of an operation, or throughput."""
    return [_jmh(one, source) for one in document]


def _jmh(one: Mapping[str, Any], source: str) -> Result:
    metric, unit = one["primaryMetric"], one["primaryMetric"]["scoreUnit"]
    values = np.array([v for fork in metric.get("rawData") or [] for v in fork], dtype=float)
    ranked = {float(name) / 100.0: exact(value)
              for name, value in (metric.get("scorePercentiles") or {}).items()}  # fmt: skip
    is_rate = unit.startswith("ops/")
    scale = 1.0 / _UNITS_S[unit[4:]] if is_rate else _UNITS_S[unit.partition("/")[0]]
    score = exact(metric["score"], scale=scale)
    name = one["benchmark"].rpartition(".")[2]
    shared: dict[str, Any] = {
        "tool": "jmh", "version": str(one.get("jmhVersion", "")), "source": source, "name": name,
        "clients": float(one.get("threads", 1)), "failed": None,
        "levels": {"benchmark": one["benchmark"], **(one.get("params") or {})},
    }  # fmt: skip
    if is_rate:
        return Result(throughput=score, rates=values * scale, **shared)
    return Result(
        mean=score, runs_s=values * scale if one["mode"] != "sample" else np.empty(0),
        percentiles={share: Stated(v.value * scale, v.error * scale) for share, v in ranked.items()
        if v is not None and 0.0 < share < 1.0} if one["mode"] == "sample" else {}, **shared,
    )  # fmt: skip


def is_go(text: str) -> bool:
    """Return whether a text has benchmarks of `go test -bench`."""
    return bool(_GO.search(text))


def read_go(text: str, source: str) -> Sequence[Result]:
    """Return one result for each benchmark, with the times of `-count` as runs."""
    rows: dict[str, list[tuple[int, Stated]]] = {}
    for name, times, nanoseconds in _GO.findall(text):
        rows.setdefault(name, []).append((int(times), Stated.printed(nanoseconds, scale=1e-9)))
    failed = re.search(r"^\s*--- FAIL: (\S+)|^FAIL\b.*", text, re.MULTILINE)
    return [
        Result(
            tool="go", source=source, name=name, count=sum(count for count, _ in found),
            mean=found[0][1] if len(found) == 1 else None, failed=0.0,
            runs_s=np.array([one.value for _, one in found]) if len(found) > 1 else np.empty(0),
            error=f"`go test` failed: {failed[0].strip()}" if failed else "",
            levels={"benchmark": name},
        )
        for name, found in rows.items()
    ]  # fmt: skip


def is_criterion(text: str) -> bool:
    """Return whether a text has lines of criterion."""
    return bool(_CRITERION.search(text))


def read_criterion(text: str, source: str) -> Sequence[Result]:
    """Return one result for each benchmark: its typical time of an operation."""
    return list(_criterion(text, source))


def _criterion(text: str, source: str) -> Iterator[Result]:
    for match in _CRITERION.finditer(text):
        name = (match["name"] or "").strip() or source
        mean = Stated.printed(match[4], scale=_UNITS_S[match[5]])
        yield Result(
            tool="criterion", source=source, name=name, mean=mean, failed=None,
            levels={"benchmark": name},
        )  # fmt: skip


def is_estimates(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is `estimates.json` of criterion."""
    return (
        isinstance(document, dict)
        and {"mean", "median", "std_dev"} <= document.keys()
        and ("point_estimate" in document["mean"])
    )


def read_estimates(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return the result of a benchmark, which the file does not name."""
    mean, stdev, median = (
        exact(document[name]["point_estimate"], scale=1e-9)
        for name in ("mean", "std_dev", "median")
    )
    return [
        Result(
            tool="criterion", source=source, name=source, mean=mean, stdev=stdev, failed=None,
            percentiles={0.5: median} if median else {},
        )
    ]  # fmt: skip


GOOGLE = Format(
    kind="json", expected="JSON with `context` and `benchmarks`", fits=is_google, read=read_google
)
PYTEST = Format(
    kind="json",
    expected="JSON with `machine_info` and `benchmarks`",
    fits=is_pytest,
    read=read_pytest,
)
JMH = Format(
    kind="json",
    expected="a JSON list with `benchmark` and `primaryMetric`",
    fits=is_jmh,
    read=read_jmh,
)
GO = Format(kind="text", expected="lines with `ns/op`", fits=is_go, read=read_go)
CRITERION = Format(
    kind="text", expected="lines `time: [low typical high]`", fits=is_criterion, read=read_criterion
)
ESTIMATES = Format(
    kind="json",
    expected="JSON with `mean`, `median` and `std_dev`, each an estimate",
    fits=is_estimates,
    read=read_estimates,
)
