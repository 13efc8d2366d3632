"""The mean service demand of a transaction at each element: counted, not simulated.

The resulting bounds hold for any distribution of the times and any length of run: an element of c
servers that each transaction needs for D seconds passes at most c / D transactions per second
(Denning and Buzen, *The Operational Analysis of Queueing Network Models*, 1978). A machine that is
near the lowest of these bounds is saturated, and the element that sets it is the one to improve.

Buffers are left out: how long they are held depends on the queues behind them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial

from headroom.systems.transactions.machine import INFINITE_DISKS, Machine
from headroom.systems.transactions.workload import tpcc as workload
from headroom.systems.transactions.workload.tpcc import DECK, Kind, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The mean activity of a transaction.

    Parameters
    ----------
    accesses, calls, scans
        See `Work`.
    fetches
        Accesses that do not find their page in the buffer of the database.
    write_backs
        Changed pages that leave the buffer for these.
    records
        Log records and results that it writes.
    record_packets, record_bytes
        Packets and size of these.
    delegations
        Parts that the owner of another warehouse does.
    commits
        Commits of changes.
    """

    accesses: float = 0.0
    calls: float = 0.0
    scans: float = 0.0
    fetches: float = 0.0
    write_backs: float = 0.0
    records: float = 0.0
    record_packets: float = 0.0
    record_bytes: float = 0.0
    delegations: float = 0.0
    commits: float = 0.0

    def plus(self, other: "Counts", weight: float = 1.0) -> "Counts":
        """Return the sum of these counts and `weight` times others."""
        names = [field.name for field in fields(self)]
        return Counts(
            **{name: getattr(self, name) + weight * getattr(other, name) for name in names}
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """Time (ms) of the average transaction at the elements of a row, and their servers."""

    time_ms: float
    servers: float

    @property
    def highest_per_s(self) -> float:
        """Maximum transactions per second that the elements pass."""
        return 1e3 * self.servers / self.time_ms if self.time_ms > 0 else math.inf


def counts(machine: Machine) -> dict[Kind, Counts]:
    """Return the mean activity of a transaction of each type.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> of_types = counts(machine_model("spax").machine())
    >>> [round(one.accesses, 2) for one in of_types.values()]
    [23.0, 4.44, 4.44, 40.0, 1.0]
    """
    lines = workload.MEAN_LINES
    others = float(machine.warehouse_count > 1)
    log = _record(machine, machine.log_bytes).plus(Counts(commits=1))
    total = partial(_sum, machine)
    order = total((workload.HEADER, 1), (workload.ITEM, lines), (workload.STOCK, lines))
    rolled_back = machine.rollback_share
    undone = order.plus(total((workload.UNDO, 1)), rolled_back).plus(log, 1 - rolled_back)
    payment = total((workload.YEAR_TO_DATE, 1), (workload.CUSTOMER_UPDATE, 1))
    paid = payment.plus(_customer(machine, workload.PAYING_CUSTOMER)).plus(log)
    delivery = total((workload.DISTRICT_DELIVERY, workload.DISTRICTS))
    remote_lines = others * machine.remote_line_share * lines
    remote_payments = others * machine.remote_payment_share
    return {
        "New-Order": undone.plus(Counts(delegations=remote_lines)),
        "Payment": paid.plus(Counts(delegations=remote_payments)),
        "Order-Status": total((workload.LAST_ORDER, 1)).plus(_customer(machine, workload.CUSTOMER)),
        "Delivery": delivery.plus(log).plus(_record(machine, machine.result_bytes)),
        "Stock-Level": total((workload.DISTRICT_READ, 1), (workload.RECENT_STOCK, 1)),
    }


def _sum(machine: Machine, *works: tuple[Work, float]) -> Counts:
    total = Counts()
    for work, times in works:
        total = total.plus(_of_work(machine, work), times)
    return total


def _of_work(machine: Machine, work: Work) -> Counts:
    missed = {access: machine.miss_share(access.table) for access in work.accesses}
    fetches = [missed[access] for access in work.accesses]
    changed = sum(missed[access] for access in work.accesses if access.changes)
    return Counts(
        accesses=len(work.accesses),
        calls=work.calls,
        scans=work.scans,
        fetches=sum(fetches),
        write_backs=machine.write_back_share * changed,
    )


def _customer(machine: Machine, wanted: Work) -> Counts:
    others = workload.BY_NAME_SHARE * (workload.CUSTOMERS_OF_A_NAME - 1)
    return _sum(
        machine, (wanted, 1), (workload.CUSTOMER, others), (workload.NAME, workload.BY_NAME_SHARE)
    )


def _record(machine: Machine, size_bytes: int) -> Counts:
    if not machine.has_io:
        return Counts()
    return Counts(records=1, record_packets=machine.packets(size_bytes), record_bytes=size_bytes)


def mean_counts(machine: Machine) -> Counts:
    """Return the activity of the average transaction of the deck."""
    total = Counts()
    for kind, activity in counts(machine).items():
        total = total.plus(activity, DECK[kind] / sum(DECK.values()))
    return total


def processor_time_ms(machine: Machine, activity: Counts) -> float:
    """Return the processor time (ms) of a transaction: its work, requests, messages, switches."""
    sleeps = activity.fetches + activity.records
    trips = activity.calls * machine.statement_round_trips
    of_a_trip = 2 * machine.message_kiloinstructions + machine.switch_kiloinstructions
    of_standbys = machine.message_kiloinstructions * machine.standbys
    of_standbys += machine.switch_kiloinstructions * bool(machine.standbys)
    thousand = (
        machine.commit_kiloinstructions
        + trips * of_a_trip
        + activity.commits * of_standbys
        + activity.calls * machine.call_kiloinstructions
        + activity.scans * machine.scan_kiloinstructions
        + (sleeps + activity.write_backs) * machine.io_kiloinstructions
        + 4 * activity.delegations * machine.message_kiloinstructions
        + (1 + sleeps + 2 * activity.delegations) * machine.switch_kiloinstructions
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
    activity = mean_counts(machine)
    by_row = {
        "processor": Demand(processor_time_ms(machine, activity), _processors_in_use(machine))
    }
    for kind, (packets_out, packets_in) in _packets(machine, activity).items():
        by_row |= _way(machine, kind, packets_out, packets_in)
    if machine.is_local:
        by_row |= _of_local_disks(machine, activity)
    elif machine.has_io:
        by_row |= _of_io_nodes(machine, activity, by_row["io PCI"])
    if machine.communication_nodes:
        servers = machine.clusters * machine.communication_nodes * machine.io_processors
        by_row["communication processor"] = Demand(2 * machine.io_processor_ms, servers)
    return by_row


def highest_throughput(machine: Machine) -> tuple[float, str]:
    """Return the throughput (1/s) that no run can exceed, and the elements that set it.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> machine = machine_model("spax").machine(cache_miss_rate=0.0, disks=0, io_nodes=3)
    >>> highest_throughput(machine)[1]
    'processor'
    """
    by_row = demands(machine)
    row = min(by_row, key=lambda name: by_row[name].highest_per_s)
    return by_row[row].highest_per_s, row


def _packets(machine: Machine, activity: Counts) -> Mapping[str, tuple[float, float]]:
    """Return the packets out of and into nodes of each kind, of the average transaction."""
    short, page = machine.packets(machine.request_bytes), machine.page_packets
    asked = activity.fetches * short + activity.write_backs * page + activity.record_packets
    answered = activity.fetches * page + (activity.write_backs + activity.records) * short
    if machine.is_local:
        asked = answered = 0.0
    terminal = short if machine.communication_nodes else 0
    between = 2 * activity.delegations * short * _share_of_other_nodes(machine)
    packets = {"node": (asked + terminal + between, answered + terminal + between)}
    if machine.io_nodes:
        packets["io"] = (answered, asked)
    if machine.communication_nodes:
        packets["communication"] = (terminal, terminal)
    return packets


def _processors_in_use(machine: Machine) -> float:
    """Return the processors that have a warehouse, or share a ready queue with one that has."""
    if machine.warehouse_count >= machine.all_processors:
        return machine.all_processors
    if not machine.has_shared_queue:
        return machine.warehouse_count
    return math.ceil(machine.warehouse_count / machine.processors) * machine.processors


def _share_of_other_nodes(machine: Machine) -> float:
    """Return how likely the owner of another warehouse is in another node."""
    count, everywhere = machine.warehouse_count, machine.all_processors
    if count == 1:
        return 0.0
    each, rest = divmod(count, everywhere)
    of_nodes = [
        machine.processors * each + min(machine.processors, max(0, rest - first))
        for first in range(0, everywhere, machine.processors)
    ]
    return sum(held * (count - held) for held in of_nodes) / (count * (count - 1))


def _way(machine: Machine, kind: str, sent: float, received: float) -> dict[str, Demand]:
    nodes = machine.clusters * getattr(machine, _COUNTS[kind])
    by_row = {
        f"{kind} DMA send": Demand(sent * machine.dma_ms, nodes),
        f"{kind} DMA receive": Demand(received * machine.dma_ms, nodes),
        f"{kind} PCI": Demand((sent + received) * machine.pci_ms, nodes),
        f"{kind} switch port in": Demand(
            sent * machine.port_ms, nodes * machine.ports_out_of_a_node
        ),
        f"{kind} switch port out": Demand(received * machine.link_ms, nodes * machine.planes),
    }
    if kind == "node":
        by_row["memory bus"] = Demand((sent + received) * machine.bus_ms, nodes)
    return by_row


_COUNTS = {
    "node": "processing_nodes",
    "io": "io_nodes",
    "communication": "communication_nodes",
}


def _of_io_nodes(machine: Machine, activity: Counts, pci: Demand) -> dict[str, Demand]:
    """Return the demands at what works inside I/O nodes."""
    nodes = machine.clusters * machine.io_nodes
    pages = activity.fetches + activity.write_backs
    moved, written = pages * machine.cache_miss_rate, activity.records * machine.destage_share
    is_endless = machine.disks == INFINITE_DISKS
    arms = math.inf if is_endless else nodes * machine.disks * machine.disk_parallelism
    time_ms = moved * machine.disk_read_ms + written * machine.disk_write_ms
    pci_ms = pci.time_ms + (moved + written) * machine.page_packets * machine.pci_ms
    of_io_nodes = {
        "io processor": Demand(
            (pages + activity.records) * machine.io_processor_ms, nodes * machine.io_processors
        ),
        "io PCI": Demand(pci_ms, nodes),
        "disk": Demand(time_ms, arms),
    }
    if not is_endless:
        buses = nodes * min(machine.scsi_buses, machine.disks)
        of_io_nodes["SCSI bus"] = Demand((moved + written) * machine.scsi_ms, buses)
    return of_io_nodes


def _of_local_disks(machine: Machine, activity: Counts) -> dict[str, Demand]:
    """Return the demands at the disks of processing nodes, whose log takes any number together."""
    nodes = machine.clusters * machine.processing_nodes
    pages = activity.fetches + activity.write_backs
    transfer_ms = 1e-3 * activity.record_bytes / machine.disk_mb_s
    arms = nodes * machine.local_disks * machine.disk_parallelism
    disk = {"disk": Demand(pages * machine.disk_read_ms, arms)} if pages > 0 else {}
    return disk | {
        "log transfer": Demand(transfer_ms, nodes),
        "log": Demand(1.5 * activity.records * machine.log_write_ms, math.inf),
    }
