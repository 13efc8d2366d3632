"""The graph that a picture shows: nodes and the routes between them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

NodeKind: TypeAlias = Literal[
    "station",
    "pool",
    "class",
    "sink",
    "delay",
    "fork",
    "join",
    "junction",
    "attempt",
    "other",
]
RouteKind: TypeAlias = Literal["route", "start", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of the model, or a group of parts that are alike.

    Parameters
    ----------
    key
        Unique within the picture.
    name
        What is written above or inside; empty for junctions.
    lines
        Small print below, one text a line.
    note
        Everything worth knowing, for the tooltip.
    data
        The part's own data; `servers` of stations, `tokens` of pools and the like.
    members
        Names of the parts that the node stands for, one for a part of its own.
    rows
        Names under which results report them, where those are others: the groups of the parts.
    """

    key: str
    kind: NodeKind
    name: str = ""
    lines: tuple[str, ...] = ()
    note: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    @property
    def reported(self) -> tuple[str, ...]:
        """Names under which results report what the node stands for."""
        return self.rows or self.members


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A route from one node to another; `labels` say how likely it is, or how often.

    `classes` are those whose jobs take it, in the order of the model.
    """

    source: str
    target: str
    labels: tuple[str, ...] = ()
    kind: RouteKind = "route"
    classes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Graph:
    """The whole: nodes by key in a fixed order, edges, and what is inside each pool."""

    nodes: dict[str, Node]
    edges: list[Edge]
    held: dict[str, frozenset[str]]
    """Key of a pool's node to the keys of the nodes that are used while its tokens are held."""
    classes: list[str]


def merged(edges: Iterable[Edge]) -> list[Edge]:
    """Return the edges with those between the same nodes made one, labels and classes united."""
    found: dict[tuple[str, str, RouteKind], Edge] = {}
    for edge in edges:
        place = (edge.source, edge.target, edge.kind)
        known = found.get(place)
        found[place] = edge if known is None else _united(known, edge)
    return list(found.values())


def _united(one: Edge, other: Edge) -> Edge:
    return Edge(
        source=one.source,
        target=one.target,
        labels=tuple(dict.fromkeys([*one.labels, *other.labels])),
        kind=one.kind,
        classes=tuple(dict.fromkeys([*one.classes, *other.classes])),
    )
