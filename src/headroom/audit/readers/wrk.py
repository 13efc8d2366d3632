"""Text of wrk and wrk2, with the spectrum of HdrHistogram if it is there."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from headroom.audit.readers.fields import UNITS_S, UnreadableError, timed
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated

_PERCENTILE = re.compile(r"^\s*([\d.]+)%\s+([\d.]+(?:us|ms|s|m|h))\s*$", re.MULTILINE)
_SPECTRUM = re.compile(r"^\s*([\d.]+)\s+([01]\.\d+)\s+(\d+)\s+(?:[\d.]+|inf)\s*$", re.MULTILINE)
_TOTAL_COUNT = re.compile(r"Total count\s*=\s*(\d+)")
_ERROR = re.compile(r"(?:Socket errors:|,) (connect|read|write|timeout) (\d+)")
_HDR_BIN = 2e-3
"""Relative width of a bin of HdrHistogram with three digits."""


def is_wrk(text: str) -> bool:
    """Return whether a text has the first line and the table of wrk or wrk2."""
    return bool(re.search(r"^Running .+ test @ ", text, re.MULTILINE)) and "Thread Stats" in text


def read_wrk(text: str, source: str) -> Sequence[Result]:
    """Return the result of a run of wrk or wrk2.

    wrk adds responses that it did not observe, below every long one, so its mean does not fit its
    throughput. wrk2 counts from the time at which a request was due.
    """
    latency = re.search(r"^\s*Latency\s+(\S+)\s+(\S+)\s+(\S+)\s", text, re.MULTILINE)
    load = re.search(r"(\d+) threads and (\d+) connections", text)
    done = re.search(r"^\s*(\d+) requests in ([\d.]+)(us|ms|s|m|h),", text, re.MULTILINE)
    rate = re.search(r"^Requests/sec:\s+([\d.]+)", text, re.MULTILINE)
    if latency is None or load is None or done is None or rate is None:
        raise UnreadableError(
            f"{source}: the text of wrk is incomplete", cure="give the whole output of wrk"
        )
    is_wrk2 = "Thread calibration" in text or "HdrHistogram" in text
    mean, stdev, high = (timed(latency[at]) for at in (1, 2, 3))
    offered = re.search(r"(?:-R|--rate)[ =]?(\d+)", text)
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    errors = {name: int(number) for name, number in _ERROR.findall(text)}
    count = _TOTAL_COUNT.search(text)
    bins = _HDR_BIN if is_wrk2 else 0.0
    return [
        Result(
            tool="wrk2" if is_wrk2 else "wrk", source=source, name=_target(text),
            loop="open" if is_wrk2 else "closed", from_schedule=is_wrk2, fills_in=not is_wrk2,
            clients=float(load[2]), think_s=0.0, count=int(done[1]),
            duration_s=Stated.printed(done[2], scale=UNITS_S[done[3]]),
            failed=float(failed[1]) if failed else 0.0,
            lost=float(sum(errors.values()) - errors.get("connect", 0)),
            refused=float(errors.get("connect", 0)),
            settings={"errors": ", ".join(f"{n} {name}" for name, n in errors.items() if n)},
            throughput=Stated.printed(rate[1]), mean=_wider(mean, bins), stdev=_wider(stdev, bins),
            high=_wider(high, bins), samples=None if count is None else int(count[1]),
            percentiles=dict(_percentiles(text, bins)),
            offered=None if offered is None else float(offered[1]),
            spectrum_s=_spectrum(text), levels={"target": _target(text),
            "connections": int(load[2])},
        )
    ]  # fmt: skip


def _target(text: str) -> str:
    match = re.search(r"test @ (\S+)", text)
    return "" if match is None else match[1]


def _wider(stated: Stated, share: float) -> Stated:
    return Stated(stated.value, stated.error + share * stated.value)


def _percentiles(text: str, bins: float) -> Iterator[tuple[float, Stated]]:
    for percent, time in _PERCENTILE.findall(text):
        if 0.0 < float(percent) < 100.0:  # noqa: PLR2004 - per cent
            yield float(percent) / 100.0, _wider(timed(time), bins)


def _spectrum(text: str) -> tuple[float, float] | None:
    """Return bounds of the mean (s) by the counts of the spectrum; None if it is incomplete."""
    rows = [(float(value), int(count)) for value, _, count in _SPECTRUM.findall(text)]
    total = _TOTAL_COUNT.search(text)
    if not rows or total is None or rows[-1][1] != int(total[1]):
        return None
    table = np.array([(0.0, 0), *rows])
    parts = np.diff(table[:, 1]) / table[-1, 1]
    low, high = float(parts @ table[:-1, 0]), float(parts @ table[1:, 0])
    return low * (1.0 - _HDR_BIN) * 1e-3, high * (1.0 + _HDR_BIN) * 1e-3


FORMAT = Format(
    kind="text",
    expected='lines "Running ... test @ ..." and "Thread Stats"',
    fits=is_wrk,
    start=re.compile(r"^\s*\**Running .+ test @ ", re.MULTILINE),
    header=re.compile(r"\bwrk2? +-"),
    read=read_wrk,
)
