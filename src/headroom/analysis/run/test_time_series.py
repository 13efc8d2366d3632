"""Time series of a run: hand-made samples, the run as the mean of its intervals, the chart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from headroom.analysis.run.time_series import (
    PARTS_AT_MOST,
    VALUES_AT_MOST,
    part_series,
    pictured_series,
    thinned_samples,
)
from headroom.experiment.protocol.run import FloatArray, ResourceTable, Run, TimeSamples

STEP_S = 0.5


def samples_of(gained: FloatArray, *, names: tuple[str, ...] | None = None) -> TimeSamples:
    """Return samples of stations with two servers that were busy for so long in each interval."""
    stations = names or tuple(f"s{place}" for place in range(gained.shape[1]))
    busy_s = np.cumsum(gained, axis=0)
    table = ResourceTable(
        kind="station",
        names=stations,
        capacity=np.full(len(stations), 2.0),
        columns={
            "busy_s": busy_s,
            "queue_s": 3.0 * busy_s,
            "jobs_s": 4.0 * busy_s,
            "completion_count": 10.0 * busy_s,
        },
    )
    times_s = STEP_S * np.arange(1, gained.shape[0] + 1)
    return TimeSamples(times_s=times_s, tables=(table,))


def test_a_value_is_what_happened_within_its_interval() -> None:
    found = {one.full_name: one for one in part_series(samples_of(np.array([[1.0], [0.0], [0.5]])))}
    assert {name: one.values.tolist() for name, one in found.items()} == {
        "station.s0.utilization": [1.0, 0.0, 0.5],
        "station.s0.queue_len_mean": [6.0, 0.0, 3.0],
        "station.s0.jobs_mean": [8.0, 0.0, 4.0],
        "station.s0.throughput": [20.0, 0.0, 10.0],
    }
    assert found["station.s0.throughput"].unit == "1/s"


def test_an_interval_without_a_completion_has_no_response_time() -> None:
    table = ResourceTable(
        kind="class",
        names=("users",),
        capacity=np.array([np.inf]),
        columns={
            "completion_count": np.array([[2.0], [2.0]]),
            "response_s_sum": np.array([[3.0], [3.0]]),
            "jobs_s": np.array([[3.0], [3.0]]),
        },
    )
    samples = TimeSamples(times_s=np.array([1.0, 2.0]), tables=(table,))
    found = {one.metric: one.values for one in part_series(samples)}
    assert found["response_s_mean"][0] == 1.5
    assert np.isnan(found["response_s_mean"][1])
    pictured = pictured_series([Run(samples=samples)])
    assert pictured is not None
    assert [line.values for line in pictured.lines if line.metric == "response_s_mean"] == [
        [1.5, None]
    ]


def test_a_station_with_servers_for_everybody_has_no_utilization() -> None:
    samples = samples_of(np.ones((2, 1)))
    table = samples.tables[0]
    unlimited = ResourceTable(
        kind="station", names=table.names, capacity=np.array([np.inf]), columns=table.columns
    )
    found = part_series(TimeSamples(times_s=samples.times_s, tables=(unlimited,)))
    assert [one.metric for one in found] == ["queue_len_mean", "jobs_mean", "throughput"]


@given(
    st_numpy.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.integers(1, 3)),
        elements=st.floats(0.0, 1.0, width=32),
    ),
    st.integers(1, 40),
)
def test_thinning_averages_the_intervals_that_it_joins(gained: FloatArray, at_most: int) -> None:
    """Property: a thinned value is the mean of those that it stands for."""
    whole = samples_of(gained)
    thin = thinned_samples(whole, at_most=at_most)
    count = thin.times_s.size
    step = -(-gained.shape[0] // at_most)
    assert count <= at_most
    assert count == gained.shape[0] // step
    for one, joined in zip(part_series(whole), part_series(thin), strict=True) if count else ():
        expected = one.values[: count * step].reshape(count, step).mean(axis=1)
        assert joined.values == pytest.approx(expected, abs=1e-9)


def test_a_picture_is_bounded_and_keeps_the_busiest_parts() -> None:
    gained = np.tile(np.linspace(0.0, 1.0, 30), (1000, 1))
    found = pictured_series([Run(), Run(samples=samples_of(gained))])
    assert found is not None
    assert found.count == VALUES_AT_MOST
    assert found.step_s == 5 * STEP_S
    assert {len(line.values) for line in found.lines} == {found.count}
    busiest = [f"s{place}" for place in range(30 - PARTS_AT_MOST, 30)]
    assert list(dict.fromkeys(line.name for line in found.lines)) == busiest
    assert found.parts_left_out == 30 - PARTS_AT_MOST


def test_runs_that_kept_nothing_have_no_picture() -> None:
    assert pictured_series([]) is None
    assert pictured_series([Run(), Run(samples=samples_of(np.ones((0, 1))))]) is None
