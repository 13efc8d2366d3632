"""A stored run equals the original, bit for bit."""

import zlib
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from headroom.experiment.journal.run_codec import UnreadableRunError, decode_run, encode_run
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.protocol.run import (
    FloatArray,
    Histogram,
    Intervals,
    ResourceKind,
    ResourceTable,
    Run,
    Series,
    TimeSamples,
)

ANY_BITS = st.integers(0, 2**64 - 1).map(lambda bits: np.uint64(bits).view(np.float64).item())
SIZES = st.integers(0, 30)
NAMES = st.text(min_size=1, max_size=8)


def floats(size: int) -> st.SearchStrategy[FloatArray]:
    """Return vectors of any bits."""
    return st.lists(ANY_BITS, min_size=size, max_size=size).map(lambda bits: np.array(bits, float))


def tables(rows: int, columns: int) -> st.SearchStrategy[FloatArray]:
    """Return tables of any numbers."""
    numbers = st.floats(allow_nan=True, width=64)
    return st_numpy.arrays(np.float64, (rows, columns), elements=numbers)


def same_bits(array: npt.ArrayLike, other: npt.ArrayLike) -> bool:
    first, second = np.asarray(array), np.asarray(other)
    return first.shape == second.shape and first.tobytes() == second.tobytes()


@st.composite
def one_histogram(draw: st.DrawFn) -> Histogram:
    """Return a histogram."""
    bins, segments = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    return Histogram(
        metric="response_s",
        bin_low=draw(floats(bins)),
        bin_high=draw(floats(bins)),
        counts=draw(st_numpy.arrays(np.int64, (segments, bins))),
        segment_end_times_s=draw(floats(segments)),
    )


@st.composite
def one_table(draw: st.DrawFn, kind: ResourceKind, column: str, rows: int) -> ResourceTable:
    """Return a table of one column."""
    names = tuple(draw(st.lists(NAMES, max_size=3)))
    return ResourceTable(
        kind=kind,
        names=names,
        capacity=draw(floats(len(names))),
        columns={column: draw(tables(rows, len(names)))},
        maxima={"queue_len": draw(floats(len(names)))},
    )


@st.composite
def samples(draw: st.DrawFn) -> TimeSamples:
    """Return samples of one class."""
    times_s = draw(floats(draw(st.integers(0, 5))))
    return TimeSamples(times_s=times_s, tables=(draw(one_table("class", "jobs_s", times_s.size)),))


@st.composite
def intervals(draw: st.DrawFn) -> Intervals:
    """Return intervals of one class."""
    kept = draw(samples())
    return Intervals(
        times_s=kept.times_s,
        tables=kept.tables,
        histograms=(draw(one_histogram()),),
        queue_len_max={"station": draw(tables(kept.times_s.size, draw(st.integers(0, 4))))},
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Return any run, well-formed in its types and shapes only."""
    series_sizes, times_s = draw(st.lists(SIZES, max_size=2)), draw(floats(draw(st.integers(0, 5))))
    return Run(
        values=draw(st.dictionaries(NAMES, st.floats(allow_nan=False), max_size=4)),
        series=tuple(
            Series(
                metric=draw(NAMES),
                values=draw(floats(size)),
                batch_size=draw(st.integers(1, 9)),
                end_times_s=draw(st.none() | floats(size)),
            )
            for size in series_sizes
        ),
        histograms=(draw(one_histogram()),),
        snapshot_times_s=times_s,
        resources=(draw(one_table("station", "busy_s", times_s.size)),),
        counters=draw(st.dictionaries(NAMES, st.floats(allow_nan=False), max_size=3)),
        faults=tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
        remarks=tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
        notes=tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
        holds={"connections": tuple(draw(st.lists(NAMES, max_size=2)))},
        nested={"threads": tuple(draw(st.lists(NAMES, max_size=2)))},
        blockers={"mill": tuple(draw(st.lists(NAMES, max_size=2)))},
        unawaited={"station": tuple(draw(st.lists(NAMES, max_size=2)))},
        overloads=draw(st.dictionaries(NAMES, st.floats(1.0, 9.0), max_size=2)),
        samples=draw(st.none() | samples()),
        intervals=draw(st.none() | intervals()),
        recorded_at=draw(st.text(max_size=9)),
        ends_because=draw(st.text(max_size=9)),
    )


@pytest.mark.deep
@given(runs())
def test_a_run_survives_encoding_bit_by_bit(run: Run) -> None:
    """Property: includes NaN payloads, infinities, -0.0, subnormal numbers and empty arrays."""
    back = decode_run(encode_run(run))
    assert back.values == run.values
    assert back.counters == run.counters
    assert back.faults == run.faults
    assert (back.remarks, back.notes) == (run.remarks, run.notes)
    assert back.holds == run.holds
    assert back.nested == run.nested
    assert same_bits(back.snapshot_times_s, run.snapshot_times_s)
    for series, other in zip(back.series, run.series, strict=True):
        assert (series.metric, series.batch_size) == (other.metric, other.batch_size)
        assert same_bits(series.values, other.values)
        assert (series.end_times_s is None) == (other.end_times_s is None)
        if series.end_times_s is not None and other.end_times_s is not None:
            assert same_bits(series.end_times_s, other.end_times_s)
    for name in ("bin_low", "bin_high", "counts", "segment_end_times_s"):
        assert same_bits(getattr(back.histograms[0], name), getattr(run.histograms[0], name))
    table, original = back.resources[0], run.resources[0]
    assert (table.kind, table.names) == (original.kind, original.names)
    assert same_bits(table.capacity, original.capacity)
    assert same_bits(table.columns["busy_s"], original.columns["busy_s"])
    assert same_bits(table.maxima["queue_len"], original.maxima["queue_len"])
    assert (back.samples is None) == (run.samples is None)
    if back.samples is not None and run.samples is not None:
        assert same_bits(back.samples.times_s, run.samples.times_s)
        (kept,), (taken,) = back.samples.tables, run.samples.tables
        assert same_bits(kept.columns["jobs_s"], taken.columns["jobs_s"])
    assert back.recorded_at == run.recorded_at
    assert back.ends_because == run.ends_because
    assert (back.intervals is None) == (run.intervals is None)
    if back.intervals is not None and run.intervals is not None:
        assert same_bits(back.intervals.times_s, run.intervals.times_s)
        assert same_bits(back.intervals.histograms[0].counts, run.intervals.histograms[0].counts)
        longest, expected = (
            held.queue_len_max["station"] for held in (back.intervals, run.intervals)
        )
        assert same_bits(longest, expected)


@pytest.mark.deep
@given(runs())
def test_equal_runs_have_equal_bytes(run: Run) -> None:
    assert encode_run(run) == encode_run(decode_run(encode_run(run)))


def test_every_field_of_a_run_is_stored() -> None:
    """A field added to `Run` and forgotten here would be lost without a word."""
    example = Run(
        values={"a": 1.0},
        series=(Series(metric="m", values=np.ones(1)),),
        histograms=(
            Histogram(
                metric="m",
                bin_low=np.ones(1),
                bin_high=np.ones(1),
                counts=np.ones((1, 1), dtype=np.int64),
                segment_end_times_s=np.ones(1),
            ),
        ),
        snapshot_times_s=np.ones(1),
        resources=(
            ResourceTable(kind="pool", names=("p",), capacity=np.ones(1), columns={}, maxima={}),
        ),
        counters={"c": 1.0},
        faults=("overload",),
        remarks=("slow",),
        notes=("seen",),
        holds={"p": ("s",)},
        nested={"p": ("q",)},
        blockers={"s": ("t",)},
        unawaited={"station": ("t",)},
        overloads={"station.s": 1.2},
        meanless=("station.s",),
        offered={"throughput": 5.0},
        observed={"machine.cpu": 2.0},
        artefacts=(Artefact(name="a.log", kind="log", content=b"\xff"),),
        samples=TimeSamples(times_s=np.ones(1), tables=()),
        intervals=Intervals(times_s=np.ones(1), tables=(), histograms=()),
        recorded_at="2026-05-01",
        ends_because="a day",
    )
    stored = msgspec.msgpack.decode(zlib.decompress(encode_run(example)))
    assert set(stored) == {field.name for field in fields(Run)}


def test_arrays_keep_their_types() -> None:
    run = Run(snapshot_times_s=np.array([0.0, 1.0]))
    back = decode_run(encode_run(run))
    assert back.snapshot_times_s.dtype == np.float64
    back.snapshot_times_s[0] = 5.0


def test_a_zero_keeps_its_sign_among_whole_numbers() -> None:
    """Cause: values packed as whole numbers were compared before the conversion."""
    run = Run(snapshot_times_s=np.array([-0.0, 1.0]))
    assert np.signbit(decode_run(encode_run(run)).snapshot_times_s).tolist() == [True, False]


@pytest.mark.parametrize("position", [0, 1, 10, -1])
def test_damaged_bytes_are_noticed(position: int) -> None:
    good = bytearray(encode_run(Run(values={"wall_s": 1.0}, snapshot_times_s=np.arange(50.0))))
    good[position] ^= 0xFF
    with pytest.raises(UnreadableRunError):
        decode_run(bytes(good))


def test_bytes_of_something_else_are_no_run() -> None:
    with pytest.raises(UnreadableRunError):
        decode_run(zlib.compress(b"hello"))


@pytest.mark.parametrize(
    "change",
    [
        {"values": {"wall_s": "slow"}},
        {"faults": [[1]]},
        {"series": [[["response_s"], ["f", [0], b""], 1, None]]},
        {"series": [["response_s", ["f", [2, 1], bytes(16)], 1, None]]},
        {"resources": [["station", ["a", "b"], ["f", [1], bytes(8)], {}, {}]]},
        {"resources": [["planet", [], ["f", [0], b""], {}, {}]]},
        {"histograms": [["response_s", *[["f", [1], bytes(8)]] * 4]]},
        {"artefacts": [["a.log", "program", b""]]},
    ],
)
def test_a_run_of_a_stranger_has_our_types_and_shapes(change: dict[str, Any]) -> None:
    """Cause: a list where a name was to be ended `show` in a traceback."""
    sound = {"snapshot_times_s": ["f", [1], bytes(8)]}
    decode_run(zlib.compress(msgspec.msgpack.encode(sound)))
    with pytest.raises(UnreadableRunError):
        decode_run(zlib.compress(msgspec.msgpack.encode(sound | change)))


def cumulative(rows: int, columns: int) -> FloatArray:
    return np.random.default_rng(1).exponential(size=(rows, columns)).cumsum(axis=0)


def test_cumulative_tables_shrink_more_than_with_plain_compression() -> None:
    """Why words are XORed down the columns and transposed before zlib."""
    table = cumulative(200, 8)
    run = Run(
        resources=(
            ResourceTable(
                kind="station", names=(), capacity=np.empty(0), columns={"busy_s": table}
            ),
        )
    )
    assert len(encode_run(run)) < len(zlib.compress(table.tobytes(), 6))
