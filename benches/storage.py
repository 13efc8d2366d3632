"""The engines of the storage layer: their own cost, alone and compared with fio and PostMark.

Four questions:

- the engine's own cost per request: a ring that does nothing, at depth 128, with all histograms,
  compared with bare rings of that depth, with and without reading the clock when each request
  begins and ends (`benches/peers/bare_io.py`), and threads at depth 1;
- the cost of an I/O on a disk (O_DIRECT) and on tmpfs compared with tuned fio
  (`benches/peers/fio.py`), and whether the rates are equal (cost and rate come from the same runs);
  and the cost in a bare loop without times or statistics (`benches/peers/bare_io.py`), the lower
  bound for any tool;
- the cost of a transaction compared with Debian's original PostMark, on tmpfs, including its start;
- the cost of generating a request.

The processor time of a load is that of the process from the start to the end of the load. fio's is
that of its process tree minus that of a run of one request. The disk is the one that holds the
folder ``HEADROOM_BENCH_FOLDER``, or ``/var/tmp`` if that is not set. `python -m benches.storage
--table` prints the table of `docs/reference/speed-storage.md` from the stored results, without
measuring anything.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec

from benches.folders import new_folder
from benches.harness import (
    Case,
    Row,
    Work,
    aligned,
    figure,
    print_stored,
    ratio_cell,
    verdict_cell,
)
from benches.peers import bare_io, fio
from headroom.systems.storage import measure, native
from headroom.systems.storage.postmark.postmark import carry_out

RESULTS = Path(__file__).resolve().parent / "results" / "storage.json"
COST = "processor time per million requests"
PROGRAM = "processor time outside of the kernel per million requests"
RATE = "requests per second"
TRANSACTIONS = "transactions per processor second"
DRAWN = "requests drawn per processor second"
NOTHING = "nothing, io_uring, depth 128"
BARE_RING, TIMED_RING = "bare ring", "bare ring with times"
THREADS = "threads, depth 1"
POSTMARK = "postmark (Debian)"
FIO_COST, FIO_RATE = 1.3, 0.97
"""Requirements relative to fio: at most this cost, and at least this share of its rate."""
TIMED_SHARE = 1.0
"""Requirement for the ring that does nothing: to cost no more than a bare one with times."""

SECONDS = 2.0
"""The duration of a load. The start-up time of fio is subtracted, so longer runs change little."""
FILE_BYTES = 256 << 20
RING_REQUESTS, THREAD_REQUESTS, DRAWN_REQUESTS = 8_000_000, 1_000_000, 1_000_000
FILES, TRANSACTION_COUNT = 5_000, 100_000
SOURCES: dict[str, dict[str, Any]] = {
    "random": {"kind": "micro", "block_bytes": 4096, "depth": 32},
    "70% reads": {"kind": "micro", "block_bytes": 4096, "depth": 32, "read_share": 0.7},
    "Zipf": {"kind": "micro", "block_bytes": 4096, "depth": 32, "pattern": "zipf"},
    "SPC-1-like": {"kind": "spc1_like", "bsus": 20},
}


@dataclass(slots=True)
class Contender:
    """A tool that carries out a load, run after run; cost and rate are those of one run."""

    carry_out: Callable[[], fio.Cost]
    rates: list[float] = field(default_factory=list)
    programs: list[float] = field(default_factory=list)

    def work(self) -> float:
        """Carry the load out once more and return what a million requests cost (s)."""
        cost = self.carry_out()
        self.rates.append(cost.per_s)
        self.programs.append(cost.program_per_million_s)
        return cost.per_million_s

    def program(self) -> float:
        """Return the program's own time in the first run that was not yet returned (s)."""
        return self.programs.pop(0)

    def rate(self) -> float:
        """Return the requests per second of the first run that was not yet returned."""
        return self.rates.pop(0)


def cases() -> list[Case]:
    """Return all cases: the tool alone, against fio, against PostMark, the sources."""
    return [
        nothing(),
        *beside_fio("disk, read, depth 1", _disk, "randread", 1),
        *beside_fio("disk, read, depth 32", _disk, "randread", 32),
        *beside_fio("disk, write, depth 32", _disk, "randwrite", 32),
        *beside_fio("tmpfs, read, depth 1", _memory, "randread", 1),
        postmark("buffered", "true"),
        postmark("raw", "false"),
        sources(),
    ]


def nothing() -> Case:
    """Return the case of the engine alone, against bare rings and threads."""
    rings = {BARE_RING: partial(_bare_ring, "nop"), TIMED_RING: partial(_bare_ring, "timed")}
    missing = bare_io.missing()
    return Case(
        name=NOTHING,
        metric=COST,
        unit="s",
        measure="returned",
        better="low",
        headroom=lambda: _alone("io_uring", 128, RING_REQUESTS),
        peers={
            **({} if missing else rings),
            THREADS: lambda: _alone("threads", 1, THREAD_REQUESTS),
        },
        cannot=dict.fromkeys(rings, missing) if missing else {},
    )


def _bare_ring(kind: str) -> float:
    load = fio.Load(
        path=Path(os.devnull),
        size_bytes=FILE_BYTES,
        interface="io_uring",
        kind=kind,
        depth=128,
        is_direct=False,
    )
    return bare_io.run(load, SECONDS).per_million_s


def _alone(interface: str, depth: int, requests: int) -> float:
    job = measure.nothing_job(interface=interface, read_share=1.0, requests=requests, depth=depth)
    result = measure.run_job(job)
    return float(result["counters"]["cpu_s"]) / requests * 1e6


def beside_fio(title: str, folder: Callable[[], Path], kind: str, depth: int) -> list[Case]:
    """Return the cases of one load against fio: cost, the program's part of it, rate."""
    is_direct = folder is _disk
    interfaces = ("io_uring", "psync") if is_direct and depth == 1 else ("io_uring",)
    interfaces = interfaces if is_direct else ("psync",)

    def load(interface: str) -> fio.Load:
        return fio.Load(
            path=_file(folder()),
            size_bytes=FILE_BYTES,
            interface=interface,
            kind=kind,
            depth=depth,
            is_direct=is_direct,
        )

    def peer(interface: str) -> Contender:
        return Contender(lambda: fio.run(load(interface), SECONDS))

    ours = Contender(lambda: own(load("io_uring" if is_direct else "threads"), SECONDS))
    if not folder().is_dir():
        return []
    names = {f"{fio.name()} {interface}": interface for interface in interfaces}
    theirs = {} if fio.missing() else {name: peer(interface) for name, interface in names.items()}
    cannot = dict.fromkeys(names, fio.missing()) if fio.missing() else {}
    if bare_io.missing():
        cannot[bare_io.NAME] = bare_io.missing()
    else:
        theirs[bare_io.NAME] = Contender(lambda: bare_io.run(load(interfaces[0]), SECONDS))

    def case(
        metric: str, unit: str, better: Literal["high", "low"], ask: Callable[[Contender], float]
    ) -> Case:
        return Case(
            name=title,
            metric=metric,
            unit=unit,
            measure="returned",
            better=better,
            headroom=lambda: ask(ours),
            peers={name: partial(ask, contender) for name, contender in theirs.items()},
            cannot=cannot,
        )

    return [
        case(COST, "s", "low", Contender.work),
        case(PROGRAM, "s", "low", Contender.program),
        case(RATE, "1/s", "high", Contender.rate),
    ]


def own(load: fio.Load, seconds: float) -> fio.Cost:
    """Carry `load` out with Headroom for `seconds`; its interface is one of Headroom's."""
    flags = os.O_RDWR | (os.O_DIRECT if load.is_direct else 0)
    descriptor = os.open(load.path, flags)
    try:
        result = measure.run_job(
            {
                "seed": 1,
                "target": {
                    "kind": "files",
                    "files": [{"fd": descriptor, "bytes": load.size_bytes}],
                    "alignment": 4096,
                },
                "interface": load.interface,
                "workload": {
                    "kind": "micro",
                    "block_bytes": 4096,
                    "depth": load.depth,
                    "read_share": 1.0 if load.kind == "randread" else 0.0,
                },
                "stop": {"seconds": seconds},
            }
        )
    finally:
        os.close(descriptor)
    count = sum(float(class_["completion_count"]) for class_ in result["classes"].values())
    return fio.Cost(
        count=count,
        per_s=count / result["end_s"],
        processor_s=float(result["counters"]["cpu_s"]),
        program_s=float(result["counters"]["cpu_user_s"]),
    )


@cache
def _folder(parent: Path) -> TemporaryDirectory[str]:
    """Return a folder that is removed when the program ends; see `new_folder`."""
    return new_folder(parent)


@cache
def _file(parent: Path) -> Path:
    """Return a file of random bytes in its own folder."""
    path = Path(_folder(parent).name) / "target"
    piece = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(FILE_BYTES // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return path


def _disk() -> Path:
    return Path(os.environ.get("HEADROOM_BENCH_FOLDER", "/var/tmp"))  # noqa: S108


def _memory() -> Path:
    return Path("/dev/shm")  # noqa: S108


def postmark(access: str, buffering: str) -> Case:
    """Return the case of PostMark against the original, with one way of access."""
    missing = "" if shutil.which("postmark") else "postmark is not installed (apt install postmark)"
    return Case(
        name=f"PostMark, {access}, {FILES:,} files, tmpfs",
        metric=TRANSACTIONS,
        unit="1/s",
        headroom=lambda: _own_postmark(access),
        peers={} if missing else {POSTMARK: lambda: _original(buffering)},
        cannot={POSTMARK: missing} if missing else {},
    )


def _own_postmark(access: str) -> float:
    with new_folder(_memory()) as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        workload = {
            "files": FILES,
            "transactions": TRANSACTION_COUNT,
            "read_block_bytes": 1024,
            "write_block_bytes": 1024,
            "read_bias": 3,
        }
        target = {"kind": "folder", "fd": descriptor}
        try:
            carry_out({"seed": 1, "target": target, "workload": workload, "access": access})
        finally:
            os.close(descriptor)
    return float(TRANSACTION_COUNT)


def _original(buffering: str) -> float:
    with new_folder(_memory()) as folder:
        lines = [
            f"set location {folder}",
            f"set number {FILES}",
            f"set transactions {TRANSACTION_COUNT}",
            "set read 1024",
            "set write 1024",
            "set bias read 3",
            f"set buffering {buffering}",
            "run",
            "quit",
        ]
        told = "\n".join(lines) + "\n"
        subprocess.run(["postmark"], input=told, text=True, stdout=subprocess.DEVNULL, check=True)
    return float(TRANSACTION_COUNT)


def sources() -> Case:
    """Return the case of the sources of requests, the plainest against the others."""
    plain, *others = SOURCES
    return Case(
        name=f"source: {plain}",
        metric=DRAWN,
        unit="1/s",
        headroom=_drawn(SOURCES[plain]),
        peers={name: _drawn(SOURCES[name]) for name in others},
    )


def _drawn(workload: dict[str, Any]) -> Work:
    encoded = msgspec.json.encode(workload)

    def work() -> float:
        requests = native.requests(
            workload=encoded, seed=1, target_bytes=100 << 30, count=DRAWN_REQUESTS
        )
        return float(len(requests["kind"]))

    return work


def shown(rows: list[Row]) -> str:
    """Return all rows as text and columns, under a description of the machine."""
    tables = [
        _nothing_table(rows),
        _fio_table(rows),
        _floor_table(rows),
        _program_table(rows),
        _postmark_table(rows),
        _source_table(rows),
    ]
    return "\n\n".join([rows[0].machine, *(aligned(lines) for lines in tables if len(lines) > 1)])


def _nothing_table(rows: list[Row]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("CPU-s per million requests, no target", "Headroom", "beside", "", "ratio", "")
    ]
    for row in _found(rows, COST, NOTHING):
        verdict = verdict_cell(row, TIMED_SHARE) if row.peer == TIMED_RING else ""
        lines.append((f"  {row.case}", _own(row), row.peer, _peer(row), ratio_cell(row), verdict))
    return lines


def _fio_table(rows: list[Row]) -> list[tuple[str, ...]]:
    cost = f"cheaper by (asked: {FIO_COST})"
    rate = f"share of its rate (asked: {FIO_RATE})"
    lines: list[tuple[str, ...]] = [
        ("4 KiB random, CPU-s per million", "Headroom", "beside", "", cost, "", rate, "")
    ]
    for title in ("disk", "tmpfs"):
        costs, rates = _found(rows, COST, f"{title}, "), _found(rows, RATE, f"{title}, ")
        for spent, many in zip(costs, rates, strict=True):
            if spent.peer == bare_io.NAME:
                continue
            marks = (verdict_cell(spent, FIO_COST), ratio_cell(many), verdict_cell(many, FIO_RATE))
            cells = (
                f"  {spent.case}",
                _own(spent),
                spent.peer,
                _peer(spent),
                ratio_cell(spent),
                *marks,
            )
            lines.append(cells)
    return lines


def _floor_table(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return the floor that the kernel sets: the bare loop against Headroom and against fio."""
    lines: list[tuple[str, ...]] = [
        (
            "the least that it can cost",
            "Headroom",
            "bare loop",
            "ratio",
            "no tool beats fio by more than",
        )
    ]
    lines += [
        (f"  {row.case}", _own(row), _peer(row), ratio_cell(row), _most(rows, row))
        for row in _found(rows, COST, "")
        if row.peer == bare_io.NAME
    ]
    return lines


def _most(rows: list[Row], floor: Row) -> str:
    """Return by how much a tool could be cheaper than fio that were as cheap as the bare loop."""
    theirs = [
        row.peer_value
        for row in _found(rows, COST, floor.case)
        if row.peer != bare_io.NAME and row.peer_value is not None
    ]
    if not theirs or not floor.peer_value:
        return ""
    return figure(min(theirs) / floor.peer_value)


def _program_table(rows: list[Row]) -> list[tuple[str, ...]]:
    head = ("of it outside of the kernel", "Headroom", "beside", "", "cheaper by")
    of_program = _found(rows, PROGRAM, "")
    return [
        head,
        *(
            (f"  {row.case}", _own(row), row.peer, _peer(row), ratio_cell(row))
            for row in of_program
        ),
    ]


def _postmark_table(rows: list[Row]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [
        ("us of processor per transaction", "Headroom", "beside", "", "cheaper by")
    ]
    for row in _found(rows, TRANSACTIONS, ""):
        ours, theirs = figure(1e6 / row.headroom), ""
        if row.peer_value is not None:
            theirs = figure(1e6 / row.peer_value)
        lines.append((f"  {row.case}", ours, row.peer, theirs, ratio_cell(row)))
    return lines


def _source_table(rows: list[Row]) -> list[tuple[str, ...]]:
    drawn = _found(rows, DRAWN, "")
    lines: list[tuple[str, ...]] = [
        ("ns of processor to draw a request", "", "times as long as random")
    ]
    lines += [("  random", figure(1e9 / row.headroom), "") for row in drawn[:1]]
    lines += [
        (f"  {row.peer}", figure(1e9 / (row.peer_value or 1.0)), ratio_cell(row)) for row in drawn
    ]
    return lines


def _found(rows: list[Row], metric: str, case: str) -> list[Row]:
    return [row for row in rows if row.metric == metric and row.case.startswith(case)]


def _own(row: Row) -> str:
    return figure(row.headroom)


def _peer(row: Row) -> str:
    return "" if row.peer_value is None else figure(row.peer_value)


def main(arguments: list[str]) -> int:
    """Print the stored table."""
    return print_stored(RESULTS, shown, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
