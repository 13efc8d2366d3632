"""Whether anything went wrong, and what zero of n tries cannot exclude.

If none of n independent tries goes wrong, a share of ``1 - 0.05 ** (1 / n)`` of all tries may still
do so at 95% (Clopper and Pearson 1934; about ``3 / n``). After a check of all there is, nothing is
left.
"""

from collections.abc import Mapping
from typing import TypeAlias

from headroom.analysis.answer.asks.cells import Cell, cells_of, held, metric_asked, telling
from headroom.analysis.answer_evidence import Bounded, Outage, Safe, Setting
from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.analysis.statistics.intervals import CONFIDENCE
from headroom.experiment.study.asks import SafeAsk

_Points: TypeAlias = Mapping[str, PointResult]
"""Points by their keys."""


def safe_of(experiment: ExperimentResult, ask: SafeAsk) -> tuple[Safe, list[str]] | None:
    """Return what went wrong, with its rows; None if no point counts it."""
    metrics = dict.fromkeys([metric_asked(experiment, ask.metric), *ask.also])
    by_metric = {metric: cells_of(experiment, metric) for metric in metrics}
    told = [cell for cells in by_metric.values() for cell in cells]
    if not told:
        return None
    is_all, keys = bool(ask.of), list(dict.fromkeys(key for cell in told for key in cell.keys))
    points: _Points = {point.key: point for point in experiment.points}
    tries = 0 if is_all else sum(points[key].done for key in keys)
    counts = [
        Bounded(value=sum(_count(points, cell, is_all=is_all) for cell in cells), metric=metric)
        for metric, cells in by_metric.items()
    ]
    checked = sum(cell.value.value for cell in cells_of(experiment, ask.of)) if is_all else 0.0
    is_clean = tries > 0 and not any(count.value for count in counts)
    statement = Safe(
        counts=counts,
        tries=tries,
        checked=Bounded(value=checked, metric=ask.of) if is_all else None,
        excluded=1.0 - (1.0 - CONFIDENCE) ** (1.0 / tries) if is_clean else None,
        bad=_bad(experiment, points, told, is_all=is_all),
        points=len(keys),
        expects=ask.expects,
        subject=ask.subject,
        outages=_outages(experiment, points, ask),
        where=held(experiment, ask),
    )
    return statement, keys


def _bad(
    experiment: ExperimentResult, points: _Points, told: list[Cell], *, is_all: bool
) -> list[Setting]:
    found: list[Setting] = []
    for cell in told:
        setting = telling(experiment, cell.levels)
        if _count(points, cell, is_all=is_all) and setting not in found:
            found.append(setting)
    return found


def _count(points: _Points, cell: Cell, *, is_all: bool) -> float:
    """Return what all runs of a cell count; of a check of all there is, each run counts the same.

    It comes from the mean: a median of zero hides the one run that lost something.
    """
    found = _estimates(points, cell)
    if is_all or not found:
        return cell.value.value
    return sum(one.mean * one.count for one in found)


def _estimates(points: _Points, cell: Cell) -> list[Estimate]:
    metric = cell.value.metric
    found = (points[key].estimates.get(metric) for key in cell.keys)
    return [one for one in found if one is not None]


def _outages(experiment: ExperimentResult, points: _Points, ask: SafeAsk) -> list[Outage]:
    """Return the longest time for which users see a fault in a run, for each level of a factor."""
    longest: dict[object, Outage] = {}
    for cell in cells_of(experiment, ask.seconds) if ask.seconds else []:
        level = cell.levels.get(ask.by)
        most = max((one.maximum for one in _estimates(points, cell)), default=cell.value.value)
        if level not in longest or most > longest[level].seconds.value:
            setting = {} if level is None else {ask.by: level}
            seconds = Bounded(value=most, metric=ask.seconds, unit=cell.value.unit)
            longest[level] = Outage(setting=setting, seconds=seconds)
    return list(longest.values())
