"""Caches and TLBs against textbooks, cachegrind, and plain dictionaries."""

import shutil
import subprocess
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.memory import Level, Machine, Paging, Tlb, pack, simulate

KIB = 1024


def level(size: int = 4 * KIB, ways: int = 4, **more: object) -> Level:
    return Level(name="L1", bytes=size, ways=ways, **more)  # type: ignore[arg-type]


class Naive:
    """A set-associative cache of lists, with its dirty lines."""

    def __init__(self, sets: int, ways: int, *, is_lru: bool) -> None:
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]
        self.ways, self.is_lru = ways, is_lru
        self.misses = self.write_backs = 0

    def use(self, line: int, *, is_write: bool) -> None:
        """Use a line; note what it displaces."""
        lines = self.sets[line % len(self.sets)]
        if line in lines:
            if self.is_lru:
                lines.move_to_end(line)
            lines[line] |= is_write
            return
        self.misses += 1
        if len(lines) == self.ways:
            self.write_backs += lines.popitem(last=False)[1]
        lines[line] = is_write


@settings(max_examples=60, deadline=None)
@given(
    accesses=st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=500),
    sets=st.integers(1, 7), ways=st.integers(1, 5), is_lru=st.booleans(),
)  # fmt: skip
def test_a_cache_is_what_lists_say(
    accesses: list[tuple[int, bool]],
    sets: int,
    ways: int,
    is_lru: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    naive = Naive(sets, ways, is_lru=is_lru)
    for line, is_write in accesses:
        naive.use(line, is_write=is_write)
    policy = "lru" if is_lru else "fifo"
    machine = Machine(levels=[level(64 * sets * ways, ways, replacement=policy)])
    lines = np.array([line for line, _ in accesses], dtype=np.int64)
    kinds = np.array([is_write for _, is_write in accesses], dtype=np.int64)
    result = simulate(pack(64 * lines, kinds=kinds), machine)
    assert result.levels[0].misses == naive.misses
    assert result.levels[0].write_backs == naive.write_backs == result.memory_writes
    assert result.memory_reads == naive.misses


def test_a_matrix_by_rows_and_by_columns() -> None:
    """64 x 64 words: by rows a miss for each line of 8 words, by columns each access misses."""
    rows, columns = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    addresses = 8 * (64 * rows + columns)
    small = Machine(levels=[level(2 * KIB, 0)])  # 32 lines, fully associative
    assert simulate(pack(addresses.ravel()), small).levels[0].misses == 64 * 64 // 8
    assert simulate(pack(addresses.T.ravel()), small).levels[0].misses == 64 * 64
    enough = Machine(levels=[level(4 * KIB, 0)])  # a column's 64 lines fit
    assert simulate(pack(addresses.T.ravel()), enough).levels[0].misses == 64 * 64 // 8


def test_misses_by_cause() -> None:
    """Two lines of one set of a direct-mapped cache: all but the first uses are conflicts."""
    direct = Machine(levels=[level(4 * KIB, 1)], classify=True)
    counts = simulate(pack([0, 4 * KIB] * 10), direct).levels[0]
    assert (counts.misses, counts.compulsory_misses, counts.conflict_misses) == (20, 2, 18)
    cyclic = pack(np.tile(np.arange(0, 8 * KIB, 64), 3))
    counts = simulate(cyclic, Machine(levels=[level(4 * KIB, 0)], classify=True)).levels[0]
    assert (counts.compulsory_misses, counts.capacity_misses, counts.conflict_misses) == (
        128,
        256,
        0,
    )


def random_stream(seed: int = 1, span: int = 256 * KIB, count: int = 20_000) -> bytes:
    random = np.random.default_rng(seed)
    return pack(
        random.zipf(1.2, count) * 64 % span,
        kinds=random.choice([0, 1, 2], count),
        sizes=random.choice([1, 4, 8, 64], count),
    )


@pytest.mark.parametrize("holds", ["any", "inclusive", "exclusive"])
@pytest.mark.parametrize("prefetch", ["none", "next_line", "stride"])
def test_what_holds_of_two_levels(holds: str, prefetch: str) -> None:
    """Misses above are accesses below; every dirty line reaches memory at most once a write."""
    machine = Machine(
        levels=[
            level(4 * KIB, 4, prefetch=prefetch),
            Level(name="L2", bytes=16 * KIB, ways=8, holds=holds),  # type: ignore[arg-type]
        ]
    )
    result = simulate(random_stream(), machine)
    near, far = result.levels
    assert near.reads + near.writes == result.accesses == sum(result.served)
    assert result.served[0] == result.accesses - near.misses
    assert far.reads + far.writes == near.misses + near.prefetches
    assert result.memory_reads == far.misses
    assert near.useful_prefetches <= near.prefetches
    assert (near.prefetches > 0) == (prefetch != "none")
    assert (near.invalidations > 0) == (holds == "inclusive")
    assert result.memory_writes == far.write_backs > 0


def test_an_exclusive_level_adds_its_size() -> None:
    """12 KiB in turn fit into 4 + 8 KiB only if no line is in both."""
    stream = pack(np.tile(np.arange(0, 12 * KIB, 64), 20))
    for holds, misses in (("exclusive", 192), ("any", 20 * 192)):
        below = Level(name="L2", bytes=8 * KIB, ways=0, holds=holds)  # type: ignore[arg-type]
        result = simulate(stream, Machine(levels=[level(4 * KIB, 0), below]))
        assert result.memory_reads == misses


def test_writes_through_reach_memory_each_time() -> None:
    stream = pack([0] * 10, kinds=1)
    through = simulate(stream, Machine(levels=[level(writes="through")]))
    assert (through.memory_writes, through.memory_reads, through.levels[0].write_misses) == (
        10,
        0,
        10,
    )
    back = simulate(stream, Machine(levels=[level()]))
    assert (back.memory_writes, back.memory_reads, back.levels[0].write_misses) == (0, 1, 1)


def test_a_walk_reads_its_tables_through_the_caches() -> None:
    paging = Paging(tlbs=[Tlb(name="dTLB", entries=16, ways=4), Tlb(name="sTLB", entries=64)])
    pages = np.arange(256) * 4096
    result = simulate(pack(np.tile(pages, 4)), Machine(levels=[level(32 * KIB, 8)], paging=paging))
    # 256 pages in turn fit into neither TLB; each walk reads four entries.
    assert [one.read_misses for one in result.tlbs] == [1024, 1024]
    assert result.walks == 1024
    assert sum(result.walk_reads) == 4 * 1024
    cached = Paging(tlbs=[Tlb(name="dTLB", entries=16)], walk_cache_entries=8)
    result = simulate(pack(pages), Machine(levels=[level()], paging=cached))
    # One table of each kind covers 512 pages: after the first walk only the last entry is read.
    assert (result.walks, sum(result.walk_reads)) == (256, 256 + 3)
    fits = simulate(pack(np.tile(pages[:16], 9)), Machine(levels=[level()], paging=cached))
    assert fits.walks == 16


def test_latency_is_the_mean_over_levels() -> None:
    machine = Machine(levels=[level(4 * KIB, 0, latency=1.0)], memory_latency=101.0)
    assert simulate(pack([0, 0, 0, 64]), machine).mean_latency == 51.0


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Machine(levels=[level(1000)]), "1000 B are not whole sets"),
        (Machine(levels=[level(4 * KIB, 4, line_bytes=48)]), "no power of two"),
        (Machine(levels=[level(3 * KIB, 12, replacement="tree_plru")]), "tree_plru"),
        (Machine(levels=[]), "needs a cache"),
        (Machine(levels=[level(), level(line_bytes=32)]), "shorter than those above"),
        (Machine(levels=[level(holds="inclusive")]), "none above"),
    ],
)
def test_an_impossible_machine_is_refused(machine: Machine, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        simulate(pack([0]), machine)


def test_a_missing_file_and_a_wrong_line_are_named(tmp_path: Path) -> None:
    machine = Machine(levels=[level()])
    with pytest.raises(StudyError, match="No such file"):
        simulate(tmp_path / "nowhere", machine)
    wrong = tmp_path / "wrong"
    wrong.write_text(" L 10,8\nhello\n")
    with pytest.raises(StudyError, match="line 2"):
        simulate(wrong, machine)


@pytest.mark.skipif(
    shutil.which("valgrind") is None or shutil.which("setarch") is None,
    reason="valgrind is not installed: apt-get install valgrind util-linux",
)
@pytest.mark.parametrize(
    ("first", "last"), [("32768,8,64", "1048576,16,64"), ("1024,2,32", "8192,4,64")]
)
def test_cachegrind_counts_the_same_to_the_miss(tmp_path: Path, first: str, last: str) -> None:
    """Known answer: the same program under both tools of valgrind, with fixed addresses."""
    trace, counted = tmp_path / "trace", tmp_path / "counted"
    valgrind = ["setarch", "-R", "valgrind", "-q", "--command-line-only=yes"]
    program = [shutil.which("true") or "/bin/true"]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    for options in (
        ["--tool=lackey", "--trace-mem=yes", f"--log-file={trace}"],
        ["--tool=cachegrind", "--cache-sim=yes", f"--I1={first}", f"--D1={first}", f"--LL={last}",
         f"--cachegrind-out-file={counted}", "--log-file=/dev/null"],
    ):  # fmt: skip
        subprocess.run([*valgrind, *options, *program], check=True, env=environment)
    lines = counted.read_text().splitlines()
    names = next(line for line in lines if line.startswith("events:")).split()[1:]
    sums = next(line for line in lines if line.startswith("summary:")).split()[1:]
    expected = dict(zip(names, map(int, sums), strict=True))
    result = simulate(trace, cachegrind(first, last))
    near, far, own = *result.levels, result.instructions
    assert own is not None
    assert expected == {
        "Ir": result.fetches, "I1mr": own.read_misses, "ILmr": far.fetch_misses,
        "Dr": near.reads, "D1mr": near.read_misses, "DLmr": far.read_misses,
        "Dw": near.writes, "D1mw": near.write_misses, "DLmw": far.write_misses,
    }  # fmt: skip


def cachegrind(first: str, last: str) -> Machine:
    def one(name: str, text: str) -> Level:
        size, ways, line = map(int, text.split(","))
        return Level(name=name, bytes=size, ways=ways, line_bytes=line, writes="uncounted")

    return Machine(levels=[one("D1", first), one("LL", last)], instructions=one("I1", first))
