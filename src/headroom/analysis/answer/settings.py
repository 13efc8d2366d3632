"""Which setting is best: for one metric, or for two that pull in different directions.

Invariant: a setting is best, or beaten, only if the intervals do not overlap; those that cannot be
distinguished from the best one are named with it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer.numbers import bounded, gain, goals_of, is_above_one, ratio_of
from headroom.analysis.answer_evidence import (
    Beaten,
    Bounded,
    Comparison,
    Goal,
    Setting,
    Settings,
    TradeOff,
    Undecided,
)
from headroom.analysis.results import Estimate, ExperimentResult, PointResult

_GOALS = 2
_MAX_BEST = 3
"""Settings that are named as best for one goal; more are no answer."""


def best_setting(experiment: ExperimentResult) -> TradeOff | Comparison | Undecided | None:
    """Return which setting is best; None if fewer than two have a metric with a direction."""
    goals = _goals(experiment)
    if not goals:
        return None
    bests = [_goal(experiment, metric, better) for metric, better in goals]
    sure = [goal for goal in bests if goal is not None and len(goal.settings) <= _MAX_BEST]
    if not sure:
        return _undecided(experiment, *goals[0])
    if len(sure) == 1:
        return best_for(experiment, sure[0].metric)
    metrics = [(goal.metric, goal.better) for goal in sure]
    points = [point for point in experiment.points if _has_all(point, metrics)]
    return TradeOff(goals=sure, beaten=_beaten(experiment, points, metrics), settings=len(points))


def best_for(experiment: ExperimentResult, metric: str) -> Comparison | TradeOff | Undecided | None:
    """Return which setting is best for one metric; None if all are alike."""
    better = dict(goals_of(experiment)).get(metric, "none")
    if better == "none":
        return None
    goal = _goal(experiment, metric, better)
    if goal is None:
        return None
    if len(goal.settings) > _MAX_BEST:
        return _undecided(experiment, metric, better)
    if len(goal.settings) == 1:
        return _ahead_of_next(experiment, goal)
    count = sum(metric in point.estimates for point in experiment.points)
    return TradeOff(goals=[goal], beaten=[], settings=count)


def only_steady(experiment: ExperimentResult, metric: str) -> TradeOff | None:
    """Return the one setting that has a value, where every other one is saturated."""
    if dict(goals_of(experiment)).get(metric) != "low":
        return None
    points = [one for one in experiment.points if metric in one.estimates]
    full = [
        setting_of(experiment, one)
        for one in experiment.points
        if one.saturation is not None and metric not in one.estimates
    ]
    if len(points) != 1 or not full or len(full) + 1 < len(experiment.points):
        return None
    goal = Goal(
        metric=metric,
        better="low",
        settings=[setting_of(experiment, points[0])],
        value=bounded(points[0].estimates[metric]),
        saturated=full,
    )
    return TradeOff(goals=[goal], beaten=[], settings=len(experiment.points))


def values_of_best(experiment: ExperimentResult, found: TradeOff) -> Settings:
    """Return the values of the best settings of a trade-off for each goal."""
    rows = []
    for goal in found.goals:
        point = next(
            one for one in experiment.points if setting_of(experiment, one) == goal.settings[0]
        )
        rows.append([bounded(point.estimates[other.metric]) for other in found.goals])
    return Settings(goals=found.goals, values=rows)


def _goals(experiment: ExperimentResult) -> list[tuple[str, Literal["high", "low"]]]:
    """Return the first response with a direction, and the next that has another best setting."""
    found: list[tuple[str, Literal["high", "low"]]] = []
    firsts: list[Setting] = []
    for metric, better in goals_of(experiment):
        if better == "none" or len(found) == _GOALS:
            continue
        goal = _goal(experiment, metric, better)
        if goal is None or (firsts and goal.settings[0] == firsts[0]):
            continue
        found.append((metric, better))
        firsts.append(goal.settings[0])
    return found


def _goal(experiment: ExperimentResult, metric: str, better: Literal["high", "low"]) -> Goal | None:
    """Return the settings that cannot be distinguished from the best; None if all are alike."""
    points = [point for point in experiment.points if metric in point.estimates]
    if len(points) < 2:  # noqa: PLR2004 - one setting is not the best of any
        return None
    best = min(points, key=lambda point: _cost(point.estimates[metric], better)[1])
    limit = _cost(best.estimates[metric], better)[2]
    ties = [one for one in points if _cost(one.estimates[metric], better)[0] <= limit]
    if len({point.estimates[metric].value for point in points}) == 1:
        return None
    rest = [point for point in ties if point is not best]
    return Goal(
        metric=metric,
        better=better,
        settings=[setting_of(experiment, point) for point in (best, *rest)],
        value=bounded(best.estimates[metric]),
    )


def _cost(estimate: Estimate, better: Literal["high", "low"]) -> tuple[float, float, float]:
    """Return lower end, value and upper end of an estimate, turned so that low is better."""
    infinite = float("inf")
    low = -infinite if estimate.low is None else estimate.low
    high = infinite if estimate.high is None else estimate.high
    ends = (low, estimate.value, high)
    return ends if better == "low" else (-high, -estimate.value, -low)


def _has_all(point: PointResult, metrics: Sequence[tuple[str, str]]) -> bool:
    return all(metric in point.estimates for metric, _ in metrics)


def _beaten(
    experiment: ExperimentResult,
    points: Sequence[PointResult],
    metrics: Sequence[tuple[str, Literal["high", "low"]]],
) -> list[Beaten]:
    """Return the settings that another one surely beats for both goals, and by which."""
    if len(metrics) < _GOALS:
        return []
    costs = [[_cost(point.estimates[name], better) for name, better in metrics] for point in points]
    order = sorted(range(len(points)), key=lambda place: costs[place][0][2])
    ends = [costs[place][0][2] for place in order]
    leaders: list[int] = []
    for place in order:  # The best for the second goal among all that end sooner for the first.
        is_new = not leaders or costs[place][1][2] < costs[leaders[-1]][1][2]
        leaders.append(place if is_new else leaders[-1])
    found = []
    for place, point in enumerate(points):
        count = bisect_left(ends, costs[place][0][0])
        leader = leaders[count - 1] if count else place
        if count and costs[leader][1][2] < costs[place][1][0]:
            setting, by = (setting_of(experiment, one) for one in (point, points[leader]))
            found.append(Beaten(setting=setting, by=by))
    return found


def _ahead_of_next(experiment: ExperimentResult, goal: Goal) -> Comparison | Undecided:
    points = [point for point in experiment.points if goal.metric in point.estimates]
    ranked = sorted(points, key=lambda p: _cost(p.estimates[goal.metric], goal.better)[1])
    first, second = ranked[:2]
    ratio = _times(first, second, goal)
    if not is_above_one(ratio):
        return _undecided(experiment, goal.metric, goal.better)
    return Comparison(
        first=setting_of(experiment, first),
        second=setting_of(experiment, second),
        metric=goal.metric,
        better=goal.better,
        ratio=ratio,
        is_next=len(ranked) > 2,  # noqa: PLR2004 - of two settings, the other is the other
    )


def _times(first: PointResult, second: PointResult, goal: Goal) -> Bounded:
    ratio = ratio_of(first.estimates[goal.metric], second.estimates[goal.metric])
    return gain(ratio, goal.better)


def _undecided(
    experiment: ExperimentResult, metric: str, better: Literal["high", "low"]
) -> Undecided:
    points = [point for point in experiment.points if metric in point.estimates]
    has_intervals = all(point.estimates[metric].low is not None for point in points)
    return Undecided(
        code="ranking" if has_intervals else "few_runs",
        metric=metric,
        better=better,
        count=len(points),
    )
