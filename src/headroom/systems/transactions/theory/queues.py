"""The machine as a queueing network solved by formulas: the demand of a transaction at each part.

The network keeps the demand of a mean transaction at each part, and the fact that a process stays
at its processor. It leaves out what formulas cannot represent: that a page travels as many packets
at once, that each packet holds its place until the next has room, and that the five transactions
differ. Service is exponential, so the network has product form (Baskett, Chandy, Muntz, Palacios,
1975).
"""

import math
from dataclasses import dataclass

from headroom.simulation import Model, Program, exponential
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.theory.demands import demands

LEAVES_OUT = "it leaves out that packets hold their places while they wait for the next"
_WAY = ("io DMA send", "io switch port in")
KNOWN_ERRORS = {
    "spax": "its throughput was within 6% of the simulation at all 15 points where "
    "studies/spax_tpcc compares them",
    "server": "it has not been compared with this machine",
}
"""The known error of the network, by machine."""
UNKNOWN_ERROR = "its error for this machine has not been measured: simulate it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Mean time (ms) that a transaction needs from all parts of a kind together."""

    processor_ms: float
    io_way_ms: float
    disk_ms: float


def demands_of(machine: Machine) -> Demands:
    """Return a mean transaction's demand at processors, I/O nodes' ways out, and disks."""
    by_row = demands(machine)
    disk_ms = by_row["disk"].time_ms if "disk" in by_row else 0.0
    ways_ms = sum(by_row[row].time_ms for row in _WAY if row in by_row)
    if machine.dma_ms and ways_ms:
        ways_ms += by_row[_WAY[0]].time_ms / machine.dma_ms * machine.pci_ms
    return Demands(processor_ms=by_row["processor"].time_ms, io_way_ms=ways_ms, disk_ms=disk_ms)


def queue_network(machine: Machine, name: str = "machine") -> Model:
    """Return the network: a class for each ready queue, whose processes stay there.

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
    104.7
    """
    asked = demands_of(machine)
    model = Model(f"{name} as queues", time_unit="ms")
    nodes = machine.clusters * machine.io_nodes
    ways = [model.station(f"way {index + 1}", group="way out") for index in range(nodes)]
    disks = [
        model.station(f"disk {index + 1}", servers=machine.disk_parallelism, group="disk")
        for index in range(_disks(machine))
    ]
    queues, processors = _ready_queues(machine)
    for number in range(queues):
        program = model.program(f"transaction {number + 1}")
        ready = model.station(f"processor {number + 1}", servers=processors, group="processor")
        program.use(ready, exponential(asked.processor_ms))
        if ways and asked.io_way_ms > 0:
            program.use_one_of(ways, exponential(asked.io_way_ms), policy="probability")
        if disks and asked.disk_ms > 0:
            program.use_one_of(disks, exponential(asked.disk_ms), policy="probability")
        _add_share(model, machine, program, number, queues)
    model.stop(completions=machine.transaction_count)
    return model


def _disks(machine: Machine) -> int:
    """Return how many disks there are, all nodes together."""
    per_node = machine.processing_nodes if machine.is_local else machine.io_nodes
    each = machine.local_disks if machine.is_local else machine.disks
    return machine.clusters * per_node * each


def _ready_queues(machine: Machine) -> tuple[int, int]:
    """Return the ready queues that have warehouses, and the processors of each."""
    if machine.has_shared_queue:
        used = math.ceil(machine.warehouse_count / machine.processors)
        return min(used, machine.all_processors // machine.processors), machine.processors
    return min(machine.warehouse_count, machine.all_processors), 1


def _add_share(model: Model, machine: Machine, program: Program, number: int, queues: int) -> None:
    """Add the terminals, or the arrivals, of one ready queue."""
    name = f"transactions {number + 1}"
    if machine.arrivals_per_s > 0:
        model.open_class(
            name, program, interarrival=exponential(1e3 * queues / machine.arrivals_per_s)
        )
        return
    each, rest = divmod(machine.terminal_count, queues)
    if population := each + (number < rest):
        think = exponential(machine.think_ms) if machine.think_ms > 0 else None
        model.closed_class(name, program, population=population, think=think, start="ready")
