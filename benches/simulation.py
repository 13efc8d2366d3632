"""The simulation kernel and its peers: station visits per processor second on one core.

All contenders simulate the same models (benches/peers/workloads.py), and a speed counts only if the
answer is the known one. Headroom keeps its full statistics (areas, sums, snapshots, series,
histogram, conservation laws). Its peers keep what the answer needs or what they cannot switch off,
which flatters them, except for the hand-written loop: the ceiling, with the statistics of a visit.
The lengths differ so that each run lasts about half a second to a second; the result is a rate. It
includes everything that a run does, such as setting up and reading the model, but not building the
model in Python.

Instructions for each visit repeat where times do not, so they are guarded: the benchmark fails if
the kernel takes more than `INSTRUCTIONS` says.

`python -m benches.simulation --table` prints the table of `docs/reference/speed.md` from the stored
results, without measuring anything.
"""

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers import (
    ciw_models,
    line_engine,
    own_models,
    rust_programs,
    simpy_models,
)
from benches.peers.counting import Counts, for_each_visit
from benches.peers.workloads import (
    CENTRAL_SERVER,
    MANY_JOBS,
    MM1,
    MMC,
    MMC_OFFERED,
    MMC_SERVERS,
    PIPELINE,
    WORKLOADS,
    PeerMissingError,
    Run,
    Workload,
    verified,
)
from headroom.simulation import Model, simulate
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.language.stations import Discipline

RESULTS = Path(__file__).resolve().parent / "results" / "simulation.json"
VISITS = "station visits per processor second"
PARALLEL = 2
PARALLEL_CYCLES = 4_000_000
PROBE_LIMIT_S = 900.0
SCALES = {"1/s": (1e6, "million visits/s"), "B": (2**20, "MiB")}
GUARDED = (MM1, MMC, CENTRAL_SERVER, PIPELINE)
COUNTED_LENGTHS = (50_000, 250_000)
COUNTED = {"instructions": "instructions", "mispredicted": "mispredicted branches"}
OF_KEY: dict[str, Callable[[], Model]] = {
    "mm1": own_models.mm1,
    "mm4": partial(own_models.open_queue, MMC_OFFERED, MMC_SERVERS),
    "central-server": own_models.central_server,
    "pipeline": own_models.pipeline,
}
DISCIPLINES: dict[Discipline, str] = {
    "priority": "by priority",
    "priority_preempt": "by priority, preemptive",
    "lcfs": "last come, first served",
    "random": "random order",
    "ps": "processor sharing",
}
INSTRUCTIONS = {
    "mm1": 694,
    "mm4": 752,
    "central-server": 490,
    "pipeline": 552,
    "priority": 1033,
    "priority_preempt": 2222,
    "lcfs": 899,
    "random": 950,
    "ps": 2206,
}
"""Instructions of the kernel for each visit, by rustc 1.95."""
TOLERATED = 0.02
"""Part of these by which another compiler may differ."""

IN_ORDER = "first come, first served"
"""What other disciplines are compared with."""

Contender = Callable[[], Run]


def cases() -> list[Case]:
    """Return the comparisons of this part; missing peers are built or installed first."""
    peers = _peers()
    workloads = (*WORKLOADS, MANY_JOBS)
    speeds = [_speed_case(workload, peers) for workload in workloads if _can_express(workload)]
    is_built = not any("" in peer.cannot for peer in peers)
    counted = [*count_cases(), *discipline_cases()] if is_built else []
    return [*speeds, parallel_case(), *counted, memory_case(10_000_000), large_memory_case()]


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
        rust_programs.build("nexosim-models", "bare-loop", "kernel-run")
    except PeerMissingError as missing:
        return [Peer(nexosim, {}, {"": str(missing)})]
    return [
        Peer(nexosim, _programs("nexosim-models", rust_programs.NEXOSIM_VISITS)),
        Peer(rust_programs.LOOP, _programs("bare-loop", rust_programs.LOOP_VISITS)),
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


def count_cases() -> list[Case]:
    """Return the cases of instructions, and of mispredicted branches, for each visit."""
    folder = Path(tempfile.mkdtemp(prefix="headroom-bench-"))
    return [case for workload in GUARDED for case in _count_cases(workload, folder)]


def _count_cases(workload: Workload, folder: Path) -> list[Case]:
    commands: dict[str, Callable[[int], list[str]]] = {
        "kernel": _kernel_run(OF_KEY[workload.key](), folder / f"{workload.key}.json"),
        "loop": lambda length: [_path("bare-loop"), workload.key, str(length)],
    }
    counted = cache(lambda name: for_each_visit(commands[name], COUNTED_LENGTHS))
    return [
        Case(
            name=workload.title,
            metric=f"{what} for each visit",
            unit="1",
            headroom=partial(_guarded, workload.key, partial(counted, "kernel"), attribute),
            peers={rust_programs.LOOP: lambda name=attribute: getattr(counted("loop"), name)},  # type: ignore[misc]
            measure="returned",
            better="low",
            repeats=1,
            unmeasured=0,
        )
        for attribute, what in COUNTED.items()
    ]


def _path(name: str) -> str:
    return str(rust_programs.path_of(name))


def _kernel_run(model: Model, file: Path) -> Callable[[int], list[str]]:
    """Write a model; return the command that simulates it without Python."""
    file.write_bytes(canonical_json(model))
    return lambda length: [_path("kernel-run"), str(file), str(length)]


def discipline_cases() -> list[Case]:
    """Return the cases of instructions for each visit to stations of other disciplines."""
    folder = Path(tempfile.mkdtemp(prefix="headroom-bench-"))
    commands = {
        key: _kernel_run(own_models.by_discipline(key), folder / f"{key}.json")
        for key in ("fcfs", *DISCIPLINES)
    }
    counted = cache(lambda name: for_each_visit(commands[name], COUNTED_LENGTHS))
    return [
        Case(
            name=f"{MM1.title}, {words}",
            metric="instructions for each visit",
            unit="1",
            headroom=partial(_guarded, key, partial(counted, key), "instructions"),
            peers={IN_ORDER: lambda: counted("fcfs").instructions},
            measure="returned",
            better="low",
            repeats=1,
            unmeasured=0,
        )
        for key, words in DISCIPLINES.items()
    ]


def _guarded(key: str, counted: Callable[[], Counts], attribute: str) -> float:
    counts = counted()
    check_instructions(key, counts.instructions)
    return float(getattr(counts, attribute))


def check_instructions(key: str, instructions: float) -> None:
    """Raise if a visit takes more instructions than it should.

    Examples
    --------
    >>> check_instructions("mm1", INSTRUCTIONS["mm1"])
    >>> check_instructions("mm1", 900)
    Traceback (most recent call last):
    ...
    RuntimeError: mm1: 900 instructions for each visit, ...
    """
    known = INSTRUCTIONS[key]
    if instructions > known * (1 + TOLERATED):
        raise RuntimeError(
            f"{key}: {instructions:.0f} instructions for each visit, known are {known}; "
            "find what the change costs, or raise INSTRUCTIONS in benches/simulation.py and say why"
        )


def large_memory_case() -> Case:
    """Return the case of the memory that the largest model takes, its start included."""
    return Case(
        name=MANY_JOBS.title,
        metric="largest resident memory of the whole process",
        unit="B",
        headroom=_probe(6_000_000, "many-jobs"),
        peers={"Headroom, the model built and not run": _probe(0, "many-jobs")},
        measure="returned",
        better="low",
        repeats=1,
        unmeasured=0,
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


def _probe(completions: int, key: str = "mm1") -> Work:
    def work() -> float:
        argv = [sys.executable, "-m", "benches.probes.resident_memory", str(completions), key]
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
        scale, unit = SCALES[row.unit]
        own, other = (figure(value / scale) for value in (row.headroom, row.peer_value or math.nan))
        blocks.append(
            f"{row.case}: {row.metric}\n"
            f"  {own} {unit}; {row.peer}: {other} {unit}; ratio {_ratio(row)}"
        )
    return "\n\n".join(blocks)


def count_table(rows: list[Row]) -> str:
    """Return the cost of each visit, of Headroom and of what it is compared with.

    Examples
    --------
    >>> row = Row(
    ...     case="queue", metric="instructions for each visit", unit="1", headroom=512.0,
    ...     peer="loop", peer_value=256.0, ratio=0.5, ratio_range=(0.5, 0.5),
    ...     headroom_range=(512.0, 512.0), peer_range=(256.0, 256.0), repeats=1, machine="m",
    ... )
    >>> print(count_table([row]))
    for each visit       Headroom  loop
    queue: instructions  512       256
    """
    head = ("for each visit", "Headroom", rows[0].peer)
    lines = [
        (
            f"{row.case}: {row.metric.removesuffix(' for each visit')}",
            figure(row.headroom),
            figure(math.nan if row.peer_value is None else row.peer_value),
        )
        for row in rows
    ]
    return aligned([head, *lines])


def shown(rows: list[Row]) -> str:
    """Return all rows as text and columns, under a description of the machine."""
    speeds = [row for row in rows if row.metric == VISITS]
    counts = [row for row in rows if row.unit == "1"]
    others = [row for row in rows if row.metric != VISITS and row.unit != "1"]
    parts = [rows[0].machine, speed_table(speeds)]
    peers = dict.fromkeys(row.peer for row in counts)
    parts += [count_table([row for row in counts if row.peer == peer]) for peer in peers]
    return "\n\n".join([*parts, threads_and_memory(others)])


def main(arguments: list[str]) -> int:
    """Print the stored table."""
    return print_stored(RESULTS, shown, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
