"""Metrics that have no mean, however long the runs: they are not reported.

A model says which stations and classes they belong to (`Run.meanless`); by Little's law the mean
numbers of jobs do not exist either. Percentiles, flows and utilizations do.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from headroom.experiment.protocol.run import Run

_MEANS = frozenset(
    {"wait_s_mean", "response_s_mean", "queue_len_mean", "jobs_mean", "wait_share", "service_share"}
)
_WHOLE = frozenset({"response_s_mean", "jobs_mean"})
T = TypeVar("T")


def has_no_mean(metric: str, run: Run) -> bool:
    """Return whether a metric is a mean that does not exist.

    Examples
    --------
    >>> run = Run(meanless=("station.desk", "class.visitors"))
    >>> names = ("response_s_mean", "station.desk.wait_s_mean", "station.door.wait_s_mean")
    >>> [has_no_mean(name, run) for name in names]
    [True, True, False]
    """
    owner, _, name = metric.rpartition(".")
    if name not in _MEANS or not run.meanless:
        return False
    if not owner:
        return name in _WHOLE and any(row.startswith("class.") for row in run.meanless)
    return any(owner == row or owner.startswith(f"{row}.") for row in run.meanless)


def without_meanless(values: Mapping[str, T], runs: Sequence[Run]) -> dict[str, T]:
    """Return the metrics that exist."""
    if not runs or not runs[0].meanless:
        return dict(values)
    return {name: value for name, value in values.items() if not has_no_mean(name, runs[0])}
