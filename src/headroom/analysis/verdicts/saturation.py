"""Whether the load of a point exceeds the capacity of its system: by formulas and by the runs.

At a saturated point response times and queues grow without bound, so no mean of them is reported.
Throughputs and utilizations settle and are reported, and so is all of the classes whose jobs do not
grow: urgent ones, or those that never visit the saturated part. A point is saturated if

- the system itself says that open arrivals offer a station or pool a load of 1 or more, or
- the jobs present grow steadily in the replications: by more than `LEAST_EXCESS` of the arrivals,
  as fast in the last third of the runs as before, and while the throughput no longer rises.

Each of the three parts of the second rule is a one-sided Student t test over the replications at
the level `ERROR_RATE`. All three must reject, so the rate of false alarms is at most that of each
(intersection-union test). Growth counts as slowing if it falls from third to third by more than in
a system whose time constant is the length of the run, exp(-1/3). The length of a critical queue
(load 1) grows with the square root of time and slows by 0.65. So a long transient near the capacity
is not saturation but a run that is too short.

Invariant: without open arrivals, or with fewer than two replications, runs alone claim nothing.

Sources: Berger, *Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24
(1982), for the intersection-union test; Asmussen, *Applied Probability and Queues* (2003), for the
reflected Brownian motion of a critical queue.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from headroom.analysis.results import Bottleneck, Saturation
from headroom.analysis.statistics.intervals import Interval, Sample, mean_interval, t_quantile
from headroom.experiment.protocol.asked_metrics import is_share_within
from headroom.experiment.protocol.run import FloatArray, ResourceTable, Run
from headroom.experiment.protocol.system import Column, Metric

ERROR_RATE = 0.01
"""Share of stable points that the runs may call saturated, at most."""
LEAST_EXCESS = 0.01
"""Share of the arrivals by which a queue grows at least; less is only found by formulas."""
SLOWING = math.exp(-1.0 / 3.0)
"""Growth in the last third over growth before, of a system that settles with a time constant as
long as the run."""
RISING = 1.25
"""Throughput in the last third over that in the second, from which the system still settles."""
FEWEST_RUNS = 2
_TIE = 0.999
"""Share of the highest load from which another one is called the same."""
_THIRDS = 3
_FLOWS = (
    "throughput", "utilization", "utilization_max", "bytes_per_s", "offered", "goodput",
    "lost_ratio", "reject_ratio", "abandon_ratio", "fail_ratio", "late_ratio",
)  # fmt: skip
_GROWING = (
    "response_s_", "wait_s_", "lag_s_", "queue_len_", "jobs_mean",
    "response_share_within_", "wait_share_within_",
)  # fmt: skip
"""Beginnings of what never settles where jobs pile up; shares within a time fall to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Counts of open jobs in each third of some runs; arrays of shape (runs, 3).

    Parameters
    ----------
    jobs
        Mean number of jobs present.
    arrivals, completions
        Jobs that came, and that left.
    third_s
        Shape (runs,). Length (s) of a third.
    """

    jobs: FloatArray
    arrivals: FloatArray
    completions: FloatArray
    third_s: FloatArray

    @property
    def per_third(self) -> FloatArray:
        """Jobs by which each run grew from the second third to the last."""
        return self.jobs[:, 2] - self.jobs[:, 1]

    def is_unbounded(self) -> bool:
        """Return whether the jobs surely grow, do not slow down, and the throughput has settled."""
        before = self.jobs[:, 1] - self.jobs[:, 0]
        return (
            _is_surely_positive(self.per_third - LEAST_EXCESS * self.arrivals[:, 2])
            and _is_surely_positive(self.per_third - SLOWING * before)
            and _is_surely_positive(RISING * self.completions[:, 1] - self.completions[:, 2])
        )


def is_saturated(runs: Sequence[Run]) -> bool:
    """Return whether the load of some runs of one point is more than its system can serve."""
    if not runs:
        return False
    if any(run.offered for run in runs):
        return falls_short(runs) != ""
    if not any(map(_is_open, runs)):
        return False
    if all(run.overloads for run in runs):
        return True
    growth = growth_of(runs)
    return growth is not None and growth.is_unbounded()


def saturation_of(runs: Sequence[Run], limit: Bottleneck | None) -> Saturation:
    """Return where saturated runs are so, and by how much.

    Parameters
    ----------
    runs
        The sound replications, of which `is_saturated` is true.
    limit
        What limits them, from the whole runs.
    """
    short = falls_short(runs)
    if short:
        return _short_of_offered(runs, short)
    growth = growth_of(runs)
    offered = runs[0].overloads
    if offered:
        place = max(offered, key=lambda name: offered[name])
        kind, _, name = place.partition(".")
        found = _saturation(runs, growth, kind, name, load=offered[place])
        alike = [one for one in offered if offered[one] >= _TIE * offered[place] and one != place]
        ties = [tuple(one.split(".", 1)) for one in alike]
        return msgspec.structs.replace(found, ties=ties)
    if limit is not None and limit.limits:
        return _saturation(runs, growth, limit.kind, limit.name)
    return _saturation(runs, growth, *_fastest_growing(runs))


def falls_short(runs: Sequence[Run]) -> str:
    """Return the metric that surely reaches less than was offered, nothing if none does.

    By a one-sided t test at `ERROR_RATE` that it reaches less than all but `LEAST_EXCESS`.
    """
    for metric in runs[0].offered if runs else ():
        known = [(run.offered.get(metric), run.values.get(metric)) for run in runs]
        gaps = [
            (1.0 - LEAST_EXCESS) * offered - reached
            for offered, reached in known
            if offered is not None and reached is not None
        ]
        if len(gaps) == len(runs) and _is_surely_positive(np.array(gaps)):
            return metric
    return ""


def _short_of_offered(runs: Sequence[Run], metric: str) -> Saturation:
    offered = np.array([run.offered[metric] for run in runs])
    reached = np.array([run.values[metric] for run in runs])
    found = mean_interval(offered / np.maximum(reached, np.finfo(np.float64).tiny))
    served, grows = mean_interval(reached), mean_interval(offered - reached)
    return Saturation(
        kind="system",
        name="",
        basis="runs",
        load=found.value,
        load_low=found.low,
        load_high=found.high,
        offered_per_s=float(np.mean(offered)),
        served_per_s=served.value,
        served_low=served.low,
        served_high=served.high,
        growth_per_s=grows.value,
        growth_low=grows.low,
        growth_high=grows.high,
    )


def _saturation(
    runs: Sequence[Run], growth: Growth | None, kind: str, name: str, *, load: float | None = None
) -> Saturation:
    if growth is None:
        return Saturation(kind=kind, name=name, basis="formulas", load=load)  # type: ignore[arg-type]
    seconds = growth.third_s
    served = mean_interval(growth.completions[:, 1:].sum(axis=1) / (2.0 * seconds))
    grows = mean_interval(growth.per_third / seconds)
    ratios = growth.arrivals[:, 1:].sum(axis=1) / np.maximum(
        growth.completions[:, 1:].sum(axis=1), 1.0
    )
    found = (
        mean_interval(ratios)
        if load is None
        else Interval(value=load, low=None, high=None, method="none")
    )
    return Saturation(
        kind=kind,  # type: ignore[arg-type]
        name=name,
        basis="runs" if load is None else "formulas",
        load=found.value,
        load_low=found.low,
        load_high=found.high,
        offered_per_s=float(np.mean(growth.arrivals[:, 1:].sum(axis=1) / (2.0 * seconds))),
        served_per_s=served.value,
        served_low=served.low,
        served_high=served.high,
        growth_per_s=grows.value,
        growth_low=grows.low,
        growth_high=grows.high,
        classes=growing_classes(runs),
    )


def growth_of(runs: Sequence[Run], name: str = "") -> Growth | None:
    """Return how the open jobs of runs, or those of one class, grew; None if it is not known."""
    found = [_thirds(run, name) for run in runs]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(runs):
        return None
    jobs, arrivals, completions, third_s = zip(*known, strict=True)
    return Growth(
        jobs=np.array(jobs),
        arrivals=np.array(arrivals),
        completions=np.array(completions),
        third_s=np.array(third_s),
    )


def _thirds(run: Run, name: str) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    """Return jobs present, arrivals and completions in each third of a run, and its length (s)."""
    table = _table(run, "class")
    if table is None or run.snapshot_times_s.size < _THIRDS:
        return None
    places = [
        place
        for place, class_name in enumerate(table.names)
        if not math.isfinite(table.capacity[place]) and name in ("", class_name)
    ]
    end_s = float(run.snapshot_times_s[-1])
    if not places or end_s <= 0.0 or "jobs_s" not in table.columns:
        return None
    gained = [
        _gained(run, table.columns[column][:, places].sum(axis=1))
        for column in ("jobs_s", "arrival_count", "completion_count")
    ]
    third_s = end_s / _THIRDS
    return gained[0] / third_s, gained[1], gained[2], third_s


def _gained(run: Run, cumulative: FloatArray) -> FloatArray:
    """Return the increase of a cumulative column in each third of a run."""
    times_s = np.concatenate([[0.0], run.snapshot_times_s])
    ends_s = np.linspace(0.0, times_s[-1], _THIRDS + 1)
    return np.diff(np.interp(ends_s, times_s, np.concatenate([[0.0], cumulative])))


def _is_surely_positive(values: FloatArray) -> bool:
    """Return whether a mean is above zero by a one-sided t test at `ERROR_RATE`."""
    if values.size < FEWEST_RUNS:
        return False
    error = float(np.std(values, ddof=1)) / math.sqrt(values.size)
    quantile = t_quantile(degrees=values.size - 1, confidence=1.0 - 2.0 * ERROR_RATE)
    return bool(float(np.mean(values)) > quantile * error)


def growing_classes(runs: Sequence[Run]) -> list[str]:
    """Return the open classes whose jobs grow by more than `LEAST_EXCESS` of their arrivals."""
    table = _table(runs[0], "class")
    growths = {name: growth_of(runs, name) for name in (table.names if table else ())}
    return [
        name
        for name, growth in growths.items()
        if growth is not None
        and float(np.mean(growth.per_third)) > LEAST_EXCESS * float(np.mean(growth.arrivals[:, 2]))
    ]


def _fastest_growing(runs: Sequence[Run]) -> tuple[str, str]:
    """Return kind and name of the station or pool whose queue grows most."""
    queues = {
        (table.kind, name): float(np.mean([_queue_growth(run, table.kind, place) for run in runs]))
        for table in runs[0].resources
        if table.kind in ("station", "pool")
        for place, name in enumerate(table.names)
    }
    if not queues:
        return "system", ""
    return max(queues, key=lambda place: queues[place])


def _queue_growth(run: Run, kind: str, place: int) -> float:
    table = _table(run, kind)
    if table is None:
        return 0.0
    queue = _gained(run, table.columns["queue_s"][:, place])
    return float(queue[2] - queue[1])


def _is_open(run: Run) -> bool:
    table = _table(run, "class")
    return table is not None and bool(np.isinf(table.capacity).any())


def _table(run: Run, kind: str) -> ResourceTable | None:
    return next((table for table in run.resources if table.kind == kind), None)


def steady_classes(runs: Sequence[Run], found: Saturation) -> list[str]:
    """Return the open classes whose jobs do not grow in saturated runs: others wait, not they."""
    table = _table(runs[0], "class")
    if table is None or not found.classes:
        return []
    pairs = zip(table.names, table.capacity, strict=True)
    return [name for name, most in pairs if not math.isfinite(most) and name not in found.classes]


def flows_of(
    values: Mapping[str, float], column: Column, steady: Sequence[str] = ()
) -> dict[str, float]:
    """Return the metrics of a run that settle although its load is more than can be served.

    Of measured runs those are all that do not grow by their names: processor time, memory.

    Parameters
    ----------
    values
        All metrics of the run.
    column
        Whether it was measured.
    steady
        Classes that are not saturated: all of their metrics settle.

    Examples
    --------
    >>> values = {"throughput": 99.8, "cpu_s": 1.0, "response_s_mean": 12.0}
    >>> flows_of(values, Column.MODEL), flows_of(values, Column.MEASURE)
    ({'throughput': 99.8}, {'throughput': 99.8, 'cpu_s': 1.0})
    """
    if column is Column.MEASURE:
        return {
            name: value
            for name, value in values.items()
            if not name.rpartition(".")[2].startswith(_GROWING)
        }
    owners = {f"class.{name}" for name in steady}
    return {
        name: value
        for name, value in values.items()
        if name.rpartition(".")[2] in _FLOWS or name.rpartition(".")[0] in owners
    }


def unbounded_metrics(metrics: Iterable[Metric], found: Saturation, class_count: int) -> list[str]:
    """Return the metrics that grow without bound at a saturated point.

    Parameters
    ----------
    metrics
        Metrics that the point declares.
    found
        Where it is saturated.
    class_count
        Classes of the system.

    Notes
    -----
    Those of all jobs together, of the classes whose jobs grow, and of the saturated station or
    pool. Those of other classes settle and are reported; those of other stations are not.
    """
    owners = {"", f"{found.kind}.{found.name}", *(f"class.{name}" for name in found.classes)}
    names = dict.fromkeys(metric.name for metric in metrics)
    return [
        name
        for name in names
        if name.rpartition(".")[2].startswith(_GROWING)
        and (name.rpartition(".")[0] in owners or (class_count == 1 and name.startswith("class.")))
    ]


def unbounded_samples(found: Saturation, needed: Iterable[str], *, count: int) -> dict[str, Sample]:
    """Return infinite samples of the `needed` metrics that grow without bound, and none within.

    Parameters
    ----------
    found
        Where the point is saturated.
    needed
        Names of metrics.
    count
        Replications.
    """
    infinite = Sample(values=np.full(max(count, 1), math.inf))
    none = Sample(values=np.zeros(max(count, 1)))
    return {
        name: none if is_share_within(name) else infinite
        for name in needed
        if name in found.unbounded
    }
