"""Read the routing of JMT: the possible next nodes of a class, and how one is chosen."""

import math
from dataclasses import dataclass

from headroom.jmt.document import Document, JmtNode, UserClass
from headroom.jmt.laws_in import number, service_law, whole
from headroom.jmt.place import Place
from headroom.jmt.xml_tree import Element
from headroom.simulation.language.blocks import Policy

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Routing:
    """Nodes that a job may go to, each with its probability where these choose."""

    policy: Policy
    targets: tuple[tuple[str, float], ...]
    place: Place


def routing_of(document: Document, node: JmtNode, user_class: UserClass) -> Routing:
    """Return where jobs of `user_class` go from `node`."""
    element = node.of_class("RoutingStrategy", user_class.name)
    place = node.place if element is None else element.place
    kind = "RandomStrategy" if element is None else element.java_class
    targets = _reachable(document, node, user_class)
    if kind == "DisabledRoutingStrategy" or not targets:
        raise place.error(
            f"jobs of class {user_class.name!r} come to node {node.name!r} and cannot leave it",
            cure="connect it, and choose a routing strategy for the class",
        )
    equal = tuple((target, 1 / len(targets)) for target in targets)
    match kind:
        case "RandomStrategy":
            return Routing("probability", equal, place)
        case "EmpiricalStrategy":
            return Routing("probability", _probabilities(_given(element), node, user_class), place)
        case "RoundRobinStrategy":
            policy: Policy = "round_robin"
        case "ShortestQueueLengthRoutingStrategy":
            policy = "shortest_queue"
        case "PowerOfKRoutingStrategy":
            policy = _power_of_k(_given(element), node, len(targets))
        case "FastestServiceRoutingStrategy":
            fastest = _fastest(document, node, user_class, targets, place)
            return Routing("probability", ((fastest, 1.0),), place)
        case _:
            raise place.error(
                f"node {node.name!r} routes class {user_class.name!r} by {kind}, which has no "
                "counterpart",
                cure="choose random, probabilities, round robin, join the shortest queue, "
                "power of k with k = 2, or fastest service",
            )
    return Routing("probability" if len(targets) == 1 else policy, equal, place)


def class_changes(document: Document, node: JmtNode, class_name: str) -> list[tuple[str, float]]:
    """Return the classes that a class switch turns a class into, with their probabilities."""
    row = node.of_class("matrix", class_name)
    if row is None:
        return [(class_name, 1.0)]
    found, names = [], []
    for child in row.children:
        if child.tag == "refClass":
            names.append(child.text.strip())
        else:
            found += [(name, number(child)) for name in names]
            names = []
    for name, share in found:
        if name not in document.classes or not 0 <= share <= 1:
            raise row.place.error(
                f"class switch {node.name!r} makes {name!r} of {class_name!r} with probability "
                f"{share:g}",
                cure="name classes of the model, with probabilities from 0 to 1",
            )
    _refuse_unless_one(math.fsum(share for _, share in found), row.place, node.name, class_name)
    total = math.fsum(share for _, share in found)
    return [(name, share / total) for name, share in found if share > 0]


def _reachable(document: Document, node: JmtNode, user_class: UserClass) -> list[str]:
    """Return the targets of a node; closed classes never go to a sink."""
    is_closed = user_class.customers is not None
    return [
        name for name in node.targets if not (is_closed and document.nodes[name].kind == "sink")
    ]


def _given(element: Element | None) -> Element:
    assert element is not None, "a strategy other than the default is in the file"  # noqa: S101 - a bug of ours
    return element


def _probabilities(
    strategy: Element, node: JmtNode, user_class: UserClass
) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    entries = [entry for array in strategy.children for entry in array.all("subParameter")]
    for entry in entries:
        values = {child.name: child for child in entry.children}
        if not {"stationName", "probability"} <= values.keys():
            raise entry.place.error(
                f"a route of node {node.name!r} has no station or no probability",
                cure="save the model again in JMT",
            )
        name, share = values["stationName"].value, number(values["probability"])
        if share < 0 or (share > 0 and name not in node.targets):
            raise entry.place.error(
                f"node {node.name!r} routes class {user_class.name!r} to {name!r} with "
                f"probability {share:g}, but is not connected to it, or this is not a probability",
                cure="connect the two, or correct the probability",
            )
        if share > 0:
            found[name] = found.get(name, 0.0) + share
    total = math.fsum(found.values())
    _refuse_unless_one(total, strategy.place, node.name, user_class.name)
    return tuple((name, share / total) for name, share in found.items())


def _refuse_unless_one(total: float, place: Place, node: str, class_name: str) -> None:
    if abs(total - 1) > _TOLERANCE:
        raise place.error(
            f"the probabilities of class {class_name!r} at node {node!r} sum to {total:g}, not 1",
            cure="correct the probabilities",
        )


def _fastest(
    document: Document, node: JmtNode, user_class: UserClass, targets: list[str], place: Place
) -> str:
    """Return the target with the least mean service time, which JMT learns in its run."""
    means: dict[str, float] = {}
    for name in targets:
        target = document.nodes[name]
        strategy = target.of_class("ServiceStrategy", user_class.name)
        if target.server not in {"Server", "Delay"} or strategy is None:
            raise place.error(
                f"node {node.name!r} routes class {user_class.name!r} to the fastest service, and "
                f"the time at {name!r} is not known or depends on the load",
                cure="choose among queues and delays whose servers are not shared",
            )
        what = f"the service time of class {user_class.name!r} at node {name!r}"
        means[name] = service_law(strategy, what).mean
    fastest = min(means, key=lambda name: means[name])
    if sum(mean == means[fastest] for mean in means.values()) > 1:
        raise place.error(
            f"node {node.name!r} routes class {user_class.name!r} to the fastest of equally fast "
            "services",
            cure="choose random routing, or join the shortest queue",
        )
    return fastest


def _power_of_k(strategy: Element, node: JmtNode, targets: int) -> Policy:
    values = {child.name: child for child in strategy.children}
    k = whole(values["k"]) if "k" in values else 2
    if "withMemory" in values and values["withMemory"].value.lower() == "true":
        raise strategy.place.error(
            f"node {node.name!r} remembers the queues that it looked at",
            cure="choose power of k without memory",
        )
    if k >= targets:
        return "shortest_queue"
    if k == 2:  # noqa: PLR2004 - two choices
        return "two_choices"
    raise strategy.place.error(
        f"node {node.name!r} looks at {k} of {targets} queues, which has no counterpart",
        cure="choose k = 2, or join the shortest queue",
    )
