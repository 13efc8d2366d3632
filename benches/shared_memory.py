"""Simulated machines with shared memory: references per processor second.

Headroom simulates programs on four nodes: caches, coherence, placement and time. Beside it stand
the same program run natively by one thread, and for LU two simulators of caches, without nodes,
coherence and time: cachegrind, which runs `benches/peers/blocked_lu.c`, and pycachesim, which gets
the first references of that program.

The last cases are about the hooks: the references of that program are counted while it runs, or
simulated while it runs, or its recording in a file is simulated, beside the plain program, the
hooked one without a trace, and cachegrind.

A rate is references by processor time. A simulation's references are those after the start-up of
its program, though its time includes that. Cachegrind's are the loads and stores of the compiled
code, which are more; the start of its process does not count.

`python -m benches.shared_memory --table` prints the stored results, without measuring anything.
"""

import importlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers.caches import children_s, without_pycachesim, without_valgrind
from headroom.errors import HeadroomError
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.emulated import FarMemoryEmulatedSetup
from headroom.systems.shared_memory.far_memory.online import FarMemoryOnline
from headroom.systems.shared_memory.hook import compile_hooked, record
from headroom.systems.shared_memory.hook.build import RUNTIME, find_compiler
from headroom.systems.shared_memory.program_parameters import program_json
from headroom.systems.shared_memory.simulated.machine_file import setup_json
from headroom.systems.shared_memory.simulated.system import SharedMachine, SharedMachineSetup

RESULTS = Path(__file__).resolve().parent / "results" / "shared_memory.json"
SOURCE = Path(__file__).resolve().parent / "peers" / "blocked_lu.c"
FLAGS = ("-O2", "-fno-tree-vectorize")
"""Without vectors, so that each element is loaded and stored, as in the simulated program."""
MACHINES = ("ncc", "numa")
NODES = 4
METRIC = "references per processor second"
NATIVE = "the program itself, one thread"
CACHEGRIND, PYCACHESIM = "cachegrind, one hierarchy", "pycachesim, one cache"
HOOKED = "LU 256 x 256 in C, references counted while it runs"
REPLAYED = f"LU 256 x 256 in C, its recording simulated, {NODES} nodes, ncc"
ONLINE = "LU 256 x 256 in C, simulated while it runs, 2 nodes, two_socket"
COUNTED = "Headroom, counting while it runs"
PLAIN, UNRECORDED = "the program without hooks", "with hooks, without a trace"
SIZES = ("256", "16")
"""Order of the matrix and of its blocks, in C as in the simulated program."""
TIMES = 5
"""Runs in C that one process makes; cachegrind's is compared with one of a single run."""
CACHEGRIND_TIMES = 5
PEER_EVENTS = 300_000
INSTRUCTIONS_PER_ACCESS = 3
LIMIT_S = 600.0
ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Load:
    """A program that is simulated.

    Parameters
    ----------
    title
        What it computes.
    config
        Its parameters.
    goal
        Least rate (1/s) that is asked for; None without one.
    rounds
        Measured rounds; a load of one round has no unmeasured one.
    threads
        Threads of the native run; the first one's time counts.
    """

    title: str
    config: Mapping[str, Value]
    goal: float | None = None
    rounds: int = ROUNDS
    threads: int = 1


LU = Load("LU 256 x 256", {"program": "lu"}, goal=60e6)
LOADS = (
    LU,
    Load("FFT, 65,536 points", {"program": "fft", "fft_points": 65_536}),
    Load("Ocean 66 x 66", {"program": "ocean"}),
    Load("Barnes, 4,096 bodies", {"program": "barnes"}),
)
_LARGE_OCEAN: Mapping[str, Value] = {
    "program": "ocean",
    "ocean_size": 3074,
    "ocean_steps": 1,
    "ocean_tolerance": 0.1,
    "ocean_time_step_s": 7_000.0,
}
_LARGE_READS: Mapping[str, Value] = {
    "program": "reads",
    "reads_words": 1 << 24,
    "reads_stride": 16,
}
LARGE = (
    Load("Ocean 3,074 x 3,074, 1.34 GiB", _LARGE_OCEAN, goal=15e6, rounds=1),
    Load("reads of each 16 B, far node, 1.25 GiB", _LARGE_READS, goal=15e6, rounds=1, threads=2),
)
"""Larger than all caches; a round may take a minute."""


@dataclass(slots=True)
class Simulated:
    """A load on a machine; its references are those of the last simulation."""

    load: Load
    machine: str
    references: int = field(default=0, init=False)

    def config(self) -> dict[str, Value]:
        """Return all parameters."""
        system = SharedMachine.load(SharedMachineSetup(machine=self.machine), base=Path())
        own = {one.name: one.default for one in system.parameters() if one.default is not None}
        return {**own, "nodes": NODES, **self.load.config}

    def rate(self) -> float:
        """Return the references of a simulation by its processor time (s)."""
        config = self.config()
        before = time.process_time()
        found = native.simulate_program(setup_json(config), program_json(config), seed=1)
        spent_s = time.process_time() - before
        self.references = int(found["accesses"])
        return self.references / spent_s

    def native_rate(self) -> float:
        """Return the same references by the processor time (s) of a native run."""
        program, threads = program_json(self.config()), self.load.threads
        found = native.run_program(
            program, threads=threads, seed=1, warm_runs=0, rounds=1, round_s=0.0
        )
        return self.references / float(found["rounds"][0]["cpu_s"][0])


def cases() -> list[Case]:
    """Return the cases: programs of usual sizes, large ones, and the hooks."""
    small = [simulated(load, machine) for load in LOADS for machine in MACHINES]
    return [*small, *(simulated(load, "ncc") for load in LARGE), *hooked()]


def simulated(load: Load, machine: str) -> Case:
    """Return the case of a program on a machine; LU alone has other simulators beside it."""
    subject = Simulated(load, machine)
    peers: dict[str, Work] = {NATIVE: subject.native_rate}
    cannot: dict[str, str] = {}
    if load == LU:
        reasons = {CACHEGRIND: without_valgrind(), PYCACHESIM: without_pycachesim()}
        peers, cannot = split({**peers, **SIMULATORS}, reasons)
    return Case(
        name=f"{load.title}, {NODES} nodes, {machine}",
        metric=METRIC,
        unit="1/s",
        measure="returned",
        repeats=load.rounds,
        unmeasured=int(load.rounds > 1),
        headroom=subject.rate,
        peers=peers,
        cannot=cannot,
    )


def hooked() -> list[Case]:
    """Return the cases of the hooks, if there is a compiler."""
    works: dict[str, Work] = {
        PLAIN: partial(program_rate, "plain"),
        UNRECORDED: partial(program_rate, "hooked"),
        CACHEGRIND: cachegrind_rate,
    }
    peers, cannot = split(works, {CACHEGRIND: without_valgrind()})
    if without_programs():
        print(f"   left out: {HOOKED}: {without_programs()}", file=sys.stderr)
        return []
    return [
        Case(
            name=HOOKED,
            metric=METRIC,
            unit="1/s",
            measure="returned",
            headroom=recorded_rate,
            peers=peers,
            cannot=cannot,
        ),
        Case(
            name=ONLINE,
            metric=METRIC,
            unit="1/s",
            measure="returned",
            headroom=online_rate,
            peers=peers,
            cannot=cannot,
        ),
        Case(
            name=REPLAYED,
            metric=METRIC,
            unit="1/s",
            measure="returned",
            headroom=replayed_rate,
            peers={COUNTED: recorded_rate, **peers},
            cannot=cannot,
        ),
    ]


def split(
    works: Mapping[str, Work], missing: Mapping[str, str]
) -> tuple[dict[str, Work], dict[str, str]]:
    """Return the peers that are there, and the reason of each other one.

    Examples
    --------
    >>> peers, cannot = split({"a": float, "b": float}, {"b": "b is not installed"})
    >>> list(peers), cannot
    (['a'], {'b': 'b is not installed'})
    """
    needs_c = without_programs()
    reasons = {name: missing.get(name, "") or (needs_c if name != NATIVE else "") for name in works}
    peers = {name: work for name, work in works.items() if not reasons[name]}
    return peers, {name: reason for name, reason in reasons.items() if reason}


@cache
def without_programs() -> str:
    """Return why there is no program in C; empty if there is one."""
    try:
        programs()
    except (HeadroomError, subprocess.CalledProcessError) as error:
        return f"no program in C: {str(error).splitlines()[0]}"
    return ""


@cache
def programs() -> Mapping[str, Path]:
    """Return LU in C, plain and hooked; they are compiled once, and removed at the end."""
    folder = Path(_folder().name)
    plain = folder / "plain"
    argv = [find_compiler(), *FLAGS, f"-I{RUNTIME}", str(SOURCE), "-o", str(plain), "-lm"]
    subprocess.run(argv, check=True, capture_output=True)
    hooked_one = compile_hooked([SOURCE], output=folder / "hooked", flags=[*FLAGS, "-lm"])
    return {"plain": plain, "hooked": hooked_one}


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="headroom-bench-lu-")


def run(kind: str, times: int, *under: str) -> None:
    """Run LU in C some times in one process, under another program if that is given."""
    argv = [*under, str(programs()[kind]), *SIZES, str(times)]
    subprocess.run(argv, check=True, capture_output=True, timeout=LIMIT_S)


@cache
def references_in_c() -> int:
    """Return the references of one run of LU in C, as the hooks count them."""
    return record([programs()["hooked"], *SIZES, "1"]).accesses.accesses


def program_rate(kind: str) -> float:
    """Return the references of LU in C by the processor time (s) of a program of it."""
    references = references_in_c() * TIMES
    return references / children_s(partial(run, kind, TIMES))


def recorded_rate() -> float:
    """Return the references of LU in C by the processor time (s) of program and reader."""
    argv: list[str | Path] = [programs()["hooked"], *SIZES, str(TIMES)]
    counts: list[int] = []
    before = time.process_time()
    spent_s = children_s(lambda: counts.append(record(argv).accesses.accesses))
    return counts[0] / (spent_s + time.process_time() - before)


def online_rate() -> float:
    """Return the references of LU in C by the processor time (s) of the program simulating them."""
    program = str(programs()["hooked"])
    setup = FarMemoryEmulatedSetup(program=program, argv=(*SIZES, str(TIMES)))
    system = FarMemoryOnline.load(setup, base=Path())
    config = {one.name: one.default for one in system.parameters() if one.default is not None}
    counts: list[float] = []
    spent_s = children_s(lambda: counts.append(system.run(config, seed=1).values["accesses"]))
    return counts[0] / spent_s


def replayed_rate() -> float:
    """Return the references of LU in C by the processor time (s) of simulating its recording."""
    setup = setup_json(Simulated(LU, "ncc").config())
    before = time.process_time()
    found = native.simulate_recording(
        str(recording()), setup, instructions_per_access=INSTRUCTIONS_PER_ACCESS
    )
    return int(found["accesses"]) / (time.process_time() - before)


@cache
def recording() -> Path:
    """Return the file with the references of one run of LU in C."""
    path = Path(_folder().name) / "recording"
    record([programs()["hooked"], *SIZES, "1"], trace=path)
    return path


def cachegrind_rate() -> float:
    """Return the loads and stores of LU in C by the processor time (s) of cachegrind."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        under = (
            *("valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--D1=16384,4,32"),
            *("--I1=16384,4,32", "--LL=262144,8,32", f"--cachegrind-out-file={out}"),
        )
        figures = []
        for times in (1, CACHEGRIND_TIMES):
            spent_s = children_s(partial(run, "plain", times, *under))
            figures.append((loads_and_stores(out.read_text(encoding="utf-8")), spent_s))
    (few, few_s), (many, many_s) = figures
    return (many - few) / (many_s - few_s)


def loads_and_stores(text: str) -> int:
    r"""Return the data references in cachegrind's output.

    Examples
    --------
    >>> loads_and_stores("events: Ir I1mr Dr D1mr Dw D1mw\nsummary: 9 0 4 1 2 1\n")
    6
    """
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)
    summary = re.search(r"^summary: (.*)$", text, re.MULTILINE)
    if events is None or summary is None:
        raise ValueError("cachegrind's output has no summary")
    counts = dict(zip(events[1].split(), summary[1].split(), strict=True))
    return int(counts["Dr"]) + int(counts["Dw"])


def pycachesim_rate() -> float:
    """Return the first references of LU in C by the processor time (s) of pycachesim."""
    peer = importlib.import_module("cachesim")
    memory = peer.MainMemory()
    near = peer.Cache("L1", 128, 4, 32, "LRU")
    memory.load_to(near)
    memory.store_from(near)
    simulator = peer.CacheSimulator(near, memory)
    pairs = [((), (place,)) if writes else ((place,), ()) for place, writes in first_references()]
    before = time.process_time()
    simulator.loadstore(pairs, length=8)
    return len(pairs) / (time.process_time() - before)


@cache
def first_references() -> tuple[tuple[int, bool], ...]:
    """Return the first references of LU in C: address, and whether it writes."""
    events, _ = native.trace_events(str(recording()), most=PEER_EVENTS)
    kinds = {"read": False, "write": True}
    return tuple((place, kinds[name]) for _, name, place, _, _ in events if name in kinds)


SIMULATORS: Mapping[str, Work] = {CACHEGRIND: cachegrind_rate, PYCACHESIM: pycachesim_rate}


def shown(rows: list[Row]) -> str:
    """Return the table: millions of references per processor second, ratios, and the goals.

    Examples
    --------
    >>> row = Row(
    ...     case="LU 256 x 256, 4 nodes, ncc", metric=METRIC, unit="1/s", headroom=1.2e8,
    ...     peer="other", peer_value=6e7, ratio=2.0, ratio_range=(1.9, 2.1),
    ...     headroom_range=(1.1e8, 1.3e8), peer_range=(6e7, 6e7), repeats=6, machine="m",
    ... )
    >>> print(shown([row]))
    m
    <BLANKLINE>
    LU 256 x 256, 4 nodes, ncc  million/s            Headroom is faster by  at least
      Headroom                  120 (110 to 130)                            60.0: met
      other                     60.0 (60.0 to 60.0)  2.00 (1.90 to 2.10)
    """
    blocks = [rows[0].machine]
    for case in dict.fromkeys(row.case for row in rows):
        own = [row for row in rows if row.case == case]
        goal = goal_of(case)
        head = (case, "million/s", "Headroom is faster by", "at least" if goal else "")
        first = own[0]
        mine = (_millions(first.headroom, first.headroom_range), "", verdict(first, goal))
        lines = [head, ("  Headroom", *mine)]
        lines += [(f"  {row.peer}", *_peer_cells(row), "") for row in own if row.peer_range]
        text = aligned(lines)
        text += "".join(f"\n  {row.peer} cannot: {row.reason}" for row in own if row.reason)
        blocks.append(text)
    return "\n\n".join(blocks)


def _peer_cells(row: Row) -> tuple[str, str]:
    if row.peer_value is None or row.peer_range is None:
        return "", ""
    if row.ratio is None or row.ratio_range is None:
        return _millions(row.peer_value, row.peer_range), ""
    low, high = row.ratio_range
    ratio = f"{figure(row.ratio)} ({figure(low)} to {figure(high)})"
    return _millions(row.peer_value, row.peer_range), ratio


def _millions(value: float, between: tuple[float, float]) -> str:
    middle, low, high = (figure(number / 1e6) for number in (value, *between))
    return f"{middle} ({low} to {high})"


def goal_of(case: str) -> float | None:
    """Return the least rate (1/s) that a case is asked for.

    Examples
    --------
    >>> goal_of("LU 256 x 256, 4 nodes, numa"), goal_of("Ocean 66 x 66, 4 nodes, ncc")
    (60000000.0, None)
    """
    goals = (load.goal for load in (*LOADS, *LARGE) if case.startswith(f"{load.title}, {NODES}"))
    return next(goals, None)


def verdict(row: Row, goal: float | None) -> str:
    """Return the goal in millions, and whether all rounds reach it; empty if there is none."""
    if goal is None:
        return ""
    low, high = row.headroom_range
    word = "met" if low >= goal else "undecided" if high >= goal else "missed"
    return f"{figure(goal / 1e6)}: {word}"


if __name__ == "__main__":
    sys.exit(print_stored(RESULTS, shown, sys.argv[1:]))
