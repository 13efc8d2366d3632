"""The elements of a machine as stations and pools, whose numbers can be changed.

Similar elements are reported in one row: ``io dma`` represents the DMA controllers of all I/O
nodes. A send buffer is a token that a load of packets holds from before the DMA fills it until its
last packet has left for the switch. A switch port and a receive buffer are places: a packet that
finds none free keeps the place behind it (back-pressure).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from headroom.simulation import Model, Pool, Station
from headroom.systems.transactions.machine import INFINITE_DISKS, Machine

if TYPE_CHECKING:
    from headroom.simulation.language.stations import Discipline

NodeKind: TypeAlias = Literal["node", "io", "communication"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The way of packets out of a node and into it.

    Parameters
    ----------
    kind
        What node it is; the rows of its elements begin with it.
    send_buffers
        Packet buffers on the way out (SNI).
    dma_send, dma_receive
        DMA channels; the places before the receiving one are the buffers on the way in (RNI).
    pci
        PCI bus.
    bus
        Memory bus of a processing node, None elsewhere.
    port_in, port_out
        Ports of the switch of each plane, seen from the switch; those by which the node sends,
        and those by which it receives.
    """

    kind: NodeKind
    send_buffers: Pool
    dma_send: Station
    dma_receive: Station
    pci: Station
    bus: Station | None
    port_in: tuple[Station, ...]
    port_out: tuple[Station, ...]


@dataclass(slots=True)
class Elements:
    """All elements of a machine; nodes, processors and I/O nodes are numbered over all clusters."""

    nodes: list[Node] = field(default_factory=list)
    processors: list[Station] = field(default_factory=list)
    io_processors: list[Station] = field(default_factory=list)
    disks: list[list[Station]] = field(default_factory=list)
    scsi: list[list[Station]] = field(default_factory=list)
    logs: list[Station] = field(default_factory=list)
    log_transfers: list[Station] = field(default_factory=list)
    communication_processors: list[Station] = field(default_factory=list)
    up: list[tuple[Station, ...]] = field(default_factory=list)
    down: list[tuple[Station, ...]] = field(default_factory=list)
    across: list[tuple[Station, ...]] = field(default_factory=list)


def build_elements(model: Model, machine: Machine) -> Elements:
    """Add all elements of `machine` to `model`."""
    made = Elements()
    for cluster in range(machine.clusters):
        with model.inside(f"cluster {cluster + 1}"):
            for kind, number in _nodes_of_a_cluster(machine):
                with model.inside(f"{kind} {number + 1}"):
                    _inside(model, machine, kind, made)
                    made.nodes.append(_way(model, machine, kind))
            if machine.clusters > 1:
                made.up.append(_links(model, machine, "up", machine.uplinks))
                made.down.append(_links(model, machine, "down", machine.uplinks))
    for group in range(machine.groups if machine.groups > 1 else 0):
        with model.inside(f"group {group + 1}"):
            made.across.append(_links(model, machine, "across", machine.group_links))
    return made


def _nodes_of_a_cluster(machine: Machine) -> Iterator[tuple[NodeKind, int]]:
    """Yield kind and number of each node in the order of the node numbers."""
    kinds: tuple[tuple[NodeKind, int], ...] = (
        ("node", machine.processing_nodes),
        ("io", machine.io_nodes),
        ("communication", machine.communication_nodes),
    )
    for kind, count in kinds:
        yield from ((kind, number) for number in range(count))


def _inside(model: Model, machine: Machine, kind: NodeKind, made: Elements) -> None:
    """Add the elements inside a node."""
    if kind == "communication":
        station = model.station(
            "processor", servers=machine.io_processors, group="communication processor"
        )
        made.communication_processors.append(station)
        return
    if kind == "node":
        _add_processors(model, machine, made)
        if machine.is_local:
            _add_local_disks(model, machine, made)
        return
    made.io_processors.append(
        model.station("processor", servers=machine.io_processors, group="io processor")
    )
    if machine.disks == INFINITE_DISKS:
        made.disks.append([model.station("disks", discipline="infinite", group="disk")])
        made.scsi.append([])
        return
    made.disks.append(
        [
            model.station(f"disk {index + 1}", servers=machine.disk_parallelism, group="disk")
            for index in range(machine.disks)
        ]
    )
    buses = min(machine.scsi_buses, machine.disks)
    made.scsi.append(
        [model.station(f"SCSI {index + 1}", group="SCSI bus") for index in range(buses)]
    )


def _add_processors(model: Model, machine: Machine, made: Elements) -> None:
    """Add the processors of a node, each with its ready queue or all with one."""
    # A holder of rows goes before others (`Processes.lock`).
    discipline: Discipline = "priority" if machine.row_locks else "fcfs"
    if machine.has_shared_queue:
        count = machine.processors
        made.processors.append(
            model.station("processors", servers=count, discipline=discipline, group="processor")
        )
        return
    made.processors += [
        model.station(f"processor {index + 1}", discipline=discipline, group="processor")
        for index in range(machine.processors)
    ]


def _add_local_disks(model: Model, machine: Machine, made: Elements) -> None:
    """Add the disks of a processing node; one write makes the log safe for all waiting jobs."""
    if machine.fetches_pages:
        made.disks.append(
            [
                model.station(f"disk {index + 1}", servers=machine.disk_parallelism, group="disk")
                for index in range(machine.local_disks)
            ]
        )
    made.log_transfers.append(model.station("log transfer", group="log transfer"))
    made.logs.append(model.station("log", discipline="infinite", group="log"))


def _way(model: Model, machine: Machine, kind: NodeKind) -> Node:
    """Add the elements that packets pass on their way out of a node and into it."""
    is_io = kind == "io"
    send = machine.io_send_buffers if is_io else machine.node_send_buffers
    receive = machine.io_receive_buffers if is_io else machine.node_receive_buffers
    planes = range(1, machine.planes + 1)
    return Node(
        kind=kind,
        send_buffers=model.pool("send buffers", tokens=send, group=f"{kind} send buffers"),
        dma_send=model.station("DMA send", group=f"{kind} DMA send"),
        dma_receive=model.station(
            "DMA receive",
            buffer=(receive if machine.packet_trains else receive * machine.packets_per_buffer) - 1,
            group=f"{kind} DMA receive",
        ),
        pci=model.station("PCI", group=f"{kind} PCI"),
        bus=model.station("bus", group="memory bus") if kind == "node" else None,
        port_in=tuple(
            model.station(f"port in {plane}", group=f"{kind} switch port in")
            for plane in planes[: machine.ports_out_of_a_node]
        ),
        port_out=tuple(
            model.station(f"port out {plane}", buffer=0, group=f"{kind} switch port out")
            for plane in planes
        ),
    )


def _links(model: Model, machine: Machine, name: str, count: int) -> tuple[Station, ...]:
    """Add the links between switches in one direction, one set for each plane."""
    return tuple(
        model.station(f"{name} {plane + 1}", servers=count, buffer=0, group=f"switch {name}")
        for plane in range(machine.planes)
    )
