"""Sweeps against simulated caches, stack distances and closed forms."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.memory import Level, Machine, by_thread, pack, simulate, stack_distances, sweep

KIB = 1024


def mixed(count: int = 20_000, *, seed: int = 1) -> bytes:
    """Return reads and writes of skewed lines, some of two lines, with a scan among them."""
    random = np.random.default_rng(seed)
    skewed = (random.power(0.3, count) * 64 * KIB).astype(np.int64)
    scan = 8 * np.arange(count)
    return pack(
        np.where(random.random(count) < 0.6, skewed, scan),
        kinds=random.choice([0, 1, 2, 3], count, p=[0.6, 0.2, 0.1, 0.1]),
        sizes=random.choice([1, 4, 8], count),
    )


@pytest.mark.parametrize("line_bytes", [16, 64, 256])
@pytest.mark.parametrize(("sets", "ways"), [(2, 1), (16, 3), (64, 8), (256, 16)])
def test_a_row_is_what_the_simulation_of_its_cache_counts(
    line_bytes: int, sets: int, ways: int
) -> None:
    stream = mixed()
    found = sweep(stream, line_bytes=[256, 16, 64], most_sets=256, most_ways=16)
    rows = found.caches
    is_row = (rows["line_bytes"] == line_bytes) & (rows["sets"] == sets) & (rows["ways"] == ways)
    (row,) = rows[is_row]
    level = Level(name="L1", bytes=line_bytes * sets * ways, ways=ways, line_bytes=line_bytes)
    counts = simulate(stream, Machine(levels=[level])).levels[0]
    assert (found.reads, found.writes) == (counts.reads, counts.writes)
    assert row["bytes"] == level.bytes
    assert row["read_misses"] == counts.read_misses > 0
    assert row["write_misses"] == counts.write_misses > 0


def test_one_set_is_fully_associative() -> None:
    stream = pack(64 * np.random.default_rng(2).integers(0, 100, 5000))
    ways = np.arange(1, 65)
    found = sweep(stream, most_sets=1, most_ways=64)
    assert found.miss_ratio == pytest.approx(stack_distances(stream).miss_ratio(ways), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    lines=st.integers(1, 100), passes=st.integers(1, 5), most_ways=st.integers(1, 20),
    set_bits=st.integers(0, 5),
)  # fmt: skip
def test_a_cyclic_scan_hits_in_sets_that_hold_their_part_of_it(
    lines: int, passes: int, most_ways: int, set_bits: int
) -> None:
    """Closed form: LRU misses every line of a set that has more lines than ways."""
    stream = pack(64 * np.tile(np.arange(lines), passes))
    for row in sweep(stream, most_sets=2**set_bits, most_ways=most_ways).caches:
        share = np.bincount(np.arange(lines) % row["sets"])
        expected = np.where(share > row["ways"], passes * share, share).sum()
        assert row["read_misses"] == expected


def test_more_ways_and_more_sets_never_miss_more() -> None:
    """Each set of twice as many sets has the lines of one set, or fewer."""
    found = sweep(mixed(), line_bytes=[64], most_sets=1024, most_ways=16)
    misses = (found.caches["read_misses"] + found.caches["write_misses"]).reshape(11, 16)
    assert (np.diff(misses, axis=0) <= 0).all()
    assert (np.diff(misses, axis=1) <= 0).all()


def test_rows_ascend_by_line_sets_and_ways() -> None:
    rows = sweep(b"", line_bytes=[64, 16], most_sets=4, most_ways=3).caches
    order = rows[["line_bytes", "sets", "ways"]].tolist()
    assert order == sorted(order)
    assert len(order) == 2 * 3 * 3
    assert not rows["read_misses"].any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"line_bytes": [48]}, "48 B is not a power of two"),
        ({"line_bytes": []}, "needs a size of line"),
        ({"line_bytes": [0]}, "at least 1"),
        ({"most_sets": 48}, "48 sets are not"),
        ({"most_sets": 0}, "at least 1"),
        ({"most_sets": 2**70}, "int too"),
        ({"most_ways": 65}, "65 ways are not 1 to 64"),
        ({"most_ways": -1}, "at least 1"),
        ({"most_sets": 2**20, "most_ways": 64}, "lines, more than"),
    ],
)
def test_impossible_caches_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        sweep(b"", **wrong)  # type: ignore[arg-type]


def test_each_thread_of_a_trace_has_its_own_stream(tmp_path: Path) -> None:
    trace = tmp_path / "view"
    lines = [
        f"{n:12}{n:12}: {thread:>11} {'write':12} 8 byte(s) @ 0x{64 * n:016x} by PC 0x{n:016x}"
        for n, thread in enumerate(["W0.T7", "W0.T8", "W0.T7", "W1.T7"])
    ]
    trace.write_text("\n".join(lines))
    own = {name: pack([64 * n for n in numbers], kinds=1) for name, numbers in
           (("W0.T7", [0, 2]), ("W0.T8", [1]), ("W1.T7", [3]))}  # fmt: skip
    assert by_thread(trace) == own
    assert sweep(trace).writes == 4
    trace.write_text("\n".join([*lines, lines[0][:-3]]))
    with pytest.raises(StudyError, match=r"line 5: .* incomplete"):
        by_thread(trace)
