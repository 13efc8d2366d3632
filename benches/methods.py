"""Error rates of single methods: `python -m benches.methods [TABLE ...]`, a few core-minutes.

The coverage of the intervals of a point has its own benchmark (`benches.coverage`), and so do
comparisons. The remaining methods are here, on models or random numbers with a known answer:

- `independence`: how often an interval that treats the responses of a run as independent covers;
- `warm_up`: how much each warm-up rule shifts the mean of a queue that starts empty;
- `saturation`: how often M/M/1 is reported as saturated, below and above its capacity;
- `crossovers`: how often the interval of a crossover contains the true level;
- `spreads`: how often intervals of the spread of replications, or of a ratio of two spreads, cover.

The tables are printed but not stored, because the seeds are fixed.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from benches.coverage import planned
from benches.coverage_models import mm1, open_queue
from headroom.analysis.point import summarise
from headroom.analysis.statistics.crossover import RatioAt, crossings_of
from headroom.analysis.statistics.dispersion import statistic_interval, statistic_ratio
from headroom.analysis.statistics.intervals import Interval, Sample, t_quantile
from headroom.analysis.verdicts.saturation import is_saturated
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.study.study import Statistic, WarmUp
from headroom.simulation import simulate
from headroom.systems.model.conversion import run_of

Lines = Iterator[Sequence[str]]
FIRST_SEED = 30_000_000
CROSSING = 25.0
"""Level at which the curves of `crossovers` cross."""


def independence(experiments: int = 400, jobs: int = 10_000) -> Lines:
    """Yield the coverage of the naive interval for M/M/1, by Lindley's recursion."""
    yield "load", "naive interval covers"
    for load in (0.5, 0.8, 0.9):
        random = np.random.default_rng(1)
        wait_s = np.zeros(experiments)
        sums, squares = np.zeros(experiments), np.zeros(experiments)
        for _ in range(jobs):
            service_s = random.exponential(1.0, experiments)
            response_s = wait_s + service_s
            sums += response_s
            squares += response_s**2
            wait_s = np.maximum(response_s - random.exponential(1.0 / load, experiments), 0.0)
        mean_s = sums / jobs
        half_s = 1.96 * np.sqrt((squares / jobs - mean_s**2) / jobs)
        yield f"{load:g}", _percent(float(np.mean(np.abs(mean_s - 1.0 / (1.0 - load)) <= half_s)))


def warm_up(experiments: int = 400) -> Lines:
    """Yield the bias of the mean response of M/M/1 at load 0.9, one run of 50,000 each."""
    yield "method", "bias", "standard error"
    known = mm1(0.9)
    model, truth_s = known.build(), 10.0
    runs = [
        run_of(simulate(model, seed=FIRST_SEED + number, completions=50_000))
        for number in range(experiments)
    ]
    for method in ("automatic", "mser5"):
        plan = planned()
        spec = msgspec.structs.replace(plan.spec, warm_up=WarmUp(method=method))
        summaries = [summarise(replace(plan, spec=spec), [run]) for run in runs]
        means = np.array([
            summary.samples["response_s_mean"].value for summary in summaries if summary.samples
        ])  # fmt: skip
        error = float(means.std(ddof=1)) / math.sqrt(means.size)
        yield method, f"{means.mean() / truth_s - 1.0:+.1%}", f"{error / truth_s:.1%}"


def saturation(experiments: int = 300, arrivals: int = 20_000) -> Lines:
    """Yield how often M/M/1 is called saturated, by load and number of replications."""
    counts = (3, 5, 10)
    yield "load", *(f"{count} runs" for count in counts)
    for load in (0.9, 0.95, 0.99, 1.0, 1.05, 1.1):
        model = open_queue("queue", servers=1, load=load)
        called = dict.fromkeys(counts, 0)
        for number in range(experiments):
            first = FIRST_SEED + number * max(counts)
            runs = [
                run_of(simulate(model, seed=first + place, time=arrivals / load))
                for place in range(max(counts))
            ]
            for count in counts:
                called[count] += is_saturated(runs[:count])
        yield f"{load:g}", *(_percent(called[count] / experiments) for count in counts)


def crossovers(experiments: int = 300) -> Lines:
    """Yield how often the one crossover that is found holds `CROSSING`, with eight runs each."""
    yield "levels", "spread", "found", "of those, right"
    for levels in ((4.0, 16.0, 64.0, 256.0), (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)):
        for spread in (0.1, 0.2):
            crossings = [_crossing(levels, spread, seed) for seed in range(experiments)]
            known = [crossing for crossing in crossings if crossing is not None]
            held = sum(low <= CROSSING <= high for low, high in known)
            names = f"{len(levels)} from {levels[0]:g} to {levels[-1]:g}"
            yield names, f"{spread:.0%}", f"{len(known)}", _percent(held / len(known))


def _crossing(levels: Sequence[float], spread: float, seed: int) -> tuple[float, float] | None:
    random, runs, curve = np.random.default_rng(seed), 8, []
    for level in levels:
        values = random.normal(0.8 * math.log(level / CROSSING), spread, runs)
        half = t_quantile(degrees=runs - 1) * float(np.std(values, ddof=1)) / math.sqrt(runs)
        low, value, high = np.exp(np.mean(values) + half * np.array([-1.0, 0.0, 1.0])).tolist()
        curve.append(RatioAt(level=level, ratio=value, low=low, high=high))
    crossings = crossings_of(curve).crossings
    return (crossings[0].low, crossings[0].high) if len(crossings) == 1 else None


@dataclass(frozen=True, slots=True)
class _Law:
    """A distribution with its standard deviation and its mean deviation."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    stdev: float
    mean_deviation: float


def _lognormal(sigma: float) -> _Law:
    mean = math.exp(sigma**2 / 2.0)
    return _Law(
        lambda random, count: random.lognormal(0.0, sigma, count),
        mean * math.sqrt(math.expm1(sigma**2)),
        2.0 * mean * math.erf(sigma / math.sqrt(8.0)),
    )


LAWS = {
    "normal": _Law(
        lambda random, count: random.normal(10.0, 1.0, count), 1.0, math.sqrt(2.0 / math.pi)
    ),
    "exponential": _Law(lambda random, count: random.exponential(1.0, count), 1.0, 2.0 / math.e),
    "log-normal, sigma 0.5": _lognormal(0.5),
    "log-normal, sigma 1": _lognormal(1.0),
}


def spreads(experiments: int = 2_000) -> Lines:
    """Yield the coverage of intervals of spreads of 16 replications."""
    statistics: tuple[Statistic, ...] = ("mean_deviation", "stdev")
    yield (
        "values",
        *(f"ratio of {statistic}" for statistic in statistics),
        *(f"one {statistic}" for statistic in statistics),
    )
    for name, law in LAWS.items():
        random = np.random.default_rng(11)
        samples = [Sample(values=law.draw(random, 16)) for _ in range(2 * experiments)]
        pairs = list(zip(samples[::2], samples[1::2], strict=True))
        of_ratios = [
            _share([statistic_ratio(*pair, statistic) for pair in pairs], 1.0)
            for statistic in statistics
        ]
        of_one = [
            _share(
                [statistic_interval(first, statistic) for first, _ in pairs],
                getattr(law, statistic),
            )
            for statistic in statistics
        ]
        yield name, *(_percent(share) for share in (*of_ratios, *of_one))


def _share(intervals: Sequence[Interval], truth: float) -> float:
    bounds = [(interval.low, interval.high) for interval in intervals]
    held = [low is not None and high is not None and low <= truth <= high for low, high in bounds]
    return sum(held) / len(intervals)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%"


TABLES: dict[str, Callable[[], Lines]] = {
    lines.__name__: lines for lines in (independence, warm_up, saturation, crossovers, spreads)
}


def main(arguments: Sequence[str]) -> int:
    """Print the tables that are named, or all."""
    for name in arguments or TABLES:
        lines = TABLES[name]()
        head = next(lines)
        print(f"\n{name}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}", flush=True)
        for line in lines:
            print(f"| {' | '.join(line)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
