"""Axes and short numbers of the figures: one unit for an axis, three digits for a label."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import Estimate, ExperimentResult, Factor, PointResult
from headroom.experiment.protocol.system import Value
from headroom.quantities import (
    Scale,
    binary_scale,
    choose_scale,
    format_plain,
    is_share,
)
from headroom.report.dimensions import is_log_like
from headroom.report.figures.axes import Axis, linear_axis, log_axis
from headroom.report.figures.inputs import Dot, Setting
from headroom.report.words import axis_title, label_factor, label_metric

_DIGITS = 3
_NEAR = 0.25
"""Smallest over largest value from which an axis of points need not begin at zero."""


def scale_of(estimates: Sequence[Estimate]) -> Scale:
    """Return the one scale of an axis that shows `estimates`."""
    if not estimates:
        return Scale(1.0, "")
    first = estimates[0]
    values = [estimate.value for estimate in estimates]
    return choose_scale(values, first.unit, metric=first.metric)


def title_of(metrics: Sequence[str], scale: Scale) -> str:
    """Return the title of a value axis: the quantity that all metrics share, with its unit.

    Examples
    --------
    >>> title_of(["throughput"], Scale(1.0, "/s")), title_of(["cpu.utilization"], Scale(100, "%"))
    ('throughput (per s)', 'cpu.utilization')
    >>> title_of(["response_s_mean", "response_s_p95"], Scale(1000.0, "ms"))
    'response time (ms)'
    >>> title_of(["station.cpu.utilization", "station.disk.utilization"], Scale(100, "%"))
    'busy'
    """
    if len(metrics) > 1:
        if is_share(metrics[0]):
            return "busy"
        shared = shared_words(metrics)
        words = [word for word in label_metric(metrics[0]).split(" ") if word in shared]
        unit = f"({scale.label})" if scale.label else ""
        return " ".join(filter(None, [*words, unit]))
    return label_metric(metrics[0]) if scale.label == "%" else axis_title(metrics[0], scale)


def shared_words(metrics: Sequence[str]) -> set[str]:
    """Return the words that the labels of all metrics have."""
    labels = [set(label_metric(metric).split(" ")) for metric in metrics]
    return set.intersection(*labels) if labels else set()


def value_axis(values: Iterable[float], title: str, scale: Scale, *, is_log: bool = False) -> Axis:
    """Return an axis from zero, or in powers, for values in the unit of the axis."""
    suffix = "%" if scale.label == "%" else ""
    return (log_axis if is_log else linear_axis)(list(values), title, suffix=suffix)


def point_axis(values: Sequence[float], title: str, scale: Scale) -> Axis:
    """Return an axis of single points: in powers if they span much, not from zero if they do not.

    Examples
    --------
    >>> point_axis([3.4, 5.1], "ratio", Scale(1.0, "")).low > 3.0
    True
    """
    if is_log_like(values):
        return value_axis(values, f"{title}, log scale", scale, is_log=True)
    suffix = "%" if scale.label == "%" else ""
    is_far = min(values) > _NEAR * max(values) > 0.0
    return linear_axis(list(values), title, suffix=suffix, from_zero=not is_far)


def digits(value: float, scale: Scale) -> str:
    """Return a value (base unit) in `scale` with three digits and no unit.

    Examples
    --------
    >>> digits(0.00912, Scale(1000.0, "ms")), digits(1234.5, Scale(1.0, "/s"))
    ('9.12', '1,230')
    """
    scaled = float(f"{value * scale.factor:.{_DIGITS}g}")
    text = f"{scaled:,.10f}".rstrip("0").rstrip(".")
    return format_plain(scaled, decimals=len(text.partition(".")[2]))


def short(estimate: Estimate) -> str:
    """Return an estimate with three digits and its unit."""
    scale = choose_scale([estimate.value], estimate.unit, metric=estimate.metric)
    return f"{digits(estimate.value, scale)}{scale.suffix}"


def times(ratio: float) -> str:
    """Return a ratio as text.

    Examples
    --------
    >>> times(1.2836).replace("\u00d7", "x")
    '1.28x'
    """
    return f"{digits(ratio, Scale(1.0, ''))}\N{MULTIPLICATION SIGN}"


def factor_of(experiment: ExperimentResult, name: str) -> Factor:
    """Return a factor by its name; raise StopIteration if there is none."""
    return next(factor for factor in experiment.factors if factor.name == name)


def factor_scale(experiment: ExperimentResult, name: str) -> Scale:
    """Return the scale of the axis of a factor: with a prefix if its unit takes one."""
    factor = factor_of(experiment, name)
    levels = [float(level) for level in factor.levels if isinstance(level, int | float)]
    if factor.unit == "B":
        return binary_scale(levels)
    return choose_scale(levels, factor.unit or "1")


def factor_title(experiment: ExperimentResult, name: str, scale: Scale | None = None) -> str:
    """Return the title of the axis of a factor, with the unit of its scale."""
    factor = factor_of(experiment, name)
    return label_factor(msgspec.structs.replace(factor, unit=scale.label) if scale else factor)


def scaled(value: float | None, scale: Scale) -> float | None:
    """Return a value in the unit of an axis."""
    return None if value is None else value * scale.factor


def setting_at(x: Estimate, y: Estimate, scales: tuple[Scale, Scale], hint: str = "") -> Setting:
    """Return a setting by two goals with their intervals, in the units of the axes."""
    across, up = scales
    return Setting(
        x=Dot(
            x=x.value * across.factor,
            y=y.value * up.factor,
            low=scaled(x.low, across),
            high=scaled(x.high, across),
            hint=hint,
        ),
        y_low=scaled(y.low, up),
        y_high=scaled(y.high, up),
        name="",
        role="data",
    )


def is_at(point: PointResult, where: Mapping[str, Value]) -> bool:
    """Return whether a point has the levels `where`."""
    return all(point.levels.get(name) == level for name, level in where.items())


def where_of(choice: FigureChoice, experiment: ExperimentResult) -> dict[str, Value]:
    """Return the held levels of a figure, without factors that move with one on its axes."""
    moving = {choice.factor, choice.series}
    for factor in experiment.factors:
        if factor.name in {choice.factor, choice.series}:
            moving.update(factor.zipped_with)
    return {name: level for name, level in choice.where.items() if name not in moving}
