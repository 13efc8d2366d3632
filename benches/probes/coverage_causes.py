"""Print why intervals cover as often as they do: `python -m benches.probes.coverage_causes`.

An interval misses for one of three reasons: the estimate is biased, its stated error differs from
the actual one, or its assumed skewness does. Many experiments reveal all three: mean, variance and
skewness of the estimates next to the averages that the intervals assume. The seeds differ from
those of the published table and from those used to choose the method.

`python -m benches.probes.coverage_causes "M/M/1, load 0.9" "5 x 10,000" 600` takes a model, a
setting and the number of experiments.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benches.coverage import SEEDS_APART, SETTINGS, Setting, planned
from benches.coverage_models import Known, models
from headroom.analysis.point import summarise
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.run import Run
from headroom.simulation import Model, simulate
from headroom.systems.model.conversion import run_of

FIRST_SEED = 200_000_000
HEAD = "| metric | covers | above | below | bias | variance | skewness | said |"
RULE = "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"


@dataclass(frozen=True, slots=True)
class Causes:
    """The estimates of one metric, and the coverage of their intervals.

    Parameters
    ----------
    coverage, above, below
        Shares of the experiments whose interval contains the truth, lies above it, below it.
    bias
        Mean of the estimates less the truth, in standard deviations of one estimate.
    variance
        Mean of the stated variances over the variance of the estimates.
    skewness, skewness_said
        Of the estimates, and on average of what the intervals assume.
    """

    coverage: float
    above: float
    below: float
    bias: float
    variance: float
    skewness: float
    skewness_said: float


def causes(samples: Sequence[Sample | None], truth: float | None) -> Causes:
    """Return the causes shown by the samples of a metric; without a truth, their mean replaces it.

    Examples
    --------
    >>> from headroom.analysis.statistics.spread import Spread
    >>> spread = Spread(standard_error=1.0, degrees=9, skewness=0.0)
    >>> found = causes([Sample(values=np.array([value]), spread=spread) for value in (4.0, 6.0)],
    ...                truth=5.0)
    >>> found.coverage, found.bias, found.variance, found.skewness
    (1.0, 0.0, 1.0, 0.0)
    """
    known = [sample for sample in samples if sample is not None and sample.spread is not None]
    values = np.array([sample.value for sample in known])
    target = float(values.mean()) if truth is None else truth
    bounds = [sample.interval() for sample in known]
    above = sum(bound.low is not None and bound.low > target for bound in bounds) / len(samples)
    below = sum(bound.high is not None and bound.high < target for bound in bounds) / len(samples)
    centred = values - values.mean()
    spreads = [sample.spread for sample in known if sample.spread is not None]
    return Causes(
        coverage=len(known) / len(samples) - above - below,
        above=above,
        below=below,
        bias=float((values.mean() - target) / values.std()),
        variance=float(np.mean([spread.standard_error**2 for spread in spreads]) / values.var()),
        skewness=float(np.mean(centred**3) / np.mean(centred**2) ** 1.5),
        skewness_said=float(np.mean([spread.skewness for spread in spreads])),
    )


def samples_of(known: Known, setting: Setting, experiments: int) -> dict[str, list[Sample | None]]:
    """Return the samples of all metrics of a model, experiment by experiment."""
    model = known.build()
    summaries = [
        summarise(planned(), [_run(model, setting, number, place)
                              for place in range(setting.replications)])
        for number in range(experiments)
    ]  # fmt: skip
    return {name: [summary.samples.get(name) for summary in summaries] for name in known.truths}


def _run(model: Model, setting: Setting, number: int, place: int) -> Run:
    seed = FIRST_SEED + SEEDS_APART * number + place
    return run_of(simulate(model, seed=seed, completions=setting.completions))


def table(by_metric: dict[str, Causes]) -> str:
    """Return the causes of all metrics as a Markdown table."""
    return "\n".join([HEAD, RULE, *(_line(name, cause) for name, cause in by_metric.items())])


def _line(name: str, cause: Causes) -> str:
    return (
        f"| `{name}` | {100 * cause.coverage:.1f}% | {100 * cause.above:.1f}% | "
        f"{100 * cause.below:.1f}% | {cause.bias:+.2f} | {cause.variance:.2f} | "
        f"{cause.skewness:.1f} | {cause.skewness_said:.1f} |"
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table of one model in one setting."""
    name, wanted, experiments = arguments
    known = next(model for model in models() if model.name == name)
    setting = next(candidate for candidate in SETTINGS if candidate.name == wanted)
    samples = samples_of(known, setting, int(experiments))
    print(
        table(
            {
                metric: causes(of_metric, known.truths[metric])
                for metric, of_metric in samples.items()
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
