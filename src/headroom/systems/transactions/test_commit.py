"""Round trips, standby servers, background work and crowding, against what arithmetic says."""

import pytest

from headroom.simulation import simulate
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.theory.demands import demands, mean_counts

pytestmark = pytest.mark.filterwarnings("ignore:no program")
ALONE = {"terminals_in_all": 1, "transactions_per_terminal": 460, "warehouses": 1, "processors": 1,
         "processing_nodes": 1, "io_nodes": 0, "local_disks": 1, "communication_nodes": 0,
         "buffer_mb": 0.0, "io_probability": 0.0}  # fmt: skip
"""One terminal on one processor, whose pages are all in memory."""


def cycle_ms(**changed: float) -> float:
    """Return the mean time (ms) of a transaction of one terminal."""
    machine = machine_model("server")
    result = simulate(machine(**{**ALONE, **changed}), seed=3)
    done = result.classes.columns["completion_count"][-1].sum()
    return float(1e3 * result.snapshot_times_s[-1] / done)


def test_each_call_of_single_statements_waits_for_a_round_trip() -> None:
    machine = machine_model("server").machine(**ALONE)
    calls = mean_counts(machine).calls
    more_ms = cycle_ms(statement_round_trips=1.0, round_trip_ms=0.5) - cycle_ms()
    of_a_trip = 2 * machine.message_kiloinstructions + machine.switch_kiloinstructions
    assert more_ms == pytest.approx(calls * (0.5 + machine.processor_ms(of_a_trip)), rel=0.02)


def test_a_commit_waits_for_the_slower_of_two_standbys() -> None:
    commits = mean_counts(machine_model("server").machine(**ALONE)).commits
    assert commits == pytest.approx((10 * 0.99 + 10 + 1) / 23)
    one, two = (cycle_ms(standbys=count, standby_ms=20.0) - cycle_ms() for count in (1, 2))
    assert one == pytest.approx(commits * 20.0, rel=0.2)
    assert two == pytest.approx(commits * 30.0, rel=0.2)


def test_background_work_takes_its_share_of_the_processors() -> None:
    machine = machine_model("server")
    alone, beside = (
        demands(machine.machine(background_share=share))["processor"] for share in (0.0, 0.2)
    )
    assert beside.time_ms == pytest.approx(alone.time_ms / 0.8)


def test_work_grows_with_each_terminal_of_a_node_past_16() -> None:
    machine = machine_model("server")

    def slowing(terminals: int) -> float:
        of = machine.machine(
            crowding_share=0.01, processing_nodes=1, io_nodes=1, terminals_in_all=terminals
        )
        return of.slowing

    assert [slowing(count) for count in (4, 16, 32, 64)] == pytest.approx([1.0, 1.0, 1.16, 1.48])
