"""Curves of one experiment beside each other: which is ahead.

Invariant: a curve is called ahead only by points at which the whole interval of the ratio says so.
"""

from collections.abc import Sequence

import msgspec

from headroom.analysis.answer.design import Curve, axis_of, curves_of
from headroom.analysis.answer.numbers import gain, goals_of, is_above_one, ratio_of
from headroom.analysis.answer.settings import best_for, best_setting, only_steady
from headroom.analysis.answer_evidence import Comparison, TradeOff, Undecided
from headroom.analysis.results import ExperimentResult, PointResult
from headroom.analysis.verdicts.directions import is_load

_COMPARED = 2
"""Curves from which on one may be ahead."""


def best_of(
    experiment: ExperimentResult, metric: str = ""
) -> Comparison | TradeOff | Undecided | None:
    """Return which setting is best, for one metric or for all; None if there is no choice.

    A load is not chosen: settings are compared at equal loads.
    """
    if metric:
        by_value = _over_load(experiment, metric) or best_for(experiment, metric)
        return by_value or only_steady(experiment, metric)
    directed = [name for name, better in goals_of(experiment) if better != "none"]
    found = [_over_load(experiment, name) for name in directed]
    winners = [one.first for one in found if isinstance(one, Comparison)]
    is_one = bool(found) and all(one == winners[0] for one in winners)
    return (found[0] if is_one else None) or best_setting(experiment)


def _over_load(experiment: ExperimentResult, metric: str) -> Comparison | Undecided | None:
    """Return which curve over a load is ahead of all others; None if the axis is no load."""
    axis = axis_of(experiment)
    curves = curves_of(experiment, axis) if axis else []
    if axis is None or len(curves) < _COMPARED or not all(_is_over_load(one) for one in curves):
        return None
    best = _candidate(curves, metric)
    others = [_ahead_of(best, one, metric=metric) for one in curves if best and one is not best]
    wins = [found for found in others if found and best and found.first == best.where]
    if len(wins) < len(curves) - 1:
        better = dict(goals_of(experiment)).get(metric, "none")
        return Undecided(code="ranking", metric=metric, better=better, count=len(curves))
    least = min(wins, key=lambda found: found.ratio.low or 0.0)
    return msgspec.structs.replace(least, is_next=len(curves) > _COMPARED)


def _candidate(curves: Sequence[Curve], metric: str) -> Curve | None:
    """Return the only curve that may be ahead of all others, in one pass over them."""
    best: Curve | None = None
    for curve in curves:
        found = _ahead_of(best, curve, metric=metric) if best else None
        if best is None or (found is not None and found.first == curve.where):
            best = curve
        elif found is None:  # Neither is ahead of the other, so neither is of all.
            best = None
    return best


def _is_over_load(curve: Curve) -> bool:
    return is_load(curve.axis.name, curve.points, declared=curve.axis.direction)


def _ahead_of(first: Curve, second: Curve, *, metric: str) -> Comparison | None:
    """Return which of two curves is ahead, by its least ratio; None if none is at most points."""
    pairs = _pairs(first, second, metric)
    better = pairs[0][0].estimates[metric].better if pairs else "none"
    if better == "none":
        return None
    ratios = [gain(ratio_of(a.estimates[metric], b.estimates[metric]), better) for a, b in pairs]
    turned = [gain(ratio, "low") for ratio in ratios]
    wins, losses = ([ratio for ratio in side if is_above_one(ratio)] for side in (ratios, turned))
    if len(losses) > len(wins):
        first, second, wins, losses = second, first, losses, wins
    if 2 * len(wins) <= len(pairs):
        return None
    return Comparison(
        first=first.where,
        second=second.where,
        metric=metric,
        better=better,
        ratio=min(wins, key=lambda ratio: ratio.low or 0.0),
        is_least=len(wins) > 1,
        better_count=len(wins),
        worse_count=len(losses),
        undecided_count=len(pairs) - len(wins) - len(losses),
    )


def _pairs(first: Curve, second: Curve, metric: str) -> list[tuple[PointResult, PointResult]]:
    """Return the points of two curves at the same level, with values of a metric above zero."""
    other = {second.number(point): point for point in second.points}
    pairs = [(point, other.get(first.number(point))) for point in first.points]
    return [
        (a, b)
        for a, b in pairs
        if b is not None
        and all(metric in one.estimates and one.estimates[metric].value > 0.0 for one in (a, b))
    ]
