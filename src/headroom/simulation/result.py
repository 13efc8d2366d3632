"""What `simulate` returns: one run, raw and complete, in seconds.

Everything that depends on time is cumulative since time zero, recorded at snapshots; the last
snapshot is the end of the run. So any warm-up cut can be made afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cumulative statistics of all stations, all pools or all classes.

    Parameters
    ----------
    names
        One name per resource.
    capacity
        Shape (resources,). Servers of a station, tokens of a pool; for a class its population,
        infinity when open.
    columns
        Name to array of shape (snapshots, resources), cumulative since time zero. Stations:
        ``arrival_count``, ``completion_count``, ``wait_s_sum``, ``response_s_sum``, ``busy_s``
        (server-seconds), ``jobs_s`` (job-seconds in the station), ``queue_s`` (job-seconds
        waiting). Pools: ``grant_count``, ``wait_s_sum``, ``held_s`` (token-seconds), ``queue_s``.
        Classes: ``arrival_count``, ``completion_count``, ``response_s_sum``, ``jobs_s``.
        Two columns are not cumulative but the state at the snapshot, the *ages*: ``age_s`` of
        stations and classes sums up how long each job present has been there so far,
        ``queue_age_s`` of stations and pools how long each job that waits has waited so far. At
        every snapshot ``jobs_s`` is ``response_s_sum`` plus ``age_s``, and ``queue_s`` is
        ``wait_s_sum`` plus ``queue_age_s``, exactly but for rounding.
    maxima
        Name to array of shape (resources,): largest value over the whole run. Stations:
        ``queue_len``, ``jobs``; pools: ``queue_len``, ``held``; classes: ``jobs``.
    """

    names: tuple[str, ...]
    capacity: FloatArray
    columns: Mapping[str, FloatArray]
    maxima: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSeries:
    """Response times (s) of one class in completion order, as means of consecutive batches.

    Parameters
    ----------
    name
        Name of the class.
    values
        Shape (n,), n < 1024. Mean response time (s) of each batch.
    batch_size
        Jobs in a batch: 1 below 50 completions, else 5, 10, 20 ...
    end_times_s
        Shape (n,). When (s) each batch was complete.
    """

    name: str
    values: FloatArray
    batch_size: int
    end_times_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassHistogram:
    """Response times (s) of one class by size, for each of at most 16 segments of the run.

    Parameters
    ----------
    name
        Name of the class.
    bin_low, bin_high
        Shape (bins,). Bounds (s) of the bins in use; a bin is at most 1/128 of its value wide.
    counts
        Shape (segments, bins). Jobs per segment and bin.
    segment_end_times_s
        Shape (segments,). When (s) each segment ended.
    """

    name: str
    bin_low: FloatArray
    bin_high: FloatArray
    counts: npt.NDArray[np.int64]
    segment_end_times_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """One run of a model; all times are seconds.

    Parameters
    ----------
    snapshot_times_s
        Shape (snapshots,), at most 64. The last one is the end of the run.
    stations, pools, classes
        Cumulative statistics at the snapshots.
    series, histograms
        Response times, one entry per class.
    counters
        ``events``, ``visits`` (station visits completed), ``simulated_s`` and
        ``processor_s`` (processor time of the run).
    holds
        For each pool the stations that jobs use while they hold its tokens, from the programs.
    nested
        For each pool the other pools that jobs acquire while they hold its tokens.
    """

    snapshot_times_s: FloatArray
    stations: Table
    pools: Table
    classes: Table
    series: tuple[ClassSeries, ...]
    histograms: tuple[ClassHistogram, ...]
    counters: Mapping[str, float]
    holds: Mapping[str, tuple[str, ...]]
    nested: Mapping[str, tuple[str, ...]]


def from_kernel(
    raw: Mapping[str, Any],
    *,
    processor_s: float,
    holds: Mapping[str, tuple[str, ...]],
    nested: Mapping[str, tuple[str, ...]],
) -> SimulationResult:
    """Return the result that the kernel's dictionaries describe."""
    classes = _table(raw["classes"])
    counters = {
        "events": float(raw["event_count"]),
        "visits": float(raw["visit_count"]),
        "simulated_s": float(raw["simulated_s"]),
        "processor_s": processor_s,
    }
    series = zip(classes.names, raw["series"], strict=True)
    histograms = zip(classes.names, raw["histograms"], strict=True)
    return SimulationResult(
        snapshot_times_s=raw["snapshot_times_s"],
        stations=_table(raw["stations"]),
        pools=_table(raw["pools"]),
        classes=classes,
        series=tuple(ClassSeries(name=name, **data) for name, data in series),
        histograms=tuple(ClassHistogram(name=name, **data) for name, data in histograms),
        counters=counters,
        holds=holds,
        nested=nested,
    )


def _table(raw: Mapping[str, Any]) -> Table:
    return Table(**{**raw, "names": tuple(raw["names"])})
