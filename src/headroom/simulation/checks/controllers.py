"""Controllers: programs that inspect the state from time to time and change capacities and speeds.

`changes_of` lists everything that changes during a run, by a schedule or by a step. Code that
examines a model without running it (checks, solvers, writers of files) uses it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import (
    Assign,
    BranchBlock,
    Call,
    Change,
    Delay,
    LoopBlock,
    Node,
    walk,
)
from headroom.simulation.errors import SimulationError
from headroom.simulation.laws.distribution import Distribution

if TYPE_CHECKING:
    from headroom.simulation.language.stations import Pool, Station

_ALLOWED = (Assign, BranchBlock, Call, Change, Delay, LoopBlock)


@dataclass(frozen=True, slots=True)
class Changing:
    """A number of a station or pool that changes during a run.

    Parameters
    ----------
    kind
        ``servers``, ``speed`` or ``tokens``.
    name
        The station or pool.
    location
        Line of Python.
    is_scheduled
        Whether it changes at known times; else a program changes it.
    """

    kind: str
    name: str
    location: str
    is_scheduled: bool

    @property
    def text(self) -> str:
        """The change, as text for messages."""
        part = "pool" if self.kind == "tokens" else "station"
        how = "follow a schedule" if self.is_scheduled else "are changed by a program"
        return f"{self.location}: the {self.kind} of {part} {self.name!r} {how}"


def changes_of(parsed: Parsed) -> tuple[Changing, ...]:
    """Return the changes during a run of a model, each kind of each part once."""
    model = parsed.model
    parts: list[Station | Pool] = [*model.stations.values(), *model.pools.values()]
    changes = [
        Changing(kind, part.name, part.location, is_scheduled=True)
        for part in parts
        for kind in part.schedules
    ]
    changes += [
        Changing(node.kind, node.name, node.location, is_scheduled=False)
        for tree in parsed.trees.values()
        for node in walk(tree)
        if isinstance(node, Change)
    ]
    return tuple(
        {(change.kind, change.name, change.is_scheduled): change for change in changes}.values()
    )


def check_controllers(parsed: Parsed) -> None:
    """Raise `SimulationError` if a controller takes a step of jobs, or changes what breaks."""
    for controller in parsed.model.controllers.values():
        for name in parsed.reached_from(controller.program):
            for node in walk(parsed.trees[name]):
                if not isinstance(node, _ALLOWED):
                    raise SimulationError(
                        f"{node.location}: controller {controller.name!r} takes the step "
                        f"{_word(node)}, which only jobs can take",
                        cure="let a controller set, branch, loop, delay and change servers, "
                        "speeds and tokens",
                    )
    _refuse_broken(parsed)
    _refuse_shut(parsed)


def _refuse_shut(parsed: Parsed) -> None:
    """Raise `SimulationError` if every change of a part leaves it nothing, and so for good."""
    changes: dict[tuple[str, str], list[Change]] = {}
    for tree in parsed.trees.values():
        for node in walk(tree):
            if isinstance(node, Change) and node.kind != "speed":
                changes.setdefault((node.kind, node.name), []).append(node)
    scheduled = {(one.kind, one.name) for one in changes_of(parsed) if one.is_scheduled}
    for (kind, name), steps in changes.items():
        laws = [one.value for one in steps if isinstance(one.value, Distribution)]
        is_shut = all(law.kind == "constant" and round(law.mean) == 0 for law in laws)
        if len(laws) == len(steps) and is_shut and (kind, name) not in scheduled:
            raise SimulationError(
                f"{steps[0].location}: the {kind} of {name!r} are set to 0, and nothing sets them "
                "to more again, so jobs would wait there for ever",
                cure="set them to more somewhere; what closes at known times is a schedule",
            )


def _refuse_broken(parsed: Parsed) -> None:
    for change in changes_of(parsed):
        if change.kind == "servers" and change.name in parsed.model.breakdowns_of:
            raise SimulationError(
                f"{change.text}, and they break down", cure="leave one of the two out"
            )


def _word(node: Node) -> str:
    return type(node).__name__.removesuffix("Block").lower()
