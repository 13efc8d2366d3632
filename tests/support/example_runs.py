"""Hand-made runs for the tests of this package: tables that follow from visits, exactly.

A visit is the time of arrival, of the start of service, and of the end. Every cumulative column
is summed from those times, so all operational laws hold by construction.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.run import FloatArray, Histogram, ResourceTable, Run, Series

HISTOGRAM_WIDTH_S = 0.05


def queue(
    interarrival_s: FloatArray, service_s: FloatArray, *, servers: int = 1
) -> npt.NDArray[np.float64]:
    """Return the visits of an open FCFS station, shape (visits, 3): arrival, start, end."""
    free_s = np.zeros(servers)
    visits = []
    for arrived_s, needed_s in zip(np.cumsum(interarrival_s), service_s, strict=True):
        server = int(np.argmin(free_s))
        start_s = max(float(arrived_s), float(free_s[server]))
        free_s[server] = start_s + needed_s
        visits.append((arrived_s, start_s, free_s[server]))
    return np.array(visits)


def station_columns(visits: FloatArray, times_s: FloatArray) -> dict[str, FloatArray]:
    """Return the cumulative columns of one station, shape (snapshots, 1)."""
    arrived, started, ended = visits.T
    columns = {
        "arrival_count": _count(arrived, times_s),
        "completion_count": _count(ended, times_s),
        "wait_s_sum": _sum_by(started, started - arrived, times_s),
        "response_s_sum": _sum_by(ended, ended - arrived, times_s),
        "busy_s": _overlap(started, ended, times_s),
        "jobs_s": _overlap(arrived, ended, times_s),
        "queue_s": _overlap(arrived, started, times_s),
        "age_s": _age(arrived, ended, times_s),
        "queue_age_s": _age(arrived, started, times_s),
    }
    return {name: column[:, None] for name, column in columns.items()}


def station_run(
    stations: Mapping[str, FloatArray],
    times_s: FloatArray,
    *,
    capacity: Mapping[str, float] | None = None,
) -> Run:
    """Return a run of independent stations; their visits together are the one class ``jobs``."""
    tables = {name: station_columns(visits, times_s) for name, visits in stations.items()}
    columns = {
        column: np.hstack([tables[name][column] for name in stations])
        for column in next(iter(tables.values()))
    }
    sizes = np.array([(capacity or {}).get(name, 1.0) for name in stations])
    everything = np.vstack(list(stations.values()))
    of_class = station_columns(everything, times_s)
    kept = ("arrival_count", "completion_count", "response_s_sum", "jobs_s", "age_s")
    return Run(
        snapshot_times_s=times_s,
        resources=(
            ResourceTable(kind="station", names=tuple(stations), capacity=sizes, columns=columns),
            ResourceTable(
                kind="class",
                names=("jobs",),
                capacity=np.array([np.inf]),
                columns={name: of_class[name] for name in kept},
            ),
        ),
        series=(response_series(everything),),
        histograms=(response_histogram(everything, times_s),),
    )


def response_series(visits: FloatArray, *, metric: str = "response_s") -> Series:
    """Return the responses in completion order."""
    ordered = visits[np.argsort(visits[:, 2], kind="stable")]
    return Series(metric=metric, values=ordered[:, 2] - ordered[:, 0], end_times_s=ordered[:, 2])


def response_histogram(visits: FloatArray, times_s: FloatArray) -> Histogram:
    """Return the responses of the visits that ended by the last snapshot, binned."""
    ended = visits[visits[:, 2] <= times_s[-1]]
    bins = np.floor((ended[:, 2] - ended[:, 0]) / HISTOGRAM_WIDTH_S).astype(int)
    used = np.unique(bins)
    counts = np.zeros((times_s.size, used.size), dtype=np.int64)
    segments = np.searchsorted(times_s, ended[:, 2])
    np.add.at(counts, (segments, np.searchsorted(used, bins)), 1)
    return Histogram(
        metric="response_s",
        bin_low=used * HISTOGRAM_WIDTH_S,
        bin_high=(used + 1) * HISTOGRAM_WIDTH_S,
        counts=counts,
        segment_end_times_s=times_s,
    )


def mm1_run(*, load: float, jobs: int, seed: int, snapshots: int = 40) -> Run:
    """Return an M/M/1 run with mean service time 1 s that ends with the last completion."""
    random = np.random.default_rng(seed)
    visits = queue(random.exponential(1.0 / load, jobs), random.exponential(1.0, jobs))
    return station_run({"cpu": visits}, np.linspace(0.0, visits[-1, 2], snapshots + 1)[1:])


def series_runs(values: Sequence[FloatArray]) -> list[Run]:
    """Return runs that have one series each, one observation per second."""
    return [
        Run(series=(Series(metric="response_s", values=value,
                           end_times_s=np.arange(1.0, value.size + 1.0)),))
        for value in values
    ]  # fmt: skip


def _count(moments: FloatArray, times_s: FloatArray) -> FloatArray:
    return np.searchsorted(np.sort(moments), times_s, side="right").astype(np.float64)


def _sum_by(moments: FloatArray, amounts: FloatArray, times_s: FloatArray) -> FloatArray:
    return np.array([amounts[moments <= time].sum() for time in times_s])


def _overlap(starts: FloatArray, ends: FloatArray, times_s: FloatArray) -> FloatArray:
    return np.array([np.clip(np.minimum(ends, time) - starts, 0.0, None).sum() for time in times_s])


def _age(starts: FloatArray, ends: FloatArray, times_s: FloatArray) -> FloatArray:
    return np.array([(time - starts)[(starts <= time) & (time < ends)].sum() for time in times_s])


def test_the_columns_of_a_queue_follow_from_its_visits() -> None:
    visits = queue(np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]))
    columns = station_columns(visits, np.array([4.0, 7.0]))
    assert columns["busy_s"].ravel().tolist() == [3.0, 6.0]
    assert columns["jobs_s"].ravel().tolist() == [5.0, 9.0]
    assert columns["queue_s"].ravel().tolist() == [2.0, 3.0]
    assert columns["response_s_sum"].ravel().tolist() == [2.0, 9.0]
    assert columns["age_s"].ravel().tolist() == [3.0, 0.0]
    assert columns["queue_age_s"].ravel().tolist() == [1.0, 0.0]
