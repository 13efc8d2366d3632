"""Exact encoding of a `Run` as bytes: the journal stores it and workers send it.

Layout: docs/background/formats.md. Words are combined with their predecessors and transposed before
compression, because neighbours in a series share their sign, exponent and first digits. All steps
are reversible bit by bit. The same run always gives the same bytes.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.artefact import Artefact, ArtefactKind
from headroom.experiment.protocol.run import (
    Histogram,
    Intervals,
    ResourceKind,
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
        "recorded_at": run.recorded_at,
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
        return _unpack_run(msgspec.msgpack.decode(unpack(encoded), type=_Packed))
    except _DAMAGE as error:
        raise UnreadableRunError(str(error)) from error


_Array: TypeAlias = tuple[Literal["f", "i", 0, 9, 12, 15], list[int], bytes]
_Series: TypeAlias = tuple[str, _Array, int, _Array | None]
_Table: TypeAlias = tuple[ResourceKind, list[str], _Array, dict[str, _Array], dict[str, _Array]]
_Names: TypeAlias = dict[str, tuple[str, ...]]


class _Histogram(msgspec.Struct, array_like=True):
    metric: str
    low: _Array
    high: _Array
    counts: _Array
    ends: _Array
    totals: tuple[_Array, _Array, _Array, _Array] | None = None


class _Packed(msgspec.Struct):
    """What `encode_run` writes, so that bytes of a stranger with other types are refused."""

    snapshot_times_s: _Array
    values: dict[str, float] = {}
    series: list[_Series] = []
    histograms: list[_Histogram] = []
    resources: list[_Table] = []
    counters: dict[str, float] = {}
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    holds: _Names = {}
    nested: _Names = {}
    blockers: _Names = {}
    unawaited: _Names = {}
    overloads: dict[str, float] = {}
    meanless: tuple[str, ...] = ()
    offered: dict[str, float] = {}
    observed: dict[str, float] = {}
    artefacts: list[tuple[str, ArtefactKind, bytes]] = []
    samples: tuple[_Array, list[_Table]] | None = None
    intervals: tuple[_Array, list[_Table], list[_Histogram], dict[str, _Array]] | None = None
    recorded_at: str = ""
    ends_because: str = ""


_AS_PACKED = (
    "values", "counters", "faults", "remarks", "notes", "holds", "nested", "blockers", "unawaited",
    "overloads", "meanless", "offered", "observed", "recorded_at",
    "ends_because",
)  # fmt: skip


def _unpack_run(packed: _Packed) -> Run:
    times_s = _unpack(packed.snapshot_times_s, None)
    return Run(
        **{name: getattr(packed, name) for name in _AS_PACKED},
        series=tuple(_unpack_series(one) for one in packed.series),
        histograms=tuple(_unpack_histogram(one) for one in packed.histograms),
        snapshot_times_s=times_s,
        resources=tuple(_unpack_table(one, times_s.size) for one in packed.resources),
        artefacts=tuple(
            Artefact(name=name, kind=kind, content=content)
            for name, kind, content in packed.artefacts
        ),
        samples=None if packed.samples is None else _unpack_samples(*packed.samples),
        intervals=None if packed.intervals is None else _unpack_intervals(*packed.intervals),
    )


def _floats(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _pack_series(series: Series) -> list[Any]:
    ends = None if series.end_times_s is None else _pack(series.end_times_s)
    return [series.metric, _pack(series.values), series.batch_size, ends]


def _unpack_series(packed: _Series) -> Series:
    metric, content, batch_size, ends = packed
    values = _unpack(content, None)
    return Series(
        metric=metric,
        values=values,
        batch_size=batch_size,
        end_times_s=None if ends is None else _unpack(ends, values.size),
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


def _unpack_histogram(packed: _Histogram) -> Histogram:
    low, ends_s = _unpack(packed.low, None), _unpack(packed.ends, None)
    totals = None
    if packed.totals is not None:
        sums, square_sums, minima, maxima = (_unpack(one, ends_s.size) for one in packed.totals)
        totals = SegmentTotals(sums=sums, square_sums=square_sums, minima=minima, maxima=maxima)
    return Histogram(
        metric=packed.metric,
        bin_low=low,
        bin_high=_unpack(packed.high, low.size),
        counts=_unpack(packed.counts, ends_s.size, low.size),
        segment_end_times_s=ends_s,
        totals=totals,
    )


def _pack_table(table: ResourceTable) -> list[Any]:
    return [
        table.kind,
        list(table.names),
        _pack(table.capacity),
        {name: _pack(column) for name, column in table.columns.items()},
        {name: _pack(column) for name, column in table.maxima.items()},
    ]


def _unpack_table(packed: _Table, rows: int) -> ResourceTable:
    kind, names, capacity, columns, maxima = packed
    size = len(names)
    return ResourceTable(
        kind=kind,
        names=tuple(names),
        capacity=_unpack(capacity, size),
        columns={name: _unpack(column, rows, size) for name, column in columns.items()},
        maxima={name: _unpack(column, size) for name, column in maxima.items()},
    )


def _pack_samples(samples: TimeSamples | None) -> list[Any] | None:
    if samples is None:
        return None
    return [_pack(samples.times_s), [_pack_table(table) for table in samples.tables]]


def _unpack_samples(times: _Array, tables: list[_Table]) -> TimeSamples:
    times_s = _unpack(times, None)
    return TimeSamples(
        times_s=times_s, tables=tuple(_unpack_table(one, times_s.size) for one in tables)
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


def _unpack_intervals(
    times: _Array, tables: list[_Table], histograms: list[_Histogram], longest: dict[str, _Array]
) -> Intervals:
    times_s = _unpack(times, None)
    return Intervals(
        times_s=times_s,
        tables=tuple(_unpack_table(one, times_s.size) for one in tables),
        histograms=tuple(_unpack_histogram(one) for one in histograms),
        queue_len_max={
            kind: _unpack(column, times_s.size, None) for kind, column in longest.items()
        },
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


def _unpack(packed: _Array, *sizes: int | None) -> npt.NDArray[Any]:
    """Return an array; `ValueError` unless it has these sizes, None standing for any."""
    code, shape, content = packed
    if len(shape) != len(sizes) or any(
        size not in (None, found) for size, found in zip(sizes, shape, strict=True)
    ):
        raise ValueError(f"an array of shape {shape} where {sizes} was to be")
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
