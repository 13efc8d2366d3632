"""Gates beside hyperfine: false claims and slowdowns found, on this machine, as busy as it is.

`python -m benches.slowdowns --gates 65 22` compares a command with itself 65 times and with one
that computes 3% more 22 times, adds the table to `benches/results/slowdowns.json` and prints it;
`--table` prints the stored one. Each comparison has 25 pairs. Headroom measures its suspicions
again, and judges what it judges by itself; hyperfine has no gate, so a claim is what its own script
`welch_ttest.py` says of its 25 wall times of each: slower at 5%. Without hyperfine its lines are
skipped.
"""

import argparse
import json
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from scipy import stats

from headroom.gate.arms import Command
from headroom.gate.compare import compare_commands
from headroom.gate.question import Question
from headroom.gate.sight import TIMES

RESULTS = Path(__file__).resolve().parent / "results" / "slowdowns.json"
THRESHOLD, PAIRS, LOOPS = 0.03, 25, 300_000
_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a method says of comparisons with one slowdown."""

    method: str
    slowdown: float
    comparisons: int
    claims: int
    """Comparisons that say that the second command is slower."""
    blind: int = 0
    """Comparisons that say that they could not have seen it."""
    sees: float | None = None
    """Median of the smallest slowdown of the sharpest time that the gates say they can see."""


def _argv(loops: int) -> list[str]:
    return ["awk", f"BEGIN {{ for (i = 0; i < {loops}; i++) s += i * i }}"]


@cache
def _beginning() -> float:
    """Return the share of the command's processor time that its loop does not take."""

    def least(loops: int) -> float:
        spent = []
        for _ in range(20):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(_argv(loops), check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(spent)

    return min(0.5, least(0) / least(LOOPS))


def _loops(slowdown: float) -> int:
    """Return the loops with which the whole command takes so much more processor time."""
    return round(LOOPS * (1.0 + slowdown / (1.0 - _beginning())))


def _gates(slowdown: float, count: int) -> Line:
    commands = [
        Command(argv=_argv(_loops(more)), label=name, folder=Path.cwd())
        for name, more in (("old", 0.0), ("new", slowdown))
    ]
    question = Question(fail_on_regression=THRESHOLD, runs=PAIRS)
    verdicts, seen = Counter[str](), []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            gate = compare_commands(commands, Path(folder), question=question).gate
        verdicts["none" if gate is None else gate.verdict] += 1
        print(f"   {slowdown:.0%} slower: {dict(verdicts)}", file=sys.stderr, flush=True)
        times = [one.detectable for one in gate.sights if one.metric in TIMES] if gate else []
        seen += [min(times)] if times else []
    return Line(
        method="Headroom", slowdown=slowdown, comparisons=count, claims=verdicts["regression"],
        blind=verdicts["blind"], sees=sorted(seen)[len(seen) // 2] if seen else None,
    )  # fmt: skip


def _hyperfine(slowdown: float, count: int) -> Line:
    claims = 0
    texts = [shlex.join(_argv(_loops(more))) for more in (0.0, slowdown)]
    for _ in range(count):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run(
                ["hyperfine", "-N", "--style", "none", "--runs", str(PAIRS), "--export-json",
                 file.name, *texts], check=True, capture_output=True,
            )  # fmt: skip
            old, new = (one["times"] for one in json.loads(Path(file.name).read_text())["results"])
        welch = stats.ttest_ind(new, old, equal_var=False)
        claims += bool(welch.pvalue <= _LEVEL and welch.statistic > 0.0)
    return Line(method="hyperfine, Welch's t", slowdown=slowdown, comparisons=count, claims=claims)


def table(lines: Sequence[Line]) -> str:
    """Return the comparisons as a Markdown table."""
    rows = ["| method | false claims | 3% slower found | blind | sees |", "| --- |" + " ---: |" * 4]
    for method in dict.fromkeys(line.method for line in lines):
        same, slow = (
            next(one for one in lines if one.method == method and bool(one.slowdown) == is_slow)
            for is_slow in (False, True)
        )
        seen = "" if same.sees is None else f"{100 * same.sees:.1f}%"
        blind = f"{same.blind + slow.blind}" if same.sees is not None else ""
        rows.append(
            f"| {method} | {same.claims} of {same.comparisons} | {slow.claims} of "
            f"{slow.comparisons} | {blind} | {seen} |"
        )
    return "\n".join(rows)


def load(path: Path = RESULTS) -> list[Line]:
    """Return the stored lines."""
    return [Line(**line) for line in json.loads(path.read_text(encoding="utf-8"))]


def main(arguments: Sequence[str]) -> int:
    """Compare, or print the stored table."""
    parser = argparse.ArgumentParser(prog="python -m benches.slowdowns")
    parser.add_argument("--table", action="store_true", help="print the stored table")
    parser.add_argument("--gates", type=int, nargs=2, default=(65, 22), metavar=("SAME", "SLOWER"))
    chosen = parser.parse_args(arguments)
    if chosen.table:
        print(table(load()))
        return 0
    same, slower = chosen.gates
    counts = ((THRESHOLD, slower), (0.0, same))
    lines = []
    if shutil.which("hyperfine"):
        lines += [_hyperfine(slowdown, count) for slowdown, count in counts]
    else:
        print("hyperfine skipped: it is not installed", file=sys.stderr)
    lines += [_gates(slowdown, count) for slowdown, count in counts]
    RESULTS.write_text(
        "[\n" + ",\n".join(json.dumps(asdict(line)) for line in lines) + "\n]\n", encoding="utf-8"
    )
    print(table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
