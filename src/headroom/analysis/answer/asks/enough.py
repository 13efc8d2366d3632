"""The least of a resource that reaches a share of the best value."""

from headroom.analysis.answer.asks.cells import (
    Cell,
    axis_asked,
    cells_of,
    curves_over,
    level_at,
    metric_asked,
)
from headroom.analysis.answer.numbers import ratio_of
from headroom.analysis.answer_evidence import Bounded, Enough, Share
from headroom.analysis.results import ExperimentResult, Factor
from headroom.experiment.study.asks import EnoughAsk

_FEWEST = 2


def enough_of(experiment: ExperimentResult, ask: EnoughAsk) -> tuple[Enough, list[str]] | None:
    """Return the least level that reaches the share, of the curve that needs most, and its rows.

    None without two levels of a numeric factor, or for a metric without a direction.
    """
    axis = axis_asked(experiment, ask.factor)
    cells = cells_of(experiment, metric_asked(experiment, ask.metric))
    if axis is None or not cells or cells[0].better == "none":
        return None
    curves = [one for one in curves_over(cells, axis.name) if len(one) >= _FEWEST]
    found = [_least(curve, axis, ask.share) for curve in curves]
    if not found:
        return None
    return max(found, key=lambda pair: float(pair[0].least.level.value))


def _least(curve: list[Cell], axis: Factor, goal: float) -> tuple[Enough, list[str]]:
    better = curve[0].better
    best = (max if better == "high" else min)(curve, key=lambda cell: cell.value.value)
    shares = [_share(cell, best) for cell in curve]
    place = next(n for n, share in enumerate(shares) if share.value >= goal)
    told = [
        Share(level=level_at(axis, cell), share=share, value=cell.value)
        for cell, share in zip(curve, shares, strict=True)
    ]
    last = len(curve) - 1
    is_open = best is curve[last] and _is_surely_less(shares[last - 1], goal)
    statement = Enough(
        metric=best.value.metric,
        goal=goal,
        least=told[place],
        best=level_at(axis, best),
        less=told[place - 1] if place else None,
        is_open=is_open,
        where=curve[0].without(axis.name),
    )
    return statement, [key for cell in curve for key in cell.keys]


def _is_surely_less(share: Bounded, goal: float) -> bool:
    return (share.value if share.high is None else share.high) < goal


def _share(cell: Cell, best: Cell) -> Bounded:
    """Return the share of the best value: of what is better low, the best over this one."""
    if cell is best:
        return Bounded(value=1.0)
    pair = (cell, best) if cell.better == "high" else (best, cell)
    return ratio_of(*(one.value for one in pair))
