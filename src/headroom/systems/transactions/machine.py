"""A machine under TPC-C: its numbers, what follows from them, and which machines are impossible.

A *processing node* runs the transactions of its processors' warehouses; an *I/O node* holds disk
cache and disks; a *communication node* takes in what terminals send. The nodes of a cluster share
a crossbar switch in each plane of the network, and clusters are joined by a level of switches
above. Sources: paper P0 sections 3.1 and 3.2; each number's own source is in the machine file.
"""

import math
from dataclasses import dataclass, fields

from headroom.errors import StudyError

SWITCH_PORTS = 10
"""Ports of an Xcent switch (paper P0, section 3.1)."""
UPLINKS = 2
"""Ports of a cluster's switch that lead to the level above, where there is more than one cluster."""
CLUSTERS_OF_A_GROUP = 8
"""Clusters that one switch of the level above joins; its other two ports lead to the next group."""
INFINITE_DISKS = 0
"""Number of disks that stands for as many as there are requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Numbers of a machine, its software and its load; units are in the names.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> spax = machine_model("spax").machine()
    >>> spax.warehouses, spax.page_packets
    (16, 64)
    """

    clusters: int
    processing_nodes: int
    io_nodes: int
    communication_nodes: int
    processors: int
    planes: int
    plane_choice: str

    terminals: int
    think_ms: float
    transactions_per_terminal: int
    remote_line_share: float
    remote_payment_share: float
    io_probability: float
    cache_miss_rate: float

    processor_mhz: float
    cycles_per_instruction: float
    path_length_factor: float
    call_kiloinstructions: float
    scan_kiloinstructions: float
    commit_kiloinstructions: float
    io_kiloinstructions: float
    message_kiloinstructions: float
    switch_kiloinstructions: float

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
    packet_handling_us: float
    bus_mb_s: float
    pci_mb_s: float
    dma_mb_s: float
    switch_mhz: float
    link_bytes: int
    routing_cycles: float

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

    @property
    def nodes_of_a_cluster(self) -> int:
        """Nodes that share a cluster's switches."""
        return self.processing_nodes + self.io_nodes + self.communication_nodes

    @property
    def warehouses(self) -> int:
        """Warehouses, one for each processor (paper P0, section 3.2)."""
        return self.clusters * self.processing_nodes * self.processors

    @property
    def page_packets(self) -> int:
        """Packets of a page."""
        return math.ceil(self.page_bytes / self.packet_bytes)

    @property
    def does_io(self) -> bool:
        """Whether any access needs an I/O node."""
        return self.io_probability > 0

    def processor_ms(self, kiloinstructions: float) -> float:
        """Return how long a processor needs for so many thousand instructions of the database."""
        cycles = 1e3 * kiloinstructions * self.cycles_per_instruction * self.path_length_factor
        return cycles / (1e3 * self.processor_mhz)

    @property
    def io_processor_ms(self) -> float:
        """Time (ms) that the processor of an I/O or communication node needs for a request."""
        cycles = 1e3 * self.io_request_kiloinstructions * self.cycles_per_instruction
        return cycles / (1e3 * self.io_processor_mhz)

    @property
    def dma_ms(self) -> float:
        """Time (ms) of a packet at a DMA controller."""
        return 1e-3 * (self.packet_handling_us + self.packet_bytes / self.dma_mb_s)

    @property
    def port_ms(self) -> float:
        """Time (ms) of a packet at an input port of a switch: handling, then the link."""
        return 1e-3 * self.packet_handling_us + self.link_ms

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

    def check(self) -> None:
        """Raise `StudyError` where such a machine cannot be."""
        for flaw, cure in self._flaws():
            raise StudyError(f"there is no such machine: {flaw}", cure=cure)

    def _flaws(self) -> "list[tuple[str, str]]":
        """Return what is wrong, each with its cure."""
        ports = SWITCH_PORTS - (UPLINKS if self.clusters > 1 else 0)
        nodes = self.nodes_of_a_cluster
        capacity = self.packets_per_buffer * self.packet_bytes
        found = []
        if nodes > ports:
            found.append(
                (
                    f"a cluster has {nodes} nodes ({self.processing_nodes} processing, "
                    f"{self.io_nodes} I/O, {self.communication_nodes} communication), and its "
                    f"switch has {ports} ports for them"
                    + (
                        f" beside {UPLINKS} that lead to other clusters"
                        if self.clusters > 1
                        else ""
                    ),
                    f"keep to {ports} nodes a cluster",
                )
            )
        if self.does_io and self.io_nodes == 0:
            found.append(
                (
                    f"{100 * self.io_probability:g} % of the accesses need an I/O node, and there "
                    "is none",
                    "set io_nodes to 1 or more, or io_probability to 0",
                )
            )
        if capacity < self.packet_bytes:
            found.append(
                (
                    f"a buffer of {capacity} B holds no packet of {self.packet_bytes} B",
                    "set packets_per_buffer to 1 or more",
                )
            )
        if self.plane_choice not in {"by node", "by chance"}:
            found.append(
                (
                    f"plane_choice is {self.plane_choice!r}",
                    "choose 'by node' or 'by chance'",
                )
            )
        return found


FIELDS = {one.name: one.type for one in fields(Machine)}
"""Name and type of each number of a machine."""
