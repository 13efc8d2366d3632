"""The layout: the position of each symbol, label, route and enclosure.

Forward routes run through their places in the columns. Backward routes leave on the right, run
below everything in the columns between, and enter on the left. Backward routes to the same place
with the same label share a track.

Invariants: rooms of symbols, labels and tracks do not overlap; a route crosses no symbol.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headroom.report.model_picture.columns import Columns, Stop, columns_of
from headroom.report.model_picture.graph import Edge, Graph
from headroom.report.model_picture.letters import text_width
from headroom.report.model_picture.places import Room, heights
from headroom.report.model_picture.shapes import SMALL_PX, Marks, Shape, shape_of

MARGIN = 16.0
_NODE_GAP = 20.0
_LANE = 10.0
_FIRST_LANE = 14.0
_TRACK = 20.0
_BELOW = 14.0
_EDGE_GAP = 16.0
_ARROW = 8.0
_STEEP = 0.26
_WIDEST_SLOPE = 80.0
_LABEL_HEIGHT = 16.0
_PASSING = Room(7.0, 7.0, 0.0)
_HULL_PAD = 9.0
_HULL_STEP = 5.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle (px)."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Return whether two rectangles share more than an edge."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def grown(self, by: float) -> "Box":
        """Return the rectangle with `by` more on each side."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)


def around(boxes: Sequence[Box]) -> Box:
    """Return the smallest rectangle around some."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a route, with the room they take."""

    words: str
    box: Box


@dataclass(slots=True, kw_only=True)
class Layout:
    """Everything placed; `lines` are the corners of each route, ``(x, y)``, first to last.

    A forward route bends smoothly between its corners, one that leads back at right angles.
    """

    graph: Graph
    shapes: dict[str, Shape]
    at: dict[str, tuple[float, float]]
    lines: dict[int, list[tuple[float, float]]]
    back: frozenset[int]
    labels: dict[int, Label]
    hulls: dict[str, Box] = field(default_factory=dict)

    def node_box(self, key: str) -> Box:
        """Return the room of a node, its texts included."""
        (x, y), shape = self.at[key], self.shapes[key]
        return Box(x - shape.width / 2, y - shape.above, x + shape.width / 2, y + shape.below)

    def text_boxes(self) -> list[tuple[str, Box]]:
        """Return every text with the room it takes, nodes first."""
        found = []
        for key, shape in self.shapes.items():
            x, y = self.at[key]
            for text in shape.texts:
                half, middle = text.width / 2, x + text.x
                box = Box(middle - half, y + text.y - 10.0, middle + half, y + text.y + 3.0)
                found.append((text.words, box))
        return found + [(label.words, label.box) for label in self.labels.values()]

    def bounds(self) -> Box:
        """Return the rectangle around everything."""
        corners = [Box(x, y, x, y) for line in self.lines.values() for x, y in line]
        boxes = [self.node_box(key) for key in self.shapes]
        labels = [label.box for label in self.labels.values()]
        found = [*boxes, *corners, *labels, *self.hulls.values()]
        return around(found or [Box(0.0, 0.0, 1.0, 1.0)])


def lay_out(graph: Graph, marks: Marks) -> Layout:
    """Return the layout of a graph.

    A pool is drawn around what is used while its tokens are held if nothing else stands in
    between; otherwise its users name it, and the layout is made again with those names.
    """
    columns = columns_of(graph)
    layout = _laid_out(graph, columns, marks, {})
    hulls = _hulls(layout)
    outside = [pool for pool, keys in graph.held.items() if keys and pool not in hulls]
    if outside:
        holding = _holding(graph, outside)
        layout = _laid_out(graph, columns, marks, holding)
        hulls = _hulls(layout)
    layout.hulls = {pool: box for pool, box in hulls.items() if pool not in outside}
    return layout


def _holding(graph: Graph, pools: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for pool in pools:
        for key in graph.nodes:
            if key in graph.held[pool] and graph.nodes[key].kind in ("station", "pool", "delay"):
                found[key].append(graph.nodes[pool].name)
    return found


def _laid_out(
    graph: Graph, columns: Columns, marks: Marks, holding: Mapping[str, Sequence[str]]
) -> Layout:
    shapes = {key: shape_of(node, marks, holding.get(key, ())) for key, node in graph.nodes.items()}
    rooms = _rooms(graph, columns, shapes)
    level = heights(columns.columns, columns.chains.values(), rooms, gap=_NODE_GAP)
    buses = _buses(graph, columns)
    across = _across(columns, rooms, level, buses)
    layout = Layout(
        graph=graph,
        shapes=shapes,
        at={key: (across.middle(columns.column_of[key]), level[Stop(key)]) for key in graph.nodes},
        lines={},
        back=frozenset(columns.back),
        labels={},
    )
    _draw_forward(layout, columns, across, level)
    _draw_back(layout, across, _bottoms(columns, rooms, level), buses)
    return layout


def _label_of(edge: Edge) -> str:
    return edge.labels[0] if edge.labels else ""


def _label_width(words: str) -> float:
    return text_width(words, SMALL_PX) + 8.0 if words else 0.0


def _rooms(graph: Graph, columns: Columns, shapes: Mapping[str, Shape]) -> dict[Stop, Room]:
    rooms = {
        Stop(key): Room(shape.above, shape.below, shape.width) for key, shape in shapes.items()
    }
    for number, chain in columns.chains.items():
        words = _label_of(graph.edges[number])
        for place, stop in enumerate(chain[1:-1]):
            has_label = place == 0 and bool(words)
            half = _LABEL_HEIGHT / 2
            rooms[stop] = Room(half, half, _label_width(words)) if has_label else _PASSING
    return rooms


@dataclass(slots=True)
class _Bus:
    """Routes back to one place that share a track: their numbers, and what they span."""

    edges: list[int]
    target: str
    words: str
    first: int
    last: int


def _buses(graph: Graph, columns: Columns) -> list[_Bus]:
    """Return the routes that lead back, those to one place with the same words together."""
    found: dict[tuple[str, str, str, tuple[str, ...]], _Bus] = {}
    for number in columns.back:
        edge = graph.edges[number]
        first, last = columns.column_of[edge.target], columns.column_of[edge.source]
        bus = found.setdefault(
            (edge.target, _label_of(edge), edge.kind, edge.classes),
            _Bus([], edge.target, _label_of(edge), first, last),
        )
        bus.edges.append(number)
        bus.last = max(bus.last, last)
    return sorted(found.values(), key=lambda bus: bus.last - bus.first)


@dataclass(slots=True)
class _Across:
    """Left and right end of each column, and the lanes next to it."""

    left: list[float]
    right: list[float]
    out_lane: dict[int, float]
    in_lane: dict[str, float]

    def middle(self, column: int) -> float:
        return (self.left[column] + self.right[column]) / 2


def _across(
    columns: Columns,
    rooms: Mapping[Stop, Room],
    level: Mapping[Stop, float],
    buses: Sequence[_Bus],
) -> _Across:
    """Return where the columns and their lanes stand from left to right."""
    leaving, entering = _lane_users(columns, buses)
    widths = [
        max((rooms[stop].width for stop in column), default=0.0) for column in columns.columns
    ]
    for bus in buses:
        middle = _label_column(bus)
        widths[middle] = max(widths[middle], _label_width(bus.words))
    slopes = _slopes(columns, level)
    found = _Across([], [], {}, {})
    x = 0.0
    for column, width in enumerate(widths):
        targets = entering[column]
        if column % 2 == 0:
            x += _EDGE_GAP + _ARROW + _LANE * len(targets)
            lanes = (x - _ARROW - 6.0 - _LANE * place for place in range(len(targets)))
            found.in_lane.update(zip(targets, lanes, strict=True))
        found.left.append(x)
        x += width
        found.right.append(x)
        if column % 2 == 0:
            sources = leaving[column]
            for place, number in enumerate(sources):
                found.out_lane[number] = x + _FIRST_LANE + _LANE * place
            x += _FIRST_LANE + _LANE * len(sources)
        x += slopes[column]
    return found


def _lane_users(
    columns: Columns, buses: Sequence[_Bus]
) -> tuple[dict[int, list[int]], dict[int, list[str]]]:
    """Return the edges that drop down behind each column, and the targets reached before it."""
    leaving: dict[int, list[int]] = defaultdict(list)
    entering: dict[int, list[str]] = defaultdict(list)
    sources = {number: chain for bus in buses for number, chain in _sources(columns, bus)}
    for bus in buses:
        for number in bus.edges:
            leaving[sources[number]].append(number)
        entering[bus.first].append(_lane_key(bus))
    return leaving, entering


def _sources(columns: Columns, bus: _Bus) -> list[tuple[int, int]]:
    return [(number, columns.back_source[number]) for number in bus.edges]


def _lane_key(bus: _Bus) -> str:
    return f"{bus.target}|{bus.edges[0]}"


def _label_column(bus: _Bus) -> int:
    """Return the column below which the words of a track stand: its middle one of nodes."""
    return (bus.first + bus.last) // 4 * 2


def _slopes(columns: Columns, level: Mapping[Stop, float]) -> list[float]:
    """Return the width that the bends behind each column ask for."""
    slopes = [6.0] * len(columns.columns)
    for chain in columns.chains.values():
        first = columns.column_of[chain[0].key]
        for place, (left, right) in enumerate(itertools.pairwise(chain)):
            drop = abs(level[left] - level[right])
            asked = min(_STEEP * drop + 6.0, _WIDEST_SLOPE)
            slopes[first + place] = max(slopes[first + place], asked)
    return slopes


def _draw_forward(
    layout: Layout, columns: Columns, across: _Across, level: Mapping[Stop, float]
) -> None:
    for number, chain in columns.chains.items():
        first = columns.column_of[chain[0].key]
        (x, y), shape = layout.at[chain[0].key], layout.shapes[chain[0].key]
        line = [(x + shape.port, y), (across.right[first], y)]
        for place, stop in enumerate(chain[1:-1], start=1):
            column = first + place
            if column % 2 and across.left[column] == across.right[column]:
                continue  # No words stand there: one bend is enough.
            line += [(across.left[column], level[stop]), (across.right[column], level[stop])]
        (x, y), shape = layout.at[chain[-1].key], layout.shapes[chain[-1].key]
        line += [(across.left[first + len(chain) - 1], y), (x - shape.port, y)]
        layout.lines[number] = line
        words = _label_of(layout.graph.edges[number])
        if words:
            layout.labels[number] = _label(words, across.middle(first + 1), level[chain[1]])


def _label(words: str, x: float, y: float) -> Label:
    half, high = _label_width(words) / 2, _LABEL_HEIGHT / 2
    return Label(words, Box(x - half, y - high, x + half, y + high))


def _bottoms(
    columns: Columns, rooms: Mapping[Stop, Room], level: Mapping[Stop, float]
) -> list[float]:
    return [
        max((level[stop] + rooms[stop].below for stop in column), default=-math.inf)
        for column in columns.columns
    ]


def _draw_back(
    layout: Layout,
    across: _Across,
    bottoms: list[float],
    buses: Sequence[_Bus],
) -> None:
    """Draw the routes that lead back, each track below the `bottoms` of the columns it passes."""
    for bus in buses:
        # The gaps next to a track are passed by others that start or end there.
        span = range(max(bus.first - 1, 0), min(bus.last + 2, len(bottoms)))
        track = max(bottoms[column] for column in range(bus.first, bus.last + 1)) + _BELOW
        for column in span:
            bottoms[column] = max(bottoms[column], track + _TRACK - _BELOW)
        (target_x, target_y) = layout.at[bus.target]
        end = (target_x - layout.shapes[bus.target].port, target_y)
        enter = across.in_lane[_lane_key(bus)]
        for number in bus.edges:
            source = layout.graph.edges[number].source
            (x, y), leave = layout.at[source], across.out_lane[number]
            layout.lines[number] = [
                (x + layout.shapes[source].port, y),
                (leave, y),
                (leave, track),
                (enter, track),
                (enter, target_y),
                end,
            ]
        if bus.words:
            x = across.middle(_label_column(bus))
            layout.labels[bus.edges[0]] = _label(bus.words, x, track)


def _hulls(layout: Layout) -> dict[str, Box]:
    """Return a rectangle around each pool and what is used inside it, if nothing else is."""
    hulls: dict[str, Box] = {}
    graph = layout.graph
    for pool, keys in sorted(graph.held.items(), key=lambda item: len(item[1])):
        inside = {pool, *keys}
        boxes = [layout.node_box(key).grown(_HULL_PAD) for key in graph.nodes if key in inside]
        for number, edge in enumerate(graph.edges):
            if edge.source in inside and edge.target in inside and number in layout.lines:
                boxes += [Box(x, y, x, y).grown(_HULL_STEP) for x, y in layout.lines[number]]
                boxes += [layout.labels[number].box] if number in layout.labels else []
        depth = sum(1 for other in hulls if {other, *graph.held[other]} < inside)
        hull = around(boxes).grown(_HULL_STEP * depth)
        others = [layout.node_box(key) for key in graph.nodes if key not in inside]
        if keys and not any(hull.overlaps(other) for other in others):
            hulls[pool] = hull
    return hulls
