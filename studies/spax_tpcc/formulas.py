"""SPAX as a network of queues that formulas solve: what a transaction asks of each part, in all.

Where theory applies, the simulation must agree with it. The network keeps what each part has to do
for a mean transaction and that a process stays at its processor; it leaves out what formulas
cannot know: that a page travels as many packets at once, that each holds its place until the next
has room, and that the five transactions differ. Service is exponential, so the network has the
product form (Baskett, Chandy, Muntz, Palacios, 1975).
"""

from dataclasses import dataclass

from headroom.experiment.system import Parameter, Value
from headroom.simulation import Model, exponential
from headroom.systems.transactions import Machine, MachineModel, machine_model
from headroom.systems.transactions.demands import demands


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Mean time (ms) that a transaction needs of all parts of a kind together."""

    processor_ms: float
    io_way_ms: float
    disk_ms: float


def demands_of(machine: Machine) -> Demands:
    """Return what a mean transaction needs of processors, I/O nodes' ways out, and disks."""
    found = demands(machine)
    ways_ms = [found[f"io {part}"].time_ms for part in ("DMA send", "switch port in")]
    packets = found["io DMA send"].time_ms / machine.dma_ms
    return Demands(
        processor_ms=found["processor"].time_ms,
        io_way_ms=sum(ways_ms) + packets * machine.pci_ms,
        disk_ms=found["disk"].time_ms,
    )


@dataclass(frozen=True, slots=True)
class QueueNetwork:
    """A model function: the network of queues of a machine, with the machine's parameters.

    Parameters
    ----------
    machine
        The machine.
    """

    machine: MachineModel

    @property
    def __name__(self) -> str:
        """Name for messages."""
        return f"{self.machine.name} as queues"

    @property
    def place(self) -> str:
        """Place for messages."""
        return self.machine.place

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers of the machine."""
        return self.machine.parameters

    def __call__(self, **config: Value) -> Model:
        """Return the network: a class for each processor, whose processes stay there."""
        machine = self.machine.machine(**config)
        asked = demands_of(machine)
        model = Model(f"{self.machine.name} as queues", time_unit="ms")
        nodes = machine.clusters * machine.io_nodes
        ways = [model.station(f"way {one + 1}", group="way out") for one in range(nodes)]
        disks = [
            model.station(f"disk {one + 1}", group="disk") for one in range(nodes * machine.disks)
        ]
        for number in range(machine.warehouses):
            program = model.program(f"transaction {number + 1}")
            processor = model.station(f"processor {number + 1}", group="processor")
            program.use(processor, exponential(asked.processor_ms))
            program.use_one_of(ways, exponential(asked.io_way_ms), policy="probability")
            if disks:
                program.use_one_of(disks, exponential(asked.disk_ms), policy="probability")
            model.closed_class(
                f"warehouse {number + 1}", program, population=machine.terminals, start="ready"
            )
        model.stop(completions=machine.warehouses * machine.terminals * 100)
        return model


build = QueueNetwork(machine_model("spax"))
