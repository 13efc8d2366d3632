"""Figures of a whole run that a model function gives itself, beside those that every model has.

A model whose run is one job with an end (a benchmark, a batch) has figures that no window of a
steady state has, such as the time from start to end. Its function says so by two attributes:
``own_metrics``, the metrics, and ``own_values``, a function from the result of a simulation to
their values. Runs are independent, so the intervals are those of independent values.

Invariant: own figures count the whole run; no warm-up is cut from them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from headroom.experiment.system import Metric
from headroom.simulation import SimulationResult


def own_metrics(function: Callable[..., Any]) -> tuple[Metric, ...]:
    """Return the metrics of its own that a model function declares; most have none.

    Examples
    --------
    >>> def build():
    ...     raise NotImplementedError
    >>> own_metrics(build)
    ()
    """
    return tuple(getattr(function, "own_metrics", ()))


def own_values(function: Callable[..., Any], result: SimulationResult) -> Mapping[str, float]:
    """Return the values of `own_metrics` in one run."""
    values: Callable[[SimulationResult], Mapping[str, float]] | None
    values = getattr(function, "own_values", None)
    return {} if values is None else values(result)
