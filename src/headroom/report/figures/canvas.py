"""A drawing surface that writes SVG and knows the box of every text.

Invariant: every text passes the escaping of markupsafe, and every coordinate is finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from headroom.report.figures.placing import Anchor, Box, PlacedLine, Placer, Side, Words, box_of
from headroom.report.figures.roles import Role

Place = tuple[float, float]


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

    def __post_init__(self) -> None:
        self.placer = Placer(Box(0.0, 0.0, self.width, self.height))

    def line(self, start: Place, end: Place, style: str) -> None:
        """Draw a straight line."""
        self.parts.append(
            f'<path d="M{_px(start[0])} {_px(start[1])}L{_px(end[0])} {_px(end[1])}"'
            f' class="{style}"/>'
        )

    def path(self, points: Sequence[Place], style: str, *, is_closed: bool = False) -> None:
        """Draw a line through `points`."""
        if len(points) > 1:
            steps = "L".join(f"{_px(x)} {_px(y)}" for x, y in points)
            self.parts.append(f'<path d="M{steps}{"Z" * is_closed}" class="{style}"/>')

    def rect(self, box: Box, style: str, *, radius: float = 0.0, hint: str = "") -> None:
        """Draw a rectangle; `hint` is what a pointer over it shows."""
        rounded = f' rx="{_px(radius)}"' if radius else ""
        inside = f"><title>{escape(hint)}</title></rect>" if hint else "/>"
        self.parts.append(
            f'<rect x="{_px(box.left)}" y="{_px(box.top)}" width="{_px(box.right - box.left)}"'
            f' height="{_px(box.bottom - box.top)}"{rounded} class="{style}"{inside}'
        )

    def dot(self, at: Place, style: str, *, radius: float = 4.0) -> None:
        """Draw a round mark, which labels keep clear of."""
        x, y = at
        self.parts.append(
            f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(radius)}" class="{style}"/>'
        )
        self.placer.take(Box(x - radius, y - radius, x + radius, y + radius))

    def marker(self, at: Place, shape: int, role: Role) -> None:
        """Draw the mark of series number `shape`: round, square, triangle or diamond."""
        x, y = at
        if shape % 4 == 0:
            self.dot(at, f"f-{role}", radius=3.5)
            return
        corners = (
            [(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)],
            [(0.0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
            [(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)],
        )[shape % 4 - 1]
        self.path([(x + dx, y + dy) for dx, dy in corners], f"f-{role}", is_closed=True)
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
        ]
        style = f' class="{" ".join(styles)}"' if styles else ""
        anchored = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(
            f'<text x="{_px(x)}" y="{_px(y)}"{anchored}{style}>{escape(words.text)}</text>'
        )
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
        self.write_lines(placed)
        return True

    def svg(self, label: str, *, style: str = "") -> Markup:
        """Return the figure; `label` says what it shows to those who do not see it."""
        width, height = _px(self.width), _px(self.height)
        extra = f" {style}" if style else ""
        return Markup(  # noqa: S704 - texts are escaped, the rest are numbers and known classes
            f'<svg class="figure{extra}" viewBox="0 0 {width} {height}" width="{width}"'
            f' height="{height}" role="img" aria-label="{escape(label)}">'
            f"{''.join(self.parts)}</svg>"
        )


def _tone(words: Words) -> str:
    return "muted" if words.tone == "muted" else f"t-{words.tone}"


def _px(value: float) -> str:
    text = f"{value:.1f}"
    return (
        text.removesuffix(".0").replace("-0", "0") if text in {"-0.0"} else text.removesuffix(".0")
    )
