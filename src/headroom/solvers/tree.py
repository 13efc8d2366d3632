"""Programs as trees: the flat list of steps of a model, its blocks nested again.

Reads the model as data (`Model.to_data`), so that a step of a kind that is not known here is a
reason to call an answer approximate and never a crash.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headroom.simulation import Model

OPENERS = frozenset(
    {"loop", "branch", "case", "fork", "arm", "network", "node", "attempt", "work", "failed"}
)
Data = Mapping[str, Any]


@dataclass(slots=True)
class Node:
    """One step with the steps inside it, and the line on which it was written."""

    data: Data
    location: str
    inside: list["Node"] = field(default_factory=list)

    @property
    def op(self) -> str:
        """Name of the step."""
        return str(self.data.get("op"))


def trees_of(model: Model, data: Data) -> dict[str, list[Node]]:
    """Return the tree of each program of `model`, whose data are `data`."""
    return {program["name"]: _nested(iter(_placed(model, program))) for program in data["programs"]}


def _placed(model: Model, program: Data) -> list[Node]:
    steps = model.programs[program["name"]].steps
    lines = [step.location for step in steps]
    if len(lines) != len(program["steps"]):
        lines = [f"program {program['name']!r}"] * len(program["steps"])
    return [Node(step, line) for step, line in zip(program["steps"], lines, strict=True)]


def _nested(steps: Iterator[Node]) -> list[Node]:
    found = []
    for step in steps:
        if step.op == "end":
            break
        if step.op in OPENERS:
            step.inside = _nested(steps)
        found.append(step)
    return found
