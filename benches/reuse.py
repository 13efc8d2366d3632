"""Sweeps of caches: what all sizes cost compared with the simulation of one.

One program (`benches/nexosim/src/sweeps`) lets them take turns on the same streams: words in
sequence, random words in 64 MiB, lines of 64 MiB by Zipf's law, and a blocked LU decomposition. A
sweep has 1, 2, 4 ... 1,024 sets with 1 to 16 ways: 176 caches of one size of line, or 1,056 of six.
The program fails unless the misses of each single cache are those in the sweeps.

The single simulation is `Cache` of the compiled part with 64 sets of 8 ways; caches with more sets
and ways are shown too. Figures are the thread's processor time for each access. Cachegrind
simulates one hierarchy while it runs the program; its time is the difference of runs that make the
accesses three times and once. pycachesim simulates one cache, if it is installed.

`python -m benches.reuse --table` prints the stored results, without measuring anything.
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers import rust_programs
from benches.peers.caches import children_s, without_pycachesim, without_valgrind

PROGRAM = "cache-sweeps"
RESULTS = Path(__file__).resolve().parent / "results" / "reuse.json"
STREAMS = {
    "sequential": "words in sequence",
    "random": "random words in 64 MiB",
    "zipf": "Zipf's law over 64 MiB",
    "blocked": "blocked LU decomposition",
}
ACCESSES = 4_000_000
PEER_ACCESSES = 200_000
ROUNDS = 6
LIMIT_S = 1800.0
ONE = "64 sets of 8 ways"
SINGLE = (ONE, "1024 sets of 8 ways", "1024 sets of 16 ways")
WORKS = {"all ways": "176 caches, one size of line", "sweep": "1,056 caches, six sizes of line"}
GOALS = {"all ways": 3.0, "sweep": 10.0}
"""Most times that a sweep may take as long as one simulation."""
CACHEGRIND, PYCACHESIM = "cachegrind, one hierarchy", "pycachesim, one cache"
METRIC = "processor time per access"


@dataclass(slots=True)
class Turns:
    """One run of the program, in which all simulations take turns; it begins with the first figure.

    Parameters
    ----------
    stream
        Kind of stream, a key of `STREAMS`.
    """

    stream: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def contender(self, name: str) -> Work:
        """Return a function that returns the time (ns) of the next round with every call."""
        rounds = iter(range(ROUNDS))
        return lambda: self._figures()[name][next(rounds)]

    def _figures(self) -> dict[str, list[float]]:
        if not self.figures:
            self.figures = read_figures(program("time", self.stream, ACCESSES, ROUNDS).stdout)
        return self.figures


def program(
    action: str, stream: str, accesses: int, rounds: int, *, under: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the program, under another one if that is given."""
    path = rust_programs.TARGET / "release" / PROGRAM
    argv = [*under, str(path), action, stream, str(accesses), str(rounds)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=LIMIT_S)


def read_figures(output: str) -> dict[str, list[float]]:
    """Return the time (ns) of an access, round by round, of each simulation.

    Examples
    --------
    >>> read_figures('{"name": "sweep", "round": 0, "count": 1000000, "s": 0.5}')
    {'sweep': [500.0]}
    """
    figures: dict[str, list[float]] = defaultdict(list)
    for line in output.splitlines():
        row = json.loads(line)
        figures[row["name"]].append(row["s"] / row["count"] * 1e9)
    return dict(figures)


def cases() -> list[Case]:
    """Return the cases: both sweeps of every stream, compared with single caches and peers."""
    rust_programs.build(PROGRAM)
    return [case for stream in STREAMS for case in cases_of(Turns(stream))]


def cases_of(turns: Turns) -> list[Case]:
    """Return the cases of one stream."""
    peers: dict[str, Work] = {}
    cannot: dict[str, str] = {}
    for name, missing, work in (
        (CACHEGRIND, without_valgrind(), cachegrind),
        (PYCACHESIM, without_pycachesim(), pycachesim),
    ):
        if missing:
            cannot[name] = missing
        else:
            peers[name] = remembered(work, turns.stream)
    return [
        Case(
            name=f"{title}: {STREAMS[turns.stream]}",
            metric=METRIC,
            unit="ns",
            measure="returned",
            better="low",
            repeats=ROUNDS,
            unmeasured=0,
            headroom=turns.contender(work),
            peers={**{name: turns.contender(name) for name in SINGLE}, **peers},
            cannot=cannot,
        )
        for work, title in WORKS.items()
    ]


def remembered(work: Callable[[str], float], stream: str) -> Work:
    """Return a work that is done in the first round only: the peers take long."""

    def figures() -> Iterator[float]:
        once = work(stream)
        while True:
            yield once

    rounds = figures()
    return lambda: next(rounds)


def cachegrind(stream: str) -> float:
    """Return the time (ns) of an access under cachegrind."""
    with tempfile.TemporaryDirectory() as folder:
        under = (
            *("valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64"),
            *("--I1=32768,8,64", "--LL=1048576,16,64", f"--cachegrind-out-file={folder}/out"),
        )
        once, thrice = (
            children_s(partial(program, "use", stream, PEER_ACCESSES, times, under=under))
            for times in (1, 3)
        )
    return (thrice - once) / (2 * PEER_ACCESSES) * 1e9


def pycachesim(stream: str) -> float:
    """Return the time (ns) of an access with pycachesim, which gets all of them in one call."""
    peer = importlib.import_module("cachesim")
    memory = peer.MainMemory()
    near = peer.Cache("L1", 64, 8, 64, "LRU")
    memory.load_to(near)
    memory.store_from(near)
    simulator = peer.CacheSimulator(near, memory)
    words = np.array(addresses(stream), dtype=np.uint64)
    is_write = (words >> np.uint64(62) == 1).tolist()
    places = (words & np.uint64(2**56 - 1)).tolist()
    pairs = [
        ((), (place,)) if writes else ((place,), ())
        for place, writes in zip(places, is_write, strict=True)
    ]
    before = time.process_time()
    simulator.loadstore(pairs, length=8)
    return (time.process_time() - before) / len(pairs) * 1e9


def addresses(stream: str) -> list[int]:
    """Return a stream as packed accesses."""
    lines = program("print", stream, PEER_ACCESSES, 1).stdout.splitlines()
    return [int(line, 16) for line in lines]


def shown(rows: list[Row]) -> str:
    """Return the table: for each sweep how many times the others' time it takes, and the goal."""
    lines: list[tuple[str, ...]] = [
        ("sweep", "ns each", "from", "to", "compared with", "ns", "times", "from", "to", "goal")
    ]
    for row in rows:
        own = (row.headroom, *row.headroom_range)
        if row.peer_value is None or row.ratio is None or row.ratio_range is None:
            others: tuple[str, ...] = (f"cannot: {row.reason}", "", "", "", "")
        else:
            times = (1 / row.ratio, 1 / row.ratio_range[1], 1 / row.ratio_range[0])
            others = (*(figure(number) for number in (row.peer_value, *times)), verdict(row, times))
        lines.append((row.case, *(figure(number) for number in own), row.peer, *others))
    return aligned(lines)


def verdict(row: Row, times: tuple[float, float, float]) -> str:
    """Return whether all rounds of a sweep are below its goal; empty if it has none."""
    name = next(name for name, title in WORKS.items() if row.case.startswith(title))
    if row.peer != ONE:
        return ""
    _, low, high = times
    goal = GOALS[name]
    word = "met" if high < goal else "missed" if low >= goal else "undecided"
    return f"{figure(goal)}: {word}"


if __name__ == "__main__":
    sys.exit(print_stored(RESULTS, shown, sys.argv[1:]))
