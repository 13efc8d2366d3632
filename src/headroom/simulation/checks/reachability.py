"""Unreachable steps, and paths that lead nowhere.

Only errors that no parameter value can fix are rejected: a program that no job runs, a node that no
route leads to, a network that no route leaves, the failure branch of an attempt that cannot fail. A
probability or a count of 0 is legal, because it may have been computed from a parameter.
"""

from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import (
    Acquire,
    AttemptBlock,
    Body,
    Call,
    NetworkBlock,
    NetworkNode,
    Node,
    Use,
    walk,
)
from headroom.simulation.errors import SimulationError


def check_reachability(parsed: Parsed) -> None:
    """Raise `SimulationError` if steps are out of reach."""
    _check_programs(parsed)
    _check_places(parsed)
    for name, tree in parsed.trees.items():
        for node in walk(tree):
            if isinstance(node, NetworkBlock):
                _check_network(name, node)
            elif isinstance(node, AttemptBlock):
                _check_attempt(parsed, name, node)


def _check_programs(parsed: Parsed) -> None:
    reached: set[str] = set()
    for class_ in parsed.model.classes.values():
        reached |= parsed.reached_from(class_.program)
    for controller in parsed.model.controllers.values():
        reached |= parsed.reached_from(controller.program)
    for name, program in parsed.model.programs.items():
        if name not in reached:
            raise SimulationError(
                f"{program.location}: program {name!r} is never run: no class or controller "
                "walks it, and no program that runs calls or starts it",
                cure="walk it, call it or start it somewhere, or leave it out",
            )


def _check_places(parsed: Parsed) -> None:
    for job_class in parsed.model.classes.values():
        nodes = [
            n for name in parsed.reached_from(job_class.program) for n in walk(parsed.trees[name])
        ]
        used = {node.station for node in nodes if isinstance(node, Use)}
        for station, _jobs in job_class.placed:
            if station not in used:
                raise SimulationError(
                    f"{job_class.location}: class {job_class.name!r} places jobs at "
                    f"station {station!r}, which program {job_class.program!r} never uses",
                    cure="place them at stations that their program uses",
                )


def _check_network(program: str, network: NetworkBlock) -> None:
    nodes = {node.name: node for node in network.nodes}
    entry = network.nodes[0]
    routed = _reached(entry, nodes, only_possible=False)
    for node in network.nodes:
        if node.name not in routed:
            raise SimulationError(
                f"{node.location}: program {program!r} never comes to node {node.name!r}: no route "
                f"leads to it from the first, {entry.name!r}",
                cure="add a route to it, or leave it out",
            )
    leaving = _leaving(nodes)
    for name in _reached(entry, nodes, only_possible=True):
        if name is not None and name not in leaving:
            raise SimulationError(
                f"{nodes[name].location}: program {program!r} never leaves its network from node "
                f"{name!r}, so that what follows is never reached and no job ever completes",
                cure="give a node on the way a route to net.leave; a closed class starts again by "
                "itself",
            )


def _reached(
    start: NetworkNode, nodes: dict[str, NetworkNode], *, only_possible: bool
) -> dict[str | None, None]:
    """Return the nodes that jobs come to from `start`; None means outside the network."""
    reached: dict[str | None, None] = {start.name: None}
    waiting = [start]
    while waiting:
        for route in waiting.pop().routes:
            is_possible = route.chosen.probability != 0 or not only_possible
            if is_possible and route.node not in reached:
                reached[route.node] = None
                if route.node is not None:
                    waiting.append(nodes[route.node])
    return reached


def _leaving(nodes: dict[str, NetworkNode]) -> set[str]:
    """Return the nodes from which a job may leave the network."""
    origins: dict[str | None, list[str]] = {}
    for node in nodes.values():
        for route in node.routes:
            if route.chosen.probability != 0:
                origins.setdefault(route.node, []).append(node.name)
    leaving: set[str] = set()
    waiting: list[str | None] = [None]
    while waiting:
        for name in origins.get(waiting.pop(), ()):
            if name not in leaving:
                leaving.add(name)
                waiting.append(name)
    return leaving


def _check_attempt(parsed: Parsed, program: str, attempt: AttemptBlock) -> None:
    if attempt.timeout is None and not _may_be_rejected(parsed, attempt.work):
        raise SimulationError(
            f"{attempt.location}: program {program!r} makes an attempt that cannot fail: it has "
            "no time-out, no step in its work has patience, and no station in it rejects",
            cure='give timeout= or patience=, use a station with when_full="reject", or write the '
            "steps without an attempt",
        )


def _may_be_rejected(parsed: Parsed, work: Body) -> bool:
    called = [node.program for node in walk(work) if isinstance(node, Call)]
    bodies = [work] + [parsed.trees[n] for name in called for n in parsed.reached_from(name)]
    nodes = (node for body in bodies for node in walk(body))
    return any(_may_fail(parsed, node) for node in nodes)


def _may_fail(parsed: Parsed, node: Node) -> bool:
    """Return whether a step may fail: by its patience, where a station rejects, after a try."""
    if isinstance(node, AttemptBlock):
        return node.failed is None and node.timeout is not None
    if not isinstance(node, (Use, Acquire)):
        return False
    rejects = isinstance(node, Use) and parsed.model.stations[node.station].rejects
    return rejects or node.patience is not None
