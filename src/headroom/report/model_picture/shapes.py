"""The symbol of each kind of node, with its texts and its size.

Stations use the symbols of queueing theory: a queue with an open end, then circles for the servers.
Coordinates are relative to the middle of the symbol, the height at which routes enter on the left
and leave on the right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from headroom.quantities import format_percent
from headroom.report.model_picture.graph import Node
from headroom.report.model_picture.letters import text_width
from headroom.report.model_picture.words import shortened

NAME_PX = 13.0
SMALL_PX = 11.0
_LINE_PX = 14.0
_LONGEST_NAME = 30
_LONGEST_LINE = 34
_CIRCLES_AT_MOST = 3
_QUEUE_WIDTH = 34.0
_QUEUE_HEIGHT = 28.0
_PAD = 4.0


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text, centred at `x` with its baseline at `y`."""

    x: float
    y: float
    words: str
    style: str

    @property
    def width(self) -> float:
        """Room (px) that the text needs at most."""
        is_name = self.style.startswith("mp-name")
        return text_width(self.words, NAME_PX if is_name else SMALL_PX, is_bold=self.is_bold)

    @property
    def is_bold(self) -> bool:
        """True where the style is bold."""
        return self.style in ("mp-name", "mp-busy", "mp-limits")

    def to_svg(self) -> str:
        """Return a `text` element at its place, with its words escaped."""
        place = f'x="{self.x:.1f}" y="{self.y:.1f}"'
        return f'<text class="{self.style}" {place}>{escape(self.words, quote=False)}</text>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A symbol: its SVG, its texts, how far its routes' ends are from the middle, and its room."""

    body: str
    port: float
    texts: tuple[Text, ...]
    above: float
    below: float
    width: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """How busy a station or pool is: the share, and that share as text."""

    share: float
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a picture shows of one point: how busy each part is, and which part limits.

    Parameters
    ----------
    busy
        ``"station NAME"`` or ``"pool NAME"`` to its mark.
    limiting
        The same kind of key, empty if there is no bottleneck.
    """

    busy: Mapping[str, Mark] = field(default_factory=dict)
    limiting: str = ""


def shape_of(node: Node, marks: Marks, holding: Sequence[str] = ()) -> Shape:
    """Return the symbol of a node.

    Parameters
    ----------
    node, marks
        What is drawn, and what is known about it.
    holding
        Pools that could not be drawn around the node: they are named below it.
    """
    share, words = _busy(node, marks)
    limits = marks.limiting in {f"{node.kind} {name}" for name in node.reported}
    body, half_width, half_height = _symbol(node, share, limits=limits)
    small = [(line, "mp-line") for line in node.lines]
    if words:
        small.insert(0, (f"{words}, limits" if limits else words, "mp-busy"))
    elif limits:
        small.insert(0, ("limits", "mp-limits"))
    if limits:
        small[0] = (small[0][0], "mp-limits")
    small += [(f"holds {name}", "mp-line") for name in holding]
    is_inside = node.kind in _INSIDE
    texts = _inside_texts(node) if is_inside else _outside_texts(node, small, half_height)
    return _with_room(body, texts, half_width, half_height, note=node.note)


def _busy(node: Node, marks: Marks) -> tuple[float | None, str]:
    """Return the mean busy share of the members of a node, as text as well."""
    found = [marks.busy[key] for name in node.reported
             if (key := f"{node.kind} {name}") in marks.busy]  # fmt: skip
    if not found:
        return None, ""
    shares = [mark.share for mark in found]
    low, high = (format_percent(share) for share in (min(shares), max(shares)))
    words = found[0].words if len(found) == 1 and found[0].words else low
    span = words if low == high else f"{low} to {high}"
    verb = "held" if node.kind == "pool" else "busy"
    return sum(shares) / len(shares), f"{span} {verb}"


def _with_room(
    body: str, texts: Sequence[Text], half_width: float, half_height: float, *, note: str
) -> Shape:
    wide = [abs(text.x) + text.width / 2 for text in texts]
    tops = [text.y - SMALL_PX for text in texts]
    return Shape(
        body=body,
        port=half_width,
        texts=tuple(texts),
        above=-min([-half_height, *tops]) + _PAD,
        below=max([half_height, *(text.y + 4.0 for text in texts)]) + _PAD,
        width=2 * max([half_width, *wide]) + 2 * _PAD,
        note=note,
    )


def _outside_texts(node: Node, small: Sequence[tuple[str, str]], half_height: float) -> list[Text]:
    """Return the name above a symbol and the small print below."""
    is_quiet = node.kind in ("fork", "join", "junction", "sink")
    lines = list(small)
    texts = []
    if is_quiet:
        lines.insert(0, (node.name, "mp-line"))
    elif node.name:
        texts = [Text(0.0, -half_height - 7.0, shortened(node.name, _LONGEST_NAME), "mp-name")]
    shown = [(shortened(words, _LONGEST_LINE), style) for words, style in lines if words]
    first = half_height + 13.0
    return texts + [
        Text(0.0, first + place * _LINE_PX, words, style)
        for place, (words, style) in enumerate(shown)
    ]


def _inside_lines(node: Node) -> list[tuple[str, str]]:
    lines = [(shortened(line, _LONGEST_LINE), "mp-line") for line in node.lines]
    style = "mp-line" if node.kind == "delay" else "mp-name"
    return [(shortened(node.name, _LONGEST_NAME), style), *lines]


def _inside_texts(node: Node) -> list[Text]:
    """Return the texts of a box that holds its own name."""
    lines = _inside_lines(node)
    top = -_LINE_PX * (len(lines) - 1) / 2 + 4.0
    shift = 9.0 if node.kind == "delay" else 0.0
    return [
        Text(shift, top + place * _LINE_PX, words, style)
        for place, (words, style) in enumerate(lines)
    ]


def _inside_size(node: Node) -> tuple[float, float]:
    """Return half the width and half the height of a box that holds its own texts."""
    texts = _inside_texts(node)
    half_width = max(abs(text.x) + text.width / 2 for text in texts) + 10.0
    return half_width, (_LINE_PX * len(texts)) / 2 + 7.0


Symbol = tuple[str, float, float]


def _symbol(node: Node, share: float | None, *, limits: bool) -> Symbol:
    if node.kind == "station":
        return _station(node, share, limits=limits)
    if node.kind == "pool":
        return _pool(node, share, limits=limits)
    return _SYMBOLS[node.kind](node)


def _style(limits: bool) -> str:  # noqa: FBT001 - one word of a class name
    return "mp-part mp-limit" if limits else "mp-part"


def _station(node: Node, share: float | None, *, limits: bool) -> Symbol:
    servers = node.data.get("servers", 1)
    count = servers if isinstance(servers, int) and servers > 0 else 1
    is_infinite = node.data.get("discipline") == "infinite"
    is_stacked = 1 <= count <= _CIRCLES_AT_MOST and not is_infinite
    radius = {1: 15.0, 2: 11.0, 3: 9.0}[count] if is_stacked else 16.0
    drawn = count if is_stacked else 1
    queue = 0.0 if is_infinite else _QUEUE_WIDTH
    half_width = (queue + 2 * radius) / 2
    half_height = max(_QUEUE_HEIGHT / 2, drawn * radius + (drawn - 1) * 1.5)
    style = _style(limits)
    centre = half_width - radius
    step = 2 * radius + 3.0
    rows = [(place - (drawn - 1) / 2) * step for place in range(drawn)]
    parts = [_queue(-half_width, queue, style)] if queue else []
    if drawn % 2 == 0:  # The way out leads between two servers.
        parts.append(f'<path class="mp-thin" d="M{centre:.1f} 0H{half_width:.1f}"/>')
    parts += [_server(centre, row, radius, share, style) for row in rows]
    if not is_stacked:
        words = "\u221e" if is_infinite else _short_count(count)
        parts.append(f'<text class="mp-inside" x="{centre:.1f}" y="4.5">{words}</text>')
    body = "".join(parts)
    return _stack(node, body, half_width, half_height)


def _short_count(count: int) -> str:
    return str(count) if count < 1000 else f"{count // 1000}k"  # noqa: PLR2004


def _queue(left: float, width: float, style: str) -> str:
    """Return a queue: an open end on the left, bars for those who wait."""
    top, bottom = -_QUEUE_HEIGHT / 2, _QUEUE_HEIGHT / 2
    right = left + width
    outline = f"M{left:.1f} {top}H{right:.1f}V{bottom}H{left:.1f}"
    bars = "".join(f"M{right - step:.1f} {top}V{bottom}" for step in (8.0, 16.0, 24.0))
    fill = f'<rect class="mp-fill" x="{left:.1f}" y="{top}" width="{width}" height="28"/>'
    return f'{fill}<path class="{style}" d="{outline}"/><path class="mp-thin" d="{bars}"/>'


def _server(x: float, y: float, radius: float, share: float | None, style: str) -> str:
    """Return a server, filled from below to its busy share."""
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
    level = "" if share is None else _level_in_circle(x, y, radius, share)
    return f'<circle class="mp-fill" {place}/>{level}<circle class="{style}" {place}/>'


def _level_in_circle(x: float, y: float, radius: float, share: float) -> str:
    """Return the part of a disc that lies below a level, whose height is the share."""
    level = min(max(share, 0.0), 1.0)
    if level >= 1.0:
        return f'<circle class="mp-level" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
    height = radius * (1 - 2 * level)
    reach = (radius * radius - height * height) ** 0.5
    large = 1 if level > 0.5 else 0  # noqa: PLR2004
    surface = y + height
    arc = f"A{radius:.1f} {radius:.1f} 0 {large} 0 {x + reach:.2f} {surface:.2f}"
    return f'<path class="mp-level" d="M{x - reach:.2f} {surface:.2f}{arc}Z"/>'


def _pool(node: Node, share: float | None, *, limits: bool) -> Symbol:
    half_width, side = (_QUEUE_WIDTH + 30.0) / 2, 30.0
    style = _style(limits)
    left = half_width - side
    box = f'x="{left:.1f}" y="-15" width="{side}" height="{side}" rx="3"'
    level = min(max(share or 0.0, 0.0), 1.0) * side
    filled = (
        f'<rect class="mp-level" x="{left:.1f}" y="{15 - level:.1f}" width="{side}" '
        f'height="{level:.1f}" rx="3"/>'
        if share
        else ""
    )
    tokens = "".join(
        f'<circle class="mp-token" cx="{left + x:.1f}" cy="{y}" r="3"/>'
        for x in (9.0, 21.0)
        for y in (-6, 6)
    )
    body = (
        f'{_queue(-half_width, _QUEUE_WIDTH, style)}<rect class="mp-fill" {box}/>{filled}{tokens}'
        f'<rect class="{style}" {box}/>'
    )
    return _stack(node, body, half_width, 15.0)


def _stack(node: Node, body: str, half_width: float, half_height: float) -> Symbol:
    """Return a symbol that stands for several, with outlines of others behind it."""
    if len(node.members) < 2:  # noqa: PLR2004
        return body, half_width, half_height
    behind = "".join(
        f'<rect class="mp-behind" x="{-half_width + shift:.1f}" y="{-half_height - shift:.1f}" '
        f'width="{2 * half_width:.1f}" height="{2 * half_height:.1f}" rx="4"/>'
        for shift in (7.0, 3.5)
    )
    return behind + body, half_width + 7.0, half_height + 7.0


def _class(node: Node) -> Symbol:
    half_width, half_height = _inside_size(node)
    return (
        _box(half_width, half_height, "mp-class", radius=min(half_height, 14.0)),
        half_width,
        half_height,
    )


def _delay(node: Node) -> Symbol:
    half_width, half_height = _inside_size(node)
    x = -half_width + 14.0
    clock = (
        f'<circle class="mp-part" cx="{x:.1f}" cy="0" r="6"/>'
        f'<path class="mp-thin" d="M{x:.1f} -3.5V0L{x + 2.5:.1f} 2"/>'
    )
    box = _box(half_width, half_height, "mp-part mp-fill", radius=min(half_height, 14.0))
    return box + clock, half_width, half_height


def _other(node: Node) -> Symbol:
    half_width, half_height = _inside_size(node)
    return _box(half_width, half_height, "mp-other", radius=3.0), half_width, half_height


def _attempt(node: Node) -> Symbol:
    half_width, half_height = _inside_size(node)
    cut = 8.0
    body = (
        f'<path class="mp-part mp-fill" d="M{-half_width:.1f} 0l{cut} {-half_height:.1f}'
        f"H{half_width - cut:.1f}l{cut} {half_height:.1f}l{-cut} {half_height:.1f}"
        f'H{-half_width + cut:.1f}Z"/>'
    )
    return body, half_width, half_height


def _box(half_width: float, half_height: float, style: str, *, radius: float) -> str:
    return (
        f'<rect class="{style}" x="{-half_width:.1f}" y="{-half_height:.1f}" '
        f'width="{2 * half_width:.1f}" height="{2 * half_height:.1f}" rx="{radius:.1f}"/>'
    )


def _bar(_: Node) -> Symbol:
    return '<rect class="mp-solid" x="-3.5" y="-22" width="7" height="44" rx="1.5"/>', 3.5, 22.0


def _junction(_: Node) -> Symbol:
    return '<circle class="mp-solid" r="3"/>', 3.0, 3.0


def _sink(_: Node) -> Symbol:
    return '<circle class="mp-part mp-fill" r="8"/><circle class="mp-solid" r="4"/>', 8.0, 8.0


_INSIDE = frozenset({"class", "delay", "attempt", "other"})
_SYMBOLS: Mapping[str, Callable[[Node], Symbol]] = {
    "class": _class,
    "delay": _delay,
    "attempt": _attempt,
    "other": _other,
    "fork": _bar,
    "join": _bar,
    "junction": _junction,
    "sink": _sink,
}
