"""Distributions after the warm-up cut: merged over replications, never averaged.

Histograms of one quantity share a grid, and each run reports its non-empty bins. Merging adds the
counts of equal bins. Percentiles are read from merged counts and interpolated inside the bin.

Invariant: merging and thinning keep every count.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.analysis.run.windows import Window
from headroom.experiment.protocol.asked_metrics import PERCENTS, Statistic
from headroom.experiment.protocol.run import FloatArray, Histogram

MOST_BINS = 100
"""Most bins of a distribution in the results; neighbours are merged beyond that."""
POOLED_METRIC = "response_s"
"""The response time of all classes together."""
POOLED_METRICS = (POOLED_METRIC, "service_s")
"""Quantities of which the classes are also told together."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Counted bins in ascending order: bounds in the unit of the metric, shape (bins,)."""

    low: FloatArray
    high: FloatArray
    counts: FloatArray

    @property
    def total(self) -> int:
        """Number of observations."""
        return int(self.counts.sum())


def kept_bins(window: Window) -> dict[str, Bins]:
    """Return the bins of each metric in the kept part of a run; empty histograms are left out.

    Several classes are merged into `POOLED_METRICS` as well. Times by the number of jobs present
    are no observations: `kept_occupancies` returns them.
    """
    found = _kept(
        window,
        [histogram for histogram in window.run.histograms if not is_occupancy(histogram.metric)],
    )
    for pooled in POOLED_METRICS:
        of_classes = [bins for name, bins in found.items() if is_of_a_class(name, pooled)]
        if of_classes and pooled not in found:
            found[pooled] = merge(of_classes)
    return found


def kept_occupancies(window: Window) -> dict[str, Bins]:
    """Return for each station how long each number of jobs was present, in parts of the time."""
    found = _kept(
        window, [histogram for histogram in window.run.histograms if is_occupancy(histogram.metric)]
    )
    return {
        metric: Bins(bins.low, bins.high, bins.counts / bins.counts.sum())
        for metric, bins in found.items()
    }


def is_occupancy(metric: str) -> bool:
    """Return whether a metric is the number of jobs present at a station.

    Examples
    --------
    >>> is_occupancy("station.cpu.jobs"), is_occupancy("response_s")
    (True, False)
    """
    return metric.startswith("station.") and metric.endswith(".jobs")


def _kept(window: Window, histograms: Sequence[Histogram]) -> dict[str, Bins]:
    found = {}
    for histogram in histograms:
        counts = window.kept_counts(histogram)
        kept = counts > 0
        if kept.any():
            bins = Bins(histogram.bin_low[kept], histogram.bin_high[kept], counts[kept])
            found[histogram.metric] = merge([bins])
    return found


def is_of_a_class(metric: str, quantity: str) -> bool:
    """Return whether a metric is that quantity of one class.

    Examples
    --------
    >>> is_of_a_class("class.read.service_s", "service_s"), is_of_a_class("service_s", "service_s")
    (True, False)
    """
    return metric.startswith("class.") and metric.endswith(f".{quantity}")


def merge(parts: Sequence[Bins]) -> Bins:
    """Return the sum of histograms on one grid, where the lower bound tells the bin.

    Examples
    --------
    >>> one = Bins(np.array([1.0]), np.array([2.0]), np.array([3.0]))
    >>> two = Bins(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    >>> merge([one, two]).counts
    array([1., 4.])
    """
    low = np.concatenate([bins.low for bins in parts])
    high = np.concatenate([bins.high for bins in parts])
    counts = np.concatenate([bins.counts for bins in parts])
    lows, first, place = np.unique(low, return_index=True, return_inverse=True)
    summed = np.bincount(place, weights=counts, minlength=lows.size).astype(np.float64)
    return Bins(lows, high[first], summed)


def merge_by_metric(runs: Iterable[Mapping[str, Bins]]) -> dict[str, Bins]:
    """Return the distribution of each metric over all replications."""
    by_metric: dict[str, list[Bins]] = {}
    for bins_of_run in runs:
        for metric, bins in bins_of_run.items():
            by_metric.setdefault(metric, []).append(bins)
    return {metric: merge(parts) for metric, parts in by_metric.items()}


def percentiles(bins: Bins, percents: Sequence[float] = PERCENTS) -> list[float]:
    """Return for each of `percents` the value below which that part of the observations lies.

    Interpolated linearly inside the bin, so the error is at most the width of that bin.

    Examples
    --------
    >>> bins = Bins(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([50.0, 50.0]))
    >>> percentiles(bins, [25, 95])
    [0.5, 1.9]
    """
    reached = np.cumsum(bins.counts)
    targets = np.asarray(percents) / 100.0 * reached[-1]
    places = np.minimum(np.searchsorted(reached, targets), bins.counts.size - 1)
    low, counts = bins.low[places], bins.counts[places]
    shares = (targets - (reached[places] - counts)) / counts
    found: list[float] = (low + shares * (bins.high[places] - low)).tolist()
    return found


def tail_index(bins: Bins, share: float) -> float:
    """Return how heavy the upper tail is: the exponent of a power law that it resembles.

    Moments of an order above the index do not exist, if the tail continues so. By Hill, *A Simple
    General Approach to Inference About the Tail of a Distribution* (1975): one over the mean of
    log(x / u) over all x beyond u. An exponential tail has a larger index the farther out it is
    read: about 4 beyond the 95th percentile, 6 beyond the 99.5th.

    Parameters
    ----------
    bins
        Observations, in whole bins.
    share
        Share of them that counts as tail, in (0, 1).

    Returns
    -------
    float
        Above zero; infinite where the tail lies in one bin.

    Examples
    --------
    >>> ends = 1.01 ** np.arange(0.0, 2_000.0)
    >>> power = Bins(ends[:-1], ends[1:], 1e6 * (ends[:-1] ** -2.0 - ends[1:] ** -2.0))
    >>> round(tail_index(power, 0.05), 1)
    2.0
    """
    (start,) = percentiles(bins, [100.0 * (1.0 - share)])
    beyond = bins.low >= start
    if start <= 0.0 or not beyond.any():
        return math.inf
    excess = np.log((bins.low + bins.high)[beyond] / (2.0 * start))
    return float(bins.counts[beyond].sum() / np.sum(bins.counts[beyond] * excess))


def statistic_of(bins: Bins, statistic: Statistic) -> float:
    """Return a percentile of a distribution, or the share of it within a time.

    Examples
    --------
    >>> bins = Bins(np.array([0.0, 1.0]), np.array([0.0, 2.0]), np.array([70.0, 30.0]))
    >>> statistic_of(bins, Statistic("p80", 80.0)), statistic_of(bins, Statistic("0s"))
    (1.3333333333333333, 0.7)
    """
    if statistic.percent is not None:
        return percentiles(bins, [statistic.percent])[0]
    shape = Histogram(metric="", bin_low=bins.low, bin_high=bins.high,
                      counts=np.empty((0, 0), dtype=np.int64),
                      segment_end_times_s=np.empty(0))  # fmt: skip
    below = share_below(bins.counts[None, :], shape, [statistic.within_s])
    return float(below[0, 0]) / bins.total


def share_below(counts: FloatArray, histogram: Histogram, values: Sequence[float]) -> FloatArray:
    """Return how many observations of each segment lie below each value.

    Interpolated linearly inside the bin, as `percentiles` does.

    Parameters
    ----------
    counts
        Shape (segments, bins). Observations in the bins of `histogram`.
    histogram
        Gives the bounds of the bins.
    values
        Values, in the unit of the metric.

    Returns
    -------
    FloatArray
        Shape (segments, values).

    Examples
    --------
    >>> both = Histogram(metric="response_s", bin_low=np.array([0.0, 1.0]),
    ...                  bin_high=np.array([1.0, 2.0]), counts=np.array([[2, 2]]),
    ...                  segment_end_times_s=np.array([9.0]))
    >>> share_below(both.counts.astype(float), both, [1.0, 1.5])
    array([[2., 3.]])
    """
    above = np.asarray(values) - histogram.bin_low[:, None]
    widths = (histogram.bin_high - histogram.bin_low)[:, None]
    # A bin without a width holds one value: those who did not wait.
    parts = np.where(widths > 0.0, above / np.where(widths > 0.0, widths, 1.0), above >= 0.0)
    # Not a matrix product: the bits of that depend on the library and on its threads.
    below: FloatArray = np.add.reduce(counts[:, :, None] * np.clip(parts, 0.0, 1.0), axis=1)
    return below


def thinned(bins: Bins) -> Bins:
    """Return at most `MOST_BINS` bins by joining equally many neighbours."""
    group = -(-bins.counts.size // MOST_BINS)
    first = np.arange(0, bins.counts.size, group)
    last = np.minimum(first + group, bins.counts.size) - 1
    return Bins(bins.low[first], bins.high[last], np.add.reduceat(bins.counts, first))
