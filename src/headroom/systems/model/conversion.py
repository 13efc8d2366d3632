"""Convert the kernel's result to the common `Run` of all systems.

Invariant: nothing is computed here; each number of the run is a number of the simulation.
"""

from collections.abc import Callable, Mapping

from headroom.experiment.protocol.run import (
    Histogram,
    Intervals,
    ResourceKind,
    ResourceTable,
    Run,
    Series,
)
from headroom.simulation import SimulationResult, Table
from headroom.simulation.runs.result import ClassHistogram
from headroom.systems.model.sampling import samples_of


def run_of(
    result: SimulationResult,
    *,
    are_all_samples_kept: bool = False,
    own_values: Mapping[str, float] | None = None,
    overloads: Mapping[str, float] | None = None,
    meanless: tuple[str, ...] = (),
    ends_because: str = "",
    remarks: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Run:
    """Return the run of one simulation, with its model's statements about the whole run.

    With one class its response times are the metric ``response_s``; with several, each class
    has its own, ``class.NAME.response_s``.
    """
    has_one_class = len(result.classes.names) == 1

    def metric(class_name: str) -> str:
        return "response_s" if has_one_class else f"class.{class_name}.response_s"

    tables = (
        _table("station", result.stations),
        _table("pool", result.pools),
        _table("class", result.classes),
        _table("visit", result.visits),
        _table("pool_visit", result.requests),
    )
    return Run(
        values=dict(own_values or {}),
        series=tuple(
            Series(
                metric=metric(series.name),
                values=series.values,
                batch_size=series.batch_size,
                end_times_s=series.end_times_s,
            )
            for series in result.series
        ),
        histograms=tuple(
            _histogram(metric(histogram.name), histogram) for histogram in result.histograms
        )
        + tuple(_histogram(waits.name, waits) for waits in result.waits)
        + _occupancies(result),
        snapshot_times_s=result.snapshot_times_s,
        resources=tuple(table for table in tables if table.names),
        # Processor time differs between two runs of one seed; the journal stores wall time next to
        # the run instead, and equal runs stay equal byte for byte.
        counters={name: n for name, n in result.counters.items() if name != "processor_s"},
        holds=dict(result.holds),
        nested=dict(result.nested),
        blockers=dict(result.blockers),
        unawaited=dict(result.unawaited),
        overloads=dict(overloads or {}),
        meanless=meanless,
        samples=samples_of(result, are_all_kept=are_all_samples_kept),
        intervals=_intervals(result, metric),
        ends_because=ends_because,
        remarks=remarks,
        notes=notes,
    )


def _histogram(metric: str, histogram: ClassHistogram) -> Histogram:
    return Histogram(
        metric=metric,
        bin_low=histogram.bin_low,
        bin_high=histogram.bin_high,
        counts=histogram.counts,
        segment_end_times_s=histogram.segment_end_times_s,
    )


def _intervals(result: SimulationResult, metric: Callable[[str], str]) -> Intervals | None:
    intervals = result.intervals
    if intervals is None:
        return None
    tables = (
        _table("station", intervals.stations),
        _table("pool", intervals.pools),
        _table("class", intervals.classes),
    )
    return Intervals(
        times_s=intervals.times_s,
        tables=tuple(table for table in tables if table.names),
        histograms=tuple(
            _histogram(metric(histogram.name), histogram) for histogram in intervals.histograms
        ),
        queue_len_max={"station": intervals.station_queue_max, "pool": intervals.pool_queue_max},
    )


def _occupancies(result: SimulationResult) -> tuple[Histogram, ...]:
    """Return how long each number of jobs was present at each station."""
    return tuple(
        Histogram(
            metric=f"station.{occupancy.name}.jobs",
            bin_low=occupancy.bin_low,
            bin_high=occupancy.bin_high,
            counts=occupancy.counts,
            segment_end_times_s=occupancy.segment_end_times_s,
        )
        for occupancy in result.occupancies
    )


def _table(kind: ResourceKind, table: Table) -> ResourceTable:
    return ResourceTable(
        kind=kind,
        names=table.names,
        capacity=table.capacity,
        columns=table.columns,
        maxima=table.maxima,
    )
