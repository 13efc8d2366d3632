"""Conservation: packets, cards, parts for other warehouses, seconds.

If one terminal works alone, nothing is in flight when the run ends, and all counts are exact.
"""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from headroom.simulation import SimulationResult
from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.demands import demands
from headroom.systems.transactions.workload.tpcc import DECK

SPAX = machine_model("spax")
ALONE: Mapping[str, Any] = {
    "processing_nodes": 1,
    "processors": 1,
    "terminals": 1,
    "communication_nodes": 0,
    "destage_share": 0.0,
    "write_back_share": 0.0,
    "rollback_share": 0.0,
    "transactions_per_terminal": 230,
}
"""No page and no record is on its way when the run ends, and all records are counted."""
APART: Mapping[str, Any] = {
    "processing_nodes": 1,
    "processors": 1,
    "io_nodes": 0,
    "io_probability": 0.0,
    "communication_nodes": 0,
    "terminals": 1,
}
"""Clusters of one processor each, so that every part for another warehouse crosses the network."""


def run(**changed: Any) -> tuple[Machine, SimulationResult]:
    return SPAX.machine(**changed), run_ready(ready(SPAX(**changed)), seed=11)


def visits(result: SimulationResult, row: str) -> float:
    return float(result.stations.columns["completion_count"][-1, result.stations.names.index(row)])


def busy_s(result: SimulationResult, row: str) -> float:
    return float(result.stations.columns["busy_s"][-1, result.stations.names.index(row)])


def done(result: SimulationResult) -> dict[str, float]:
    names, counts = result.classes.names, result.classes.columns["completion_count"][-1]
    return dict(zip(names, counts.tolist(), strict=True))


def test_a_deck_gives_exact_shares() -> None:
    _, result = run(**ALONE)
    assert done(result) == {kind: 10 * cards for kind, cards in DECK.items()}


@pytest.mark.parametrize("packets_per_buffer", [1, 4, 7])
@pytest.mark.parametrize("trains", [False, True])
def test_each_page_moves_its_packets_over_each_element(
    packets_per_buffer: int, *, trains: bool
) -> None:
    machine, result = run(
        **ALONE, packet_trains=trains, packets_per_buffer=packets_per_buffer, cache_miss_rate=1.0
    )
    kinds = done(result)
    records = kinds["New-Order"] + kinds["Payment"] + 2 * kinds["Delivery"]
    pages = visits(result, "io processor") - records
    of_page, of_record = machine.page_packets, machine.packets(machine.log_bytes)
    loads_of_page = math.ceil(of_page / packets_per_buffer)
    loads_of_record = math.ceil(of_record / packets_per_buffer)
    loads_in, loads_out = pages + loads_of_record * records, loads_of_page * pages + records
    packets_in, packets_out = pages + of_record * records, of_page * pages + records
    # A train is one visit of the time of all its packets; without trains each packet is a visit.
    units_in, units_out = (loads_in, loads_out) if trains else (packets_in, packets_out)
    assert visits(result, "disk") == visits(result, "SCSI bus") == pages
    assert visits(result, "io DMA send") == visits(result, "node DMA send") + loads_out - loads_in
    assert visits(result, "io DMA send") == loads_out
    assert visits(result, "io switch port in") == units_out
    assert visits(result, "node switch port out") == visits(result, "node DMA receive") == units_out
    assert visits(result, "node switch port in") == units_in
    assert visits(result, "io switch port out") == visits(result, "io DMA receive") == units_in
    assert visits(result, "node PCI") == visits(result, "memory bus") == loads_in + units_out
    assert busy_s(result, "io DMA send") == pytest.approx(1e-3 * packets_out * machine.dma_ms)
    assert busy_s(result, "io switch port in") == pytest.approx(
        1e-3 * packets_out * machine.port_ms
    )
    assert busy_s(result, "node DMA receive") == pytest.approx(1e-3 * packets_out * machine.dma_ms)
    granted = dict(
        zip(result.pools.names, result.pools.columns["grant_count"][-1].tolist(), strict=True)
    )
    assert granted == {"node send buffers": loads_in, "io send buffers": loads_out}


def test_the_pages_asked_for_are_those_of_the_accesses() -> None:
    machine, result = run(**{**ALONE, "transactions_per_terminal": 2300})
    kinds = done(result)
    records = kinds["New-Order"] + kinds["Payment"] + 2 * kinds["Delivery"]
    pages = visits(result, "io processor") - records
    accesses = (10 * 23 + 10 * 4.44 + 4.44 + 40 + 1) / 23 * 2300
    four_sigma = 4 * math.sqrt(accesses * 0.3 * 0.7 + 0.09 * accesses)
    assert pages == pytest.approx(machine.io_probability * accesses, abs=four_sigma)
    assert visits(result, "disk") == pytest.approx(0.9 * pages, abs=4 * math.sqrt(0.09 * pages))


def test_parts_for_other_warehouses_have_the_shares_of_the_standard() -> None:
    _, result = run(**{**APART, "clusters": 2, "transactions_per_terminal": 11_500})
    kinds, names = done(result), result.visits.names
    for kind, parts, share in (("New-Order", 10, 0.01), ("Payment", 1, 0.15)):
        crossed = result.visits.columns["completion_count"][
            -1, names.index(f"node switch port in.class.{kind}")
        ]
        tried = parts * kinds[kind]
        four_sigma = 4 * math.sqrt(tried * share * (1 - share))
        assert crossed / 2 == pytest.approx(share * tried, abs=four_sigma + 2)
    for kind in ("Order-Status", "Delivery", "Stock-Level"):
        row = f"node switch port in.class.{kind}"
        assert row not in names or not result.visits.columns["arrival_count"][-1, names.index(row)]


def test_messages_between_clusters_climb_and_come_down() -> None:
    shares = {"remote_line_share": 0.5, "remote_payment_share": 1.0}
    _, result = run(**APART, **shares, clusters=2, transactions_per_terminal=230)
    sent = visits(result, "node switch port in")
    assert sent > 1000
    for row in ("switch up", "switch down", "node switch port out", "node DMA receive"):
        assert visits(result, row) == pytest.approx(sent, abs=2)
    assert "switch across" not in result.stations.names


def test_only_messages_between_groups_of_eight_clusters_go_across() -> None:
    shares = {"remote_line_share": 0.5, "remote_payment_share": 1.0}
    _, result = run(**APART, **shares, clusters=10, transactions_per_terminal=92)
    sent, across = visits(result, "switch up"), visits(result, "switch across")
    expected = 2 * 8 * 2 / (10 * 9)
    assert across / sent == pytest.approx(
        expected, abs=4 * math.sqrt(expected * (1 - expected) / (sent / 2))
    )
    assert visits(result, "switch down") == pytest.approx(sent, abs=10)


def test_messages_inside_a_cluster_stay_there() -> None:
    _, result = run(clusters=2, remote_line_share=0.0, remote_payment_share=0.0, terminals=1)
    assert visits(result, "switch up") == visits(result, "switch down") == 0
    assert visits(result, "node switch port out") > 0


def test_each_warehouse_has_its_own_terminals() -> None:
    """One terminal a warehouse, nothing shared: no process ever waits for a processor."""
    changed = {**APART, "processing_nodes": 4, "remote_line_share": 0, "remote_payment_share": 0}
    _, result = run(**changed, start_within_ms=0.0)
    processor = result.stations.names.index("processor")
    assert result.stations.columns["queue_s"][-1, processor] == 0
    everybody_s = 4 * result.snapshot_times_s[-1]
    assert result.stations.columns["busy_s"][-1, processor] == pytest.approx(everybody_s)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("machine", "changed"),
    [
        ("spax", {}),
        ("spax", {"packet_trains": False, "io_nodes": 2}),
        ("spax", {"plane_choice": "by chance", "remote_line_share": 0.3, "disks": 0}),
        ("spax", {"clusters": 2, "cache_miss_rate": 0.4}),
        ("server", {"io_probability": 0.3, "buffer_mb": 0.0}),
        ("server", {"io_nodes": 0, "local_disks": 2, "buffer_mb": 1000.0}),
        ("server", {"warehouses": 50, "ready_queue": "own", "buffer_mb": 4000.0}),
    ],
)
def test_utilizations_are_throughput_times_demand(machine: str, changed: dict[str, Any]) -> None:
    build = machine_model(machine)
    changed = {"terminals": 1, "transactions_per_terminal": 300, **changed}
    if machine == "server":
        changed = {"warehouses": 32, "terminals_in_all": 32, **changed}
    tail = Tail.of(run_ready(ready(build(**changed)), seed=5), kept_share=1.0)
    asked = demands(build.machine(**changed))
    rows = [row for row in tail.result.stations.names if not row.startswith("switch ")]
    assert sorted(rows) == sorted(asked)
    for row, demand in asked.items():
        if math.isfinite(demand.servers):
            expected = tail.throughput * 1e-3 * demand.time_ms / demand.servers
            assert tail.utilization(row) == pytest.approx(expected, rel=0.03), row
