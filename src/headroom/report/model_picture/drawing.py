"""Render a layout as the SVG text of the picture."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from headroom.report.model_picture.folding import folded
from headroom.report.model_picture.graph import Edge, Graph
from headroom.report.model_picture.layout import MARGIN, Box, Layout, lay_out
from headroom.report.model_picture.letters import text_width
from headroom.report.model_picture.routes import graph_of
from headroom.report.model_picture.shapes import SMALL_PX, Mark, Marks
from headroom.report.model_picture.style import SERIES, file_rules
from headroom.report.model_picture.words import listed, shortened

__all__ = ["Mark", "Marks", "draw_model"]

_SMALLEST = 0.7
"""Scale below which a picture is scrolled instead of shrunk further."""
_CORNER = 7.0
_TIP = 8.0
_KEY_ROW = 18.0
_KEY_SAMPLE = 26.0
_KEY_GAP = 18.0
_NO_MARKS = Marks()


def draw_model(
    model: Mapping[str, Any],
    *,
    marks: Marks = _NO_MARKS,
    key: str = "model",
    is_file: bool = False,
) -> str:
    """Return the picture of a model as an SVG element.

    Parameters
    ----------
    model
        The model as data.
    marks
        How busy each part is and what limits, drawn into the symbols; nothing by default.
    key
        Unique within the page: the start of the ids in the picture.
    is_file
        Whether the picture is a file of its own; then it carries its colours.

    Examples
    --------
    >>> text = draw_model({"name": "queue", "stations": [{"name": "server", "servers": 1}],
    ...     "programs": [{"name": "visit", "steps": [{"op": "use", "station": "server"}]}],
    ...     "classes": [{"name": "jobs", "kind": "open", "program": "visit"}]})
    >>> text.startswith("<svg"), text.count(">server</text>")
    (True, 1)
    """
    graph = folded(graph_of(model))
    layout = lay_out(graph, marks)
    bounds = layout.bounds()
    key_rows = _key_rows(graph, bounds.right - bounds.left)
    top = bounds.top - _KEY_ROW * len(key_rows)
    view = Box(bounds.left, top, bounds.right, bounds.bottom).grown(MARGIN)
    width, height = view.right - view.left, view.bottom - view.top
    name = str(model.get("name", "model"))
    rules = f"<style>{escape(file_rules(), quote=False)}</style>" if is_file else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if is_file else ""
    parts = [
        f'<svg{space} class="mp" role="img" aria-labelledby="{escape(key)}-t {escape(key)}-d" '
        f'viewBox="{view.left:.1f} {view.top:.1f} {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="min-width:{_SMALLEST * width:.0f}px">',
        f'<title id="{escape(key)}-t">Model {escape(name)}</title>',
        f'<desc id="{escape(key)}-d">{escape(_description(graph, marks))}</desc>',
        rules,
        *(_hull(box) for box in layout.hulls.values()),
        *(_route(layout, number, edge) for number, edge in enumerate(graph.edges)),
        *(_node(layout, node_key) for node_key in graph.nodes),
        *(_label(label.words, label.box) for label in layout.labels.values()),
        *_key(key_rows, bounds.left, top),
        "</svg>",
    ]
    return "".join(parts)


def _description(graph: Graph, marks: Marks) -> str:
    """Return the picture in one paragraph, for those who do not see it."""
    found = []
    for kind, plural in (("class", "Classes"), ("station", "Stations"), ("pool", "Pools")):
        names = [node.name for node in graph.nodes.values() if node.kind == kind]
        found += [f"{plural}: {listed(names, most=12)}."] if names else []
    named = {key: node.name or node.kind for key, node in graph.nodes.items()}
    routes = [
        f"{named[edge.source]} to {named[edge.target]}"
        + (f" ({', '.join(edge.labels)})" if edge.labels else "")
        for edge in graph.edges
    ]
    found += [f"Routes: {'; '.join(routes)}."] if routes else []
    found += [f"Bottleneck: {marks.limiting}."] if marks.limiting else []
    return " ".join(found)


def _hull(box: Box) -> str:
    return (
        f'<rect class="mp-hull" x="{box.left:.1f}" y="{box.top:.1f}" '
        f'width="{box.right - box.left:.1f}" height="{box.bottom - box.top:.1f}" rx="10"/>'
    )


def _node(layout: Layout, key: str) -> str:
    shape = layout.shapes[key]
    x, y = layout.at[key]
    note = f"<title>{escape(shape.note)}</title>" if shape.note else ""
    texts = "".join(text.to_svg() for text in shape.texts)
    return f'<g transform="translate({x:.1f} {y:.1f})">{note}{shape.body}{texts}</g>'


def _label(words: str, box: Box) -> str:
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + 4.0
    return (
        f'<rect class="mp-halo" x="{box.left + 2:.1f}" y="{box.top + 1:.1f}" '
        f'width="{box.right - box.left - 4:.1f}" height="{box.bottom - box.top - 2:.1f}" rx="4"/>'
        f'<text class="mp-line" x="{x:.1f}" y="{y:.1f}">{escape(words, quote=False)}</text>'
    )


def _route(layout: Layout, number: int, edge: Edge) -> str:
    line = layout.lines[number]
    path = _angular(line) if number in layout.back else _smooth(line)
    style = _style_of(edge, layout.graph)
    x, y = line[-1]
    tip = f"M{x:.1f} {y:.1f}l{-_TIP} -4v8Z"
    walked = listed(edge.classes, most=6)
    note = f"<title>{escape(walked)}</title>" if len(layout.graph.classes) > 1 and walked else ""
    has_tip = layout.graph.nodes[edge.target].kind != "junction"
    arrow = f'<path class="mp-tip {style}" d="{tip}"/>' if has_tip else ""
    return f'<g>{note}<path class="mp-route {style}" d="{path}"/>{arrow}</g>'


def _style_of(edge: Edge, graph: Graph) -> str:
    """Return the style of a route: of its kind, else of the class that walks it alone."""
    if edge.kind != "route":
        return f"mp-{edge.kind}"
    if 1 < len(graph.classes) <= SERIES and len(edge.classes) == 1:
        return f"mp-c{graph.classes.index(edge.classes[0])}"
    return ""


def _smooth(line: Sequence[tuple[float, float]]) -> str:
    """Return a path that is level at each corner; it ends where its arrow begins."""
    x, y = line[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for place, (right, below) in enumerate(line[1:], start=1):
        end = right - (_TIP - 1.0 if place == len(line) - 1 else 0.0)
        if abs(below - y) < 0.05:  # noqa: PLR2004 - the same height on any screen
            parts.append(f"H{end:.1f}")
        else:
            half = (x + end) / 2
            parts.append(f"C{half:.1f} {y:.1f} {half:.1f} {below:.1f} {end:.1f} {below:.1f}")
        x, y = end, below
    return "".join(parts)


def _angular(line: Sequence[tuple[float, float]]) -> str:
    """Return a path of level and upright pieces with round corners."""
    x, y = line[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for place in range(1, len(line) - 1):
        corner, after = line[place], line[place + 1]
        before = _towards(corner, (x, y))
        behind = _towards(corner, after)
        parts.append(f"L{before[0]:.1f} {before[1]:.1f}")
        parts.append(f"Q{corner[0]:.1f} {corner[1]:.1f} {behind[0]:.1f} {behind[1]:.1f}")
        x, y = behind
    parts.append(f"H{line[-1][0] - _TIP + 1.0:.1f}")
    return "".join(parts)


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return a point near a corner on the way to another point."""
    across, down = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(across), abs(down))
    reach = min(_CORNER, length / 2) / length if length else 0.0
    return corner[0] + across * reach, corner[1] + down * reach


def _key_rows(graph: Graph, width: float) -> list[list[tuple[str, str, float]]]:
    """Return the key of the classes: style, name and width, in rows that fit."""
    if not 1 < len(graph.classes) <= SERIES:
        return []
    rows: list[list[tuple[str, str, float]]] = [[]]
    used = 0.0
    for place, name in enumerate(graph.classes):
        words = shortened(name, 30)
        room = _KEY_SAMPLE + 6.0 + text_width(words, SMALL_PX) + _KEY_GAP
        if rows[-1] and used + room > width:
            rows.append([])
            used = 0.0
        rows[-1].append((f"mp-c{place}", words, room))
        used += room
    return rows


def _key(rows: Sequence[Sequence[tuple[str, str, float]]], left: float, top: float) -> list[str]:
    found = []
    for place, row in enumerate(rows):
        x, y = left, top + place * _KEY_ROW
        for style, words, room in row:
            found.append(
                f'<path class="mp-route {style}" d="M{x:.1f} {y:.1f}h{_KEY_SAMPLE}"/>'
                f'<text class="mp-key" x="{x + _KEY_SAMPLE + 6:.1f}" y="{y + 4:.1f}">'
                f"{escape(words, quote=False)}</text>"
            )
            x += room
    return found
