"""Axes with at most six numbers, linear from zero or in powers, and the frame of a figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import escape

from headroom.quantities import format_plain
from headroom.report.figures.canvas import Canvas
from headroom.report.figures.placing import Box, Words
from headroom.report.model_picture.letters import text_width

MOST_TICKS = 6
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
ROOM = 1.04
"""Times the largest value that an axis reaches."""
_TICK_GAP = 14.0
"""Room (px) between two numbers of an axis."""
_LETTER_GAP = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis: what it measures, and from where to where.

    Parameters
    ----------
    title
        Quantity with its unit.
    low, high
        Ends, in the unit of the axis.
    ticks
        Values that have a number.
    is_log
        Whether equal ratios are equal lengths; `low` is then above zero.
    suffix
        Behind each number: ``%`` or nothing.
    """

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False
    suffix: str = ""

    def share(self, value: float) -> float:
        """Return where `value` lies, 0 at `low` and 1 at `high`."""
        if self.is_log:
            low, high = math.log(self.low), math.log(self.high)
            return (math.log(max(value, self.low)) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)

    def texts(self) -> list[str]:
        """Return the numbers of the ticks; at equal steps all have as many decimals."""
        steps = {round(b - a, 9) for a, b in pairwise(self.ticks)}
        if self.is_log or len(steps) > 1:
            return [f"{number_text(tick)}{self.suffix}" for tick in self.ticks]
        decimals = max((_decimals(tick) for tick in self.ticks), default=0)
        return [
            f"{format_plain(tick, decimals=decimals) if tick else '0'}{self.suffix}"
            for tick in self.ticks
        ]


def _decimals(value: float) -> int:
    text = f"{value:.6g}"
    return len(text.partition(".")[2]) if "e" not in text else 0


def number_text(value: float) -> str:
    """Return a number of an axis without needless zeros.

    Examples
    --------
    >>> number_text(1000.0), number_text(0.05), number_text(2.5)
    ('1,000', '0.05', '2.5')
    """
    text = format_plain(value, decimals=max(0, 2 - math.floor(math.log10(abs(value) or 1.0))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def linear_axis(
    values: Sequence[float],
    title: str,
    *,
    suffix: str = "",
    from_zero: bool = True,
    most: int = MOST_TICKS,
) -> Axis:
    """Return an axis that shows `values`, from zero unless told otherwise.

    Examples
    --------
    >>> axis = linear_axis([3.0, 222.0], "pages per second")
    >>> axis.low, axis.ticks
    (0.0, (0.0, 50.0, 100.0, 150.0, 200.0))
    >>> linear_axis([96.0, 104.0], "share", from_zero=False).ticks
    (96.0, 98.0, 100.0, 102.0, 104.0)
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    if low == high:
        low, high = low - abs(low) * 0.5, high + abs(high) * 0.5 or 1.0
    step = _step(high - low, most)
    room = (high - low) * (ROOM - 1.0)
    start = low if low == 0.0 and from_zero else low - room
    end = high if high == 0.0 and from_zero else high + room
    first = math.ceil(start / step - 1e-9)
    last = math.floor(end / step + 1e-9)
    ticks = tuple(round(k * step, 12) for k in range(first, last + 1))
    return Axis(title=title, low=start, high=end, ticks=ticks, suffix=suffix)


def _step(span: float, most: int) -> float:
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(
        (power * step for step in _STEPS if span * ROOM / (power * step) <= most - 1),
        power * 20.0,
    )


def log_axis(values: Sequence[float], title: str, *, suffix: str = "") -> Axis:
    """Return an axis in powers of ten, with 1, 2 and 5 of each if there is room for them.

    Examples
    --------
    >>> log_axis([9.1, 209.0], "milliseconds").ticks
    (10.0, 20.0, 50.0, 100.0, 200.0)
    """
    positive = [value for value in values if value > 0.0 and math.isfinite(value)] or [1.0, 10.0]
    low, high = min(positive), max(positive)
    room = max(high / low, 1.5) ** 0.04
    low, high = low / room, high * room
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= MOST_TICKS:
            break
    if len(ticks) < 2:  # noqa: PLR2004 - the axis spans less than a power
        ticks = [tick for tick in linear_axis([low, high], "", from_zero=False).ticks if tick > 0]
    ticks = ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    return Axis(title=title, low=low, high=high, ticks=tuple(ticks), is_log=True, suffix=suffix)


def level_axis(levels: Sequence[float], title: str, *, is_log: bool) -> Axis:
    """Return the axis of a factor: with numbers at its levels if they are few, else round ones."""
    few = tuple(sorted(set(levels)))
    axis = (
        log_axis(levels, title) if is_log else linear_axis(levels, title, from_zero=few[0] >= 0.0)
    )
    return replace(axis, ticks=few) if len(few) <= MOST_TICKS else axis


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the axes of a figure lie: `plot` (px), and how values become places."""

    plot: Box
    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place (px) of a pair of values."""
        return self.across(x), self.up(y)

    def across(self, x: float) -> float:
        """Return the place (px) of a value on the x axis; of one beyond it, its end."""
        share = min(max(self.x.share(x), 0.0), 1.0)
        return self.plot.left + share * (self.plot.right - self.plot.left)

    def up(self, y: float) -> float:
        """Return the place (px) of a value on the y axis; of one beyond it, its end."""
        share = min(max(self.y.share(y), 0.0), 1.0)
        return self.plot.bottom - share * (self.plot.bottom - self.plot.top)


def frame_of(canvas: Canvas, x: Axis, y: Axis, *, top: float, right: float) -> Frame:
    """Return the frame that leaves room for the numbers of both axes.

    Parameters
    ----------
    top, right
        Room (px) above the plot and on its right.
    """
    left = max((text_width(text, 12.0) for text in y.texts()), default=0.0) + _LETTER_GAP
    return Frame(Box(left + 2.0, top, canvas.width - right, canvas.height - 42.0), x, y)


def tell_axes(canvas: Canvas, frame: Frame) -> None:
    """Let a script know which values the places of a figure mean: ends (px), ends, scale, title."""
    plot = frame.plot
    sides = (("x", frame.x, plot.left, plot.right), ("y", frame.y, plot.bottom, plot.top))
    for name, axis, start, end in sides:
        scale = "log" if axis.is_log else "linear"
        text = f"{start:.1f} {end:.1f} {axis.low:.6g} {axis.high:.6g} {scale} {axis.title}"
        canvas.axes += f' data-{name}="{escape(text)}"'


def draw_axes(canvas: Canvas, frame: Frame, *, top: float = 0.0) -> None:
    """Draw grid, numbers and titles; of numbers without room every second one is left out.

    `top` is the room (px) above the title.
    """
    plot = frame.plot
    for tick in frame.y.ticks:
        y = frame.up(tick)
        canvas.line((plot.left, y), (plot.right, y), "grid")
    for tick, text in zip(frame.y.ticks, frame.y.texts(), strict=True):
        y = frame.up(tick) + 4.0
        canvas.write(Words(text=text, tone="muted"), plot.left - _LETTER_GAP, y, "end")
    draw_x_axis(canvas, frame.x, plot)
    canvas.write(Words(text=frame.y.title, tone="muted").within(canvas.width), 0.0, top + 12.0)


def draw_x_axis(canvas: Canvas, axis: Axis, plot: Box) -> None:
    """Draw the lower axis with its numbers and its title."""
    canvas.line((plot.left, plot.bottom), (plot.right, plot.bottom), "axis")
    taken = -math.inf
    texts: list[tuple[str, float]] = []
    for tick, text in zip(axis.ticks, axis.texts(), strict=True):
        x = plot.left + axis.share(tick) * (plot.right - plot.left)
        half = text_width(text, 12.0) / 2.0
        x_text = min(max(x, half), canvas.width - half)
        if x_text - half < taken + _TICK_GAP / 2.0:
            continue
        taken = x_text + half
        canvas.line((x, plot.bottom), (x, plot.bottom + 4.0), "axis")
        texts.append((text, x_text))
    for text, x in texts:
        canvas.write(Words(text=text, tone="muted"), x, plot.bottom + 18.0, "middle")
    title = Words(text=axis.title, tone="muted").within(canvas.width)
    middle = (plot.left + plot.right) / 2.0
    half = title.width / 2.0
    middle = min(max(middle, half), canvas.width - half)
    canvas.write(title, middle, plot.bottom + 35.0, "middle")
