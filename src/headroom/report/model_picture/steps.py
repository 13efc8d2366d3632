"""The flat steps of a program as a tree.

Invariant: every list of steps gives a tree: a block that is never closed ends with the program, a
superfluous ``end`` is passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_BLOCKS = frozenset({"loop", "branch", "case", "fork", "arm", "network", "node", "attempt", "work",
                     "failed"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One step with those of its block, and its place in the flat list."""

    op: str
    data: Mapping[str, Any]
    place: int
    inside: list["Step"] = field(default_factory=list)

    def parts(self, *ops: str) -> list["Step"]:
        """Return the direct parts of the block that have one of the given names."""
        return [step for step in self.inside if step.op in ops]


def tree_of(steps: object) -> list[Step]:
    """Return the steps of a program, blocks nested.

    Examples
    --------
    >>> first, = tree_of([{"op": "loop"}, {"op": "use"}, {"op": "end"}, {"op": "end"}])
    >>> first.op, [step.op for step in first.inside]
    ('loop', ['use'])
    """
    root: list[Step] = []
    path = [root]
    for place, data in enumerate(records(steps)):
        op = str(data.get("op", "?"))
        if op == "end":
            path = path[:-1] or [root]
            continue
        step = Step(op, data, place)
        path[-1].append(step)
        if op in _BLOCKS:
            path.append(step.inside)
    return root


def records(items: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list in data that may be no model."""
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
