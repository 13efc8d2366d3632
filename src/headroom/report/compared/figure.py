"""Pictures of comparisons and histories as SVG: ratios with intervals, runs, values over time.

Invariant: every text is escaped; a picture needs no script and follows the colours of the page.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from headroom.gate.result import Row
from headroom.quantities import choose_scale, format_given, format_ratio, format_scaled
from headroom.report.compared.sentences import label_place, verdict_word
from headroom.report.words import label_metric

ROWS_AT_MOST = 40
_WIDTH, _LABEL, _LINE = 860.0, 300.0, 26.0
_TOP, _BOTTOM, _RIGHT = 14.0, 34.0, 20.0
_TICKS = 5
_COLOURS = {"better": "var(--good)", "worse": "var(--bad)"}
_STROKES = ("var(--accent)", "var(--warn)", "var(--good)", "var(--bad)")
_TALL, _LEFT = 260.0, 80.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its words."""

    title: str
    svg: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Line:
    """A series of values in order; None for a missing one."""

    label: str
    values: Sequence[float | None]


def draw_ratios(rows: Sequence[Row], labels: dict[str, str], *, same_within: float) -> Markup:
    """Return the ratios of rows with their intervals, on a logarithmic scale around 1."""
    shown = [row for row in rows if row.ratio and row.low and row.high][:ROWS_AT_MOST]
    ends = [abs(math.log(end)) for row in shown for end in (row.low or 1.0, row.high or 1.0)]
    reach = max([*ends, math.log1p(same_within)]) * 1.08
    height = _TOP + len(shown) * _LINE + _BOTTOM
    has_names = len(labels) > 2  # noqa: PLR2004 - with two arms all rows are of one

    def across(ratio: float) -> float:
        place = (math.log(ratio) / reach + 1.0) / 2.0
        return _LABEL + place * (_WIDTH - _LABEL - _RIGHT)

    zone = (across(1.0 / (1.0 + same_within)), across(1.0 + same_within))
    parts = [
        Markup(
            '<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h:.1f}" fill="var(--line)" '
            'opacity="0.6"/>'
        ).format(x=zone[0], y=_TOP, w=zone[1] - zone[0], h=height - _TOP - _BOTTOM),
        _stroke(across(1.0), _TOP, across(1.0), height - _BOTTOM, "var(--soft)", dash="3 3"),
    ]
    parts += [_text(across(one), height - 12.0, _tick(one)) for one in ratio_ticks(reach)]
    for number, row in enumerate(shown):
        y = _TOP + (number + 0.5) * _LINE
        name = ", ".join(
            filter(
                None,
                [
                    labels.get(row.arm, row.arm) if has_names else "",
                    label_place(row),
                    label_metric(row.metric),
                ],
            )
        )
        parts += _interval(row, name, y, across(row.low or 1.0), across(row.ratio or 1.0),
            across(row.high or 1.0))  # fmt: skip
    return _svg(parts, height, "Ratios with their 95% intervals")


def _interval(row: Row, name: str, y: float, *ends: float) -> Iterator[Markup]:
    colour = _COLOURS.get(row.verdict, "var(--soft)")
    yield _text(_LABEL - 12.0, y + 4.0, _short(name, 46), anchor="end", tip=name)
    yield _stroke(ends[0], y, ends[2], y, colour, width=2.5)
    yield Markup(
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{c}"><title>{tip}</title></circle>'
    ).format(x=ends[1], y=y, c=colour, tip=verdict_word(row))


def draw_lines(lines: Sequence[Line], unit: str, metric: str, marks: Sequence[int] = ()) -> Markup:
    """Return values in their order, one line for each arm or segment.

    Parameters
    ----------
    lines
        The series; all start at place 0.
    unit, metric
        Of the values.
    marks
        Places in front of which a vertical line is drawn: change points.
    """
    known = [value for line in lines for value in line.values if value is not None]
    scale = choose_scale(known, unit, metric=metric)
    low, high = min(known), max(known)
    gap = (high - low) or abs(high) or 1.0
    low, high = low - 0.08 * gap, high + 0.08 * gap
    count = max(len(line.values) for line in lines)
    height = _TALL

    def place(number: float, value: float) -> tuple[float, float]:
        x = _LEFT + (number + 0.5) / count * (_WIDTH - _LEFT - _RIGHT)
        return x, _TOP + (high - value) / (high - low) * (height - _TOP - _BOTTOM)

    parts = []
    for number in range(_TICKS):
        value = low + (high - low) * number / (_TICKS - 1)
        y = place(0, value)[1]
        parts.append(_stroke(_LEFT, y, _WIDTH - _RIGHT, y, "var(--line)"))
        label = f"{format_scaled(value, scale, half_width=gap / 20.0)}{scale.suffix}"
        parts.append(_text(_LEFT - 8.0, y + 4.0, label, anchor="end"))
    for mark in marks:
        x = place(mark - 0.5, low)[0]
        parts.append(_stroke(x, _TOP, x, height - _BOTTOM, "var(--bad)", dash="5 3", width=1.5))
    length = 26 if len(lines) > 1 else 80
    for number, line in enumerate(lines):
        colour = _STROKES[number % len(_STROKES)]
        parts += _points(line, place, colour)
        parts.append(
            _text(_LEFT + 8.0 + 210.0 * (number % 4), height - 6.0, _short(line.label, length),
                anchor="start", colour=colour, tip=line.label)
        )  # fmt: skip
    return _svg(parts, height, f"{label_metric(metric)} in order")


def _points(
    line: Line, place: Callable[[float, float], tuple[float, float]], colour: str
) -> Iterator[Markup]:
    spots = [place(n, value) for n, value in enumerate(line.values) if value is not None]
    path = " ".join(
        f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(spots)
    )
    yield Markup(
        '<path d="{d}" fill="none" stroke="{c}" stroke-width="1.2" opacity="0.6"/>'
    ).format(d=path, c=colour)
    for x, y in spots:
        yield Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{c}"/>').format(
            x=x, y=y, c=colour
        )


def ratio_ticks(reach: float) -> list[float]:
    """Return round ratios on a logarithmic axis that reaches to exp(reach) either way.

    Examples
    --------
    >>> [round(tick, 3) for tick in ratio_ticks(0.12)]
    [0.9, 0.95, 1.0, 1.05, 1.1]
    >>> ratio_ticks(3.0)
    [0.0625, 0.25, 1.0, 4.0, 16.0]
    """
    if reach > math.log(2.0):
        step = 2.0 ** math.ceil(reach / math.log(2.0) / (_TICKS - 2))
        ticks = [step**power for power in (-2, -1, 0, 1, 2)]
    else:
        size = 10.0 ** math.floor(math.log10(reach / 2.0))
        step = max(size * times for times in (1, 2, 5) if size * times <= reach / 2.0)
        ticks = [1.0 + step * number for number in (-2, -1, 0, 1, 2)]
    return [tick for tick in ticks if abs(math.log(tick)) <= reach]


def _tick(ratio: float) -> str:
    if 0.5 < ratio < 2.0:  # noqa: PLR2004 - as in sentences
        return f"{format_given(round((ratio - 1.0) * 100.0, 6), '1')}%"
    return format_ratio(ratio, None, None)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _stroke(
    x: float, y: float, to_x: float, to_y: float, colour: str, *, dash: str = "", width: float = 1.0
) -> Markup:
    return Markup(
        '<line x1="{x:.1f}" y1="{y:.1f}" x2="{a:.1f}" y2="{b:.1f}" stroke="{c}" '
        'stroke-width="{w}" stroke-dasharray="{d}"/>'
    ).format(x=x, y=y, a=to_x, b=to_y, c=colour, d=dash, w=width)


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", colour: str = "", tip: str = ""
) -> Markup:
    return Markup(
        '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{c}">{text}'
        "<title>{tip}</title></text>"
    ).format(x=x, y=y, anchor=anchor, c=colour or "var(--soft)", text=text, tip=tip or text)


def _svg(parts: Sequence[Markup], height: float, label: str) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" role="img" aria-label="{label}" '
        'style="max-width:100%;min-width:36rem;height:auto" font-size="12" '
        'fill="var(--soft)">{parts}</svg>'
    ).format(w=_WIDTH, h=height, label=label, parts=Markup("").join(parts))
