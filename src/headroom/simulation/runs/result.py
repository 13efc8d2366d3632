"""The result of `simulate`: one run, raw and complete, in seconds.

All time-dependent quantities are cumulative since time zero, recorded at snapshots; the last
snapshot is the end of the run. Any warm-up can therefore be removed afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.simulation.runs.event_trace import EventTrace

FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cumulative statistics of all stations, all pools, all classes, or pairs of them.

    Parameters
    ----------
    names
        One name per resource; a pair of a station (or pool) and a class is ``cpu.class.users``.
    capacity
        Shape (resources,). Servers, tokens or population; infinity if unlimited or open. A class of
        a mix has its share of the population by weight, although more jobs may be of it at a time.
    columns
        Name to array of shape (snapshots, resources), cumulative since time zero. Stations:
        ``arrival_count``, ``completion_count``, ``wait_s_sum``, ``response_s_sum``, ``busy_s``
        (server-seconds at work), ``jobs_s`` (job-seconds in the station), ``queue_s`` (job-seconds
        waiting), ``abandon_count`` and ``abandon_s_sum`` (visits given up, and their times),
        ``blocked_s`` (server-seconds held by jobs that wait for a place further on), ``down_s``
        (server-seconds broken), ``reject_count`` (jobs that found no place and failed, not in
        ``arrival_count``). Pools: ``grant_count``, ``wait_s_sum``, ``held_s`` (token-seconds),
        ``queue_s``, ``abandon_count``. If jobs may leave a queue or a capacity changes, both also
        have ``left_wait_s_sum`` and ``served_wait_s_sum`` (the parts of ``wait_s_sum`` of jobs that
        left, and of all others) and ``capacity_s`` (available server- or token-seconds; 0 with
        unlimited servers); stations have ``left_count`` (visits given up in the queue), pools
        ``request_count`` (grants and requests given up). Classes: ``arrival_count``,
        ``completion_count``, ``response_s_sum``, ``jobs_s``, ``lost_count`` and ``lost_s_sum``
        (jobs that came to no end), ``failed_try_count``, and the time in delays
        (``delay_s``), waiting for arms or replies (``join_s``) and outside of full stations
        (``outside_s``); if jobs may be lost or late, also ``reject_count``, ``abandon_count`` and
        ``fail_count`` (the parts of ``lost_count``: no room, no patience, the last try failed) and
        ``late_count`` (completed ones beyond `Model.late_after`). ``age_s`` and ``queue_age_s`` are
        not cumulative: the total time so far of the jobs present, or waiting, at the snapshot.
        Except for rounding, ``jobs_s`` is ``response_s_sum`` plus ``abandon_s_sum`` (of classes:
        ``lost_s_sum``) plus ``age_s``, and ``queue_s`` is ``wait_s_sum`` plus ``queue_age_s``.
    maxima
        Name to array of shape (resources,): largest value of the run. Stations: ``queue_len``,
        ``jobs``; pools: ``queue_len``, ``held``; classes: ``jobs``.
    """

    names: tuple[str, ...]
    capacity: FloatArray
    columns: Mapping[str, FloatArray]
    maxima: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The same tables at equal distances in time; recorded if `sample_every` is given.

    Parameters
    ----------
    times_s
        Shape (samples,), fewer than 4096; the distance doubles if there would be more.
    stations, pools, classes
        Cumulative statistics at these times.
    """

    times_s: FloatArray
    stations: Table
    pools: Table
    classes: Table


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
    """Response times (s) of one class, or waits, by size, for each of at most 16 segments of a run.

    Parameters
    ----------
    name
        Name of the class; of waits the metric, such as ``station.desk.wait_s``.
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


class WaitsOf(NamedTuple):
    """Whose waits a run keeps by size: the row of stations or pools, and the class or all."""

    is_pool: bool
    row: str
    class_name: str | None

    @property
    def quantity(self) -> str:
        """The waits as a metric: ``station.desk.wait_s``, ``pool.seats.class.read.wait_s``."""
        owner = "" if self.class_name is None else f".class.{self.class_name}"
        return f"{'pool' if self.is_pool else 'station'}.{self.row}{owner}.wait_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How long each number of jobs was present at one station, for at most 16 segments of the run.

    Parameters
    ----------
    name
        Name of the station.
    bin_low, bin_high
        Shape (bins,). Lowest number of jobs of each bin in use, and the first beyond it; below 128
        each number has its own bin.
    counts
        Shape (segments, bins). Time in ticks of the model's clock; only shares have a meaning.
    segment_end_times_s
        Shape (segments,). When (s) each segment ended.
    """

    name: str
    bin_low: FloatArray
    bin_high: FloatArray
    counts: npt.NDArray[np.int64]
    segment_end_times_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Statistics of intervals whose ends are given; recorded if `interval_ends` are.

    An interval holds the events from its start up to, but not at, its end; the last one ends with
    the run.

    Parameters
    ----------
    times_s
        Shape (intervals,). End (s) of each interval.
    stations, pools, classes
        Cumulative statistics at these times.
    histograms
        Response times of the jobs that completed in each interval; its segments are the intervals.
    station_queue_max, pool_queue_max
        Shape (intervals, resources). Longest line within each interval.
    """

    times_s: FloatArray
    stations: Table
    pools: Table
    classes: Table
    histograms: tuple[ClassHistogram, ...]
    station_queue_max: FloatArray
    pool_queue_max: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """One run of a model; all times are seconds.

    Parameters
    ----------
    snapshot_times_s
        Shape (snapshots,), at most 64. The last one is the end of the run.
    stations, pools, classes
        Cumulative statistics at the snapshots.
    visits, requests
        The same for each class at each station, and at each pool; empty if there is one class.
    series, histograms
        Response times, one entry per class.
    waits
        Waits of those that were asked for: all time in the line of each visit, counted at the end
        of its service, or of each request, counted when it is granted.
    occupancies
        Jobs present, one entry per station.
    samples
        `Samples`, if requested.
    intervals
        Statistics of intervals, if requested.
    trace
        `EventTrace`, if requested.
    counters
        ``events``, ``visits`` (station visits completed), ``simulated_s`` and
        ``processor_s`` (processor time of the run).
    holds
        For each pool the stations that jobs use while they hold its tokens.
    nested
        For each pool the other pools that they acquire meanwhile.
    blockers
        For each station the stations with few places that may hold up its servers.
    unawaited
        Stations (``"station"``) and pools (``"pool"``) that serve only started programs and what
        follows a reply, for which no job waits.
    """

    snapshot_times_s: FloatArray
    stations: Table
    pools: Table
    classes: Table
    visits: Table
    requests: Table
    series: tuple[ClassSeries, ...]
    histograms: tuple[ClassHistogram, ...]
    waits: tuple[ClassHistogram, ...]
    occupancies: tuple[Occupancy, ...]
    samples: Samples | None
    intervals: Intervals | None
    trace: EventTrace | None
    counters: Mapping[str, float]
    holds: Mapping[str, tuple[str, ...]]
    nested: Mapping[str, tuple[str, ...]]
    blockers: Mapping[str, tuple[str, ...]]
    unawaited: Mapping[str, tuple[str, ...]]


def from_kernel(
    raw: Mapping[str, Any],
    *,
    processor_s: float,
    holds: Mapping[str, tuple[str, ...]],
    nested: Mapping[str, tuple[str, ...]],
    blockers: Mapping[str, tuple[str, ...]],
    unawaited: Mapping[str, tuple[str, ...]],
    waits: Sequence[WaitsOf] = (),
) -> SimulationResult:
    """Return the result that the kernel's dictionaries describe."""
    snapshots = raw["snapshots"]
    stations, classes = _table(snapshots["stations"]), _table(snapshots["classes"])
    counters = {
        "events": float(raw["event_count"]),
        "visits": float(raw["visit_count"]),
        "simulated_s": float(raw["simulated_s"]),
        "processor_s": processor_s,
    }
    series = zip(classes.names, raw["series"], strict=True)
    names = (*classes.names, *(one.quantity for one in waits))
    histograms = [
        ClassHistogram(name=name, **data)
        for name, data in zip(names, raw["histograms"], strict=True)
    ]
    occupancies = zip(stations.names, raw["occupancies"], strict=True)
    return SimulationResult(
        snapshot_times_s=snapshots["times_s"],
        stations=stations,
        pools=_table(snapshots["pools"]),
        classes=classes,
        visits=_table(snapshots["visits"]),
        requests=_table(snapshots["requests"]),
        series=tuple(ClassSeries(name=name, **data) for name, data in series),
        histograms=tuple(histograms[: len(classes.names)]),
        waits=tuple(histograms[len(classes.names) :]),
        occupancies=tuple(Occupancy(name=name, **data) for name, data in occupancies),
        samples=_samples(raw.get("samples")),
        intervals=_intervals(raw.get("intervals")),
        trace=_trace(raw.get("trace")),
        counters=counters,
        holds=holds,
        nested=nested,
        blockers=blockers,
        unawaited=unawaited,
    )


def _samples(raw: Mapping[str, Any] | None) -> Samples | None:
    if raw is None:
        return None
    return Samples(
        times_s=raw["times_s"],
        stations=_table(raw["stations"]),
        pools=_table(raw["pools"]),
        classes=_table(raw["classes"]),
    )


def _intervals(raw: Mapping[str, Any] | None) -> Intervals | None:
    if raw is None:
        return None
    classes = _table(raw["classes"])
    histograms = zip(classes.names, raw["histograms"], strict=True)
    return Intervals(
        times_s=raw["times_s"],
        stations=_table(raw["stations"]),
        pools=_table(raw["pools"]),
        classes=classes,
        histograms=tuple(ClassHistogram(name=name, **data) for name, data in histograms),
        station_queue_max=raw["station_queue_max"],
        pool_queue_max=raw["pool_queue_max"],
    )


def _trace(raw: Mapping[str, Any] | None) -> EventTrace | None:
    if raw is None:
        return None
    return EventTrace(
        time_s=raw["time_s"],
        kind=raw["kind"].astype(np.uint8),
        job=raw["job"].astype(np.uint32),
        klass=raw["klass"].astype(np.uint32),
        resource=raw["resource"].astype(np.uint32),
        is_truncated=raw["is_truncated"],
    )


def _table(raw: Mapping[str, Any]) -> Table:
    return Table(**{**raw, "names": tuple(raw["names"])})
