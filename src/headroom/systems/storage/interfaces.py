"""Which interfaces this machine has, what the tool costs with each, and which one a run takes."""

from dataclasses import dataclass, field

from headroom.errors import EnvironmentUnfitError
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.targets import Opened
from headroom.systems.storage.tool_cost import ToolCost, measure_cost

NAMES = ("io_uring", "threads")


@dataclass(slots=True)
class Interfaces:
    """The interfaces of this machine, measured once per session."""

    costs: dict[str, ToolCost] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    def measure(self) -> dict[str, float | str]:
        """Return the cost of each interface, or why there is none, as facts of the session."""
        for name in NAMES:
            if name not in {*self.costs, *self.refusals}:
                found = measure_cost(name, run_job)
                if isinstance(found, str):
                    self.refusals[name] = found
                else:
                    self.costs[name] = found
        facts: dict[str, float | str] = {
            f"{name} refused": why for name, why in self.refusals.items()
        }
        for name, cost in self.costs.items():
            facts[f"tool_{name}_per_read_s"] = cost.read_s
            facts[f"tool_{name}_per_write_s"] = cost.write_s
        return facts

    def choose(self, wish: str, target: Opened) -> ToolCost:
        """Return the interface for a target, with its cost.

        Parameters
        ----------
        wish
            ``"auto"`` or the name of one. In memory a ring hands every request to a thread of the
            kernel, so that plain calls are the right tool there.

        Raises
        ------
        EnvironmentUnfitError
            This machine refuses the one that is asked for.
        """
        if not self.costs:
            self.measure()
        is_file_in_memory = target.is_memory and target.plan["kind"] == "files"
        automatic = "threads" if is_file_in_memory or "io_uring" in self.refusals else "io_uring"
        name = automatic if wish == "auto" else wish
        if name not in self.costs:
            raise EnvironmentUnfitError(
                f"the interface {name} cannot be used here: {self.refusals.get(name, '')}",
                cure='set interface = "auto", or allow it (sysctl kernel.io_uring_disabled=0)',
            )
        return self.costs[name]

    def in_words(self, wish: str, cost: ToolCost, target: Opened) -> tuple[str, ...]:
        """Return what a reader must know of the choice: nothing where it is the usual one."""
        if wish != "auto" or cost.interface == "io_uring":
            return ()
        if target.is_memory:
            return ("interface threads: a file in memory is answered without a device",)
        return (f"interface threads: io_uring is refused ({self.refusals.get('io_uring', '')})",)


INTERFACES = Interfaces()
"""Those of this process: all experiments of a session share what was measured once."""
