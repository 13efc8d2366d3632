"""SPAX with some of its elements twice as fast, one alone and several together.

Each change is what `headroom what-if` would make of it; here it is a factor, so that claims can
speak of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from headroom.experiment.protocol.changes import parse_change
from headroom.experiment.protocol.system import Parameter, Value
from headroom.simulation import Model
from headroom.systems.model.changed import changed_model
from headroom.systems.transactions import MachineModel, machine_model
from headroom.systems.transactions.theory.law import law

BUFFERS = ("pool.io send buffers.tokens=x2",)
DMA = ("station.io DMA send.speed=x2", "station.io DMA receive.speed=x2")
PORTS = ("station.io switch port in.speed=x2", "station.io switch port out.speed=x2")
PCI = ("station.io PCI.speed=x2",)
IO_PROCESSOR = ("station.io processor.speed=x2",)
NODE_SIDE = (
    "pool.node send buffers.tokens=x2",
    "station.memory bus.speed=x2",
    "station.node DMA send.speed=x2",
    "station.node DMA receive.speed=x2",
    "station.node PCI.speed=x2",
    "station.node switch port in.speed=x2",
    "station.node switch port out.speed=x2",
)
PROCESSORS = ("station.processor.speed=x2",)
WHOLE_PATH = (*BUFFERS, *DMA, *PORTS, *PCI, *IO_PROCESSOR, *NODE_SIDE)

CHANGES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "send buffers": BUFFERS,
    "DMA": DMA,
    "switch ports": PORTS,
    "PCI bus": PCI,
    "I/O processor": IO_PROCESSOR,
    "node side": NODE_SIDE,
    "processors": PROCESSORS,
    "DMA and ports": (*DMA, *PORTS),
    "whole path": WHOLE_PATH,
    "whole path and processors": (*WHOLE_PATH, *PROCESSORS),
}
"""What is doubled, by the name that the study gives it; "I/O node" where no side is named."""


@dataclass(frozen=True, slots=True)
class DoubledMachine:
    """A model function: a machine, and which of its elements are doubled.

    Parameters
    ----------
    machine
        The machine as it is.
    """

    machine: MachineModel

    @property
    def __name__(self) -> str:
        """Name for messages."""
        return f"{self.machine.name} doubled"

    @property
    def place(self) -> str:
        """Place for messages."""
        return self.machine.place

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers of the machine, and what is doubled."""
        doubled = Parameter(
            name="doubled",
            type="str",
            unit="",
            source="what is asked",
            default="nothing",
            choices=tuple(CHANGES),
            description="Elements that are twice as fast, or twice as many where they are buffers",
        )
        return (doubled, *self.machine.parameters)

    def law(self, *, doubled: str, **config: Value) -> Mapping[str, float]:
        """Return what arithmetic gives of the machine with some elements doubled."""
        rows = [text.split(".")[1] for text in CHANGES[doubled]]
        return law(self.machine.machine(**config), dict.fromkeys(rows, 2.0))

    def __call__(self, *, doubled: str, **config: Value) -> Model:
        """Return the model of the machine with some elements doubled."""
        changes = [parse_change(text) for text in CHANGES[doubled]]
        return changed_model(self.machine(**config), changes)


build = DoubledMachine(machine_model("spax"))
