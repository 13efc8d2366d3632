"""Requests of processors to I/O nodes: page reads, record writes, and disk activity meanwhile."""

from headroom.simulation import Attribute, Expression, Model, Program, draw, floor, uniform
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.parts.elements import Elements
from headroom.systems.transactions.parts.transport import Transport


class InputOutput:
    """Programs of requests to I/O nodes, walked by the process that waits for them.

    A page is on any I/O node of the process's cluster, and there on any disk, equally likely each.
    Records go to the I/O node's cache, which its battery makes as safe as a disk (Kim et al.,
    section 3.1); they reach a disk later, a few together.
    """

    def __init__(
        self,
        model: Model,
        machine: Machine,
        elements: Elements,
        transport: Transport,
        place: Attribute,
    ) -> None:
        self._model = model
        self._machine = machine
        self._elements = elements
        self._transport = transport
        self._place = place
        self._io_node = model.attribute("I/O node")
        self._disk = model.attribute("disk")
        self._go = self._going()
        self._return = self._returning()
        self._serve = model.program("serve request")
        self._serve.use_one_of(
            elements.io_processors, machine.io_processor_ms, policy="index", by=self._io_node
        )
        self._destage = self._disk_access("destage", is_sequential=True) if self._destages else None
        self._writes: dict[int, Program] = {}

    def read(self) -> Program:
        """Return the program that fetches a page."""
        return self._page("read page", self._machine.request_bytes, self._machine.page_bytes)

    def write_back(self) -> Program:
        """Return the program that writes a changed page; the cache keeps it from a disk or not."""
        return self._page("write page", self._machine.page_bytes, self._machine.request_bytes)

    def _page(self, name: str, request_bytes: int, answer_bytes: int) -> Program:
        """Return the program of a page: the messages that carry it, and perhaps a disk."""
        if name in self._model.programs:
            return self._model.programs[name]
        machine, page = self._machine, self._model.program(name)
        page.call(self._go)
        page.call(self._transport.send(request_bytes))
        page.call(self._serve)
        if machine.cache_miss_rate > 0:
            disk = self._disk_access("page at a disk", is_sequential=False)
            with page.branch() as cache:
                with cache.case(machine.cache_miss_rate):
                    page.call(disk)
                with cache.otherwise():
                    pass
        page.call(self._return)
        page.call(self._transport.send(answer_bytes))
        return page

    def write(self, size_bytes: int) -> Program:
        """Return the program that makes a record of `size_bytes` safe in the cache."""
        if size_bytes in self._writes:
            return self._writes[size_bytes]
        write = self._model.program(f"write {size_bytes} B")
        write.call(self._go)
        write.call(self._transport.send(size_bytes))
        write.call(self._serve)
        if self._destage is not None:
            with write.branch() as cache:
                with cache.case(self._machine.destage_share):
                    write.start(self._destage)
                with cache.otherwise():
                    pass
        write.call(self._return)
        write.call(self._transport.send(self._machine.request_bytes))
        self._writes[size_bytes] = write
        return write

    @property
    def _destages(self) -> bool:
        return self._machine.destage_share > 0

    def _going(self) -> Program:
        """Return the program that chooses the I/O node and addresses a message to it."""
        machine, at = self._machine, self._transport.addresses
        go = self._model.program("address I/O node")
        cluster = floor(self._place / (machine.processors * machine.processing_nodes))
        go.set(self._io_node, cluster * machine.io_nodes + _any_of(machine.io_nodes))
        go.set(at.source, node_of_processor(machine, self._place))
        first = machine.processing_nodes
        inside = self._io_node % machine.io_nodes + first
        go.set(at.target, cluster * machine.nodes_of_a_cluster + inside)
        return go

    def _returning(self) -> Program:
        """Return the program that addresses the answer."""
        at = self._transport.addresses
        back = self._model.program("address answer")
        back.set(at.source, at.target)
        back.set(at.target, node_of_processor(self._machine, self._place))
        return back

    def _disk_access(self, name: str, *, is_sequential: bool) -> Program:
        """Return the program of a page between a disk and the cache."""
        if name in self._model.programs:
            return self._model.programs[name]
        machine, program = self._machine, self._model.program(name)
        disks = len(self._elements.disks[0])
        time = disk_time(machine, is_sequential=is_sequential)
        program.set(self._disk, _any_of(disks))
        with program.branch("index", by=self._io_node * disks + self._disk) as chosen:
            for io_node in range(len(self._elements.disks)):
                for disk in range(disks):
                    with chosen.case():
                        program.use(self._elements.disks[io_node][disk], time)
                        self._to_cache(program, io_node, disk)
        return program

    def _to_cache(self, program: Program, io_node: int, disk: int) -> None:
        """Let the page pass the SCSI bus of the disk and the PCI bus of the node."""
        machine, buses = self._machine, self._elements.scsi[io_node]
        if buses:
            program.use(buses[disk % len(buses)], machine.scsi_ms)
        cluster, inside = divmod(io_node, machine.io_nodes)
        node = cluster * machine.nodes_of_a_cluster + machine.processing_nodes + inside
        program.use(self._elements.nodes[node].pci, machine.page_packets * machine.pci_ms)


def disk_time(machine: Machine, *, is_sequential: bool) -> Expression | float:
    """Return the time (ms) of a page at a disk: overhead, seek, rotation, transfer.

    Seeks are uniform up to twice their mean, shortened by the elevator; sequential accesses have
    none. The rotation is uniform over a turn.
    """
    fixed = machine.disk_overhead_ms + 1e-3 * machine.page_bytes / machine.disk_mb_s
    time: Expression | float = fixed
    if machine.rotation_ms > 0:
        time = time + draw(uniform(0, machine.rotation_ms))
    if machine.seek_ms > 0 and not is_sequential:
        time = time + draw(uniform(0, 2 * machine.seek_ms * machine.elevator_factor))
    return time


def node_of_processor(machine: Machine, processor: Expression) -> Expression:
    """Return the number of the node in which a processor sits."""
    in_order = floor(processor / machine.processors)
    cluster = floor(in_order / machine.processing_nodes)
    return cluster * machine.nodes_of_a_cluster + in_order % machine.processing_nodes


def _any_of(count: int) -> Expression | float:
    return floor(draw(uniform(0, count))) if count > 1 else 0.0
