"""One stored step of a program: the kernel's data, the line, and its amounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headroom.simulation.language.amounts import Amount


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what the kernel reads, where it was written, and its amounts by their key."""

    data: dict[str, object]
    location: str
    amounts: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def op(self) -> str:
        """Name of the step."""
        return str(self.data["op"])
