"""How often the 95% interval covers the truth: `python -m benches.coverage`.

For each model and setting 400 experiments, or as many as `--experiments` says, go through the
analysis as it is shipped, warm-up and all, with separate seeds. Coverage is the share of
experiments whose interval contains the truth. One without figures counts as not covered.

Writes `benches/results/coverage.json`; `--print` prints the table of the stored results instead.
Positional arguments select models by name, `--setting` selects settings; the other rows stay as
stored.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from scipy import stats

from benches.coverage_models import Known, models
from benches.harness import write_rows
from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.run.rare import RARE_SUFFIX
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.study import Experiment, Replications
from headroom.simulation import Model, simulate
from headroom.systems.model.conversion import run_of

RESULTS = Path(__file__).resolve().parent / "results" / "coverage.json"
EXPERIMENTS = 400
FIRST_SEED, SEEDS_APART = 40_000_000, 1_000
"""First seed, and distance of the first seeds of two experiments: more than any replications.

The method was chosen on other seeds."""
CHUNK = 20
"""Experiments of one task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How long an experiment runs: a number of replications, or until an interval is narrow."""

    completions: int
    replications: int = 0
    half_width: float = 0.0
    """Relative half-width at which replications stop; 0 if their number is fixed."""
    experiments: int = EXPERIMENTS

    @property
    def name(self) -> str:
        """Words of the table."""
        if self.half_width:
            return f"until {100 * self.half_width:g}%, of {self.completions:,} each"
        return f"{self.replications} x {self.completions:,}"


SETTINGS = (
    Setting(replications=1, completions=50_000),
    Setting(replications=5, completions=10_000),
    Setting(replications=10, completions=5_000),
    Setting(replications=20, completions=2_500),
    Setting(replications=5, completions=50_000),
    Setting(replications=5, completions=2_000),
)
STOPPING = (
    Setting(half_width=0.05, completions=10_000),
    Setting(half_width=0.02, completions=20_000),
)
POOLED = Setting(replications=5, completions=50_000)
"""The setting whose runs together replace a truth that has no formula."""
STOPPED = ("M/M/1, load 0.8", "central server, 64 jobs", "interactive, 20 users")
"""Models whose replications are also stopped by precision, on their first metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: a model, a setting, a metric."""

    model: str
    setting: str
    metric: str
    truth: float
    truth_source: str
    experiments: int
    covered: int
    above: int
    """Intervals above the truth."""
    below: int
    without: int
    """Experiments without an interval."""
    bias: float
    """Mean of the estimates, relative to the truth, less one."""
    half_width: float
    """Mean half-width of the intervals, relative to the truth."""
    deviation: float
    """Standard deviation of the estimates, relative to the truth."""
    short: int
    """Experiments whose runs were called short for this metric."""
    short_covered: int
    """Experiments among them whose interval contains the truth."""

    @property
    def coverage(self) -> float:
        """Share of the experiments whose interval contains the truth."""
        return self.covered / self.experiments

    @property
    def efficiency(self) -> float:
        """Half-width over that of an interval that knows the standard deviation: 1.96 of them."""
        return self.half_width / (1.96 * self.deviation)


@dataclass(frozen=True)
class _Simulated:
    """All that the analysis needs from a system."""

    column: Column = Column.MODEL


def planned(rule: Replications | None = None) -> PlannedExperiment:
    """Return an experiment of the default analysis."""
    spec = Experiment(
        name="coverage", system={"name": "model"}, replications=rule or Replications(count=1)
    )
    return PlannedExperiment(
        spec=spec,
        system=cast("Any", _Simulated()),
        setup=msgspec.Struct(),
        base=Path(),
        factors=(),
        points=(),
        parameters=(),
    )


def experiment(model: Model, setting: Setting, metric: str, number: int) -> PointSummary:
    """Return the analysis of one experiment."""
    if not setting.half_width:
        runs = [_run(model, setting, number, place) for place in range(setting.replications)]
        return summarise(planned(), runs)
    spec = planned(Replications(metric=metric, half_width=setting.half_width))
    rule, point = (
        IntervalRule(),
        Point(experiment="coverage", key="point", levels={}, config={}, fingerprint=""),
    )
    runs = []
    while rule.needs_more(spec, point, runs):
        runs += [
            _run(model, setting, number, place)
            for place in range(len(runs), rule.next_look(spec, len(runs)))
        ]
    return summarise(spec, runs)


def _run(model: Model, setting: Setting, number: int, place: int) -> Run:
    seed = FIRST_SEED + SEEDS_APART * number + place
    return run_of(simulate(model, seed=seed, completions=setting.completions))


SIGN = "\N{MULTIPLICATION SIGN}"
"""Between the number of runs and their completions in a table."""

Outcome = dict[str, tuple[float, float, float] | None]
"""Metric to estimate, low and high; None if there is no interval."""


Found = tuple[Outcome, tuple[str, ...]]
"""The intervals of one experiment, and the metrics that its runs were called short for."""


def outcomes(known: Known, setting: Setting, numbers: Iterable[int]) -> list[Found]:
    """Return the results of some experiments."""
    model, first = known.build(), next(iter(known.truths))
    results = []
    for number in numbers:
        summary = experiment(model, setting, first, number)
        length = summary.run_length
        results.append((
            {metric: _interval(summary, metric) for metric in known.truths},
            tuple(length.metrics) if length is not None else (),
        ))  # fmt: skip
    return results


def _interval(summary: PointSummary, metric: str) -> tuple[float, float, float] | None:
    sample = summary.samples.get(metric)
    if sample is None:
        return None
    interval = sample.interval()
    if interval.low is None or interval.high is None:
        return None
    return interval.value, interval.low, interval.high


def _chunk(task: tuple[str, Setting, int, int]) -> list[Found]:
    name, setting, start, stop = task
    known = next(model for model in models() if model.name == name)
    return outcomes(known, setting, range(start, stop))


def measured(pool: ProcessPoolExecutor, known: Known, setting: Setting) -> list[Found]:
    """Return the intervals of all experiments of one model and setting."""
    print(f"   {known.name}, {setting.name} ...", file=sys.stderr, flush=True)
    tasks = [
        (known.name, setting, start, min(start + CHUNK, setting.experiments))
        for start in range(0, setting.experiments, CHUNK)
    ]
    return [outcome for part in pool.map(_chunk, tasks) for outcome in part]


def row(
    *,
    model: str,
    setting: str,
    metric: str,
    truth: float,
    source: str,
    found: Sequence[Found],
) -> Row:
    """Return the line of one metric.

    Examples
    --------
    >>> found = [({"x": (1.0, 0.5, 1.5)}, ()), ({"x": (3.0, 2.5, 3.5)}, ("x",))]
    >>> one = row(model="m", setting="s", metric="x", truth=1.0, source="exact", found=found)
    >>> one.covered, one.above, one.coverage, one.bias, one.short, one.short_covered
    (1, 1, 0.5, 1.0, 1, 0)
    """
    intervals = [outcome[metric] for outcome, _ in found]
    known = np.array([interval for interval in intervals if interval is not None]).reshape(-1, 3)
    above, below = known[:, 1] > truth, known[:, 2] < truth
    called = [
        interval is not None and interval[1] <= truth <= interval[2]
        for interval, (_, called_short) in zip(intervals, found, strict=True)
        if metric in called_short
    ]
    return Row(
        model=model,
        setting=setting,
        metric=metric,
        truth=truth,
        truth_source=source,
        experiments=len(found),
        covered=int(np.sum(~above & ~below)),
        above=int(above.sum()),
        below=int(below.sum()),
        without=len(found) - len(known),
        bias=float(known[:, 0].mean() / truth - 1.0) if len(known) else math.nan,
        half_width=float((known[:, 2] - known[:, 1]).mean() / 2.0 / truth)
        if len(known)
        else math.nan,
        deviation=float(known[:, 0].std(ddof=1) / truth) if len(known) > 1 else math.nan,
        short=len(called),
        short_covered=sum(called),
    )


def rows_of(
    pool: ProcessPoolExecutor, known: Known, settings: Sequence[Setting], kept: Sequence[Row]
) -> list[Row]:
    """Return the lines of one model in some settings; `kept` has truths known only from runs."""
    by_setting = {setting: measured(pool, known, setting) for setting in settings}
    pooled = next(
        (results for setting, results in by_setting.items() if setting.name == POOLED.name), []
    )
    told = {line.metric: line.truth for line in kept if line.model == known.name}
    lines = []
    for setting, outcome in by_setting.items():
        metrics = list(known.truths)[: 1 if setting.half_width else None]
        for metric in metrics:
            truth, source = _truth(known, metric, pooled, told)
            counted = _reported(metric, outcome)
            if counted:
                lines.append(
                    row(model=known.name, setting=setting.name, metric=metric, truth=truth,
                        source=source, found=counted)
                )  # fmt: skip
    return lines


def _reported(metric: str, results: Sequence[Found]) -> list[Found]:
    """Return the experiments that count for a metric: short runs have no p99.9."""
    return [result for result in results if not metric.endswith(RARE_SUFFIX) or result[0][metric]]


def _truth(
    known: Known,
    metric: str,
    long_runs: Sequence[Found],
    told: Mapping[str, float],
) -> tuple[float, str]:
    """Return the exact value, or what all long runs say together, and which of both it is."""
    exact = known.truths[metric]
    if exact is not None:
        return exact, "exact"
    values = [interval[0] for outcome, _ in long_runs if (interval := outcome[metric])]
    return float(np.mean(values)) if values else told[metric], "long run"


def binomial(covered: int, experiments: int) -> tuple[float, float]:
    """Return the 95% interval of a share, by Clopper and Pearson (1934).

    Examples
    --------
    >>> [round(bound, 3) for bound in binomial(380, 400)]
    [0.924, 0.969]
    """
    interval = stats.binomtest(covered, experiments).proportion_ci(0.95, method="exact")
    return float(interval.low), float(interval.high)


def main(arguments: Sequence[str]) -> int:
    """Measure all models and settings, or those that the arguments name."""
    asked = _arguments().parse_args(arguments)
    if asked.print:
        print(table(load()))
        return 0
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(max_workers=asked.processes) as pool:
        for known in models():
            if asked.words and not any(word in known.name for word in asked.words):
                continue
            settings = [
                setting
                if asked.experiments is None
                else replace(setting, experiments=asked.experiments)
                for setting in settings_of(known)
                if asked.setting in {None, setting.name}
            ]
            lines = rows_of(pool, known, settings, load())
            anew = {(line.model, line.setting) for line in lines}
            kept = load()
            others = [line for line in kept if (line.model, line.setting) not in anew]
            write_rows([*others, *lines], RESULTS)
            print(table(lines), flush=True)
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches.coverage")
    parser.add_argument("words", nargs="*", help="parts of the names of models")
    parser.add_argument("--setting", help='one setting, for instance "1 x 50,000"')
    parser.add_argument("--experiments", type=int, help="experiments a line, for a quicker table")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--print", action="store_true", help="print the stored table")
    return parser


def settings_of(known: Known) -> tuple[Setting, ...]:
    """Return the settings in which a model is measured."""
    return (*SETTINGS, *(STOPPING if known.name in STOPPED else ()))


def load(path: Path = RESULTS) -> list[Row]:
    """Return the stored lines, in the order of models and settings; none if there is no file."""
    if not path.exists():
        return []
    order = [(known.name, setting.name) for known in models() for setting in settings_of(known)]
    data: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return sorted((Row(**line) for line in data),
                  key=lambda line: order.index((line.model, line.setting)))  # fmt: skip


def table(lines: Sequence[Row]) -> str:
    """Return the lines as a Markdown table for each model."""
    heads = "runs, metric, coverage, of, 95% of it, half-width, efficiency, bias, short"
    parts = []
    for model in dict.fromkeys(line.model for line in lines):
        own = [_cells(line) for line in lines if line.model == model]
        parts += [f"### {model}", "", f"| {heads.replace(', ', ' | ')} |",
                  f"| --- | --- |{' ---: |' * 7}", *own, ""]  # fmt: skip
    return "\n".join(parts[:-1])


def _cells(line: Row) -> str:
    low, high = binomial(line.covered, line.experiments)
    mark = "" if line.truth_source == "exact" else "*"
    short = f" {100 * line.short / line.experiments:.0f}%" if line.short else ""
    return (
        f"| {line.setting.replace(' x ', SIGN)} | `{line.metric}`{mark} | "
        f"{100 * line.coverage:.1f}% | {line.experiments:,} | "
        f"{100 * low:.0f}-{100 * high:.0f}% | {float(f'{100 * line.half_width:.2g}'):g}% | "
        f"{line.efficiency:.2f} | {100 * line.bias:+.2f}% |{short} |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
