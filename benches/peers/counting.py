"""Instructions and mispredicted branches of a program for each visit that it simulates.

Counts repeat within a thousandth where times differ by a tenth. The machine counts them if it has
counters and lets `perf` read them; elsewhere `valgrind` counts the instructions, and says which
branches a simple predictor would miss, more than any processor of today does.
"""

import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.peers.workloads import PeerMissingError

LIMIT_S = 300.0
PERF_EVENTS = ("instructions:u", "branch-misses:u", "cache-misses:u")
FIELDS = 3
"""Count, unit and event begin a row of `perf stat`."""
VISITS = re.compile(r"^\s*(\d+)", re.MULTILINE)

Argv = Callable[[int], Sequence[str]]
"""The command that simulates a given length; its first word of output is the number of visits."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a run; not a number if the machine does not count it."""

    visits: float
    instructions: float
    mispredicted: float
    cache_misses: float = math.nan

    def for_each_visit_since(self, shorter: "Counts") -> "Counts":
        """Return the counts of one visit more, from a run and a shorter one.

        Examples
        --------
        >>> Counts(300, 90_000, 450).for_each_visit_since(Counts(100, 30_000, 150))
        Counts(visits=1.0, instructions=300.0, mispredicted=1.5, cache_misses=nan)
        """
        visits = self.visits - shorter.visits
        return Counts(
            1.0,
            (self.instructions - shorter.instructions) / visits,
            (self.mispredicted - shorter.mispredicted) / visits,
            (self.cache_misses - shorter.cache_misses) / visits,
        )


def for_each_visit(argv: Argv, lengths: tuple[int, int]) -> Counts:
    """Return the counts of one visit: the difference of two runs of different lengths.

    Raises
    ------
    PeerMissingError
        If nothing on this machine counts instructions.
    """
    short, long = (_counted(argv(length)) for length in lengths)
    return long.for_each_visit_since(short)


def _counted(argv: Sequence[str]) -> Counts:
    for count in (_by_perf, _by_valgrind):
        counts = count(argv)
        if counts is not None:
            return counts
    raise PeerMissingError("neither counters of the machine nor valgrind count instructions here")


def _by_perf(argv: Sequence[str]) -> Counts | None:
    if shutil.which("perf") is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".csv") as table:
        command = ["perf", "stat", "-x", ",", "-o", table.name, "-e", ",".join(PERF_EVENTS), "--"]
        done = _run([*command, *argv])
        text = Path(table.name).read_text(encoding="utf-8")
    return None if done is None else from_perf(text, _visits(done))


def _by_valgrind(argv: Sequence[str]) -> Counts | None:
    if shutil.which("valgrind") is None:
        return None
    tool = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=yes"]
    done = _run(["valgrind", *tool, "--cachegrind-out-file=/dev/null", *argv])
    return None if done is None else from_valgrind(done.stderr, _visits(done))


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    return done if done.returncode == 0 else None


def _visits(done: subprocess.CompletedProcess[str]) -> float:
    found = VISITS.search(done.stdout)
    return float(found[1]) if found else math.nan


def from_perf(table: str, visits: float) -> Counts | None:
    r"""Return the counts in a table of `perf stat`, if the machine counts instructions.

    Examples
    --------
    >>> from_perf("52000,,instructions:u,1,100\n90,,branch-misses:u,1,100\n", 100)
    Counts(visits=100, instructions=52000.0, mispredicted=90.0, cache_misses=nan)
    >>> from_perf("<not supported>,,instructions:u,0,100\n", 100) is None
    True
    """
    rows = [line.split(",") for line in table.splitlines()]
    counts = {
        row[2]: float(row[0])
        for row in rows
        if len(row) >= FIELDS and row[0].replace(".", "").isdigit()
    }
    if PERF_EVENTS[0] not in counts:
        return None
    return Counts(visits, *(counts.get(event, math.nan) for event in PERF_EVENTS))


def from_valgrind(summary: str, visits: float) -> Counts | None:
    r"""Return the counts in the last lines of cachegrind.

    Examples
    --------
    >>> from_valgrind("==7== I   refs:   1,234\n==7== Mispredicts:   56  (50 cond)", 10)
    Counts(visits=10, instructions=1234.0, mispredicted=56.0, cache_misses=nan)
    """
    instructions = re.search(r"I\s+refs:\s+([\d,]+)", summary)
    mispredicted = re.search(r"Mispredicts:\s+([\d,]+)", summary)
    if instructions is None or mispredicted is None:
        return None
    return Counts(visits, *(float(one[1].replace(",", "")) for one in (instructions, mispredicted)))
