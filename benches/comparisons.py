"""Error rates of comparisons: false alarms, and the power to detect a difference.

`python -m benches.comparisons` simulates 2,000 comparisons for each kind of values, number of runs
and comparison method. The shipped analysis computes the interval of each comparison. *False
alarms*: the share of equal systems whose interval excludes 1. *Power*: the share of intervals that
exclude 1 if one system takes 2, 5, 10 or 20% longer. Multiplying one side multiplies the interval,
so the comparisons of one cell serve all effects.

Writes `benches/results/comparisons.json`; `--print` prints the table of the stored results instead.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from headroom.analysis.statistics.comparison import paired_ratio
from headroom.analysis.statistics.intervals import Interval, Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.statistics.two_samples import ratio_within_pairs
from headroom.analysis.statistics.versus import Side, ratio_of
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.study import SAME_WITHIN

RESULTS = Path(__file__).resolve().parent / "results" / "comparisons.json"
COMPARISONS = 2_000
RUNS = (6, 8, 10, 15, 20, 25, 30, 40)
EFFECTS = (0.02, 0.05, 0.10, 0.20)
SCATTER = 0.05
"""Standard deviation of the logarithm of one run, unless stated otherwise."""
_FIRST_SEED = 20_000_000
_METRIC = "wall_s"

Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
"""Logarithms of the values of two equal systems, block by block."""


def _normal(random: np.random.Generator, runs: int) -> FloatArray:
    return SCATTER * random.normal(size=runs)


def _with_outliers(random: np.random.Generator, runs: int) -> FloatArray:
    hit = random.random(runs) < 0.1  # noqa: PLR2004 - one run in ten
    with_outliers: FloatArray = _normal(random, runs) + hit * np.log(4.0) * random.random(runs)
    return with_outliers


def _alike(draw: Callable[[np.random.Generator, int], FloatArray]) -> Draw:
    return lambda random, runs: (draw(random, runs), draw(random, runs))


def _drifting(random: np.random.Generator, runs: int) -> tuple[FloatArray, FloatArray]:
    trend = random.uniform(0.0, 1.0) * np.linspace(0.0, 1.0, runs)
    walk = 0.2 * np.cumsum(random.normal(size=runs)) / np.sqrt(runs)
    drift = trend + walk
    return drift + _normal(random, runs), drift + _normal(random, runs)


VALUES: Mapping[str, Draw] = {
    "lognormal": _alike(_normal),
    "outliers": _alike(_with_outliers),
    "drift": _drifting,
    "heavy tails": _alike(lambda random, runs: SCATTER * random.standard_t(2, runs)),
    "skewed": _alike(lambda random, runs: SCATTER * random.exponential(size=runs)),
    "one scatters": lambda random, runs: (_normal(random, runs), _normal(random, runs) / 16.0),
}
MEANING = {
    "lognormal": "both scatter by 5%",
    "outliers": "as lognormal, and one run in ten takes up to four times as long",
    "drift": "as lognormal, on a machine that slows down by up to e and wanders by 20%",
    "heavy tails": "Student's t with 2 degrees of freedom, times 5%: no variance exists",
    "skewed": "exponential, times 5%",
    "one scatters": "as lognormal, but the other one scatters by a sixteenth of it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: a kind of values, a way of comparing, a number of runs."""

    values: str
    way: str
    """``blocks``: runs of one block as pairs; ``apart``: runs that are not paired."""
    runs: int
    comparisons: int
    false_alarms: int
    """Equal systems of which one is called larger or smaller."""
    seen: list[int]
    """Comparisons that see each of `EFFECTS`, in the right direction."""
    same: int
    """Equal systems that are called the same within `SAME_WITHIN`."""
    beyond: int
    """Systems that differ by just `SAME_WITHIN` and are called different by more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One line of simulated systems with common seeds: how often an interval misses the truth."""

    completions: int
    runs: int
    comparisons: int
    fieller: int
    """Intervals of the ratio of the means that miss it."""
    signed_ranks: int


def intervals(draw: Draw, runs: int, *, way: str, count: int, seed: int) -> Iterator[Interval]:
    """Yield the verdicts of the analysis on equal systems, one comparison after the other."""
    random = np.random.default_rng(seed)
    start = 0.5 if way == "blocks" else 10.0 * runs
    for _ in range(count):
        level, base = (np.exp(logs) for logs in draw(random, runs))
        yield ratio_of(_side(level, start), _side(base, 0.0))


def _side(values: FloatArray, start: float) -> Side:
    runs = [
        RunOfPoint(replication=n, started_at=f"{n + start:09.1f}", values={_METRIC: float(value)})
        for n, value in enumerate(values)
    ]
    sample = Sample(values=values, centre="median")
    return Side(sample=sample, metric=_METRIC, column=Column.MEASURE, runs=runs)


def measured(name: str, runs: int, *, way: str, count: int = COMPARISONS) -> Row:
    """Return the rates of one cell.

    Examples
    --------
    >>> found = measured("lognormal", 6, way="blocks", count=50)
    >>> found.comparisons, found.false_alarms < 10, found.seen[3] > 40
    (50, True, True)
    """
    seed = _FIRST_SEED + 1_000 * list(VALUES).index(name) + runs
    drawn = list(intervals(VALUES[name], runs, way=way, count=count, seed=seed))
    low = np.array([interval.low for interval in drawn], dtype=float)
    high = np.array([interval.high for interval in drawn], dtype=float)
    zone = 1.0 + SAME_WITHIN
    return Row(
        values=name,
        way=way,
        runs=runs,
        comparisons=count,
        false_alarms=int(np.sum((low > 1.0) | (high < 1.0))),
        seen=[int(np.sum(low * (1.0 + effect) > 1.0)) for effect in EFFECTS],
        same=int(np.sum((low >= 1.0 / zone) & (high <= zone))),
        beyond=int(np.sum(low * zone > zone)),
    )


_LOAD, _FASTER, _WARM_UP = 0.8, 1.05, 500


def queues(completions: int, runs: int, *, count: int = COMPARISONS) -> QueueRow:
    """Return how often two intervals miss the ratio of the mean responses of two M/M/1 queues.

    The second queue has a server that is 5% faster; both meet the same arrivals and demands.
    """
    random = np.random.default_rng(_FIRST_SEED + completions + runs)
    old, new = _mean_responses(random, completions, (count, runs))
    truth = (1.0 / (1.0 - _LOAD)) / (1.0 / (_FASTER - _LOAD))
    means = [paired_ratio(first, other).interval for first, other in zip(old, new, strict=True)]
    ranks = [ratio_within_pairs(first, other) for first, other in zip(old, new, strict=True)]
    return QueueRow(
        completions=completions,
        runs=runs,
        comparisons=count,
        fieller=sum(_misses(mean, truth) for mean in means),
        signed_ranks=sum(_misses(rank, truth) for rank in ranks),
    )


def _misses(interval: Interval, truth: float) -> bool:
    return (
        interval.low is None or interval.high is None or not interval.low <= truth <= interval.high
    )


def _mean_responses(
    random: np.random.Generator, completions: int, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return mean responses after a warm-up, by the recursion of Lindley (1952)."""
    waits, sums = [np.zeros(shape) for _ in range(2)], [np.zeros(shape) for _ in range(2)]
    for job in range(_WARM_UP + completions):
        demand, gap = random.exponential(size=shape), random.exponential(size=shape) / _LOAD
        for place, speed in enumerate((1.0, _FASTER)):
            response = waits[place] + demand / speed
            if job >= _WARM_UP:
                sums[place] += response
            waits[place] = np.maximum(response - gap, 0.0)
    return sums[0] / completions, sums[1] / completions


QUEUES = tuple((completions, runs) for completions in (1_000, 5_000) for runs in (6, 10, 20))


def table(lines: Sequence[Row]) -> str:
    """Return the lines as a Markdown table, which names values and way of comparing once."""
    effects = " | ".join(f"sees {100 * effect:.0f}%" for effect in EFFECTS)
    head = f"| values | compared | runs | false alarms | {effects} | same if equal |"
    rule = "| --- | --- |" + " ---: |" * (len(EFFECTS) + 3)
    before = [None, *lines]
    cells = (_cells(line, last) for line, last in zip(lines, before, strict=False))
    return "\n".join([head, rule, *cells])


def _cells(line: Row, last: Row | None) -> str:
    values = "" if last is not None and last.values == line.values else line.values
    way = (
        "" if last is not None and (last.values, last.way) == (line.values, line.way) else line.way
    )
    seen = " | ".join(_percent(count, line.comparisons) for count in line.seen)
    alarms = f"{100 * line.false_alarms / line.comparisons:.1f}%"
    same = _percent(line.same, line.comparisons)
    return f"| {values} | {way} | {line.runs} | {alarms} | {seen} | {same} |"


def queue_table(lines: Sequence[QueueRow]) -> str:
    """Return the lines of the simulated systems as a Markdown table."""
    head = "| completions | runs | Fieller misses | signed ranks miss |"
    rows = (
        f"| {line.completions:,} | {line.runs} | {_percent(line.fieller, line.comparisons)} | "
        f"{_percent(line.signed_ranks, line.comparisons)} |"
        for line in lines
    )
    return "\n".join([head, "| ---: | ---: | ---: | ---: |", *rows])


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f}%"


def load(path: Path = RESULTS) -> tuple[list[Row], list[QueueRow]]:
    """Return the stored lines."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return [Row(**row) for row in data["rows"]], [QueueRow(**queue) for queue in data["queues"]]


def store(rows: Sequence[Row], queued: Sequence[QueueRow], path: Path = RESULTS) -> None:
    """Write the lines as JSON; the file is replaced whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    tables = (
        f'"{name}": [\n' + ",\n".join(json.dumps(asdict(line)) for line in lines) + "\n]"
        for name, lines in (("rows", rows), ("queues", queued))
    )
    unfinished.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")
    unfinished.replace(path)


def main(arguments: Sequence[str]) -> int:
    """Measure everything, or print the stored results."""
    parser = argparse.ArgumentParser(prog="python -m benches.comparisons")
    parser.add_argument("--print", action="store_true", help="print the stored tables")
    if not parser.parse_args(arguments).print:
        rows = [
            measured(name, runs, way=way)
            for name in VALUES
            for way in ("blocks", "apart")
            for runs in RUNS
        ]
        store(rows, [queues(completions, runs) for completions, runs in QUEUES])
    stored, queued = load()
    print(f"{table(stored)}\n\n{queue_table(queued)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
