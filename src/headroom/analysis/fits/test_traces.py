"""Limits of servers whose truth is known: what the formulas say that each of them leaves."""

from dataclasses import replace

import pytest

from headroom.analysis.fits.loads import repairman
from headroom.analysis.fits.traces import Inside, Traces, Unhurried, judge
from headroom.analysis.run.own_processors import Processors

CLIENTS = 16
WORK_S = 0.3e-3


def held(places: int, hold_s: float) -> Traces:
    """Return the traces of a part that `places` operations hold without a processor."""
    rate = repairman(CLIENTS, 0.0, hold_s, places)
    return Traces(
        rate=rate,
        clients=CLIENTS,
        processors=machine(own=rate * WORK_S),
        server=0.1,
        program=0.1,
        waits=2.5,
        inside=Inside(response_s=hold_s + WORK_S, cpu_s=WORK_S),
    )


def machine(*, own: float, others: float = 0.0, crowd: float = 0.1) -> Processors:
    """Return two processors that some use."""
    return Processors(count=2.0, busy=min(own + others, 2.0), own=own, crowd=crowd)


@pytest.mark.parametrize(("places", "limit"), [(1, "lock"), (2, "pool"), (4, "pool"), (7, "pool")])
@pytest.mark.parametrize("neighbours", [0.0, 1.9])
def test_places_follow_from_littles_law_and_the_time_that_takes_no_processor(
    places: int, limit: str, neighbours: float
) -> None:
    """Neighbours that fill the machine make no processor the limit of threads that sleep."""
    seen = held(places, 4e-3)
    own = seen.rate * WORK_S
    judged = judge(replace(seen, processors=machine(own=own, others=neighbours)))
    assert judged.limit == limit
    assert places in range(judged.places[0], judged.places[1] + 1)
    assert {"processors", "disk", "thread", "client"} <= {one.name for one in judged.refuted}


def test_without_low_load_lock_and_pool_are_not_told_apart() -> None:
    judged = judge(replace(held(4, 4e-3), inside=None))
    assert (judged.limit, judged.places) == ("unknown", (1, CLIENTS))
    assert judge(replace(held(1, 4e-3), inside=None, rows=14.0)).limit == "lock", "PostgreSQL says"


def test_processors_that_neighbours_share_limit_threads_that_wait_for_them() -> None:
    """A hog of 0.8 ms that neighbours leave one of two processors: 15 of 16 threads wait."""
    hog = Traces(
        rate=repairman(CLIENTS, 0.0, 0.8e-3, 1), clients=CLIENTS, server=0.95, program=0.1,
        processors=machine(own=1.0, others=1.0, crowd=15.0), waits=0.6,
        inside=Inside(response_s=0.9e-3, cpu_s=0.9e-3),
    )  # fmt: skip
    assert judge(hog).left == [("processors", 1)]
    idle = judge(replace(hog, processors=machine(own=1.0, crowd=0.0), server=0.5))
    assert ("processors", "idle", 0.5) in [(o.name, o.because, o.value) for o in idle.refuted]


def test_a_quota_that_throttles_limits_and_one_that_does_not_is_refuted() -> None:
    seen = Traces(
        rate=600.0, clients=CLIENTS, processors=machine(own=0.5, others=1.5, crowd=12.0),
        quota=0.98, throttled=0.4, server=0.9, program=0.1,
    )  # fmt: skip
    assert judge(seen).left == [("quota", 1)]
    free = judge(replace(seen, throttled=0.0, quota=0.85))
    assert free.limit == "processors", "neighbours took what the quota would have allowed"
    assert free.refuted[0].because == "not_throttled"


@pytest.mark.parametrize("throttled", [None, 0.02, 0.3])
def test_a_quota_limits_only_if_it_is_used_up(throttled: float | None) -> None:
    """Without counters of periods, use alone decides; other limits come next if some is left."""
    lock = replace(held(1, 4e-3), throttled=throttled)
    below = judge(replace(lock, quota=0.6))
    assert below.limit == "lock"
    assert ("quota", "quota_free", 0.6) in [(o.name, o.because, o.value) for o in below.refuted]
    full = judge(replace(lock, quota=0.9))
    assert full.limit == ("lock" if throttled == 0.02 else "quota")


def test_one_thread_that_always_works_is_the_limit() -> None:
    seen = replace(held(1, 0.5e-3), processors=machine(own=1.2), inside=None)
    assert judge(replace(seen, server=0.97)).left == [("thread", 1)]
    assert judge(replace(seen, program=0.97)).left == [("client", 1)]


def test_a_server_and_a_load_program_that_both_always_work_are_not_told_apart() -> None:
    assert judge(replace(held(1, 0.5e-3), server=0.97, program=0.95)).limit == "unknown"


def test_a_flush_under_a_mutex_is_a_disk_not_a_lock() -> None:
    assert judge(replace(held(1, 0.3e-3), blocked=0.9)).left == [("disk", 1)]


@pytest.mark.parametrize(
    ("device", "left"),
    [(0.62, [("disk", 1)]), (0.4, [("lock", 1), ("disk", 1)]), (0.1, [("lock", 1)])],
)
def test_what_one_operation_at_a_time_holds_is_a_device_if_that_works_most_of_the_time(
    device: float, left: list[tuple[str, int]]
) -> None:
    """A flush under a mutex that takes the device and a processor: D state at 40%."""
    judged = judge(replace(held(1, 1e-3), blocked=min(device, 0.4), device=device))
    assert judged.left == left
    held_by_four = judge(replace(held(4, 4e-3), blocked=0.4, device=device))
    assert held_by_four.limit == "pool", "a device that works for some of them holds no four"


def test_one_that_holds_a_lock_and_waits_for_a_processor_of_neighbours_is_undetermined() -> None:
    """Seen: a flush under a mutex beside neighbours that leave 0.2 of two processors."""
    crowded = machine(own=0.2, others=1.8, crowd=0.96)
    judged = judge(replace(held(1, 1e-3), processors=crowded))
    assert judged.left == [("lock", 1), ("processors", 1)]
    assert "processors" not in {one.name for one in judged.refuted}


@pytest.mark.parametrize(
    ("unaccepted", "limit"), [(11.9, "connections"), (0.0, "pool"), (None, "pool")]
)
@pytest.mark.parametrize("is_alone_known", [True, False])
def test_connections_that_wait_to_be_accepted_tell_their_limit_from_a_pool(
    unaccepted: float | None, limit: str, *, is_alone_known: bool
) -> None:
    """Truth: 4 of 16 connections are served, or 4 places are held by 16 that are."""
    seen = replace(held(4, 4e-3), unaccepted=unaccepted)
    judged = judge(seen if is_alone_known else replace(seen, inside=None))
    is_told_apart = is_alone_known or limit == "connections"
    assert judged.limit == (limit if is_told_apart else "unknown")
    assert ("connections" in {one.name for one in judged.refuted}) == (unaccepted == 0.0)
    assert not is_told_apart or judged.places == (4, 4)


def test_what_is_slower_than_low_load_was_is_refuted() -> None:
    """A lock of 1 ms would take 1 ms alone: 0.4 ms were measured, so that several run at a time."""
    seen = replace(held(1, 1e-3), inside=None)
    fast = Unhurried(clients=1, think_s=0.0, response_s=0.4e-3)
    judged = judge(replace(seen, low=[fast]))
    assert judged.left == []
    assert [(one.name, one.because) for one in judged.refuted][-2:] == [
        ("lock", "faster"), ("pool", "faster"),
    ]  # fmt: skip
    assert judge(replace(seen, low=[replace(fast, error=0.6)])).limit == "lock", "scatter"


def test_threads_that_never_stop_hold_nothing() -> None:
    judged = judge(replace(held(1, 1e-3), waits=0.2))
    assert judged.left == []
    assert {one.because for one in judged.refuted if one.name in {"lock", "pool"}} == {"no_waits"}


def test_clients_that_are_all_inside_are_no_pool() -> None:
    """Without a limit all 16 are inside: more clients would do more."""
    assert judge(held(CLIENTS, 4e-3)).left == []


def test_processors_that_are_nearly_full_may_limit_operations_that_only_work() -> None:
    """A Go service of 0.57 ms leaves an eighth of two processors unused, and has no lock."""
    worker = Traces(
        rate=3050.0, clients=CLIENTS, server=0.67, program=0.01, waits=1.0,
        processors=machine(own=1.77, crowd=0.3), inside=Inside(response_s=0.51e-3, cpu_s=0.57e-3),
    )  # fmt: skip
    judged = judge(worker)
    assert {name for name, _ in judged.left} == {"processors", "lock"}
    assert judged.limit == "unknown"
    waits = replace(worker, inside=Inside(response_s=0.9e-3, cpu_s=0.57e-3))
    assert "processors" not in dict(judge(waits).left), "a third of it is no processor time"
    full = replace(worker, processors=machine(own=0.4, others=1.6, crowd=0.6))
    assert [name for name, _ in judge(full).left].count("processors") == 1
