"""Leave out choices if they outnumber parts: the picture then shows only where jobs go.

A program of many steps has a junction for each choice and each loop. With more than `MOST`
junctions the picture is unreadable. Junctions are then removed one by one, starting with those
whose removal adds the fewest routes, as long as the number of routes does not grow. Forks and joins
become one node each. The remaining junctions are those at which many routes meet. Probabilities and
counts belong to single steps, so they are left out too; the listing of the model gives them.

Invariant: a part that jobs can reach from another one is still reached from it.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace

from headroom.report.model_picture.graph import Edge, Graph, Node, merged

MOST = 12
"""Junctions of a picture that can be read."""


def has_too_many_choices(graph: Graph) -> bool:
    """Return whether a graph has more junctions than a picture can show."""
    return sum(_is_idle(node) for node in graph.nodes.values()) > MOST


def choices_of(graph: Graph) -> dict[str, Hashable]:
    """Return for each node its group: forks are one, joins of one name are one."""
    return {
        key: (node.kind, node.name) if node.kind in ("fork", "join") else key
        for key, node in graph.nodes.items()
    }


def thinned(graph: Graph) -> Graph:
    """Return the graph with few junctions, and routes without labels."""
    nodes = dict(graph.nodes)
    edges = merged(replace(edge, labels=()) for edge in graph.edges)
    while (key := _next(nodes, edges)) is not None:
        entering = [edge for edge in edges if edge.target == key and edge.source != key]
        leaving = [edge for edge in edges if edge.source == key and edge.target != key]
        kept = [edge for edge in edges if key not in (edge.source, edge.target)]
        edges = merged([*kept, *(_through(one, two) for one in entering for two in leaving)])
        del nodes[key]
    held = {
        pool: frozenset(key for key in keys if key in nodes) for pool, keys in graph.held.items()
    }
    return Graph(nodes=nodes, edges=edges, held=held, classes=graph.classes)


def _is_idle(node: Node) -> bool:
    return node.kind == "junction" and not node.name


def _next(nodes: Mapping[str, Node], edges: list[Edge]) -> str | None:
    """Return the junction whose absence adds the fewest routes, None if each adds some."""
    into, out_of = _sides(edges)
    costs = {key: _added(key, into, out_of) for key, node in nodes.items() if _is_idle(node)}
    best = min(costs, key=lambda key: costs[key], default=None)
    return best if best is not None and costs[best] <= 0 else None


def _sides(edges: list[Edge]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    into: dict[str, set[str]] = defaultdict(set)
    out_of: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        if edge.source != edge.target:
            into[edge.target].add(edge.source)
            out_of[edge.source].add(edge.target)
    return into, out_of


def _added(key: str, into: Mapping[str, set[str]], out_of: Mapping[str, set[str]]) -> int:
    """Return how many routes more there are without a junction."""
    before, after = into.get(key, set()), out_of.get(key, set())
    new = sum(target not in out_of.get(source, ()) for source in before for target in after)
    return new - len(before) - len(after)


def _through(before: Edge, after: Edge) -> Edge:
    kind = before.kind if before.kind != "route" else after.kind
    classes = after.classes if len(after.classes) <= len(before.classes) else before.classes
    return Edge(source=before.source, target=after.target, kind=kind, classes=classes)
