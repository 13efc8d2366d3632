"""The course of a run over time: the columns and rows of the kernel's samples for a picture.

Invariant: nothing is computed here; columns are cumulative, so leaving rows out multiplies the
distance between two samples, and loses nothing in between.
"""

import math

import numpy as np

from headroom.errors import StudyError
from headroom.experiment.protocol.run import ResourceKind, ResourceTable, TimeSamples
from headroom.simulation import Model, SimulationResult, Table
from headroom.simulation.language.model import SECONDS_PER_UNIT

ROWS_AT_MOST = 500
"""Samples that a replication of a study keeps."""
VALUES_AT_MOST = 200_000
"""Values of one column that a replication keeps: samples times stations, pools and classes."""
_KERNEL_ROWS = 4096
_KERNEL_VALUES = 4_000_000
"""Rows of the kernel, times stations, pools and classes: about a gigabyte with all columns."""
_COLUMNS: dict[ResourceKind, tuple[str, ...]] = {
    "station": ("busy_s", "queue_s", "jobs_s", "completion_count"),
    "pool": ("held_s", "queue_s", "grant_count"),
    "class": ("jobs_s", "completion_count", "response_s_sum"),
}


_EXTRA_COLUMNS = ("left_count", "served_wait_s_sum", "capacity_s")
"""Columns of models in which jobs leave lines or capacities change."""


def check_size(model: Model, *, every_s: float, time_s: float | None) -> None:
    """Raise `StudyError` if the samples of `model` would not fit into memory.

    Parameters
    ----------
    model
        The model.
    every_s
        Distance (s) of the samples.
    time_s
        Simulated time (s) after which the run ends, instead of the model's own; None if it ends by
        completions.
    """
    if time_s is None and model.stop_time is not None:
        time_s = model.stop_time * SECONDS_PER_UNIT[model.time_unit]
    rows = _KERNEL_ROWS if time_s is None else min(_KERNEL_ROWS, math.ceil(time_s / every_s))
    places = len(model.station_rows()) + len(model.pool_rows()) + len(model.classes)
    if rows * places > _KERNEL_VALUES:
        raise StudyError(
            f"{rows:,} samples of {places:,} stations, pools and classes are too many",
            cure="end the run by time and take fewer samples, or take none of so large a model",
        )


def samples_of(result: SimulationResult, *, are_all_kept: bool = False) -> TimeSamples | None:
    """Return the samples of one simulation, None if it has none.

    Parameters
    ----------
    result
        What the kernel gave: fewer than 4096 samples.
    are_all_kept
        Whether to keep all of them, and not only as many as a journal should hold.
    """
    taken = result.samples
    if taken is None:
        return None
    tables: dict[ResourceKind, Table] = {
        "station": taken.stations,
        "pool": taken.pools,
        "class": taken.classes,
    }
    places = sum(len(table.names) for table in tables.values())
    most = max(1, min(ROWS_AT_MOST, VALUES_AT_MOST // max(places, 1)))
    step = 1 if are_all_kept else max(1, math.ceil(taken.times_s.size / most))
    kept = np.arange(step - 1, taken.times_s.size, step)
    return TimeSamples(
        times_s=taken.times_s[kept],
        tables=tuple(
            ResourceTable(
                kind=kind,
                names=table.names,
                capacity=table.capacity,
                columns={
                    name: table.columns[name][kept]
                    for name in (*_COLUMNS[kind], *_EXTRA_COLUMNS)
                    if name in table.columns
                },
            )
            for kind, table in tables.items()
            if table.names
        ),
    )
