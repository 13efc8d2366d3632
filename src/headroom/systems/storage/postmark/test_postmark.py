"""PostMark on real folders, compared with the original, and under faults."""

import math
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.systems.storage.postmark.postmark import KINDS, PHASES, carry_out, operations, report

SMALL = {"files": 40, "transactions": 200, "subdirectories": 3, "read_bias": 3.5}


def job_of(workload: dict[str, Any], folder: int | None = None, **more: Any) -> dict[str, Any]:
    target = {"kind": "nothing"} if folder is None else {"kind": "folder", "fd": folder}
    return {"seed": 7, "target": target, "workload": workload, **more}


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@settings(max_examples=40)
@given(
    workload=st.fixed_dictionaries(
        {
            "files": st.integers(1, 30),
            "transactions": st.integers(0, 100),
            "size_low_bytes": st.integers(0, 3000),
            "size_high_bytes": st.integers(3000, 9000),
            "read_block_bytes": st.integers(1, 5000),
            "write_block_bytes": st.integers(1, 5000),
            "read_bias": st.floats(0, 10),
            "create_bias": st.floats(0, 10),
            "subdirectories": st.integers(0, 3),
        }
    ),
    more=st.fixed_dictionaries(
        {
            "access": st.sampled_from(["buffered", "raw"]),
            "buffer_bytes": st.integers(1, 20_000),
            "threads": st.integers(1, 3),
            "sync": st.sampled_from([None, {"every": 40, "kind": "fdatasync"}]),
        }
    ),
)
def test_any_run_does_all_it_was_asked_for_and_leaves_an_empty_folder(
    tmp_path_factory: pytest.TempPathFactory, workload: dict[str, Any], more: dict[str, Any]
) -> None:
    """Property: the operations done are those of the generator, and every file is gone."""
    more["threads"] = min(more["threads"], workload["files"])
    folder = tmp_path_factory.mktemp("pool")
    with opened(folder) as descriptor:
        done = carry_out(job_of(workload, descriptor, **more))
    assert list(folder.iterdir()) == []
    assert done.stopped is None or done.stopped.reason == "out_of_files"
    expected = dict.fromkeys(KINDS, 0) | {"read_bytes": 0, "written_bytes": 0}
    for thread in range(more["threads"]):
        walk = operations(job_of(workload, **more), count=100_000, thread=thread)
        for kind, size in zip(walk["kind"].tolist(), walk["bytes"].tolist(), strict=True):
            expected[KINDS[kind]] += 1
            expected["read_bytes"] += size if KINDS[kind] == "read" else 0
            expected["written_bytes"] += size if KINDS[kind] in {"create", "append"} else 0
    counters = done.counters
    actual = {
        "create": counters.created_count,
        "read": counters.read_count,
        "append": counters.appended_count,
        "delete": counters.deleted_count,
        "nothing": expected["nothing"],
        "read_bytes": counters.read_bytes,
        "written_bytes": counters.written_bytes,
    }
    assert actual == expected
    assert counters.created_count == counters.deleted_count


def test_files_hold_what_the_operations_say(tmp_path: Path) -> None:
    """Oracle: in the middle of a run the folder has the files, names and sizes of the generator.

    The run is stopped by taking its folder away: its work up to then is compared.
    """
    seen: list[dict[str, int]] = []

    def look(_share: float) -> None:
        files = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
        seen.append(files)
        raise KeyboardInterrupt

    workload = {"files": 10, "transactions": 10**15, "read_bias": 10, "create_bias": -1}
    with opened(tmp_path) as descriptor, pytest.raises(KeyboardInterrupt):
        carry_out(job_of(workload, descriptor), progress=look)
    walk = operations(job_of(workload), count=10)
    expected = {
        f"0.{file}": size
        for file, size in zip(walk["file"].tolist(), walk["bytes"].tolist(), strict=True)
    }
    assert seen == [expected]
    assert list(tmp_path.iterdir()) == []


def test_times_of_all_operations_are_kept(tmp_path: Path) -> None:
    """Conservation: each operation is in one bin, and the snapshots end with all transactions."""
    with opened(tmp_path) as descriptor:
        done = carry_out(job_of(SMALL, descriptor, sync={"every": 1, "kind": "fsync"}, threads=2))
    counters = done.counters
    counted = {
        name: int(table["counts"].sum())
        for name, table in done.tables["histograms"]["response_s"].items()
    }
    assert counted["transaction"] == counters.transaction_count == 200
    assert counted["create"] == counters.created_mixed_count
    assert counted["read"] == counters.read_count
    assert counted["append"] == counters.appended_count
    assert counted["delete"] == counters.deleted_mixed_count
    assert counted["creation"] == counters.created_alone_count == 40
    assert counted["deletion"] == counters.deleted_alone_count
    assert counted["sync"] == counters.created_mixed_count + counters.appended_count
    assert counters.sync_count == counted["sync"] + counters.created_alone_count
    snapshots = done.tables["snapshots"]
    assert snapshots["classes"]["columns"]["completion_count"][-1, 0] == 200
    assert snapshots["times_s"][-1] == pytest.approx(done.times.transactions_s)


def test_the_report_has_the_lines_of_the_original(tmp_path: Path) -> None:
    with opened(tmp_path) as descriptor:
        done = carry_out(job_of(SMALL, descriptor))
    text = report(done, workload=SMALL)
    for words in (
        "seconds total",
        "Creation alone: 40 files",
        "Mixed with transactions:",
        "asked: 35",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"files": 0}, "files is 0"),
        ({"read_bias": 11}, "read_bias is 11"),
        ({"read_bias": -1, "create_bias": -1}, "nothing to do"),
        ({"sizes": 3}, "unknown field `sizes`"),
    ],
)
def test_wrong_parameters_are_named(workload: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        carry_out(job_of(workload))


# Faults.


def test_a_file_that_may_not_grow_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    """Fault: the system refuses to write on (EFBIG by a limit of the process)."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, limits[1]))
    try:
        with opened(tmp_path) as descriptor:
            done = carry_out(job_of({"files": 50, "transactions": 10_000}, descriptor))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.stopped is not None
    assert done.stopped.reason == "failed"
    assert "File too large" in done.stopped.error().message
    assert done.left_count == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of one MiB."""
    asked = ["mount", "-t", "tmpfs", "-o", "size=1m", "headroom-tiny", str(tmp_path)]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here; run as root to try a full one")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("files", [60, 1000])
def test_a_full_file_system_ends_the_run_and_leaves_nothing(tiny: Path, files: int) -> None:
    """Fault: space runs out, in the transactions or in the creation before them."""
    # Files of three pages: 85 of them fill a MiB, and a pool grows to twice its files.
    workload = {"files": files, "size_low_bytes": 9_000, "transactions": 10**6, "create_bias": 8}
    with opened(tiny) as descriptor:
        done = carry_out(job_of(workload, descriptor, threads=2))
    assert done.stopped is not None
    assert done.stopped.reason == "no_space"
    assert done.stopped.error().cure.startswith("free some space")
    assert (done.counters.transaction_count > 0) == (files == 60)
    assert done.counters.created_count > 0
    assert list(tiny.iterdir()) == []


def test_files_that_vanish_end_the_run(tmp_path: Path) -> None:
    """Fault: another process deletes the files."""

    def delete(_share: float) -> None:
        for path in tmp_path.iterdir():
            path.unlink(missing_ok=True)

    workload = {"files": 10, "transactions": 10**15, "create_bias": -1}
    with opened(tmp_path) as descriptor:
        done = carry_out(job_of(workload, descriptor), progress=delete)
    assert done.stopped is not None
    assert "No such file" in done.stopped.error().message
    assert done.counters.transaction_count > 0


def test_a_folder_that_is_not_writable_is_an_error(tmp_path: Path) -> None:
    """Fault: the folder was removed while it was open."""
    gone = tmp_path / "gone"
    gone.mkdir()
    with opened(gone) as descriptor:
        gone.rmdir()
        done = carry_out(job_of({"files": 1}, descriptor))
    assert done.stopped is not None
    assert done.stopped.phase == "creation"


# The original as an oracle.


@pytest.fixture
def memory() -> Iterator[Path]:
    """Yield a folder in memory, if there is one: counts do not depend on the device."""
    shared = Path("/dev/shm")  # noqa: S108 - a fresh folder below it
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Counts:
    """The counters of a run's transactions, and the bytes of the whole run."""

    created: float
    deleted: float
    read: float
    appended: float
    read_bytes: float
    written_bytes: float


FILES, TRANSACTIONS = 2_000, 20_000
SEEDS = (1, 2, 3)


def counts_of(text: str) -> Counts:
    """Return the counts of a verbose report; single operations come before transactions."""
    mixed = [float(count) for count in re.findall(r"Mixed with transactions: (\d+)", text)]
    units = {"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20, "gigabytes": 1 << 30}

    def count(word: str) -> float:
        return float(re.findall(rf"(\d+) {word} \(", text)[0])

    def size(word: str) -> float:
        number, unit = re.findall(rf"([\d.]+) (\w+) {word} \(", text)[-1]
        return float(number) * units[unit]

    return Counts(
        created=mixed[0], deleted=mixed[1], read=count("read"), appended=count("appended"),
        read_bytes=size("read"), written_bytes=size("written"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def original() -> Callable[[Path, int, list[str]], Counts]:
    program = shutil.which("postmark")
    if program is None and shutil.which("apt-get") is None:
        pytest.skip("the original PostMark has no package here")
    if program is None:
        pytest.skip("the original PostMark is missing; get it with: apt-get install postmark")

    def run(folder: Path, seed: int, settings: list[str]) -> Counts:
        lines = [f"set location {folder}", f"set seed {seed}", f"set number {FILES}",
                 f"set transactions {TRANSACTIONS}", *settings, "run", "quit"]  # fmt: skip
        script = folder.parent / "original.cfg"
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([program, script], capture_output=True, text=True, check=True)
        return counts_of(done.stdout)

    return run


def ours(seed: int, workload: dict[str, Any]) -> Counts:
    job = job_of({"files": FILES, "transactions": TRANSACTIONS, **workload}) | {"seed": seed}
    walk = operations(job, count=10**6)
    mixed = walk["phase"] == PHASES.index("transactions")

    def of(kind: str) -> Any:
        return walk["kind"] == KINDS.index(kind)

    written = of("create") | of("append")
    return Counts(
        created=float((of("create") & mixed).sum()),
        deleted=float((of("delete") & mixed).sum()),
        read=float(of("read").sum()),
        appended=float(of("append").sum()),
        read_bytes=float(walk["bytes"][of("read")].sum()),
        written_bytes=float(walk["bytes"][written].sum()),
    )


def means(runs: list[Counts]) -> Counts:
    rows = [(run.created, run.deleted, run.read, run.appended, run.read_bytes, run.written_bytes)
            for run in runs]  # fmt: skip
    return Counts(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize(("read", "low", "high"), [(3, 500, 10_000), (7, 1, 40)])
def test_the_original_does_as_often_what_ours_does(
    memory: Path,
    original: Callable[[Path, int, list[str]], Counts],
    read: int,
    low: int,
    high: int,
) -> None:
    """Oracle: counts and bytes of the original, within five standard deviations.

    Counts of a known chance are binomial; appends to full files are rare events; the mean size of
    reads and writes varies like that of the files in the pool.
    """
    folder = memory / "pool"
    folder.mkdir()
    settings = [f"set bias read {read}", f"set size {low} {high}"]
    workload = {"read_bias": read, "size_low_bytes": low, "size_high_bytes": high}
    theirs = means([original(folder, seed, settings) for seed in SEEDS])
    mine = means([ours(seed, workload) for seed in SEEDS])
    runs = len(SEEDS)

    def bound(variance: float) -> float:
        return 5 * math.sqrt(2 * variance / runs)

    assert theirs.created + theirs.deleted == mine.created + mine.deleted == TRANSACTIONS
    assert abs(theirs.created - mine.created) <= bound(TRANSACTIONS / 4)
    share = read / 10
    assert abs(theirs.read - mine.read) <= bound(TRANSACTIONS * share * (1 - share))
    full_theirs = TRANSACTIONS - theirs.read - theirs.appended
    full_mine = TRANSACTIONS - mine.read - mine.appended
    # A full file may be met again and again until it is deleted: clusters of a few.
    assert abs(full_theirs - full_mine) <= bound(4 * max(full_theirs, full_mine))
    assert full_theirs > 0
    size_variance = (high - low) ** 2 / 12
    read_size = [counts.read_bytes / counts.read for counts in (theirs, mine)]
    assert abs(read_size[0] - read_size[1]) <= bound(size_variance / FILES)
    writes = [FILES + counts.created + counts.appended for counts in (theirs, mine)]
    written = [
        counts.written_bytes / count for counts, count in zip((theirs, mine), writes, strict=True)
    ]
    assert abs(written[0] - written[1]) <= bound(size_variance / FILES)
