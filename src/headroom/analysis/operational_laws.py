"""Operational laws as assertions on every simulated run: a run that breaks one is not reported.

Checked on the kept window of each run:

* Little's law N = X R, for the system, each class and each station;
* the utilization law: jobs at a station are in service or in its queue, so busy time equals
  job time less queueing time, at every snapshot;
* no server or token is busy for longer than the time that passed.

How far N and X R may differ follows from an identity. Job time up to t is the response time of
all jobs completed by t plus the *ages* of the jobs still present at t. Over a window, N T less
X R T is therefore the difference of the ages at its two edges. Ages are bounded without any
assumption: none is negative; none is older than the last snapshot at which nobody was present
(which makes the law exact where a station is seen empty). Where a station is never seen empty,
the jobs at both edges are taken to be no older, on average, than the longest of at least
`FEWEST_RESPONSES` responses of the run. The tolerance is thus a number of jobs times a time;
relative to N it shrinks with the number of completions.

Sources: Little, *A Proof for the Queuing Formula L = lambda W* (1961); Denning and Buzen, *The
Operational Analysis of Queueing Network Models* (1978).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headroom.analysis.windows import Window
from headroom.experiment.run import FloatArray, ResourceTable

EPSILON = float(np.finfo(np.float64).eps)
FEWEST_RESPONSES = 1000
"""Below this number the longest response is no bound: whatever the distribution, the next of
n + 1 exchangeable responses is the longest with probability 1 / (n + 1)."""


@dataclass(frozen=True, slots=True)
class LittleGap:
    """How far N and X R are apart at one place, and how far they may be, relative to N."""

    place: str
    gap: float
    tolerance: float
    jobs_mean: float

    @property
    def passed(self) -> bool:
        """True where the gap is explained by the jobs at the edges of the window."""
        return self.gap <= self.tolerance

    def fault(self) -> str:
        """Return the sentence for a run that breaks the law here."""
        return (
            f"Little's law fails for {self.place}: {self.jobs_mean:.6g} jobs on average differ "
            f"from throughput times response by {self.gap:.3g} of that, and only "
            f"{self.tolerance:.3g} can come from the jobs at the edges"
        )


@dataclass(frozen=True, slots=True)
class LawReport:
    """What the checks of one run found."""

    gaps: tuple[LittleGap, ...]
    faults: tuple[str, ...]

    def worst(self) -> LittleGap | None:
        """Return the largest gap, one that fails before all that pass; None without tables."""
        return max(self.gaps, key=lambda gap: (not gap.passed, gap.gap), default=None)


def check_laws(window: Window) -> LawReport:
    """Return the gaps of Little's law and the faults of the run that `window` keeps."""
    gaps = tuple(_little_gaps(window))
    faults = [gap.fault() for gap in gaps if not gap.passed]
    stations, pools = window.table("station"), window.table("pool")
    if stations is not None:
        faults += _overload_faults(window, stations, "busy_s")
        faults += _utilization_law_faults(window, stations)
    if pools is not None:
        faults += _overload_faults(window, pools, "held_s")
    return LawReport(gaps, tuple(faults))


def _little_gaps(window: Window) -> Iterator[LittleGap]:
    longest_s = _longest_response_s(window)
    classes, stations = window.table("class"), window.table("station")
    if classes is not None:
        whole = {name: column.sum(axis=1, keepdims=True) for name, column in
                 classes.columns.items()}  # fmt: skip
        yield from _gaps_of(window, ("the system",), whole, longest_s)
        if len(classes.names) > 1:
            places = tuple(f"class {name}" for name in classes.names)
            yield from _gaps_of(window, places, dict(classes.columns), longest_s)
    if stations is not None:
        places = tuple(f"station {name}" for name in stations.names)
        yield from _gaps_of(window, places, dict(stations.columns), longest_s)


def _gaps_of(
    window: Window, places: tuple[str, ...], columns: dict[str, FloatArray], longest_s: float
) -> Iterator[LittleGap]:
    """Yield one gap per resource from cumulative columns, shape (snapshots, resources)."""
    present = columns["arrival_count"] - columns["completion_count"]
    ages_s = columns["jobs_s"] - columns["response_s_sum"]
    limits_s = present * _since_empty_s(window.run.snapshot_times_s, present)
    rounding_s = _rounding_s(columns)
    edges = [_edge(window, table) for table in (present, ages_s, limits_s)]
    (jobs_start, jobs_end), (age_start, age_end), (limit_start, limit_end) = edges
    at_edges = jobs_start + jobs_end
    by_response_s = np.where(at_edges > 0, np.maximum(at_edges, 1.0) * longest_s, 0.0)
    allowed_s = np.minimum(np.maximum(limit_start, limit_end), by_response_s)
    jobs_s = window.snapshots(columns["jobs_s"])
    gained_s = jobs_s[-1] - jobs_s[0]
    impossible = np.any((ages_s < -rounding_s) | (ages_s > limits_s + rounding_s), axis=0)
    for place, name in enumerate(places):
        gap_s = float(abs(age_end[place] - age_start[place]))
        tolerance_s = -1.0 if impossible[place] else float(allowed_s[place] + rounding_s[place])
        yield _gap(name, gap_s, tolerance_s, float(gained_s[place]), window.length_s)


def _gap(
    place: str, gap_s: float, tolerance_s: float, gained_s: float, length_s: float
) -> LittleGap:
    if gained_s <= 0.0:
        broken = gap_s > max(tolerance_s, 0.0)
        return LittleGap(place, 1.0 if broken else 0.0, 0.0, 0.0)
    return LittleGap(place, gap_s / gained_s, tolerance_s / gained_s, gained_s / length_s)


def _edge(window: Window, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows of `table` at the start and at the end of the window."""
    start = table[window.first] if window.first >= 0 else np.zeros(table.shape[1])
    return start, table[-1]


def _since_empty_s(times_s: FloatArray, present: FloatArray) -> FloatArray:
    """Return the time (s) since the last snapshot with nobody present, per resource."""
    empty_at_s = np.where(present <= 0, times_s[:, None], 0.0)
    since_s: FloatArray = times_s[:, None] - np.maximum.accumulate(empty_at_s, axis=0)
    return since_s


def _rounding_s(columns: dict[str, FloatArray]) -> FloatArray:
    """Return the rounding error (s) of sums with one term per arrival and per completion."""
    terms = columns["arrival_count"][-1] + columns["completion_count"][-1] + 1.0
    largest = np.maximum(columns["jobs_s"][-1], columns["response_s_sum"][-1])
    rounding: FloatArray = 4.0 * EPSILON * terms * largest
    return rounding


def _longest_response_s(window: Window) -> float:
    """Return the longest response (s) of any class in the whole run; unbounded if unknown."""
    counted = [
        (float(histogram.bin_high[histogram.counts.any(axis=0)].max(initial=0.0)),
         int(histogram.counts.sum()))
        for histogram in window.run.histograms
        if histogram.metric == "response_s" or histogram.metric.endswith(".response_s")
    ]  # fmt: skip
    if sum(count for _, count in counted) < FEWEST_RESPONSES:
        return float("inf")
    return max(longest_s for longest_s, _ in counted)


def _overload_faults(window: Window, table: ResourceTable, column: str) -> list[str]:
    """Return a fault for each resource that is busy for longer than time passes."""
    reached_s, times_s = window.snapshots(table.columns[column]), window.times_s()
    busy_s = reached_s[1:] - reached_s[:-1]
    passed_s = (times_s[1:] - times_s[:-1])[:, None]
    rounding_s = 4.0 * EPSILON * table.columns[column].shape[0] * table.columns[column][-1]
    finite = np.where(np.isfinite(table.capacity), table.capacity, 0.0)
    over = (busy_s > finite * passed_s + rounding_s + EPSILON * window.end_s).any(axis=0)
    if not over.any():
        return []
    return [
        f"{table.kind} {name} is busy for longer than the time that passes"
        for name, is_over, capacity in zip(table.names, over, table.capacity, strict=True)
        if is_over and np.isfinite(capacity)
    ]


def _utilization_law_faults(window: Window, table: ResourceTable) -> list[str]:
    columns = dict(table.columns)
    in_service_s = columns["jobs_s"] - columns["queue_s"]
    gaps = np.abs(window.snapshots(columns["busy_s"] - in_service_s))
    broken = np.any(gaps > _rounding_s(columns), axis=0)
    if not broken.any():
        return []
    return [
        f"the utilization law fails for station {name}: busy time differs from the time that "
        "jobs spend there outside its queue"
        for name, is_broken in zip(table.names, broken, strict=True)
        if is_broken
    ]
