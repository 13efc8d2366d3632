"""Series over a numeric factor: lines with intervals, the knee, and the ground beyond it."""

from collections.abc import Sequence

from headroom.report.figures.axes import (
    ROOM,
    Axis,
    Frame,
    draw_axes,
    frame_of,
    linear_axis,
    log_axis,
)
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.inputs import Break, Curve, Line
from headroom.report.figures.placing import Box, Side, Words, broken, spread
from headroom.report.model_picture.letters import text_width

_NAME_SHARE = 0.34
"""Share of the width that names at the ends of lines may take."""
_LINE_PX = 15.0
_ZONE_PX = 10.0
"""Height of the words about a zone above the plot, clear of a number at its upper edge."""
_WORDS_PX = 190.0
"""Width at which the words of a mark are broken."""
_ABOVE: tuple[Side, ...] = ("above left", "above", "above right")
_BELOW_LEFT: tuple[Side, ...] = ("left", "above left", "below left", "below")


def draw_curve(curve: Curve, canvas: Canvas) -> None:
    """Draw `curve`."""
    names = [broken(line.label, _NAME_SHARE * canvas.width, is_bold=True) for line in curve.lines]
    has_names = len(curve.lines) > 1
    has_zones = bool(curve.limited_by or curve.before or curve.saturated)
    frame = frame_of(
        canvas,
        _with_room(curve.x, [level for level, _ in curve.saturated]),
        _with_room(curve.y, [one.y for one in curve.marks] + [one.y for one in curve.references]),
        top=42.0 if has_zones else 26.0,
        right=_room_of(names, canvas.width) if has_names else 10.0,
    )
    _draw_ground(curve, canvas, frame)
    _draw_fitted(curve, canvas, frame)
    draw_axes(canvas, frame)
    _draw_breaks(curve, canvas, frame)
    for place, line in enumerate(curve.lines):
        _draw_line(line, place, canvas, frame)
    if has_names:
        _name_lines(curve, names, canvas, frame)
    canvas.placer.frame = Box(frame.plot.left, frame.plot.top, canvas.width, frame.plot.bottom)
    _name_breaks(curve, canvas, frame)
    _draw_marks(curve, canvas, frame)
    _draw_references(curve, canvas, frame)
    _draw_saturated(curve, canvas, frame)


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
    full = [level for level, _ in curve.saturated]
    free = [dot.x for line in curve.lines for dot in line.dots]
    if not full or any(min(full) <= level <= max(full) for level in free):
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


def _draw_breaks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    plot = frame.plot
    for one in curve.breaks:
        left, right = frame.across(one.low), frame.across(one.high)
        canvas.rect(Box(left, plot.top, right, plot.bottom), "f-limit faint")
        if one.at is not None:
            x = frame.across(one.at)
            canvas.line((x, plot.top), (x, plot.bottom), "s-limit thin")
            canvas.placer.cross([(x, plot.top), (x, plot.bottom)])


def _name_breaks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    for one in curve.breaks:
        x = frame.across(one.high)
        at = (frame.across((one.low + one.high) / 2.0), frame.plot.bottom - 22.0)
        edge = max(0.0, x - at[0])
        if not canvas.label(_words_of(one), (at[0] + edge, at[1]), ("right", "above right")):
            canvas.left_out.pop()
            canvas.label(_words_of(one), (frame.across(one.low), at[1]), ("left", "above left"))


def _words_of(one: Break) -> list[Words]:
    first, *rest = one.lines
    return [
        Words(text=first, tone="limit", is_bold=True),
        *(Words(text=text, tone="limit") for text in rest),
    ]


def _draw_line(line: Line, place: int, canvas: Canvas, frame: Frame) -> None:
    points = [frame.at(dot.x, dot.y) for dot in line.dots]
    dashed = " dashed" if line.is_dashed else ""
    canvas.path(points, f"s-{line.role} {'thin' if line.is_dashed else 'stroke'}{dashed}")
    canvas.placer.cross(points)
    if len(points) > _dots_within(frame):
        _draw_band(line, canvas, frame)
        return
    for dot in line.dots:
        if dot.low is not None and dot.high is not None:
            ends = frame.at(dot.x, dot.low), frame.at(dot.x, dot.high)
            canvas.line(*ends, f"s-{line.role} thin")
    for at in points:
        canvas.marker(at, place, line.role)


def _draw_band(line: Line, canvas: Canvas, frame: Frame) -> None:
    """Draw the intervals of a dense line as one area."""
    ends = [(dot.x, dot.low, dot.high) for dot in line.dots]
    known = [(x, low, high) for x, low, high in ends if low is not None and high is not None]
    lower = [frame.at(x, low) for x, low, _ in known]
    upper = [frame.at(x, high) for x, _, high in reversed(known)]
    canvas.path([*lower, *upper], f"f-{line.role} faint", is_closed=True)


def _dots_within(frame: Frame) -> int:
    """Return up to how many points have a mark each; a denser line is only a line."""
    return int((frame.plot.right - frame.plot.left) / 9.0)


def _name_lines(curve: Curve, names: Sequence[Sequence[str]], canvas: Canvas, frame: Frame) -> None:
    """Write the names of the lines at their ends, apart from each other."""
    tallest = max(len(lines) for lines in names)
    wanted = [frame.up(line.dots[-1].y) if line.dots else frame.plot.top for line in curve.lines]
    heights = spread(
        wanted,
        gap=_LINE_PX * tallest + 1.0,
        low=frame.plot.top + 4.0,
        high=frame.plot.bottom - _LINE_PX * (tallest - 1),
    )
    for line, lines, y in zip(curve.lines, names, heights, strict=True):
        for number, text in enumerate(lines):
            words = Words(text=text, tone=line.role, is_bold=not line.is_dashed)
            fitted = words.within(canvas.width - frame.plot.right - 10.0)
            canvas.write(fitted, frame.plot.right + 10.0, y + 4.0 + _LINE_PX * number)


def _draw_marks(curve: Curve, canvas: Canvas, frame: Frame) -> None:
    for mark in curve.marks:
        at = frame.at(mark.x, mark.y)
        canvas.dot(at, f"hollow s-{mark.role}", radius=4.5)
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
    for level, text in curve.saturated:
        x = frame.across(level)
        canvas.line((x, top + 40.0), (x, top + 6.0), "s-limit stroke")
        head = [(x - 4.0, top + 11.0), (x + 4.0, top + 11.0), (x, top + 3.0)]
        canvas.path(head, "f-limit", is_closed=True)
        canvas.placer.take(Box(x - 5.0, top, x + 5.0, top + 42.0))
        if text:
            canvas.label([Words(text=text, tone="limit")], (x, top + 42.0), ("below",))
            canvas.left_out.clear()
