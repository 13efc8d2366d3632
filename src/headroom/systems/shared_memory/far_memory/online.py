"""The system `far_memory_online`: a program whose caches and times are simulated while it runs.

`far_memory` records a program and simulates the recording, which needs a file of all accesses and
takes about 100 times as long as the program. Here nothing is recorded: the hooks pass each access
through the caches of the simulated machine, and each thread has a clock that advances by what the
access would take there. Where threads wait for each other, clocks do too. That takes about 13 times
as long as the program, and gives totals without places.

It uses the runtime of `far_memory_emulated` without its waits. So real threads decide who has a
line first, and not the simulated time; the home of a page is known when it is first touched; and
messages do not wait for each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.experiment.protocol.declared import FromDeclaration
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, Metric, Parameter, Value
from headroom.systems.shared_memory.far_memory.emulated import (
    METRICS,
    FarMemoryEmulated,
    FarMemoryEmulatedSetup,
    check_threads,
    processors_of,
    spent_of,
)
from headroom.systems.shared_memory.far_memory.emulation import (
    code_of_runtime,
    compiled,
    emulate,
    settings_of,
)

_MEASURED = ("elapsed_s", "disturbed_share")
"""Metrics of real delays."""
_METRICS = tuple(one for one in METRICS if one.name not in _MEASURED)


@dataclass(frozen=True, slots=True)
class FarMemoryOnline(FromDeclaration):
    """A program on a simulated machine, without a recording."""

    name: ClassVar[str] = "far_memory_online"
    column: ClassVar[Column] = Column.MODEL
    setup_type: ClassVar[type[msgspec.Struct]] = FarMemoryEmulatedSetup

    emulated: FarMemoryEmulated
    """The system with delays, which takes the same programs and machines."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; paths start at `base`."""
        return cls(FarMemoryEmulated.load(setup, base=base))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return those of the system with delays but `dilation`."""
        return tuple(one for one in self.emulated.parameters() if one.name != "dilation")

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:  # noqa: ARG002
        """Return the same metrics at each point."""
        return _METRICS

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        """Return the code of the runtime, the program, and the machine of the point."""
        return f"far_memory_online {code_of_runtime()} {self.emulated.program_and_machine(config)}"

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse missing files, and machines that the runtime does not simulate."""
        self.emulated.check_point(config)

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:  # noqa: ARG002 - of threads
        """Run the program once."""
        simulated = self.emulated.simulated
        machine = simulated.whole_machine(config)
        program = compiled(simulated.program, simulated.digest())
        found = emulate(
            simulated.program, program, settings_of(machine), dilation=1.0, is_virtual=True
        )
        check_threads(int(found["threads"]), processors_of(machine))
        values = {**spent_of(found, machine), "hooks_s": found["elapsed_s"]}
        return Run(values=values, remarks=program.remarks)
