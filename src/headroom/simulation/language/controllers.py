"""Controllers: programs that inspect the state now and then and change capacities and speeds."""

from dataclasses import dataclass, field

from headroom.simulation.language.streams import stream_key
from headroom.simulation.laws.distribution import Distribution


@dataclass(frozen=True, slots=True)
class Controller:
    """An actor that walks a program again and again; made by `Model.controller`."""

    name: str
    program: str
    every: Distribution
    location: str = field(default="", repr=False)

    def to_data(self) -> dict[str, object]:
        """Return the controller as the kernel reads it."""
        return {
            "name": self.name,
            "program": self.program,
            "every": self.every.to_data(),
            "stream": stream_key(f"controller {self.name}: every"),
        }
