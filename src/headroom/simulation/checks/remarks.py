"""Likely mistakes in a valid model: unused parts, priorities without effect.

A study may leave a part idle at some points on purpose, through a parameter. Such cases are
therefore reported, never rejected.
"""

import warnings
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from headroom.simulation.checks.parsed import Parsed, parse_model
from headroom.simulation.checks.structure import Acquire, Node, Prioritize, Use, walk
from headroom.simulation.language.model import Model
from headroom.simulation.laws.distribution import Distribution

Remark: TypeAlias = tuple[str, str]
"""Line of Python, and the problem there."""
_MOVED = 0.01
"""Share by which the cut at 0 moves the mean of a normal law at least, to be worth a word."""


class ModelWarning(UserWarning):
    """A part of a model has no effect."""


def remarks(model: Model) -> tuple[str, ...]:
    """Return likely mistakes in `model`, each with its line of Python.

    Parameters
    ----------
    model
        A model that may be run; see `check.check_model`.

    Raises
    ------
    SimulationError
        If its programs are incomplete.

    Examples
    --------
    >>> from headroom.simulation import Model
    >>> model = Model("shop")
    >>> web, disk = model.station("web"), model.station("disk")
    >>> request = model.program("request")
    >>> request.use(web, 5)
    >>> model.closed_class("users", request, population=3)
    >>> [text.partition(": ")[2] for text in remarks(model)]
    ["no program uses station 'disk'"]
    """
    return tuple(f"{location}: {what}" for location, what in _found(model))


def warn_of(model: Model) -> None:
    """Warn of the remarks on `model`, each at its line of Python."""
    for location, what in _found(model):
        filename, _, line = location.rpartition(":")
        warnings.warn_explicit(what, ModelWarning, filename, int(line))


def _found(model: Model) -> Iterator[Remark]:
    parsed = parse_model(model)
    nodes = {name: list(walk(tree)) for name, tree in parsed.trees.items()}
    yield from _idle(model, nodes)
    yield from _attributes(model)
    yield from _priorities(parsed, nodes)
    yield from cut_normals(model)


def cut_normals(model: Model) -> Iterator[Remark]:
    """Yield the normal laws whose mean is another one than was written, as they are cut at 0.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential, normal
    >>> model = Model("queue", time_unit="s")
    >>> visit = model.program("visit")
    >>> visit.use(model.station("desk"), normal(10, 20))
    >>> model.open_class("visitors", visit, interarrival=exponential(60))
    >>> [what for _, what in cut_normals(model)]
    ['normal(10, 20) is drawn again while negative, so its mean is 20.2']
    """
    drawn: list[tuple[str, object]] = [
        (step.location, amount)
        for program in model.programs.values()
        for step in program.steps
        for amount in step.amounts.values()
    ]
    drawn += [(one.location, one.law) for one in model.classes.values()]
    for location, amount in drawn:
        if isinstance(amount, Distribution) and amount.kind == "normal":
            given = dict(amount.parameters)
            mean, deviation = float(str(given["mean"])), float(str(given["deviation"]))
            if abs(amount.mean - mean) > _MOVED * amount.mean:
                what = f"normal({mean:g}, {deviation:g}) is drawn again while negative"
                yield location, f"{what}, so its mean is {amount.mean:.3g}"


def _idle(model: Model, nodes: Mapping[str, list[Node]]) -> Iterator[Remark]:
    """Yield the stations that are never used and the pools that are never acquired."""
    used, acquired = _places([node for some in nodes.values() for node in some])
    for station in model.stations.values():
        if station.name not in used:
            yield station.location, f"no program uses station {station.name!r}"
    for pool in model.pools.values():
        if pool.name not in acquired:
            yield pool.location, f"no program acquires tokens of pool {pool.name!r}"


def _places(nodes: list[Node]) -> tuple[set[str], set[str]]:
    """Return the stations and the pools that some steps come to."""
    stations = {node.station for node in nodes if isinstance(node, Use)}
    return stations, {node.pool for node in nodes if isinstance(node, Acquire)}


def _attributes(model: Model) -> Iterator[Remark]:
    """Yield the attributes that are read and never set, so that they are 0 for all jobs."""
    if not model.attributes:
        return
    steps = [step for program in model.programs.values() for step in program.steps]
    given = {str(step.data["attribute"]) for step in steps if step.op == "set"}
    for class_ in model.classes.values():
        given |= set(getattr(class_.process, "attribute_names", ()))
    for mix in model.mixes.values():
        given |= set(mix.attribute_names)
    zero = {
        attribute.name for attribute in model.attributes.values() if attribute.initial == 0
    } - given
    for station in model.stations.values():
        named = frozenset() if station.position is None else station.position.names("attribute")
        for name in sorted(zero & named):
            yield station.location, f"attribute {name!r} is never set, so it is 0 for every job"
    for step in steps:
        for name in sorted(zero & set(_read(list(step.data.values())))):
            yield step.location, f"attribute {name!r} is never set, so it is 0 for every job"


def _read(data: object) -> Iterator[str]:
    """Yield the attributes that the data of a step read."""
    if isinstance(data, dict):
        if isinstance(data.get("attribute"), str):
            yield data["attribute"]
        data = list(data.values())
    if isinstance(data, list):
        for inner in data:
            yield from _read(inner)


def _priorities(parsed: Parsed, nodes: Mapping[str, list[Node]]) -> Iterator[Remark]:
    """Yield priorities without effect, and places where all jobs have the same priority."""
    model = parsed.model
    ordered = _ordered(model)
    present: dict[tuple[str, str], set[int]] = {place: set() for place in ordered}
    for class_ in model.classes.values():
        reached = [node for name in parsed.reached_from(class_.program) for node in nodes[name]]
        stations, pools = _places(reached)
        visited = {("station", name) for name in stations} | {("pool", name) for name in pools}
        for place in visited & set(ordered):
            present[place].add(class_.priority)
        if class_.priority and not visited & set(ordered):
            yield (
                class_.location,
                f"class {class_.name!r} has the priority {class_.priority}, but no "
                "station and no pool that its jobs come to serves by priority",
            )
    changes = [node for some in nodes.values() for node in some if isinstance(node, Prioritize)]
    if changes and not any(present.values()):
        yield changes[0].location, "jobs change their priority, but nothing serves by priority"
    for place, levels in present.items():
        if len(levels) == 1 and not changes:
            yield (
                ordered[place],
                f"{place[0]} {place[1]!r} serves by priority, but all jobs that "
                f"come to it have the priority {min(levels)}",
            )


def _ordered(model: Model) -> dict[tuple[str, str], str]:
    """Return the line of each station and pool that serves by priority."""
    stations = {
        ("station", station.name): station.location
        for station in model.stations.values()
        if station.discipline in {"priority", "priority_preempt"}
    }
    pools = {
        ("pool", pool.name): pool.location
        for pool in model.pools.values()
        if pool.order == "priority"
    }
    return stations | pools
