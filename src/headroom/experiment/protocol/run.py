"""The result of one replication: a `Run`, raw and complete.

Both columns, measured and modelled, return this one type. Warm-up removal, medians and
intervals come later, once, in `headroom.analysis`; so time-dependent quantities are stored as
*cumulative* sums at snapshots, and any window is the difference of two snapshots.

Invariants: all times are seconds; snapshots are sorted by time and the last one is the end of
the run; cumulative columns never decrease.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.artefact import Artefact

FloatArray: TypeAlias = npt.NDArray[np.float64]
ResourceKind: TypeAlias = Literal["station", "pool", "class", "visit", "pool_visit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Observations of one quantity in completion order, warm-up included.

    Parameters
    ----------
    metric
        Metric that each observation belongs to, e.g. ``"response_s"``.
    values
        Shape (n,). Each value is the mean of `batch_size` consecutive observations.
    batch_size
        Consecutive observations per value, >= 1.
    end_times_s
        Shape (n,). Time (s) since the start of the run at which each batch was complete, or None if
        the observations have no common clock.
    """

    metric: str
    values: FloatArray
    batch_size: int = 1
    end_times_s: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTotals:
    """Values that bins round away: exact sums and extremes of the observations of each segment.

    Parameters
    ----------
    sums, square_sums
        Shape (segments,). Sum of the observations and of their squares.
    minima, maxima
        Shape (segments,). Smallest and largest observation; plus and minus infinity in a segment
        without any.
    """

    sums: FloatArray
    square_sums: FloatArray
    minima: FloatArray
    maxima: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A mergeable histogram of one quantity, counted per segment of the run.

    Two histograms of the same metric merge by adding the counts of equal bins; percentiles are
    never averaged.

    Parameters
    ----------
    metric
        Metric of the quantity, e.g. ``"response_s"``.
    bin_low, bin_high
        Shape (bins,). Bounds of each non-empty bin, in the unit of the metric.
    counts
        Shape (segments, bins). Observations per segment of the run and bin.
    segment_end_times_s
        Shape (segments,). End (s) of each segment; a cut drops whole segments.
    totals
        Exact sums and extremes, if the system keeps them; None elsewhere.
    """

    metric: str
    bin_low: FloatArray
    bin_high: FloatArray
    counts: npt.NDArray[np.int64]
    segment_end_times_s: FloatArray
    totals: SegmentTotals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTable:
    """Cumulative statistics of all stations, all pools or all job classes of a run.

    The kinds ``visit`` and ``pool_visit`` distinguish the classes at each station and pool; their
    rows are named ``cpu.class.users``.

    Parameters
    ----------
    kind
        The kind of the rows of `names`.
    names
        One name per resource.
    capacity
        Shape (resources,). Servers of a station, tokens of a pool; infinity if unlimited or, of
        something measured, not known. For a class its population when closed and infinity when
        open. A class of a mix has its share of the population by weight, so that the classes sum up
        to it; more jobs than that may be of it at a time.
    columns
        Name to array of shape (snapshots, resources), cumulative since time zero. Stations:
        ``arrival_count``, ``completion_count``, ``wait_s_sum``, ``response_s_sum``, ``busy_s``
        (server-seconds), ``jobs_s`` (job-seconds in the station), ``queue_s`` (job-seconds
        waiting). Pools: ``grant_count``, ``wait_s_sum``, ``held_s`` (token-seconds), ``queue_s``.
        Classes: ``arrival_count``, ``completion_count``, ``response_s_sum``, ``jobs_s``. Two
        columns are not cumulative but the state at the snapshot, the *ages*: ``age_s`` of stations
        and classes sums up how long each job present has been there so far, ``queue_age_s`` of
        stations and pools how long each job that waits has waited so far. At every snapshot
        ``jobs_s`` is ``response_s_sum`` plus ``age_s``, and ``queue_s`` is ``wait_s_sum`` plus
        ``queue_age_s``, exactly except for rounding. Runs stored before the ages were recorded lack
        them. A system may know more. Stations: ``blocked_s`` and ``down_s`` (server-seconds),
        ``reject_count``, ``abandon_s_sum``. Classes: ``lost_count``, ``failed_try_count``, and
        job-seconds in delays (``delay_s``), waiting for arms or replies (``join_s``) and outside of
        full stations (``outside_s``). Visits: the columns of stations, ``blocked_s_sum`` too.
    maxima
        Name to array of shape (resources,): largest value over the whole run, warm-up
        included, e.g. ``queue_len``.
    """

    kind: ResourceKind
    names: tuple[str, ...]
    capacity: FloatArray
    columns: Mapping[str, FloatArray]
    maxima: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSamples:
    """The tables of a run at equal distances in time, for pictures of how it went.

    Parameters
    ----------
    times_s
        Shape (samples,). Times (s) since the start of the run, multiples of the first one: the
        implied sample before it is at time zero, where all is zero.
    tables
        At most one table per kind, with the columns that a system considers worth plotting.
    """

    times_s: FloatArray
    tables: tuple[ResourceTable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Statistics of intervals of a run's time: hours of a day, windows of a study.

    Parameters
    ----------
    times_s
        Shape (intervals,). End (s) of each interval; the first starts at time zero, the last ends
        with the run.
    tables
        Stations, pools and classes: cumulative statistics at these times, as in `ResourceTable`.
    histograms
        Observations that were complete within each interval: its segments are the intervals.
    queue_len_max
        Kind of resource to the longest line within each interval, shape (intervals, resources).
    """

    times_s: FloatArray
    tables: tuple[ResourceTable, ...]
    histograms: tuple[Histogram, ...]
    queue_len_max: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One replication of one point.

    Parameters
    ----------
    values
        Metric name to one number per replication, e.g. ``{"wall_s": 1.25}``.
    series, histograms
        Observations in completion order, and their mergeable histograms.
    snapshot_times_s
        Shape (snapshots,). Times (s) at which `resources` was recorded; empty if there are no
        tables.
    resources
        At most one table per kind.
    counters
        Facts about the run itself: events, seconds of processor time, launcher overhead.
    faults
        Why this run must not be reported; empty for a valid run.
    remarks
        Why its results may mislead a reader, one sentence each.
    notes
        Facts for the reader that put no result in doubt, one sentence each.
    holds
        Pool name to the stations that are used while its tokens are held; shows whether an
        exhausted pool only waits for a station behind it.
    nested
        Pool name to the other pools whose tokens are acquired while its own are held: the same
        for a pool behind a pool.
    blockers
        Station name to the stations with few places that may hold up its servers: shows whether a
        permanently busy station only waits for a place further on.
    unawaited
        ``"station"`` and ``"pool"`` to the names of those to which only work comes that no job
        waits for: full or not, they are in no response time.
    overloads
        ``station.NAME`` or ``pool.NAME`` to the load that open arrivals offer to it, per server or
        token, for those that are offered 1 or more: their queues grow without bound.
    meanless
        ``station.NAME`` or ``class.NAME`` of what has no mean wait or response, whatever the length
        of a run: some service time has no variance.
    offered
        Metric to how much of it the load generator asked for, for measured open loads that report
        it.
    observed
        What was observed to be busy, such as ``machine.cpu``, to its number of servers; the metric
        ``NAME.utilization`` has its busy share.
    artefacts
        Small files that it leaves, such as logs.
    samples
        How the run went over time, if the study requests it; otherwise None.
    intervals
        Statistics of intervals of its time, if they are kept; otherwise None.
    recorded_at
        When it was measured (UTC, ISO 8601), if that was not now: a run that is replayed.
    ends_because
        Why the run has a natural end and no steady state, e.g. that its arrivals follow the curve
        of a day; empty if a steady state is possible.

    Examples
    --------
    >>> run = Run(values={"wall_s": 1.25})
    >>> run.is_sound
    True
    """

    values: Mapping[str, float] = field(default_factory=dict)
    series: tuple[Series, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    snapshot_times_s: FloatArray = field(default_factory=lambda: np.empty(0))
    resources: tuple[ResourceTable, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    holds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nested: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blockers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unawaited: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overloads: Mapping[str, float] = field(default_factory=dict)
    meanless: tuple[str, ...] = ()
    offered: Mapping[str, float] = field(default_factory=dict)
    observed: Mapping[str, float] = field(default_factory=dict)
    artefacts: tuple[Artefact, ...] = ()
    samples: TimeSamples | None = None
    intervals: Intervals | None = None
    recorded_at: str = ""
    ends_because: str = ""

    @property
    def is_sound(self) -> bool:
        """True if the run carries no fault."""
        return not self.faults
