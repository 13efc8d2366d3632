"""How close the advisor comes to the best of all layouts: `python -m benches.records_advisor`.

For each cell (size and number of records, mix) every configuration of the advisor's space is timed,
the fastest quarter again, and the fastest few in rounds: their best is the *exhaustive best*. Then
the advisor searches. Its choice and the exhaustive best are timed against each other in new rounds,
in random order on new tables, so that neither profits from the chance that selected it. The ratio
is the median of the rounds, with an interval by signed ranks; below 1, the choice was the faster.

Writes `benches/results/records_advisor.json` cell by cell; a second call measures what is missing.
`--table` prints the stored results; `--fresh` measures all again; `--cells N` stops after N cells;
`--cpu N` measures on that processor.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benches.harness import write_rows
from headroom.systems.records.advisor.advice import on_cpu
from headroom.systems.records.advisor.configurations import Configuration, search_space
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.search import Searcher, paired_ratio
from headroom.systems.records.advisor.timing import Effort, time_mix

RESULTS = Path(__file__).resolve().parent / "results" / "records_advisor.json"
WITHIN = 1.05
"""Ratio to the exhaustive best that counts as found."""
SEED = 20261125
SEARCH_S = 20.0
"""Processor time (s) of a search of the advisor."""
_SWEEP_BYTES = float(32 << 20)
SIZES = (16, 64, 256)
COUNTS = (5_000, 50_000)
MIXES = (
    "lookup=1",
    "lookup=0.9,scan=0.05,insert=0.05",
    "lookup=0.2,scan=0.8",
    "lookup=0.4,insert=0.2,update=0.2,delete=0.2",
)
LARGE = ((64, 500_000, MIXES[0]), (64, 500_000, MIXES[1]))
"""Cells whose tables are larger than the caches: the exhaustive search of these takes long."""
_ONCE = Effort(visits=3_000, rounds=3, batches=(16, 32), aheads=(0, 8))
_AGAIN = Effort(visits=10_000, rounds=3)
_ROUNDS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The result of one cell; times in seconds, sizes in bytes."""

    record_bytes: int
    records: int
    mix: str
    configurations: int
    timed: int
    best: str
    choice: str
    best_s: float
    choice_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    search_s: float
    is_clear: bool


def questions() -> list[Question]:
    """Return the cells in random order, so that the first few are a sample of all."""
    cells = [*product(SIZES, COUNTS, MIXES), *LARGE]
    random.Random(SEED).shuffle(cells)  # noqa: S311 - the order of a measurement
    return [
        Question(record_bytes=size, records=count, mix=mix, most_batch=64)
        for size, count, mix in cells
    ]


def measure(question: Question) -> Cell:
    """Search exhaustively and with the advisor, and compare."""
    space = search_space(question)
    everything = space.all(question)
    best = _exhaustive_best(question, everything)
    # The limit counts processor time, so that a busy machine does not shorten the search.
    searcher = Searcher(
        question=question, space=space, time_s=SEARCH_S, seed=SEED, sweep_bytes=_SWEEP_BYTES,
        clock=time.thread_time,
    )  # fmt: skip
    found = searcher.search()
    choice = found.best.configuration
    rounds = _rounds(question, list(dict.fromkeys([choice, best])), SEED + 1000)
    ours, theirs = ([one[which] for one in rounds] for which in (choice, best))
    ratio = paired_ratio(ours, theirs)
    return Cell(
        record_bytes=question.record_bytes, records=question.records, mix=_text(question),
        configurations=len(everything), timed=len(found.seen), best=str(best),
        choice=str(choice), best_s=float(np.median(theirs)), choice_s=float(np.median(ours)),
        ratio=ratio.value, ratio_low=ratio.low or ratio.value, ratio_high=ratio.high or ratio.value,
        search_s=found.taken_s, is_clear=found.is_clear,
    )  # fmt: skip


def _exhaustive_best(question: Question, everything: Sequence[Configuration]) -> Configuration:
    order = random.Random(SEED)  # noqa: S311 - the order of a measurement
    shuffled = order.sample(everything, len(everything))
    once = {one: _time(question, one, _ONCE, SEED) for one in shuffled}
    for share, times in ((4, 2), (24, 4)):
        kept = sorted(once, key=once.__getitem__)[: max(len(everything) // share, 6)]
        again: dict[Configuration, list[float]] = {one: [] for one in kept}
        for number in range(times):
            for one in order.sample(kept, len(kept)):
                again[one].append(_time(question, one, _AGAIN, SEED + number))
        once = {one: float(np.median(values)) for one, values in again.items()}
    finalists = sorted(once, key=once.__getitem__)[:6]
    rounds = _rounds(question, finalists, SEED + 100)
    return min(finalists, key=lambda one: float(np.median([at[one] for at in rounds])))


def _rounds(
    question: Question, configurations: list[Configuration], seed: int
) -> list[dict[Configuration, float]]:
    order = random.Random(seed)  # noqa: S311 - as above
    rounds = []
    for number in range(_ROUNDS):
        order.shuffle(configurations)
        rounds.append({one: _time(question, one, _AGAIN, seed + number) for one in configurations})
    return rounds


def _time(question: Question, one: Configuration, effort: Effort, seed: int) -> float:
    return time_mix(question, one, effort, seed=seed, clock=time.perf_counter).operation_s


def _text(question: Question) -> str:
    return ",".join(f"{name}={share:g}" for name, share in question.shares.items())


def load(path: Path = RESULTS) -> list[Cell]:
    """Return the stored cells, none if there are none."""
    if not path.is_file():
        return []
    return [Cell(**row) for row in json.loads(path.read_text("utf-8"))]


def table(cells: Sequence[Cell]) -> str:
    """Return the cells as a table of Markdown, with their sum."""
    lines = [
        "| record | records | mix | timed | choice / best | search | choice |",
        "| ---: | ---: | --- | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {one.record_bytes} B | {one.records:,} | {one.mix} | {one.timed} of "
        f"{one.configurations} | {one.ratio:.2f} ({one.ratio_low:.2f} to {one.ratio_high:.2f}) | "
        f"{one.search_s:.0f} s | {one.choice} |"
        for one in cells
    ]
    return "\n".join([*lines, "", summary(cells)])


def summary(cells: Sequence[Cell]) -> str:
    """Return how many cells are within the limit, and how many surely are not."""
    near = sum(one.ratio <= WITHIN for one in cells)
    off = sum(one.ratio_low > WITHIN for one in cells)
    return (
        f"Within {WITHIN - 1:.0%} of the exhaustive best: {near} of {len(cells)} cells; surely "
        f"outside (the whole interval): {off}."
    )


def main(arguments: Sequence[str]) -> int:
    """Measure what is missing, or print what is stored."""
    parser = argparse.ArgumentParser(prog="python -m benches.records_advisor")
    parser.add_argument("--table", action="store_true", help="print the stored results")
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    parser.add_argument("--cells", type=int, default=None, help="cells to measure at most")
    parser.add_argument("--cpu", type=int, default=None, help="processor to measure on")
    chosen = parser.parse_args(arguments)
    cells = [] if chosen.fresh else load()
    if not chosen.table:
        known = {(one.record_bytes, one.records, one.mix) for one in cells}
        missing = [
            one for one in questions() if (one.record_bytes, one.records, _text(one)) not in known
        ]
        with on_cpu(chosen.cpu):
            for question in missing[: chosen.cells]:
                cells.append(measure(question))
                write_rows(cells, RESULTS)
                print(f"{cells[-1].mix}: {cells[-1].ratio:.3f}", file=sys.stderr, flush=True)
    print(table(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
