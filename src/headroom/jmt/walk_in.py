"""The walk of a class through a JMT file: a graph of spots and the transitions between them.

A spot is a node as seen by a job of one class; a job that changes its class continues at the spots
of its new class. A walk starts where a job leaves JMT's reference station of the class (or at that
station, if it is a queue). It ends where a job of the class returns to it, or in a sink.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from headroom.jmt.document import Document, JmtNode, UserClass
from headroom.jmt.laws_in import whole
from headroom.jmt.place import Place
from headroom.jmt.regions_in import Region
from headroom.jmt.routing_in import class_changes, routing_of
from headroom.jmt.stations_in import refuse_room
from headroom.jmt.xml_tree import Element
from headroom.simulation.language.blocks import Policy

MOST_SPOTS = 100_000


@dataclass(frozen=True, slots=True)
class Spot:
    """A node for jobs of a class: at it, leaving a class switch or the start, or on the way in.

    `leaves` and `enters` name the pools that are given back and taken on the way; where the way
    is the last, nothing follows it.
    """

    node: str
    class_name: str
    phase: Literal["start", "at", "out", "way"] = "at"
    leaves: str = ""
    enters: str = ""
    is_last: bool = False


Target: TypeAlias = Spot | None
"""None is the end of the walk, or of the arm of a fork."""


@dataclass(frozen=True, slots=True)
class Exits:
    """Where a job goes from a spot."""

    policy: Policy
    targets: tuple[tuple[Target, float], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Graph:
    """A start and all spots that are reached from it, in the order in which they are found."""

    start: Target
    exits: Mapping[Spot, Exits]


@dataclass(frozen=True, slots=True)
class Forked:
    """The arms of a fork, the join that they meet at, and how many it waits for."""

    arms: tuple[Graph, ...]
    join: str
    quorum: int | None


class Walk:
    """The walk of the jobs that start in one class of a document."""

    def __init__(self, document: Document, regions: Mapping[str, Region], job: UserClass) -> None:
        self.document = document
        self.job = job
        self._regions = regions
        self._forks: dict[Spot, Forked] = {}
        self._count = 0
        self.home = self._home()
        self.thinks = job.customers is not None and self.home.kind == "delay"
        start = self._start()
        self.graph = self._folded(self._explored(start, None))

    def nodes(self) -> dict[str, list[str]]:
        """Return node -> the classes in which the walk visits it, in order of discovery."""
        found: dict[str, list[str]] = {}
        waiting = [self.graph]
        for graph in waiting:
            for spot in graph.exits:
                if spot.phase == "at" and spot.class_name not in found.setdefault(spot.node, []):
                    found[spot.node].append(spot.class_name)
                if spot in self._forks and spot.phase == "at":
                    waiting.extend(self._forks[spot].arms)
        return found

    def in_arms(self) -> set[str]:
        """Return the nodes that are visited between a fork and its join."""
        return {
            spot.node
            for forked in self._forks.values()
            for arm in forked.arms
            for spot in arm.exits
        }

    def forked(self, spot: Spot) -> Forked:
        """Return the arms of a fork."""
        return self._forks[spot]

    def node(self, spot: Spot) -> JmtNode:
        """Return the node where a job stands."""
        return self.document.nodes[spot.node]

    def _home(self) -> JmtNode:
        home = self.document.nodes.get(self.job.reference)
        wanted = {"source"} if self.job.customers is None else {"queue", "delay"}
        if home is None or home.kind not in wanted:
            raise self.job.place.error(
                f"class {self.job.name!r} has the reference station {self.job.reference!r}, which "
                f"is not a {' or '.join(sorted(wanted))} of the model",
                cure=f"choose a {' or a '.join(sorted(wanted))}",
            )
        region = self._regions.get(home.name)
        if region is not None and not region.is_dropping:
            raise region.place.error(
                f"region {region.name!r} holds {home.name!r}, the reference station of class "
                f"{self.job.name!r}, where its jobs begin and end",
                cure="choose a reference station outside the region",
            )
        return home

    def _start(self) -> Target:
        if self.home.kind == "queue":
            return Spot(self.home.name, self.job.name)
        start = Spot(self.home.name, self.job.name, "start")
        exits = self._exits(start, None)
        return exits.targets[0][0] if len(exits.targets) == 1 else start

    def _explored(self, start: Target, joins: set[str] | None) -> Graph:
        """Return the spots reached from a start; in forks the joins met go into `joins`."""
        exits: dict[Spot, Exits] = {}
        waiting = [] if start is None else [start]
        for spot in waiting:
            if spot in exits:
                continue
            self._count += 1
            if self._count > MOST_SPOTS:
                raise self.job.place.error(
                    f"class {self.job.name!r} may be at more than {MOST_SPOTS:,} nodes and classes",
                    cure="use fewer classes or nodes",
                )
            exits[spot] = self._exits(spot, joins)
            waiting.extend(target for target, _ in exits[spot].targets if target is not None)
        return Graph(start, exits)

    def _folded(self, graph: Graph) -> Graph:
        """Return the graph without spots at which nothing happens but chance.

        Spots in the walk's own class come before those in others, so that jobs which are at a
        station at the start are in their own class there.
        """
        exits = {spot: self._fold(spot, graph.exits) for spot in graph.exits}
        start = graph.start
        if start is not None and self._is_empty(start) and len(exits[start].targets) == 1:
            start = exits[start].targets[0][0]
        reached: list[Spot] = [] if start is None else [start]
        known = set(reached)
        for spot in reached:
            new = [one for one, _ in exits[spot].targets if one is not None and one not in known]
            reached += new
            known.update(new)
        own = [spot for spot in reached[1:] if spot.class_name == self.job.name]
        others = [spot for spot in reached[1:] if spot.class_name != self.job.name]
        return Graph(start, {spot: exits[spot] for spot in [*reached[:1], *own, *others]})

    def _fold(self, spot: Spot, exits: Mapping[Spot, Exits]) -> Exits:
        """Return where a job goes from a spot, passing through those at which nothing happens."""
        own = exits[spot]
        found: dict[Target, float] = {}
        waiting = [(target, share, 0) for target, share in reversed(own.targets)]
        while waiting:
            target, share, depth = waiting.pop()
            is_passed = target is not None and self._is_passed(target, own, exits)
            if target is None or not is_passed or target == spot:
                if target in found and own.policy != "probability":
                    return own
                found[target] = found.get(target, 0.0) + share
            elif depth > len(exits) or len(waiting) > MOST_SPOTS:
                return own
            else:
                waiting += [(one, share * part, depth + 1)
                            for one, part in reversed(exits[target].targets)]  # fmt: skip
        return replace(own, targets=tuple(found.items()))

    def _is_passed(self, target: Spot, own: Exits, exits: Mapping[Spot, Exits]) -> bool:
        then = exits[target]
        is_chance = own.policy == "probability" and then.policy == "probability"
        return self._is_empty(target) and (is_chance or len(then.targets) == 1)

    def _is_empty(self, spot: Spot) -> bool:
        """Return whether nothing happens at a spot."""
        if spot.phase == "way":
            return False
        if spot.phase == "out":
            return len({class_.priority for class_ in self.document.classes.values()}) == 1
        return spot.phase == "start" or self.node(spot).kind in {"router", "switch"}

    def _exits(self, spot: Spot, joins: set[str] | None) -> Exits:
        node = self.node(spot)
        if spot.phase == "way":
            after = replace(spot, phase="at", leaves="", enters="")
            return Exits("probability", ((None if spot.is_last else after, 1.0),), node.place)
        if node.kind == "switch" and spot.phase == "at":
            return self._switched(spot, node, joins)
        source = node
        if node.kind == "fork":
            refuse_room(node)
            self._forks[spot] = self._fork(spot, node)
            source = self.document.nodes[self._forks[spot].join]
        elif node.kind == "router":
            refuse_room(node)
        return self._routed(spot, source, joins)

    def _switched(self, spot: Spot, node: JmtNode, joins: set[str] | None) -> Exits:
        refuse_room(node)
        if joins is not None:
            raise node.place.error(
                f"class switch {node.name!r} is between a fork and its join, which has no "
                "counterpart",
                cure="switch classes before the fork or after the join",
            )
        changes = class_changes(self.document, node, spot.class_name)
        targets = [(Spot(node.name, name, "out"), share) for name, share in changes]
        return Exits("probability", tuple(targets), node.place)

    def _routed(self, spot: Spot, source: JmtNode, joins: set[str] | None) -> Exits:
        routing = routing_of(self.document, source, self.document.classes[spot.class_name])
        merged: dict[Target, float] = {}
        for name, share in routing.targets:
            target = self._arrival(spot, self.document.nodes[name], joins)
            if target in merged and routing.policy != "probability":
                raise routing.place.error(
                    f"node {source.name!r} chooses between two ends of the walk by "
                    f"{routing.policy}",
                    cure="connect it to one sink, or put a router between",
                )
            merged[target] = merged.get(target, 0.0) + share
        return Exits(routing.policy, tuple(merged.items()), routing.place)

    def _arrival(self, spot: Spot, node: JmtNode, joins: set[str] | None) -> Target:
        """Return where a job is that goes from `spot` to `node`."""
        ends = self._ends(spot, node, joins)
        there = "" if ends else self._pool(node.name, spot.class_name)
        here = self._pool(spot.node, spot.class_name) if spot.phase == "at" else ""
        if here == there:
            return None if ends else Spot(node.name, spot.class_name)
        if ends:
            return Spot(spot.node, spot.class_name, "way", leaves=here, is_last=True)
        return Spot(node.name, spot.class_name, "way", leaves=here, enters=there)

    def _ends(self, spot: Spot, node: JmtNode, joins: set[str] | None) -> bool:
        is_home = (
            node is self.home
            and spot.class_name == self.job.name
            and self.job.customers is not None
        )
        if joins is not None:
            if node.kind == "join":
                joins.add(node.name)
                return True
            if node.kind == "sink" or is_home:
                raise node.place.error(
                    f"a job goes from a fork to {node.name!r} without meeting a join",
                    cure="lead all arms of a fork to one join",
                )
            return False
        if node.kind == "join":
            raise node.place.error(
                f"a job comes to join {node.name!r} without a fork", cure="connect it behind a fork"
            )
        if node.kind == "source" or (node.kind == "sink" and self.job.customers is not None):
            raise node.place.error(
                f"a job of class {spot.class_name!r} comes to the {node.kind} {node.name!r}",
                cure="route it elsewhere",
            )
        return node.kind == "sink" or is_home

    def _pool(self, node: str, class_name: str) -> str:
        region = self._regions.get(node)
        return "" if region is None else region.pool_of(class_name)

    def _fork(self, spot: Spot, node: JmtNode) -> Forked:
        joins: set[str] = set()
        arms = []
        for name, count in _branches(node, spot.class_name):
            start = self._arrival(spot, self.document.nodes[name], joins)
            arms += [self._folded(self._explored(start, joins))] * count
        if len(joins) != 1 or not arms:
            met = ", ".join(map(repr, sorted(joins))) or "no join"
            raise node.place.error(
                f"the arms of fork {node.name!r} meet {met}", cure="lead all arms to one join"
            )
        join = self.document.nodes[joins.pop()]
        return Forked(tuple(arms), join.name, _quorum(join, spot.class_name, len(arms)))


def _branches(node: JmtNode, class_name: str) -> list[tuple[str, int]]:
    """Return where a fork sends how many jobs each."""
    block = node.parameters.get("block")
    if block is not None and whole(block.element) >= 0:
        raise block.element.place.error(
            f"fork {node.name!r} holds up jobs while {whole(block.element)} are forked",
            cure="give it no capacity (-1), or put a region around a station before it",
        )
    simple = node.parameters.get("isSimplifiedFork")
    if simple is None or simple.element.value.lower() == "true":
        links = node.parameters.get("jobsPerLink")
        count = 1 if links is None else whole(links.element)
        if not 1 <= count <= 1000:  # noqa: PLR2004 - more arms than anybody means
            raise node.place.error(
                f"fork {node.name!r} sends {count} jobs to each target", cure="send 1 to 1000"
            )
        return [(name, count) for name in node.targets]
    strategy = node.of_class("ForkStrategy", class_name)
    if strategy is None or strategy.java_class != "ProbabilitiesFork":
        raise (node.place if strategy is None else strategy.place).error(
            f"fork {node.name!r} chooses its arms, which has no counterpart",
            cure="choose the standard fork strategy",
        )
    paths = [path for array in strategy.children for path in array.all("subParameter")]
    return [_certain(node, path) for path in paths]


def _certain(node: JmtNode, path: Element) -> tuple[str, int]:
    """Return the target and the number of jobs of an arm that is always taken."""
    parts = {child.name: child for child in path.children}
    unit = {child.name: child for child in parts["outUnitProbability"].children} if (
        "outUnitProbability" in parts) else {}  # fmt: skip
    counts = [
        (values["numbers"], values["probability"])
        for entry in (parts["JobsPerLinkDis"].children if "JobsPerLinkDis" in parts else [])
        for values in [{child.name: child for child in entry.children}]
        if values.keys() >= {"numbers", "probability"} and values["probability"].value != "0.0"
    ]
    chosen = unit.get("stationName")
    share = unit.get("probability")
    is_certain = share is not None and share.value in {"1", "1.0"} and len(counts) == 1
    if chosen is None or chosen.value not in node.targets or not is_certain:
        raise path.place.error(
            f"fork {node.name!r} takes arms at random, or one that is not connected",
            cure="give each arm the probability 1 and one number of jobs",
        )
    count = whole(counts[0][0])
    if not 1 <= count <= 1000:  # noqa: PLR2004 - more arms than anybody means
        raise path.place.error(f"fork {node.name!r} sends {count} jobs", cure="send 1 to 1000")
    return chosen.value, count


def _quorum(join: JmtNode, class_name: str, arms: int) -> int | None:
    """Return how many arms a join waits for; None for all of them."""
    strategy = join.of_class("JoinStrategy", class_name)
    if strategy is None or strategy.java_class == "NormalJoin":
        return None
    numbers = {child.name: child for child in strategy.children}
    if strategy.java_class != "PartialJoin" or "numRequired" not in numbers:
        raise strategy.place.error(
            f"join {join.name!r} waits by {strategy.java_class}, which has no counterpart",
            cure="choose the standard join or the quorum",
        )
    required = whole(numbers["numRequired"])
    if not 1 <= required <= arms:
        raise strategy.place.error(
            f"join {join.name!r} waits for {required} of {arms} arms",
            cure=f"wait for 1 to {arms} arms",
        )
    return None if required == arms else required
