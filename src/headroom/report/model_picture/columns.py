"""Assign nodes to columns, and order each column so that few routes cross.

This is the layered drawing of Sugiyama, Tagawa and Toda (1981). Routes that would lead back are set
aside and get separate tracks below (see `lines`). The other routes lead from left to right; longer
ones get a separate place in every column that they pass. Sweeps of barycentres reduce the
crossings, and the best order seen is kept.

Invariant: a route leads from a column to a later one, or it is in `Columns.back`; nodes stand in
even columns, the words of routes in odd ones.
"""

import itertools
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headroom.report.model_picture.graph import Edge, Graph

_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Stop:
    """A place in a column: a node, or a route that passes (`edge` is its number)."""

    key: str
    edge: int = -1


@dataclass(slots=True, kw_only=True)
class Columns:
    """Stops by column, in order from top to bottom, and how they are linked.

    `column_of` gives each node its column; odd columns hold the labels of routes.
    `chains` gives the stops of each forward edge, its two nodes included; `back` are the numbers
    of the edges that lead back, `back_source` the columns they start from.
    """

    columns: list[list[Stop]]
    column_of: dict[str, int]
    chains: dict[int, list[Stop]]
    back: list[int]
    back_source: dict[int, int]


def columns_of(graph: Graph) -> Columns:
    """Return which stops stand in which column, in an order with few crossings."""
    back = set(_back_edges(graph))
    forward = [(n, edge) for n, edge in enumerate(graph.edges) if n not in back]
    ranks = _ranks(graph, [edge for _, edge in forward])
    column_of = {key: 2 * rank for key, rank in ranks.items()}
    stops = {key: Stop(key) for key in graph.nodes}
    count = max(column_of.values(), default=0) + 1
    columns: list[list[Stop]] = [[] for _ in range(count)]
    for key in graph.nodes:
        columns[column_of[key]].append(stops[key])
    chains: dict[int, list[Stop]] = {}
    for number, edge in forward:
        passed = range(column_of[edge.source] + 1, column_of[edge.target])
        inner = [Stop(f"{number}/{column}", number) for column in passed]
        for column, stop in zip(passed, inner, strict=True):
            columns[column].append(stop)
        chains[number] = [stops[edge.source], *inner, stops[edge.target]]
    return Columns(
        columns=_ordered(columns, chains.values()),
        column_of=column_of,
        chains=chains,
        back=sorted(back),
        back_source={number: column_of[graph.edges[number].source] for number in sorted(back)},
    )


def _back_edges(graph: Graph) -> Iterable[int]:
    """Return the edges that lead back to a node on the way that led to them."""
    leaving: dict[str, list[int]] = defaultdict(list)
    for number, edge in enumerate(graph.edges):
        leaving[edge.source].append(number)
    state: dict[str, int] = {}
    back_edges = []
    for root in graph.nodes:
        path: list[tuple[str, Iterator[int]]] = []
        if root not in state:
            state[root] = 1
            path.append((root, iter(leaving[root])))
        while path:
            key, rest = path[-1]
            number = next(rest, -1)
            if number < 0:
                state[key] = 2
                path.pop()
                continue
            target = graph.edges[number].target
            if state.get(target) == 1:
                back_edges.append(number)
            elif target not in state:
                state[target] = 1
                path.append((target, iter(leaving[target])))
    return back_edges


def _ranks(graph: Graph, edges: Sequence[Edge]) -> dict[str, int]:
    """Return the column of each node: as far right as the longest way to it asks for."""
    entering: dict[str, list[str]] = defaultdict(list)
    leaving: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        entering[edge.target].append(edge.source)
        leaving[edge.source].append(edge.target)
    waiting = {key: len(entering[key]) for key in graph.nodes}
    ready = [key for key, count in waiting.items() if count == 0]
    ranks: dict[str, int] = {}
    for key in ready:
        ranks[key] = max((ranks[one] + 1 for one in entering[key]), default=0)
        for target in leaving[key]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    for key in ready:
        is_loose = not entering[key] and leaving[key] and graph.nodes[key].kind != "class"
        if is_loose:
            ranks[key] = max(0, min(ranks[target] for target in leaving[key]) - 1)
    return ranks


def _ordered(columns: list[list[Stop]], chains: Iterable[Sequence[Stop]]) -> list[list[Stop]]:
    """Return the columns with their stops in the order that crosses least."""
    before: dict[Stop, list[Stop]] = defaultdict(list)
    after: dict[Stop, list[Stop]] = defaultdict(list)
    for chain in chains:
        for left, right in itertools.pairwise(chain):
            before[right].append(left)
            after[left].append(right)
    best, fewest = columns, _crossings(columns, after)
    current = [list(column) for column in columns]
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        is_forward = sweep % 2 == 0
        current = _swept(current, before if is_forward else after, is_forward=is_forward)
        crossings = _crossings(current, after)
        if crossings < fewest:
            best, fewest = [list(column) for column in current], crossings
    return best


def _swept(
    columns: list[list[Stop]], links: Mapping[Stop, Sequence[Stop]], *, is_forward: bool
) -> list[list[Stop]]:
    """Return the columns, each sorted by the mean place of what it is linked to."""
    found = [list(column) for column in columns]
    places = {stop: place for column in found for place, stop in enumerate(column)}
    for column in range(len(found)) if is_forward else reversed(range(len(found))):
        keys = {}
        for place, stop in enumerate(found[column]):
            linked = [places[one] for one in links.get(stop, ())]
            keys[stop] = sum(linked) / len(linked) if linked else float(place)
        found[column].sort(key=lambda stop: keys[stop])
        places.update({stop: place for place, stop in enumerate(found[column])})
    return found


def _crossings(columns: Sequence[Sequence[Stop]], after: Mapping[Stop, Sequence[Stop]]) -> int:
    count = 0
    for left, right in itertools.pairwise(columns):
        places = {stop: place for place, stop in enumerate(right)}
        seen: list[int] = []
        for stop in left:
            targets = sorted(places[one] for one in after.get(stop, ()) if one in places)
            count += sum(len(seen) - bisect_left(seen, target + 1) for target in targets)
            for target in targets:
                insort(seen, target)
    return count
