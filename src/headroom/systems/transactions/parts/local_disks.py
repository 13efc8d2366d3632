"""Disks in the processing nodes themselves: page reads and record writes without a network."""

from headroom.simulation import Attribute, Model, Program, draw, floor, uniform
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.parts.elements import Elements
from headroom.systems.transactions.parts.input_output import disk_time


class LocalDisks:
    """Programs of requests to the disks of a process's own node, walked by the waiting process.

    A page is on any disk of the node. Records of the log go to a disk in their order. One write
    makes durable all records that have come by then (group commit), so that a record waits for the
    rest of the write in progress and for the next: once to twice the time of a write, no matter how
    many there are.
    """

    def __init__(
        self, model: Model, machine: Machine, elements: Elements, place: Attribute
    ) -> None:
        self._model = model
        self._machine = machine
        self._elements = elements
        self._node = floor(place / machine.processors)
        self._disk = model.attribute("disk")
        self._writes: dict[int, Program] = {}

    def read(self) -> Program:
        """Return the program that reads a page."""
        return self._page()

    def write_back(self) -> Program:
        """Return the program that writes a page."""
        return self._page()

    def write(self, size_bytes: int) -> Program:
        """Return the program that makes a record of `size_bytes` safe."""
        if size_bytes not in self._writes:
            write, machine = self._model.program(f"write {size_bytes} B"), self._machine
            moving_ms = 1e-3 * size_bytes / machine.disk_mb_s
            flush = draw(uniform(machine.log_write_ms, 2 * machine.log_write_ms))
            by = self._node
            write.use_one_of(self._elements.log_transfers, moving_ms, policy="index", by=by)
            write.use_one_of(self._elements.logs, flush, policy="index", by=by)
            self._writes[size_bytes] = write
        return self._writes[size_bytes]

    def _page(self) -> Program:
        name, count = "page at a disk", self._machine.local_disks
        if name in self._model.programs:
            return self._model.programs[name]
        page = self._model.program(name)
        disks = [disk for of_a_node in self._elements.disks for disk in of_a_node]
        page.set(self._disk, self._node * count + floor(draw(uniform(0, count))))
        time = disk_time(self._machine, is_sequential=False)
        page.use_one_of(disks, time, policy="index", by=self._disk)
        return page
