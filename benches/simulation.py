"""The simulation kernel and its peers: station visits per processor second on one core.

All contenders simulate the same models (benches/peers/workloads.py), and a speed counts only if the
answer is the known one. Headroom keeps its full statistics (areas, sums, snapshots, series,
histogram, conservation laws). Its peers keep what the answer needs or what they cannot switch off,
which flatters them. The lengths differ so that each run lasts about half a second to a second; the
result is a rate. It includes everything that a run does, such as setting up and reading the model,
but not building the model in Python.

`python -m benches.simulation --table` prints the table of `docs/reference/speed.md` from the stored
results, without measuring anything.
"""

import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers import (
    ciw_models,
    line_engine,
    own_models,
    rust_programs,
    simpy_models,
)
from benches.peers.workloads import (
    CENTRAL_SERVER,
    WORKLOADS,
    PeerMissingError,
    Run,
    Workload,
    verified,
)
from headroom.simulation import simulate

RESULTS = Path(__file__).resolve().parent / "results" / "simulation.json"
VISITS = "station visits per processor second"
PARALLEL = 2
PARALLEL_CYCLES = 4_000_000
PROBE_LIMIT_S = 900.0

Contender = Callable[[], Run]


def cases() -> list[Case]:
    """Return the comparisons of this part; missing peers are built or installed first."""
    peers = _peers()
    speeds = [_speed_case(workload, peers) for workload in WORKLOADS if _can_express(workload)]
    return [*speeds, parallel_case(), memory_case(10_000_000)]


def long_cases() -> list[Case]:
    """Return the cases that take minutes."""
    return [memory_case(1_000_000_000)]


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer with the workloads that it can run, and why not the others.

    Parameters
    ----------
    name
        Name with version.
    models
        Key of a workload to what returns its contender.
    cannot
        Key of each other workload to the reason; ``""`` is the reason for all that are not named.
        A workload in neither is left out.
    """

    name: str
    models: Mapping[str, Callable[[], Contender]]
    cannot: Mapping[str, str] = field(default_factory=dict)

    def reason(self, key: str) -> str:
        """Return why the workload `key` is out of reach; empty if it is only left out."""
        return self.cannot.get(key) or self.cannot.get("", "")


def _peers() -> list[Peer]:
    return [
        Peer(simpy_models.NAME, _ready(simpy_models.MODELS)),
        Peer(ciw_models.NAME, _ready(ciw_models.MODELS), ciw_models.CANNOT),
        _line(),
        *_rust(),
    ]


def _ready(runs: Mapping[str, Contender]) -> dict[str, Callable[[], Contender]]:
    """Return the contenders that need no preparation."""
    return {key: lambda run=run: run for key, run in runs.items()}  # type: ignore[misc]


def _line() -> Peer:
    try:
        name = line_engine.name()
    except PeerMissingError as missing:
        return Peer("LINE", {}, {"": str(missing)})
    models = {key: partial(line_engine.prepared, key) for key in line_engine.MODELS}
    return Peer(name, models, line_engine.CANNOT)


def _rust() -> list[Peer]:
    nexosim = rust_programs.nexosim_name()
    try:
        rust_programs.build("nexosim-models", "bare-loop")
    except PeerMissingError as missing:
        return [Peer(nexosim, {}, {"": str(missing)})]
    return [
        Peer(nexosim, _programs("nexosim-models", rust_programs.NEXOSIM_VISITS)),
        Peer(rust_programs.BARE_LOOP, _programs("bare-loop", rust_programs.BARE_LOOP_VISITS)),
    ]


def _programs(name: str, visits: Mapping[str, int]) -> dict[str, Callable[[], Contender]]:
    return {key: partial(rust_programs.program, name, key, count) for key, count in visits.items()}


def _can_express(workload: Workload) -> bool:
    if workload.key != "pipeline" or own_models.CAN_BLOCK:
        return True
    print(f"   left out: {workload.title}: stations have no buffers yet", file=sys.stderr)
    return False


def _speed_case(workload: Workload, peers: list[Peer]) -> Case:
    key = workload.key
    able = [peer for peer in peers if key in peer.models]
    unable = [peer for peer in peers if key not in peer.models and peer.reason(key)]
    return Case(
        name=workload.title,
        metric=VISITS,
        unit="1/s",
        headroom=verified(workload, "Headroom", own_models.MODELS[key]()),
        peers={peer.name: verified(workload, peer.name, peer.models[key]()) for peer in able},
        cannot={peer.name: peer.reason(key) for peer in unable},
    )


def parallel_case() -> Case:
    """Return the case of replications side by side in threads, against one after the other."""
    model = own_models.central_server()

    def replicate(seed: int) -> float:
        return simulate(model, seed=seed, completions=PARALLEL_CYCLES).counters["visits"]

    def in_threads() -> float:
        with ThreadPoolExecutor(PARALLEL) as pool:
            return sum(pool.map(replicate, range(PARALLEL)))

    return Case(
        name=f"{CENTRAL_SERVER.title}, {PARALLEL} replications on {PARALLEL} threads",
        metric="visits per second of elapsed time",
        unit="1/s",
        headroom=in_threads,
        peers={"Headroom, one after the other": lambda: sum(map(replicate, range(PARALLEL)))},
        measure="wall_rate",
    )


def memory_case(customers: int) -> Case:
    """Return the case of a run of `customers` customers, against one of a million."""
    return Case(
        name=f"M/M/1, {customers:,} customers",
        metric="largest resident memory of the whole process",
        unit="B",
        headroom=_probe(customers),
        peers={"Headroom, 1,000,000 customers": _probe(1_000_000)},
        measure="returned",
        better="low",
        repeats=1,
        unmeasured=0,
    )


def _probe(customers: int) -> Work:
    def work() -> float:
        argv = [sys.executable, "-m", "benches.probes.resident_memory", str(customers)]
        root = Path(__file__).resolve().parent.parent
        done = subprocess.run(
            argv, cwd=root, capture_output=True, text=True, check=True, timeout=PROBE_LIMIT_S
        )
        return float(done.stdout)

    return work


def speed_table(rows: list[Row]) -> str:
    """Return the rows of the speed cases: million visits per second of each contender.

    Examples
    --------
    >>> row = Row(
    ...     case="M/M/1", metric=VISITS, unit="1/s", headroom=12.3e6, peer="other", peer_value=1e6,
    ...     ratio=12.3, ratio_range=(12.0, 12.5), headroom_range=(12e6, 13e6),
    ...     peer_range=(1e6, 1e6), repeats=6, machine="m",
    ... )
    >>> print(speed_table([row]))
    M/M/1       million visits/s  Headroom is faster by
      Headroom  12.3
      other     1.00              12.3 (12.0 to 12.5)
    """
    blocks = []
    for case in dict.fromkeys(row.case for row in rows):
        own = [row for row in rows if row.case == case]
        lines = [("  Headroom", _millions(own[0].headroom), "")]
        lines += [(f"  {row.peer}", *_standing(row)) for row in own if not row.reason]
        head = (case, "million visits/s", "Headroom is faster by")
        text = aligned([head, *lines])
        text += "".join(f"\n  {row.peer} cannot: {row.reason}" for row in own if row.reason)
        blocks.append(text)
    return "\n\n".join(blocks)


def _standing(row: Row) -> tuple[str, str]:
    return _millions(row.peer_value or math.nan), _ratio(row)


def _ratio(row: Row) -> str:
    low, high = row.ratio_range or (math.nan, math.nan)
    return f"{figure(row.ratio or math.nan)} ({figure(low)} to {figure(high)})"


def _millions(per_second: float) -> str:
    return figure(per_second / 1e6)


def threads_and_memory(rows: list[Row]) -> str:
    """Return the rows that compare Headroom with itself.

    Examples
    --------
    >>> row = Row(
    ...     case="long run", metric="memory", unit="B", headroom=2**20, peer="short run",
    ...     peer_value=2**20, ratio=1.0, ratio_range=(1.0, 1.0), headroom_range=(2**20, 2**20),
    ...     peer_range=(2**20, 2**20), repeats=1, machine="m",
    ... )
    >>> print(threads_and_memory([row]))
    long run: memory
      1.00 MiB; short run: 1.00 MiB; ratio 1.00 (1.00 to 1.00)
    """
    blocks = []
    for row in rows:
        scale, unit = (1e6, "million visits/s") if row.unit == "1/s" else (2**20, "MiB")
        own, other = (figure(value / scale) for value in (row.headroom, row.peer_value or math.nan))
        blocks.append(
            f"{row.case}: {row.metric}\n"
            f"  {own} {unit}; {row.peer}: {other} {unit}; ratio {_ratio(row)}"
        )
    return "\n\n".join(blocks)


def shown(rows: list[Row]) -> str:
    """Return all rows as text and columns, under a description of the machine."""
    speeds = [row for row in rows if row.metric == VISITS]
    others = [row for row in rows if row.metric != VISITS]
    return "\n\n".join([rows[0].machine, speed_table(speeds), threads_and_memory(others)])


def main(arguments: list[str]) -> int:
    """Print the stored table."""
    return print_stored(RESULTS, shown, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
