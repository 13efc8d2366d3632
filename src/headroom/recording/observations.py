"""Convert tables of the core to the parts of a `Run`, without averaging or cutting anything."""

from collections.abc import Mapping
from typing import Any

from headroom.experiment.protocol.run import (
    Histogram,
    ResourceKind,
    ResourceTable,
    SegmentTotals,
    Series,
)


def series_of(metric: str, table: Mapping[str, Any]) -> Series:
    """Return the series that a dictionary of the core describes."""
    return Series(
        metric=metric,
        values=table["values"],
        batch_size=table["batch_size"],
        end_times_s=table["end_times_s"],
    )


def histogram_of(metric: str, table: Mapping[str, Any]) -> Histogram:
    """Return the histogram that a dictionary of the core describes, with its exact totals."""
    return Histogram(
        metric=metric,
        bin_low=table["bin_low"],
        bin_high=table["bin_high"],
        counts=table["counts"],
        segment_end_times_s=table["segment_end_times_s"],
        totals=SegmentTotals(**table["totals"]),
    )


def table_of(kind: ResourceKind, raw: Mapping[str, Any]) -> ResourceTable:
    """Return the table that a dictionary of the core describes."""
    return ResourceTable(
        kind=kind,
        names=tuple(raw["names"]),
        capacity=raw["capacity"],
        columns=raw["columns"],
        maxima=raw["maxima"],
    )
