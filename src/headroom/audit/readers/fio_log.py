"""Logs of fio 3: `write_lat_log`, `write_iops_log`, `write_bw_log` and `write_hist_log`.

A log is a table without a header, whose file name says what it holds. Rows of `log_avg_msec` have
the block size 0: they are means of windows, and a window without a completion has no row.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from headroom.audit.readers.fields import UnreadableError, of_responses
from headroom.audit.readers.fio import DIRECTIONS
from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated
from headroom.experiment.protocol.run import FloatArray

_VALUES = re.compile(r"\d+, \d+, [012], \d+(, \w+){0,2}")
_BINS = re.compile(r"\d+, [012], \d+(, \d+){29,}")
_KIND = re.compile(r"_(lat|clat|slat|iops|bw|clat_hist)(\.\d+)?\.log$")
_MILLISECOND_S, _NANOSECOND_S = 1e-3, 1e-9
_GROUPS, _FINE_BINS = 29, 64
"""Powers of two of fio's histogram, and bins of each before `log_hist_coarseness`."""
_BYTES = 1024.0
"""A bandwidth is logged in KiB/s."""
_SHARES = (0.5, 0.9, 0.95, 0.99)
_MIN_BEYOND = 5


def is_fio_log(lines: Sequence[str]) -> bool:
    """Return whether lines are of a log of fio.

    Examples
    --------
    >>> is_fio_log(["0, 246426, 0, 4096, 0"]), is_fio_log(["1,2,0,4096"])
    (True, False)
    """
    return bool(lines) and any(
        all(form.fullmatch(line.strip()) for line in lines) for form in (_VALUES, _BINS)
    )


def read_fio_log(text: str, source: str) -> Sequence[Result]:
    """Return a result for each direction of a log.

    Raises
    ------
    UnreadableError
        A row is incomplete, or the name of a file of means does not say what they are of.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    form = _BINS if _BINS.fullmatch(lines[0]) else _VALUES
    if not all(form.fullmatch(line) for line in lines):
        raise UnreadableError(
            f"{source}: a row of fio's log is incomplete", cure="give the log as fio wrote it"
        )
    at = 1 if form is _BINS else 2
    width = None if form is _BINS else 4
    table = np.array([line.split(", ")[:width] for line in lines], dtype=np.float64)
    read = _bins if form is _BINS else _reader(table, source)
    kind = _KIND.search(source)
    results = []
    for place, direction in enumerate(DIRECTIONS):
        rows = table[table[:, at] == place]
        if rows.size:
            result = replace(read(rows), source=source, name=f"{source} {direction}")
            levels = {"direction": direction, "log": kind[1] if kind else "lat"}
            results.append(replace(result, levels=levels))
    return results


def _reader(table: FloatArray, source: str) -> Callable[[FloatArray], Result]:
    kind = _KIND.search(PurePath(source).name)
    if kind is not None and kind[1] in {"iops", "bw"}:
        return _rates if kind[1] == "iops" else _bandwidth
    if np.any(table[:, 3]):
        return _responses
    if kind is None:
        raise UnreadableError(
            f"{source}: means of windows, but of what?",
            cure="keep the ending of fio's name: _lat.1.log, _iops.1.log, _bw.1.log",
        )
    return _means


def _responses(rows: FloatArray) -> Result:
    """Return the result of single requests: end (ms), response time (ns)."""
    ends_s, response_s = rows[:, 0] * _MILLISECOND_S, rows[:, 1] * _NANOSECOND_S
    return of_responses(
        ends_s, response_s, tick_s=_NANOSECOND_S, tool="fio-log", source="", name=""
    )


def _means(rows: FloatArray) -> Result:
    """Return the course of mean response times; without their numbers, no mean of all."""
    return _course(rows[:, 0], responses_s=rows[:, 1] * _NANOSECOND_S)


def _rates(rows: FloatArray) -> Result:
    rates = _on_grid(rows[:, 0], rows[:, 1])
    mean = Stated(float(rates.mean()), float(rates.max()) / rates.size)
    return replace(_course(rows[:, 0], rates=rates), throughput=mean)


def _bandwidth(rows: FloatArray) -> Result:
    return _course(rows[:, 0], rates=_on_grid(rows[:, 0], rows[:, 1] * _BYTES))


def _course(ends_ms: FloatArray, **series: Any) -> Result:  # noqa: ANN401 - fields of a result
    ends_s = np.unique(ends_ms) * _MILLISECOND_S
    duration = Stated(float(ends_s[-1]), _MILLISECOND_S)
    return Result(
        tool="fio-log", source="", name="", duration_s=duration, windows_s=ends_s, **series
    )


def _window_ms(ends_ms: FloatArray) -> float:
    ends = np.unique(ends_ms)
    return float(np.median(np.diff(ends))) if ends.size > 1 else float(ends[0])


def _on_grid(ends_ms: FloatArray, values: FloatArray) -> FloatArray:
    """Return a value for each window, 0 for one without a row."""
    places = np.rint(ends_ms / max(_window_ms(ends_ms), 1.0)).astype(int)
    places -= places.min()
    counts = np.bincount(places)
    return np.bincount(places, weights=values) / np.maximum(counts, 1)


def _bins(rows: FloatArray) -> Result:
    """Return the result of a histogram for each window: end (ms), direction, block size, counts."""
    counts, ends_ms = rows[:, 3:], rows[:, 0]
    sums = counts.sum(axis=1)
    total = counts.sum(axis=0)
    low, high = _bounds_s(total.size)
    n = int(total.sum())
    if not n:
        return _course(ends_ms)
    mean = Stated(float(total @ (low + high)) / (2 * n), float(total @ (high - low)) / (2 * n))
    ranks = np.cumsum(total)
    shares = [share for share in _SHARES if n * (1.0 - share) >= _MIN_BEYOND]
    bins = {share: int(np.searchsorted(ranks, share * n)) for share in shares}
    rates = _on_grid(ends_ms, sums) / (_window_ms(ends_ms) * _MILLISECOND_S)
    full = _course(ends_ms[sums > 0], rates=rates)
    used, span_s = np.flatnonzero(total), float(ends_ms.max()) * _MILLISECOND_S
    return replace(
        full, count=n, throughput=Stated(n / span_s, n * _MILLISECOND_S / span_s**2), mean=mean,
        low=_between(low, high, used[0]),
        high=_between(low, high, used[-1]),
        percentiles={share: _between(low, high, place) for share, place in bins.items()},
    )  # fmt: skip


def _between(low: FloatArray, high: FloatArray, place: int) -> Stated:
    return Stated(float(low[place] + high[place]) / 2.0, float(high[place] - low[place]) / 2.0)


def _bounds_s(count: int) -> tuple[FloatArray, FloatArray]:
    """Return the bounds (s) of the bins of a histogram with `count` of them.

    The first 2 x 64 bins are 1 ns wide, and twice as wide in each group of 64 after them.
    """
    edges = np.arange(count + 1) * (_GROUPS * _FINE_BINS // count)
    groups = np.maximum(edges // _FINE_BINS - 1, 0)
    bounds = np.where(edges < _FINE_BINS, edges, (_FINE_BINS + edges % _FINE_BINS) * 2.0**groups)
    return bounds[:-1] * _NANOSECOND_S, bounds[1:] * _NANOSECOND_S


FORMAT = Format(
    kind="lines",
    expected="rows of integers, separated by a comma and a blank",
    fits=is_fio_log,
    read=read_fio_log,
)
