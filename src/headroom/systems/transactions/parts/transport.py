"""Messages from node to node, packet by packet.

A message is cut into loads; a load is what one send buffer holds. A load waits for a buffer, the
DMA fills it over the buses, and its packets leave one after the other for the switch. Each packet
holds the input port until the output port has room, and the output port until the receive buffer
has room. Packets of a load take the same route and stay in order, so the last to arrive completes
the load.

With `packet_trains` the packets of a load move through the switch as one, for the time of all: the
same answers in half the time (`make bench PART=transactions` compares them).
"""

from dataclasses import dataclass
from functools import cached_property

from headroom.simulation import Attribute, Expression, Model, Program, Station, draw, floor, uniform
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.parts.elements import Elements, Node


@dataclass(slots=True)
class Addresses:
    """The attributes of a message: its source, destination, plane and number of packets.

    Nodes are numbered over all clusters.
    """

    source: Attribute
    target: Attribute
    packets: Attribute
    plane: Attribute | None
    """None if there is only one plane."""


class Transport:
    """The programs that move messages; `send` gives the one for a message of a size."""

    def __init__(self, model: Model, machine: Machine, elements: Elements) -> None:
        self.addresses = Addresses(
            source=model.attribute("source"),
            target=model.attribute("target"),
            packets=model.attribute("packets"),
            plane=model.attribute("plane") if machine.planes > 1 else None,
        )
        self._model = model
        self._machine = machine
        self._elements = elements
        self._sent: dict[int, Program] = {}

    def send(self, size_bytes: int) -> Program:
        """Return the program of a message of `size_bytes` from `source` to `target`."""
        packets = self._machine.packets(size_bytes)
        if packets not in self._sent:
            self._sent[packets] = self._message(packets)
        return self._sent[packets]

    def _message(self, packets: int) -> Program:
        """Return the program of a message: all its loads at once, done with the last to arrive."""
        most = self._machine.packets_per_buffer
        loads = [min(most, packets - sent) for sent in range(0, packets, most)]
        message = self._model.program(f"send {packets} packets")
        if len(loads) == 1:
            self._send_load(message, packets)
            return message
        with message.fork() as loads_together:
            for load in loads:
                with loads_together.arm():
                    self._send_load(message, load)
        return message

    def _send_load(self, program: Program, packets: int) -> None:
        program.set(self.addresses.packets, packets)
        program.call(self._load)

    @cached_property
    def _load(self) -> Program:
        """Return the program of a load: buffer, DMA, buses, then its packets one by one."""
        at, machine = self.addresses, self._machine
        load = self._model.program("load")
        if at.plane is not None:
            is_by_node = machine.plane_choice == "by node"
            chosen = at.source % machine.planes if is_by_node else _uniform_below(machine.planes)
            load.set(at.plane, chosen)
        with load.branch("index", by=at.source) as source:
            for node in self._elements.nodes:
                with source.case(), load.holding(node.send_buffers):
                    self._fill(load, node)
                    if self._packet is not None:
                        with load.loop(at.packets - 1):
                            load.call(self._packet)
                    self._use_port_in(load, node)
        load.call(self._cross)
        return load

    def _fill(self, load: Program, node: Node) -> None:
        """Bring the packets of a load from the node's memory into the send buffer."""
        machine, packets = self._machine, self.addresses.packets
        if node.bus is not None:
            load.use(node.bus, packets * machine.bus_ms)
        load.use(node.dma_send, packets * machine.dma_ms)
        load.use(node.pci, packets * machine.pci_ms)

    def _use_port_in(self, load: Program, node: Node) -> None:
        if len(node.port_in) == 1:
            load.use(node.port_in[0], self._port_time())
        else:
            ports = list(node.port_in)
            load.use_one_of(ports, self._port_time(), policy="index", by=self._plane)

    @cached_property
    def _packet(self) -> Program | None:
        """Return the program of a packet that is not the last of its load; None without such."""
        if self._machine.packet_trains or self._machine.packets_per_buffer == 1:
            return None
        count = self._machine.ports_out_of_a_node
        ports = [port for node in self._elements.nodes for port in node.port_in]
        packet = self._model.program("packet")
        by = self.addresses.source * count + (self._plane if count > 1 else 0.0)
        packet.use_one_of(ports, self._port_time(), policy="index", by=by)
        packet.reply()
        packet.call(self._cross)
        return packet

    @cached_property
    def _cross(self) -> Program:
        """Return the program of a packet from the input port of its switch into the memory."""
        cross = self._model.program("cross")
        if self._machine.clusters > 1:
            self._between_clusters(cross)
        at, machine = self.addresses, self._machine
        with cross.branch("index", by=at.target * machine.planes + self._plane) as target:
            for node in self._elements.nodes:
                for port in node.port_out:
                    with target.case():
                        cross.use(port, self._moving(machine.link_ms))
                        cross.use(node.dma_receive, self._moving(machine.dma_ms))
                        cross.use(node.pci, self._moving(machine.pci_ms))
                        if node.bus is not None:
                            cross.use(node.bus, self._moving(machine.bus_ms))
        return cross

    def _between_clusters(self, cross: Program) -> None:
        """Let packets for another cluster climb to the level above and come down again."""
        at, nodes = self.addresses, self._machine.nodes_of_a_cluster
        here, there = floor(at.source / nodes), floor(at.target / nodes)
        with cross.branch() as way, way.when(here != there):
            self._hop(cross, self._elements.up, here)
            if self._elements.across:
                size = self._machine.clusters_of_a_group
                groups = [floor(node / size) for node in (here, there)]
                with cross.branch() as far, far.when(groups[0] != groups[1]):
                    self._hop(cross, self._elements.across, groups[0])
            self._hop(cross, self._elements.down, there)

    def _hop(self, cross: Program, links: list[tuple[Station, ...]], place: Expression) -> None:
        stations = [link for of_planes in links for link in of_planes]
        by = place * self._machine.planes + self._plane
        cross.use_one_of(stations, self._moving(self._machine.link_ms), policy="index", by=by)

    @property
    def _plane(self) -> Attribute | float:
        """The plane of a packet, as an expression knows it."""
        return 0.0 if self.addresses.plane is None else self.addresses.plane

    def _port_time(self) -> Expression | float:
        return self._moving(self._machine.port_ms)

    def _moving(self, packet_ms: float) -> Expression | float:
        """Return the time of what moves as one: a packet, or all packets of a load."""
        is_train = self._machine.packet_trains
        return self.addresses.packets * packet_ms if is_train else packet_ms


def _uniform_below(count: int) -> Expression:
    return floor(draw(uniform(0, count)))
