"""Bottleneck verdicts: synthetic points with known answers."""

import numpy as np
import pytest

from headroom.analysis.evidence import ClassLoss, Limiting, NotLimited
from headroom.analysis.results import Bottleneck
from headroom.analysis.run.estimates import estimate_of
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.bottleneck import (
    Load,
    find_bottleneck,
    load_of,
    observed_parts,
    own_processors,
)
from headroom.analysis.verdicts.culprits import SATURATED, Behind, Part, find_culprits
from headroom.experiment.protocol.run import ResourceTable
from headroom.experiment.protocol.system import Metric

CLOSED = Load(population=60.0, jobs_mean=55.0, is_open=False)
THINKING = Load(population=60.0, jobs_mean=4.0, is_open=False)
OPEN = Load(population=0.0, jobs_mean=0.0, is_open=True)


def resource(
    kind: str,
    name: str,
    utilization: float,
    *,
    queue_len: float = 0.0,
    capacity: float = 1.0,
    **ratios: float,
) -> Part:
    wide = np.array([utilization - 0.001, utilization, utilization + 0.001])
    estimates = {
        "utilization": estimate_of(Metric(name="utilization", unit="1"), Sample(values=wide)),
        "queue_len_mean": estimate_of(
            Metric(name="queue_len_mean", unit="1"), Sample(values=np.full(3, queue_len))
        ),
    }
    for state, ratio in ratios.items():
        metric = Metric(name=f"{state}_ratio", unit="1")
        estimates[metric.name] = estimate_of(metric, Sample(values=np.full(3, ratio)))
    return Part(
        kind="pool" if kind == "pool" else "station",
        name=name,
        capacity=capacity,
        estimates=estimates,
    )


def limiting(verdict: Bottleneck) -> Limiting:
    assert isinstance(verdict.evidence, Limiting)
    return verdict.evidence


def not_limited(verdict: Bottleneck) -> NotLimited:
    assert isinstance(verdict.evidence, NotLimited)
    return verdict.evidence


def test_a_saturated_station_limits_and_the_evidence_shows_why() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "web", 0.62),
            resource("station", "database", 0.987, queue_len=41.2),
            resource("station", "cache", 0.1),
        ],
        Behind(),
        CLOSED,
    )
    assert verdict is not None
    assert (verdict.limits, verdict.kind, verdict.name) == (True, "station", "database")
    limit = limiting(verdict)
    assert (limit.why, limit.cause.name, limit.cause.waiting) == ("busy", "database", 41.2)
    assert limit.cause.utilization == pytest.approx(0.987)
    assert limit.cause.low is not None
    assert limit.cause.high is not None
    assert limit.cause.low < 0.987 < limit.cause.high
    assert (limit.population, limit.is_awaited, limit.others) == (60.0, True, 2)
    assert limit.next is not None
    assert limit.next.name == "web"
    assert limit.next.utilization == pytest.approx(0.62)


def test_more_jobs_than_the_population_are_not_said_to_be_of_it() -> None:
    """Jobs start others that wait in their place: pages written back, arms of a fork."""
    parts = [resource("station", "disk", 0.99, queue_len=219.0), resource("station", "web", 0.5)]
    verdict = find_bottleneck(parts, Behind(), CLOSED)
    assert verdict is not None
    assert (limiting(verdict).cause.waiting, limiting(verdict).population) == (219.0, None)


def test_a_pool_that_is_used_up_behind_a_saturated_station_is_not_the_cause() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "web", 0.2),
            resource("station", "database", 0.97, queue_len=19.0),
            resource("pool", "connections", 0.998, queue_len=36.0, capacity=20.0),
        ],
        Behind(stations={"connections": ("database",)}),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "database"
    (symptom,) = limiting(verdict).symptoms
    assert (symptom.resource.kind, symptom.resource.name) == ("pool", "connections")
    assert (symptom.because, symptom.resource.waiting) == ("queues", 36.0)


def test_a_pool_with_idle_stations_behind_it_limits() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "database", 0.5),
            resource("pool", "connections", 0.998, queue_len=31.2, capacity=20.0),
        ],
        Behind(stations={"connections": ("database",)}),
        CLOSED,
    )
    assert verdict is not None
    assert (verdict.kind, verdict.name) == ("pool", "connections")
    limit = limiting(verdict)
    assert (limit.why, limit.cause.waiting, limit.population) == ("held", 31.2, 60.0)
    assert limit.inside is not None
    assert (limit.inside.name, limit.inside.is_saturated) == ("database", False)
    assert limit.behind == []


def test_a_pool_that_guards_only_a_delay_limits_too() -> None:
    verdict = find_bottleneck([resource("pool", "licences", 0.95, capacity=3.0)], Behind(), OPEN)
    assert verdict is not None
    assert (limiting(verdict).inside, limiting(verdict).behind) == (None, [])


def test_a_saturated_station_elsewhere_does_not_excuse_a_pool() -> None:
    """The station is not used while the pool is held: the higher utilization decides."""
    verdict = find_bottleneck(
        [resource("station", "batch", 0.93), resource("pool", "connections", 0.99)],
        Behind(stations={"connections": ("database",)}),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "connections"


def test_of_two_nested_pools_the_inner_one_limits() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "web", 0.3),
            resource("station", "database", 0.4),
            resource("pool", "threads", 0.999, queue_len=20.0, capacity=50.0),
            resource("pool", "connections", 0.98, queue_len=44.0, capacity=4.0),
        ],
        Behind(
            stations={"threads": ("web", "database"), "connections": ("database",)},
            pools={"threads": ("connections",)},
        ),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "connections"


@pytest.mark.parametrize(
    ("load", "by", "thinking"),
    [(THINKING, "think_time", 56.0), (OPEN, "arrivals", 0.0), (CLOSED, "population", 5.0)],
)
def test_nothing_limits_while_every_station_has_room(load: Load, by: str, thinking: float) -> None:
    verdict = find_bottleneck([resource("station", "web", 0.41)], Behind(), load)
    assert verdict is not None
    assert (verdict.limits, verdict.kind, verdict.name) == (False, "none", "")
    found = not_limited(verdict)
    assert (found.fullest.kind, found.fullest.name) == ("station", "web")
    assert not found.fullest.is_saturated
    assert (found.by, found.population, found.thinking) == (by, load.population, thinking)
    assert verdict.utilization == pytest.approx(0.41)


@pytest.mark.parametrize(("utilization", "limits"), [(SATURATED - 0.001, False), (SATURATED, True)])
def test_the_border_of_saturation_belongs_to_it(utilization: float, *, limits: bool) -> None:
    verdict = find_bottleneck([resource("station", "web", utilization)], Behind(), OPEN)
    assert verdict is not None
    assert verdict.limits is limits


def test_of_two_saturated_stations_the_busier_one_is_named_and_the_other_mentioned() -> None:
    verdict = find_bottleneck(
        [resource("station", "disk", 0.95), resource("station", "cpu", 0.96)], Behind(), CLOSED
    )
    assert verdict is not None
    assert verdict.name == "cpu"
    follows = limiting(verdict).next
    assert follows is not None
    assert (follows.name, follows.is_saturated) == ("disk", True)
    assert follows.utilization == pytest.approx(0.95)


def test_a_point_without_stations_has_no_verdict() -> None:
    assert find_bottleneck([], Behind(), OPEN) is None


def test_a_station_that_is_held_up_is_a_symptom_of_the_one_that_has_no_place() -> None:
    """The full pool and the taken station are both victims of a press that is not even busy."""
    verdict = find_bottleneck(
        [
            resource("station", "mill", 0.6, blocked=0.38, capacity=4.0),
            resource("station", "press", 0.8, queue_len=0.5),
            resource("pool", "pallets", 1.0, queue_len=30.0, capacity=6.0),
        ],
        Behind(stations={"pallets": ("mill", "press")}, blockers={"mill": ("press",)}),
        CLOSED,
    )
    assert verdict is not None
    assert (verdict.limits, verdict.kind, verdict.name) == (True, "station", "press")
    limit = limiting(verdict)
    assert limit.why == "full_places"
    mill, pallets = sorted(limit.symptoms, key=lambda one: one.resource.name)
    assert (mill.resource.name, mill.because) == ("mill", "no_place")
    assert mill.resource.blocked == pytest.approx(0.38)
    assert mill.resource.utilization == pytest.approx(0.6)
    assert (pallets.resource.name, pallets.because) == ("pallets", "blocked")


def test_a_chain_of_full_stations_is_followed_to_its_end() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "first", 0.3, blocked=0.7),
            resource("station", "second", 0.3, blocked=0.65),
            resource("station", "third", 0.85),
        ],
        Behind(blockers={"first": ("second",), "second": ("third",)}),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "third"
    symptoms = {symptom.resource.name: symptom.because for symptom in limiting(verdict).symptoms}
    assert symptoms["first"] == "no_place"


def test_stations_that_hold_up_each_other_are_a_circle_with_an_end() -> None:
    verdict = find_bottleneck(
        [
            resource("station", "left", 0.5, blocked=0.5),
            resource("station", "right", 0.6, blocked=0.4),
        ],
        Behind(blockers={"left": ("right",), "right": ("left",)}),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "right"


def test_chains_among_parts_that_all_wait_for_all_are_followed_to_an_end() -> None:
    """Each of 24 nested pools guards all that are further in: 2^22 chains lead to the last."""
    names = [f"pool {number}" for number in range(24)]
    inner = {name: tuple(names[place + 1 :]) for place, name in enumerate(names)}
    parts = [resource("pool", name, 1.0, queue_len=1.0) for name in names]
    found = find_culprits(parts, Behind(pools=inner))
    assert [cause.name for cause in found.causes] == names[-1:]


def test_a_station_that_works_all_the_time_limits_although_it_is_held_up_at_times() -> None:
    verdict = find_bottleneck(
        [resource("station", "mill", 0.93, blocked=0.05), resource("station", "press", 0.5)],
        Behind(blockers={"mill": ("press",)}),
        CLOSED,
    )
    assert verdict is not None
    assert verdict.name == "mill"


def test_where_a_station_is_broken_the_time_that_it_is_down_limits() -> None:
    """Of the time up it is busy for 98.5%: the other 0.66 of all time are hardly any more."""
    verdict = find_bottleneck([resource("station", "web", 0.985, down=0.33)], Behind(), CLOSED)
    assert verdict is not None
    assert verdict.limits
    limit = limiting(verdict)
    assert (limit.why, limit.cause.name, limit.cause.down) == ("down", "web", 0.33)
    assert limit.cause.utilization == pytest.approx(0.985)


def test_what_is_busy_while_it_is_up_does_not_limit_if_it_is_up_for_most_of_the_time() -> None:
    """Busy for 80% of the 90% that it is up, and down for 10%, 18% of its time are left."""
    verdict = find_bottleneck([resource("station", "web", 0.8, down=0.1)], Behind(), CLOSED)
    assert verdict is not None
    assert not verdict.limits
    assert not_limited(verdict).fullest.down == pytest.approx(0.1)


def test_load_that_is_turned_away_is_told_beside_any_verdict() -> None:
    parts = [resource("station", "web", 0.5), resource("station", "cache", 0.2, reject=0.12)]
    verdict = find_bottleneck(parts, Behind(), OPEN)
    assert verdict is not None
    assert not verdict.limits
    found = not_limited(verdict)
    assert found.by == "accepted_arrivals"
    (overflow,) = found.overflows
    assert (overflow.resource.name, overflow.rejected, overflow.harmless) == ("cache", 0.12, "")
    busy = find_bottleneck([resource("station", "web", 0.99), parts[1]], Behind(), OPEN)
    assert busy is not None
    assert busy.name == "web"
    assert limiting(busy).overflows == [overflow]


def test_the_load_tells_closed_from_open_classes() -> None:
    classes = ResourceTable(
        kind="class",
        names=("users", "visitors"),
        capacity=np.array([30.0, np.inf]),
        columns={},
    )
    load = load_of(classes, {"class.users.jobs_mean": 12.0, "class.visitors.jobs_mean": 5.0})
    assert load == Load(population=30.0, jobs_mean=12.0, is_open=True, all_jobs_mean=17.0)
    assert load_of(None, {}) == Load(population=0.0, jobs_mean=0.0, is_open=False)


def test_the_evidence_says_which_part_of_the_response_time_is_the_wait_at_the_limit() -> None:
    """By Little's law: 9 of the 12 jobs in the system wait there, so 75% of the time is that."""
    measured = {"utilization": 0.99, "queue_len_mean": 9.0}
    cpu = Part(
        kind="station",
        name="cpu",
        capacity=1.0,
        estimates={
            name: estimate_of(Metric(name=name, unit="1"), Sample(values=np.array([value, value])))
            for name, value in measured.items()
        },
    )
    load = Load(population=20.0, jobs_mean=12.0, is_open=False, all_jobs_mean=12.0)
    verdict = find_bottleneck([cpu], Behind(), load)
    assert verdict is not None
    assert verdict.wait_share == pytest.approx(0.75)


LOSSLESS = Load(
    population=60.0, jobs_mean=4.0, is_open=False, lost={"a": 0.0}, failed_tries={"a": 0.0}
)
LOSSY = Load(
    population=60.0, jobs_mean=4.0, is_open=False, lost={"a": 0.0}, failed_tries={"a": 0.3}
)
FULL_LOG = resource("station", "log", 0.99, queue_len=1.9, reject=0.9)


@pytest.mark.parametrize(
    ("behind", "load", "useless", "why"),
    [
        (Behind(unawaited={"station": ("log",)}), LOSSY, (), "unawaited"),
        (Behind(), LOSSLESS, (), "no_failures"),
        (Behind(), LOSSY, ("log",), "no_gain"),
    ],
    ids=["background", "nothing lost", "tried"],
)
def test_a_station_that_turns_away_without_harm_does_not_limit_however_full(
    behind: Behind, load: Load, useless: tuple[str, ...], why: str
) -> None:
    parts = [FULL_LOG, resource("station", "web", 0.4)]
    verdict = find_bottleneck(parts, behind, load, useless)
    assert verdict is not None
    assert not verdict.limits
    found = not_limited(verdict)
    assert found.fullest.name == "web"
    assert found.fullest.utilization == pytest.approx(0.4)
    (overflow,) = found.overflows
    assert (overflow.resource.name, overflow.rejected, overflow.harmless) == ("log", 0.9, why)
    assert overflow.resource.utilization == pytest.approx(0.99)
    busy = find_bottleneck([FULL_LOG, resource("station", "web", 0.95)], behind, load, useless)
    assert busy is not None
    assert busy.name == "web", "the full log is busier, and yet it is not the limit"


def test_a_station_that_turns_away_limits_where_jobs_are_lost_by_it() -> None:
    verdict = find_bottleneck([FULL_LOG, resource("station", "web", 0.4)], Behind(), LOSSY)
    assert verdict is not None
    assert (verdict.limits, verdict.name) == (True, "log")


def test_a_station_that_turns_away_without_harm_still_limits_the_holders_of_a_pool() -> None:
    """Background work holds tokens that jobs want, and queues at the station that rejects."""
    verdict = find_bottleneck(
        [FULL_LOG, resource("pool", "buffers", 1.0, queue_len=12.0, capacity=4.0)],
        Behind(stations={"buffers": ("log",)}, unawaited={"station": ("log",)}),
        LOSSLESS,
    )
    assert verdict is not None
    assert (verdict.limits, verdict.name) == (True, "log")
    assert [symptom.resource.name for symptom in limiting(verdict).symptoms] == ["buffers"]


def test_where_all_that_is_full_turns_away_without_harm_nothing_limits() -> None:
    verdict = find_bottleneck([FULL_LOG], Behind(), LOSSLESS)
    assert verdict is not None
    assert not verdict.limits
    assert not_limited(verdict).fullest.is_saturated


def test_background_work_that_must_be_done_limits_but_is_in_no_response_time() -> None:
    """By the utilization law: what is not rejected has to be served, awaited or not."""
    log = resource("station", "log", 0.97, queue_len=30.0)
    load = Load(population=0.0, jobs_mean=0.0, is_open=True, all_jobs_mean=40.0)
    verdict = find_bottleneck([log], Behind(unawaited={"station": ("log",)}), load)
    assert verdict is not None
    assert (verdict.limits, verdict.name, verdict.wait_share) == (True, "log", None)
    limit = limiting(verdict)
    assert (limit.cause.waiting, limit.is_awaited) == (30.0, False)


def test_the_load_counts_lost_jobs_and_failed_tries_of_all_classes() -> None:
    classes = ResourceTable(kind="class", names=("a", "b"), capacity=np.full(2, np.inf), columns={})
    values = {"class.a.lost_ratio": 0.25, "class.b.failed_tries_mean": 2.0}
    load = load_of(classes, values)
    assert (load.lost, load.failed_tries, load.has_failures) == ({"a": 0.25}, {"b": 2.0}, True)
    assert load_of(classes, {}).has_failures is None


def test_the_evidence_says_what_is_lost_and_which_tries_fail() -> None:
    load = Load(
        population=0.0,
        jobs_mean=0.0,
        is_open=True,
        lost={"a": 0.25, "b": 0.0},
        failed_tries={"a": 0.0, "b": 2.04},
    )
    verdict = find_bottleneck([resource("station", "web", 0.4)], Behind(), load)
    assert verdict is not None
    found = not_limited(verdict)
    assert found.by == "failing_arrivals"
    assert found.losses == [ClassLoss(name="a", lost=0.25), ClassLoss(name="b", failed_tries=2.04)]


def test_the_evidence_says_for_whom_a_shared_station_works() -> None:
    classes = ResourceTable(kind="class", names=("users", "scrub"), capacity=np.full(2, 9.0),
                            columns={})  # fmt: skip
    values = {
        "class.users.jobs_mean": 0.8,
        "class.users.station.disk.service_share": 0.5,
        "class.scrub.jobs_mean": 2.0,
        "class.scrub.station.disk.service_share": 0.3,
    }
    load = load_of(classes, values)
    verdict = find_bottleneck([resource("station", "disk", 1.0)], Behind(), load)
    assert verdict is not None
    assert [(class_.name, round(class_.share, 9)) for class_ in limiting(verdict).classes] == [
        ("scrub", 0.6),
        ("users", 0.4),
    ]
    wide = find_bottleneck([resource("station", "disk", 1.0, capacity=2.0)], Behind(), load)
    assert wide is not None
    assert limiting(wide).classes == [], "half of its work is unexplained"


@pytest.mark.parametrize("share", [0.3, 0.97])
def test_by_the_utilization_law_the_busiest_observed_resource_limits_a_measured_point(
    share: float,
) -> None:
    samples = {
        "machine.cpu.utilization": Sample(values=np.full(6, 0.2)),
        "program.busiest_thread.utilization": Sample(values=np.full(6, share)),
    }
    parts = observed_parts(
        {"machine.cpu": 2.0, "program.busiest_thread": 1.0, "absent.cpu": 1.0}, samples
    )
    observed = Load(population=0.0, jobs_mean=0.0, is_open=False, is_observed=True)
    verdict = find_bottleneck(parts, Behind(), observed)
    assert verdict is not None
    assert verdict.utilization == pytest.approx(share)
    if share < SATURATED:
        assert (not_limited(verdict).by, verdict.name) == ("observed", "")
        assert not_limited(verdict).fullest.name == "program.busiest_thread"
    else:
        assert verdict.name == "program.busiest_thread"


OBSERVED = {
    "machine.cpu": 2.0, "program.busiest_thread": 1.0,
    "service.db.busiest_thread": 1.0, "service.db.cpu": 0.5,
}  # fmt: skip


def observed_verdict(quota: float | None = None, **shares: float) -> Bottleneck:
    """Return the verdict of a measured point with these metrics; `__` is a full stop."""
    samples = {
        name.replace("__", "."): Sample(values=np.full(6, share)) for name, share in shares.items()
    }
    observed = {name: one for name, one in OBSERVED.items() if name != "service.db.cpu" or quota}
    own = own_processors(observed, samples)
    load = Load(population=0.0, jobs_mean=0.0, is_open=False, is_observed=True,
                neighbours=own.others / own.count if own else None)  # fmt: skip
    verdict = find_bottleneck(observed_parts(observed, samples), Behind(), load)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("busy", [0.93, 1.0])
def test_neighbours_that_fill_the_machine_do_not_limit_a_server_that_sleeps(busy: float) -> None:
    """A pool of connections that uses 2% of two full processors."""
    verdict = observed_verdict(
        machine__cpu__utilization=busy, program__cpu__utilization=0.01,
        service__db__cpu__utilization=0.02, program__cpu__crowd_mean=0.0,
        service__db__cpu__crowd_mean=0.1, service__db__busiest_thread__utilization=0.02,
    )  # fmt: skip
    assert not verdict.limits
    assert not_limited(verdict).fullest.name == "service.db.busiest_thread"
    assert not_limited(verdict).neighbours == pytest.approx(busy - 0.03)


def test_processors_that_a_server_shares_with_neighbours_limit_it_where_its_threads_wait() -> None:
    verdict = observed_verdict(
        machine__cpu__utilization=1.0, program__cpu__utilization=0.05,
        service__db__cpu__utilization=0.45, program__cpu__crowd_mean=0.0,
        service__db__cpu__crowd_mean=12.0, service__db__busiest_thread__runnable_share=1.0,
        service__db__busiest_thread__utilization=0.06,
    )  # fmt: skip
    assert verdict.name == "machine.cpu"
    assert limiting(verdict).neighbours == pytest.approx(0.5)


@pytest.mark.parametrize("group", ["program", "service.db"])
def test_a_thread_that_neighbours_keep_waiting_is_as_good_as_busy(group: str) -> None:
    other = {"program": "service.db", "service.db": "program"}[group]
    shares = {
        "machine.cpu.utilization": 1.0,
        f"{group}.cpu.utilization": 0.25, f"{group}.cpu.crowd_mean": 0.0,
        f"{other}.cpu.utilization": 0.05, f"{other}.cpu.crowd_mean": 0.0,
        f"{group}.busiest_thread.utilization": 0.5, f"{other}.busiest_thread.utilization": 0.1,
        f"{group}.busiest_thread.runnable_share": 0.98,
        f"{other}.busiest_thread.runnable_share": 0.2,
    }  # fmt: skip
    verdict = observed_verdict(**{name.replace(".", "__"): one for name, one in shares.items()})
    assert verdict.name == f"{group}.busiest_thread"


def test_a_quota_limits_beside_neighbours_that_fill_the_machine() -> None:
    verdict = observed_verdict(
        quota=0.5, machine__cpu__utilization=1.0, program__cpu__utilization=0.02,
        service__db__cpu__utilization=0.98, program__cpu__crowd_mean=0.0,
        service__db__cpu__crowd_mean=0.4, service__db__busiest_thread__utilization=0.1,
    )  # fmt: skip
    assert verdict.name == "service.db.cpu"
    assert limiting(verdict).neighbours == pytest.approx(0.735)
