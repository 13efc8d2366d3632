"""Response times over time: a histogram for each time slice of each replication.

A measured run counts its response times in histograms, one for each of a few segments of the run.
The histograms are mapped to one grid: slices of equal duration, the same number for each
replication, and response times in bins of equal ratio. The counts of a segment are assumed to be
spread evenly over it.

Invariant: the shares of a stretch in which something completed sum up to one, but for rounding.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headroom.analysis.results import LatencyMap
from headroom.experiment.protocol.run import FloatArray, Histogram, Run

STRETCHES_AT_MOST = 64
LENGTHS_AT_MOST = 40
FEWEST_STRETCHES = 8
"""With fewer the picture says nothing that the distribution does not."""
PARTS = 100_000
"""Shares are whole numbers of these parts; one that is smaller counts as one."""
ROUNDS = "rounds.response_s"
"""Histogram of a test in rounds, with all of them: its other histograms have the last ones."""
_METRIC = "response_s"
_SMALLEST_RATIO = 2**0.25


def latency_map(runs: Sequence[Run]) -> LatencyMap | None:
    """Return the map of the replications, one after the other; None if they tell too little.

    Parameters
    ----------
    runs
        Replications in the order in which they were measured.

    Examples
    --------
    >>> counts = np.array([[4, 0], [3, 1]] * 4)
    >>> one = Histogram(metric="response_s", bin_low=np.array([0.001, 0.1]),
    ...     bin_high=np.array([0.0011, 0.11]), counts=counts,
    ...     segment_end_times_s=np.arange(1.0, 9.0))
    >>> found = latency_map([Run(histograms=(one,))])
    >>> found.stretches[1][-2:], found.step_s, found.per_run
    ([26, 25000], 1.0, 8)
    """
    kept = [(run, chosen) for run in runs if (chosen := _chosen(run))][:STRETCHES_AT_MOST]
    if not kept:
        return None
    segments = max(one.segment_end_times_s.size for _, chosen in kept for one in chosen)
    per_run = min(segments, STRETCHES_AT_MOST // len(kept))
    if per_run * len(kept) < FEWEST_STRETCHES:
        return None
    ends_s = [max(float(one.segment_end_times_s[-1]) for one in chosen) for _, chosen in kept]
    edges = _lengths([one for _, chosen in kept for one in chosen])
    stretches: list[list[int]] = []
    for (_, chosen), end_s in zip(kept, ends_s, strict=True):
        grid = np.linspace(0.0, end_s, per_run + 1)
        total = sum(_on_grid(one, grid, edges) for one in chosen)
        stretches += [_sparse(row) for row in np.asarray(total)]
    return LatencyMap(
        step_s=float(np.mean(ends_s)) / per_run,
        per_run=per_run,
        shortest_s=float(edges[0]),
        ratio=float(edges[1] / edges[0]),
        stretches=stretches,
    )


def _chosen(run: Run) -> list[Histogram]:
    """Return the histograms that together have each response once; none where all are empty."""
    by_name = {
        histogram.metric: histogram for histogram in run.histograms if histogram.counts.any()
    }
    for whole in (ROUNDS, _METRIC):
        if whole in by_name:
            return [by_name[whole]]
    return [
        one
        for name, one in by_name.items()
        if name.startswith("class.") and name.endswith(f".{_METRIC}")
    ]


def _lengths(histograms: Sequence[Histogram]) -> FloatArray:
    """Return the edges of a grid of response times (s) that covers all of them."""
    used = [(histogram, histogram.counts.any(axis=0)) for histogram in histograms]
    low = min(float(one.bin_low[keep].min()) for one, keep in used)
    high = max(float(one.bin_high[keep].max()) for one, keep in used)
    low = max(low, high * 1e-9, 1e-9)
    ratio = max((high / low) ** (1.0 / LENGTHS_AT_MOST), _SMALLEST_RATIO)
    count = min(int(np.ceil(np.log(high / low) / np.log(ratio))), LENGTHS_AT_MOST)
    edges: FloatArray = low * ratio ** np.arange(max(count, 1) + 1)
    return edges


def _on_grid(one: Histogram, grid: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the counts of a histogram, shape (stretches, lengths)."""
    middles = np.sqrt(np.maximum(one.bin_low, edges[0]) * np.maximum(one.bin_high, edges[0]))
    places = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, edges.size - 2)
    lengths = np.zeros((one.counts.shape[0], edges.size - 1))
    np.add.at(lengths.T, places, one.counts.T.astype(np.float64))
    ends = one.segment_end_times_s
    starts = np.concatenate([[0.0], ends[:-1]])
    overlap = np.minimum(grid[1:, None], ends) - np.maximum(grid[:-1, None], starts)
    weights = np.clip(overlap, 0.0, None) / np.maximum(ends - starts, 1e-12)
    found: FloatArray = weights @ lengths
    return found


def _sparse(row: npt.NDArray[np.float64]) -> list[int]:
    """Return the places that are not empty, each followed by its share in `PARTS`."""
    total = row.sum()
    if total <= 0.0:
        return []
    (places,) = np.nonzero(row)
    shares = np.maximum(np.rint(row[places] / total * PARTS), 1.0).astype(int)
    return [int(number) for pair in zip(places, shares, strict=True) for number in pair]
