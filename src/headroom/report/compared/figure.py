"""Figures of comparisons and histories: ratios with intervals, and values in their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from headroom.gate.result import Row
from headroom.quantities import choose_scale, format_limit
from headroom.report.compared.sentences import is_in_percent, label_place, verdict_word
from headroom.report.figures import inputs
from headroom.report.figures.axes import linear_axis, log_axis
from headroom.report.figures.draw import WHOLE_PX, draw_both
from headroom.report.figures.roles import Role
from headroom.report.words import axis_title, label_metric

ROWS_AT_MOST = 40
LINES: tuple[Role, ...] = ("data", "limit", "third", "context")
"""Colours of the arms whose runs are drawn: more lines would hide each other."""
_VERDICTS: dict[str, Role] = {"better": "better", "worse": "differs"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its words."""

    title: str
    svg: Markup
    caption: str


def draw_ratios(rows: Sequence[Row], labels: dict[str, str], *, same_within: float) -> Markup:
    """Return the ratios of rows with their intervals: changes in per cent, or multiples."""
    shown = [row for row in rows if row.ratio and row.low and row.high][:ROWS_AT_MOST]
    ratios = [end for row in shown for end in (row.low, row.ratio, row.high) if end]
    ratios += [1.0 / (1.0 + same_within), 1.0 + same_within]
    is_percent = is_in_percent(ratios)

    def scaled(ratio: float) -> float:
        return (ratio - 1.0) * 100.0 if is_percent else ratio

    values = [scaled(ratio) for ratio in ratios]
    axis = (
        linear_axis(values, "change against the base", suffix="%", from_zero=False)
        if is_percent
        else log_axis(values, "ratio to the base", suffix="×")  # noqa: RUF001 - the sign
    )
    drawn = tuple(
        inputs.Row(
            label=_row_label(row, labels),
            value=scaled(row.ratio or 1.0),
            low=scaled(row.low or 1.0),
            high=scaled(row.high or 1.0),
            text=verdict_word(row),
            role=_VERDICTS.get(row.verdict, "data"),
        )
        for row in shown
    )
    band = (scaled(ratios[-2]), scaled(ratios[-1]))
    figure = inputs.Rows(
        x=axis,
        rows=drawn,
        band=band,
        band_text=f"the same within {format_limit(same_within)}",
        centre=scaled(1.0),
    )
    return draw_both(figure, WHOLE_PX, "Ratios with their 95% intervals").svg


def _row_label(row: Row, labels: dict[str, str]) -> str:
    arm = labels.get(row.arm, row.arm) if len(labels) > 2 else ""  # noqa: PLR2004 - else all rows are of one
    return ", ".join(filter(None, [arm, label_place(row), label_metric(row.metric)]))


def draw_lines(
    series: Mapping[str, Sequence[float]],
    unit: str,
    metric: str,
    *,
    title: str,
    marks: Mapping[int, str] | None = None,
) -> Markup:
    """Return values in their order, one line for each arm.

    Parameters
    ----------
    series
        Label to values; the first four are drawn.
    unit, metric
        Of the values.
    title
        Of the axis of their order.
    marks
        Places in front of which something changes, and what: step, pulse, spread.
    """
    shown = list(series.items())[: len(LINES)]
    scale = choose_scale([value for _, values in shown for value in values], unit, metric=metric)
    drawn = tuple(
        inputs.Line(
            label=label,
            role=role,
            dots=tuple(inputs.Dot(x=x, y=y * scale.factor) for x, y in enumerate(values, start=1)),
        )
        for (label, values), role in zip(shown, LINES, strict=False)
    )
    breaks = tuple(
        inputs.Break(at=mark + 0.5, low=mark + 0.5, high=mark + 0.5, lines=(f"{what} {mark + 1}",))
        for mark, what in sorted((marks or {}).items())
    )
    order = linear_axis([0.5, max(len(line.dots) for line in drawn) + 0.5], title, from_zero=False)
    ticks = tuple(tick for tick in order.ticks if tick >= 1.0 and tick.is_integer())
    heights = [dot.y for line in drawn for dot in line.dots]
    curve = inputs.Curve(
        x=replace(order, ticks=ticks),
        y=linear_axis(heights, axis_title(metric, scale), from_zero=False),
        lines=drawn,
        breaks=breaks,
    )
    return draw_both(curve, WHOLE_PX, f"{label_metric(metric)} in order").svg
