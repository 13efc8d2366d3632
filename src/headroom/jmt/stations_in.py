"""Read the queues and delays of JMT: servers, room, and scheduling discipline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroom.jmt.document import Document, JmtNode
from headroom.jmt.laws_in import number, whole
from headroom.jmt.place import Place, put, standing_at
from headroom.jmt.xml_tree import Element
from headroom.simulation import Model, Station
from headroom.simulation.language.stations import Discipline, WhenFull

_DISCIPLINES: Mapping[tuple[str, str], Discipline] = {
    ("Server", "TailStrategy"): "fcfs",
    ("Server", "HeadStrategy"): "lcfs",
    ("Server", "RandStrategy"): "random",
    ("Server", "TailStrategyPriority"): "priority",
    ("PreemptiveServer", "LCFSPRStrategy"): "lcfs_preempt",
    ("PreemptiveServer", "FCFSPRStrategy"): "fcfs",
    ("PreemptiveServer", "FCFSPRStrategyPriority"): "priority_preempt",
    ("PSServer", "EPSStrategy"): "ps",
}
_DEFAULTS = {"Server": "TailStrategy", "PSServer": "EPSStrategy"}


@dataclass(frozen=True, slots=True)
class Room:
    """How many jobs find room at a node, and what happens to the next."""

    size: int
    rule: str
    place: Place


def add_station(
    model: Model, node: JmtNode, classes: Sequence[str], region: Room | None = None
) -> Station:
    """Add the station that a node is, as the visiting `classes` see it.

    Parameters
    ----------
    model
        Where the station goes.
    node
        A queue or a delay.
    classes
        Classes of JMT whose jobs visit it.
    region
        Room that a dropping region around this one station leaves it.
    """
    if node.kind == "delay":
        _refuse_limited(node, "delay")
        with standing_at(node.place):
            model.station(node.name, discipline="infinite")
    else:
        _refuse_extras(node, classes)
        with standing_at(node.place):
            _add_queue(model, node, classes, region)
    put(model, "stations", node.name, node.place)
    return model.stations[node.name]


def _add_queue(model: Model, node: JmtNode, classes: Sequence[str], region: Room | None) -> None:
    servers = _servers(node)
    discipline = _discipline(node, classes)
    limit = _limit(node, discipline, servers)
    room = region or _room(node, classes)
    buffer: int | None = None
    when_full: WhenFull | None = None
    if room is not None and room.rule == "waiting queue":
        limit = _waiting_limit(node, discipline, limit, room)
    elif room is not None:
        if room.size < servers:
            raise room.place.error(
                f"node {node.name!r} has room for {room.size} job(s) and {servers} servers, some "
                "of which never work",
                cure="give it as much room as servers, or fewer servers",
            )
        buffer = room.size - servers
        when_full = "reject" if room.rule == "drop" else "block"
    model.station(
        node.name, servers=servers, discipline=discipline, limit=limit, buffer=buffer,
        when_full=when_full,
    )  # fmt: skip


def _servers(node: JmtNode) -> int:
    found = node.parameters.get("maxJobs")
    return 1 if found is None else whole(found.element)


def _limit(node: JmtNode, discipline: Discipline, servers: int) -> int | None:
    """Return how many jobs share the servers at most."""
    found = node.parameters.get("maxRunning")
    running = -1 if found is None else whole(found.element)
    if found is None or running < 0:
        return None
    if discipline != "ps" or running < servers:
        raise found.element.place.error(
            f"node {node.name!r} runs {running} job(s) at most on {servers} servers",
            cure="let at least as many run as there are servers, or any number (-1)",
        )
    return running


def _waiting_limit(
    node: JmtNode, discipline: Discipline, limit: int | None, room: Room
) -> int | None:
    """Jobs without room wait outside, first come first served, and block no other job."""
    if discipline == "fcfs":
        return limit
    if discipline == "ps" and limit is None:
        return room.size
    raise room.place.error(
        f"node {node.name!r} lets jobs without room wait outside first come first served, and "
        f"those inside by {discipline}",
        cure="give the station infinite room, or the discipline FCFS or PS",
    )


def _room(node: JmtNode, classes: Sequence[str]) -> Room | None:
    """Return the finite room of a node; None for unlimited room."""
    size = node.parameters.get("size")
    if size is None or whole(size.element) < 0:
        return None
    place = size.element.place
    rules = {_rule(node, name) for name in classes}
    if len(rules) > 1:
        raise place.error(
            f"node {node.name!r} has a drop rule for each class: {', '.join(sorted(rules))}",
            cure="give all classes that come here the same rule",
        )
    rule = rules.pop() if rules else "drop"
    if rule not in {"drop", "BAS blocking", "waiting queue"}:
        raise place.error(
            f"node {node.name!r} has the drop rule {rule!r}, which has no counterpart",
            cure="choose drop, BAS blocking or waiting queue",
        )
    return Room(whole(size.element), rule, place)


def _rule(node: JmtNode, class_name: str) -> str:
    element = node.of_class("dropStrategies", class_name)
    return "drop" if element is None else element.value


def drops(node: JmtNode, class_name: str, document: Document) -> bool:
    """Return whether a node may be full, and then loses a job of a class."""
    size = node.parameters.get("size")
    is_finite = size is not None and 0 <= whole(size.element) < document.most_jobs
    return is_finite and node.kind == "queue" and _rule(node, class_name) == "drop"


def blocks(node: JmtNode, classes: Iterable[str]) -> bool:
    """Return whether a full node holds up who wants to enter."""
    size = node.parameters.get("size")
    is_finite = size is not None and whole(size.element) >= 0
    return is_finite and any(_rule(node, name) == "BAS blocking" for name in classes)


def _discipline(node: JmtNode, classes: Sequence[str]) -> Discipline:
    parameter = {"PSServer": "PSStrategy", "PreemptiveServer": "PreemptiveStrategy"}.get(
        node.server, "QueuePutStrategy"
    )
    found = {_strategy(node, parameter, name) for name in classes}
    if found == {"DPSStrategy"} and _weights_are_equal(node, classes):
        return "ps"
    known = {_DISCIPLINES.get((node.server, one)) for one in found}
    discipline = known.pop() if len(known) == 1 else None
    if discipline is None:
        raise _place_of(node, parameter).error(
            f"node {node.name!r} serves by {', '.join(sorted(found))}, which has no counterpart",
            cure="choose FCFS, LCFS, RAND, PS, FCFS with priorities, or preemptive LCFS or FCFS "
            "with priorities, the same for all classes",
        )
    if _flag(node, "PSPriorityUsed"):
        raise _place_of(node, "PSPriorityUsed").error(
            f"node {node.name!r} shares its servers by priority, which has no counterpart",
            cure="choose PS without priorities, or preemptive FCFS with priorities",
        )
    return discipline


def _strategy(node: JmtNode, parameter: str, class_name: str) -> str:
    element = node.of_class(parameter, class_name)
    return _DEFAULTS.get(node.server, "") if element is None else element.java_class


def _weights_are_equal(node: JmtNode, classes: Sequence[str]) -> bool:
    elements = [node.of_class("serviceWeights", name) for name in classes]
    return len({1.0 if element is None else number(element) for element in elements}) <= 1


def _place_of(node: JmtNode, parameter: str) -> Place:
    found = node.parameters.get(parameter)
    return node.place if found is None else found.element.place


def _flag(node: JmtNode, parameter: str) -> bool:
    found = node.parameters.get(parameter)
    return found is not None and found.element.value.lower() == "true"


def _refuse_limited(node: JmtNode, kind: str) -> None:
    size = node.parameters.get("size")
    if size is not None and whole(size.element) >= 0:
        raise size.element.place.error(
            f"the {kind} {node.name!r} has limited room",
            cure="give it infinite room (-1), and the limit to a queue",
        )


def refuse_room(node: JmtNode) -> None:
    """Refuse limited room where jobs only pass through."""
    _refuse_limited(node, node.kind)


def _refuse_extras(node: JmtNode, classes: Sequence[str]) -> None:
    """Refuse what a queue of JMT can say next to its servers, room and discipline."""
    get = node.parameters.get("FCFSstrategy")
    if get is not None and get.element.java_class not in {"FCFSstrategy", ""}:
        raise get.element.place.error(
            f"node {node.name!r} polls its queues ({get.element.java_class}), which has no "
            "counterpart",
            cure="choose another queue policy",
        )
    names = node.parameters.get("serverNames")
    if names is not None and len(names.element.children) > 1:
        raise names.element.place.error(
            f"node {node.name!r} has several types of servers, which have no counterpart",
            cure="turn heterogeneous servers off, or make a station of each type",
        )
    compatible = node.parameters.get("serverCompatibilities")
    if compatible is not None and "false" in _values(compatible.element):
        raise compatible.element.place.error(
            f"node {node.name!r} has servers that serve some classes only",
            cure="let its servers serve all classes",
        )
    for parameter, word in (("numberOfVisits", "visits"), ("classParallelism", "servers")):
        for name in classes:
            element = node.of_class(parameter, name)
            if element is not None and whole(element) != 1:
                raise element.place.error(
                    f"class {name!r} takes {whole(element)} {word} at node {node.name!r} at once",
                    cure="write 1",
                )


def _values(element: Element) -> set[str]:
    """Return all values below an element, in lower case."""
    waiting, values = [element], set()
    while waiting:
        one = waiting.pop()
        waiting += one.children
        if one.tag == "value":
            values.add(one.text.strip().lower())
    return values
