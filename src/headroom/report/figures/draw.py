"""Draw a figure at the width at which it is shown.

A page carries two drawings of each figure, a wide one and one for phones, and its styles show the
one that fits: `draw_both` makes them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from headroom.report.figures.canvas import Canvas
from headroom.report.figures.curve import MOST_NAMED, draw_curve
from headroom.report.figures.grids import (
    draw_busy,
    draw_cells,
    draw_lanes,
    draw_squares,
    height_of_busy,
    height_of_cells,
    height_of_lanes,
    height_of_squares,
)
from headroom.report.figures.inputs import (
    Bars,
    Busy,
    Cells,
    Curve,
    Figure,
    Lanes,
    Rows,
    Squares,
    Stacks,
    TradeOff,
)
from headroom.report.figures.row_figures import (
    draw_bars,
    draw_rows,
    draw_stacks,
    height_of_bars,
    height_of_rows,
    key_height,
)
from headroom.report.figures.scatter import draw_trade_off
from headroom.report.words import join_words

LEAD_PX, HALF_PX, WHOLE_PX, NARROW_PX, CARD_PX = 724.0, 488.0, 1034.0, 342.0, 300.0
"""Widths (px): the decisive figure, one of two columns, both columns, a phone, a small card."""
PANEL_PX = 330.0
"""Width (px) of a folded figure: a third of a page, or a phone."""
_HEIGHTS = {
    LEAD_PX: 380.0,
    HALF_PX: 250.0,
    WHOLE_PX: 240.0,
    NARROW_PX: 280.0,
    PANEL_PX: 220.0,
    CARD_PX: 150.0,
}
"""Heights (px) of figures that have no height of their own."""
_TALLEST_PX = 420.0
_MOST_LABELS = 3
_LEAST_LEAD_PX = 260.0
"""Height (px) to which the rows of a decisive figure are spread."""
DRAWERS: dict[type, Callable[[Any, Canvas], None]] = {
    Curve: draw_curve,
    Bars: draw_bars,
    TradeOff: draw_trade_off,
    Rows: draw_rows,
    Squares: draw_squares,
    Cells: draw_cells,
    Stacks: draw_stacks,
    Lanes: draw_lanes,
    Busy: draw_busy,
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn figure: its SVG, and the labels for which there was no room."""

    svg: Markup
    left_out: tuple[str, ...]

    def caption(self, words: str) -> str:
        """Return a caption with the first labels for which there was no room."""
        left_out = join_words(self.left_out[:_MOST_LABELS])
        return " ".join(filter(None, [words, f"Not named: {left_out}." if left_out else ""]))


def draw(figure: Figure, width: float, label: str, *, style: str = "") -> Drawing:
    """Return `figure` at `width` (px), with `label` for those who do not see it.

    Parameters
    ----------
    style
        Further class of the picture, by which a page chooses among widths.

    Examples
    --------
    >>> from headroom.report.figures.axes import linear_axis
    >>> from headroom.report.figures.inputs import Bar
    >>> bar = Bar(label="nothing", value=223.0, text="223", role="data")
    >>> bars = Bars(x=linear_axis([223.0], "pages per second"), bars=(bar,))
    >>> 'aria-label="What to buy"' in draw(bars, HALF_PX, "What to buy").svg
    True
    """
    canvas = Canvas(width, height_of(figure, width))
    DRAWERS[type(figure)](figure, canvas)
    return Drawing(canvas.svg(label, style=style), tuple(canvas.left_out))


def draw_both(figure: Figure, width: float, label: str) -> Drawing:
    """Return `figure` at `width` (px) and behind it for phones, as pages carry it."""
    style = {LEAD_PX: "wide lead", WHOLE_PX: "wide both"}.get(width, "wide")
    wide = draw(figure, width, label, style=style)
    return Drawing(wide.svg + draw(figure, NARROW_PX, label, style="narrow").svg, wide.left_out)


def height_of(figure: Figure, width: float) -> float:
    """Return the height (px) that a figure needs at a width (px)."""
    if isinstance(figure, TradeOff):
        # The diagonal of equal values is one if both axes are as long.
        tall = _HEIGHTS.get(width, 0.55 * width)
        tall = tall if figure.tolerance is None else min(0.9 * width, _TALLEST_PX)
        return tall + (key_height(figure.key, width) if figure.key else 0.0)
    if isinstance(figure, Curve):
        key = [(line.label, line.role, False) for line in figure.lines if line.label]
        has_key = len(key) > MOST_NAMED
        return _HEIGHTS.get(width, 0.55 * width) + (key_height(key, width) if has_key else 0.0)
    if isinstance(figure, Bars | Rows | Stacks):
        height = _height_of_rows(figure, width)
        return max(height, min(_LEAST_LEAD_PX, 2.0 * height)) if width == LEAD_PX else height
    heights: dict[type, Callable[[Any, float], float]] = {
        Squares: height_of_squares,
        Cells: height_of_cells,
        Lanes: height_of_lanes,
        Busy: height_of_busy,
    }
    return heights[type(figure)](figure, width)


def _height_of_rows(figure: Bars | Rows | Stacks, width: float) -> float:
    if isinstance(figure, Bars):
        return height_of_bars(figure, width)
    if isinstance(figure, Rows):
        has_head = bool(figure.band_text or figure.end_title or figure.limits)
        ends = [row.text for row in figure.rows]
        labels = [row.label for row in figure.rows]
        key = key_height(figure.key, width) if figure.key else 0.0
        return key + height_of_rows(labels, width, has_head=has_head, ends=ends)
    labels = [stack.label for stack in figure.stacks]
    rows = height_of_rows(labels, width, has_head=bool(figure.title))
    return rows + key_height(figure.parts, width)
