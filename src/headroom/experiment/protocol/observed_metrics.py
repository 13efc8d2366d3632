"""Metrics that the analysis derives from a histogram: names, units and the minimum sample.

A measured system returns one histogram per quantity (``response_s``, ``service_s``) and class;
these are the metrics that follow from it. A system declares them by `observed_metrics`, the
analysis computes them, and both read the names here.

Invariant: a percentile is reported only if every run that counts has `BEYOND` observations beyond
it. With fewer, it is a guess about the few largest values: of ten thousand runs' p99.9 of 1,000
observations each, half would be the largest or second largest value seen.
"""

from collections.abc import Iterator

from headroom.experiment.protocol.system import Direction, Metric

PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
"""Percentiles of a measured histogram, if there are enough observations."""
BEYOND = 10
"""Observations that each run must have beyond a percentile that is reported."""
MOMENTS = {
    "mean": "Mean within a run",
    "stdev": "Standard deviation within a run",
    "mean_deviation": "Mean distance from the mean within a run",
    "min": "Smallest value of a run",
    "max": "Largest value of a run",
}
"""Qualifiers in addition to percentiles; `min` and `max` need exact `SegmentTotals`."""


def percent_name(percent: float) -> str:
    """Return a percentile as written in the name of a metric.

    Examples
    --------
    >>> percent_name(99), percent_name(99.9), percent_name(99.99)
    ('p99', 'p99_9', 'p99_99')
    """
    return f"p{percent:g}".replace(".", "_")


def observations_needed(percent: float) -> int:
    """Return how many observations a run needs to have `BEYOND` of them beyond a percentile.

    Parameters
    ----------
    percent
        Percentile, 50 or more and below 100.

    Examples
    --------
    >>> [observations_needed(percent) for percent in PERCENTS]
    [20, 100, 200, 1000, 10000, 100000]
    """
    return round(100.0 * BEYOND / (100.0 - percent))


def observed_metrics(
    quantity: str, *, unit: str = "s", better: Direction = "low"
) -> Iterator[Metric]:
    """Yield the metrics of a histogram, for `System.metrics` of a measured system.

    Parameters
    ----------
    quantity
        Metric of the histogram: ``response_s``, ``class.read.service_s``.
    unit
        Its unit.
    better
        Which direction a user wants of means and percentiles; spreads are better low, always.

    Examples
    --------
    >>> [metric.name for metric in observed_metrics("service_s")][:4]
    ['service_s_mean', 'service_s_stdev', 'service_s_mean_deviation', 'service_s_min']
    >>> [metric.name for metric in observed_metrics("service_s")][-2:]
    ['service_s_p99_9', 'service_s_p99_99']
    """
    for qualifier, description in MOMENTS.items():
        wanted: Direction = "low" if qualifier in {"stdev", "mean_deviation"} else better
        yield Metric(
            name=f"{quantity}_{qualifier}", unit=unit, better=wanted, description=description
        )
    for percent in PERCENTS:
        yield Metric(
            name=f"{quantity}_{percent_name(percent)}",
            unit=unit,
            better=better,
            description=f"{percent:g} of 100 observations of a run are at most this",
        )
