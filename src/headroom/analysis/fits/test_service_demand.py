"""Demands of a server whose truth is known."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import msgspec
import numpy as np
import pytest

from headroom.analysis.fits.loads import repairman
from headroom.analysis.fits.model_answers import ModelAnswers
from headroom.analysis.fits.seen_points import seen_point
from headroom.analysis.fits.service_demand import DemandOptions, ServiceDemand
from headroom.analysis.fits.variation import variation_of
from headroom.experiment.protocol.fit_method import (
    FitError,
    Found,
    Load,
    Observed,
    ServiceEvidence,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.registry import find_system
from headroom.experiment.protocol.system import Column, Value

OPTIONS = DemandOptions(groups=["service.db", "program"])
PLACES = DemandOptions(groups=["service.db", "program"], fit_servers=True)
WITH_LOCK = DemandOptions(groups=["service.db", "program"], lock="lock_s")


def point(
    rate: float,
    cpu_s: float,
    *,
    clients: int = 64,
    think_s: float = 0.0,
    more: Mapping[str, float] = MappingProxyType({}),
) -> SourcePoint:
    """Return a point whose processor time is shared one to three by program and server."""
    values = {
        "throughput": rate,
        "service.db.cpu_s_per_op": 0.75 * cpu_s,
        "program.cpu_s_per_op": 0.25 * cpu_s,
        **more,
    }
    return SourcePoint(
        experiment="server",
        column=Column.MEASURE,
        levels={"clients": clients},
        config={"clients": clients, "think_s": think_s},
        observed={name: Observed(value=value) for name, value in values.items()},
    )


def target(config: Mapping[str, Value], *, is_replicate: bool = False) -> Target:
    kind = find_system("model")
    system = kind.load(msgspec.convert({"model": "database"}, kind.setup_type), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return Target(system=system, config={**defaults, **config}, is_replicate=is_replicate)


def fit(points: list[SourcePoint], options: DemandOptions = OPTIONS, **config: Value) -> Found:
    return ServiceDemand().fit(points, target(config), options)


def values(found: Found) -> dict[str, Value]:
    return {one.name: one.value for one in found.parameters}


def evidence(found: Found) -> ServiceEvidence:
    assert isinstance(found.evidence, ServiceEvidence)
    return found.evidence


def background(found: Found) -> float | None:
    return evidence(found).background


def low_load(demand_s: float, background: float = 0.0, *, seed: int = 1) -> list[SourcePoint]:
    """Return points of two processors below their knee, with 0.5% of scatter."""
    random = np.random.default_rng(seed)
    return [
        point(
            rate, (demand_s + background / rate) * random.normal(1.0, 0.005), think_s=64 / rate,
            more={"response_s_mean": response_s(64 / rate, demand_s)},
        )
        for rate in (2000.0, 3000.0, 5000.0, 8000.0)
    ]  # fmt: skip


def response_s(think_s: float, demand_s: float, servers: int = 2) -> float:
    """Return the mean response time of 64 clients."""
    return 64 / repairman(64, think_s, demand_s, servers) - think_s


def test_a_burst_gives_the_demand_whatever_its_processor_time_was_at_low_load() -> None:
    found = fit([*low_load(100e-6), point(40_000.0, 49e-6)], servers=2)
    assert values(found) == {"service_s": pytest.approx(2 / 40_000.0)}
    assert evidence(found).limit == "processors"


def test_one_client_is_no_burst() -> None:
    alone = point(9000.0, 100e-6, clients=1)
    found = fit([*low_load(100e-6), alone], servers=2)
    assert values(found)["service_s"] == pytest.approx(100e-6, rel=0.02)


def test_a_lock_limits_a_burst_that_leaves_processors_idle() -> None:
    found = fit([point(2000.0, 600e-6)], WITH_LOCK, servers=2)
    assert values(found) == {
        "service_s": pytest.approx(100e-6), "lock_s": pytest.approx(500e-6)
    }  # fmt: skip
    assert evidence(found).limit == "unknown", "nothing shows what it costs alone"
    assert [one.name for one in evidence(found).refuted] == ["processors", "disk"]


def test_without_a_lock_in_the_model_the_demand_stands_for_it_and_says_so() -> None:
    found = fit([point(2000.0, 600e-6)], servers=2)
    assert values(found)["service_s"] == pytest.approx(1e-3)
    assert evidence(found).left == [("lock", 1), ("pool", 64)]


def test_what_limits_stays_the_same_for_the_intervals() -> None:
    """A replicate at the edge between both must not jump to the other one."""
    nearly_full = [point(2000.0, 860e-6)]
    locked = target({"servers": 2, "lock_s": 500e-6}, is_replicate=True)
    free = target({"servers": 2, "lock_s": 0.0}, is_replicate=True)
    assert values(ServiceDemand().fit(nearly_full, locked, WITH_LOCK))["lock_s"] == 500e-6
    assert values(ServiceDemand().fit(nearly_full, free, WITH_LOCK))["lock_s"] == 0.0


@pytest.mark.deep
def test_the_slope_at_low_load_leaves_background_out() -> None:
    errors = []
    for seed in range(200):
        found = fit(low_load(80e-6, 0.02, seed=seed))
        errors.append(float(values(found)["service_s"]) / 80e-6 - 1.0)
    assert abs(np.mean(errors)) < 0.002
    assert np.std(errors) < 0.02
    assert background(fit(low_load(80e-6, 0.02))) == pytest.approx(0.02, rel=0.5)


def test_background_is_never_negative() -> None:
    # Work in batches: busy processors rise faster than the throughput.
    points = [
        point(rate, d, think_s=64 / rate, more={"response_s_mean": 1.1 * d})
        for rate, d in ((2e3, 80e-6), (4e3, 85e-6), (8e3, 90e-6))
    ]
    found = fit(points)
    assert background(found) == 0.0
    assert 80e-6 < float(values(found)["service_s"]) < 90e-6


def test_two_loads_do_not_tell_background() -> None:
    found = fit(low_load(80e-6)[2:])
    assert background(found) is None


def test_a_demand_that_changes_is_refused_unless_asked_for() -> None:
    changing = [
        point(rate, cpu_s, think_s=1.0)
        for rate, cpu_s in ((2e3, 66e-6), (1e4, 51e-6), (1.5e4, 43e-6))
    ]
    with pytest.raises(FitError, match="changes with the load") as caught:
        fit(changing)
    assert "burst" in str(caught.value.cure)
    wide = DemandOptions(groups=["service.db", "program"], extrapolate=True)
    assert 30e-6 < float(values(fit(changing, wide))["service_s"]) < 51e-6


def test_bursts_of_different_loads_are_refused() -> None:
    with pytest.raises(FitError, match="bursts differ") as caught:
        fit([point(4e4, 49e-6), point(2e4, 98e-6, clients=96)])
    assert "`by`" in str(caught.value.cure)


def test_processors_are_those_that_the_groups_may_use() -> None:
    share = 0.75 * 98e-6 * 3.0e4 / 3
    full = point(3.0e4, 98e-6, more={"service.db.cpu.utilization": share})
    found = fit([full], PLACES, servers=1)
    assert values(found)["servers"] == 3
    assert values(found)["service_s"] == pytest.approx(3 / 3.0e4)


def test_a_flush_is_what_was_observed() -> None:
    options = DemandOptions(
        groups=["program"], flush="flush_s", flush_metric="service.db.flush_s",
        lock="lock_s", lock_metric="service.db.hold_s",
    )  # fmt: skip
    seen = {"service.db.flush_s": 1e-3, "service.db.hold_s": 1.2e-3}
    points = [point(rate, 4e-4, think_s=1.0, more=seen) for rate in (100.0, 200.0, 300.0)]
    found = values(fit(points, options))
    assert found["flush_s"] == 1e-3
    assert found["lock_s"] == pytest.approx(0.2e-3)
    # A quarter of the processor time is that of the program; the lock takes more than all of it.
    assert found["service_s"] == 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (DemandOptions(groups=["service.web"]), "reports no service.web.cpu_s_per_op"),
        (DemandOptions(groups=["program"], throughput="tps"), "reports no tps"),
        (DemandOptions(groups=["program"], flush="flush_s"), "time of a flush"),
        (DemandOptions(groups=["program"], fit_servers=True), "reports no program.cpu.utilization"),
    ],
)
def test_what_is_missing_is_named(options: DemandOptions, message: str) -> None:
    with pytest.raises(FitError, match=message):
        fit([point(1e4, 5e-5)], options)


@pytest.mark.parametrize("lock_s", [0.0, 100e-6, 400e-6])
@pytest.mark.parametrize("flush_s", [0.0, 1e-3])
def test_a_burst_of_a_known_server_predicts_it_at_twice_its_knee(
    lock_s: float, flush_s: float
) -> None:
    """The truth is simulated, with a lock and flushes; the fit sees two metrics of it."""
    truth = {"clients": 64, "servers": 2, "service_s": 150e-6, "lock_s": lock_s, "flush_s": flush_s}
    full = answers(truth | {"think_s": 0.0})
    rate = full["throughput"]
    options = DemandOptions(
        groups=["service.db", "program"], lock="lock_s",
        flush="flush_s" if flush_s else "", flush_metric="flush",
    )  # fmt: skip
    burst = point(rate, 2 * full["station.cpu.utilization"] / rate, more={"flush": flush_s})
    found = values(fit([burst], options, servers=2))
    past = {"think_s": 32 / rate}  # half the clients would do
    expected = answers(truth | past)["throughput"]
    assert answers(truth | found | past)["throughput"] == pytest.approx(expected, rel=0.05)


def answers(config: Mapping[str, Value]) -> Mapping[str, float]:
    system = target(config).system
    return ModelAnswers(system, "simulation").values(target(config).config)


def traced(
    rate: float,
    *,
    clients: int,
    think_s: float = 0.0,
    busy: float = 0.3,
    own: float = 0.3,
    crowd: float = 0.0,
    response_s: float | None = None,
    more: Mapping[str, float] = MappingProxyType({}),
) -> SourcePoint:
    """Return a point of a machine of two processors with all traces."""
    seen = {
        "machine.cpu.count": 2.0, "machine.cpu.utilization": busy / 2,
        "service.db.cpu.busy_mean": 0.75 * own, "service.db.cpu.crowd_mean": crowd,
        "program.cpu.crowd_mean": 0.0, "service.db.busiest_thread.runnable_share": 0.2,
        "program.busiest_thread.runnable_share": 0.2, "service.db.blocked_mean": 0.0,
        "service.db.voluntary_switches_per_op": 2.5,
    }  # fmt: skip
    seen |= {"response_s_mean": response_s} if response_s else {}
    return point(rate, own / rate, clients=clients, think_s=think_s, more={**seen, **more})


def test_a_pool_is_not_fitted_as_the_row_of_a_database() -> None:
    alone = traced(1 / 4.3e-3, clients=1, own=0.07, response_s=4.3e-3)
    with pytest.raises(FitError, match="4 operations at a time"):
        fit([traced(1000.0, clients=16), alone], WITH_LOCK, servers=2)


@pytest.mark.parametrize("others", [0.0, 1.7])
def test_a_pool_is_fitted_by_its_places_and_predicts_other_loads(others: float) -> None:
    """Truth by the repairman formula: 4 places of 4 ms, whatever the neighbours do."""
    burst = traced(repairman(16, 0.0, 4e-3, 4), clients=16, busy=0.3 + others)
    alone = traced(1 / 4.3e-3, clients=1, own=0.07, response_s=4.3e-3)
    found = fit([burst, alone], PLACES, servers=1)
    assert (evidence(found).limit, values(found)["servers"]) == ("pool", 4)
    service_s = float(values(found)["service_s"])
    for think_s in (4e-3, 12e-3, 18e-3):
        truth = repairman(16, think_s, 4e-3, 4)
        assert repairman(16, think_s, service_s, 4) == pytest.approx(truth, rel=1e-9)


def test_neighbours_are_part_of_the_interval() -> None:
    """A hog of 1 ms that others leave one of two processors."""
    burst = traced(1000.0, clients=16, busy=2.0, own=1.0, crowd=15.0)
    found = fit([burst], PLACES, servers=2)
    assert evidence(found).limit == "processors"
    assert evidence(found).available == pytest.approx(1.0)
    assert evidence(found).neighbours == pytest.approx(0.5)
    assert values(found) == {"service_s": pytest.approx(1e-3), "servers": 1}
    low, high = (float(one["service_s"]) for one in found.alternatives)
    assert low < 0.8e-3
    assert high > 1.2e-3
    quiet = traced(2000.0, clients=16, busy=2.0, own=2.0, crowd=14.0)
    assert fit([quiet], PLACES, servers=2).alternatives == ()


def test_neighbours_that_leave_next_to_nothing_are_refused_with_what_to_do() -> None:
    burst = traced(300.0, clients=16, busy=2.0, own=0.3, crowd=12.0)
    with pytest.raises(FitError, match="others take 85%") as caught:
        fit([burst], servers=2)
    assert "cpuset" in str(caught.value.cure)


def test_half_a_processor_is_half_a_processor_and_throttling_is_named() -> None:
    quota = {"service.db.cpu.utilization": 0.98, "service.db.throttled_share": 0.4}
    own = 0.49 / 0.75
    burst = traced(600.0, clients=16, busy=own, own=own, crowd=8.0, more=quota)
    found = fit([burst], PLACES, servers=2)
    assert evidence(found).limit == "quota"
    assert evidence(found).available == pytest.approx(0.5)
    assert values(found) == {"service_s": pytest.approx(1 / 600), "servers": 1}


@pytest.mark.parametrize(("share", "limit"), [(0.98, "quota"), (0.5, "unknown")])
def test_a_quota_is_known_by_its_used_share_where_no_kernel_counts_its_periods(
    share: float, limit: str
) -> None:
    own = 0.5 * share / 0.75
    burst = traced(600.0, clients=16, own=own, busy=own, more={"service.db.cpu.utilization": share})
    assert evidence(fit([burst], PLACES, servers=2)).limit == limit
    whole = traced(600.0, clients=16, more={"service.db.cpu.utilization": 0.75 * 0.3 / 2})
    refuted = {one.name for one in evidence(fit([whole], PLACES, servers=2)).refuted}
    assert "quota" not in refuted, "it may use the whole machine"


def test_a_flush_under_a_mutex_is_a_disk_by_the_work_of_the_device() -> None:
    """The figures of a server that writes and flushes one line under a mutex on a fast disk."""
    device = {"service.db.blocked_mean": 0.38, "machine.disk.utilization": 0.63}
    burst = traced(3624.0, clients=16, busy=0.78, own=0.79, more=device)
    alone = traced(3302.0, clients=1, busy=0.54, own=0.55, more=device)
    assert evidence(fit([burst, alone], PLACES, servers=2)).left == [("disk", 1)]
    of_others = {**device, "service.db.blocked_mean": 0.0}
    burst = traced(3624.0, clients=16, busy=0.78, own=0.79, more=of_others)
    assert evidence(fit([burst, alone], PLACES, servers=2)).left == [("lock", 1)]


def test_a_limit_that_is_undetermined_gives_an_interval_over_all_that_is_left() -> None:
    found = fit([traced(1000.0, clients=16)], PLACES, servers=2)
    assert evidence(found).limit == "unknown"
    for one, places in zip(found.alternatives, (1, 16), strict=True):
        assert one == {"service_s": pytest.approx(places * 1e-3), "servers": places}


def opened(
    rate: float, *, asked: float, own: float, response_s: float, **more: float
) -> SourcePoint:
    """Return a point of an open load, whose program takes many threads."""
    seen = {"service.db.queue_s_per_op": 0.9 * (response_s - own / rate)}
    seen |= {f"service.db.{name.replace('__', '.')}": value for name, value in more.items()}
    point = traced(rate, clients=0, own=own, busy=own, response_s=response_s, more=seen)
    return replace(point, config={"rate": asked}, offered={"throughput": asked})


def open_low_load(demand_s: float) -> list[SourcePoint]:
    """Return points of M/M/2 below its knee."""
    return [
        opened(rate, asked=rate, own=rate * demand_s, response_s=demand_s / (1.0 - busy**2))
        for busy in (0.2, 0.4, 0.7)
        for rate in [2.0 * busy / demand_s]
    ]


def fit_open(points: list[SourcePoint]) -> Found:
    """Fit a model whose clients the sources do not have."""
    wanted = target({"servers": 2})
    config = {n: v for n, v in wanted.config.items() if n not in {"clients", "think_s"}}
    wanted = replace(wanted, config=config, factors=("clients", "think_s"))
    return ServiceDemand().fit(points, wanted, PLACES)


def test_an_open_load_below_the_knee_gives_the_demand_and_a_rate_that_can_be_done() -> None:
    found = fit_open(open_low_load(1e-3))
    assert values(found) == {"service_s": pytest.approx(1e-3), "servers": 2}
    assert evidence(found).limit == "processors"
    assert evidence(found).capacity == pytest.approx(2000.0, rel=0.01)


def test_open_arrivals_that_keep_one_processor_busy_do_not_show_that_two_would_work() -> None:
    """An arrival may come just when the one before is done: no response time shows a queue."""
    with pytest.raises(FitError, match="one at a time") as caught:
        fit_open(open_low_load(1e-3)[:2])
    assert "a rate that keeps more than one processor busy" in str(caught.value.cure)


def test_an_open_load_that_a_full_server_does_not_reach_is_a_burst() -> None:
    over = opened(1950.0, asked=2500.0, own=1.99, response_s=0.5, cpu__crowd_mean=30.0)
    found = fit_open([*open_low_load(1e-3), over])
    assert (evidence(found).basis, evidence(found).limit) == ("bursts", "processors")
    assert evidence(found).capacity == 1950.0
    pool = opened(1000.0, asked=1500.0, own=0.3, response_s=0.5)
    alone = opened(100.0, asked=100.0, own=0.03, response_s=4.3e-3, queue_s_per_op=0.0)
    found = fit_open([alone, pool])
    assert (evidence(found).limit, values(found)["servers"]) == ("pool", 4)


def test_a_load_program_too_slow_for_its_rate_is_the_limit_itself() -> None:
    """It does 800 of 1500 while operations take no longer than at low load."""
    slow = opened(800.0, asked=1500.0, own=0.8, response_s=1.1e-3)
    with pytest.raises(FitError, match=r"of 1500 operations .* send 800 are done") as caught:
        fit_open([*open_low_load(1e-3), slow])
    assert "more processes" in str(caught.value.cure)
    by_chance = replace(slow, observed={
        **slow.observed, "throughput": Observed(value=800.0, standard_error=250.0)})  # fmt: skip
    found = fit_open([*open_low_load(1e-3), by_chance])
    assert evidence(found).basis == "low_load"


def test_clients_who_think_wake_threads_and_the_demand_counts_half_of_that() -> None:
    """One client wakes all threads for each operation, and takes twice as long of a processor."""
    burst, alone = point(40_000.0, 50e-6), point(9_000.0, 100e-6, clients=1)
    found = fit([burst, alone], servers=2)
    assert values(found) == {"service_s": pytest.approx(1.5 * 2 / 40_000.0)}
    assert {"service_s": pytest.approx(2 / 40_000.0)} in found.alternatives
    assert values(fit([burst], servers=2)) == {"service_s": pytest.approx(2 / 40_000.0)}


def test_one_client_shows_how_much_an_operation_varies_and_what_is_outside() -> None:
    """A lock of always 2 ms behind half a millisecond of something else."""
    options = msgspec.structs.replace(PLACES, variation="service_c2", delay="delay_s")
    config = {"users": 64, "think_s": 0.0}
    kind = find_system("model")
    system = kind.load(msgspec.convert({"model": "interactive"}, kind.setup_type), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    burst = traced(500.0, clients=64, own=0.1)
    alone = traced(400.0, clients=1, own=0.08, response_s=2.5e-3, more={"response_s_p95": 2.6e-3})
    options = msgspec.structs.replace(options, map={"users": "clients"})
    found = ServiceDemand().fit(
        [burst, alone], Target(system=system, config={**defaults, **config}), options
    )
    assert values(found) == {
        "service_s": pytest.approx(2e-3), "servers": 1, "service_c2": 0.0,
        "delay_s": pytest.approx(0.5e-3),
    }  # fmt: skip


def test_a_mean_is_not_taken_for_its_own_percentile() -> None:
    """A response time whose name has no mean in it has no 95th percentile that is known."""
    alone = traced(400.0, clients=1, own=0.08, more={"latency": 2.5e-3})
    seen = seen_point(
        alone, Load(clients=1, think_s=0.0), ["service.db"], throughput="throughput",
        response="latency",
    )  # fmt: skip
    assert (seen.mean_s, seen.p95_s) == (2.5e-3, None)
    assert variation_of([seen], "lock", 2e-3) == 1.0
