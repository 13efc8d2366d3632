"""A drawing surface that writes SVG and knows the box of every text.

Invariant: every text passes the escaping of markupsafe, and every coordinate is finite.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup, escape

from headroom.report.figures.placing import Anchor, Box, PlacedLine, Placer, Side, Words, box_of
from headroom.report.figures.roles import Role

Place = tuple[float, float]
_LEADER_FROM_PX, _LEADER_START_PX = 18.0, 6.0
"""Distance of a label from which a line leads to it, and of the start of that from the point."""


@dataclass(slots=True)
class Canvas:
    """A figure in progress; `width` and `height` in px.

    Examples
    --------
    >>> canvas = Canvas(100.0, 40.0)
    >>> canvas.write(Words(text="a < b"), 10.0, 20.0)
    >>> print(canvas.svg("An order").split(">", 1)[1])
    <text x="10" y="20">a &lt; b</text></svg>
    """

    width: float
    height: float
    parts: list[str] = field(default_factory=list)
    placer: Placer = field(init=False)
    left_out: list[str] = field(default_factory=list)
    """Labels for which there was no room."""
    axes: str = ""
    """Attributes that tell a script what places mean."""

    def __post_init__(self) -> None:
        self.placer = Placer(Box(0.0, 0.0, self.width, self.height))

    @contextmanager
    def series(self, place: int | None, *, is_key: bool = False) -> Iterator[None]:
        """Group the next marks as a series, or as its name, which singles it out."""
        if place is not None:
            self.parts.append(f'<g data-{"key" if is_key else "series"}="{place}">')
        yield
        if place is not None:
            self.parts.append("</g>")

    def line(self, start: Place, end: Place, style: str, *, hint: str = "") -> None:
        """Draw a straight line."""
        self.path([start, end], style, hint=hint)

    def path(
        self, points: Sequence[Place], style: str, *, is_closed: bool = False, hint: str = ""
    ) -> None:
        """Draw a line through `points`; `hint` is what a pointer over it shows.

        Lines of one style that follow each other are one shape.
        """
        if len(points) < 2:  # noqa: PLR2004
            return
        steps = _steps(points, is_closed=is_closed)
        end = f'" class="{style}"/>'
        if self.parts and not hint and self.parts[-1].endswith(end) and "faint" not in style:
            self.parts[-1] = f"{self.parts[-1].removesuffix(end)}{steps}{end}"
        else:
            self._add("path", f'd="{steps}" class="{style}"', hint)

    def dense_line(
        self, points: Sequence[Place], style: str, name: str, *, is_closed: bool = False
    ) -> None:
        """Draw a line whose values a script reads off at the pointer."""
        steps = _steps(points, is_closed=is_closed)
        self._add("path", f'd="{steps}" class="{style}" data-line="{escape(name)}"', "")

    def rects(self, boxes: Sequence[Box], style: str, *, hint: str) -> None:
        """Draw many rectangles of one height and one style as one shape: as thick strokes."""
        tall = max(box.bottom - box.top for box in boxes)
        steps = "".join(
            f"M{_px(box.left)} {_px((box.top + box.bottom) / 2.0)}H{_px(box.right)}"
            for box in boxes
        )
        self._add("path", f'd="{steps}" stroke-width="{_px(tall)}" class="{style}"', hint)

    def _add(self, tag: str, attributes: str, hint: str) -> None:
        inside = f"><title>{escape(hint)}</title></{tag}>" if hint else "/>"
        self.parts.append(f"<{tag} {attributes}{inside}")

    def rect(self, box: Box, style: str, *, radius: float = 0.0, hint: str = "") -> None:
        """Draw a rectangle; `hint` is what a pointer over it shows."""
        rounded = f' rx="{_px(radius)}"' if radius else ""
        self._add(
            "rect",
            f'x="{_px(box.left)}" y="{_px(box.top)}" width="{_px(box.right - box.left)}"'
            f' height="{_px(box.bottom - box.top)}"{rounded} class="{style}"',
            hint,
        )

    def dot(self, at: Place, style: str, *, radius: float = 4.0, hint: str = "") -> None:
        """Draw a round mark, which labels keep clear of."""
        x, y = at
        self._add("circle", f'cx="{_px(x)}" cy="{_px(y)}" r="{_px(radius)}" class="{style}"', hint)
        self.placer.take(Box(x - radius, y - radius, x + radius, y + radius))

    def marker(
        self, at: Place, shape: int, role: Role, *, hint: str = "", is_hollow: bool = False
    ) -> None:
        """Draw the mark of series number `shape`: round, square, triangle or diamond."""
        x, y = at
        style = f"hollow s-{role}" if is_hollow else f"f-{role}"
        if shape % 4 == 0:
            self.dot(at, style, radius=3.5, hint=hint)
            return
        corners = (
            [(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)],
            [(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
            [(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)],
        )[shape % 4 - 1]
        self.path([(x + dx, y + dy) for dx, dy in corners], style, is_closed=True, hint=hint)
        self.placer.take(Box(x - 4.0, y - 4.0, x + 4.0, y + 4.0))

    def write(
        self, words: Words, x: float, y: float, anchor: Anchor = "start", *, has_halo: bool = False
    ) -> None:
        """Write a line at a fixed place and keep its room."""
        if not words.text:
            return
        styles = [
            *([words.size] if words.size else []),
            *([] if words.tone == "ink" else [_tone(words)]),
            *(["bold"] if words.is_bold else []),
            *(["halo"] if has_halo else []),
            *([anchor] if anchor != "start" else []),
        ]
        style = f' class="{" ".join(styles)}"' if styles else ""
        self.parts.append(f'<text x="{_px(x)}" y="{_px(y)}"{style}>{escape(words.text)}</text>')
        self.placer.take(box_of(words, x, y, anchor))

    def write_if_free(self, words: Words, x: float, y: float, anchor: Anchor = "start") -> None:
        """Write a line at a fixed place unless another text is there."""
        box = box_of(words, x, y, anchor)
        if not any(box.overlaps(taken) for taken in self.placer.taken):
            self.write(words, x, y, anchor)

    def write_lines(self, lines: Sequence[PlacedLine]) -> None:
        """Write the lines of a label whose room is taken."""
        for line in lines:
            self.write(line.words, line.x, line.y, line.anchor, has_halo=True)

    def label(self, lines: Sequence[Words], at: Place, sides: Sequence[Side]) -> bool:
        """Write a label near `at` if there is room; else note it among `left_out`."""
        placed = self.placer.place(lines, at, sides)
        if placed is None:
            self.left_out.append(" ".join(words.text for words in lines))
            return False
        self._lead_to(placed, at)
        self.write_lines(placed)
        return True

    def _lead_to(self, placed: Sequence[PlacedLine], at: Place) -> None:
        """Draw a thin line from a point to a label that is far from it."""
        boxes = [box_of(line.words, line.x, line.y, line.anchor) for line in placed]
        x, y = at
        near = (
            min(max(x, min(box.left for box in boxes)), max(box.right for box in boxes)),
            min(max(y, min(box.top for box in boxes)), max(box.bottom for box in boxes)),
        )
        distance = math.dist(at, near)
        if distance > _LEADER_FROM_PX:
            share = _LEADER_START_PX / distance
            start = x + share * (near[0] - x), y + share * (near[1] - y)
            self.line(start, near, "axis faint")

    def svg(self, label: str, *, style: str = "") -> Markup:
        """Return the figure; `label` says what it shows to those who do not see it."""
        width, height = _px(self.width), _px(self.height)
        extra = f" {style}" if style else ""
        return Markup(  # noqa: S704 - texts are escaped, the rest are numbers and known classes
            f'<svg class="figure{extra}" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img" aria-label="{escape(label)}"{self.axes}>'
            f"{''.join(self.parts)}</svg>"
        )


def _steps(points: Sequence[Place], *, is_closed: bool) -> str:
    """Return a line through `points` as SVG writes it, short where a step is level or upright."""
    at = [(_px(x), _px(y)) for x, y in points]
    steps = [f"M{at[0][0]} {at[0][1]}"]
    for (last_x, last_y), (x, y) in pairwise(at):
        if y == last_y:
            steps.append(f"H{x}")
        else:
            steps.append(f"V{y}" if x == last_x else f"L{x} {y}")
    return "".join(steps) + "Z" * is_closed


def _tone(words: Words) -> str:
    return "muted" if words.tone == "muted" else f"t-{words.tone}"


def _px(value: float) -> str:
    text = f"{value:.1f}"
    return (
        text.removesuffix(".0").replace("-0", "0") if text in {"-0.0"} else text.removesuffix(".0")
    )
