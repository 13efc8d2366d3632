"""Figures of rows: bars from zero, runs with their centre, intervals against a band, stacks.

The label is at the left, the number at the right, one row below the other, so that no two
texts can meet.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from headroom.report.figures.axes import Axis, draw_x_axis, number_text
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.inputs import Bar, Bars, Row, Rows, Stacks
from headroom.report.figures.placing import MOST_LINES, Anchor, Box, Words, broken_anywhere
from headroom.report.figures.roles import Role
from headroom.report.model_picture.letters import text_width

_LABEL_SHARE, _END_SHARE = 0.38, 0.35
_PHONE_PX, _MOST_LINES = 500.0, 3
_ROW_PX, _TALL_ROW_PX = 26.0, 35.0
_LINE_PX = 15.0
_BOTTOM_PX = 42.0
_GAP = 12.0
_ABOVE_PX = 24.0
_VISIBLE_PX = 0.2
_LEAST_BAR_PX, _LEAST_END_PX = 50.0, 40.0


def height_of_rows(
    labels: Sequence[str], width: float, *, has_head: bool, ends: Sequence[str] = ()
) -> float:
    """Return the height (px) of a figure of rows: more where a text takes several lines."""
    rows = sum(_row_heights(labels, [_end_lines(end, width) for end in ends], width))
    return rows + _ABOVE_PX * has_head + 4.0 + _BOTTOM_PX


def height_of_bars(bars: Bars, width: float) -> float:
    """Return the height (px) of a figure of bars at a width (px)."""
    has_head = bool(bars.title or bars.end_title)
    return sum(_bar_heights(bars, width)) + _ABOVE_PX * has_head + 4.0 + _BOTTOM_PX


def _row_heights(labels: Sequence[str], ends: Sequence[Sequence[str]], width: float) -> list[float]:
    """Return the height (px) of each row; `ends` are the lines at its right, if there are any."""
    lines = [len(_lines(label, width)) for label in labels]
    if ends:
        lines = [max(count, len(end)) for count, end in zip(lines, ends, strict=True)]
    return [
        _ROW_PX if count == 1 else _TALL_ROW_PX + (count - 2) * _LINE_PX for count in lines
    ]  # fmt: skip


def _lines(label: str, width: float, *, is_bold: bool = True) -> list[str]:
    """Return the lines of a label at the left of a figure of a width (px)."""
    most = _MOST_LINES if width > _PHONE_PX else MOST_LINES
    return broken_anywhere(label, _LABEL_SHARE * width, is_bold=is_bold, most=most)


def _end_lines(text: str, width: float, *, is_bold: bool = True) -> list[str]:
    """Return the lines of a text at the right of a figure of a width (px)."""
    return broken_anywhere(text, _END_SHARE * width, is_bold=is_bold, most=_MOST_LINES)


def _middles(plot: Box, heights: Sequence[float]) -> list[float]:
    """Return where the middles (px) of rows lie that share a plot as their heights do."""
    scale = (plot.bottom - plot.top) / max(sum(heights), 1.0)
    ends = [0.0, *accumulate(heights)]
    return [plot.top + scale * (above + below) / 2.0 for above, below in pairwise(ends)]


def _write_label(canvas: Canvas, words: Words, y: float) -> None:
    """Write the label of a row, in several lines where one is too short: it is never cut."""
    lines = _lines(words.text, canvas.width, is_bold=words.is_bold)
    write_lines(canvas, words, lines, (0.0, y), "start")


def write_lines(
    canvas: Canvas, words: Words, lines: Sequence[str], at: tuple[float, float], anchor: Anchor
) -> None:
    """Write lines around a height (px)."""
    x, y = at
    first = y + 4.0 - (len(lines) - 1) * _LINE_PX / 2.0
    for number, text in enumerate(lines):
        canvas.write(replace(words, text=text), x, first + number * _LINE_PX, anchor)


def _label_room(labels: Sequence[Words], width: float) -> float:
    """Return where values begin (px), at the right of the labels."""
    widest = max((words.width for words in labels), default=0.0)
    return min(widest, _LABEL_SHARE * width) + _GAP


def _plot(
    canvas: Canvas,
    labels: Sequence[Words],
    ends: Sequence[str],
    *,
    has_head: bool,
    top: float = 0.0,
) -> Box:
    """Return where values lie, between the labels and the texts at the right."""
    left = _label_room(labels, canvas.width)
    right = max((text_width(text, 12.0, is_bold=True) for text in ends if text), default=0.0)
    right = min(right, _END_SHARE * canvas.width)
    end = canvas.width - (right + _GAP if right else 10.0)
    return Box(left, top + 4.0 + _ABOVE_PX * has_head, end, canvas.height - _BOTTOM_PX)


def _draw_frame(
    canvas: Canvas, axis: Axis, plot: Box, *, centre: float | None, band: tuple[float, float] | None
) -> None:
    def across(value: float) -> float:
        share = min(max(axis.share(value), 0.0), 1.0)
        return plot.left + share * (plot.right - plot.left)

    if band is not None:
        canvas.rect(Box(across(band[0]), plot.top, across(band[1]), plot.bottom), "g-better")
    for tick in axis.ticks:
        canvas.line((across(tick), plot.top), (across(tick), plot.bottom), "grid")
    if centre is not None:
        canvas.line(
            (across(centre), plot.top), (across(centre), plot.bottom), "s-published thin dashed"
        )
    draw_x_axis(canvas, axis, plot)


def draw_bars(bars: Bars, canvas: Canvas) -> None:
    """Draw bars from zero, each with its number behind it."""
    plot, end_room = _bars_plot(bars, canvas)
    _draw_frame(canvas, bars.x, plot, centre=None, band=None)
    end_title = None
    if bars.end_title and end_room:
        end_title = Words(text=bars.end_title, tone="muted").within(0.36 * canvas.width)
    if bars.title:
        room = canvas.width - (end_title.width + _GAP if end_title else 0.0)
        canvas.write(Words(text=bars.title, tone="muted").within(room), 0.0, 12.0)
    if end_title:
        canvas.write(end_title, canvas.width, 12.0, "end")
    heights = _bar_heights(bars, canvas.width)
    for bar, y, height in zip(bars.bars, _middles(plot, heights), heights, strict=True):
        is_plain = bar.role == "context"
        label = Words(text=bar.label, tone="muted" if is_plain else "ink", is_bold=not is_plain)
        _write_label(canvas, label, y)
        _draw_bar(bar, canvas, bars.x, plot, y)
        if bar.end and end_room:
            words = Words(text=bar.end, tone="limit")
            lines = broken_anywhere(bar.end, end_room, most=int(height // _LINE_PX))
            write_lines(canvas, words, lines, (canvas.width, y), "end")
    if bars.today is not None:
        x = plot.left + bars.x.share(bars.today) * (plot.right - plot.left)
        canvas.line((x, plot.top), (x, plot.bottom), "s-published thin dashed")


def _bar_heights(bars: Bars, width: float) -> list[float]:
    room = _end_room(bars, width)
    ends = [broken_anywhere(bar.end, room, most=_MOST_LINES) if room else [] for bar in bars.bars]
    return _row_heights([bar.label for bar in bars.bars], ends, width)


def _bar_labels(bars: Bars) -> list[Words]:
    return [Words(text=bar.label, is_bold=bar.role != "context") for bar in bars.bars]


def _number_width(bars: Bars) -> float:
    return max((Words(text=bar.text, is_bold=True).width for bar in bars.bars), default=0.0)


def _end_room(bars: Bars, width: float) -> float:
    """Return the room (px) of the texts at the right edge; 0 if they are left out."""
    wanted = max((Words(text=bar.end).width for bar in bars.bars), default=0.0)
    left = _label_room(_bar_labels(bars), width)
    most = width - left - _number_width(bars) - _LEAST_BAR_PX - 2.0 * _GAP
    return min(wanted, most) if wanted and most > _LEAST_END_PX else 0.0


def _bars_plot(bars: Bars, canvas: Canvas) -> tuple[Box, float]:
    """Return where bars lie, and the room (px) of the texts at the right edge."""
    plot = _plot(canvas, _bar_labels(bars), [], has_head=bool(bars.title or bars.end_title))
    end_room = _end_room(bars, canvas.width)
    right = canvas.width - _number_width(bars) - _GAP - (end_room + _GAP if end_room else 0.0)
    return Box(plot.left, plot.top, right, plot.bottom), end_room


def _draw_bar(bar: Bar, canvas: Canvas, axis: Axis, plot: Box, y: float) -> None:
    is_plain = bar.role == "context"
    end = plot.left + axis.share(bar.value) * (plot.right - plot.left)
    style = "f-context faint" if is_plain else f"f-{bar.role}"
    box = Box(plot.left, y - 7.0, max(end, plot.left + 1.0), y + 7.0)
    canvas.rect(box, style, radius=2.0, hint=bar.hint)
    tip = max(end, _whisker(canvas, axis, plot, bar, y))
    words = Words(text=bar.text, tone="muted" if is_plain else bar.role, is_bold=not is_plain)
    canvas.write(words, tip + 7.0, y + 4.0)


def _whisker(canvas: Canvas, axis: Axis, plot: Box, bar: Bar, y: float) -> float:
    """Draw an interval, and return where it ends (px)."""
    if bar.low is None or bar.high is None:
        return 0.0
    ends = [
        plot.left + min(max(axis.share(one), 0.0), 1.0) * (plot.right - plot.left)
        for one in (bar.low, bar.high)
    ]
    canvas.line((ends[0], y), (ends[1], y), "s-published thin")
    return ends[1]


def draw_rows(rows: Rows, canvas: Canvas) -> None:
    """Draw rows of values: runs as strokes, the centre as a point with its interval."""
    labels = [Words(text=row.label, is_bold=row.is_bold) for row in rows.rows]
    ends = [*(row.text for row in rows.rows), rows.end_title]
    has_head = bool(rows.band_text or rows.end_title or rows.limits)
    top = key_height(rows.key, canvas.width) if rows.key else 0.0
    plot = _plot(canvas, labels, ends, has_head=has_head, top=top)
    if rows.key:
        draw_key(canvas, rows.key, has_marks=True)
    _draw_frame(canvas, rows.x, plot, centre=rows.centre, band=rows.band)
    if rows.band_text and rows.band:
        middle = sum(rows.x.share(end) for end in rows.band) / 2.0
        _write_above(canvas, plot, Words(text=rows.band_text, tone="better"), middle)
    for limit in rows.limits:
        share = rows.x.share(limit.y)
        x = plot.left + share * (plot.right - plot.left)
        canvas.line((x, plot.top), (x, plot.bottom), "s-published thin dashed", hint=limit.label)
        _write_above(canvas, plot, Words(text=limit.label, tone="muted"), share)
    head = Words(text=rows.end_title, tone="muted")
    canvas.write_if_free(head, canvas.width, plot.top - 16.0, "end")
    texts = [_end_lines(row.text, canvas.width) for row in rows.rows]
    middles = _middles(plot, _row_heights([row.label for row in rows.rows], texts, canvas.width))
    for row, label, y in zip(rows.rows, labels, middles, strict=True):
        _write_label(canvas, label, y)
        with canvas.series(row.series):
            _draw_row(row, canvas, rows.x, plot, y)
        if row.text:
            words = Words(text=row.text, is_bold=row.is_bold)
            lines = _end_lines(row.text, canvas.width, is_bold=row.is_bold)
            write_lines(canvas, words, lines, (canvas.width, y), "end")


def _write_above(canvas: Canvas, plot: Box, words: Words, share: float) -> None:
    """Write words above a place of the axis, within the plot."""
    half = words.width / 2.0
    x = plot.left + share * (plot.right - plot.left)
    canvas.write(words, min(max(x, half), max(plot.right - half, half)), plot.top - 16.0, "middle")


def _draw_row(row: Row, canvas: Canvas, axis: Axis, plot: Box, y: float) -> None:
    def across(value: float) -> float:
        return plot.left + min(max(axis.share(value), 0.0), 1.0) * (plot.right - plot.left)

    for run in row.runs:
        canvas.line((across(run), y - 6.0), (across(run), y + 6.0), f"s-{row.role} thin faint")
    if row.printed is not None:
        x = across(row.printed)
        canvas.rect(Box(x - 1.5, y - 7.0, x + 1.5, y + 7.0), "f-published")
    if row.low is not None and row.high is not None:
        canvas.line((across(row.low), y), (across(row.high), y), f"s-{row.role} stroke")
    if row.is_unbounded:
        ends = [(plot.right - 7.0, y - 4.0), (plot.right - 7.0, y + 4.0), (plot.right, y)]
        canvas.path(ends, "f-limit", is_closed=True, hint=row.hint)
    elif row.value is not None and row.series is not None:
        canvas.marker((across(row.value), y), row.series, row.role, hint=row.hint)
    elif row.value is not None:
        canvas.dot((across(row.value), y), f"f-{row.role}", radius=4.0, hint=row.hint)


def draw_stacks(stacks: Stacks, canvas: Canvas) -> None:
    """Draw bars of parts, with the names of the parts above and the totals at the right."""
    labels = [Words(text=stack.label) for stack in stacks.stacks]
    used = key_height(stacks.parts, canvas.width)
    left = _label_room(labels, canvas.width)
    total = max((text_width(stack.text, 12.0, is_bold=True) for stack in stacks.stacks), default=0)
    plot = Box(
        left,
        used + _ABOVE_PX * bool(stacks.title),
        canvas.width - total - _GAP,
        canvas.height - _BOTTOM_PX,
    )
    draw_key(canvas, stacks.parts)
    _draw_frame(canvas, stacks.x, plot, centre=None, band=None)
    if stacks.title:
        canvas.write(Words(text=stacks.title, tone="muted").within(canvas.width), 0.0, used + 12.0)
    heights = _row_heights([stack.label for stack in stacks.stacks], (), canvas.width)
    middles = _middles(plot, heights)
    for stack, label, y in zip(stacks.stacks, labels, middles, strict=True):
        _write_label(canvas, label, y)
        start = 0.0
        for value, (name, role, is_faint) in zip(stack.parts, stacks.parts, strict=True):
            ends = [
                plot.left + stacks.x.share(x) * (plot.right - plot.left)
                for x in (start, start + value)
            ]
            start += value
            if ends[1] - ends[0] > _VISIBLE_PX:
                style = f"f-{role}{' faint' if is_faint else ''}"
                hint = f"{stack.label}, {name}: {number_text(value)}{stacks.x.suffix}"
                canvas.rect(Box(ends[0], y - 8.0, ends[1], y + 8.0), style, hint=hint)
        canvas.write(Words(text=stack.text, is_bold=True), canvas.width, y + 4.0, "end")


def _key_places(
    parts: Sequence[tuple[str, Role, bool]], width: float
) -> list[tuple[str, Role, bool, float, float]]:
    placed, x, y = [], 0.0, 12.0
    for name, role, is_faint in parts:
        words = Words(text=name).within(0.9 * width)
        needed = words.width + 17.0
        if x and x + needed > width:
            x, y = 0.0, y + 17.0
        placed.append((words.text, role, is_faint, x, y))
        x += needed + 14.0
    return placed


def key_height(parts: Sequence[tuple[str, Role, bool]], width: float) -> float:
    """Return the height (px) that the names of the parts take at the top."""
    places = _key_places(parts, width)
    return (places[-1][4] if places else 0.0) + 12.0


def draw_key(
    canvas: Canvas, parts: Sequence[tuple[str, Role, bool]], *, has_marks: bool = False
) -> None:
    """Draw the names of parts with their colours, or of series with their marks, at the top."""
    for place, (name, role, is_faint, x, y) in enumerate(_key_places(parts, canvas.width)):
        style = f"f-{role}{' faint' if is_faint else ''}"
        with canvas.series(place if has_marks else None, is_key=True):
            if has_marks:
                canvas.marker((x + 5.0, y - 4.0), place, role)
            else:
                canvas.rect(Box(x, y - 9.0, x + 10.0, y + 1.0), style, radius=2.0)
            canvas.write(Words(text=name, tone="muted"), x + 15.0, y)
