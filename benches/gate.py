"""Error rates of gates: false alarms and power, simulated and real.

`python -m benches.gate` simulates gates without a slowdown for each kind of noise: 10,000 of one
row, and 2,000 of 20 rows; fewer with a slowdown of one row. The shipped code decides. `--real 200`
runs 200 gates of a real command against itself on this machine with 25 blocks each, and 20 with as
many as the noise needs, and adds them to the stored results; `--table` prints the stored tables
instead. `python -m benches.slowdowns` puts real gates beside hyperfine.

The runs of a simulated gate are consecutive: noise is drawn in the order of time, and the runs of
a block take its values in random order, as `headroom compare` does.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from headroom.experiment.protocol.run import FloatArray
from headroom.gate.arms import Command
from headroom.gate.compare import compare_commands, new_blocks
from headroom.gate.judging import row_of_pairs
from headroom.gate.question import Question
from headroom.gate.result import Noise, Row
from headroom.gate.threshold import gate_of, is_hidden, noise_of

RESULTS = Path(__file__).resolve().parent / "results" / "gate.json"
SUITES = {1: (10_000, 2_000), 20: (2_000, 500)}
"""Rows of a gate -> gates without a slowdown, and with one of each size."""
EFFECTS = (0.02, 0.03, 0.05)
THRESHOLD = 0.03
SCATTER = 0.03
"""Standard deviation of the logarithm of one run."""
QUESTION = Question(fail_on_regression=THRESHOLD)
"""As shipped, but for the threshold that users name."""
_FIRST_SEED = 16_000_000

Draw = Callable[[np.random.Generator, int], FloatArray]
"""Logarithms of the times of a number of consecutive runs."""


def _lognormal(random: np.random.Generator, count: int) -> FloatArray:
    return np.log1p(np.exp(3.0 * SCATTER * random.normal(size=count)) / 2.0)


def _drifting(random: np.random.Generator, count: int) -> FloatArray:
    trend = random.uniform(-0.3, 0.3) * np.linspace(0.0, 1.0, count)
    walk = 0.1 * np.cumsum(random.normal(size=count)) / np.sqrt(count)
    drift: FloatArray = trend + walk + SCATTER * random.normal(size=count)
    return drift


def _bimodal(random: np.random.Generator, count: int) -> FloatArray:
    slow = random.random(count) < 0.3  # noqa: PLR2004 - three runs in ten
    modes: FloatArray = 0.15 * slow + SCATTER / 3.0 * random.normal(size=count)
    return modes


def _autocorrelated(random: np.random.Generator, count: int) -> FloatArray:
    memory = 0.9
    shocks = random.normal(size=count) * SCATTER * np.sqrt(1.0 - memory**2)
    values = np.empty(count)
    values[0] = SCATTER * random.normal()
    for place in range(1, count):
        values[place] = memory * values[place - 1] + shocks[place]
    return values


NOISES: Mapping[str, Draw] = {
    "normal": lambda random, count: np.log1p(SCATTER * random.normal(size=count)),
    "lognormal": _lognormal,
    "drifting": _drifting,
    "bimodal": _bimodal,
    "autocorrelated": _autocorrelated,
}
MEANING = {
    "normal": "3% of scatter",
    "lognormal": "a fixed part, and half as much that scatters by 9%",
    "drifting": "3%, on a machine that drifts by up to 30% during a gate and wanders by 10%",
    "bimodal": "1%, and three runs in ten take 15% longer",
    "autocorrelated": "3%, each run remembers nine tenths of the one before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One line: gates of a kind of noise and a number of rows."""

    noise: str
    rows: int
    effect: float
    """Slowdown of the first row; 0: none."""
    gates: int
    suspected: int
    """Gates whose first look suspects any row without a slowdown."""
    alarms: int
    """Gates that call such a row a regression."""
    found: int
    """Gates that call the slowed row a regression."""
    blocks: float
    """Mean number of blocks of the first looks at a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealGates:
    """Gates of a real command against itself."""

    command: str
    gates: int
    suspected: int
    alarms: int
    incomplete: int
    blocks: float


def _blocks(draw: Draw, random: np.random.Generator, count: int, slow: float) -> FloatArray:
    """Return times of blocks, shape (count, 3): the base twice and another, in random order."""
    runs = random.permuted(draw(random, 3 * count).reshape(count, 3), axis=1)
    times: FloatArray = np.exp(runs) * [1.0, 1.0, 1.0 + slow]
    return times


def _row(blocks: FloatArray, number: int) -> Row:
    like = Row(arm="B", base="A", levels={"n": number}, metric="wall_s", unit="s", better="low")
    return row_of_pairs(blocks[:, 2], blocks[:, 0], like=like)


def _first_looks(draw: Draw, random: np.random.Generator, number: int, slow: float) -> Row:
    """Return a row after as many first looks as its noise needs."""
    blocks = np.empty((0, 3))
    for look in QUESTION.looks:
        more = _blocks(draw, random, look - len(blocks), slow)
        blocks = np.concatenate([blocks, more])
        if not is_hidden(_row(blocks, number), THRESHOLD):
            break
    return _row(blocks, number)


def gates(noise: str, rows: int, *, effect: float = 0.0, count: int) -> GateRow:
    """Return how gates decide.

    Examples
    --------
    >>> found = gates("drifting", 1, effect=0.2, count=20)
    >>> found.found, found.alarms
    (20, 0)
    """
    kinds = list(NOISES)
    key = (kinds.index(noise) * 100 + rows) * 1_000 + round(1_000 * effect)
    random = np.random.default_rng(_FIRST_SEED + key)
    draw = NOISES[noise]
    suspected = alarms = found = 0
    slowed = [effect, *[0.0] * (rows - 1)]

    def again(suspected: Sequence[Row], level: float) -> list[tuple[Row, Noise]]:
        looked = []
        for row in suspected:
            number = int(row.levels["n"])
            new = new_blocks([row], level, QUESTION, first=row.pairs)
            blocks = _blocks(draw, random, new, slowed[number])
            itself = row_of_pairs(blocks[:, 1], blocks[:, 0], like=row)
            looked.append((_row(blocks, number), noise_of(itself, scatter=None)))
        return looked

    blocks = 0
    for _ in range(count):
        looked = [_first_looks(draw, random, number, slow) for number, slow in enumerate(slowed)]
        blocks += sum(row.pairs for row in looked)
        looks = len(QUESTION.looks)
        gate = gate_of(looked, threshold=THRESHOLD, again=again, looks=looks)
        equal = [one for one in gate.suspicions if not slowed[int(one.first.levels["n"])]]
        suspected += bool(equal)
        alarms += any(one.verdict == "regression" for one in equal)
        found += any(one.verdict == "regression" for one in gate.suspicions if one not in equal)
    return GateRow(
        noise=noise, rows=rows, effect=effect, gates=count, suspected=suspected, alarms=alarms,
        found=found, blocks=blocks / count / rows,
    )  # fmt: skip


def real_gates(count: int, runs: int | None = None) -> RealGates:
    """Return how gates of a real command against itself decide on this machine.

    Parameters
    ----------
    count
        Gates.
    runs
        Blocks of the first look; None: as many as the noise needs.
    """
    argv = ("awk", "BEGIN { for (i = 0; i < 20000; i++) s += i * i }")
    command = Command(argv=argv, label="awk", folder=Path.cwd())
    question = Question(fail_on_regression=THRESHOLD, runs=runs)
    blocks, suspected, verdicts = 0, 0, Counter[str]()
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            result = compare_commands([command, command], Path(folder), question=question)
        blocks += result.blocks
        suspected += result.gate is not None and bool(result.gate.suspicions)
        verdicts["incomplete" if result.gate is None else result.gate.verdict] += 1
        print(
            f"   gate {number + 1} of {count}: {suspected} suspected, {dict(verdicts)}",
            file=sys.stderr,
            flush=True,
        )
    alarms = verdicts["regression"]
    return RealGates(
        command=" ".join(argv), gates=count, suspected=suspected, alarms=alarms,
        incomplete=count - alarms - verdicts["passed"] - verdicts["blind"], blocks=blocks / count,
    )  # fmt: skip


def gate_table(lines: Sequence[GateRow]) -> str:
    """Return the false alarms and the power of gates as a Markdown table."""
    effects = " | ".join(f"finds {100 * effect:.0f}%" for effect in EFFECTS)
    head = f"| noise | rows | blocks | suspected | false alarms | {effects} |"
    rule = "| --- | ---: | ---: | ---: | ---: |" + " ---: |" * len(EFFECTS)
    by_key = {(line.noise, line.rows, line.effect): line for line in lines}
    cells = [
        f"| {noise} | {rows} | {line.blocks:.0f} | {_percent(line.suspected, line.gates)} | "
        f"{100 * line.alarms / line.gates:.2f}% | "
        + " | ".join(_percent(one.found, one.gates) for effect in EFFECTS
                     for one in [by_key[noise, rows, effect]]) + " |"
        for noise in NOISES
        for rows in SUITES
        for line in [by_key[noise, rows, 0.0]]
    ]  # fmt: skip
    return "\n".join([head, rule, *cells])


def real_table(lines: Sequence[RealGates]) -> str:
    """Return the real gates as a Markdown table."""
    head = "| command | blocks | gates | suspected | false alarms | incomplete |"
    rows = (
        f"| `{line.command}` | {line.blocks:.0f} | {line.gates} | {line.suspected} | "
        f"{line.alarms} | {line.incomplete} |"
        for line in lines
    )
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: | ---: |", *rows])


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}%"


def load(path: Path = RESULTS) -> tuple[list[GateRow], list[RealGates]]:
    """Return the stored lines."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return (
        [GateRow(**row) for row in data["gates"]],
        [RealGates(**row) for row in data["real"]],
    )


def store(
    gated: Sequence[GateRow],
    real: Sequence[RealGates],
    path: Path = RESULTS,
) -> None:
    """Write the lines as JSON; the file is replaced whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    tables = (
        f'"{name}": [\n' + ",\n".join(json.dumps(asdict(line)) for line in lines) + "\n]"
        for name, lines in (("gates", gated), ("real", real))
    )
    unfinished.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")
    unfinished.replace(path)


def simulated() -> list[GateRow]:
    """Return all simulated lines."""
    gated = [
        gates(noise, rows, count=count) for noise in NOISES for rows, (count, _) in SUITES.items()
    ]
    gated += [
        gates(noise, rows, effect=effect, count=count)
        for noise in NOISES
        for rows, (_, count) in SUITES.items()
        for effect in EFFECTS
    ]
    return gated


def main(arguments: Sequence[str]) -> int:
    """Simulate everything, or run real gates, or print the stored results."""
    parser = argparse.ArgumentParser(prog="python -m benches.gate")
    parser.add_argument("--table", "--print", action="store_true", help="print the stored tables")
    parser.add_argument("--real", type=int, default=0, metavar="GATES", help="run real gates")
    chosen = parser.parse_args(arguments)
    gated, real = load()  # First: an unreadable file fails here, not after the work.
    if chosen.real:
        real = [real_gates(chosen.real, 25), real_gates(max(chosen.real // 10, 1))]
    elif not chosen.table:
        gated = simulated()
    if not chosen.table:
        store(gated, real)
    print(f"{gate_table(gated)}\n\n{real_table(real)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
