"""How a metric grows with a factor: as a power, fitted to the logarithms of level and value."""

import math

import numpy as np

from headroom.analysis.answer.asks.cells import (
    Cell,
    axis_asked,
    cells_of,
    curves_over,
    level_at,
    metric_asked,
)
from headroom.analysis.answer.numbers import ratio_of
from headroom.analysis.answer_evidence import Bounded, Level, Scale
from headroom.analysis.results import ExperimentResult, Factor
from headroom.analysis.statistics.intervals import t_quantile
from headroom.experiment.study.asks import ScaleAsk

PROPORTIONAL = 0.1
"""Distance from proportion that still counts as one."""
_FEWEST = 2


def scale_of(experiment: ExperimentResult, ask: ScaleAsk) -> tuple[Scale, list[str]] | None:
    """Return the power of the first curve with two levels and values above zero, and its rows."""
    axis = axis_asked(experiment, ask.factor)
    cells = cells_of(experiment, metric_asked(experiment, ask.metric))
    if axis is None:
        return None
    for curve in curves_over(cells, axis.name):
        told = [cell for cell in curve if cell.value.value > 0.0 < float(cell.levels[axis.name])]
        if len(told) >= _FEWEST:
            return _power(told, axis), [key for cell in told for key in cell.keys]
    return None


def _power(curve: list[Cell], axis: Factor) -> Scale:
    levels = np.log([float(cell.levels[axis.name]) for cell in curve])
    values = np.log([cell.value.value for cell in curve])
    power, offset = np.polyfit(levels, values, 1)
    residuals = values - (power * levels + offset)
    first, last = curve[0], curve[-1]
    return Scale(
        metric=first.value.metric,
        power=_power_interval(curve, levels, float(power), residuals),
        start=level_at(axis, first),
        end=level_at(axis, last),
        ratio=ratio_of(last.value, first.value),
        worst=float(np.max(np.abs(np.expm1(residuals)))),
        proportional_to=_proportional_to(curve, axis),
        where=first.without(axis.name),
    )


def _power_interval(
    curve: list[Cell], levels: np.ndarray, power: float, residuals: np.ndarray
) -> Bounded:
    """Return the power with its 95% interval: of the distances, or of two values' intervals."""
    degrees = len(curve) - 2
    if degrees:
        spread = math.sqrt(float(residuals @ residuals) / degrees)
        reach = (
            t_quantile(degrees=degrees)
            * spread
            / math.sqrt(float(np.sum((levels - levels.mean()) ** 2)))
        )
        return Bounded(value=power, low=power - reach, high=power + reach)
    ratio, width = ratio_of(curve[-1].value, curve[0].value), float(levels[-1] - levels[0])
    if ratio.low is None or ratio.high is None or ratio.low <= 0.0:
        return Bounded(value=power)
    return Bounded(value=power, low=math.log(ratio.low) / width, high=math.log(ratio.high) / width)


def _proportional_to(curve: list[Cell], axis: Factor) -> Level | None:
    """Return the last level up to which each value, with its interval, is in proportion."""
    first = curve[0]
    reached: Level | None = None
    for cell in curve[1:]:
        ratio = ratio_of(cell.value, first.value)
        growth = float(cell.levels[axis.name]) / float(first.levels[axis.name])
        ends = (ratio.value, ratio.low, ratio.high)
        if any(one is not None and abs(one / growth - 1.0) > PROPORTIONAL for one in ends):
            break
        reached = level_at(axis, cell)
    return reached
