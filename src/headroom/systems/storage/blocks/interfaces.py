"""Available I/O interfaces of this machine, their cost, and the choice for a run.

Whether a ring is available may depend on the run (its depth, the limits of the process). So
``auto`` leaves the final decision to the engine, and the result reports the interface used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.systems.storage.blocks.tool_cost import ToolCost, measure_cost
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.targets.targets import Opened

NAMES = ("io_uring", "threads")
REFUSED = "io_uring refused"
"""Fact of a run that was to have a ring: why the system refused it."""


@dataclass(slots=True)
class Interfaces:
    """The interfaces of this machine, measured once per session."""

    costs: dict[str, ToolCost] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    def measure(self) -> dict[str, float | str]:
        """Return the cost of each interface, or why there is none, as facts of the session."""
        for name in NAMES:
            if name not in {*self.costs, *self.refusals}:
                measured = measure_cost(name, run_job)
                if isinstance(measured, str):
                    self.refusals[name] = measured
                else:
                    self.costs[name] = measured
        facts: dict[str, float | str] = {
            f"{name} refused": why for name, why in self.refusals.items()
        }
        for name, cost in self.costs.items():
            facts[f"tool_{name}_per_read_s"] = cost.read_s
            facts[f"tool_{name}_per_write_s"] = cost.write_s
        return facts

    def choose(self, wish: str, target: Opened) -> str:
        """Return the interface of a job for a target.

        Parameters
        ----------
        wish
            ``"auto"`` or the name of one. In memory a ring hands every request to a thread of the
            kernel, so that plain calls are the right tool there. Elsewhere ``"auto"`` is a ring,
            and threads if the system refuses one then.

        Raises
        ------
        EnvironmentUnfitError
            This machine refuses the requested interface.
        """
        if not self.costs:
            self.measure()
        if wish == "auto":
            is_file_in_memory = target.is_memory and target.plan["kind"] == "files"
            is_plain = is_file_in_memory or "io_uring" in self.refusals
            return "threads" if is_plain else "auto"
        if wish not in self.costs:
            raise EnvironmentUnfitError(
                f"the interface {wish} cannot be used here: {self.refusals.get(wish, '')}",
                cure='set interface = "auto", or allow it (sysctl kernel.io_uring_disabled=0; in a '
                "container its filter of system calls)",
            )
        return wish

    def cost_of(self, result: Mapping[str, Any]) -> ToolCost:
        """Return the cost of the tool with the interface that a run has used."""
        used = str(result["facts"]["interface"])
        return self.costs[used if used in self.costs else next(iter(self.costs))]

    def in_words(self, wish: str, result: Mapping[str, Any], target: Opened) -> tuple[str, ...]:
        """Return notes on the choice for the reader: nothing if it is the usual one."""
        if wish != "auto" or result["facts"]["interface"] != "threads":
            return ()
        if target.is_memory and target.plan["kind"] == "files":
            return ("interface threads: a file in memory is answered without a device",)
        why = result["facts"].get(REFUSED, self.refusals.get("io_uring", ""))
        return (f"interface threads: io_uring is refused ({why})",)


INTERFACES = Interfaces()
"""Those of this process: all experiments of a session share one measurement."""
