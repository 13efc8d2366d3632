"""The machine as a network of queues that formulas solve: what a transaction asks of each part.

The network keeps what each part has to do for a mean transaction and that a process stays at its
processor; it leaves out what formulas cannot know: that a page travels as many packets at once,
that each holds its place until the next has room, and that the five transactions differ. Service
is exponential, so the network has the product form (Baskett, Chandy, Muntz, Palacios, 1975).
"""

from dataclasses import dataclass

from headroom.simulation import Model, exponential
from headroom.systems.transactions.demands import demands
from headroom.systems.transactions.machine import Machine

LEAVES_OUT = "it leaves out that packets hold their places while they wait for the next"
KNOWN_ERRORS = {
    "spax": "its throughput was within 5 % of the simulation at all 15 points where "
    "studies/spax_tpcc compares them",
    "server": "nobody has compared it with this machine",
}
"""What is known of the error of the network, by machine."""
UNKNOWN_ERROR = "how far off it is for this machine nobody has measured: simulate it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Mean time (ms) that a transaction needs of all parts of a kind together."""

    processor_ms: float
    io_way_ms: float
    disk_ms: float


def demands_of(machine: Machine) -> Demands:
    """Return what a mean transaction needs of processors, I/O nodes' ways out, and disks."""
    found = demands(machine)
    if "io DMA send" not in found:
        return Demands(processor_ms=found["processor"].time_ms, io_way_ms=0.0, disk_ms=0.0)
    ways_ms = [found[f"io {part}"].time_ms for part in ("DMA send", "switch port in")]
    packets = found["io DMA send"].time_ms / machine.dma_ms
    return Demands(
        processor_ms=found["processor"].time_ms,
        io_way_ms=sum(ways_ms) + packets * machine.pci_ms,
        disk_ms=found["disk"].time_ms,
    )


def queue_network(machine: Machine, name: str = "machine") -> Model:
    """Return the network: a class for each processor, whose processes stay there.

    Parameters
    ----------
    machine
        The machine.
    name
        Its name.

    Examples
    --------
    >>> from headroom.solvers import solve
    >>> from headroom.systems.transactions import machine_model
    >>> round(solve(queue_network(machine_model("spax").machine())).throughput_per_s, 1)
    106.1
    """
    asked = demands_of(machine)
    model = Model(f"{name} as queues", time_unit="ms")
    nodes = machine.clusters * machine.io_nodes
    ways = [model.station(f"way {one + 1}", group="way out") for one in range(nodes)]
    disks = [model.station(f"disk {one + 1}", group="disk") for one in range(nodes * machine.disks)]
    think = exponential(machine.think_ms) if machine.think_ms > 0 else None
    for number in range(machine.warehouses):
        program = model.program(f"transaction {number + 1}")
        processor = model.station(f"processor {number + 1}", group="processor")
        program.use(processor, exponential(asked.processor_ms))
        if ways:
            program.use_one_of(ways, exponential(asked.io_way_ms), policy="probability")
        if disks:
            program.use_one_of(disks, exponential(asked.disk_ms), policy="probability")
        model.closed_class(
            f"warehouse {number + 1}",
            program,
            population=machine.terminals,
            think=think,
            start="ready",
        )
    model.stop(completions=machine.warehouses * machine.terminals * 100)
    return model
