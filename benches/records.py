"""The record store and its peers: ordered stores of records of 64 bytes in memory.

One program (`benches/nexosim/src/record_stores`) holds all stores at once and lets them take turns:
random inserts until all records are there, then random look-ups, each copied out, scans in the
order of the numbers, all copied out, and sums in physical order. Each figure is one thread's
processor time. Beside them stand the floors of the machine, measured in the same rounds: random
lines of which 32 are asked for at once, and lines that are read in a row.

All stores have huge pages (the peers by ``GLIBC_TUNABLES``; LMDB keeps a file in memory, whose
pages nobody chooses), or none has. What the system gave is read from `smaps_rollup`; a run whose
memory is not as asked for has no result.

The program runs with as much preference as the system permits, because processor time on a shared
machine still contains what the neighbours take from the caches. `python -m benches.records --table`
prints the stored results, without measuring anything.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Literal, TypeAlias

from benches.folders import new_folder
from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers import rust_programs

PROGRAM = "record-stores"
# All that is timed is generic or C, so it is compiled in its crate as a whole: optimising all
# crates together would double the time of the build, and change nothing.
BUILD = ("--features", "stores", "--config", "profile.release.lto=false")
RESULTS = Path(__file__).resolve().parent / "results" / "records.json"
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 (a folder of its own is made there)

SHAPE = "sorted/4096/256/32/1"
"""The structure that does all three: layout, node (B), index node (B), batch, nodes ahead."""
ARRAY = "array/4096/256/32/16"
"""Records where they were inserted: what a sum in physical order reads."""
RECORDS = (500_000, 10_000_000)
ROUNDS = 6
PEERS = ("BTreeMap", "sweep-bptree", "blart", "congee", "LMDB")
FLOOR = "floor"
LIMIT_S = 3600.0
HUGE_SHARE, SMALL_SHARE = 0.9, 0.01
"""Least share of the memory in huge pages where they are asked for, and most where they are not."""

Pages: TypeAlias = Literal["huge", "small"]
WORKS = {
    "insert": "random inserts",
    "look_up": "random look-ups",
    "scan": "in-order scan",
    "sum": "sum in physical order",
}
FLOOR_OF = {"look_up": "line", "scan": "read", "sum": "read"}
"""The floor that stands beside a work; inserts have none."""
METRIC = "processor time per record"
GOALS = {
    ("look_up", "BTreeMap"): 8.0,
    ("look_up", "blart"): 2.0,
    ("look_up", "congee"): 2.0,
    ("scan", "BTreeMap"): 5.0,
    ("insert", "BTreeMap"): 1.0,
    ("sum", FLOOR): 0.9,
}
"""Least ratio for the largest table: how many times faster, or the share of the floor."""


class MemoryNotAsAskedError(Exception):
    """The system gave other pages than the run was to have."""


@dataclass(slots=True)
class Turns:
    """One run of the program, in which all stores take turns; it begins with the first figure.

    Parameters
    ----------
    records, pages
        The table, and the pages of all stores.
    """

    records: int
    pages: Pages
    figures: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def contender(self, work: str, store: str) -> Work:
        """Return a function that returns the time (ns) of the next round with every call."""
        rounds = iter(range(ROUNDS))
        return lambda: self._figures()[work, store][next(rounds)]

    def _figures(self) -> dict[tuple[str, str], list[float]]:
        if not self.figures:
            self.figures = read_figures(self._output())
        return self.figures

    def _output(self) -> str:
        with new_folder(memory_folder()) as folder:
            argv = [
                *preferred(),
                str(rust_programs.TARGET / "release" / PROGRAM),
                *(str(self.records), self.pages, folder, str(ROUNDS), SHAPE, ARRAY),
            ]
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                check=True,
                timeout=LIMIT_S,
                env=environment(self.pages),
            )
        lines = done.stdout.splitlines()
        check_memory(json.loads(lines[-1]), self.pages)
        return "\n".join(lines[:-1])


def memory_folder() -> Path:
    """Return the folder of files in memory, the one of temporary files where there is none."""
    return MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else Path(gettempdir())


def preferred() -> list[str]:
    """Return the command before a command that gives it preference, if the system permits it."""
    tried = ["nice", "-n", "-5"]
    if shutil.which("nice") is None:
        return []
    done = subprocess.run([*tried, "true"], capture_output=True, text=True, check=False)
    return tried if done.returncode == 0 and not done.stderr else []


def environment(pages: Pages) -> dict[str, str]:
    """Return the environment that tells the allocator which pages to use."""
    tunable = f"glibc.malloc.hugetlb={1 if pages == 'huge' else 0}"
    return {**os.environ, "GLIBC_TUNABLES": tunable}


def read_figures(output: str) -> dict[tuple[str, str], list[float]]:
    """Return the time (ns) for each record, round by round, of each work and store.

    Examples
    --------
    >>> read_figures('{"work": "scan", "store": "blart", "round": 0, "count": 1000000, "s": 0.5}')
    {('scan', 'blart'): [500.0]}
    """
    figures: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in output.splitlines():
        row = json.loads(line)
        figures[row["work"], row["store"]].append(row["s"] / row["count"] * 1e9)
    return dict(figures)


def check_memory(found: dict[str, int], pages: Pages) -> None:
    """Refuse a run whose memory was not in the pages that it was to have.

    Raises
    ------
    MemoryNotAsAskedError
        If so; the message holds the share of huge pages.
    """
    share = found["huge_bytes"] / found["anonymous_bytes"]
    is_as_asked = share >= HUGE_SHARE if pages == "huge" else share <= SMALL_SHARE
    if not is_as_asked:
        raise MemoryNotAsAskedError(
            f"{share:.0%} of the memory was in huge pages, though {pages} ones were asked for: "
            "see /sys/kernel/mm/transparent_hugepage/enabled and the free memory"
        )


def cases() -> list[Case]:
    """Return the cases: every work, for each size of the table, with huge pages and without."""
    rust_programs.build(PROGRAM, options=BUILD)
    tables = [Turns(records, pages) for records in RECORDS for pages in ("huge", "small")]
    return [case for turns in tables for case in cases_of(turns)]


def cases_of(turns: Turns) -> list[Case]:
    """Return the cases of one table, the floor of each work among its peers."""
    table = f"{turns.records:,} records, {turns.pages} pages"
    cases = []
    for work, title in WORKS.items():
        contenders = {} if work == "sum" else {name: (work, name) for name in PEERS}
        if work in FLOOR_OF:
            contenders[FLOOR] = (FLOOR_OF[work], FLOOR)
        for shape in (SHAPE, ARRAY) if work == "sum" else (SHAPE,):
            layout = shape.partition("/")[0]
            cases.append(
                Case(
                    name=f"{title}, {layout}, {table}",
                    metric=METRIC,
                    unit="ns",
                    measure="returned",
                    better="low",
                    repeats=ROUNDS,
                    unmeasured=0,
                    headroom=turns.contender(work, f"headroom {shape}"),
                    peers={name: turns.contender(*key) for name, key in contenders.items()},
                )
            )
    return cases


def shown(rows: list[Row]) -> str:
    """Return the table: a line for each work and peer, with the ratio and its spread."""
    lines: list[tuple[str, ...]] = [
        (
            "work",
            "ns a record",
            "from",
            "to",
            "beside",
            "ns a record",
            "ratio",
            "from",
            "to",
            "goal",
        )
    ]
    for row in rows:
        if row.peer_value is None or row.ratio is None or row.ratio_range is None:
            continue
        own, ratios = row.headroom_range, row.ratio_range
        numbers = (row.headroom, own[0], own[1])
        lines.append(
            (
                row.case,
                *(figure(number) for number in numbers),
                row.peer,
                *(figure(number) for number in (row.peer_value, row.ratio, ratios[0], ratios[1])),
                verdict(row.case, row.peer, ratios),
            )
        )
    return aligned(lines)


def verdict(case: str, peer: str, ratios: tuple[float, float]) -> str:
    """Return whether a ratio, between two bounds, reaches its goal; nothing where there is none.

    Examples
    --------
    >>> verdict("in-order scan, sorted, 10,000,000 records, huge pages", "BTreeMap", (5.1, 5.9))
    '5.00: met'
    >>> verdict("in-order scan, sorted, 10,000,000 records, huge pages", "BTreeMap", (4.1, 5.9))
    '5.00: undecided'
    >>> verdict("in-order scan, sorted, 500,000 records, huge pages", "BTreeMap", (4.1, 4.9))
    ''
    """
    work = next(name for name, title in WORKS.items() if case.startswith(title))
    goal = GOALS.get((work, peer))
    if goal is None or f" {max(RECORDS):,} records" not in case:
        return ""
    low, high = ratios
    word = "met" if low >= goal else "missed" if high < goal else "undecided"
    return f"{figure(goal)}: {word}"


if __name__ == "__main__":
    sys.exit(print_stored(RESULTS, shown, sys.argv[1:]))
