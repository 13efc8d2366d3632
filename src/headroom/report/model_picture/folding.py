"""Fold identical parts into one node, so that a picture of many parts stays readable.

A group that the model names, and that the results report in one row, becomes one node with the name
of the group. Two other parts are identical if they differ only in a number in their names: they
have the same data, and routes of the same kind to identical parts (partition refinement as for
automata, Hopcroft 1971, in its simple form). More than `FEW` of them are drawn as one node. If
choices outnumber parts, the choices are left out (`thinning`). If more than `MOST` nodes remain,
those whose names differ only in numbers are folded, and then the rest becomes one box.

Invariant: every part of the model is a member of exactly one node.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

from headroom.report.model_picture.graph import Edge, Graph, Node, merged
from headroom.report.model_picture.thinning import choices_of, has_too_many_choices, thinned
from headroom.report.model_picture.words import listed, shortened

FEW = 4
"""Alike parts that are still drawn one by one."""
MOST = 60
"""Nodes of a picture that can be read."""
_KEPT = 48
_LABELS = 2
_LONGEST_LABEL = 34
_NUMBER = re.compile(r"\d+")
_REST = "rest"


def folded(graph: Graph) -> Graph:
    """Return the graph with alike parts made one, and idle junctions left out."""
    reported = _with_groups(graph, _own_groups(graph), 1) if _has_groups(graph) else graph
    small = without_idle_junctions(_with_groups(reported, _alike(reported), FEW + 1))
    if has_too_many_choices(small):
        small = thinned(_with_groups(small, choices_of(small), 2))
    if len(small.nodes) > MOST:
        names = {key: (node.kind, _bare(node)) for key, node in small.nodes.items()}
        small = without_idle_junctions(_with_groups(small, names, 2))
    if len(small.nodes) > MOST:
        small = without_idle_junctions(_with_groups(small, _few_and_rest(small), 2))
    return replace_labels(small)


def _has_groups(graph: Graph) -> bool:
    return any(node.rows for node in graph.nodes.values())


def _own_groups(graph: Graph) -> dict[str, Hashable]:
    """Return the groups that the model itself names; everything else is a group of its own."""
    return {key: (node.kind, node.rows) if node.rows else key for key, node in graph.nodes.items()}


def _bare(node: Node) -> str:
    return _NUMBER.sub("#", node.name)


def _alike(graph: Graph) -> dict[str, Hashable]:
    """Return a colour for each node; nodes of one colour are alike."""
    colours: dict[str, int] = _numbered({key: _looks(node) for key, node in graph.nodes.items()})
    around: dict[str, list[tuple[str, tuple[str, ...], str, str]]] = defaultdict(list)
    for edge in graph.edges:
        around[edge.source].append(("to", edge.labels, edge.kind, edge.target))
        around[edge.target].append(("from", edge.labels, edge.kind, edge.source))
    while True:
        seen = {
            key: (colour, frozenset((*words, colours[other]) for *words, other in around[key]))
            for key, colour in colours.items()
        }
        finer = _numbered(seen)
        if len(set(finer.values())) == len(set(colours.values())):
            return dict(colours)
        colours = finer


def _looks(node: Node) -> Hashable:
    data = {name: value for name, value in node.data.items() if name not in ("name", "stream")}
    name = "" if node.kind in ("junction", "fork") else _bare(node)
    return node.kind, name, node.lines, repr(sorted(data.items()))


def _numbered(looks: Mapping[str, Hashable]) -> dict[str, int]:
    numbers: dict[Hashable, int] = {}
    return {key: numbers.setdefault(look, len(numbers)) for key, look in looks.items()}


def _few_and_rest(graph: Graph) -> dict[str, Hashable]:
    """Return groups that keep the first nodes and put all others into one."""
    first = [key for key, node in graph.nodes.items() if node.kind in ("class", "sink")][:_KEPT]
    parts = [key for key in graph.nodes if key not in set(first)]
    kept = {*first, *parts[: _KEPT - len(first)]}
    return {key: key if key in kept else _REST for key in graph.nodes}


def _with_groups(graph: Graph, groups: Mapping[str, Hashable], least: int) -> Graph:
    """Return the graph with each group of at least `least` nodes as one node."""
    sizes = Counter(groups.values())
    members: dict[Hashable, list[Node]] = defaultdict(list)
    for key, node in graph.nodes.items():
        members[groups[key]].append(node)
    place = {
        node.key: (nodes[0].key if sizes[group] >= least else node.key)
        for group, nodes in members.items()
        for node in nodes
    }
    nodes: dict[str, Node] = {}
    for key, node in graph.nodes.items():
        alike = members[groups[key]]
        if place[key] == key:
            nodes[key] = _group(alike) if len(alike) >= least else node
    return Graph(
        nodes=nodes,
        edges=_moved(graph.edges, place),
        held=_held(graph.held, place),
        classes=graph.classes,
    )


def _group(nodes: list[Node]) -> Node:
    first = nodes[0]
    members = tuple(member for node in nodes for member in node.members)
    rows = tuple(dict.fromkeys(row for node in nodes for row in node.rows))
    if len(rows) == 1 and all(node.rows for node in nodes):
        return _named_group(nodes, members, rows[0])
    if len(nodes) == 1:
        return first
    kinds = {node.kind for node in nodes}
    if len(kinds) > 1 or (len({_bare(node) for node in nodes}) > 1 and first.name):
        return Node(key=first.key, kind="other", name=f"{len(members) or len(nodes):,} more parts",
                    note=listed([node.name for node in nodes if node.name], most=20),
                    members=members, rows=rows)  # fmt: skip
    if not first.members:
        return first
    lines = _lines_of_all(nodes)
    return replace(
        first,
        name=f"{first.name} \u2026 {nodes[-1].name}",
        lines=(f"{len(members):,} alike" if len(nodes) > 1 else "", *lines),
        note=f"{len(members):,} alike: {listed(members, most=40)}; each: {first.note}",
        members=members,
    )


def _named_group(nodes: list[Node], members: tuple[str, ...], name: str) -> Node:
    """Return the node of a group that the model names."""
    if len(members) == 1:
        return replace(nodes[0], name=name, members=members)
    plural = f"{len(members):,} {nodes[0].kind}s"
    return replace(
        nodes[0],
        name=name,
        lines=(plural, *_lines_of_all(nodes)),
        note=f"{name}: {plural}, {listed(members, most=12)}; the first: {nodes[0].note}",
        members=members,
    )


def _lines_of_all(nodes: list[Node]) -> list[str]:
    return [line for line in nodes[0].lines if all(line in node.lines for node in nodes)]


def _moved(edges: Iterable[Edge], place: Mapping[str, str]) -> list[Edge]:
    """Return the edges between groups; a chance that several share is one of each."""
    shares: dict[tuple[str, str, str], list[Edge]] = defaultdict(list)
    for edge in edges:
        shares[place[edge.source], place[edge.target], edge.kind].append(edge)
    found = []
    for (source, target, _), some in shares.items():
        labels = [label for edge in some for label in edge.labels]
        targets = {edge.target for edge in some}
        classes = tuple(dict.fromkeys(name for edge in some for name in edge.classes))
        found.append(
            Edge(
                source=source,
                target=target,
                labels=_shared(labels, is_shared=len(targets) > 1),
                kind=some[0].kind,
                classes=classes,
            )
        )
    return found


def _shared(labels: list[str], *, is_shared: bool) -> tuple[str, ...]:
    distinct = list(dict.fromkeys(labels))
    chances = [label for label in distinct if label.endswith("%")]
    if not is_shared or not chances:
        return tuple(distinct)
    rest = [label for label in distinct if label not in chances]
    if len(chances) == 1:
        return (f"{chances[0]} each", *rest)
    ordered = sorted(chances, key=lambda text: float(text.removesuffix("%")))
    return (f"{ordered[0].removesuffix('%')} to {ordered[-1]} each", *rest)


def _held(
    held: Mapping[str, frozenset[str]], place: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pool, keys in held.items():
        inside = {place.get(key, key) for key in keys} - {place[pool]}
        found.setdefault(place[pool], set()).update(inside)
    return {pool: frozenset(keys) for pool, keys in found.items()}


def without_idle_junctions(graph: Graph) -> Graph:
    """Return the graph without junctions that only one route enters, or that nothing uses."""
    nodes, edges = dict(graph.nodes), list(graph.edges)
    for key in [key for key, node in nodes.items() if node.kind == "junction" and not node.name]:
        entering = [edge for edge in edges if edge.target == key]
        leaving = [edge for edge in edges if edge.source == key]
        if len(entering) != 1 or entering[0].source == key:
            continue
        before = entering[0]
        edges = [edge for edge in edges if key not in (edge.source, edge.target)]
        edges += [_through(before, after) for after in leaving]
        del nodes[key]
    held = {
        pool: frozenset(key for key in keys if key in nodes) for pool, keys in graph.held.items()
    }
    return Graph(nodes=nodes, edges=merged(edges), held=held, classes=graph.classes)


def _through(before: Edge, after: Edge) -> Edge:
    labels = tuple(dict.fromkeys([*before.labels, *after.labels]))
    kind = before.kind if before.kind != "route" else after.kind
    return Edge(
        source=before.source, target=after.target, labels=labels, kind=kind, classes=after.classes
    )


def replace_labels(graph: Graph) -> Graph:
    """Return the graph with labels of a length that can be drawn."""
    edges = [replace(edge, labels=_short(edge.labels)) for edge in graph.edges]
    return Graph(nodes=graph.nodes, edges=edges, held=graph.held, classes=graph.classes)


def _short(labels: tuple[str, ...]) -> tuple[str, ...]:
    kept = labels[:_LABELS] + (("\u2026",) if len(labels) > _LABELS else ())
    text = ", ".join(kept)
    return (shortened(text, _LONGEST_LABEL),) if text else ()
