"""The machine as a law of a few numbers: the throughput of its bottleneck.

``X = min(processors, send buffers / packets, disks / misses)``: no packets, no queues, no
randomness. A study's claim that this law also satisfies follows by arithmetic from three service
demands; it is no evidence for the simulator.
"""

import math
from collections.abc import Mapping

from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.theory.demands import Demand, demands

BUFFERS = "io send buffers"
_WAY = ("io DMA send", "io switch port in")
_BUS = "io PCI"
_NOTHING = Demand(0.0, 1.0)


def law(machine: Machine, times: Mapping[str, float] | None = None) -> Mapping[str, float]:
    """Return throughput, mean response time and utilizations that arithmetic gives.

    If all terminals are always busy, a transaction takes the number of terminals over the
    throughput, less the time they think. The utilization of a part is the throughput times its
    demand per transaction.

    Parameters
    ----------
    machine
        The machine.
    times
        Rows of elements that are this many times as fast, or of buffers this many times as many.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> machine = machine_model("spax").machine(cache_miss_rate=0.0, disks=0)
    >>> round(law(machine)["throughput"], 1)
    200.1
    >>> round(law(machine, {"io send buffers": 2.0})["throughput"], 1)
    204.8
    """
    faster = times or {}
    counted = demands(machine)
    asked = {
        row: _times(counted.get(row, _NOTHING), faster.get(row, 1.0))
        for row in ("processor", "disk")
    }
    asked[BUFFERS] = _of_buffers(machine, counted, faster)
    limits = [demand.highest_per_s for demand in asked.values()]
    per_s = min(*limits, _asked_per_s(machine))
    values = {"throughput": per_s}
    if machine.arrivals_per_s <= 0:
        values["response_s_mean"] = machine.terminal_count / per_s - 1e-3 * machine.think_ms
    return values | {
        f"{'pool' if row == BUFFERS else 'station'}.{row}.utilization": per_s / demand.highest_per_s
        for row, demand in asked.items()
        if math.isfinite(demand.highest_per_s)
    }


def _asked_per_s(machine: Machine) -> float:
    """Return the maximum offered load of transactions per second."""
    if machine.arrivals_per_s > 0:
        return machine.arrivals_per_s
    return 1e3 * machine.terminal_count / machine.think_ms if machine.think_ms > 0 else math.inf


def _times(asked: Demand, faster: float) -> Demand:
    return Demand(asked.time_ms / faster, asked.servers)


def _of_buffers(
    machine: Machine, by_row: Mapping[str, Demand], faster: Mapping[str, float]
) -> Demand:
    """Return the demand of a transaction at the send buffers of the I/O nodes.

    A buffer is held while its packets pass the DMA, the PCI bus and the port of the switch in
    turn. More buffers than the slowest of these can serve do not help.
    """
    if _WAY[0] not in by_row:
        return _NOTHING
    way = [_times(by_row[row], faster.get(row, 1.0)) for row in _WAY]
    packets = by_row[_WAY[0]].time_ms / machine.dma_ms if machine.dma_ms else 0.0
    held_ms = sum(demand.time_ms for demand in way) + packets * machine.pci_ms / faster.get(
        _BUS, 1.0
    )
    buffers = machine.clusters * machine.io_nodes * machine.io_send_buffers
    through = Demand(held_ms, buffers * faster.get(BUFFERS, 1.0))
    return min(through, *way, key=lambda demand: demand.highest_per_s)
