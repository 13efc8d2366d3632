"""Reading JMT files: each becomes the model that its author means, or a message."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headroom.jmt import read_jsimg
from headroom.simulation import (
    Model,
    SimulationError,
    constant,
    expected_visits,
    exponential,
    mixture,
    mmpp,
    simulate,
)
from tests.support import jmt_files as jmt

ONE = jmt.exponential(1)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Model]:
    def reading(*parts: str, **more: str) -> Model:
        path = tmp_path / "model.jsimg"
        path.write_text(jmt.archive(*parts, **more), encoding="latin-1")
        return read_jsimg(path)

    return reading


def data(model: Model) -> Mapping[str, Any]:
    """Return a model as data without what only names it or says how long it runs."""
    found = dict(model.to_data())
    del found["name"], found["stop"]
    return found


def built() -> Model:
    return Model("model.jsimg", time_unit="s")


def test_a_file_of_one_server_is_an_mm1(read: Callable[..., Model]) -> None:
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", {"jobs": jmt.exponential(0.5)}),
        jmt.queue("server", {"jobs": jmt.exponential(2)}),
        jmt.sink(),
        ways="Source > server > Sink",
    )
    model = built()
    program = model.program("jobs")
    program.use(model.station("server"), exponential(0.5))
    model.open_class("jobs", program, interarrival=exponential(2))
    assert data(found) == data(model)


def test_a_delay_that_classes_refer_to_is_think_time(read: Callable[..., Model]) -> None:
    found = read(
        jmt.closed("users", 20, "Users"),
        jmt.delay("Users", {"users": jmt.law("DeterministicDistr", t=4)}),
        jmt.queue("cpu", {"users": jmt.exponential(10)}, servers=2,
                  users=jmt.probabilities(disk=0.5, Users=0.5)),
        jmt.queue("disk", {"users": jmt.exponential(5)}),
        ways="Users > cpu > disk > cpu, cpu > Users",
    )  # fmt: skip
    model = built()
    cpu, disk = model.station("cpu", servers=2), model.station("disk")
    program = model.program("users")
    with program.network() as net:
        with net.node("cpu", to={"disk": 0.5, net.leave: 0.5}):
            program.use(cpu, exponential(0.1))
        with net.node("disk", to="cpu"):
            program.use(disk, exponential(0.2))
    model.closed_class("users", program, population=20, think=constant(4))
    assert data(found) == data(model)


def test_a_queue_that_classes_refer_to_begins_and_ends_their_walk(
    read: Callable[..., Model],
) -> None:
    found = read(
        jmt.closed("jobs", 8, "cpu"),
        jmt.queue("cpu", {"jobs": jmt.exponential(10)}),
        jmt.queue("disk", {"jobs": jmt.exponential(5)}),
        ways="cpu > disk > cpu",
    )
    model = built()
    program = model.program("jobs")
    program.use(model.station("cpu"), exponential(0.1))
    program.use(model.station("disk"), exponential(0.2))
    model.closed_class("jobs", program, population=8, start="ready")
    assert data(found) == data(model)


@pytest.mark.parametrize(
    ("server", "put", "discipline"),
    [
        ("Server", "TailStrategy", "fcfs"),
        ("Server", "HeadStrategy", "lcfs"),
        ("Server", "RandStrategy", "random"),
        ("Server", "TailStrategyPriority", "priority"),
    ],
)
def test_each_queue_strategy_is_a_discipline(
    server: str, put: str, discipline: str, read: Callable[..., Model]
) -> None:
    found = read(
        jmt.closed("jobs", 3, "cpu"),
        jmt.queue("cpu", {"jobs": ONE}, server=server, put=put),
        ways="cpu > cpu",
    )
    assert found.stations["cpu"].discipline == discipline


@pytest.mark.parametrize(
    ("kind", "discipline"),
    [("FCFSPRStrategyPriority", "priority_preempt"), ("LCFSPRStrategy", "lcfs_preempt")],
)
def test_preemptive_servers_are_read(
    kind: str, discipline: str, read: Callable[..., Model]
) -> None:
    strategies = {"jobs": jmt.sub(f"{jmt.NET}.QueuePutStrategies.{kind}")}
    extra = jmt.by_class("PreemptiveStrategy", f"{jmt.NET}.QueuePutStrategy", strategies)
    found = read(
        jmt.closed("jobs", 3, "cpu"),
        jmt.queue("cpu", {"jobs": ONE}, server="PreemptiveServer", put=kind, extra=extra),
        ways="cpu > cpu",
    )
    assert found.stations["cpu"].discipline == discipline


@pytest.mark.parametrize(
    ("weights", "is_equal"),
    [({}, True), ({"a": 1}, True), ({"a": 2, "b": 2}, True), ({"a": 2}, False)],
)
def test_servers_shared_by_weights_that_are_equal_are_shared_fairly(
    weights: Mapping[str, int], read: Callable[..., Model], *, is_equal: bool
) -> None:
    """A class without a weight has 1."""
    laws = {"a": ONE, "b": ONE}
    shares = {one: jmt.sub(f"{jmt.NET}.PSStrategies.DPSStrategy") for one in laws}
    parts = {one: jmt.sub("java.lang.Double", value=weight) for one, weight in weights.items()}
    extra = jmt.by_class("PSStrategy", f"{jmt.NET}.PSStrategy", shares)
    extra += jmt.by_class("serviceWeights", "java.lang.Double", parts)
    with nullcontext() if is_equal else pytest.raises(SimulationError, match="DPSStrategy"):
        found = read(
            jmt.closed("a", 3, "cpu"),
            jmt.closed("b", 3, "cpu"),
            jmt.queue("cpu", laws, server="PSServer", extra=extra),
            ways="cpu > cpu",
        )
        assert found.stations["cpu"].discipline == "ps"


def test_the_larger_priority_of_jmt_is_the_more_urgent_here(read: Callable[..., Model]) -> None:
    found = read(
        jmt.opened("slow", priority=0),
        jmt.opened("urgent", priority=3),
        jmt.source("Source", {"slow": jmt.exponential(0.4), "urgent": jmt.exponential(0.4)}),
        jmt.queue("cpu", {"slow": ONE, "urgent": ONE}, put="TailStrategyPriority"),
        jmt.sink(),
        ways="Source > cpu > Sink",
    )
    visits = simulate(found, seed=1, completions=20_000).visits
    waits = dict(zip(visits.names, visits.columns["wait_s_sum"][-1], strict=True))
    # M/M/1 with priorities (Cobham 1954): 0.8 / (1 - 0.4) and 0.8 / (1 - 0.4) / (1 - 0.8).
    assert waits["cpu.class.urgent"] * 3 < waits["cpu.class.slow"]


@pytest.mark.parametrize(
    ("rule", "when_full", "limit"),
    [("drop", "reject", None), ("BAS blocking", "block", None), ("waiting queue", "block", 5)],
)
def test_finite_room_is_a_buffer_beside_the_servers(
    rule: str, when_full: str, limit: int | None, read: Callable[..., Model]
) -> None:
    laws = {"jobs": ONE}
    shares = {"jobs": jmt.sub(f"{jmt.NET}.PSStrategies.EPSStrategy")}
    extra = jmt.by_class("PSStrategy", f"{jmt.NET}.PSStrategy", shares)
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", laws),
        jmt.queue("cpu", laws, servers=2, size=5, rule=rule, server="PSServer", extra=extra),
        jmt.sink(),
        ways="Source > cpu > Sink",
    ).stations["cpu"]
    assert found.buffer == (3 if limit is None else None)
    assert (found.when_full, found.limit) == (when_full, limit)


def test_two_stations_that_block_pass_two_thirds_of_what_they_could(
    read: Callable[..., Model],
) -> None:
    found = read(
        jmt.closed("parts", 20, "first"),
        jmt.queue("first", {"parts": ONE}),
        jmt.queue("second", {"parts": ONE}, size=1, rule="BAS blocking"),
        ways="first > second > first",
    )
    result = simulate(found, seed=1, completions=40_000)
    rate = result.classes.columns["completion_count"][-1][0] / result.snapshot_times_s[-1]
    # Saturated exponential stations without a place between (Buzacott & Shanthikumar 1993).
    assert rate == pytest.approx(2 / 3, rel=0.02)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("RoundRobinStrategy", "round_robin"),
        ("ShortestQueueLengthRoutingStrategy", "shortest_queue"),
        ("PowerOfKRoutingStrategy", "two_choices"),
    ],
)
def test_each_routing_strategy_is_a_policy(
    name: str, policy: str, read: Callable[..., Model]
) -> None:
    laws = {"jobs": ONE}
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", {"jobs": jmt.exponential(2)}, jobs=jmt.strategy(name)),
        *(jmt.queue(one, laws) for one in "abc"),
        jmt.sink(),
        ways="Source > a > Sink, Source > b > Sink, Source > c > Sink",
    )
    model = built()
    stations = {one: model.station(one) for one in "abc"}
    program = model.program("jobs")
    with program.network() as net:
        by_queue = policy != "round_robin"
        with net.node("leave Source", to=stations if by_queue else list("abc"), policy=policy):  # type: ignore[arg-type]
            pass
        for one, station in stations.items():
            with net.node(one, to=net.leave):
                program.use(station, exponential(1))
    model.open_class("jobs", program, interarrival=exponential(0.5))
    assert data(found) == data(model)


def test_the_fastest_service_is_that_of_the_least_mean(read: Callable[..., Model]) -> None:
    fast, slow = {"jobs": jmt.exponential(4)}, {"jobs": ONE}
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", slow, jobs=jmt.strategy("FastestServiceRoutingStrategy")),
        jmt.queue("a", slow),
        jmt.queue("b", fast),
        jmt.sink(),
        ways="Source > a > Sink, Source > b > Sink",
    )
    assert expected_visits(found).demands["jobs"] == pytest.approx({"b": 0.25})


def test_a_fork_sends_a_job_along_each_link_to_its_join(read: Callable[..., Model]) -> None:
    laws = {"jobs": ONE}
    partial = jmt.sub(
        f"{jmt.NET}.JoinStrategies.PartialJoin",
        jmt.sub("java.lang.Integer", name="numRequired", value=3),
    )
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", {"jobs": jmt.exponential(0.1)}),
        jmt.fork("Fork", ["jobs"], per_link=2),
        jmt.queue("a", laws),
        jmt.queue("b", laws),
        jmt.join("Join", jobs=partial),
        jmt.sink(),
        ways="Source > Fork > a > Join > Sink, Fork > b > Join",
    )
    model = built()
    a, b, program = model.station("a"), model.station("b"), model.program("jobs")
    with program.fork(quorum=3) as fork:
        for station in (a, a, b, b):
            with fork.arm():
                program.use(station, exponential(1))
    model.open_class("jobs", program, interarrival=exponential(10))
    assert data(found) == data(model)


def test_a_class_switch_leads_to_the_services_of_the_new_class(
    read: Callable[..., Model],
) -> None:
    found = read(
        jmt.closed("new", 4, "Users"),
        jmt.closed("old", 0, "Users"),
        jmt.delay("Users", {"new": ONE, "old": ONE}),
        jmt.queue("cpu", {"new": jmt.exponential(2), "old": jmt.exponential(8)}),
        jmt.switch("Switch", {"new": {"old": 1, "new": 0}, "old": {"old": 0.5, "new": 0.5}}),
        ways="Users > cpu > Switch > Users",
    )
    # A job is at the cpu once as new, then as old until half of the switches make it new again.
    demands = expected_visits(found).demands["new"]
    assert demands == pytest.approx({"cpu": 0.5 + 2 * 0.125, "Users": 2.0})


def test_a_region_is_a_pool_around_its_stations(read: Callable[..., Model]) -> None:
    region = (
        '<blockingRegion name="threads" type="default"><regionNode nodeName="cpu"/>'
        '<regionNode nodeName="disk"/><globalConstraint maxJobs="3"/>'
        '<dropRules jobClass="users" dropThisClass="false"/></blockingRegion>'
    )
    laws = {"users": ONE}
    found = read(
        jmt.closed("users", 9, "Users"),
        jmt.delay("Users", laws),
        jmt.queue("cpu", laws),
        jmt.queue("disk", laws),
        ways="Users > cpu > disk > Users",
        after=region,
    )
    model = built()
    cpu, disk = model.station("cpu"), model.station("disk")
    threads, program = model.pool("threads", tokens=3), model.program("users")
    program.acquire(threads)
    program.use(cpu, exponential(1))
    program.use(disk, exponential(1))
    program.release(threads)
    model.closed_class("users", program, population=9, think=exponential(1))
    assert data(found) == data(model)


def test_a_dropping_region_around_a_station_is_its_room(read: Callable[..., Model]) -> None:
    region = (
        '<blockingRegion name="room" type="default"><regionNode nodeName="cpu"/>'
        '<globalConstraint maxJobs="-1"/><classConstraint jobClass="jobs" maxJobsPerClass="11"/>'
        '<dropRules jobClass="jobs" dropThisClass="true"/></blockingRegion>'
    )
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", {"jobs": ONE}),
        jmt.queue("cpu", {"jobs": ONE}),
        jmt.sink(),
        ways="Source > cpu > Sink",
        after=region,
    )
    assert (found.stations["cpu"].buffer, found.stations["cpu"].when_full) == (10, "reject")


def test_what_can_never_happen_is_nothing(read: Callable[..., Model]) -> None:
    """Three jobs fill no region of three, nor a queue of four; nobody tries again by "drop"."""
    region = (
        '<blockingRegion name="room" type="default"><regionNode nodeName="cpu"/>'
        '<regionNode nodeName="disk"/><globalConstraint maxJobs="3"/>'
        '<dropRules jobClass="jobs" dropThisClass="true"/></blockingRegion>'
    )
    tried = jmt.by_class("retrialDistributions", f"{jmt.NET}.ServiceStrategy", {})
    full = jmt.queue("cpu", {"jobs": ONE}, size=4)
    retrying = full.replace("</section>", f"{tried}</section>", 1)
    assert retrying != full
    found = read(
        jmt.closed("jobs", 3, "cpu"),
        retrying,
        jmt.queue("disk", {"jobs": ONE}),
        ways="cpu > disk > cpu",
        after=region,
    )
    assert not found.pools
    assert simulate(found, seed=1, completions=2000).classes.columns["lost_count"][-1].sum() == 0


def test_bursty_arrivals_and_the_longest_simulated_time_are_read(
    read: Callable[..., Model],
) -> None:
    burst = jmt.law("MMPP2Distr", "MMPP2Par", lambda0=2, lambda1=0.5, sigma0=0.1, sigma1=0.2)
    found = read(
        jmt.opened("jobs"),
        jmt.source("Source", {"jobs": burst}),
        jmt.queue("cpu", {"jobs": jmt.exponential(4)}),
        jmt.sink(),
        ways="Source > cpu > Sink",
        attributes='maxSimulated="5000.0"',
    )
    process = mmpp(rates=[2, 0.5], switch_rates=[[0, 0.1], [0.2, 0]])
    assert found.classes["jobs"].process == process
    assert found.stop_time == 5000


def test_jobs_that_are_loaded_before_the_start_are_placed(read: Callable[..., Model]) -> None:
    preload = (
        '<preload><stationPopulations stationName="cpu">'
        '<classPopulation refClass="users" population="3"/></stationPopulations>'
        '<stationPopulations stationName="Users">'
        '<classPopulation refClass="users" population="2"/></stationPopulations></preload>'
    )
    found = read(
        jmt.closed("users", 5, "Users"),
        jmt.delay("Users", {"users": ONE}),
        jmt.queue("cpu", {"users": ONE}),
        ways="Users > cpu > Users",
        after=preload,
    )
    assert found.classes["users"].placed == (("cpu", 3),)


def test_a_replayed_file_is_read_from_beside_the_model(
    read: Callable[..., Model], tmp_path: Path
) -> None:
    (tmp_path / "times.txt").write_text("1 2\n3\n")
    inner = jmt.sub("java.lang.String", name="fileName", value="times.txt")
    replayed = jmt.sub(
        f"{jmt.NET}.ServiceStrategies.ServiceTimeStrategy",
        jmt.sub("jmt.engine.random.Replayer") + jmt.sub("jmt.engine.random.ReplayerPar", inner),
    )
    found = read(
        jmt.closed("jobs", 1, "cpu"), jmt.queue("cpu", {"jobs": replayed}), ways="cpu > cpu"
    )
    assert expected_visits(found).demands["jobs"] == {"cpu": 2.0}


def test_hyperexponential_laws_keep_their_branches(read: Callable[..., Model]) -> None:
    law = jmt.law("HyperExp", "HyperExpPar", p=0.25, lambda1=1, lambda2=2)
    found = read(jmt.closed("jobs", 1, "cpu"), jmt.queue("cpu", {"jobs": law}), ways="cpu > cpu")
    (step,) = found.programs["jobs"].steps
    assert step.amounts["service"] == mixture([exponential(1), exponential(0.5)], [0.25, 0.75])


def test_messages_of_the_builder_name_the_line_of_the_file(read: Callable[..., Model]) -> None:
    preload = (
        '<preload><stationPopulations stationName="cpu">'
        '<classPopulation refClass="jobs" population="3"/></stationPopulations></preload>'
    )
    with pytest.raises(SimulationError, match=r"model\.jsimg:4: class 'jobs' places 3") as caught:
        read(
            jmt.closed("jobs", 2, "cpu"),
            jmt.queue("cpu", {"jobs": ONE}),
            ways="cpu > cpu",
            after=preload,
        )
    assert ".py:" not in caught.value.message
