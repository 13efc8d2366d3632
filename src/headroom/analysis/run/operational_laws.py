"""Operational laws as assertions on every simulated run: a run that breaks one is not reported.

The following are checked at every snapshot of each run:

* Little's law as an identity, for the system, each class and each station: the integral of the
  number present is the response time of all that left plus the *ages* of those still present,
  which the run records. The same for the jobs waiting at each station and pool;
* the utilization law: jobs at a station are in service or in its queue, so busy time equals
  job time less queueing time;
* no server or token is busy for longer than the time that passed.

The only tolerance is the rounding of floating-point sums, so a short run, a slow class or a heavy
tail raises no false alarm, and wrong accounting never passes.

Little's law in its usual form, N = X R, holds for a window except for the difference of the ages at
its two edges. That gap is reported as a value (the part of N due to jobs that the window cuts),
never as an alarm.

Sources: Little, *A Proof for the Queuing Formula L = lambda W* (1961); Denning and Buzen, *The
Operational Analysis of Queueing Network Models* (1978).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headroom.analysis.evidence import Fault, LawPlace
from headroom.analysis.run.windows import Window
from headroom.experiment.protocol.run import FloatArray, ResourceTable

EPSILON = float(np.finfo(np.float64).eps)
_SUMS = ("jobs_s", "response_s_sum", "queue_s", "wait_s_sum", "held_s")


@dataclass(frozen=True, slots=True)
class LittleGap:
    """How far N and X R are apart in a window at one place, relative to N.

    `kind` and `name` say where. `tolerance` is what the ages of the jobs at the edges of the window
    account for, and rounding; `passed` is False where the run's own account is broken.
    """

    kind: LawPlace
    name: str
    gap: float
    tolerance: float
    passed: bool = True


@dataclass(frozen=True, slots=True)
class LawReport:
    """The result of the checks of one run."""

    gaps: tuple[LittleGap, ...]
    faults: tuple[Fault, ...]

    def worst(self) -> LittleGap | None:
        """Return the largest gap, one that fails before all that pass; None without tables."""
        return max(self.gaps, key=lambda gap: (not gap.passed, gap.gap), default=None)


def check_laws(window: Window) -> LawReport:
    """Return the gaps of Little's law and the faults of the run that `window` keeps."""
    gaps = tuple(_little_gaps(window))
    faults = [Fault(code="little", kind=gap.kind, name=gap.name) for gap in gaps if not gap.passed]
    stations, pools = window.table("station"), window.table("pool")
    if stations is not None:
        faults += _overload_faults(window, stations, "busy_s")
        faults += _utilization_law_faults(stations)
        faults += _waiting_faults(stations, "arrival_count")
    if pools is not None:
        faults += _overload_faults(window, pools, "held_s")
        faults += _waiting_faults(pools, "grant_count")
    return LawReport(gaps, tuple(faults))


def _little_gaps(window: Window) -> Iterator[LittleGap]:
    classes, stations = window.table("class"), window.table("station")
    if classes is not None:
        whole = {name: column.sum(axis=1, keepdims=True) for name, column in
                 classes.columns.items()}  # fmt: skip
        yield from _gaps_of(window, "system", ("",), whole)
        if len(classes.names) > 1:
            yield from _gaps_of(window, "class", classes.names, classes.columns)
    if stations is not None:
        yield from _gaps_of(window, "station", stations.names, stations.columns)


def _gaps_of(
    window: Window, kind: LawPlace, names: Sequence[str], columns: Mapping[str, FloatArray]
) -> Iterator[LittleGap]:
    """Yield one gap per resource; nothing for a run that did not record the ages."""
    if "age_s" not in columns:
        return
    rounding_s = _rounding_s(columns, "arrival_count")
    left_s = columns["response_s_sum"] + _given_up_s(columns)
    left_over_s = columns["jobs_s"] - left_s - columns["age_s"]
    is_broken = np.any(np.abs(left_over_s) > rounding_s, axis=0)
    gained_s, responses_s, aged_s = (
        _gained(window, column) for column in (columns["jobs_s"], left_s, columns["age_s"])
    )
    for place, name in enumerate(names):
        unit_s = float(gained_s[place]) or 1.0
        yield LittleGap(
            kind=kind,
            name=name,
            gap=abs(float(gained_s[place] - responses_s[place])) / unit_s,
            tolerance=float(abs(aged_s[place]) + rounding_s[place]) / unit_s,
            passed=not is_broken[place],
        )


def _given_up_s(columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the time (s) of those who left without being served to the end."""
    nothing = np.zeros_like(columns["response_s_sum"])
    return columns.get("abandon_s_sum", nothing) + columns.get("lost_s_sum", nothing)


def _gained(window: Window, column: FloatArray) -> FloatArray:
    kept = window.snapshots(column)
    gained: FloatArray = kept[-1] - kept[0]
    return gained


def _rounding_s(columns: Mapping[str, FloatArray], count: str) -> FloatArray:
    """Return the rounding error (s) of sums with two terms for each of `count`."""
    terms = 2.0 * columns[count][-1] + 1.0
    largest = np.max([columns[name][-1] for name in columns if name.endswith(_SUMS)], axis=0)
    rounding: FloatArray = 4.0 * EPSILON * terms * largest
    return rounding


def _overload_faults(window: Window, table: ResourceTable, column: str) -> list[Fault]:
    """Return a fault for each resource that is busy for longer than time passes."""
    reached_s, times_s = window.snapshots(table.columns[column]), window.times_s()
    busy_s = reached_s[1:] - reached_s[:-1]
    passed_s = (times_s[1:] - times_s[:-1])[:, None]
    rounding_s = 4.0 * EPSILON * table.columns[column].shape[0] * table.columns[column][-1]
    finite = np.where(np.isfinite(table.capacity), table.capacity, 0.0)
    offered_s = finite * passed_s
    if "capacity_s" in table.columns:
        there_s = window.snapshots(table.columns["capacity_s"])
        offered_s = there_s[1:] - there_s[:-1]
    over = (busy_s > offered_s + rounding_s + EPSILON * window.end_s).any(axis=0)
    if not over.any():
        return []
    return [
        Fault(code="busy", kind=_kind_of(table), name=name)
        for name, is_over, capacity in zip(table.names, over, table.capacity, strict=True)
        if is_over and np.isfinite(capacity)
    ]


def _utilization_law_faults(table: ResourceTable) -> list[Fault]:
    """Return a fault for each station that works for longer than jobs are there for it.

    Jobs may be there for longer: they share servers, are served together, or are blocked.
    """
    columns = table.columns
    in_service_s = columns["jobs_s"] - columns["queue_s"]
    excess_s = columns["busy_s"] + columns.get("blocked_s", 0.0) - in_service_s
    broken = np.any(excess_s > _rounding_s(columns, "arrival_count"), axis=0)
    return [
        Fault(code="utilization_law", kind="station", name=name)
        for name, is_broken in zip(table.names, broken, strict=True)
        if is_broken
    ]


def _waiting_faults(table: ResourceTable, count: str) -> list[Fault]:
    """Return a fault for each queue whose time is not that of the jobs that wait in it."""
    columns = table.columns
    if "queue_age_s" not in columns:
        return []
    waited_s = columns["wait_s_sum"] + columns["queue_age_s"]
    broken = _differ(columns["queue_s"], waited_s, _rounding_s(columns, count))
    return [
        Fault(code="little_of_queue", kind=_kind_of(table), name=name)
        for name, is_broken in zip(table.names, broken, strict=True)
        if is_broken
    ]


def _kind_of(table: ResourceTable) -> LawPlace:
    return "pool" if table.kind == "pool" else "station"


def _differ(one: FloatArray, other: FloatArray, rounding_s: FloatArray) -> npt.NDArray[np.bool_]:
    """Return for each resource whether two columns differ at some snapshot."""
    differ: npt.NDArray[np.bool_] = np.any(np.abs(one - other) > rounding_s, axis=0)
    return differ
