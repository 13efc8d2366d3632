"""Statistics of the observations of one measured run: moments, extremes, high percentiles.

Mean and standard deviation are exact if the system keeps exact sums. Otherwise they follow from the
bins, assuming that the observations of a bin are spread evenly over it. The mean deviation always
follows from the bins, because no sum gives it. The smallest and largest values are reported only if
they are exact.

Invariants: a value that a run cannot give is absent; classes that are told together have the sum
of their counts and totals.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from headroom.analysis.evidence import Absent
from headroom.analysis.run.distributions import (
    POOLED_METRICS,
    Bins,
    is_occupancy,
    is_of_a_class,
    percentiles,
)
from headroom.analysis.run.rare import too_few_observations
from headroom.analysis.run.windows import Window
from headroom.experiment.protocol.observed_metrics import (
    PERCENTS,
    percent_name,
)
from headroom.experiment.protocol.run import Histogram

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact sums and extremes of the kept observations of one quantity, in its unit."""

    total: float
    squares: float
    smallest: float
    largest: float

    def __add__(self, other: "Totals") -> "Totals":
        """Return the totals of both sets of observations together."""
        return Totals(
            self.total + other.total,
            self.squares + other.squares,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
        )


def observed_values(window: Window, bins: Mapping[str, Bins]) -> dict[str, float]:
    """Return moments, extremes and percentiles of every quantity that a run counted.

    Parameters
    ----------
    window
        Kept part of the run.
    bins
        Kept distributions of the same window, by metric.
    """
    totals = kept_totals(window)
    return {
        f"{quantity}_{name}": value
        for quantity, counted in bins.items()
        for name, value in _of_quantity(counted, totals.get(quantity))
    }


def with_only_class(window: Window, found: Mapping[str, Found]) -> dict[str, Found]:
    """Return the statistics of each quantity; a single class has those of the whole run.

    Examples
    --------
    >>> from headroom.experiment.protocol.run import ResourceTable, Run
    >>> table = ResourceTable(kind="class", names=("read",), capacity=np.ones(1), columns={})
    >>> window = Window(run=Run(resources=(table,)), first=-1, start_s=0.0, end_s=1.0)
    >>> with_only_class(window, {"service_s": 1})
    {'class.read.service_s': 1, 'service_s': 1}
    """
    classes = window.table("class")
    if classes is None or len(classes.names) != 1:
        return dict(found)
    whole = {
        f"class.{classes.names[0]}.{quantity}": found[quantity]
        for quantity in POOLED_METRICS
        if quantity in found
    }
    return whole | dict(found)


def _of_quantity(bins: Bins, totals: Totals | None) -> Iterator[tuple[str, float]]:
    mean, stdev = moments(bins) if totals is None else _exact_moments(totals, bins.total)
    yield "mean", mean
    if bins.total > 1:
        yield "stdev", stdev
    yield "mean_deviation", mean_deviation(bins)
    if totals is not None:
        yield "min", totals.smallest
        yield "max", totals.largest
    for percent, value in zip(PERCENTS, percentiles(bins, PERCENTS), strict=True):
        yield percent_name(percent), _within(value, totals)


def _within(value: float, totals: Totals | None) -> float:
    """Return a percentile that was read inside a bin, but never beyond what was observed."""
    return value if totals is None else min(max(value, totals.smallest), totals.largest)


def kept_totals(window: Window) -> dict[str, Totals]:
    """Return the exact totals of the kept part of a run, by metric, where the run keeps them.

    Examples
    --------
    >>> from headroom.experiment.protocol.run import Run, SegmentTotals
    >>> exact = SegmentTotals(sums=np.array([9.0, 3.0]), square_sums=np.array([81.0, 5.0]),
    ...                       minima=np.array([9.0, 1.0]), maxima=np.array([9.0, 2.0]))
    >>> counted = Histogram(metric="class.read.service_s", bin_low=np.array([1.0, 8.0]),
    ...     bin_high=np.array([2.5, 10.0]), counts=np.array([[0, 1], [2, 0]]),
    ...     segment_end_times_s=np.array([5.0, 10.0]), totals=exact)
    >>> window = Window(run=Run(histograms=(counted,)), first=-1, start_s=5.0, end_s=10.0)
    >>> kept_totals(window)["service_s"]
    Totals(total=3.0, squares=5.0, smallest=1.0, largest=2.0)
    """
    found = {
        histogram.metric: totals
        for histogram in window.run.histograms
        if not is_occupancy(histogram.metric)
        and (totals := _totals_of(window, histogram)) is not None
    }
    for pooled in POOLED_METRICS:
        parts = [histogram.metric for histogram in window.run.histograms
                 if is_of_a_class(histogram.metric, pooled)]  # fmt: skip
        if parts and pooled not in found and all(part in found for part in parts):
            first, *rest = (found[part] for part in parts)
            found[pooled] = sum(rest, start=first)
    return with_only_class(window, found)


def _totals_of(window: Window, histogram: Histogram) -> Totals | None:
    exact = histogram.totals
    if exact is None:
        return None
    kept = window.kept_segments(histogram)
    return Totals(
        float(exact.sums[kept].sum()),
        float(exact.square_sums[kept].sum()),
        float(exact.minima[kept].min(initial=math.inf)),
        float(exact.maxima[kept].max(initial=-math.inf)),
    )


def _exact_moments(totals: Totals, count: int) -> tuple[float, float]:
    mean = totals.total / count
    squares = max(totals.squares - totals.total * mean, 0.0)
    return mean, math.sqrt(squares / max(count - 1, 1))


def moments(bins: Bins) -> tuple[float, float]:
    """Return mean and standard deviation of counted observations, spread evenly in their bins.

    Examples
    --------
    >>> mean, stdev = moments(Bins(np.array([0.0]), np.array([12.0]), np.array([1e9])))
    >>> mean, round(stdev, 6) == round(12.0 / math.sqrt(12.0), 6)
    (6.0, True)
    """
    middles = (bins.low + bins.high) / 2.0
    total = float(bins.counts.sum())
    mean = float((middles * bins.counts).sum()) / total
    inside = (bins.high - bins.low) ** 2 / 12.0
    squares = float((((middles - mean) ** 2 + inside) * bins.counts).sum())
    return mean, math.sqrt(squares / max(total - 1.0, 1.0))


def mean_deviation(bins: Bins) -> float:
    """Return the mean distance of counted observations from their mean.

    Examples
    --------
    >>> mean_deviation(Bins(np.array([0.0]), np.array([12.0]), np.array([7.0])))
    3.0
    """
    mean, _ = moments(bins)
    below, above = mean - bins.low, bins.high - mean
    is_around = (below > 0.0) & (above > 0.0)
    widths = np.where(is_around, bins.high - bins.low, 1.0)
    distances = np.where(
        is_around,
        (below**2 + above**2) / (2.0 * widths),
        np.abs((bins.low + bins.high) / 2.0 - mean),
    )
    return float((distances * bins.counts).sum()) / float(bins.counts.sum())


def too_few_for(kept: Sequence[Mapping[str, Bins]]) -> dict[str, Absent]:
    """Return the percentiles that the runs of a point are too short for, with the reason.

    Parameters
    ----------
    kept
        Kept distributions of each run, by metric.

    Examples
    --------
    >>> short = Bins(np.array([0.0]), np.array([1.0]), np.array([150.0]))
    >>> absent = too_few_for([{"service_s": short}])["service_s_p95"]
    >>> absent.percent, absent.needed, absent.found
    (95.0, 200, 150)
    """
    fewest = {
        quantity: min(run[quantity].total if quantity in run else 0 for run in kept)
        for quantity in dict.fromkeys(name for run in kept for name in run)
    }
    return {
        f"{quantity}_{percent_name(percent)}": absent
        for quantity, count in fewest.items()
        for percent in PERCENTS
        if (absent := too_few_observations(percent, count))
    }
