"""Places that are reserved before a service: the next station must be unambiguous.

An interrupted job keeps its place and waits for a server. If other jobs come before it and in turn
wait for a place, none of them ever continues.
"""

from headroom.simulation.checks.deadlocks import ALLOWED
from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import (
    Assign,
    AttemptBlock,
    Body,
    BranchBlock,
    Node,
    Prioritize,
    Release,
    Task,
    Use,
    parts,
    run_deep,
)
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.stations import BY_POSITION


def check_reservations(parsed: Parsed) -> None:
    """Raise `SimulationError` if a use reserves a place and no full station can follow it."""
    for name, tree in parsed.trees.items():
        run_deep(_sequence(parsed, name, tree, None))


def _sequence(parsed: Parsed, program: str, body: Body, following: str | None) -> Task[None]:
    """Check `body`, after which the station `following` is used directly, if any."""
    for node in reversed(body):
        if isinstance(node, Use):
            if node.reserve:
                _check(parsed, program, node, following)
            following = node.station
        elif not isinstance(node, (Release, Assign, Prioritize)):
            inner = following if isinstance(node, (BranchBlock, AttemptBlock)) else None
            yield _inside(parsed, program, node, inner)
            following = None


def _inside(parsed: Parsed, program: str, node: Node, following: str | None) -> Task[None]:
    for part in parts(node):
        yield _sequence(parsed, program, part, following)


def _check(parsed: Parsed, program: str, use: Use, following: str | None) -> None:
    if following is None or not parsed.model.stations[following].blocks:
        raise SimulationError(
            f"{use.location}: program {program!r} reserves a place before its service at station "
            f"{use.station!r}, but uses no station with a buffer that blocks directly after it",
            cure="leave reserve out, or let the use of a station with buffer= follow at once",
        )
    how = _interrupting(parsed, use.station)
    if how and not parsed.model.may_deadlock:
        raise SimulationError(
            f"{use.location}: program {program!r} reserves a place at station {following!r} before "
            f"its service at station {use.station!r}, which {how}: the interrupted job keeps the "
            "place that those who come before it wait for",
            cure='leave reserve out, or serve with discipline="fcfs"; ' + ALLOWED,
        )


def _interrupting(parsed: Parsed, station: str) -> str:
    """Return how a station puts others before a job in service, nothing if it does not."""
    discipline = parsed.model.stations[station].discipline
    if discipline in {"lcfs_preempt", "priority_preempt"}:
        return f"interrupts jobs ({discipline})"
    if (
        discipline in BY_POSITION | {"lcfs", "priority", "random"}
        and station in parsed.model.breakdowns_of
    ):
        return f"breaks down and then serves by {discipline}"
    return ""
