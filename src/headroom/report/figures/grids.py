"""Figures of cells: claims as squares, values by two factors, lanes over time, busy shares."""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.report.figures.axes import draw_x_axis, number_text
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.inputs import Busy, Cell, Cells, Lanes, SquareRow, Squares
from headroom.report.figures.placing import MOST_LINES, Anchor, Box, Words, broken_anywhere
from headroom.report.figures.roles import Role
from headroom.report.figures.row_figures import draw_key, key_height, write_lines

_SQUARE_PX, _STEP_PX = 14.0, 18.0
_LINE_PX = 15.0
_ROW_GAP = 8.0
_NOTE_PX, _LEAST_NOTE_PX = 240.0, 130.0
_LABEL_SHARE = 0.36
_VERDICTS: dict[str, tuple[Role, str]] = {
    "holds": ("better", ""),
    "differs": ("differs", "\N{MULTIPLICATION X}"),
    "undecided": ("context", "?"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laid:
    """A section of claims with the lines of its texts, and where they stand."""

    row: SquareRow
    label: list[str]
    detail: list[str]
    in_line: int
    notes: list[tuple[str, str]]
    is_beside: bool

    @property
    def square_lines(self) -> int:
        """Lines that the squares take."""
        return -(-len(self.row.squares) // self.in_line)

    @property
    def height(self) -> float:
        """Height (px) of the section."""
        words = _LINE_PX * (len(self.label) + len(self.detail))
        squares, notes = self.square_lines * _STEP_PX, len(self.notes) * _LINE_PX
        return max(words, squares, notes) if self.is_beside else max(words, squares + notes)


def _label_width(squares: Squares, width: float) -> float:
    widest = max(
        max(Words(text=row.label, is_bold=True).width, Words(text=row.detail, size="small").width)
        for row in squares.rows
    )
    return min(widest, _LABEL_SHARE * width)


def _laid(squares: Squares, width: float) -> list[_Laid]:
    label = _label_width(squares, width)
    left = label + 14.0
    in_line = max(1, int((width - left) // _STEP_PX))
    laid = []
    for row in squares.rows:
        used = min(len(row.squares), in_line) * _STEP_PX
        beside = width - left - used - 10.0
        is_beside = len(row.squares) <= in_line and beside > _LEAST_NOTE_PX
        room = min(beside, _NOTE_PX) if is_beside else width - left
        notes = [
            (verdict, text) for verdict, whole in row.notes for text in broken_anywhere(whole, room)
        ]
        laid.append(
            _Laid(
                row=row,
                label=broken_anywhere(row.label, label, is_bold=True),
                detail=broken_anywhere(row.detail, label, size=11.0) if row.detail else [],
                in_line=in_line,
                notes=notes,
                is_beside=is_beside,
            )
        )
    return laid


def height_of_squares(squares: Squares, width: float) -> float:
    """Return the height (px) of a figure of claims."""
    return sum(one.height + _ROW_GAP for one in _laid(squares, width)) + 4.0


def draw_squares(squares: Squares, canvas: Canvas) -> None:
    """Draw a square for each claim, with words next to exceptions."""
    room = _label_width(squares, canvas.width)
    top = 2.0
    for one in _laid(squares, canvas.width):
        y = top + 12.0
        for text in one.label:
            canvas.write(Words(text=text, is_bold=True), 0.0, y)
            y += _LINE_PX
        for text in one.detail:
            canvas.write(Words(text=text, tone="muted", size="small"), 0.0, y - 1.0)
            y += _LINE_PX
        _draw_claims(one, canvas, room + 14.0, top)
        top += one.height + _ROW_GAP


def _draw_claims(one: _Laid, canvas: Canvas, left: float, top: float) -> None:
    for number, square in enumerate(one.row.squares):
        x = left + (number % one.in_line) * _STEP_PX
        y = top + (number // one.in_line) * _STEP_PX
        _draw_square(canvas, square.verdict, square.hint, x, y)
    x = left + len(one.row.squares) * _STEP_PX + 8.0 if one.is_beside else left
    y = top + 11.5 + (0.0 if one.is_beside else one.square_lines * _STEP_PX)
    for number, (verdict, text) in enumerate(one.notes):
        tone: Role = "differs" if verdict == "differs" else "context"
        canvas.write(Words(text=text, tone=tone), x, y + number * _LINE_PX)


def _draw_square(canvas: Canvas, verdict: str, hint: str, x: float, y: float) -> None:
    role, sign = _VERDICTS[verdict]
    box = Box(x, y, x + _SQUARE_PX, y + _SQUARE_PX)
    if verdict == "undecided":
        canvas.rect(box, "hollow thin s-context", radius=2.0, hint=hint)
    else:
        canvas.rect(box, f"f-{role}", radius=2.0, hint=hint)
    middle, size = x + _SQUARE_PX / 2, 3.2
    if verdict == "differs":
        centre = y + _SQUARE_PX / 2
        canvas.line((middle - size, centre - size), (middle + size, centre + size), "cut")
        canvas.line((middle - size, centre + size), (middle + size, centre - size), "cut")
    elif sign:
        canvas.write(Words(text=sign, size="small", is_bold=True), middle, y + 11.0, "middle")


def height_of_cells(cells: Cells, width: float) -> float:  # noqa: ARG001 - as the others
    """Return the height (px) of a figure of cells."""
    return len(cells.rows) * _cell_height(cells) + 62.0


def _cell_height(cells: Cells) -> float:
    has_words = any(cell and cell.word for row in cells.cells for cell in row)
    return 36.0 if has_words else 24.0


def draw_cells(cells: Cells, canvas: Canvas) -> None:
    """Draw values by two factors: the number, and below it the part that limits."""
    labels = max(Words(text=text).width for text in cells.rows)
    left = min(labels, 0.3 * canvas.width) + 10.0
    width = (canvas.width - left) / len(cells.columns)
    height = _cell_height(cells)
    canvas.write(Words(text=cells.row_title, tone="muted").within(canvas.width), 0.0, 12.0)
    for number, (label, row) in enumerate(zip(cells.rows, cells.cells, strict=True)):
        top = 22.0 + number * height
        words = Words(text=label, tone="muted").within(left - 10.0)
        canvas.write(words, left - 8.0, top + height / 2.0 + 4.0, "end")
        for place, cell in enumerate(row):
            box = Box(left + place * width, top, left + (place + 1) * width - 3.0, top + height - 3)
            _draw_cell(canvas, cell, box)
    below = 22.0 + len(cells.rows) * height + 13.0
    for place, label in enumerate(cells.columns):
        words = Words(text=label, tone="muted")
        if words.width <= width - 4.0:
            canvas.write(words, left + (place + 0.5) * width - 1.5, below, "middle")
    ends: tuple[tuple[int, Anchor], ...] = ((0, "start"), (len(cells.columns) - 1, "end"))
    for place, anchor in ends if len(cells.columns) > 1 else ends[:1]:
        words = Words(text=cells.columns[place], tone="muted")
        x = canvas.width if place else left
        room = 0.4 * (canvas.width - left)
        if words.width > width - 4.0:
            canvas.write_if_free(words.within(room), x, below, anchor)
    title = Words(text=cells.column_title, tone="muted").within(canvas.width - left)
    canvas.write(title, (left + canvas.width) / 2.0, below + 17.0, "middle")


def _draw_cell(canvas: Canvas, cell: Cell | None, box: Box) -> None:
    middle = (box.left + box.right) / 2.0
    if cell is None:
        centre = (box.top + box.bottom) / 2.0
        canvas.rect(Box(middle - 1.0, centre - 1.0, middle + 1.0, centre + 1.0), "f-context")
        return
    if cell.is_unbounded:
        inside = Box(box.left + 1.0, box.top + 1.0, box.right - 1.0, box.bottom - 1.0)
        canvas.rect(inside, f"hollow dashed s-{cell.role}", radius=2.0, hint=cell.hint)
    elif cell.strength is None:
        canvas.rect(box, f"g-{cell.role}", radius=2.0, hint=cell.hint)
    else:
        opacity = max(1, min(10, round(10.0 * cell.strength)))
        canvas.rect(box, f"f-{cell.role} o{opacity}", radius=2.0, hint=cell.hint or cell.text)
    room = box.right - box.left - 2.0
    number = Words(text=cell.text, is_bold=True)
    word = Words(text=cell.word, tone=cell.role, size="small")
    y = box.top + 15.0 if cell.word else (box.top + box.bottom) / 2.0 + 4.0
    if number.width <= room:
        canvas.write(number, middle, y, "middle", has_halo=cell.strength is not None)
    if cell.word:
        canvas.write(word.within(room), middle, box.top + 28.0, "middle")


_LANE_PX, _LANE_LABEL_SHARE = 24.0, 0.3


def height_of_lanes(lanes: Lanes, width: float) -> float:
    """Return the height (px) of a figure of lanes."""
    return key_height(lanes.states, width) + _lane_px(lanes, width) * len(lanes.lanes) + 48.0


def _lane_px(lanes: Lanes, width: float) -> float:
    """Return the height (px) of each lane: more if the label of one takes several lines."""
    most = max(len(_lane_lines(lane.label, width)) for lane in lanes.lanes)
    return _LANE_PX + _LINE_PX * (most - 1)


def _lane_lines(label: str, width: float) -> list[str]:
    return broken_anywhere(label, _LANE_LABEL_SHARE * width, most=MOST_LINES)


def draw_lanes(lanes: Lanes, canvas: Canvas) -> None:
    """Draw spans in lanes, with the names of the states above."""
    top = key_height(lanes.states, canvas.width)
    labels = max(Words(text=lane.label).width for lane in lanes.lanes)
    left = min(labels, _LANE_LABEL_SHARE * canvas.width) + 10.0
    plot = Box(left, top, canvas.width - 8.0, canvas.height - 42.0)
    tall = _lane_px(lanes, canvas.width)
    draw_key(canvas, lanes.states)
    draw_x_axis(canvas, lanes.x, plot)
    for number, lane in enumerate(lanes.lanes):
        middle = top + tall * (number + 0.5) - 2.0
        lines = _lane_lines(lane.label, canvas.width)
        write_lines(canvas, Words(text=lane.label), lines, (0.0, middle), "start")
        for start, end, state in lane.spans:
            ends = [plot.left + lanes.x.share(at) * (plot.right - plot.left) for at in (start, end)]
            box = Box(ends[0], middle - 8.0, max(ends[1], ends[0] + 0.5), middle + 8.0)
            name, role, is_faint = lanes.states[state]
            hint = f"{lane.label}, {name}: {number_text(start)} to {number_text(end)}"
            canvas.rect(box, f"f-{role}{' faint' if is_faint else ''}", hint=hint)


_BUSY_PX = 54.0


def height_of_busy(busy: Busy, width: float) -> float:  # noqa: ARG001 - as the others
    """Return the height (px) of a figure of busy shares."""
    return _BUSY_PX * len(busy.rows) + 46.0


def draw_busy(busy: Busy, canvas: Canvas) -> None:
    """Draw how busy each part was, from 0 to 100%, a row for each."""
    labels = max(Words(text=row.label, is_bold=True).width for row in busy.rows)
    left = min(labels, 0.3 * canvas.width) + 12.0
    plot = Box(left, 2.0, canvas.width - 8.0, canvas.height - 42.0)
    draw_x_axis(canvas, busy.x, plot)
    for number, row in enumerate(busy.rows):
        bottom = 2.0 + _BUSY_PX * (number + 1) - 6.0
        tall = _BUSY_PX - 12.0
        canvas.line((plot.left, bottom), (plot.right, bottom), "axis")
        canvas.line((plot.left, bottom - tall), (plot.right, bottom - tall), "grid")
        name = Words(text=row.label, tone=row.role, is_bold=True)
        lines = broken_anywhere(row.label, left - 12.0, is_bold=True, most=3)
        write_lines(canvas, name, lines, (0.0, bottom - tall / 2.0), "start")
        _area(canvas, plot, row.shares, ends=(bottom, tall), style=f"f-{row.role}")


def _area(
    canvas: Canvas,
    plot: Box,
    shares: Sequence[float | None],
    *,
    ends: tuple[float, float],
    style: str,
) -> None:
    """Draw shares as steps from the line below them."""
    bottom, tall = ends
    step = (plot.right - plot.left) / max(1, len(shares))
    upper = [
        (x, bottom - min(share or 0.0, 1.0) * tall)
        for place, share in enumerate(shares)
        for x in (plot.left + place * step, plot.left + (place + 1) * step)
    ]
    canvas.path([(plot.left, bottom), *upper, (plot.right, bottom)], style, is_closed=True)
