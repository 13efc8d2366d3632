"""Trade-offs: settings by two measures, with the frontier that nothing beats."""

from headroom.report.figures.axes import Frame, draw_axes, frame_of
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.inputs import Setting, TradeOff
from headroom.report.figures.placing import Box, Side, Words, broken
from headroom.report.figures.row_figures import draw_key, key_height

_DETAIL_PX = 150.0
_STEPS, _MOST_TOLERANCE = 40, 0.99
_ON_FRONT: tuple[Side, ...] = ("above left", "left", "above", "above right")
_BEATEN: tuple[Side, ...] = ("below right", "below", "right", "below left")


def draw_trade_off(trade: TradeOff, canvas: Canvas) -> None:
    """Draw `trade`, the frontier first, so that points lie on it."""
    top = key_height(trade.key, canvas.width) if trade.key else 0.0
    frame = frame_of(canvas, trade.x, trade.y, top=top + 30.0, right=14.0)
    _draw_tolerance(trade, canvas, frame)
    draw_axes(canvas, frame, top=top)
    if trade.key:
        draw_key(canvas, trade.key, has_marks=True)
    _draw_frontier(trade, canvas, frame)
    _join(trade, canvas, frame)
    for setting in trade.settings:
        with canvas.series(setting.series):
            _draw_setting(setting, canvas, frame)
    canvas.placer.frame = Box(frame.plot.left + 3.0, 16.0, canvas.width, frame.plot.bottom - 2.0)
    front = [trade.settings[place] for place in trade.frontier]
    named = [*front, *(one for one in trade.settings if one not in front)]
    for setting in named:
        if not setting.name:
            continue
        sides = _BEATEN if setting.is_beaten else _ON_FRONT
        at = frame.at(setting.x.x, setting.x.y)
        if not canvas.label(_words_of(setting, canvas.width), at, sides):
            canvas.left_out.pop()
            canvas.label(_words_of(setting, canvas.width)[:1], at, sides)


def _draw_tolerance(trade: TradeOff, canvas: Canvas, frame: Frame) -> None:
    """Draw the diagonal of equal values, and the band of what is near enough.

    x is within t of y if y lies between x / (1 + t) and x / (1 - t).
    """
    if trade.tolerance is None:
        return
    within = min(trade.tolerance, _MOST_TOLERANCE)
    ends = trade.x.low, trade.x.high
    places = [ends[0] + (ends[1] - ends[0]) * step / _STEPS for step in range(_STEPS + 1)]
    if trade.x.is_log:
        ratio = ends[1] / ends[0]
        places = [ends[0] * ratio ** (step / _STEPS) for step in range(_STEPS + 1)]
    if within:
        below = [frame.at(x, x / (1.0 + within)) for x in places]
        above = [frame.at(x, x / (1.0 - within)) for x in reversed(places)]
        canvas.path([*below, *above], "g-better", is_closed=True)
    canvas.path([frame.at(x, x) for x in ends], "s-published thin dashed")


def _join(trade: TradeOff, canvas: Canvas, frame: Frame) -> None:
    """Join the settings of each series in their order."""
    if not trade.is_joined:
        return
    for place, (_, role, _) in enumerate(trade.key):
        points = [frame.at(one.x.x, one.x.y) for one in trade.settings if one.series == place]
        with canvas.series(place):
            canvas.path(points, f"s-{role} thin faint")


def _draw_frontier(trade: TradeOff, canvas: Canvas, frame: Frame) -> None:
    if trade.better:
        words = Words(text=trade.better, tone="muted")
        canvas.write_if_free(words, canvas.width, frame.plot.top - 18.0, "end")
    points = sorted(
        frame.at(one.x.x, one.x.y) for one in (trade.settings[place] for place in trade.frontier)
    )
    if len(points) < 2:  # noqa: PLR2004
        return
    steps = [points[0]]
    for x, y in points[1:]:
        steps += [(x, steps[-1][1]), (x, y)]
    canvas.path(steps, "s-data thin")
    canvas.placer.cross(steps)


def _draw_setting(setting: Setting, canvas: Canvas, frame: Frame) -> None:
    x, y = setting.x.x, setting.x.y
    has_series = setting.series is not None
    role = "context" if setting.is_beaten and not has_series else setting.role
    ends = [
        ((setting.x.low, y), (setting.x.high, y)),
        ((x, setting.y_low), (x, setting.y_high)),
    ]
    for (x1, y1), (x2, y2) in ends:
        if x1 is not None and x2 is not None and y1 is not None and y2 is not None:
            line = [frame.at(x1, y1), frame.at(x2, y2)]
            canvas.path(line, f"s-{role} thin")
            canvas.placer.cross(line)
    is_best = setting.role == "better"
    style = f"hollow s-{role}" if setting.is_beaten else f"f-{role}"
    if has_series:
        canvas.marker(
            frame.at(x, y), setting.series or 0, role,
            hint=setting.x.hint, is_hollow=setting.is_beaten,
        )  # fmt: skip
        return
    radius = 6.0 if is_best else 4.5
    canvas.dot(frame.at(x, y), style, radius=radius, hint=setting.x.hint)


def _words_of(setting: Setting, width: float) -> list[Words]:
    tone = "ink" if setting.is_beaten else setting.role
    detail = "muted" if setting.is_beaten else setting.role
    room = min(_DETAIL_PX, 0.4 * width)
    return [
        Words(text=setting.name, tone=tone, is_bold=True).within(0.5 * width),
        *(Words(text=text, tone=detail) for part in setting.detail for text in broken(part, room)),
    ]
