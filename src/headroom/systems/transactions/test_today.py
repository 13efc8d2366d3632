"""Features of present-day machines: row locks, one ready queue, local drives."""

from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.demands import counts, highest_throughput

SERVER = machine_model("server")
LOCAL: dict[str, Any] = {"io_nodes": 0, "local_disks": 4}
ONE: dict[str, Any] = {"processing_nodes": 1, "warehouses": 1, "transactions_in_all": 20_000}


def tail(**changed: Any) -> Tail:
    return Tail.of(run_ready(ready(SERVER(**changed)), seed=4))


def held(outcome: Tail) -> float:
    pools = outcome.result.pools
    return outcome.gain(pools, "warehouse row", "held_s") / outcome.time_s


def test_one_warehouse_lets_one_payment_through_at_a_time() -> None:
    """Sixteen cores and one row: Payments wait for each other, and cores have time left."""
    locked = tail(**ONE, **LOCAL, terminals_in_all=64)
    free = tail(**ONE, **LOCAL, terminals_in_all=64, row_locks=False)
    assert held(locked) > 0.95
    assert locked.utilization("processor") < 0.7 < 0.95 < free.utilization("processor")  # noqa: PLR0133 - two bounds
    assert free.throughput > 1.5 * locked.throughput


def test_a_row_is_held_for_the_work_of_a_payment_and_its_log() -> None:
    """Oracle: one terminal alone never waits, so the row is held as long as it works."""
    config: dict[str, Any] = {**ONE, **LOCAL, "terminals_in_all": 1, "buffer_mb": 1e6}
    outcome, machine = tail(**config), SERVER.machine(**config)
    calls = counts(machine)["Payment"].calls * machine.call_kiloinstructions
    thousand = calls + machine.commit_kiloinstructions + machine.io_kiloinstructions
    each_ms = machine.processor_ms(thousand + machine.switch_kiloinstructions)
    each_ms += 1.5 * machine.log_write_ms + 1e-3 * machine.log_bytes / machine.disk_mb_s
    share = outcome.throughput * 10 / 23 * 1e-3 * each_ms
    assert held(outcome) == pytest.approx(share, rel=0.03)


def test_with_many_warehouses_locks_do_not_matter() -> None:
    few, many = (
        tail(processing_nodes=1, warehouses=count, terminals_in_all=64, transactions_in_all=20_000)
        for count in (2, 400)
    )
    assert many.throughput > 1.3 * few.throughput
    assert held(many) / 400 < 0.1


@pytest.mark.deep
def test_one_ready_queue_answers_sooner_than_a_queue_for_each_core() -> None:
    config: dict[str, Any] = {
        **LOCAL, "processing_nodes": 1, "processors": 8, "warehouses": 400,
        "arrivals_per_s": 11_000.0, "transactions_in_all": 40_000,
    }  # fmt: skip
    shared, own = (tail(**config, ready_queue=queue) for queue in ("shared", "own"))
    assert shared.utilization("processor") == pytest.approx(own.utilization("processor"), rel=0.03)
    assert shared.response_s < 0.7 * own.response_s


def test_drives_in_the_node_save_the_way_to_storage_nodes() -> None:
    config: dict[str, Any] = {
        "terminals_in_all": 2, "transactions_in_all": 4000, "buffer_mb": 1000.0
    }  # fmt: skip
    near, far = tail(**config, **LOCAL), tail(**config)
    assert near.response_s < 0.95 * far.response_s
    assert "io processor" not in near.result.stations.names
    assert near.utilization("disk") > 0


def test_drives_of_ones_own_beside_storage_nodes_are_refused() -> None:
    with pytest.raises(StudyError, match="leave 2 I/O nodes nothing to do"):
        SERVER(local_disks=4)
    with pytest.raises(StudyError, match="filled from disks, and there are none"):
        SERVER(io_nodes=0)


def test_a_planners_question_has_an_answer() -> None:
    """128 cores, 8 NVMe, 100 GbE: 100,000 transactions a second, New-Order within 5 ms."""
    config: dict[str, Any] = {
        "processing_nodes": 1, "processors": 128, "io_nodes": 0, "local_disks": 8,
        "switch_mhz": 1562.5, "buffer_mb": 65_536.0, "warehouses": 1000,
        "arrivals_per_s": 100_000.0,
    }  # fmt: skip
    outcome = tail(**config)
    assert highest_throughput(SERVER.machine(**config))[0] > 200_000
    assert outcome.throughput == pytest.approx(1e5, rel=0.03)
    classes = outcome.result.classes
    ended = outcome.gain(classes, "New-Order", "completion_count")
    assert outcome.gain(classes, "New-Order", "response_s_sum") / ended < 5e-3


@pytest.mark.deep
def test_hundreds_of_warehouses_are_built_in_no_time_that_one_notices() -> None:
    """Rows are pools, and the checks of a model must not grow with their square."""
    calls = [_checks(count) for count in (250, 1000)]
    assert calls[1] < 6 * calls[0]


def _checks(warehouses: int) -> int:
    import sys  # noqa: PLC0415

    model, count = SERVER(warehouses=warehouses), 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        ready(model)
    finally:
        sys.setprofile(None)
    return count
