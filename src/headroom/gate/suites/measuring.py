"""Measure a suite at base and head, in blocks of fresh processes in random order.

A block runs the base twice and the head once. After the first look only the rows whose noise can
hide the threshold are measured further, and only as long as that costs no more than a number of
runs of the suite: a gate has to be cheap enough for each commit.

Invariant: rows of new blocks never contain the values of earlier ones.
"""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import msgspec
import numpy as np

from headroom.gate.judging import row_of_pairs
from headroom.gate.question import Question
from headroom.gate.result import Noise, Row
from headroom.gate.suites.running import Suite
from headroom.gate.suites.tool import Choice, Sample
from headroom.gate.suites.tools import SHORTENED, UNFILTERED
from headroom.gate.threshold import (
    AGAIN_TIMES,
    MeasureAgain,
    blocks_again,
    is_hidden,
    noise_of,
    one_sided,
)

BASE, AGAIN, HEAD = "A", "A_again", "B"
AIMED = 0.6
"""Slowdown, in shares to stop, that 9 of 10 looks find when the noise is small enough: nearly all
looks then find the share itself, so that 9 of 10 gates do, whose two looks have to agree."""
LOOKS, SHORTENED_LOOKS = (16, 32, 64), (8, 16, 32)
"""Blocks after which a gate looks, while noise hides the share; suites of many rows cost more."""
BUDGET_RUNS, LEAST_BUDGET_S = 30, 60.0
"""Runs of a whole shortened suite after which no further look begins, and the time (s) that is
spent in any case. Each run takes a tenth of the usual time, so that all take three times of it."""
_BUDGET_AGAIN = 1.2
"""The same for looks and new runs together, in budgets of the looks; the least number is run."""

Key = tuple[str, str]
"""Benchmark and metric."""
Block = Mapping[str, Mapping[Key, Sample]]


def looks_of(tool: str, question: Question) -> list[int]:
    """Return the blocks after which a gate of a tool looks.

    Examples
    --------
    >>> looks_of("go", Question()), looks_of("k6", Question(max_runs=20))
    ([8, 16, 32], [16, 20])
    >>> looks_of("go", Question(runs=10))
    [10]
    """
    if question.runs:
        return [question.runs]
    usual = SHORTENED_LOOKS if tool in SHORTENED else LOOKS
    looks = [look for look in usual if look < question.max_runs]
    return looks if len(looks) == len(usual) else [*looks, question.max_runs]


@dataclass(slots=True, kw_only=True)
class Measuring:
    """A suite under measurement.

    Parameters
    ----------
    suite, folders
        What runs, and where: of base and head.
    metrics
        Those that count; none: all.
    note
        Tells people how far it is.
    """

    suite: Suite
    folders: Mapping[str, Path]
    note: Callable[[str], None]
    metrics: Sequence[str] = ()
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    blocks: list[Block] = field(default_factory=list)
    run_s: float = 0.0
    """Mean time (s) of the runs of the whole suite so far."""
    spent_s: float = 0.0

    def extend(self, count: int, wanted: Sequence[str] = ()) -> None:
        """Run further blocks, of some benchmarks if the tool can choose."""
        names = sorted({name for block in self.blocks for name, _ in block[BASE]})
        is_all = not wanted or self.suite.name in UNFILTERED or len(wanted) == len(names)
        others = [name for name in names if name not in {*wanted}]
        choice = Choice() if is_all else Choice(wanted=sorted(wanted), others=others)
        random = np.random.default_rng([self.seed, len(self.blocks)])
        start_s = monotonic()
        rows = len(names) if is_all else len(wanted)
        self.note(
            f"measuring {count} blocks of {f'{rows} of {len(names)}' if rows else 'all'} rows"
        )
        for _ in range(count):
            block = {}
            for place in random.permutation(3):
                arm = (BASE, AGAIN, HEAD)[place]
                samples = self.suite.run(self.folders[arm], choice)
                block[arm] = {(one.name, one.metric): one for one in samples}
            self.blocks.append(block)
        taken_s = monotonic() - start_s
        self.spent_s += taken_s
        if is_all:
            self.run_s = taken_s / count / 3.0

    def cost_s(self, count: int, wanted: Sequence[str]) -> float:
        """Return what further blocks will take (s), if rows cost alike."""
        names = {name for name, _ in self.blocks[0][BASE]}
        share = 1.0 if self.suite.name in UNFILTERED else len(wanted) / max(len(names), 1)
        return 3.0 * count * self.run_s * share

    def rows(self) -> list[Key]:
        """Return the rows of the base, in the order of its suite."""
        found = dict.fromkeys(key for block in self.blocks for key in block[BASE])
        return [key for key in found if not self.metrics or key[1] in self.metrics]

    def new_names(self) -> list[str]:
        """Return the benchmarks that only the head has."""
        known = {name for name, _ in self.rows()}
        heads = dict.fromkeys(name for block in self.blocks for name, _ in block[HEAD])
        return [name for name in heads if name not in known]

    def row(self, key: Key, blocks: Sequence[Block], other: str = HEAD) -> Row:
        """Return the row of a benchmark in blocks that have it on both sides."""
        pairs = [
            (block[other][key].value, block[BASE][key].value)
            for block in blocks
            if key in block[BASE] and key in block[other]
        ]
        like = next(block[BASE][key] for block in self.blocks if key in block[BASE])
        row = Row(
            arm=other, base=BASE, experiment=key[0], metric=key[1], unit=like.unit,
            better=like.better,
        )  # fmt: skip
        if not pairs:
            return msgspec.structs.replace(row, doubt="missing")
        values = np.array(pairs)
        return row_of_pairs(values[:, 0], values[:, 1], like=row)

    def noise(self, key: Key, blocks: Sequence[Block]) -> Noise:
        """Return the base against itself."""
        row = self.row(key, blocks, AGAIN)
        return noise_of(row, scatter=self._scatter(key, blocks))

    def _scatter(self, key: Key, blocks: Sequence[Block]) -> float | None:
        """Return the standard deviation of the logarithm of one process, None if unknown."""
        pairs = np.array([
            (block[AGAIN][key].value, block[BASE][key].value)
            for block in blocks if key in block[BASE] and key in block[AGAIN]
        ])  # fmt: skip
        if len(pairs) < 2 or pairs.min() <= 0.0:  # noqa: PLR2004 - a deviation needs two
            return None
        return float(np.std(np.diff(np.log(pairs), axis=1), ddof=1) / np.sqrt(2.0))


def first_looks(measuring: Measuring, question: Question, threshold: float) -> int:
    """Measure until no row can hide a regression, or it costs too much; return the blocks.

    Of the rows that hide one, those come first that look slower.
    """
    wanted: list[str] = []
    for look in looks_of(measuring.suite.name, question):
        more = look - len(measuring.blocks)
        if measuring.blocks:
            left_s = budget_s(measuring, question) - measuring.spent_s
            each_s = measuring.cost_s(more, wanted) / len(wanted)
            wanted = wanted[: int(min(left_s / max(each_s, 1e-9), len(wanted)))]
            if not wanted:
                break
        measuring.extend(more, wanted)
        rows = [measuring.row(key, measuring.blocks) for key in measuring.rows()]
        clear = {row.experiment for row in rows if not is_hidden(row, AIMED * threshold)}
        hidden = [row for row in rows if row.experiment not in clear]
        wanted = _likeliest(hidden)
        if not wanted:
            break
    return len(measuring.blocks)


def budget_s(measuring: Measuring, question: Question) -> float:
    """Return the time (s) after which no further look begins."""
    if question.max_time_s is not None:
        return question.max_time_s
    if measuring.suite.name not in SHORTENED:
        return math.inf
    return max(BUDGET_RUNS * measuring.run_s, LEAST_BUDGET_S)


def measure_again(measuring: Measuring, question: Question) -> MeasureAgain:
    """Return the function that measures suspected rows again, in new blocks of them alone."""
    threshold = AIMED * (question.fail_on_regression or 0.0)
    looks = looks_of(measuring.suite.name, question)

    def again(suspected: Sequence[Row], level: float) -> list[tuple[Row, Noise | None]]:
        least, most = AGAIN_TIMES * looks[0], AGAIN_TIMES * looks[-1]
        left_s = _BUDGET_AGAIN * budget_s(measuring, question) - measuring.spent_s
        names = _likeliest(suspected)
        affordable = left_s / max(measuring.cost_s(least, names[:1]), 1e-9)
        # If nearly all rows are suspected, a few are enough to stop the change.
        names = names[: max(int(min(affordable, len(names))), 1)]
        chosen = [row for row in suspected if row.experiment in names]
        most = max(least, int(min(left_s / max(measuring.cost_s(1, names), 1e-9), most)))
        count = max(blocks_again(row, level, threshold, least=least, most=most) for row in chosen)
        start = len(measuring.blocks)
        measuring.extend(count, names)
        new = measuring.blocks[start:]
        return [
            (measuring.row(key, new), measuring.noise(key, new))
            for key in ((row.experiment, row.metric) for row in suspected)
        ]

    return again


def _likeliest(rows: Sequence[Row]) -> list[str]:
    """Return the benchmarks of rows, first those that look slower most surely."""
    ordered = sorted(rows, key=lambda row: one_sided(row) or 0.0)
    return list(dict.fromkeys(row.experiment for row in ordered))
