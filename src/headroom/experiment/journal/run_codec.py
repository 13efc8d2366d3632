"""Exact encoding of a `Run` as bytes: the journal stores it and workers send it.

Layout: docs/background/formats.md. Words are combined with their predecessors and transposed before
compression, because neighbours in a series share their sign, exponent and first digits. All steps
are reversible bit by bit. The same run always gives the same bytes.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.run import (
    Histogram,
    Intervals,
    ResourceTable,
    Run,
    SegmentTotals,
    Series,
    TimeSamples,
)
from headroom.input_file import unpack

_LEVEL = 6
_DTYPES = {"f": np.dtype("<f8"), "i": np.dtype("<i8")}
_WORD_BYTES = 8
_DIGITS = (0, 9, 12, 15)
"""Decimals that are tried: counts, and the ticks of models in seconds, milli- and microseconds."""
_MOST_WHOLE = 2.0**53
"""Whole numbers below it are exact as floats."""


_DAMAGE = (
    zlib.error, msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError,
    ArithmeticError, RecursionError,
)  # fmt: skip
"""Errors of bytes that are not a run; after the checksum, only of forged ones."""


class UnreadableRunError(ValueError):
    """The bytes are not a run: damaged, or written by something else."""


def encode_run(run: Run) -> bytes:
    """Return the run as bytes; the same run always gives the same bytes.

    Examples
    --------
    >>> decode_run(encode_run(Run(values={"wall_s": 0.1}))).values["wall_s"]
    0.1
    """
    fields = {
        "values": _floats(run.values),
        "series": [_pack_series(series) for series in run.series],
        "histograms": [_pack_histogram(histogram) for histogram in run.histograms],
        "snapshot_times_s": _pack(run.snapshot_times_s),
        "resources": [_pack_table(table) for table in run.resources],
        "counters": _floats(run.counters),
        "faults": list(run.faults),
        "remarks": list(run.remarks),
        "notes": list(run.notes),
        "holds": {pool: list(stations) for pool, stations in run.holds.items()},
        "nested": {pool: list(pools) for pool, pools in run.nested.items()},
        "blockers": {name: list(stations) for name, stations in run.blockers.items()},
        "unawaited": {kind: list(names) for kind, names in run.unawaited.items()},
        "overloads": _floats(run.overloads),
        "meanless": list(run.meanless),
        "offered": _floats(run.offered),
        "observed": _floats(run.observed),
        "artefacts": [[one.name, one.kind, one.content] for one in run.artefacts],
        "samples": _pack_samples(run.samples),
        "intervals": _pack_intervals(run.intervals),
        "ends_because": run.ends_because,
    }
    used = {name: value for name, value in fields.items() if value}
    return zlib.compress(msgspec.msgpack.encode(used), _LEVEL)


def decode_run(encoded: bytes) -> Run:
    """Return the run that `encode_run` packed.

    Raises
    ------
    UnreadableRunError
        The bytes are damaged.
    """
    try:
        return _unpack_run(msgspec.msgpack.decode(unpack(encoded), type=dict[str, Any]))
    except _DAMAGE as error:
        raise UnreadableRunError(str(error)) from error


def _unpack_run(fields: dict[str, Any]) -> Run:
    return Run(
        values=fields.get("values", {}),
        series=tuple(_unpack_series(packed) for packed in fields.get("series", [])),
        histograms=tuple(_unpack_histogram(packed) for packed in fields.get("histograms", [])),
        snapshot_times_s=_unpack(fields["snapshot_times_s"]),
        resources=tuple(_unpack_table(packed) for packed in fields.get("resources", [])),
        counters=fields.get("counters", {}),
        faults=tuple(fields.get("faults", [])),
        remarks=tuple(fields.get("remarks", [])),
        notes=tuple(fields.get("notes", [])),
        holds={pool: tuple(names) for pool, names in fields.get("holds", {}).items()},
        nested={pool: tuple(names) for pool, names in fields.get("nested", {}).items()},
        blockers={name: tuple(names) for name, names in fields.get("blockers", {}).items()},
        unawaited={kind: tuple(names) for kind, names in fields.get("unawaited", {}).items()},
        overloads=fields.get("overloads", {}),
        meanless=tuple(fields.get("meanless", [])),
        offered=fields.get("offered", {}),
        observed=fields.get("observed", {}),
        artefacts=tuple(
            Artefact(name=name, kind=kind, content=content)
            for name, kind, content in fields.get("artefacts", [])
        ),
        samples=_unpack_samples(fields.get("samples")),
        intervals=_unpack_intervals(fields.get("intervals")),
        ends_because=fields.get("ends_because", ""),
    )


def _floats(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _pack_series(series: Series) -> list[Any]:
    ends = None if series.end_times_s is None else _pack(series.end_times_s)
    return [series.metric, _pack(series.values), series.batch_size, ends]


def _unpack_series(packed: list[Any]) -> Series:
    metric, values, batch_size, ends = packed
    return Series(
        metric=metric,
        values=_unpack(values),
        batch_size=batch_size,
        end_times_s=None if ends is None else _unpack(ends),
    )


def _pack_histogram(histogram: Histogram) -> list[Any]:
    return [
        histogram.metric,
        _pack(histogram.bin_low),
        _pack(histogram.bin_high),
        _pack(histogram.counts),
        _pack(histogram.segment_end_times_s),
        *_pack_totals(histogram.totals),
    ]


def _pack_totals(totals: SegmentTotals | None) -> list[Any]:
    """Return nothing without totals, so that runs without them keep their bytes."""
    if totals is None:
        return []
    columns = (totals.sums, totals.square_sums, totals.minima, totals.maxima)
    return [[_pack(column) for column in columns]]


def _unpack_totals(rest: Sequence[Any]) -> SegmentTotals | None:
    if not rest:
        return None
    sums, square_sums, minima, maxima = (_unpack(column) for column in rest[0])
    return SegmentTotals(sums=sums, square_sums=square_sums, minima=minima, maxima=maxima)


def _unpack_histogram(packed: list[Any]) -> Histogram:
    metric, low, high, counts, ends, *rest = packed
    return Histogram(
        metric=metric,
        bin_low=_unpack(low),
        bin_high=_unpack(high),
        counts=_unpack(counts),
        segment_end_times_s=_unpack(ends),
        totals=_unpack_totals(rest),
    )


def _pack_table(table: ResourceTable) -> list[Any]:
    return [
        table.kind,
        list(table.names),
        _pack(table.capacity),
        {name: _pack(column) for name, column in table.columns.items()},
        {name: _pack(column) for name, column in table.maxima.items()},
    ]


def _unpack_table(packed: list[Any]) -> ResourceTable:
    kind, names, capacity, columns, maxima = packed
    return ResourceTable(
        kind=kind,
        names=tuple(names),
        capacity=_unpack(capacity),
        columns={name: _unpack(column) for name, column in columns.items()},
        maxima={name: _unpack(column) for name, column in maxima.items()},
    )


def _pack_samples(samples: TimeSamples | None) -> list[Any] | None:
    if samples is None:
        return None
    return [_pack(samples.times_s), [_pack_table(table) for table in samples.tables]]


def _unpack_samples(packed: list[Any] | None) -> TimeSamples | None:
    if packed is None:
        return None
    times_s, tables = packed
    return TimeSamples(
        times_s=_unpack(times_s), tables=tuple(_unpack_table(table) for table in tables)
    )


def _pack_intervals(intervals: Intervals | None) -> list[Any] | None:
    if intervals is None:
        return None
    return [
        _pack(intervals.times_s),
        [_pack_table(table) for table in intervals.tables],
        [_pack_histogram(histogram) for histogram in intervals.histograms],
        {kind: _pack(longest) for kind, longest in intervals.queue_len_max.items()},
    ]


def _unpack_intervals(packed: list[Any] | None) -> Intervals | None:
    if packed is None:
        return None
    times_s, tables, histograms, longest = packed
    return Intervals(
        times_s=_unpack(times_s),
        tables=tuple(_unpack_table(table) for table in tables),
        histograms=tuple(_unpack_histogram(histogram) for histogram in histograms),
        queue_len_max={kind: _unpack(column) for kind, column in longest.items()},
    )


def _pack(array: npt.ArrayLike) -> list[Any]:
    plain = np.asarray(array)
    code = "i" if plain.dtype.kind in "iub" else "f"
    typed = np.ascontiguousarray(plain, dtype=_DTYPES[code])
    if code == "f" and (encoded := _whole(typed)):
        digits, numbers = encoded
        words = _by_rows(numbers.view("<u8"), plain.shape)
        mixed = words.copy()
        mixed[1:] -= words[:-1]
        return [digits, list(plain.shape), _transposed(mixed)]
    words = _by_rows(typed.view("<u8"), plain.shape)
    mixed = words.copy()
    mixed[1:] ^= words[:-1]
    return [code, list(plain.shape), _transposed(mixed)]


def _whole(values: npt.NDArray[Any]) -> tuple[int, npt.NDArray[np.int64]] | None:
    """Return decimals and whole numbers that give these very values, None if there are none.

    Times of a simulation are such: it counts billionths. Their differences are small, and pack to a
    third of what the fractions need.
    """
    if not values.size:
        return None
    bits, last = values.view("<u8"), float(values.flat[-1])
    for digits in _DIGITS:
        if not _is_whole(last, digits):
            continue
        with np.errstate(over="ignore"):
            scaled = np.rint(values * 10.0**digits)
        if not np.abs(scaled).max() < _MOST_WHOLE:
            return None
        whole = scaled.astype("<i8")  # which has no -0.0: the comparison is with what comes back
        if ((whole / 10.0**digits).view("<u8") == bits).all():
            return digits, whole
    return None


def _is_whole(value: float, digits: int) -> bool:
    """Return whether a value may be a whole number of units with `digits` decimals."""
    scaled = value * 10.0**digits
    return abs(scaled) < _MOST_WHOLE and round(scaled) / 10.0**digits == value


def _transposed(words: npt.NDArray[np.uint64]) -> bytes:
    return words.reshape(-1).view(np.uint8).reshape(-1, _WORD_BYTES).T.tobytes()


def _unpack(packed: list[Any]) -> npt.NDArray[Any]:
    code, shape, content = packed
    transposed = np.frombuffer(content, dtype=np.uint8).reshape(_WORD_BYTES, -1)
    words = _by_rows(np.array(transposed.T, order="C").reshape(-1).view("<u8"), shape)
    if isinstance(code, int):
        np.add.accumulate(words, axis=0, out=words)
        return (words.reshape(-1).view(_DTYPES["i"]) / 10.0**code).reshape(shape)
    np.bitwise_xor.accumulate(words, axis=0, out=words)
    return words.reshape(-1).view(_DTYPES[code]).reshape(shape)


def _by_rows(words: npt.NDArray[np.uint64], shape: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Return the words as rows whose neighbours are alike: successive snapshots or values."""
    row_len = math.prod(shape[1:])
    return words.reshape(-1, max(row_len, 1))
