"""What fio prints for people, and the lines of `--minimal`."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from headroom.audit.readers.fio import BIN, DIRECTIONS, SYNCHRONOUS
from headroom.audit.readers.format import Format
from headroom.audit.readers.text import with_suffix
from headroom.audit.readers.tidy import level
from headroom.audit.result import Result, Stated

_UNITS_S = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1.0}
_JOB = re.compile(
    r"^[ \t]*(?P<name>\S.*?): \(groupid=\d+, jobs=(?P<jobs>\d+)\): err=\s*(?P<error>\d+)",
    re.MULTILINE,
)
_DEFINED = re.compile(
    r"^[ \t]*(?P<name>\S.*?): \(g=\d+\): rw=(?P<rw>\w+),.*?bs=(?:\(R\) )?(?P<bs>[\w.-]+).*?"
    r"ioengine=(?P<ioengine>\w+), iodepth=(?P<iodepth>\d+)",
    re.MULTILINE,
)
_WAY = re.compile(r"^\s*(read|write|trim)\s*: *(.*)$", re.MULTILINE | re.IGNORECASE)
_TIMES = re.compile(
    r"^\s*(?P<what>slat|clat|lat) \((?P<unit>\w+)\): min=\s*(?P<min>[\d.]+[kKM]?), "
    r"max=\s*(?P<max>[\d.]+[kKM]?), avg=\s*(?P<avg>[\d.]+), stdev=\s*(?P<stdev>[\d.]+)",
    re.MULTILINE,
)
_PERCENTILES = re.compile(r"clat percentiles \((\w+)\):\s*((?:\s*\|.*\n?)+)")
_CELL = re.compile(r"([\d.]+)th=\[\s*([\d.]+)\]")
_ISSUED = re.compile(r"issued\s+(?:rwts|rwt)?\s*: total=(?:r=)?(\d+)(?:/w=|,)(\d+)(?:/d=|,)(\d+)")
_UNSAID = "not printed"
_SHORTEST_TERSE, _GROUP = 87, 41
"""Fields of a line of version 3, and of one direction in it."""


def is_fio_text(text: str) -> bool:
    """Return whether a text has a job of fio."""
    return bool(_JOB.search(text))


def read_fio_text(text: str, source: str) -> Sequence[Result]:
    """Return one result for each job and direction, of one run or several."""
    defined = list(_DEFINED.finditer(text))
    version = re.search(r"^fio-(\S+)", text, re.MULTILINE)
    found: list[Result] = []
    jobs = list(_JOB.finditer(text))
    for job, end in zip(jobs, [*(one.start() for one in jobs[1:]), len(text)], strict=True):
        options: dict[str, str] = {}
        for match in defined:
            if match["name"] == job["name"] and match.start() < job.start():
                options = match.groupdict()
        body = text[job.end() : end].partition("Run status group")[0]
        found += _of_job(job, body, options, source, version[1] if version else "")
    return found


def _of_job(
    job: re.Match[str], body: str, options: Mapping[str, str], source: str, version: str
) -> Iterator[Result]:
    number = int(job["error"])
    error = f"the job ended with error {number} ({os.strerror(number)})" if number else ""
    is_async = options.get("ioengine", "psync") not in SYNCHRONOUS
    depth = float(options.get("iodepth", 1)) if is_async else 1.0
    ways = list(_WAY.finditer(body))
    issued = _ISSUED.search(body)
    levels = {name: level(value) for name, value in options.items() if name != "name"}
    for way, end in zip(ways, [*(one.start() for one in ways[1:]), len(body)], strict=True):
        direction, part = way[1].lower(), body[way.start() : end]
        lasted = re.search(r"(?:/|runt=\s*)(\d+)msec", way[2])
        rate = re.search(r"(?i)iops=\s*([\d.]+[kKM]?)", way[2])
        times = {one["what"]: one for one in _TIMES.finditer(part)}
        completion, whole = times.get("clat"), times.get("lat")
        yield Result(
            tool="fio", version=version, source=source, name=f"{job['name']} {direction}",
            loop="closed", think_s=0.0, clients=depth * float(job["jobs"]) if options else None,
            clients_vary=len(ways) > 1, residence=_time(whole, "avg") if whole else None,
            duration_s=Stated(float(lasted[1]) * 1e-3, 0.002) if lasted else None,
            throughput=with_suffix(rate[1]) if rate else None, failed=0.0, error=error,
            count=int(issued[1 + DIRECTIONS.index(direction)]) if issued else None,
            mean=_time(completion, "avg") if completion else None,
            stdev=_time(completion, "stdev") if completion else None,
            low=_time(completion, "min") if completion else None,
            high=_time(completion, "max") if completion else None,
            percentiles=dict(_percentiles(part)),
            settings={**options, "direct": _UNSAID, "is_async": str(is_async),
            "run_s": str(float(lasted[1]) / 1e3) if lasted else "0"},
            levels={"job": job["name"], "direction": direction, **levels},
        )  # fmt: skip
    if error and not ways:
        yield Result(tool="fio", source=source, name=job["name"], error=error)


def _time(row: re.Match[str], name: str) -> Stated:
    """Return a time of a row; extremes are whole numbers that fio cuts, or rounds to thousands."""
    scale = _UNITS_S[row["unit"]]
    one = with_suffix(row[name])
    return Stated(one.value * scale, (2.0 if name in {"min", "max"} else 1.0) * one.error * scale)


def _percentiles(part: str) -> Iterator[tuple[float, Stated]]:
    if match := _PERCENTILES.search(part):
        scale = _UNITS_S[match[1]]
        for percent, text in _CELL.findall(match[2]):
            if 0.0 < float(percent) < 100.0:  # noqa: PLR2004 - per cent
                one = Stated.printed(text, scale=scale)
                yield (
                    round(float(percent) / 100.0, 9),
                    Stated(one.value, one.error + scale + BIN * one.value),
                )


def is_terse(lines: Sequence[str]) -> bool:
    """Return whether lines are of `fio --minimal`, version 3."""
    rows = [line.split(";") for line in lines]
    return all(
        len(row) >= _SHORTEST_TERSE and row[0] == "3" and row[1].startswith("fio-") for row in rows
    )


def read_terse(text: str, source: str) -> Sequence[Result]:
    """Return one result for each job and direction that has completed requests."""
    rows = [line.split(";") for line in text.splitlines() if line.strip()]
    return [
        _of_fields(row, row[5 + place * _GROUP :], direction, source)
        for row in rows
        for place, direction in enumerate(DIRECTIONS[:2])
        if float(row[7 + place * _GROUP]) > 0.0
    ]


def _of_fields(row: Sequence[str], part: Sequence[str], direction: str, source: str) -> Result:
    number = int(row[4])
    low, high, mean, stdev = (Stated(float(one) * 1e-6, 1e-6) for one in part[8:12])
    percentiles = {}
    for cell in part[12:32]:
        percent, _, text = cell.partition("%=")
        if 0.0 < float(percent) < 100.0 and float(text) > 0.0:  # noqa: PLR2004 - per cent
            value = float(text) * 1e-6
            percentiles[round(float(percent) / 100.0, 9)] = Stated(value, 1e-6 + BIN * value)
    return Result(
        tool="fio", version=row[1].removeprefix("fio-"), source=source,
        name=f"{row[2]} {direction}", duration_s=Stated(float(part[3]) / 1e3, 0.002),
        throughput=Stated(float(part[2]) + 0.5, 0.5 + 0.5), mean=mean, stdev=stdev, low=low,
        high=high,
        residence=Stated(float(part[34]) * 1e-6, 1e-6), percentiles=percentiles, failed=0.0,
        error=f"the job ended with error {number} ({os.strerror(number)})" if number else "",
        settings={"direct": _UNSAID, "is_async": "True", "run_s": str(float(part[3]) / 1e3)},
        levels={"job": row[2], "direction": direction},
    )  # fmt: skip


TEXT = Format(
    kind="text",
    expected='a line "...: (groupid=0, jobs=1): err= 0"',
    fits=is_fio_text,
    read=read_fio_text,
)
TERSE = Format(kind="lines", expected="lines of `fio --minimal`", fits=is_terse, read=read_terse)
