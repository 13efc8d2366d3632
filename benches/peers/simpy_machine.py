"""The machine under TPC-C in SimPy: the same stations, tokens and programs, written for SimPy.

It uses only the numbers of a `Machine` from Headroom. Every element is a `simpy.Resource`, every
load of packets its own process, and each step of a program one method, following SimPy's
documentation for machines that queue for each other. Only completions are counted.

Stations with limited places follow SimPy's own examples of blocking: a job keeps its place until it
has acquired the next one.
"""

import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import simpy

from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.workload import tpcc as workload
from headroom.systems.transactions.workload.tpcc import Work

Process = Generator[simpy.Event, Any, None]
Part = Callable[["Terminal"], Process]

NAME = f"SimPy {version('simpy')}"


class Node:
    """The way of packets out of a node and into it."""

    def __init__(
        self, environment: simpy.Environment, machine: Machine, *, is_io: bool, has_bus: bool
    ) -> None:
        resource = partial(simpy.Resource, environment)
        send = machine.io_send_buffers if is_io else machine.node_send_buffers
        receive = machine.io_receive_buffers if is_io else machine.node_receive_buffers
        self.send_buffers = resource(capacity=send)
        self.dma_send, self.dma_receive = resource(), resource()
        loads = 1 if machine.packet_trains else machine.packets_per_buffer
        self.places = resource(capacity=receive * loads)
        self.pci = resource()
        self.bus = resource() if has_bus else None
        self.port_in = [resource() for _ in range(machine.planes)]
        self.port_out = [resource() for _ in range(machine.planes)]


@dataclass
class Terminal:
    """The state of a terminal's process."""

    home: int
    place: int
    burst: float = 0.0


@dataclass
class Elements:
    """All elements, numbered over all clusters."""

    nodes: list[Node] = field(default_factory=list)
    processors: list[simpy.Resource] = field(default_factory=list)
    io_processors: list[simpy.Resource] = field(default_factory=list)
    communication: list[simpy.Resource] = field(default_factory=list)
    disks: list[list[simpy.Resource]] = field(default_factory=list)
    scsi: list[list[simpy.Resource]] = field(default_factory=list)
    up: list[list[simpy.Resource]] = field(default_factory=list)
    down: list[list[simpy.Resource]] = field(default_factory=list)
    across: list[list[simpy.Resource]] = field(default_factory=list)


class Simulation:
    """A machine, its terminals, and how many transactions have been done."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.environment = simpy.Environment()
        self.draw = random.Random(seed)  # noqa: S311 - a simulation, not a secret
        self.elements = self._elements()
        self.visit_count = 0
        self.done_count = 0
        self.is_done = self.environment.event()
        self.wanted = 0
        self._deck: list[workload.Kind] = []
        self._walks: dict[workload.Kind, Part] = {
            "New-Order": self._new_order,
            "Payment": self._payment,
            "Order-Status": self._order_status,
            "Delivery": self._delivery,
            "Stock-Level": self._stock_level,
        }

    def run(self, transactions: int) -> float:
        """Return the throughput (1/s) of the given number of transactions from the start."""
        self.wanted = transactions
        machine = self.machine
        for number in range(machine.terminal_count):
            home = number % machine.warehouse_count
            self.environment.process(self._terminal(Terminal(home, home)))
        self.environment.run(until=self.is_done)
        return 1e3 * transactions / float(self.environment.now)

    # Elements.

    def _elements(self) -> Elements:
        machine, made = self.machine, Elements()
        for _ in range(machine.clusters):
            self._add_cluster(made)
        for _ in range(machine.groups if machine.groups > 1 else 0):
            made.across.append(self._links(machine.group_links))
        return made

    def _add_cluster(self, made: Elements) -> None:
        machine, resource = self.machine, partial(simpy.Resource, self.environment)
        node = partial(Node, self.environment, machine)
        for _ in range(machine.processing_nodes):
            made.nodes.append(node(is_io=False, has_bus=True))
            made.processors += [resource() for _ in range(machine.processors)]
        for _ in range(machine.io_nodes):
            made.nodes.append(node(is_io=True, has_bus=False))
            made.io_processors.append(resource(capacity=machine.io_processors))
            parallel = machine.disk_parallelism
            made.disks.append([resource(capacity=parallel) for _ in range(machine.disks)])
            buses = min(machine.scsi_buses, machine.disks)
            made.scsi.append([resource() for _ in range(buses)])
        for _ in range(machine.communication_nodes):
            made.nodes.append(node(is_io=False, has_bus=False))
            made.communication.append(resource(capacity=machine.io_processors))
        if machine.clusters > 1:
            made.up.append(self._links(machine.uplinks))
            made.down.append(self._links(machine.uplinks))

    def _links(self, count: int) -> list[simpy.Resource]:
        planes = range(self.machine.planes)
        return [simpy.Resource(self.environment, capacity=count) for _ in planes]

    # Terminals and transactions.

    def _terminal(self, terminal: Terminal) -> Process:
        walks, think_ms = self._walks, self.machine.think_ms
        yield self.environment.timeout(self.draw.uniform(0, self.machine.start_within_ms))
        while True:
            terminal.place = terminal.home
            terminal.burst = self.machine.processor_ms(self.machine.switch_kiloinstructions)
            kind = self._card()
            if self.machine.communication_nodes:
                yield from self._terminal_message(terminal, is_answer=False)
            yield from walks[kind](terminal)
            yield from self._run_burst(terminal)
            if self.machine.communication_nodes:
                yield from self._terminal_message(terminal, is_answer=True)
            self.done_count += 1
            if self.done_count == self.wanted:
                self.is_done.succeed()
            if think_ms > 0:
                yield self.environment.timeout(self.draw.expovariate(1 / think_ms))

    def _card(self) -> workload.Kind:
        if not self._deck:
            self._deck = [kind for kind, cards in workload.DECK.items() for _ in range(cards)]
            self.draw.shuffle(self._deck)
        return self._deck.pop()

    def _new_order(self, at: Terminal) -> Process:
        yield from self._do(at, workload.HEADER)
        for _ in range(self.draw.randint(workload.LEAST_LINES, workload.MOST_LINES)):
            yield from self._do(at, workload.ITEM)
            stock = partial(self._do, work=workload.STOCK)
            yield from self._perhaps_remote(at, self.machine.remote_line_share, stock)
        if self.draw.random() < self.machine.rollback_share:
            yield from self._do(at, workload.UNDO)
            self._finish(at)
        else:
            yield from self._commit(at)

    def _payment(self, at: Terminal) -> Process:
        yield from self._do(at, workload.YEAR_TO_DATE)
        yield from self._perhaps_remote(at, self.machine.remote_payment_share, self._pay)
        yield from self._commit(at)

    def _pay(self, at: Terminal) -> Process:
        yield from self._customer(at, workload.PAYING_CUSTOMER)
        yield from self._do(at, workload.CUSTOMER_UPDATE)

    def _order_status(self, at: Terminal) -> Process:
        yield from self._customer(at, workload.CUSTOMER)
        yield from self._do(at, workload.LAST_ORDER)
        self._finish(at)

    def _delivery(self, at: Terminal) -> Process:
        for _ in range(workload.DISTRICTS):
            yield from self._do(at, workload.DISTRICT_DELIVERY)
        yield from self._commit(at)
        if self.machine.has_io:
            yield from self._sleep(at, self._write(at, self.machine.result_bytes))

    def _stock_level(self, at: Terminal) -> Process:
        yield from self._do(at, workload.DISTRICT_READ)
        yield from self._do(at, workload.RECENT_STOCK)
        self._finish(at)

    def _customer(self, at: Terminal, wanted: Work) -> Process:
        if self.draw.random() < workload.BY_NAME_SHARE:
            yield from self._do(at, workload.NAME)
            others, rest = divmod(workload.CUSTOMERS_OF_A_NAME - 1, 1)
            for _ in range(int(others) + (self.draw.random() < rest)):
                yield from self._do(at, workload.CUSTOMER)
        yield from self._do(at, wanted)

    # Work at processors.

    def _do(self, at: Terminal, work: Work) -> Process:
        machine = self.machine
        for access in work.accesses:
            if self.draw.random() < machine.io_probability:
                yield from self._sleep(at, self._page(at, is_written=False))
                if access.changes and self.draw.random() < machine.write_back_share:
                    at.burst += machine.processor_ms(machine.io_kiloinstructions)
                    # The writer is another process: it starts from the current state of this one.
                    copy = Terminal(at.home, at.place)
                    self.environment.process(self._page(copy, is_written=True))
        thousand = work.calls * machine.call_kiloinstructions
        at.burst += machine.processor_ms(thousand + work.scans * machine.scan_kiloinstructions)

    def _finish(self, at: Terminal) -> None:
        at.burst += self.machine.processor_ms(self.machine.commit_kiloinstructions)

    def _commit(self, at: Terminal) -> Process:
        self._finish(at)
        if self.machine.has_io:
            yield from self._sleep(at, self._write(at, self.machine.log_bytes))

    def _sleep(self, at: Terminal, what: Process) -> Process:
        at.burst += self.machine.processor_ms(self.machine.io_kiloinstructions)
        yield from self._run_burst(at)
        yield from what
        at.burst = self.machine.processor_ms(self.machine.switch_kiloinstructions)

    def _run_burst(self, at: Terminal) -> Process:
        yield from self._use(self.elements.processors[at.place], at.burst)

    def _use(self, station: simpy.Resource, time_ms: float) -> Process:
        with station.request() as turn:
            yield turn
            yield self.environment.timeout(time_ms)
        self.visit_count += 1

    def _perhaps_remote(self, at: Terminal, share: float, work: Part) -> Process:
        others = self.machine.warehouse_count - 1
        if others == 0 or self.draw.random() >= share:
            yield from work(at)
            return
        machine = self.machine
        message_ms = machine.processor_ms(machine.message_kiloinstructions)
        woken_ms = message_ms + machine.processor_ms(machine.switch_kiloinstructions)
        owner = (at.home + 1 + self.draw.randrange(others)) % machine.warehouse_count
        at.burst += message_ms
        yield from self._run_burst(at)
        yield from self._message(at.home, owner)
        at.place, at.burst = owner, woken_ms
        yield from work(at)
        at.burst += message_ms
        yield from self._run_burst(at)
        yield from self._message(owner, at.home)
        at.place, at.burst = at.home, woken_ms

    def _message(self, source: int, target: int) -> Process:
        here, there = self._node_of(source), self._node_of(target)
        if here != there:
            yield from self._send(here, there, self.machine.request_bytes)

    def _terminal_message(self, at: Terminal, *, is_answer: bool) -> Process:
        machine = self.machine
        cluster = at.home // (machine.processors * machine.processing_nodes)
        node = (cluster + 1) * machine.nodes_of_a_cluster - machine.communication_nodes
        station = self.elements.communication[cluster * machine.communication_nodes]
        home = self._node_of(at.home)
        if is_answer:
            yield from self._send(home, node, machine.request_bytes)
            yield from self._use(station, machine.io_processor_ms)
        else:
            yield from self._use(station, machine.io_processor_ms)
            yield from self._send(node, home, machine.request_bytes)

    def _node_of(self, processor: int) -> int:
        machine = self.machine
        cluster, inside = divmod(processor // machine.processors, machine.processing_nodes)
        return cluster * machine.nodes_of_a_cluster + inside

    # Input and output.

    def _io_node(self, at: Terminal) -> tuple[int, int]:
        """Return an I/O node of the cluster, and its number among the nodes."""
        machine = self.machine
        cluster = at.place // (machine.processors * machine.processing_nodes)
        inside = self.draw.randrange(machine.io_nodes)
        first = cluster * machine.nodes_of_a_cluster + machine.processing_nodes
        return cluster * machine.io_nodes + inside, first + inside

    def _page(self, at: Terminal, *, is_written: bool) -> Process:
        machine, home = self.machine, self._node_of(at.place)
        io_node, node = self._io_node(at)
        ask, answer = machine.request_bytes, machine.page_bytes
        if is_written:
            ask, answer = answer, ask
        yield from self._send(home, node, ask)
        yield from self._use(self.elements.io_processors[io_node], machine.io_processor_ms)
        if machine.cache_miss_rate > 0 and self.draw.random() < machine.cache_miss_rate:
            yield from self._disk(io_node, node, is_sequential=False)
        yield from self._send(node, home, answer)

    def _write(self, at: Terminal, size_bytes: int) -> Process:
        machine, home = self.machine, self._node_of(at.place)
        io_node, node = self._io_node(at)
        yield from self._send(home, node, size_bytes)
        yield from self._use(self.elements.io_processors[io_node], machine.io_processor_ms)
        if self.draw.random() < machine.destage_share:
            self.environment.process(self._disk(io_node, node, is_sequential=True))
        yield from self._send(node, home, machine.request_bytes)

    def _disk(self, io_node: int, node: int, *, is_sequential: bool) -> Process:
        machine, elements = self.machine, self.elements
        time_ms = machine.disk_overhead_ms + 1e-3 * machine.page_bytes / machine.disk_mb_s
        time_ms += self.draw.uniform(0, machine.rotation_ms)
        if not is_sequential:
            time_ms += self.draw.uniform(0, 2 * machine.seek_ms * machine.elevator_factor)
        if machine.disks == 0:
            yield self.environment.timeout(time_ms)
            self.visit_count += 1
        else:
            disk = self.draw.randrange(machine.disks)
            yield from self._use(elements.disks[io_node][disk], time_ms)
            buses = elements.scsi[io_node]
            bus_ms = 1e-3 * machine.page_bytes / machine.scsi_mb_s
            yield from self._use(buses[disk % len(buses)], bus_ms)
        pci = elements.nodes[node].pci
        yield from self._use(pci, machine.page_packets * machine.pci_ms)

    # Messages: loads of packets, each its own process.

    def _send(self, source: int, target: int, size_bytes: int) -> Process:
        machine, most = self.machine, self.machine.packets_per_buffer
        packets = max(1, math.ceil(size_bytes / machine.packet_bytes))
        if packets <= most:
            yield from self._load(source, target, packets)
            return
        loads = (min(most, packets - sent) for sent in range(0, packets, most))
        arrive = [self.environment.process(self._load(source, target, load)) for load in loads]
        yield self.environment.all_of(arrive)

    def _load(self, source: int, target: int, packets: int) -> Process:
        machine, node = self.machine, self.elements.nodes[source]
        is_by_node = machine.plane_choice == "by node"
        plane = source % machine.planes if is_by_node else self.draw.randrange(machine.planes)
        together = packets if machine.packet_trains else 1
        port, time_ms = node.port_in[plane], together * machine.port_ms
        with node.send_buffers.request() as buffer:
            yield buffer
            if node.bus is not None:
                yield from self._use(node.bus, packets * machine.bus_ms)
            yield from self._use(node.dma_send, packets * machine.dma_ms)
            yield from self._use(node.pci, packets * machine.pci_ms)
            for left in range(packets // together - 1, -1, -1):
                turn = port.request()
                yield turn
                yield self.environment.timeout(time_ms)
                self.visit_count += 1
                crossing = self._cross(source, target, plane, together, behind=port, turn=turn)
                if left:
                    self.environment.process(crossing)
        yield from crossing

    def _cross(
        self,
        source: int,
        target: int,
        plane: int,
        together: int,
        *,
        behind: simpy.Resource,
        turn: Any,  # noqa: ANN401 - a request of SimPy
    ) -> Process:
        """Let packets through the switches; they keep what is behind them until there is room."""
        machine, node = self.machine, self.elements.nodes[target]
        for link in (*self._between(source, target, plane), node.port_out[plane]):
            ahead = link.request()
            yield ahead
            behind.release(turn)
            behind, turn = link, ahead
            yield self.environment.timeout(together * machine.link_ms)
            self.visit_count += 1
        place = node.places.request()
        yield place
        behind.release(turn)
        yield from self._use(node.dma_receive, together * machine.dma_ms)
        node.places.release(place)
        yield from self._use(node.pci, together * machine.pci_ms)
        if node.bus is not None:
            yield from self._use(node.bus, together * machine.bus_ms)

    def _between(self, source: int, target: int, plane: int) -> list[simpy.Resource]:
        """Return the links between the switches of two nodes."""
        here, there = (node // self.machine.nodes_of_a_cluster for node in (source, target))
        if here == there:
            return []
        groups = [node // self.machine.clusters_of_a_group for node in (here, there)]
        across = [self.elements.across[groups[0]][plane]] if groups[0] != groups[1] else []
        return [self.elements.up[here][plane], *across, self.elements.down[there][plane]]
