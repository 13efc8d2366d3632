"""Stations and pools visited only by background work: spawned programs, and steps after a reply.

The job that started such work continues at once, so response times never include the waits at these
stations and pools, no matter how full they are.
"""

from headroom.simulation.checks.parsed import Parsed, parse_model, until_reply
from headroom.simulation.checks.structure import Acquire, Body, Call, Use, walk
from headroom.simulation.language.model import Model


def unawaited(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the stations and the pools to which only work comes that no job of a class awaits.

    Parameters
    ----------
    model
        Any model.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("shop", time_unit="ms")
    >>> cpu, disk = model.station("cpu"), model.station("disk")
    >>> write, request = model.program("write"), model.program("request")
    >>> write.use(disk, exponential(5))
    >>> request.use(cpu, exponential(5))
    >>> request.start(write)
    >>> model.open_class("visitors", request, interarrival=exponential(10))
    >>> unawaited(model)
    {'station': ('disk',)}
    """
    if _is_all_awaited(model):
        return {}
    parsed = parse_model(model)
    awaited = {place for body in _awaited_bodies(parsed) for place in _places(body)}
    places = {place for tree in parsed.trees.values() for place in _places(tree)} - awaited
    by_kind = {
        "station": tuple(name for name in model.stations if ("station", name) in places),
        "pool": tuple(name for name in model.pools if ("pool", name) in places),
    }
    return {kind: names for kind, names in by_kind.items() if names}


def _is_all_awaited(model: Model) -> bool:
    """Return whether jobs of the classes walk all programs to their end, each on its own."""
    steps = (step for program in model.programs.values() for step in program.steps)
    is_whole = all(step.op not in {"start", "reply"} for step in steps)
    return is_whole and {class_.program for class_ in model.classes.values()} == set(model.programs)


def _awaited_bodies(parsed: Parsed) -> list[Body]:
    """Return the steps that jobs of the classes walk themselves: their programs and callees."""
    bodies = [parsed.trees[class_.program] for class_ in parsed.model.classes.values()]
    called: set[str] = set()
    for body in bodies:
        for node in walk(body):
            if isinstance(node, Call) and node.program not in called:
                called.add(node.program)
                bodies.append(until_reply(parsed.trees[node.program]))
    return bodies


def _places(body: Body) -> set[tuple[str, str]]:
    used = {("station", node.station) for node in walk(body) if isinstance(node, Use)}
    return used | {("pool", node.pool) for node in walk(body) if isinstance(node, Acquire)}
