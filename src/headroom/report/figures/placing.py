"""Places of labels: none overlaps another, none is cut by the frame.

Candidates around the point to be named are tried in a fixed order, near ones first. A place is
taken if it is free of texts and marks; among those that are, the one that crosses fewest lines
wins. A label without a free place is left out and reported, never drawn over something.

Invariant: the same labels in the same order get the same places.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from headroom.report.figures.roles import Tone
from headroom.report.model_picture.letters import text_width

Anchor: TypeAlias = Literal["start", "middle", "end"]
Side: TypeAlias = Literal[
    "right", "left", "above", "below", "above right", "above left", "below right", "below left"
]
SIDES: tuple[Side, ...] = (
    "right",
    "left",
    "above",
    "below",
    "above right",
    "above left",
    "below right",
    "below left",
)
SIZE = 12.0
_SIZES = {"small": 11.0, "": SIZE, "large": 14.0}
_ASCENT, _DESCENT, _SPACING = 0.95, 0.26, 1.25
"""Of a line of text, in its size: above and below the base line, and from line to line."""
MOST_LINES = 8
"""Lines of a label: enough for a sentence on a phone, not for names without end."""
_RINGS = (7.0, 16.0, 30.0, 48.0)
"""Distances (px) from the point at which labels are tried."""
_GAP = 2.0
_ROUNDING = 0.01
"""Room (px) is the end of a sum in which the width itself may be."""
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle (px), with y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box", *, gap: float = 0.0) -> bool:
        """Return whether two boxes come nearer than `gap` (px)."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.top < other.bottom + gap
            and other.top < self.bottom + gap
        )

    def holds(self, other: "Box") -> bool:
        """Return whether `other` lies inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One line of text."""

    text: str
    tone: Tone = "ink"
    size: Literal["small", "", "large"] = ""
    is_bold: bool = False

    @property
    def px(self) -> float:
        """Size of the font (px)."""
        return _SIZES[self.size]

    @property
    def width(self) -> float:
        """Room (px) that the line needs at most."""
        return text_width(self.text, self.px, is_bold=self.is_bold)

    def within(self, width: float) -> "Words":
        """Return the line, shortened with an ellipsis if it needs more than `width` (px).

        Empty if not even a letter has room.
        """
        text = self.text
        if self.width <= width + _ROUNDING:
            return self
        while text and self._with(text + _ELLIPSIS).width > width:
            text = text[:-1]
        if not text:
            return self._with("")
        return self._with(text.rstrip() + _ELLIPSIS)

    def _with(self, text: str) -> "Words":
        return Words(text=text, tone=self.tone, size=self.size, is_bold=self.is_bold)


def box_of(words: Words, x: float, y: float, anchor: Anchor) -> Box:
    """Return the box of a line whose base line is at `y`."""
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * words.width
    return Box(left, y - _ASCENT * words.px, left + words.width, y + _DESCENT * words.px)


def broken(text: str, width: float, *, size: float = SIZE, is_bold: bool = False) -> list[str]:
    """Return `text` in lines of at most `width` (px), broken at blanks.

    Examples
    --------
    >>> broken("more connections gain nothing", 110.0)
    ['more connections', 'gain nothing']
    """
    lines: list[str] = []
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, size, is_bold=is_bold) <= width + _ROUNDING:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def broken_anywhere(
    text: str, width: float, *, size: float = SIZE, is_bold: bool = False, most: int = MOST_LINES
) -> list[str]:
    """Return `text` in lines of at most `width` (px): words that are too long are broken too.

    Beyond `most` lines the last one ends in an ellipsis.

    Examples
    --------
    >>> broken_anywhere("an_identifier_without_blanks here", 110.0)
    ['an_identifier_', 'without_blanks', 'here']
    """
    lines: list[str] = []
    for line in broken(text, width, size=size, is_bold=is_bold):
        rest = line
        while (end := _fitting(rest, width, size=size, is_bold=is_bold)) < len(rest):
            lines.append(rest[:end])
            rest = rest[end:]
        lines.append(rest)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], lines[most - 1][:-1] + _ELLIPSIS]


def _fitting(text: str, width: float, *, size: float, is_bold: bool) -> int:
    """Return how many letters fit, one at least; fewer to break after a sign between words."""
    end = len(text)
    while end > 1 and text_width(text[:end], size, is_bold=is_bold) > width + _ROUNDING:
        end -= 1
    if end == len(text):
        return end
    return max(text.rfind(sign, 0, end) + 1 for sign in "_-/=.") or end


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLine:
    """A line of a label with its place."""

    words: Words
    x: float
    y: float
    anchor: Anchor


@dataclass(slots=True)
class Placer:
    """The taken room of a figure.

    Parameters
    ----------
    frame
        Where labels may lie.
    """

    frame: Box
    taken: list[Box] = field(default_factory=list)
    segments: list[tuple[float, float, float, float]] = field(default_factory=list)

    def take(self, box: Box) -> None:
        """Keep `box` free of labels."""
        self.taken.append(box)

    def cross(self, points: Sequence[tuple[float, float]]) -> None:
        """Note a line, which labels avoid where they can."""
        self.segments += [(*a, *b) for a, b in pairwise(points)]

    def place(
        self, lines: Sequence[Words], at: tuple[float, float], sides: Sequence[Side] = SIDES
    ) -> list[PlacedLine] | None:
        """Return the lines of a label near `at`, and take their room; None if there is none.

        Parameters
        ----------
        lines
            Lines of the label, the first on top.
        at
            The point that is named (px).
        sides
            Where to look, the preferred side first; other sides are tried last.
        """
        order = [*sides, *(side for side in SIDES if side not in sides)]
        tried = [
            ((self._crossings(box), ring, place), box, anchor)
            for ring, distance in enumerate(_RINGS)
            for place, side in enumerate(order)
            for box, anchor in [_candidate(lines, at, side, distance)]
            if self.is_free(box)
        ]
        if not tried:
            return None
        _, box, anchor = min(tried, key=lambda one: one[0])
        self.take(box)
        return _lines_in(lines, box, anchor)

    def is_free(self, box: Box) -> bool:
        """Return whether a label may stand in `box`."""
        return self.frame.holds(box) and not any(box.overlaps(one, gap=_GAP) for one in self.taken)

    def _crossings(self, box: Box) -> int:
        return sum(_meets(segment, box) for segment in self.segments)


def _candidate(
    lines: Sequence[Words], at: tuple[float, float], side: Side, distance: float
) -> tuple[Box, Anchor]:
    x, y = at
    width = max(words.width for words in lines)
    height = sum(words.px * _SPACING for words in lines)
    anchor: Anchor = "start" if "right" in side else "end" if "left" in side else "middle"
    left = {"start": x + distance, "end": x - distance - width, "middle": x - width / 2}[anchor]
    top = y - height / 2
    if "above" in side:
        top = y - distance - height
    elif "below" in side:
        top = y + distance
    return Box(left, top, left + width, top + height), anchor


def _lines_in(lines: Sequence[Words], box: Box, anchor: Anchor) -> list[PlacedLine]:
    x = {"start": box.left, "middle": (box.left + box.right) / 2, "end": box.right}[anchor]
    placed, top = [], box.top
    for words in lines:
        placed.append(PlacedLine(words=words, x=x, y=top + _ASCENT * words.px, anchor=anchor))
        top += words.px * _SPACING
    return placed


def _meets(segment: tuple[float, float, float, float], box: Box) -> bool:
    """Return whether a straight line passes through a box (Liang and Barsky, 1984)."""
    x1, y1, x2, y2 = segment
    first, last = 0.0, 1.0
    for start, step, low, high in (
        (x1, x2 - x1, box.left, box.right),
        (y1, y2 - y1, box.top, box.bottom),
    ):
        if step == 0.0:
            if not low <= start <= high:
                return False
            continue
        ends = sorted(((low - start) / step, (high - start) / step))
        first, last = max(first, ends[0]), min(last, ends[1])
    return first <= last


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Return places near `wanted` (px), in the same order of height, at least `gap` apart.

    If there is too little room for all between `low` and `high`, the gap shrinks.

    Examples
    --------
    >>> spread([10.0, 12.0, 50.0], gap=15.0, low=0.0, high=60.0)
    [3.5, 18.5, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    step = min(gap, (high - low) / max(1, len(wanted) - 1)) if len(wanted) > 1 else gap
    groups: list[list[float]] = []  # [sum of wanted starts, members]
    starts: Iterable[float] = (wanted[place] - k * step for k, place in enumerate(order))
    for start in starts:
        groups.append([start, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] >= groups[-1][0] / groups[-1][1]:
            total, members = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += members
    room = high - step * (len(wanted) - 1)
    flat = [min(max(total / n, low), room) for total, n in groups for _ in range(int(n))]
    places = [0.0] * len(wanted)
    for k, place in enumerate(order):
        places[place] = flat[k] + k * step
    return places
