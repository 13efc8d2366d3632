"""Gates of CI jobs: how often they are red by chance, and how often they see 3%.

`python -m benches.gates` records the times of a program while a neighbour makes noise, and
simulates gates of the shipped code with them: 2,000 each of a program alone, equal and 3% slower,
and of suites of 100 equal rows, and 500 suites of which one row is slower. `--real 60 30` runs jobs
instead, by the action's own script, on a repository that it makes: 60 equal, and 30 whose head
takes 3% more processor time. `--cost` takes the time of a gate of 100 benchmarks beside that of one
usual run of their suite, with the program that `HEADROOM_BENCH_SUITE` names, one of
google-benchmark. `--table` prints what is stored.

A simulated process takes the next recorded times, so runs of a block are consecutive; each row of a
suite begins at a place of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any
from unittest import mock

import numpy as np

from headroom.gate.question import Question
from headroom.gate.suites import measuring
from headroom.gate.suites.compare import compare_suite
from headroom.gate.suites.running import Suite
from headroom.gate.suites.tool import Choice, Sample
from headroom.gate.suites.tools import tool_of

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results" / "gates.json"
SHARE, ROWS, LOOPS = 0.03, 100, 1_000_000
GATES = {(1, 0.0): 2_000, (1, SHARE): 2_000, (ROWS, 0.0): 2_000, (ROWS, SHARE): 500}
"""Rows and slowdown -> simulated gates."""
_RECORDED, _CALIBRATED = 2_000, 20
_METRICS = ("processor_time_s", "wall_s")
_PER_LINE = 100
"""Recorded runs in a line of the file."""
_SEED = 20_261_130
_NEIGHBOUR = """
import random, time
while True:
    end = time.perf_counter() + random.uniform(0.02, 0.5)
    while time.perf_counter() < end: pass
    time.sleep(random.uniform(0.02, 0.5))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Gates of one kind."""

    kind: str
    slower: float
    gates: int
    red: int
    blind: int
    other: int
    """Without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The time (s) of one usual run of a suite, and of a gate of it, two builds included."""

    rows: int
    suite_s: float
    gate_s: float


@contextmanager
def neighbour() -> Iterator[None]:
    """Let another program compute half of the time, in bursts."""
    process = subprocess.Popen([sys.executable, "-c", _NEIGHBOUR])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def write_program(folder: Path, loops: int) -> None:
    """Write a program of so many loops."""
    loop = f"for (i = 0; i < {loops}; i++) s += i * i"
    path = folder / "work"
    path.write_text(f"#!/bin/sh\nexec awk 'BEGIN {{ {loop} }}'\n", encoding="utf-8")
    path.chmod(0o755)


def runs_of(loops: int, count: int) -> list[list[Sample]]:
    """Run the program in consecutive processes; return their processor and wall times."""
    suite = Suite(name="program", tool=tool_of("program"), commands=[["./work"]], time_limit_s=60.0)
    with tempfile.TemporaryDirectory() as name:
        write_program(Path(name), loops)
        return [suite.run(Path(name), Choice()) for _ in range(count)]


@cache
def _beginning() -> float:
    """Return the share of the program's processor time that its loop does not take."""
    nothing, whole = (
        min(run[0].value for run in runs_of(loops, _CALIBRATED)) for loops in (0, LOOPS)
    )
    return min(0.5, nothing / whole)


def loops_of(slower: float) -> int:
    """Return the loops with which the program takes so much more processor time."""
    return round(LOOPS * (1.0 + slower / (1.0 - _beginning())))


def recording() -> list[list[float]]:
    """Return the logarithms of processor and wall time of consecutive processes."""
    with neighbour():
        runs = runs_of(LOOPS, _RECORDED)
    return [[round(float(np.log(one.value)), 5) for one in run] for run in runs]


class Recorded:
    """A suite whose samples are recorded ones; in the head, the first row is slower."""

    def __init__(self, times: np.ndarray[Any, Any], rows: int, slower: float, seed: int) -> None:
        self.name = "program" if rows == 1 else "go"
        self.times, self.slower = times, slower
        places = np.random.default_rng([_SEED, seed]).integers(len(times), size=rows)
        self.places = {f"row {number}": int(place) for number, place in enumerate(places)}
        self.clock_s = 0.0
        self.metrics = _METRICS if rows == 1 else _METRICS[:1]

    def run(self, folder: Path, choice: Choice) -> list[Sample]:
        """Return the next recorded sample of each row; each takes a tenth of a second."""
        found = []
        self.clock_s += 0.1 * len(choice.wanted or self.places)
        for name in choice.wanted or self.places:
            place = self.places[name] = (self.places[name] + 1) % len(self.times)
            slower = 1.0 + self.slower * (folder.name == "head" and name == "row 0")
            found += [
                Sample(name=name, metric=metric, value=float(self.times[place, number]) * slower)
                for number, metric in enumerate(self.metrics)
            ]
        return found


def simulated(times: np.ndarray[Any, Any], rows: int, slower: float, count: int) -> Line:
    """Return how gates decide whose samples are recorded."""
    verdicts = Counter[str]()
    for seed in range(count):
        suite: Any = Recorded(times, rows, slower, seed)
        with mock.patch.object(measuring, "monotonic", lambda suite=suite: suite.clock_s):
            result = compare_suite(
                suite, [Path("base"), Path("head")], labels=["base", "head"],
                question=Question(fail_on_regression=SHARE),
            )  # fmt: skip
        found = result.gate.suspicions if result.gate else []
        hits = {one.first.experiment for one in found if one.verdict == "regression"}
        is_red = "row 0" in hits if slower else bool(hits)
        verdicts["regression" if is_red else result.gate.verdict if result.gate else "none"] += 1
    kind = "a program, recorded noise" if rows == 1 else f"{rows} rows, recorded noise"
    return _line(kind, slower, verdicts)


def _line(kind: str, slower: float, verdicts: Counter[str]) -> Line:
    known = {"passed", "regression", "blind"}
    return Line(
        kind=kind, slower=slower, gates=sum(verdicts.values()), red=verdicts["regression"],
        blind=verdicts["blind"], other=sum(n for name, n in verdicts.items() if name not in known),
    )  # fmt: skip


def repository(folder: Path, slower: float) -> str:
    """Make a repository with a known program at base and head; return the base."""

    def git(*words: str) -> str:
        argv = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words]
        done = subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    commits = []
    for more in (0.0, slower):
        write_program(folder, loops_of(more))
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", "next")
        commits.append(git("rev-parse", "HEAD"))
    return commits[0]


def real(slower: float, count: int) -> Line:
    """Return how jobs decide that run the action's own script."""
    verdicts = Counter[str]()
    names = {0: "passed", 3: "regression", 4: "blind"}
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT")}
    with neighbour():
        for _ in range(count):
            with tempfile.TemporaryDirectory() as name:
                base = repository(Path(name), slower)
                settings = {
                    "GATE_RUN": "./work", "GATE_BASE": base, "GATE_BUILD": "true",
                    "GITHUB_STEP_SUMMARY": f"{name}/summary.md", "HEADROOM_QUIET": "1",
                    "HEADROOM": str(Path(sys.executable).with_name("headroom")),
                }  # fmt: skip
                job = subprocess.run(
                    [ROOT / "scripts" / "gate-job"], cwd=name, env={**own, **settings},
                    capture_output=True, check=False,
                )  # fmt: skip
            verdicts[names.get(job.returncode, "none")] += 1
            print(f"   {slower:.0%} slower: {dict(verdicts)}", file=sys.stderr, flush=True)
    return _line("jobs of the action's script, a neighbour", slower, verdicts)


def table(lines: Sequence[Line], costs: Sequence[Cost]) -> str:
    """Return gates and costs as Markdown."""
    rows = ["| gates | slower | number | red | blind | no answer |", "| --- |" + " ---: |" * 5]
    rows += [
        f"| {one.kind} | {one.slower:.0%} | {one.gates:,} | {one.red} "
        f"({100 * one.red / one.gates:.1f}%) | {one.blind} | {one.other} |"
        for one in lines
    ]
    rows += [
        f"\n{one.rows} benchmarks: one usual run takes {one.suite_s:.0f} s, a gate "
        f"{one.gate_s:.0f} s, {one.gate_s / one.suite_s:.1f} times as long."
        for one in costs
    ]
    return "\n".join(rows)


def cost(program: str) -> Cost:
    """Return the time of one usual run of a program of google-benchmark, and of a gate of it."""
    listed = subprocess.run(
        [program, "--benchmark_list_tests"], capture_output=True, text=True, check=True
    ).stdout
    start_s = monotonic()
    subprocess.run([program], check=True, capture_output=True)
    suite_s = monotonic() - start_s
    with tempfile.TemporaryDirectory() as name:
        base = repository(Path(name), 0.0)
        headroom = Path(sys.executable).with_name("headroom")
        start_s = monotonic()
        subprocess.run(
            [headroom, "gate", "--base", base, "--suite", "google-benchmark", "--quiet", program],
            cwd=name, check=False, stdout=sys.stderr,
        )  # fmt: skip
        gate_s = monotonic() - start_s
    return Cost(rows=len(listed.split()), suite_s=suite_s, gate_s=gate_s)


def load(path: Path = RESULTS) -> dict[str, Any]:
    """Return what is stored: `times`, `lines` and `costs`."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        "times": data["times"],
        "lines": [Line(**one) for one in data["lines"]],
        "costs": [Cost(**one) for one in data["costs"]],
    }


def store(data: dict[str, Any], path: Path = RESULTS) -> None:
    """Write all; the file is replaced whole or not at all."""
    parts = {
        "lines": ",\n".join(json.dumps(asdict(one)) for one in data["lines"]),
        "costs": ",\n".join(json.dumps(asdict(one)) for one in data["costs"]),
        "times": ",\n".join(
            ", ".join(map(json.dumps, data["times"][start : start + _PER_LINE]))
            for start in range(0, len(data["times"]), _PER_LINE)
        ),
    }
    text = ",\n".join(f'"{name}": [\n{rows}\n]' for name, rows in parts.items())
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    unfinished.replace(path)


def main(arguments: Sequence[str]) -> int:
    """Record and simulate, or run jobs, or print what is stored."""
    parser = argparse.ArgumentParser(prog="python -m benches.gates")
    parser.add_argument("--table", action="store_true", help="print what is stored")
    parser.add_argument("--real", type=int, nargs=2, metavar=("SAME", "SLOWER"), help="run jobs")
    parser.add_argument("--cost", action="store_true", help="take the time of a suite's gate")
    parser.add_argument("--again", action="store_true", help="simulate with the stored recording")
    chosen = parser.parse_args(arguments)
    data = load() if RESULTS.exists() else {"times": [], "lines": [], "costs": []}
    jobs, rest = ([one for one in data["lines"] if one.kind.startswith("jobs") == is_job]
                  for is_job in (True, False))  # fmt: skip
    if chosen.real:
        counts = zip((0.0, SHARE), chosen.real, strict=True)
        jobs = [real(slower, count) for slower, count in counts]
    elif chosen.cost:
        data["costs"] = [cost(os.environ["HEADROOM_BENCH_SUITE"])]
    elif not chosen.table:
        data["times"] = data["times"] if chosen.again else recording()
        store(data)
        times = np.exp(np.array(data["times"]))
        rest = [simulated(times, *kind, count) for kind, count in GATES.items()]
    data["lines"] = [*jobs, *rest]
    if not chosen.table:
        store(data)
    print(table(data["lines"], data["costs"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
