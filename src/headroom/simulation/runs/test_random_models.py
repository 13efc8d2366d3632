"""Properties of every run, over models drawn from the whole language."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from headroom.simulation import (
    Model,
    SimulationError,
    SimulationResult,
    Table,
    exponential,
    simulate,
)
from headroom.simulation.checks.check import canonical_json
from headroom.simulation.runs.trace_file import Kind
from tests.support.fake_models import Ring, models, rings

pytestmark = pytest.mark.filterwarnings("ignore::headroom.simulation.ModelWarning")
"""Models drawn at random have idle parts."""

seeds = st.integers(0, 2**64 - 1)
TIME = 200.0
"""Simulated time (ms) of a run."""
WAYS_TO_END = ("deadlock", "without simulated time passing", "nothing happens any more")
slow = settings(
    max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def outcome(model: Model, seed: int, **options: float) -> SimulationResult | str:
    """Run a model; return its result, or the message with which it had to end."""
    try:
        return simulate(model, seed=seed, **{"time": TIME, **options})  # type: ignore[arg-type]
    except SimulationError as stopped:
        error = stopped
    assert any(way in error.message for way in WAYS_TO_END), error.message
    assert error.cure
    return error.message


def ended(model: Model, seed: int, **options: float) -> SimulationResult:
    """Run a model; drop the example if it had to end."""
    result = outcome(model, seed, **options)
    event("ended" if isinstance(result, SimulationResult) else result.split("'")[0][:30])
    assume(isinstance(result, SimulationResult))
    assert isinstance(result, SimulationResult)
    return result


def digest(result: SimulationResult | str) -> str:
    """Return a hash of all numbers of a result but its processor time, or of its message."""
    if isinstance(result, str):
        return hashlib.sha256(result.encode()).hexdigest()
    state = hashlib.sha256(result.snapshot_times_s.tobytes())
    for table in tables(result).values():
        for values in (*table.columns.values(), *table.maxima.values()):
            state.update(values.tobytes())
    for series in result.series:
        state.update(series.values.tobytes() + series.end_times_s.tobytes())
    for histogram in result.histograms:
        state.update(histogram.bin_low.tobytes() + histogram.counts.tobytes())
    for occupancy in result.occupancies:
        state.update(occupancy.bin_low.tobytes() + occupancy.counts.tobytes())
    return state.hexdigest()


def tables(result: SimulationResult) -> dict[str, Table]:
    return {
        "stations": result.stations,
        "pools": result.pools,
        "classes": result.classes,
        "visits": result.visits,
        "requests": result.requests,
    }


def is_close(column: np.ndarray, other: np.ndarray, scale: float) -> bool:
    """Return whether columns of seconds agree except for the rounding of sums of ticks."""
    return bool(np.allclose(column, other, rtol=1e-9, atol=1e-9 * max(scale, 1e-3)))


@slow
@given(models(), seeds)
def test_what_arrives_at_a_station_leaves_it_or_is_there(model: Model, seed: int) -> None:
    result = ended(model, seed)
    table, columns = result.stations, result.stations.columns
    present = columns["arrival_count"] - columns["completion_count"] - columns["abandon_count"]
    assert (present >= 0).all()
    rows = model.station_rows()
    sizes = np.array([len(rows[name]) for name in table.names])
    assert (present <= table.maxima["jobs"] * sizes).all()
    assert ((columns["age_s"] > 0) <= (present > 0)).all()
    for occupancy in result.occupancies:
        used = occupancy.bin_low[occupancy.counts.sum(axis=0) > 0]
        assert used.max() <= max(member.capacity for member in rows[occupancy.name])


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_what_enters_the_system_leaves_it_or_is_there(model: Model, seed: int) -> None:
    result = ended(model, seed)
    columns = result.classes.columns
    present = columns["arrival_count"] - columns["completion_count"] - columns["lost_count"]
    assert (present >= 0).all()
    assert (present <= result.classes.maxima["jobs"]).all()
    closed = [class_.population or np.inf for class_ in model.classes.values()]
    assert (result.classes.maxima["jobs"] <= np.array(closed)).all()


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_littles_law_is_an_identity_at_every_snapshot(model: Model, seed: int) -> None:
    result = ended(model, seed)
    scale = float(result.snapshot_times_s[-1])
    given_up = {"stations": "abandon_s_sum", "classes": "lost_s_sum"}
    for name, gone in given_up.items():
        columns = tables(result)[name].columns
        spent = columns["response_s_sum"] + columns[gone] + columns["age_s"]
        assert is_close(columns["jobs_s"], spent, scale), name
    for name in ("stations", "pools"):
        columns = tables(result)[name].columns
        waited = columns["wait_s_sum"] + columns["queue_age_s"]
        assert is_close(columns["queue_s"], waited, scale), name


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_the_classes_of_a_station_add_up_to_it(model: Model, seed: int) -> None:
    result = ended(model, seed)
    assume(len(model.classes) > 1)
    for whole, parts, shared in (
        (result.stations, result.visits, ("arrival_count", "completion_count", "response_s_sum")),
        (result.pools, result.requests, ("grant_count", "wait_s_sum")),
    ):
        for place, name in enumerate(whole.names):
            own = [row for row, full in enumerate(parts.names) if full.startswith(f"{name}.class.")]
            assert len(own) == len(model.classes)
            for column in shared:
                total = parts.columns[column][:, own].sum(axis=1)
                assert is_close(whole.columns[column][:, place], total, 1.0), (name, column)


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_servers_are_busy_blocked_or_broken_and_never_more_than_there_are(
    model: Model, seed: int
) -> None:
    result = ended(model, seed)
    columns, capacity = result.stations.columns, result.stations.capacity
    times = np.concatenate([[0.0], result.snapshot_times_s])[:, None]
    taken = columns["busy_s"] + columns["blocked_s"]
    for column in (taken, columns["down_s"]):
        growth = np.diff(column, axis=0, prepend=np.zeros((1, len(capacity))))
        limited = np.isfinite(capacity)
        room = capacity[limited] * np.diff(times, axis=0)
        assert (growth[:, limited] <= room * (1 + 1e-9) + 1e-12).all()
        assert (growth >= -1e-12).all()


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_the_histogram_of_jobs_present_has_the_mean_of_the_area(model: Model, seed: int) -> None:
    """Below 128 jobs each number has a bin of its own, so both means are the same integral.

    Of a group, the histogram counts the jobs at each of its members.
    """
    result = ended(model, seed)
    for occupancy in result.occupancies:
        place = result.stations.names.index(occupancy.name)
        assume(result.stations.maxima["jobs"][place] < 128)
        shares = occupancy.counts.sum(axis=0) / occupancy.counts.sum()
        area = result.stations.columns["jobs_s"][-1, place] / result.snapshot_times_s[-1]
        size = len(model.station_rows()[occupancy.name])
        assert float(shares @ occupancy.bin_low) == pytest.approx(area / size, rel=1e-9, abs=1e-12)


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_the_trace_tells_the_same_counts_as_the_tables(model: Model, seed: int) -> None:
    result = ended(model, seed, trace=1_000_000)
    trace = result.trace
    assert trace is not None
    assert not trace.is_truncated
    assert (np.diff(trace.time_s) >= 0).all()
    stations = [result.stations.names.index(station.row) for station in model.stations.values()]
    pools = [result.pools.names.index(pool.row) for pool in model.pools.values()]
    for table, column, kind, index, rows in (
        (result.stations, "arrival_count", Kind.QUEUES, trace.resource, stations),
        (result.pools, "grant_count", Kind.GRANTED, trace.resource, pools),
        (result.classes, "completion_count", Kind.LEAVES, trace.klass, range(len(model.classes))),
    ):
        of_kind = np.array(rows)[index[trace.kind == kind]]
        told = np.bincount(of_kind, minlength=len(table.names))
        assert told.tolist() == table.columns[column][-1].tolist(), column


@pytest.mark.deep
@slow
@given(models(), seeds)
def test_a_run_repeats_bit_for_bit_whatever_runs_beside_it(model: Model, seed: int) -> None:
    alone = digest(outcome(model, seed))
    with ThreadPoolExecutor(3) as pool:
        beside = list(pool.map(lambda _: digest(outcome(model, seed)), range(3)))
    assert beside == [alone] * 3


IN_ANOTHER_PROCESS = """
import json, sys
from headroom.simulation.runs.test_random_models import digest_of_data
print(json.dumps([digest_of_data(data, seed) for data, seed in json.load(sys.stdin)]))
"""


def digest_of_data(data: Mapping[str, object], seed: int) -> str:
    """Return the digest of the arrays that the kernel makes of a model as data."""
    from headroom import _core  # noqa: PLC0415 - the bare kernel, which no model of Python reaches

    try:
        raw = _core.simulate(model=json.dumps(data).encode(), seed=seed, time=TIME)
    except _core.KernelError as error:
        return str(error)
    columns = raw["snapshots"]["stations"]["columns"]
    state = hashlib.sha256(raw["snapshots"]["times_s"].tobytes())
    for name in sorted(columns):
        state.update(columns[name].tobytes())
    return state.hexdigest()


@pytest.mark.deep
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(models(), seeds), min_size=10, max_size=10))
def test_runs_have_the_same_bits_in_another_process(runs: list[tuple[Model, int]]) -> None:
    sent = [(json.loads(canonical_json(model)), seed) for model, seed in runs]
    other = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(other.stdout) == [digest_of_data(data, seed) for data, seed in sent]


@slow
@given(models(), seeds)
def test_what_has_nothing_to_do_with_a_class_does_not_change_it(model: Model, seed: int) -> None:
    """A class with a station of its own is added; the others' draws and times stay the same."""
    alone = ended(model, seed)
    larger = model.copy()
    audit = larger.program("audit")
    audit.use(larger.station("cellar", discipline="ps"), exponential(1))
    larger.open_class("auditors", audit, interarrival=exponential(3))
    beside = ended(larger, seed)
    audits = beside.classes.columns["completion_count"][-1, beside.classes.names.index("auditors")]
    assert audits > 0
    for name in ("stations", "pools", "classes"):
        places = [tables(beside)[name].names.index(member) for member in tables(alone)[name].names]
        for column, values in tables(alone)[name].columns.items():
            others = tables(beside)[name].columns[column][-1, places]
            assert np.array_equal(values[-1], others), (name, column)


LONGER = 20


@pytest.mark.deep
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(models(is_open=False), seeds)
def test_what_a_run_keeps_does_not_grow_with_its_length(model: Model, seed: int) -> None:
    for length in (1, LONGER):
        result = ended(model, seed, time=length * TIME, sample_every=0.01)
        assert len(result.snapshot_times_s) <= 64
        assert result.samples is not None
        assert len(result.samples.times_s) < 4096
        for series, histogram in zip(result.series, result.histograms, strict=True):
            assert len(series.values) < 1024
            assert len(histogram.segment_end_times_s) <= 16
        assert all(len(occupancy.segment_end_times_s) <= 16 for occupancy in result.occupancies)


COMPLETIONS = 300


def end_s(ring: Ring, seed: int) -> float:
    """Return when a ring has completed its rounds."""
    result = simulate(ring.model(), seed=seed, completions=COMPLETIONS)
    return float(result.snapshot_times_s[-1])


ROUNDING = 1e-6
"""Ticks of 1e-9 s that a few thousand services may be rounded by (s)."""


@given(rings(), seeds, st.data(), st.floats(1.0, 2.0))
def test_a_ring_never_ends_earlier_for_a_longer_service(
    ring: Ring, seed: int, data: st.DataObject, factor: float
) -> None:
    place = data.draw(st.integers(0, len(ring.stops) - 1))
    slower = ring.changed(place, mean=ring.stops[place].mean * factor)
    assert end_s(slower, seed) >= end_s(ring, seed) - ROUNDING


@given(rings(), seeds, st.data())
def test_a_ring_never_ends_earlier_for_a_server_or_a_place_less(
    ring: Ring, seed: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(ring.stops) - 1))
    stop = ring.stops[place]
    if stop.buffer:
        less = ring.changed(place, buffer=stop.buffer - 1)
    elif stop.servers > 1:
        less = ring.changed(place, servers=stop.servers - 1)
    else:
        less = Ring(ring.stops, ring.population + 1)
        ring, less = less, ring
    assert end_s(less, seed) >= end_s(ring, seed) - ROUNDING


def locks(orders: list[list[str]], population: int) -> Model:
    """Return classes that take the same tokens, each in its own order."""
    model = Model("locks", time_unit="ms", may_deadlock=True)
    pools = {name: model.pool(name, tokens=1) for name in "abc"}
    for number, order in enumerate(orders):
        program = model.program(f"p{number}")
        with ExitStack() as held:
            for name in order:
                held.enter_context(program.holding(pools[name]))
                program.delay(exponential(1))
        model.closed_class(f"c{number}", program, population=population, think=exponential(1))
    return model


@given(st.lists(st.permutations("abc"), min_size=2, max_size=3), st.integers(1, 3), seeds)
def test_jobs_that_wait_for_each_other_are_told_so_and_others_never_are(
    orders: list[list[str]], population: int, seed: int
) -> None:
    result = outcome(locks(orders, population), seed)
    event("deadlock" if isinstance(result, str) else "ended")
    if isinstance(result, str):
        assert "deadlock" in result
        assert "pool" in result
        assert any(order != orders[0] for order in orders)


@given(rings(), st.integers(0, 2), seeds, st.booleans())
def test_a_ring_with_a_place_to_spare_never_stands_still(
    ring: Ring,
    buffer: int,
    seed: int,
    is_over: bool,  # noqa: FBT001 - drawn
) -> None:
    """Blocking deadlocks only if every place of the ring is taken."""
    limited = ring
    for place in range(len(ring.stops)):
        limited = limited.changed(place, buffer=buffer, servers=1)
    places = len(ring.stops) * (buffer + 1)
    model = replace(limited, population=2 * places if is_over else places - 1).model()
    model.may_deadlock = True
    result = outcome(model, seed)
    event(f"full: {is_over}, {'ended' if isinstance(result, SimulationResult) else 'deadlock'}")
    assert isinstance(result, SimulationResult) or is_over
