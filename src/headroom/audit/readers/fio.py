"""Files of `fio --output-format=json` and `json+`."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from headroom.audit.readers.fields import at, exact
from headroom.audit.readers.format import Format
from headroom.audit.readers.parts import Part
from headroom.audit.readers.tidy import level
from headroom.audit.result import Result, Stated

DIRECTIONS = ("read", "write", "trim")
BIN = 1 / 64
"""Relative width of a bin of fio's histogram: 64 bins for each power of two."""
SYNCHRONOUS = {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"}
"""Engines with one request in flight for each job, whatever `iodepth` says."""
_NS = 1e-9
_OPTIONS = ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "size")


def is_fio(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of fio."""
    return isinstance(document, dict) and "fio version" in document and "jobs" in document


def read_fio(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return one result for each job and direction that has completed requests, or failed."""
    shared = document.get("global options") or {}
    rows = Counter(_key(job) for job in document["jobs"])
    version = str(document["fio version"]).removeprefix("fio-")
    taken = document.get("timestamp")
    found = []
    for job in document["jobs"]:
        options = {**shared, **(job.get("job options") or {})}
        named = [one for one in DIRECTIONS if (job.get(one) or {}).get("total_ios")]
        for direction in named:
            one = _result(job, options, direction, source, rows[_key(job)])
            found.append(replace(one, version=version, taken=at(taken), **_errors(job)))
        if not named and job.get("error"):
            name = job["jobname"]
            found.append(Result(tool="fio", source=source, name=name, **_errors(job)))
    return found


def finished(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield parts without documents that `--status-interval` wrote of runs before their ends."""
    for one, following in zip_longest(parts, parts[1:]):
        if following is None or not _continues(one.document, following.document):
            yield one


def _continues(before: Any, after: Any) -> bool:  # noqa: ANN401 - JSON
    """Return whether a document of fio is of the same run as the one before, later in it."""
    if not is_fio(before) or not is_fio(after):
        return False
    both = list(zip(before["jobs"], after["jobs"], strict=False))
    is_same = len(before["jobs"]) == len(after["jobs"]) and all(
        one["jobname"] == other["jobname"] and one.get("job options") == other.get("job options")
        for one, other in both
    )
    grown = [
        (other[way]["runtime"] - one[way]["runtime"], other[way]["io_bytes"] - one[way]["io_bytes"])
        for one, other in both
        for way in DIRECTIONS
        if way in one and way in other
    ]
    return is_same and all(min(one) >= 0 for one in grown) and any(one[0] > 0 for one in grown)


def _errors(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job says of errors: of itself, and of single requests."""
    number, total = int(job.get("error") or 0), int(job.get("total_err") or 0)
    said = f"the job ended with error {number} ({os.strerror(number)})" if number else ""
    return {"error": said, "lost": float(total), "failed": 0.0}


def _key(job: Mapping[str, Any]) -> tuple[Any, Any]:
    return job.get("groupid"), job["jobname"]


def _result(
    job: Mapping[str, Any], options: Mapping[str, str], direction: str, source: str, rows: int
) -> Result:
    # Without group_reporting each of `numjobs` jobs has a row of its own.
    part = job[direction]
    # fio 2 writes microseconds.
    unit_s = 1e-9 if "clat_ns" in part else 1e-6
    times = part.get("lat_ns") or part.get("lat") or {}
    # Percentiles are of completion latency; a mixed set of bounds would contradict itself.
    completion = part.get("clat_ns") or part.get("clat") or {}
    is_async = options.get("ioengine", "psync") not in SYNCHRONOUS
    jobs = _number(options.get("numjobs"), 1.0) if rows == 1 else 1.0
    depth = _number(options.get("iodepth"), 1.0) if is_async else 1.0
    directions = sum(bool((job.get(one) or {}).get("total_ios")) for one in DIRECTIONS)
    levels = {name: level(options[name]) for name in _OPTIONS if name in options}
    settings = {**options, "is_async": str(is_async), "run_s": str(part["runtime"] / 1e3)}
    return Result(
        tool="fio", source=source, name=f"{job['jobname']} {direction}",
        loop="open" if "rate_iops" in options else "closed", think_s=None if "thinktime" in options
        else 0.0, clients=depth * jobs, clients_vary=directions > 1,
        residence=exact(times.get("mean"), scale=unit_s), duration_s=Stated(part["runtime"] / 1e3,
        0.002),
        count=int(part["total_ios"]), throughput=exact(part.get("iops")),
        samples=int(completion.get("N") or part["total_ios"]), mean=exact(completion.get("mean"),
        scale=unit_s),
        stdev=exact(completion.get("stddev"), scale=unit_s),
        low=_cut(completion.get("min"), unit_s), high=_cut(completion.get("max"), unit_s),
        percentiles=dict(_percentiles(completion, unit_s)),
        busy=Stated((job.get("usr_cpu", 0.0) + job.get("sys_cpu", 0.0)) / 100.0, 0.02), cpus=1.0,
        settings=settings, levels={"job": job["jobname"], "direction": direction, **levels},
    )  # fmt: skip


def _cut(value: float | None, unit_s: float) -> Stated | None:
    """Return a time that was cut to whole units."""
    return None if value is None else Stated((value + 0.5) * unit_s, 0.5 * unit_s)


def _percentiles(completion: Mapping[str, Any], unit_s: float) -> Iterator[tuple[float, Stated]]:
    for name, value in (completion.get("percentile") or {}).items():
        if 0.0 < float(name) < 100.0:  # noqa: PLR2004 - per cent
            error_s = max(value * BIN, 1.0 if unit_s > _NS else 0.0) * unit_s
            yield float(name) / 100.0, Stated(value * unit_s, error_s)


def _number(text: str | None, default: float) -> float:
    try:
        return default if text is None else float(text)
    except ValueError:
        return default


FORMAT = Format(
    kind="json", expected="JSON with `fio version` and `jobs`", fits=is_fio, read=read_fio
)
