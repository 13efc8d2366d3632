"""Machines whose throughput is known in closed form, full buffers, and saturation."""

from typing import Any

import numpy as np
import pytest

from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.demands import demands, highest_throughput, mean_counts

pytestmark = pytest.mark.deep

SPAX = machine_model("spax")
ENDLESS: dict[str, Any] = {"cache_miss_rate": 0.0, "disks": 0}
"""No page comes from a disk."""


def tail(*, seed: int = 3, **changed: Any) -> Tail:
    return Tail.of(run_ready(ready(SPAX(**changed)), seed=seed))


@pytest.mark.parametrize("processors", [1, 4])
def test_without_io_the_processors_alone_set_the_throughput(processors: int) -> None:
    changed: dict[str, Any] = {
        "processing_nodes": 1,
        "processors": processors,
        "io_nodes": 0,
        "io_probability": 0.0,
        "communication_nodes": 0,
        "remote_line_share": 0.0,
        "remote_payment_share": 0.0,
        "terminals": 4,
        "transactions_per_terminal": 1150,
    }
    machine = SPAX.machine(**changed)
    activity = mean_counts(machine)
    # Calls, commits, scans and one switch of a process, by hand.
    thousand = 23 * activity.calls + 2 * activity.scans + 30 + 2
    processor_s = 1e3 * thousand * 3 * 5.50 / 200e6
    assert tail(**changed).throughput == pytest.approx(processors / processor_s, rel=0.01)


def test_behind_endless_processors_one_buffer_passes_one_load_at_a_time() -> None:
    changed = {
        **ENDLESS,
        "processor_mhz": 1e5,
        "io_probability": 0.5,
        "transactions_per_terminal": 30,
    }
    machine = SPAX.machine(**changed)
    packets = demands(machine)["io DMA send"].time_ms / machine.dma_ms
    each_ms = machine.dma_ms + machine.pci_ms + machine.port_ms
    outcome = tail(**changed)
    assert outcome.throughput == pytest.approx(1e3 / (packets * each_ms), rel=0.02)
    assert outcome.utilization("io switch port in") < 0.6


def test_behind_endless_processors_and_many_buffers_the_input_port_is_the_limit() -> None:
    changed = {
        **ENDLESS,
        "processor_mhz": 1e5,
        "io_probability": 0.5,
        "io_send_buffers": 64,
        "transactions_per_terminal": 30,
    }
    highest, row = highest_throughput(SPAX.machine(**changed))
    outcome = tail(**changed)
    assert row == "io switch port in"
    assert outcome.throughput == pytest.approx(highest, rel=0.015)
    assert outcome.utilization(row) > 0.99


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("packets_per_buffer", [1, 4])
def test_a_slow_receiver_holds_up_the_ports_behind_it_and_nothing_is_lost(
    packets_per_buffer: int, *, trains: bool
) -> None:
    changed = {
        **ENDLESS,
        "processing_nodes": 1,
        "communication_nodes": 0,
        "packets_per_buffer": packets_per_buffer,
        "packet_trains": trains,
        "io_send_buffers": 4,
        "transactions_per_terminal": 10,
    }
    slow = SPAX(**changed).with_speed("cluster 1/node 1/DMA receive", 0.02)
    result = run_ready(ready(slow), seed=2)
    names, columns = result.stations.names, result.stations.columns
    time_s = result.snapshot_times_s[-1]

    def blocked(row: str) -> float:
        return float(columns["blocked_s"][-1, names.index(row)] / time_s)

    receive = names.index("node DMA receive")
    places = 1 if trains else packets_per_buffer
    assert result.stations.maxima["jobs"][receive] == places
    assert columns["busy_s"][-1, receive] > 0.9 * time_s
    assert blocked("node switch port out") > 0.8
    assert blocked("io switch port in") > 0.8
    assert result.classes.columns["lost_count"][-1].sum() == 0
    sent = columns["completion_count"][-1, names.index("io switch port in")]
    # In flight are what holds the port out, the port itself, and the places of the receiver.
    arrived = columns["completion_count"][-1, receive]
    assert 0 <= sent - arrived <= places + 4


def test_a_buffer_of_the_receiver_that_is_never_full_holds_nobody_up() -> None:
    outcome = tail(**ENDLESS, node_receive_buffers=64, transactions_per_terminal=10)
    assert outcome.gain(outcome.result.stations, "node switch port out", "blocked_s") == 0


def test_a_saturated_machine_passes_the_same_whatever_the_length_of_the_run() -> None:
    changed = {**ENDLESS, "io_probability": 1.0, "processing_nodes": 2}
    outcomes = [tail(**changed, transactions_per_terminal=count) for count in (40, 80)]
    short, long = (outcome.throughput for outcome in outcomes)
    assert short == pytest.approx(long, rel=0.015)
    highest, _ = highest_throughput(SPAX.machine(**changed))
    assert max(short, long) < highest


@pytest.mark.parametrize("changed", [{}, ENDLESS, {"io_nodes": 3}, {"disks": 1}, {"terminals": 1}])
def test_no_run_exceeds_what_its_elements_can_pass(changed: dict[str, Any]) -> None:
    highest, row = highest_throughput(SPAX.machine(**changed))
    outcome = tail(**changed, transactions_per_terminal=50)
    assert outcome.throughput < 1.01 * highest
    asked = demands(SPAX.machine(**changed))[row]
    assert outcome.utilization(row) == pytest.approx(
        outcome.throughput / asked.highest_per_s, rel=0.04
    )


def test_the_same_seed_gives_the_same_bits() -> None:
    model = SPAX(transactions_per_terminal=3)
    first, again, other = (run_ready(ready(model), seed=seed) for seed in (1, 1, 2))
    for table in ("stations", "pools", "classes", "visits"):
        once, two = getattr(first, table).columns, getattr(again, table).columns
        assert all(once[name].tobytes() == two[name].tobytes() for name in once)
    columns = (first.stations.columns["busy_s"], other.stations.columns["busy_s"])
    assert not np.array_equal(*columns)


def test_sixteen_clusters_run_and_each_does_as_much_as_one() -> None:
    alone = [tail(transactions_per_terminal=8, seed=seed).throughput for seed in range(8)]
    all_of_them = tail(transactions_per_terminal=8, clusters=16)
    assert all_of_them.throughput == pytest.approx(16 * np.mean(alone), rel=0.04)
    assert all_of_them.result.stations.capacity[0] == 256
    assert all_of_them.gain(all_of_them.result.stations, "switch across", "busy_s") > 0
