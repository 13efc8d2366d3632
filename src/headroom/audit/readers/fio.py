"""Files of `fio --output-format=json` and `json+`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headroom.audit.readers.fields import exact
from headroom.audit.readers.format import Format
from headroom.audit.readers.tidy import level
from headroom.audit.result import Result, Stated

DIRECTIONS = ("read", "write", "trim")
BIN = 1 / 64
"""Relative width of a bin of fio's histogram: 64 bins for each power of two."""
SYNCHRONOUS = {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"}
"""Engines with one request in flight for each job, whatever `iodepth` says."""
_OPTIONS = ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "size")


def is_fio(document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return whether a JSON document is one of fio."""
    return isinstance(document, dict) and "fio version" in document and "jobs" in document


def read_fio(document: Mapping[str, Any], source: str) -> Sequence[Result]:
    """Return one result for each job and direction that has completed requests."""
    shared = document.get("global options") or {}
    rows = Counter(_key(job) for job in document["jobs"])
    version = str(document["fio version"]).removeprefix("fio-")
    return [
        replace(
            _result(
                job, {**shared, **(job.get("job options") or {})}, direction, source,
                rows[_key(job)],
            ), version=version,
        )
        for job in document["jobs"]
        for direction in DIRECTIONS
        if (job.get(direction) or {}).get("total_ios")
    ]  # fmt: skip


def _key(job: Mapping[str, Any]) -> tuple[Any, Any]:
    return job.get("groupid"), job["jobname"]


def _result(
    job: Mapping[str, Any], options: Mapping[str, str], direction: str, source: str, rows: int
) -> Result:
    # Without group_reporting each of `numjobs` jobs has a row of its own.
    part = job[direction]
    times = part.get("lat_ns") or {}
    # Percentiles are of completion latency; a mixed set of bounds would contradict itself.
    completion = part.get("clat_ns") or {}
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
        residence=exact(times.get("mean"), scale=1e-9), duration_s=Stated(part["runtime"] / 1e3,
        0.002),
        count=int(part["total_ios"]), throughput=exact(part.get("iops")),
        samples=int(completion.get("N") or part["total_ios"]), mean=exact(completion.get("mean"),
        scale=1e-9),
        stdev=exact(completion.get("stddev"), scale=1e-9), low=exact(completion.get("min"),
        scale=1e-9),
        high=exact(completion.get("max"), scale=1e-9), percentiles=dict(_percentiles(completion)),
        busy=Stated((job.get("usr_cpu", 0.0) + job.get("sys_cpu", 0.0)) / 100.0, 0.02), cpus=1.0,
        settings=settings, levels={"job": job["jobname"], "direction": direction, **levels},
    )  # fmt: skip


def _percentiles(completion: Mapping[str, Any]) -> Iterator[tuple[float, Stated]]:
    for name, value in (completion.get("percentile") or {}).items():
        if 0.0 < float(name) < 100.0:  # noqa: PLR2004 - per cent
            yield float(name) / 100.0, Stated(value * 1e-9, value * 1e-9 * BIN)


def _number(text: str | None, default: float) -> float:
    try:
        return default if text is None else float(text)
    except ValueError:
        return default


FORMAT = Format(
    kind="json", expected="JSON with `fio version` and `jobs`", fits=is_fio, read=read_fio
)
