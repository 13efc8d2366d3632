"""The contents of a JMT file in JMT's own terms: classes, nodes, connections, regions.

Invariant: what a file says is in here, is skipped because it changes no result (names of logs,
positions, measures, results), or is refused with its line; nothing is dropped in silence.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from headroom.jmt.place import Place
from headroom.jmt.xml_tree import Element

NodeKind: TypeAlias = Literal[
    "source", "sink", "queue", "delay", "router", "fork", "join", "switch"
]

# Section names of a node, in their order -> what it is.
_KINDS: Mapping[tuple[str, ...], NodeKind] = {
    ("RandomSource", "ServiceTunnel", "Router"): "source",
    ("JobSink",): "sink",
    ("Queue", "Server", "Router"): "queue",
    ("Queue", "PSServer", "Router"): "queue",
    ("Queue", "PreemptiveServer", "Router"): "queue",
    ("Queue", "Delay", "Router"): "delay",
    ("Queue", "ServiceTunnel", "Router"): "router",
    ("Queue", "LogTunnel", "Router"): "router",
    ("Queue", "ServiceTunnel", "Fork"): "fork",
    ("Join", "ServiceTunnel", "Router"): "join",
    ("Queue", "ClassSwitch", "Router"): "switch",
}

_READ: Mapping[str, frozenset[str]] = {
    "RandomSource": frozenset({"ServiceStrategy"}),
    "Queue": frozenset({"size", "dropStrategies", "FCFSstrategy", "QueuePutStrategy"}),
    "Server": frozenset({"maxJobs", "numberOfVisits", "ServiceStrategy", "PSStrategy",
                         "serviceWeights", "PSPriorityUsed", "PreemptiveStrategy", "maxRunning",
                         "classParallelism", "serverNames", "serverCompatibilities"}),
    "Delay": frozenset({"ServiceStrategy"}),
    "Router": frozenset({"RoutingStrategy"}),
    "Fork": frozenset({"jobsPerLink", "block", "isSimplifiedFork", "ForkStrategy"}),
    "Join": frozenset({"JoinStrategy"}),
    "ClassSwitch": frozenset({"matrix"}),
    "ServiceTunnel": frozenset(),
    "JobSink": frozenset(),
}  # fmt: skip
_SAME_PARAMETERS = {"PSServer": "Server", "PreemptiveServer": "Server"}

# With one type of server, which is required, the first two say nothing more. Nobody tries again
# but by the drop rule "retrial", which is refused.
_HARMLESS = frozenset({"serversPerServerType", "schedulingPolicy", "retrialDistributions"})
_OLD_NAMES = {"NetStrategy": "QueuePutStrategy"}
_SKIPPED = frozenset({"measure", "classSoftDeadlines", "quantumSize", "quantumSwitchoverTime"})


@dataclass(frozen=True, slots=True)
class UserClass:
    """A class of jobs; `customers` is None for an open one."""

    name: str
    customers: int | None
    priority: int
    reference: str
    place: Place


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a section, and its parts by class where it has some for each."""

    element: Element
    by_class: Mapping[str, Element]


@dataclass(slots=True)
class JmtNode:
    """A node: what it is, its parameters by name, and where its connections lead."""

    name: str
    kind: NodeKind
    server: str
    """Name of its middle section, which says how it serves."""
    place: Place
    parameters: dict[str, Parameter]
    targets: list[str] = field(default_factory=list)

    def of_class(self, parameter: str, class_name: str) -> Element | None:
        """Return the value of a parameter for a class, None if there is none."""
        found = self.parameters.get(parameter)
        return None if found is None else found.by_class.get(class_name)


@dataclass(slots=True)
class Document:
    """All that a file says about the model."""

    file: str
    name: str
    classes: dict[str, UserClass]
    nodes: dict[str, JmtNode]
    regions: list[Element]
    preloads: list[Element]
    longest_s: float | None

    @property
    def most_jobs(self) -> float:
        """Jobs that there can be at once; infinite with an open class."""
        counts = [one.customers for one in self.classes.values()]
        return math.inf if None in counts else float(sum(filter(None, counts)))


Named = TypeVar("Named", UserClass, JmtNode)


def document_of(root: Element) -> Document:
    """Return what the root element of a file says about its model."""
    sim = root if root.tag == "sim" else root.first("sim")
    if root.tag not in {"archive", "sim"} or sim is None:
        raise root.place.error(
            f"the file holds <{root.tag}>, not a simulation model of JMT",
            cure="save the model from JSIMgraph or JSIMwiz (.jsimg, .jsimw, .jsim)",
        )
    known = {"userClass", "node", "connection", "blockingRegion", "preload"} | _SKIPPED
    for child in sim.children:
        if child.tag not in known:
            raise child.place.error(
                f"<{child.tag}> has no counterpart", cure="remove it from the model in JMT"
            )
    classes = _named(sim, "userClass", _class_of)
    nodes = _named(sim, "node", _node_of)
    if not classes or not nodes:
        raise sim.place.error(
            "the model has no classes or no stations", cure="add some in JMT, and save it again"
        )
    _connect(sim, nodes)
    _check_references(classes, nodes)
    return Document(
        file=root.place.file,
        name=sim.attributes.get("name") or root.attributes.get("name") or "model",
        classes=classes,
        nodes=nodes,
        regions=list(sim.all("blockingRegion")),
        preloads=[one for preload in sim.all("preload") for one in preload.children],
        longest_s=_longest(sim),
    )


def _named(sim: Element, tag: str, build: Callable[[Element], Named]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for element in sim.all(tag):
        one = build(element)
        if one.name in found:
            raise element.place.error(
                f"two <{tag}> are named {one.name!r}", cure="give each a unique name"
            )
        found[one.name] = one
    return found


def whole_attribute(element: Element, name: str, default: int | None = None) -> int:
    """Return an attribute as a whole number; a number too large for a float stays text."""
    text = element.attributes.get(name, "") if default is not None else element.attribute(name)
    if not text and default is not None:
        return default
    try:
        return int(text.removesuffix(".0"))
    except ValueError:
        raise element.place.error(
            f"{name} must be a whole number, not {text!r}", cure="write a whole number"
        ) from None


def _longest(sim: Element) -> float | None:
    text = sim.attributes.get("maxSimulated", "")
    try:
        found = float(text) if text else -1.0
    except ValueError:
        raise sim.place.error(
            f"maxSimulated must be a number, not {text!r}", cure="write a number of seconds"
        ) from None
    return found if 0 < found < float("inf") else None


def _class_of(element: Element) -> UserClass:
    kind = element.attribute("type")
    if kind not in {"open", "closed"}:
        raise element.place.error(
            f"class {element.attribute('name')!r} is {kind!r}", cure='write "open" or "closed"'
        )
    if element.attributes.keys() & {"cacheMissClass", "cacheHitClass"}:
        raise element.place.error("caches have no counterpart", cure="model hits by a branch")
    customers = whole_attribute(element, "customers") if kind == "closed" else None
    if customers is not None and customers < 0:
        raise element.place.error(
            f"class {element.attribute('name')!r} has {customers} customers",
            cure="give a number of 0 or more",
        )
    return UserClass(
        name=element.attribute("name"),
        customers=customers,
        priority=whole_attribute(element, "priority", 0),
        reference=element.attributes.get("referenceSource", ""),
        place=element.place,
    )


def _node_of(element: Element) -> JmtNode:
    name = element.attribute("name")
    parameters: dict[str, Parameter] = {}
    for child in element.children:
        if child.tag not in {"section"} | _SKIPPED:
            raise child.place.error(
                f"<{child.tag}> of node {name!r} has no counterpart",
                cure="remove it from the model in JMT",
            )
    sections = list(element.all("section"))
    titles = tuple(section.attribute("className") for section in sections)
    if titles not in _KINDS:
        unknown = [title for title in titles if title not in _READ and title not in
                   {*_SAME_PARAMETERS, "LogTunnel"}]  # fmt: skip
        raise element.place.error(
            f"node {name!r} is made of {' + '.join(titles) or 'nothing'}, which has no counterpart",
            cure=f"replace {unknown[0] if unknown else 'it'} by sources, sinks, queues, delays, "
            "routers, forks with joins, or class switches",
        )
    for section in sections:
        if section.attribute("className") != "LogTunnel":
            parameters |= _parameters(section, name)
    server = titles[1] if len(titles) > 1 else ""
    return JmtNode(name, _KINDS[titles], server, element.place, parameters)


def _parameters(section: Element, node: str) -> dict[str, Parameter]:
    title = section.attribute("className")
    known = _READ[_SAME_PARAMETERS.get(title, title)]
    parameters = {}
    for element in section.children:
        name = _OLD_NAMES.get(element.name, element.name)
        if name in _HARMLESS:
            continue
        if element.tag != "parameter" or name not in known:
            raise element.place.error(
                f"{name or element.tag} of node {node!r} ({title}) has no counterpart",
                cure="turn it off in the dialog of the node in JMT",
            )
        parameters[name] = Parameter(element, _by_class(element))
    return parameters


def _by_class(element: Element) -> dict[str, Element]:
    """Return the parts of a parameter that name classes: names stand before the part."""
    found: dict[str, Element] = {}
    names: list[str] = []
    for child in element.children:
        if child.tag == "refClass":
            names.append(child.text.strip())
        else:
            found |= dict.fromkeys(names, child)
            names = []
    return found


def _connect(sim: Element, nodes: Mapping[str, JmtNode]) -> None:
    for element in sim.all("connection"):
        ends = [element.attribute("source"), element.attribute("target")]
        for end in ends:
            if end not in nodes:
                raise element.place.error(
                    f"a connection names the node {end!r}, which is not there",
                    cure=f"choose among {', '.join(map(repr, nodes))}",
                )
        if ends[1] not in nodes[ends[0]].targets:
            nodes[ends[0]].targets.append(ends[1])


def _check_references(classes: Mapping[str, UserClass], nodes: Mapping[str, JmtNode]) -> None:
    for node in nodes.values():
        for parameter in node.parameters.values():
            for name, element in parameter.by_class.items():
                if name not in classes:
                    raise element.place.error(
                        f"node {node.name!r} names the class {name!r}, which is not there",
                        cure=f"choose among {', '.join(map(repr, classes))}",
                    )
