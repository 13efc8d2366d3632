"""Simulated models through the whole analysis, compared with known analytical answers.

M/M/1 in closed form; bottlenecks and knees by asymptotic bounds: throughput is at most 1 / Dmax
and bends at N* = (D + Z) / Dmax.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pytest

from headroom.analysis.evidence import NotLimited
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.results import Bottleneck
from headroom.analysis.run.warm_up import choose_cut
from headroom.analysis.verdicts.knee import curve_of, find_knee
from headroom.analysis.verdicts.limits import limit_without_steady_state, with_overload
from headroom.analysis.verdicts.test_bottleneck import limiting
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.plan import PlannedExperiment
from headroom.experiment.study.study import Experiment, WarmUp
from headroom.simulation import Model, constant, exponential, simulate
from headroom.systems.model.conversion import run_of
from tests.support.example_runs import queue, station_run


@dataclass(frozen=True)
class _SimulatedSystem:
    column: Column = Column.MODEL


EXPERIMENT = PlannedExperiment(
    spec=Experiment(name="oracle", system={"name": "model"}),
    system=_SimulatedSystem(),  # type: ignore[arg-type]
    setup=msgspec.Struct(),
    base=Path(),
    factors=(),
    points=(),
    parameters=(),
)


def analysed(model: Model, *, seeds: range, completions: int | None = 20_000) -> PointSummary:
    """Return the summary of one replication per seed."""
    results = (simulate(model, seed=seed, completions=completions) for seed in seeds)
    return summarise(EXPERIMENT, [run_of(result) for result in results])


def bottleneck_of(model: Model) -> Bottleneck:
    verdict = analysed(model, seeds=range(5)).bottleneck
    assert verdict is not None
    return verdict


def mm1(*, load: float) -> Model:
    """Return an M/M/1 queue with mean service time 1 s."""
    model = Model("mm1", time_unit="s")
    cpu = model.station("cpu")
    visit = model.program("visit")
    visit.use(cpu, exponential(1.0))
    model.open_class("visitors", visit, interarrival=exponential(1.0 / load))
    return model


def shop(
    *,
    users: int,
    connections: int = 20,
    database_servers: int = 1,
    demands_ms: Mapping[str, float] | None = None,
    think_ms: float = 1000.0,
) -> Model:
    """Return web servers before a database behind a pool of connections."""
    demands = {"web": 5.0, "database": 8.0, **(demands_ms or {})}
    model = Model("shop", time_unit="ms")
    web = model.station("web", servers=4)
    database = model.station("database", servers=database_servers)
    pool = model.pool("connections", tokens=connections)
    page = model.program("page")
    page.use(web, exponential(demands["web"]))
    with page.holding(pool):
        page.use(database, exponential(demands["database"]))
    model.closed_class("users", page, population=users, think=exponential(think_ms))
    return model


@pytest.mark.deep
def test_the_95_percent_interval_of_a_simulated_queue_covers_its_mean_about_as_often() -> None:
    """Coverage of 60 experiments of M/M/1 at load 0.8: W = 1 / (1 - 0.8) = 5 s.

    Nominal 95%; three standard errors of 60 trials below that are 52.
    """
    model = mm1(load=0.8)
    hits = 0
    for experiment in range(60):
        seeds = range(10 * experiment, 10 * experiment + 10)
        interval = analysed(model, seeds=seeds).samples["response_s_mean"].interval()
        hits += (interval.low or 0.0) <= 5.0 <= (interval.high or 0.0)
    assert hits >= 52


def test_pooled_percentiles_of_a_simulated_queue_agree_with_the_closed_form() -> None:
    """M/M/1 at load 0.8: responses are exponential, p95 = 14.9787 s, p99 = 23.0259 s."""
    summary = analysed(mm1(load=0.8), seeds=range(20), completions=50_000)
    for metric, exact in (("response_s_p95", 14.9787), ("response_s_p99", 23.0259)):
        interval = summary.samples[metric].interval()
        assert interval.value == pytest.approx(exact, rel=0.03)
        assert (interval.low or 0.0) <= exact <= (interval.high or 0.0)


def test_beyond_the_saturation_point_the_station_of_largest_demand_limits() -> None:
    """200 users, N* = (13 + 1000) / 8 = 127: the database, and not its pool, limits."""
    verdict = bottleneck_of(shop(users=200))
    assert (verdict.kind, verdict.name) == ("station", "database")
    assert [symptom.resource.name for symptom in limiting(verdict).symptoms] == ["connections"]


def test_with_the_demands_exchanged_the_other_station_limits() -> None:
    verdict = bottleneck_of(shop(users=400, demands_ms={"web": 40.0}))
    assert (verdict.kind, verdict.name) == ("station", "web")


def pools_in_pools(*, outer: int, inner: int, cpu_ms: float = 0.0) -> Model:
    """Return 50 users who take an outer token, then an inner one around a delay of 100 ms."""
    model = Model("nested", time_unit="ms")
    cpu = model.station("cpu", servers=4)
    threads, connections = model.pool("threads", tokens=outer), model.pool("links", tokens=inner)
    request = model.program("request")
    with request.holding(threads):
        request.use(cpu, exponential(1.0))
        with request.holding(connections):
            if cpu_ms:
                request.use(cpu, exponential(cpu_ms))
            request.delay(exponential(100.0))
    model.closed_class("users", request, population=50)
    return model


def test_a_pool_behind_a_pool_limits_where_its_holders_only_let_time_pass() -> None:
    """Four links held for 100 ms allow 40 requests/s; twenty threads could do 200."""
    verdict = bottleneck_of(pools_in_pools(outer=20, inner=4))
    assert (verdict.kind, verdict.name) == ("pool", "links")
    (symptom,) = limiting(verdict).symptoms
    assert (symptom.resource.name, symptom.because) == ("threads", "waits_for_pool")


def test_a_pool_behind_a_pool_limits_where_both_hold_the_same_stations() -> None:
    verdict = bottleneck_of(pools_in_pools(outer=20, inner=4, cpu_ms=5.0))
    assert (verdict.kind, verdict.name) == ("pool", "links")


def test_the_outer_pool_limits_where_nobody_waits_for_the_inner_one() -> None:
    """As many links as threads: a link is always free, and both are used nearly all the time."""
    verdict = bottleneck_of(pools_in_pools(outer=4, inner=4))
    assert (verdict.kind, verdict.name) == ("pool", "threads")
    limit = limiting(verdict)
    assert limit.cause.waiting == pytest.approx(46.0, abs=0.5)
    assert limit.population == 50.0
    assert [(one.kind, one.name) for one in limit.behind] == [("pool", "links")]
    assert limit.behind[0].utilization > 0.9


def locked_disk(*, delay_ms: float) -> Model:
    """Return 50 users who hold a lock around one disk (10 ms) and a short delay."""
    model = Model("lock", time_unit="ms")
    disk, lock = model.station("disk"), model.pool("lock", tokens=1)
    request = model.program("request")
    with request.holding(lock):
        request.use(disk, exponential(10.0))
        request.delay(constant(delay_ms))
    model.closed_class("users", request, population=50)
    return model


def test_a_lock_around_a_disk_limits_because_nobody_queues_at_the_disk() -> None:
    verdict = bottleneck_of(locked_disk(delay_ms=0.5))
    assert (verdict.kind, verdict.name) == ("pool", "lock")
    limit = limiting(verdict)
    assert limit.cause.waiting == pytest.approx(49.0, abs=0.5)
    assert [(one.kind, one.name) for one in limit.behind] == [("station", "disk")]
    assert limit.behind[0].utilization == pytest.approx(10.0 / 10.5, abs=0.01)


def test_a_lock_around_nothing_but_a_disk_limits_together_with_it() -> None:
    verdict = bottleneck_of(locked_disk(delay_ms=0.0))
    (tie,) = limiting(verdict).ties
    assert (tie.kind, tie.name) == ("station", "disk")
    assert tie.utilization == pytest.approx(1.0, abs=0.001)


def test_two_stations_of_equal_demand_are_a_tie() -> None:
    model = Model("tie", time_unit="ms")
    request = model.program("request")
    for name in ("left", "right"):
        request.use(model.station(name), exponential(10.0))
    model.closed_class("users", request, population=60)
    verdict = bottleneck_of(model)
    assert verdict.kind == "station"
    assert {verdict.name, *(tie.name for tie in limiting(verdict).ties)} == {"left", "right"}


def test_a_growing_queue_is_named_where_the_servers_are_not_known() -> None:
    """A system measured from outside has no utilization, yet a queue that only grows shows.

    One server of 1 s is offered 2 jobs/s; the table does not say that there is one.
    """
    random = np.random.default_rng(3)
    runs = []
    for _ in range(5):
        visits = queue(random.exponential(0.5, 4000), random.exponential(1.0, 4000))
        times_s = np.linspace(0.0, 2000.0, 41)[1:]
        runs.append(station_run({"device": visits}, times_s, capacity={"device": np.inf}))
    cut = choose_cut(WarmUp(), runs)
    assert cut is not None
    assert not cut.is_steady
    verdict = limit_without_steady_state(runs, Column.MEASURE)
    assert verdict is None
    evidence = with_overload(cut, runs, verdict).evidence
    assert evidence is not None
    assert evidence.overloaded == ("station", "device")


def test_an_overloaded_pool_is_found_in_the_runs_and_named() -> None:
    """Two tokens held for 1 s serve 2 jobs/s, and 4 come: 2 more are there after each second."""
    model = Model("overload", time_unit="s")
    pool = model.pool("licences", tokens=2)
    job = model.program("job")
    with job.holding(pool):
        job.delay(exponential(1.0))
    model.open_class("jobs", job, interarrival=exponential(0.25))
    model.stop(time=2_500)
    summary = analysed(model, seeds=range(5), completions=None)
    assert summary.cut is not None
    assert not summary.cut.is_steady
    assert summary.bottleneck is not None
    assert not limiting(summary.bottleneck).is_steady
    saturation = summary.saturation
    assert saturation is not None
    assert (saturation.kind, saturation.name, saturation.basis) == ("pool", "licences", "runs")
    assert saturation.load == pytest.approx(2.0, rel=0.05)
    assert saturation.growth_per_s == pytest.approx(2.0, rel=0.1)
    assert summary.samples["throughput"].value == pytest.approx(2.0, rel=0.05)


def test_no_interval_of_a_utilization_exceeds_full() -> None:
    verdict = bottleneck_of(shop(users=400))
    assert verdict.utilization_high is not None
    assert verdict.utilization_high <= 1.0


def test_too_few_connections_limit_while_the_database_has_room() -> None:
    """One token held for 8 ms allows 125 pages/s; four database servers could do 500."""
    verdict = bottleneck_of(shop(users=200, connections=1, database_servers=4))
    assert (verdict.kind, verdict.name) == ("pool", "connections")


def test_far_below_the_saturation_point_think_time_limits() -> None:
    verdict = bottleneck_of(shop(users=20))
    assert verdict.kind == "none"
    assert isinstance(verdict.evidence, NotLimited)
    assert verdict.evidence.by == "think_time"


def test_the_knee_of_a_simulated_curve_is_the_saturation_point() -> None:
    """N* = (D + Z) / Dmax = (5 + 8 + 1000) / 8 = 126.6 users, within 10%."""
    levels = list(range(20, 301, 20))
    samples = [
        analysed(shop(users=users, connections=300), seeds=range(5)).samples["throughput"]
        for users in levels
    ]
    curve = curve_of(levels, samples)
    assert curve is not None
    fit = find_knee(curve)
    assert fit.level == pytest.approx(126.6, rel=0.10)
    assert (fit.low or 0.0) <= 126.6 <= (fit.high or 0.0)


def test_a_queue_that_only_grows_reports_only_what_flows() -> None:
    model = Model("overload", time_unit="s")
    cpu = model.station("cpu")
    visit = model.program("visit")
    visit.use(cpu, exponential(1.5))
    model.open_class("visitors", visit, interarrival=exponential(1.0))
    model.stop(time=5_000.0)
    summary = analysed(model, seeds=range(5), completions=None)
    assert summary.saturation is not None
    assert summary.saturation.name == "cpu"
    assert summary.samples["throughput"].value == pytest.approx(1.0 / 1.5, rel=0.05)
    assert not any("response" in name for name in summary.samples)
