"""A machine under TPC-C: its numbers, derived values, and the checks of impossible machines.

A *processing node* runs the transactions of its processors' warehouses; an *I/O node* holds disk
cache and disks; a *communication node* takes in what terminals send. The nodes of a cluster share
a crossbar switch in each plane of the network, and clusters are joined by a level of switches
above. Sources: Kim et al., sections 3.1 and 3.2; each number's own source is in the machine file.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias, get_args

from headroom.errors import StudyError
from headroom.systems.transactions.workload.buffer import miss_shares
from headroom.systems.transactions.workload.tpcc import Table

INFINITE_DISKS = 0
"""Number of disks that represents one disk per request."""
GROUPS_AT_MOST = 2
"""Groups of clusters that can be joined directly."""
UNCROWDED = 16
"""Terminals of a node up to which crowding was measured to cost nothing notable."""
CHOICES = {
    "plane_choice": ("by node", "by chance"),
    "ready_queue": ("own", "shared"),
    "think_law": ("constant", "exponential", "standard"),
}
"""Words that a number of a machine may be."""
TRANSACTIONS_FROM_OUTSIDE = 100_000
"""Default number of transactions of a run with arrivals from outside."""

Flaws: TypeAlias = Iterator[tuple[str, str]]
"""Errors, each with its hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Numbers of a machine, its software and its load; units are in the names.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> spax = machine_model("spax").machine()
    >>> spax.warehouse_count, spax.page_packets
    (16, 64)
    """

    clusters: int
    processing_nodes: int
    io_nodes: int
    communication_nodes: int
    processors: int
    planes: int
    plane_choice: str
    switch_ports: int
    uplinks: int

    arrivals_per_s: float
    warehouses: int
    warehouse_mb: float
    terminals: int
    terminals_in_all: int
    think_ms: float
    think_law: str
    start_within_ms: float
    transactions_per_terminal: int
    transactions_in_all: int
    remote_line_share: float
    remote_payment_share: float
    rollback_share: float
    row_locks: bool

    buffer_mb: float
    io_probability: float
    cache_miss_rate: float
    write_back_share: float

    ready_queue: str
    processor_mhz: float
    cycles_per_instruction: float
    path_length_factor: float
    call_kiloinstructions: float
    scan_kiloinstructions: float
    commit_kiloinstructions: float
    io_kiloinstructions: float
    message_kiloinstructions: float
    switch_kiloinstructions: float

    statement_round_trips: float
    round_trip_ms: float
    standbys: int
    standby_ms: float
    background_share: float
    crowding_share: float

    page_bytes: int
    request_bytes: int
    log_bytes: int
    result_bytes: int

    packet_bytes: int
    packets_per_buffer: int
    node_send_buffers: int
    node_receive_buffers: int
    io_send_buffers: int
    io_receive_buffers: int
    packet_trains: bool
    dma_handling_us: float
    port_handling_us: float
    bus_mb_s: float
    pci_mb_s: float
    dma_mb_s: float
    switch_mhz: float
    link_bytes: int
    routing_cycles: float

    io_processors: int
    io_processor_mhz: float
    io_request_kiloinstructions: float
    disks: int
    disk_parallelism: int
    disk_overhead_ms: float
    seek_ms: float
    elevator_factor: float
    rotation_ms: float
    disk_mb_s: float
    scsi_buses: int
    scsi_mb_s: float
    destage_share: float
    local_disks: int
    log_write_ms: float

    @property
    def nodes_of_a_cluster(self) -> int:
        """Nodes that share a cluster's switches."""
        return self.processing_nodes + self.io_nodes + self.communication_nodes

    @property
    def all_processors(self) -> int:
        """Processors of all processing nodes."""
        return self.clusters * self.processing_nodes * self.processors

    @property
    def warehouse_count(self) -> int:
        """Warehouses; unless stated otherwise, one for each processor (Kim et al., section 3.2)."""
        return self.warehouses or self.all_processors

    @property
    def terminal_count(self) -> int:
        """Terminals of all warehouses."""
        return self.terminals_in_all or self.terminals * self.warehouse_count

    @property
    def transaction_count(self) -> int:
        """Transactions after which a run ends."""
        if self.transactions_in_all:
            return self.transactions_in_all
        if self.arrivals_per_s > 0:
            return TRANSACTIONS_FROM_OUTSIDE
        return self.transactions_per_terminal * self.terminal_count

    @property
    def warehouses_of_a_node(self) -> float:
        """Warehouses whose transactions run in one processing node."""
        return self.warehouse_count / (self.clusters * self.processing_nodes)

    @property
    def has_shared_queue(self) -> bool:
        """Whether the processors of a node take processes from one ready queue."""
        return self.ready_queue == "shared"

    @property
    def page_packets(self) -> int:
        """Packets (count) on the network for one page of the database."""
        return self.packets(self.page_bytes)

    def packets(self, size_bytes: int) -> int:
        """Return the packets of a message."""
        return max(1, math.ceil(size_bytes / self.packet_bytes))

    @property
    def ports_of_a_cluster(self) -> int:
        """Ports of a cluster's switch left for nodes."""
        return self.switch_ports - (self.uplinks if self.clusters > 1 else 0)

    @property
    def ports_out_of_a_node(self) -> int:
        """Input ports of switches that a node sends to: of one plane, or of any."""
        return 1 if self.plane_choice == "by node" else self.planes

    @property
    def clusters_of_a_group(self) -> int:
        """Clusters that a switch of the level above joins; its other ports lead to the other group.

        There are as many such switches as a cluster has uplinks, one for each.
        """
        return max(1, self.switch_ports - self.uplinks)

    @property
    def groups(self) -> int:
        """Groups of clusters."""
        return math.ceil(self.clusters / self.clusters_of_a_group)

    @property
    def group_links(self) -> int:
        """Links from a group to the other in each plane: `uplinks` ports of as many switches."""
        return self.uplinks**2

    @property
    def has_io(self) -> bool:
        """Whether pages can be fetched and records made safe, at I/O nodes or at disks here."""
        return self.io_nodes > 0 or self.is_local

    @property
    def is_local(self) -> bool:
        """Whether the disks are those of the processing nodes themselves."""
        return self.local_disks > 0

    @property
    def fetches_pages(self) -> bool:
        """Whether any access needs a page that is not in the database's buffer."""
        return any(self.miss_share(table) > 0 for table in get_args(Table))

    def miss_share(self, table: Table) -> float:
        """Return the share of accesses to a table whose page is not in the database's buffer."""
        if self.buffer_mb <= 0:
            return self.io_probability
        return miss_shares(
            buffer_pages=1e6 * self.buffer_mb / self.page_bytes,
            warehouses=self.warehouses_of_a_node,
            warehouse_mb=self.warehouse_mb,
            page_bytes=self.page_bytes,
        )[table]

    def processor_ms(self, kiloinstructions: float) -> float:
        """Return how long a processor needs for a number of thousand database instructions."""
        cycles = 1e3 * kiloinstructions * self.cycles_per_instruction * self.path_length_factor
        return cycles / (1e3 * self.processor_mhz) * self.slowing

    @property
    def slowing(self) -> float:
        """How much longer work takes because of crowding, and of checkpoints and vacuum."""
        if not (self.crowding_share or self.background_share):
            return 1.0
        terminals = self.terminal_count / (self.clusters * self.processing_nodes)
        further = max(terminals - UNCROWDED, 0.0)
        return (1.0 + self.crowding_share * further) / (1.0 - self.background_share)

    @property
    def io_processor_ms(self) -> float:
        """Time (ms) that the processor of an I/O or communication node needs for a request."""
        cycles = 1e3 * self.io_request_kiloinstructions * self.cycles_per_instruction
        return cycles / (1e3 * self.io_processor_mhz)

    @property
    def dma_ms(self) -> float:
        """Time (ms) of a packet at a DMA controller."""
        return 1e-3 * (self.dma_handling_us + self.packet_bytes / self.dma_mb_s)

    @property
    def port_ms(self) -> float:
        """Time (ms) of a packet at an input port of a switch: handling, then the link."""
        return 1e-3 * self.port_handling_us + self.link_ms

    @property
    def link_ms(self) -> float:
        """Time (ms) of a packet from one port of a switch to the next: routing and transfer."""
        cycles = self.routing_cycles + self.packet_bytes / self.link_bytes
        return 1e-3 * cycles / self.switch_mhz

    @property
    def pci_ms(self) -> float:
        """Time (ms) of a packet on a PCI bus."""
        return 1e-3 * self.packet_bytes / self.pci_mb_s

    @property
    def bus_ms(self) -> float:
        """Time (ms) of a packet on a memory bus."""
        return 1e-3 * self.packet_bytes / self.bus_mb_s

    @property
    def scsi_ms(self) -> float:
        """Time (ms) of a page on a SCSI bus."""
        return 1e-3 * self.page_bytes / self.scsi_mb_s

    @property
    def disk_write_ms(self) -> float:
        """Mean time (ms) of a page at a disk if accesses are sequential: no seek."""
        transfer_ms = 1e-3 * self.page_bytes / self.disk_mb_s
        return self.disk_overhead_ms + transfer_ms + self.rotation_ms / 2

    @property
    def disk_read_ms(self) -> float:
        """Mean time (ms) of a page at a disk; the elevator shortens the seek."""
        return self.disk_write_ms + self.seek_ms * self.elevator_factor

    def check(self) -> None:
        """Raise `StudyError` if such a machine is impossible; the message has all reasons."""
        reasons = [*self._wrong_numbers(), *self._wrong_network(), *self._wrong_nodes()]
        if reasons:
            flaws, cures = zip(*reasons, strict=True)
            raise StudyError(f"the machine is not valid: {'; '.join(flaws)}", cure="; ".join(cures))

    def _wrong_numbers(self) -> Flaws:
        """Yield numbers that nothing can have, whatever a machine file declares as their range."""
        for name in FIELDS:
            value = getattr(self, name)
            if isinstance(value, (str, bool)):
                continue
            least, most = _least(name), _MOST.get(name, math.inf)
            if name in _RATES and not value > 0:
                yield f"{name} is {value:g}", f"set {name} above 0"
            elif not least <= value <= most:
                limits = f"{least:g} to {most:g}" if most < math.inf else f"{least:g} or more"
                yield f"{name} is {value:g}", f"set {name} to {limits}"
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                known = " or ".join(map(repr, choices))
                yield f"{name} is {getattr(self, name)!r}", f"choose {known}"

    def _wrong_network(self) -> Flaws:
        """Yield errors in the network of switches."""
        nodes, ports = self.nodes_of_a_cluster, self.ports_of_a_cluster
        beside = f" next to {self.uplinks} that lead to other clusters" if self.clusters > 1 else ""
        if self.groups > GROUPS_AT_MOST:
            most = GROUPS_AT_MOST * self.clusters_of_a_group
            yield (
                f"switches of {self.switch_ports} ports join at most {most} clusters, not "
                f"{self.clusters}",
                f"keep to {most} clusters",
            )
        if nodes > ports:
            yield (
                f"a cluster has {nodes} nodes ({self.processing_nodes} processing, "
                f"{self.io_nodes} I/O, {self.communication_nodes} communication), and its switch "
                f"has {ports} ports for them{beside}",
                f"keep to {ports} nodes a cluster",
            )

    def _wrong_nodes(self) -> Flaws:
        """Yield errors in the nodes."""
        capacity = self.packets_per_buffer * self.packet_bytes
        if capacity < self.packet_bytes:
            yield (
                f"a buffer of {capacity} B holds no packet of {self.packet_bytes} B",
                "set packets_per_buffer to 1 or more",
            )
        if self.is_local and self.io_nodes > 0:
            yield (
                f"{self.local_disks} disks in each processing node leave {self.io_nodes} I/O "
                "nodes nothing to do",
                "set io_nodes to 0, or local_disks to 0",
            )
        if self.has_io:
            return
        if self.buffer_mb > 0:
            yield (
                f"a buffer of {self.buffer_mb:g} MB is filled from disks, and there are none",
                "set io_nodes or local_disks to 1 or more, or buffer_mb and io_probability to 0",
            )
        elif self.io_probability > 0:
            yield (
                f"{100 * self.io_probability:g}% of the accesses need an I/O node, and there is "
                "none",
                "set io_nodes (or local_disks) to 1 or more, or io_probability to 0",
            )


FIELDS = {field.name: field.type for field in fields(Machine)}
"""Name and type of each number of a machine."""
_RATES = frozenset(
    name
    for name in FIELDS
    if name.endswith(("_mhz", "_mb_s")) or name in ("cycles_per_instruction", "warehouse_mb")
)
"""Numbers that something is divided by."""
_COUNTED_FROM_0 = frozenset(
    {
        "io_nodes",
        "communication_nodes",
        "disks",
        "local_disks",
        "packets_per_buffer",
        "warehouses",
        "terminals_in_all",
        "transactions_in_all",
        "standbys",
    }
)
_MOST: dict[str, float] = {
    "remote_line_share": 1,
    "remote_payment_share": 1,
    "rollback_share": 1,
    "write_back_share": 1,
    "io_probability": 1,
    "cache_miss_rate": 1,
    "destage_share": 1,
    "elevator_factor": 1,
    "statement_round_trips": 1,
    "standbys": 2,
    "background_share": 0.9,
}


def _least(name: str) -> float:
    """Return the lowest value of a number: whole ones count something that must be there."""
    return 1 if FIELDS[name] is int and name not in _COUNTED_FROM_0 else 0
