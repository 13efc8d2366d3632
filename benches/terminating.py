"""How often intervals of terminating runs cover the truth: `python -m benches.terminating`.

Each model is a transient: it starts empty, ends at a given time, and never reaches steady state.
Its replications are drawn once. The truth is their mean (or the percentile of all of them
together), and experiments are disjoint groups of them. The benchmark compares

- the mean over replications with Student's t, as Headroom reports it: for the p95, this is the p95
  of a day, averaged over days;
- the pooled percentile of all replications, with the sectioning interval of Asmussen and Glynn
  (2007), section III.5: for the p95, this is the value that 95% of the requests of all days stay
  below.

Writes `benches/results/terminating.json`; `--print` prints the table of the stored results.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benches.harness import write_rows
from headroom.analysis.run.distributions import Bins, kept_bins, merge_by_metric, percentiles
from headroom.analysis.run.over_time import course_of
from headroom.analysis.run.time_windows import over_replications, part_of, values_of_parts
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.run import FloatArray, Run
from headroom.experiment.protocol.system import Column
from headroom.simulation import Model, changing_rate, exponential
from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.model.conversion import run_of

RESULTS = Path(__file__).resolve().parent / "results" / "terminating.json"
REPLICATIONS = 2_000
GROUPS = (3, 5, 10)
FIRST_SEED = 20_000_000
METRICS = ("throughput", "response_s_mean", "response_s_p50", "response_s_p95", "response_s_p99")
INTERVALS = 24
PERCENTS = {"response_s_p50": 50.0, "response_s_p95": 95.0, "response_s_p99": 99.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """An M(t)/M/1 queue with services of 1 s on average, and the window under study."""

    name: str
    times_s: tuple[float, ...]
    rates: tuple[float, ...]
    end_s: float
    window_s: tuple[float, float]

    def model(self) -> Model:
        """Return the model."""
        model = Model(self.name, time_unit="s")
        program = model.program("visit")
        program.use(model.station("server"), exponential(1.0))
        arrivals = changing_rate(times=self.times_s, rates=self.rates)
        model.open_class("customers", program, interarrival=arrivals)
        return model

    def runs(self) -> Iterator[Run]:
        """Yield the replications."""
        once = ready(self.model())
        ends = sorted({
            *(self.end_s * (place + 1) / INTERVALS for place in range(INTERVALS)), *self.window_s
        } - {0.0})  # fmt: skip
        for number in range(REPLICATIONS):
            seed = FIRST_SEED + number
            yield run_of(run_ready(once, seed=seed, time=self.end_s, interval_ends=ends))


TRANSIENTS = (
    Transient(
        name="day with a peak of 108%, whole",
        times_s=(0.0, 800.0, 1200.0),
        rates=(0.5, 1.08, 0.5),
        end_s=2000.0,
        window_s=(0.0, 2000.0),
    ),
    Transient(
        name="day with a peak of 108%, peak",
        times_s=(0.0, 800.0, 1200.0),
        rates=(0.5, 1.08, 0.5),
        end_s=2000.0,
        window_s=(800.0, 1200.0),
    ),
    Transient(
        name="day with a peak of 80%, peak",
        times_s=(0.0, 800.0, 1200.0),
        rates=(0.4, 0.8, 0.4),
        end_s=2000.0,
        window_s=(800.0, 1200.0),
    ),
    Transient(
        name="M/M/1 at 90% from empty",
        times_s=(0.0,),
        rates=(0.9,),
        end_s=1000.0,
        window_s=(0.0, 1000.0),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Coverage of one metric at one number of replications; shares of the experiments."""

    model: str
    metric: str
    replications: int
    experiments: int
    truth: float
    coverage: float
    pooled_truth: float | None
    pooled_coverage: float | None


def measure() -> list[Row]:
    """Return the coverage of every model and metric."""
    return [row for transient in TRANSIENTS for row in _measured(transient)]


def _measured(transient: Transient) -> Iterator[Row]:
    start_s, end_s = transient.window_s
    values: list[dict[str, float]] = []
    bins: list[Bins] = []
    courses: list[FloatArray] = []
    for run in transient.runs():
        part = part_of(run, from_s=start_s, to_s=end_s)
        if part is None:
            raise AssertionError("the window lies within the run")
        values += values_of_parts([part])
        bins.append(kept_bins(part)["response_s"])
        course = course_of([run], most_joined=1)
        if course is not None:
            courses.append(course.values["jobs_mean"][0])
    for count in GROUPS:
        for metric in METRICS:
            yield _row(transient, metric, values, bins, count)
        yield _worst_row(transient, np.array(courses), count)


def _row(
    transient: Transient,
    metric: str,
    values: list[dict[str, float]],
    bins: list[Bins],
    count: int,
) -> Row:
    percent = PERCENTS.get(metric)
    truth = float(np.mean([run_values[metric] for run_values in values]))
    pooled_truth = None if percent is None else _pooled(bins, percent)
    hits, pooled_hits = [], []
    for group in _groups(count):
        chosen = [values[place] for place in group]
        sample = over_replications(chosen, Column.MODEL)[metric]
        hits.append(_covers(sample, truth))
        if percent is not None and pooled_truth is not None:
            value = _pooled([bins[place] for place in group], percent)
            pooled = Sample(values=sample.values, centre="pooled", pooled=value)
            pooled_hits.append(_covers(pooled, pooled_truth))
    return Row(
        model=transient.name,
        metric=metric,
        replications=count,
        experiments=len(hits),
        truth=truth,
        coverage=float(np.mean(hits)),
        pooled_truth=pooled_truth,
        pooled_coverage=float(np.mean(pooled_hits)) if pooled_hits else None,
    )


def _worst_row(transient: Transient, jobs: FloatArray, count: int) -> Row:
    """Return how often the interval of the worst interval covers its truth: it is chosen by it."""
    means = jobs.mean(axis=0)
    truth = float(means.max())
    hits = []
    for group in _groups(count):
        chosen = jobs[group]
        worst = chosen[:, int(np.argmax(chosen.mean(axis=0)))]
        hits.append(_covers(Sample(values=worst), truth))
    return Row(
        model=transient.name,
        metric="jobs_mean in the worst interval",
        replications=count,
        experiments=len(hits),
        truth=truth,
        coverage=float(np.mean(hits)),
        pooled_truth=None,
        pooled_coverage=None,
    )


def _groups(count: int) -> Iterator[list[int]]:
    for first in range(0, REPLICATIONS - count + 1, count):
        yield list(range(first, first + count))


def _pooled(bins: list[Bins], percent: float) -> float:
    (merged,) = merge_by_metric({"response_s": of_run} for of_run in bins).values()
    return percentiles(merged, [percent])[0]


def _covers(sample: Sample, truth: float) -> bool:
    interval = sample.interval()
    return (
        interval.low is not None
        and interval.high is not None
        and interval.low <= truth <= interval.high
    )


def load() -> list[Row]:
    """Return the stored results."""
    return [Row(**row) for row in json.loads(RESULTS.read_text())]


def table(rows: list[Row]) -> str:
    """Return the results as a Markdown table: one line per metric, each model named once."""
    heads = ["model and window", "metric", *(f"n = {count}" for count in GROUPS),
             *(f"pooled, n = {count}" for count in GROUPS)]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    last = ""
    for model, metric in dict.fromkeys((row.model, row.metric) for row in rows):
        by_count = {
            row.replications: row for row in rows if (row.model, row.metric) == (model, metric)
        }
        own = [_percent(by_count[count].coverage) for count in GROUPS]
        pooled = [_percent(by_count[count].pooled_coverage) for count in GROUPS]
        shown = "" if model == last else model
        last = model
        lines.append(f"| {' | '.join([shown, metric, *own, *pooled])} |")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f}%"


def main(arguments: Sequence[str]) -> int:
    """Measure, or print the stored results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--print", action="store_true", help="print the stored results")
    if not parser.parse_args(arguments).print:
        write_rows(measure(), RESULTS)
    print(table(load()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
