"""What a transaction asks of each element, on average: counted, not simulated.

The bounds that follow hold whatever the laws of the times are and however long a run is: an
element of c servers that each transaction needs for D seconds passes at most c / D transactions a
second (Denning and Buzen, *The Operational Analysis of Queueing Network Models*, 1978). A machine
that is near the lowest of these is saturated, and the element that sets it is the one to improve.

Buffers are left out: how long they are held depends on what waits behind them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from headroom.systems.transactions import workload
from headroom.systems.transactions.machine import INFINITE_DISKS, Machine
from headroom.systems.transactions.workload import DECK, Kind, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a transaction does, on average.

    Parameters
    ----------
    accesses, calls, scans
        See `Work`.
    records
        Log records and results that it writes.
    record_packets
        Packets of these.
    delegations
        Parts that the owner of another warehouse does.
    """

    accesses: float = 0.0
    calls: float = 0.0
    scans: float = 0.0
    records: float = 0.0
    record_packets: float = 0.0
    delegations: float = 0.0

    def plus(self, other: "Counts", weight: float = 1.0) -> "Counts":
        """Return the sum of these counts and `weight` times others."""
        names = [one.name for one in fields(self)]
        return Counts(**{one: getattr(self, one) + weight * getattr(other, one) for one in names})


@dataclass(frozen=True, slots=True)
class Demand:
    """Time (ms) that the average transaction asks of the elements of a row, and their servers."""

    time_ms: float
    servers: float

    @property
    def highest_per_s(self) -> float:
        """Transactions a second that the elements pass at most."""
        return 1e3 * self.servers / self.time_ms if self.time_ms > 0 else math.inf


def counts(machine: Machine) -> dict[Kind, Counts]:
    """Return what a transaction of each type does, on average.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> of_types = counts(machine_model("spax").machine())
    >>> [round(one.accesses, 2) for one in of_types.values()]
    [23.0, 4.44, 4.44, 40.0, 204.0]
    """
    lines, customer = workload.MEAN_LINES, _customer()
    pages = workload.pages_of_recent_lines(machine.page_bytes)
    others = float(machine.warehouses > 1)
    log = _record(machine, machine.log_bytes)
    order = _sum((workload.HEADER, 1), (workload.ITEM, lines), (workload.STOCK, lines))
    payment = _sum((workload.YEAR_TO_DATE, 1), (workload.CUSTOMER_UPDATE, 1)).plus(customer)
    delivery = _sum((workload.DISTRICT_DELIVERY, workload.DISTRICTS))
    remote_lines = others * machine.remote_line_share * lines
    remote_payments = others * machine.remote_payment_share
    return {
        "New-Order": order.plus(log).plus(Counts(delegations=remote_lines)),
        "Payment": payment.plus(log).plus(Counts(delegations=remote_payments)),
        "Order-Status": _sum((workload.LAST_ORDER, 1)).plus(customer),
        "Delivery": delivery.plus(log).plus(_record(machine, machine.result_bytes)),
        "Stock-Level": _sum(
            (workload.DISTRICT_READ, 1),
            (workload.page_of_recent_lines(machine.page_bytes), pages),
            (workload.STOCK_OF_ITEM, workload.RECENT_LINES),
        ),
    }


def _sum(*works: tuple[Work, float]) -> Counts:
    total = Counts()
    for work, times in works:
        own = Counts(accesses=work.accesses, calls=work.calls, scans=work.scans)
        total = total.plus(own, times)
    return total


def _customer() -> Counts:
    by_name = _sum((workload.NAME, 1), (workload.CUSTOMER_OF_NAME, workload.CUSTOMERS_OF_A_NAME))
    by_number = _sum((workload.CUSTOMER_BY_NUMBER, 1 - workload.BY_NAME_SHARE))
    return by_number.plus(by_name, workload.BY_NAME_SHARE)


def _record(machine: Machine, size_bytes: int) -> Counts:
    if not machine.has_io:
        return Counts()
    return Counts(records=1, record_packets=machine.packets(size_bytes))


def mean_counts(machine: Machine) -> Counts:
    """Return what the average transaction of the deck does."""
    total = Counts()
    for kind, one in counts(machine).items():
        total = total.plus(one, DECK[kind] / sum(DECK.values()))
    return total


def processor_time_ms(machine: Machine, one: Counts) -> float:
    """Return the processor time (ms) of a transaction: its work, requests, messages, switches."""
    sleeps = machine.io_probability * one.accesses + one.records
    thousand = (
        machine.commit_kiloinstructions
        + one.calls * machine.call_kiloinstructions
        + one.scans * machine.scan_kiloinstructions
        + sleeps * machine.io_kiloinstructions
        + 4 * one.delegations * machine.message_kiloinstructions
        + (1 + sleeps + 2 * one.delegations) * machine.switch_kiloinstructions
    )
    return machine.processor_ms(thousand)


def demands(machine: Machine) -> dict[str, Demand]:
    """Return the demand of the average transaction at each row of stations of the model.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> found = demands(machine_model("spax").machine())
    >>> min(found, key=lambda row: found[row].highest_per_s)
    'disk'
    """
    one = mean_counts(machine)
    processors = machine.warehouses
    found = {"processor": Demand(processor_time_ms(machine, one), processors)}
    for kind, (packets_out, packets_in) in _packets(machine, one).items():
        found |= _way(machine, kind, packets_out, packets_in)
    if machine.has_io:
        found |= _of_io_nodes(machine, one, found["io PCI"])
    if machine.communication_nodes:
        servers = machine.clusters * machine.communication_nodes * machine.io_processors
        found["communication processor"] = Demand(2 * machine.io_processor_ms, servers)
    return found


def highest_throughput(machine: Machine) -> tuple[float, str]:
    """Return the throughput (1/s) that no run can exceed, and the elements that set it.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> machine = machine_model("spax").machine(cache_miss_rate=0.0, disks=0, io_nodes=3)
    >>> highest_throughput(machine)[1]
    'processor'
    """
    found = demands(machine)
    row = min(found, key=lambda name: found[name].highest_per_s)
    return found[row].highest_per_s, row


def _packets(machine: Machine, one: Counts) -> Mapping[str, tuple[float, float]]:
    """Return the packets out of and into nodes of each kind, of the average transaction."""
    short = machine.packets(machine.request_bytes)
    pages = machine.io_probability * one.accesses
    asked = pages * short + one.record_packets
    answered = pages * machine.page_packets + one.records * short
    terminal = short if machine.communication_nodes else 0
    between = 2 * one.delegations * short * _share_of_other_nodes(machine)
    found = {"node": (asked + terminal + between, answered + terminal + between)}
    if machine.has_io:
        found["io"] = (answered, asked)
    if machine.communication_nodes:
        found["communication"] = (terminal, terminal)
    return found


def _share_of_other_nodes(machine: Machine) -> float:
    """Return how likely the owner of another warehouse is in another node."""
    others = machine.warehouses - 1
    return (machine.warehouses - machine.processors) / others if others else 0.0


def _way(machine: Machine, kind: str, sent: float, received: float) -> dict[str, Demand]:
    nodes = machine.clusters * getattr(machine, _COUNTS[kind])
    found = {
        f"{kind} DMA send": Demand(sent * machine.dma_ms, nodes),
        f"{kind} DMA receive": Demand(received * machine.dma_ms, nodes),
        f"{kind} PCI": Demand((sent + received) * machine.pci_ms, nodes),
        f"{kind} switch port in": Demand(
            sent * machine.port_ms, nodes * machine.ports_out_of_a_node
        ),
        f"{kind} switch port out": Demand(received * machine.link_ms, nodes * machine.planes),
    }
    if kind == "node":
        found["memory bus"] = Demand((sent + received) * machine.bus_ms, nodes)
    return found


_COUNTS = {
    "node": "processing_nodes",
    "io": "io_nodes",
    "communication": "communication_nodes",
}


def _of_io_nodes(machine: Machine, one: Counts, pci: Demand) -> dict[str, Demand]:
    """Return the demands at what works inside I/O nodes."""
    nodes = machine.clusters * machine.io_nodes
    pages = machine.io_probability * one.accesses
    read, written = pages * machine.cache_miss_rate, one.records * machine.destage_share
    moved = read + written
    is_endless = machine.disks == INFINITE_DISKS
    arms = math.inf if is_endless else nodes * machine.disks * machine.disk_parallelism
    time_ms = read * machine.disk_read_ms + written * machine.disk_write_ms
    pci_ms = pci.time_ms + moved * machine.page_packets * machine.pci_ms
    found = {
        "io processor": Demand(
            (pages + one.records) * machine.io_processor_ms, nodes * machine.io_processors
        ),
        "io PCI": Demand(pci_ms, nodes),
        "disk": Demand(time_ms, arms),
    }
    if not is_endless:
        buses = nodes * min(machine.scsi_buses, machine.disks)
        found["SCSI bus"] = Demand(moved * machine.scsi_ms, buses)
    return found
