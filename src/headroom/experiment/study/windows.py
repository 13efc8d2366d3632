"""Windows of simulated or measured time, and how the runs of an experiment are analysed.

A run either has a natural end (a day, a batch, a transient from an empty start) or is a sample of a
steady state. The first is a *terminating* simulation: every replication is one observation and none
of it is discarded. In a terminating run the time of a busy period matters as much as the average
utilization.

Invariant: window names are unique, a window ends after it starts, and its metrics are called
``window.NAME.METRIC``.

Source: Law, *Simulation Modeling and Analysis* (2015), section 9.3: types of simulations with
regard to output analysis.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, Protocol, Self, TypeAlias, runtime_checkable

import msgspec
from msgspec import Meta

from headroom.experiment.protocol.asked_metrics import asked_in
from headroom.experiment.protocol.system import Metric, System

Analysis: TypeAlias = Literal["automatic", "terminating", "steady-state"]
WORST = "worst"
"""Name of the window that each metric of a terminating run is worst in."""
WORST_ENDINGS = (
    "response_s_mean", "response_s_p50", "response_s_p95", "response_s_p99",
    "jobs_mean", "utilization", "queue_len_mean", "queue_len_max", "wait_s_mean",
)  # fmt: skip
"""Metrics of which the largest value is the worst."""


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of each run with metrics of its own, such as the peak hour of a day."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z][A-Za-z0-9_-]*$",
            max_length=60,
            description="Letters, digits, - and _; its metrics are `window.NAME.METRIC`.",
        ),
    ]
    from_s: Annotated[float, Meta(ge=0, description="Start (s since the start of the run).")] = 0.0
    to_s: Annotated[float, Meta(gt=0, description="End (s since the start of the run).")]


class TimeWindows(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of an experiment keep besides, as a system needs it."""

    windows: tuple[Window, ...] = ()
    analysis: Analysis = "automatic"
    metrics: tuple[str, ...] = ()
    """Percentiles and shares that the study names, see `asked_metrics`."""

    @property
    def edges_s(self) -> list[float]:
        """Starts and ends of the windows (s), rising; the start of the run is none."""
        edges = {edge for window in self.windows for edge in (window.from_s, window.to_s)}
        return sorted(edges - {0.0})


NO_WINDOWS = TimeWindows()


@runtime_checkable
class HasWindows(Protocol):
    """A system whose runs keep statistics of windows; optional for a `System`."""

    @property
    def windows(self) -> TimeWindows:
        """What its runs keep now."""
        ...

    def with_windows(self, windows: TimeWindows) -> Self:
        """Return the same system with these windows in its runs and their metrics."""
        ...


def with_windows(system: System, windows: TimeWindows | None) -> System:
    """Return `system` with `windows` if it keeps any.

    Without windows it still learns how its runs are analysed, which may require intervals.
    """
    if windows is None or not isinstance(system, HasWindows):
        return system
    return system.with_windows(windows)


def asking(system: System, texts: Iterable[str]) -> System:
    """Return a system whose runs also give the percentiles and shares that bounds name.

    Parameters
    ----------
    system
        The system.
    texts
        Bounds as users write them, such as ``station.desk.wait_s_p80<=30s``.
    """
    kept = windows_of(system)
    names = asked_in([re.split(r"[<>]=", text)[0].strip() for text in texts])
    metrics = tuple(dict.fromkeys([*kept.metrics, *names]))
    if metrics == kept.metrics:
        return system
    return with_windows(system, msgspec.structs.replace(kept, metrics=metrics))


def windows_of(system: System) -> TimeWindows:
    """Return what the runs of a system keep; nothing if it is not one that `HasWindows`."""
    return system.windows if isinstance(system, HasWindows) else NO_WINDOWS


def window_metrics(windows: Iterable[Window], metrics: Sequence[Metric]) -> Iterator[Metric]:
    """Yield the metrics of each window: those of the whole run, in the window.

    Examples
    --------
    >>> mean = Metric(name="response_s_mean", unit="s", description="Mean response time")
    >>> peak = Window(name="peak", from_s=60, to_s=120)
    >>> [(one.name, one.description) for one in window_metrics([peak], [mean])]
    [('window.peak.response_s_mean', 'Mean response time, from 60 s to 120 s')]
    """
    for window in windows:
        for metric in metrics:
            yield Metric(
                name=window_metric(window.name, metric.name),
                unit=metric.unit,
                better=metric.better,
                description=f"{metric.description}, from {window.from_s:g} s to {window.to_s:g} s",
            )


def worst_metrics(metrics: Sequence[Metric]) -> Iterator[Metric]:
    """Yield the metrics that a terminating run has in the interval that is worst for each.

    Examples
    --------
    >>> p95 = Metric(name="response_s_p95", unit="s", description="Response time")
    >>> rate = Metric(name="throughput", unit="1/s", description="Completions per second")
    >>> [one.name for one in worst_metrics([p95, rate])]
    ['window.worst.response_s_p95']
    """
    for metric in metrics:
        if metric.name.endswith(WORST_ENDINGS):
            yield Metric(
                name=window_metric(WORST, metric.name),
                unit=metric.unit,
                better=metric.better,
                description=f"{metric.description}, in the interval in which it is largest",
            )


def window_metric(window: str, metric: str) -> str:
    """Return the name of a metric in a window.

    Examples
    --------
    >>> window_metric("peak", "response_s_p95")
    'window.peak.response_s_p95'
    """
    return f"window.{window}.{metric}"
