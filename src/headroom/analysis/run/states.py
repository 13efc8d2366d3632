"""Time of each class by state, and the delays of each class at each station and pool.

At any time a job of a class is in exactly one state. It waits for a server or is served, holds a
server that it cannot leave (blocked), waits for tokens, is in a delay, waits for the arms of a fork
or for a reply, or waits outside a full station. The shares of these states in the time that jobs of
a class spend in the system are metrics like ``class.users.station.cpu.wait_share``.

With a single class, its results at a station are those of the station. A table by class and station
is read only if a run recorded one.

A station may receive only work that no job awaits (started programs). Its share is omitted, because
it is not part of the time of any job.

Invariant: a figure that a run cannot give is absent; a run that recorded none of this gives none.
What did not happen is a zero, so that a mean over replications counts those without it too; what
never happens at a point is left out of it (`state_metrics`), unless its model declares it.

Source: Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978).
"""

import re
from collections.abc import Collection, Iterator, Mapping

from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.run import FloatArray, ResourceTable
from headroom.experiment.protocol.system import Direction, Metric

MOST_PLACES = 400
"""Pairs of class and place of a run up to which each pair has results of its own."""
_CLASS_STATES = {"delay_s": "delay_share", "join_s": "join_share", "outside_s": "outside_share"}
_OUTCOMES: dict[str, tuple[str, Direction]] = {
    "offered": ("1/s", "none"),
    "goodput": ("1/s", "high"),
    "lost_ratio": ("1", "low"),
    "reject_ratio": ("1", "low"),
    "abandon_ratio": ("1", "low"),
    "fail_ratio": ("1", "low"),
    "late_ratio": ("1", "low"),
    "failed_tries_mean": ("1", "low"),
}
_STATE = re.compile(
    r"class\..+\.(?:delay|join|outside|(?:station|pool)\..+\.(?:wait|service|blocked))_share"
    r"|(?:station|pool)\..+\.abandon_(?:ratio|rate|wait_s_mean)"
    r"|station\..+\.(?:blocked|down|reject)_ratio"
    rf"|(?:class\..+\.)?(?:{'|'.join(_OUTCOMES)})"
    r"|(?:station|pool)\..+\.class\..+\.(?:throughput|queue_len_mean|wait_s_mean"
    r"|response_s_mean|jobs_mean)"
)
_UNITS: dict[str, tuple[str, Direction]] = {
    "throughput": ("1/s", "none"),
    "queue_len_mean": ("1", "low"),
    "wait_s_mean": ("s", "low"),
    "response_s_mean": ("s", "low"),
    "jobs_mean": ("1", "none"),
    **_OUTCOMES,
    "abandon_rate": ("1/s", "low"),
    "abandon_wait_s_mean": ("s", "low"),
}

Gains = Mapping[str, FloatArray]


def state_values(window: Window) -> dict[str, float]:
    """Return the figures of one run by state, class and place; not-a-number where undefined."""
    return {
        **_station_ratios(window),
        **_visit_means(window),
        **_time_shares(window),
    }


def state_metrics(samples: Mapping[str, Sample]) -> Iterator[Metric]:
    """Yield the metric of each of `samples` that this module gives and that ever happened.

    Examples
    --------
    >>> import numpy as np
    >>> from headroom.analysis.statistics.intervals import Sample
    >>> some, none = Sample(values=np.array([0.0, 0.2])), Sample(values=np.zeros(2))
    >>> samples = {"throughput": some, "class.a.lost_ratio": some, "class.b.lost_ratio": none}
    >>> [(one.name, one.unit) for one in state_metrics(samples)]
    [('class.a.lost_ratio', '1')]
    """
    for name, sample in samples.items():
        if _STATE.fullmatch(name) and (sample.values != 0.0).any():
            unit, better = _UNITS.get(name.rpartition(".")[2], ("1", "none"))
            yield Metric(name=name, unit=unit, better=better)


def _station_ratios(window: Window) -> dict[str, float]:
    table = window.table("station")
    if table is None:
        return {}
    gained = window.increments(table)
    capacity_s = gained.get("capacity_s", table.capacity * window.length_s)
    ratios: dict[str, tuple[str, FloatArray]] = {
        "blocked_ratio": ("blocked_s", capacity_s),
        "down_ratio": ("down_s", capacity_s),
        "reject_ratio": ("reject_count", gained["arrival_count"] + gained.get("reject_count", 0.0)),
    }
    return {
        f"station.{name}.{metric}": _over(gained[column][place], whole[place])
        for metric, (column, whole) in ratios.items()
        if column in gained
        for place, name in enumerate(table.names)
    }


def _visit_means(window: Window) -> dict[str, float]:
    """Return the delays of each class at each station and pool, if classes are distinguished."""
    visit_means: dict[str, float] = {}
    for kind, owner, count in (("visit", "station", "completion_count"),
                               ("pool_visit", "pool", "grant_count")):  # fmt: skip
        table = window.table(kind)  # type: ignore[arg-type]  # the loop's two kinds
        if table is None or len(table.names) > MOST_PLACES:
            continue
        gained = window.increments(table)
        for place, name in enumerate(table.names):
            visits = gained[count][place]
            if visits <= 0.0:
                continue
            prefix = f"{owner}.{name}."
            visit_means[f"{prefix}throughput"] = visits / window.length_s
            visit_means[f"{prefix}wait_s_mean"] = gained["wait_s_sum"][place] / visits
            visit_means[f"{prefix}queue_len_mean"] = _waited_s(gained, place) / window.length_s
            if "response_s_sum" in gained:
                visit_means[f"{prefix}response_s_mean"] = gained["response_s_sum"][place] / visits
                visit_means[f"{prefix}jobs_mean"] = _present_s(gained, place) / window.length_s
    return visit_means


def _time_shares(window: Window) -> dict[str, float]:
    """Return for each class the share of its time in each state, where states were recorded."""
    classes = window.table("class")
    if classes is None or "delay_s" not in classes.columns:
        return {}
    gained = window.increments(classes)
    time_shares: dict[str, float] = {}
    for place, name in enumerate(classes.names):
        whole_s = float(gained["jobs_s"][place])
        if whole_s <= 0.0:
            continue
        times_s = dict(_place_times_s(window, name, is_only=len(classes.names) == 1))
        for column, metric in _CLASS_STATES.items():
            times_s[metric] = _at(gained, column, place)
        time_shares.update({f"class.{name}.{s}": time_s / whole_s for s, time_s in times_s.items()})
    return time_shares


def _place_times_s(window: Window, name: str, *, is_only: bool) -> Iterator[tuple[str, float]]:
    """Yield how long (job-seconds) a class waited and was served at each station and pool."""
    stations = window.table("station" if is_only else "visit")
    pools = window.table("pool" if is_only else "pool_visit")
    suffix = "" if is_only else f".class.{name}"
    unawaited = window.run.unawaited
    for station, gained, place in _rows(stations, window, suffix, unawaited.get("station", ())):
        waited_s = _waited_s(gained, place)
        blocked_s = _at(gained, "blocked_s" if is_only else "blocked_s_sum", place)
        present_s = _present_s(gained, place)
        yield f"station.{station}.wait_share", waited_s
        yield f"station.{station}.service_share", max(present_s - waited_s - blocked_s, 0.0)
        yield f"station.{station}.blocked_share", blocked_s
    for pool, gained, place in _rows(pools, window, suffix, unawaited.get("pool", ())):
        yield f"pool.{pool}.wait_share", _waited_s(gained, place)


def _rows(
    table: ResourceTable | None, window: Window, suffix: str, left_out: Collection[str]
) -> Iterator[tuple[str, Gains, int]]:
    if table is None or len(table.names) > MOST_PLACES:
        return
    gained = window.increments(table)
    for place, name in enumerate(table.names):
        if name.endswith(suffix) and name.removesuffix(suffix) not in left_out:
            yield name.removesuffix(suffix), gained, place


def _waited_s(gained: Gains, place: int) -> float:
    return _at(gained, "wait_s_sum", place) + _at(gained, "queue_age_s", place)


def _present_s(gained: Gains, place: int) -> float:
    columns = ("response_s_sum", "abandon_s_sum", "age_s")
    return sum(_at(gained, column, place) for column in columns)


def _at(gained: Gains, column: str, place: int) -> float:
    return float(gained[column][place]) if column in gained else 0.0


def _over(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else float("nan")
