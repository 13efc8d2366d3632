"""Series over a numeric factor: lines with intervals, the knee, and the ground beyond it."""

from collections.abc import Sequence
from dataclasses import replace

from headroom.report.figures.axes import (
    ROOM,
    Axis,
    Frame,
    draw_axes,
    frame_of,
    linear_axis,
    log_axis,
    tell_axes,
)
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.inputs import Break, Curve, Key, Line
from headroom.report.figures.placing import Box, Side, Words, broken, spread
from headroom.report.figures.roles import SERIES
from headroom.report.figures.row_figures import draw_key, key_height
from headroom.report.model_picture.letters import text_width

MOST_NAMED = 4
"""Lines that have their names at their ends; the names of more are above the figure."""
_MOST_CROSSED = 60
"""Points of a line to which labels pay heed."""
_NAME_SHARE = 0.34
"""Share of the width that names at the ends of lines may take."""
_TOUCHING_PX = 0.3
_LINE_PX = 15.0
_ZONE_PX = 10.0
"""Height of the words about a zone above the plot, clear of a number at its upper edge."""
_WORDS_PX = 190.0
"""Width at which the words of a mark are broken."""
_BELOW_LEFT: tuple[Side, ...] = ("left", "above left", "below left", "below")


def draw_curve(curve: Curve, canvas: Canvas) -> None:
    """Draw lines with their bands, limits and zones, and the names of the lines beside or above."""
    named = [line for line in curve.lines if line.label]
    names = [broken(line.label, _NAME_SHARE * canvas.width, is_bold=True) for line in named]
    has_names, has_key = 1 < len(named) <= MOST_NAMED, len(named) > MOST_NAMED
    has_zones = bool(curve.limited_by or curve.before or curve.saturated)
    top = key_height(_key_of(named), canvas.width) if has_key else 0.0
    frame = frame_of(
        canvas,
        _with_room(curve.x, [one.x for one in curve.saturated]),
        _with_room(curve.y, [one.y for one in curve.marks] + [one.y for one in curve.references]),
        top=top + (42.0 if has_zones else 26.0),
        right=_room_of(names, canvas.width) if has_names else 10.0,
    )
    if curve.tiles or any(_is_dense(line, frame) for line in curve.lines):
        tell_axes(canvas, frame)
    _draw_ground(curve, canvas, frame)
    _draw_fitted(curve, canvas, frame)
    _draw_tiles(curve, canvas, frame)
    draw_axes(canvas, frame, top=top)
    _draw_breaks(curve, canvas, frame)
    for place, line in enumerate(curve.lines):
        with canvas.series(place if has_names or has_key else None):
            _draw_line(line, place, canvas, frame)
    if has_key:
        draw_key(canvas, _key_of(named), has_marks=True)
    if has_names:
        _name_lines(named, names, canvas, frame)
    canvas.placer.frame = Box(frame.plot.left, frame.plot.top, canvas.width, frame.plot.bottom)
    _name_breaks(curve, canvas, frame)
    _draw_marks(curve, canvas, frame)
    _draw_references(curve, canvas, frame)
    _draw_saturated(curve, canvas, frame)


def _key_of(lines: Sequence[Line]) -> Key:
    return tuple((line.label, line.role, False) for line in lines)


def _room_of(names: Sequence[Sequence[str]], width: float) -> float:
    widest = max(text_width(part, 12.0, is_bold=True) for lines in names for part in lines)
    return 14.0 + min(widest, _NAME_SHARE * width)


def _with_room(axis: Axis, values: Sequence[float]) -> Axis:
    """Return an axis that reaches `values` too, with numbers for all its length."""
    if max(values, default=axis.low) <= axis.high:
        return axis
    ends = [axis.low, axis.high / ROOM, *values]
    if axis.is_log:
        return log_axis(ends, axis.title, suffix=axis.suffix)
    return linear_axis(ends, axis.title, suffix=axis.suffix, from_zero=axis.low == 0.0)


def _draw_ground(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    plot = frame.plot
    ground = _ground_of(curve)
    if ground is None:
        return
    start, end = ground
    left = plot.left if start is None else frame.across(start)
    right = plot.right if end is None else frame.across(end)
    canvas.rect(Box(left, plot.top, right, plot.bottom), "g-limit")
    words = Words(text=curve.limited_by, tone="limit", is_bold=True).within(canvas.width)
    if words.width < canvas.width - left - 4.0:
        canvas.write(words, left + 4.0, plot.top - _ZONE_PX)
    else:
        canvas.write(words, canvas.width, plot.top - _ZONE_PX, "end")
    before = Words(text=curve.before, tone="muted")
    if before.width < left - plot.left:
        canvas.write_if_free(before, left - 6.0, plot.top - _ZONE_PX, "end")


def _ground_of(curve: Curve) -> tuple[float | None, float | None] | None:
    """Return the ends of the limited or saturated levels; None if others lie among them."""
    if curve.limited_from is not None:
        return curve.limited_from, None
    full = [one.x for one in curve.saturated]
    free = [dot.x for line in curve.lines for dot in line.dots]
    if not full or not free or any(min(full) <= level <= max(full) for level in free):
        return None
    is_low, is_high = max(full) < min(free), min(full) > max(free)
    return None if is_low else min(full), None if is_high else max(full)


def _draw_fitted(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    if curve.fitted is None:
        return
    low, high = curve.fitted
    left, right = frame.across(max(low, curve.x.low)), frame.across(min(high, curve.x.high))
    canvas.rect(Box(left, frame.plot.top, right, frame.plot.bottom), "g-context faint")
    words = Words(text="fitted here", tone="muted")
    canvas.label([words], (left, frame.plot.top + 6.0), ("below right", "below left"))


def _draw_tiles(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    """Draw rectangles, those of one tenth of strength as one shape, neighbours as one of them."""
    tenths: dict[int, list[Box]] = {}
    for tile in sorted(curve.tiles, key=lambda one: (one.y, one.x)):
        boxes = tenths.setdefault(max(1, round(10.0 * tile.strength)), [])
        left, right = frame.across(tile.x[0]), frame.across(tile.x[1])
        box = Box(left, frame.up(tile.y[1]), right, frame.up(tile.y[0]))
        if boxes and boxes[-1].top == box.top and left - boxes[-1].right < _TOUCHING_PX:
            boxes[-1] = replace(boxes[-1], right=right)
        else:
            boxes.append(box)
    for tenth, boxes in sorted(tenths.items()):
        canvas.rects(boxes, f"s-data o{tenth}", hint=curve.tiles_words(tenth / 10.0))


def _draw_breaks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    plot = frame.plot
    for one in curve.breaks:
        left, right = frame.across(one.low), frame.across(one.high)
        hint = " ".join(one.lines)
        if right > left:
            box = Box(left, plot.top, right, plot.bottom)
            canvas.rect(
                box, f"f-{one.role} {'faint' if one.role == 'limit' else 'pale'}", hint=hint
            )
        if one.at is not None:
            x = frame.across(one.at)
            canvas.line((x, plot.top), (x, plot.bottom), f"s-{one.role} thin", hint=hint)
            canvas.placer.cross([(x, plot.top), (x, plot.bottom)])


def _name_breaks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    for one in curve.breaks:
        if not one.is_named:
            continue
        x = frame.across(one.high)
        at = (frame.across((one.low + one.high) / 2.0), frame.plot.bottom - 22.0)
        edge = max(0.0, x - at[0])
        if not canvas.label(_words_of(one), (at[0] + edge, at[1]), ("right", "above right")):
            canvas.left_out.pop()
            canvas.label(_words_of(one), (frame.across(one.low), at[1]), ("left", "above left"))


def _words_of(one: Break) -> list[Words]:
    first, *rest = one.lines
    return [
        Words(text=first, tone=one.role, is_bold=True),
        *(Words(text=text, tone=one.role) for text in rest),
    ]


def _draw_line(line: Line, place: int, canvas: Canvas, frame: Frame) -> None:
    points = [frame.at(dot.x, dot.y) for dot in line.dots]
    dashed = " dashed" if line.is_dashed or place >= len(SERIES) else ""
    style = f"s-{line.role} {'thin' if line.is_dashed else 'stroke'}{dashed}"
    canvas.placer.cross(points[:: 1 + len(points) // _MOST_CROSSED])
    if line.is_area and points:
        base = frame.plot.bottom
        ends = [(points[0][0], base), *points, (points[-1][0], base)]
        style = f"area f-{line.role} s-{line.role}"
        canvas.dense_line(ends, style, line.label, is_closed=True)
        return
    if _is_dense(line, frame):
        canvas.dense_line(points, style, line.label)
        _draw_band(line, canvas, frame)
        return
    canvas.path(points, style)
    for dot in line.dots:
        if dot.low is not None and dot.high is not None:
            ends = [frame.at(dot.x, dot.low), frame.at(dot.x, dot.high)]
            canvas.path(ends, f"s-{line.role} thin")
    if not line.label and line.is_dashed:
        return
    for at, dot in zip(points, line.dots, strict=True):
        canvas.marker(at, place, line.role, hint=dot.hint)


def _draw_band(line: Line, canvas: Canvas, frame: Frame) -> None:
    """Draw the intervals of a dense line as one area."""
    ends = [(dot.x, dot.low, dot.high) for dot in line.dots]
    known = [(x, low, high) for x, low, high in ends if low is not None and high is not None]
    lower = [frame.at(x, low) for x, low, _ in known]
    upper = [frame.at(x, high) for x, _, high in reversed(known)]
    canvas.path([*lower, *upper], f"f-{line.role} faint", is_closed=True)


def _is_dense(line: Line, frame: Frame) -> bool:
    """Return whether a line has too many points for a mark each."""
    return line.is_area or len(line.dots) > (frame.plot.right - frame.plot.left) / 9.0


def _name_lines(
    named: Sequence[Line], names: Sequence[Sequence[str]], canvas: Canvas, frame: Frame
) -> None:
    """Write the names of the lines at their ends, apart from each other."""
    tallest = max(len(lines) for lines in names)
    wanted = [frame.up(line.dots[-1].y) if line.dots else frame.plot.top for line in named]
    heights = spread(
        wanted,
        gap=_LINE_PX * tallest + 1.0,
        low=frame.plot.top + 4.0,
        high=frame.plot.bottom - _LINE_PX * (tallest - 1),
    )
    for place, (line, lines, y) in enumerate(zip(named, names, heights, strict=True)):
        with canvas.series(place, is_key=True):
            for number, text in enumerate(lines):
                words = Words(text=text, tone=line.role, is_bold=not line.is_dashed)
                fitted = words.within(canvas.width - frame.plot.right - 10.0)
                canvas.write(fitted, frame.plot.right + 10.0, y + 4.0 + _LINE_PX * number)


def _draw_marks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    for mark in curve.marks:
        at = frame.at(mark.x, mark.y)
        canvas.dot(at, f"hollow s-{mark.role}", radius=4.5, hint=mark.hint)
        if not mark.lines:
            continue
        first, *rest = mark.lines
        width = min(_WORDS_PX, 0.55 * canvas.width)
        lines = [
            *(
                Words(text=text, tone=mark.role, is_bold=True)
                for text in broken(first, width, is_bold=True)
            ),
            *(Words(text=text, tone="muted") for part in rest for text in broken(part, width)),
        ]
        canvas.label(lines, at, _BELOW_LEFT)


def _draw_references(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    plot = frame.plot
    for line in curve.references:
        y = frame.up(line.y)
        canvas.line((plot.left, y), (plot.right, y), "s-published thin dashed")
        words = [Words(text=line.label, tone="muted").within(0.6 * canvas.width)]
        if line.label:
            canvas.label(words, (plot.left, y), ("above right", "below right"))


def _draw_saturated(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    """Draw an arrow to the upper edge for each saturated level; no number can be stated there."""
    if not curve.saturated:
        return
    top = frame.plot.top
    words = Words(text="saturated", tone="limit", is_bold=True)
    ground = _ground_of(curve)
    if ground is not None and ground[0] is None:
        canvas.write_if_free(words, frame.plot.left, top - _ZONE_PX)
    else:
        canvas.write_if_free(words, canvas.width, top - _ZONE_PX, "end")
    for one in curve.saturated:
        x = frame.across(one.x)
        canvas.line((x, top + 40.0), (x, top + 6.0), "s-limit stroke", hint=one.hint)
        head = [(x - 4.0, top + 11.0), (x + 4.0, top + 11.0), (x, top + 3.0)]
        canvas.path(head, "f-limit", is_closed=True)
        canvas.placer.take(Box(x - 5.0, top, x + 5.0, top + 42.0))
        if one.text:
            canvas.label([Words(text=one.text, tone="limit")], (x, top + 42.0), ("below",))
            canvas.left_out.clear()
