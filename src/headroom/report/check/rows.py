"""Each answer computed again from the rows, by code that shares nothing with its making.

It knows the statements and the estimates of points, and plain arithmetic. What a statement says of
intervals is not decided again here: only that its numbers, levels and parts are those of the rows,
and that what it calls kept, broken, best, larger or enough is so by the values.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headroom.analysis import answer_evidence as said
from headroom.analysis.results import ExperimentResult, LimitCrossing, PointResult, StudyResult
from headroom.experiment.protocol.system import Value

_NEAR = 1e-6
_APART = 0.1
"""Distance of a ratio of paired runs, or of two medians, from the ratio of the values."""
_AS_BUSY = 0.97
Row = tuple[Mapping[str, Value], float, str]
"""Levels, value and better direction."""


def faults_of(result: StudyResult) -> list[str]:
    """Return what contradicts the rows in the answers of a study and in what follows from them."""
    if result.answer is None:
        return ["there is no answer"]
    names = [(record.statement, record.experiment) for record in result.answers]
    told = [statement for statement, _ in names]
    names += [(one, result.answer.experiment) for one in result.answer.follows if one not in told]
    names += [(one.finding, one.experiment) for one in result.answer.questions if one.finding]
    found: list[str] = []
    for statement, name in names:
        check = _CHECKS.get(type(statement))
        experiment = result.experiment_named(name)
        if isinstance(statement, said.Reproduction):
            found += _claims(statement, result)
        elif check is not None and experiment is not None:
            found += [f"{name}: {fault}" for fault in check(statement, experiment)]
    records = [record for record in result.answers if record.is_decided]
    return list(dict.fromkeys([*found, *(f for one in records for f in _keys(one, result))]))


def _keys(record: said.Record, result: StudyResult) -> Iterator[str]:
    """Yield that a record stands on points that its experiment does not have."""
    experiment = result.experiment_named(record.experiment)
    known = {point.key for point in experiment.points} if experiment else set()
    if unknown := [key for key in record.rows if key not in known]:
        yield f"the answer stands on points that are not there: {', '.join(unknown)}"


def _rows(experiment: ExperimentResult, metric: str, where: Mapping[str, Value]) -> list[Row]:
    """Return the values of a metric or derived quantity at levels."""
    of_points: list[Row] = [
        (point.levels, point.estimates[metric].value, point.estimates[metric].better)
        for point in experiment.points
        if metric in point.estimates
    ]
    derived: list[Row] = [
        (one.levels, one.value, quantity.better)
        for quantity in experiment.derived
        if quantity.name == metric
        for one in quantity.values
        if one.value is not None
    ]
    return [row for row in (derived or of_points) if _is_at(row[0], where)]


def _is_at(levels: Mapping[str, Value], where: Mapping[str, Value]) -> bool:
    return all(name not in levels or levels[name] == level for name, level in where.items())


def _is_like(one: float, other: float, tolerance: float = _NEAR) -> bool:
    return abs(one - other) <= tolerance * max(abs(one), abs(other), 1e-300)


def _is_within(ratio: float, said: said.Bounded) -> bool:
    """Return whether a ratio of values may be one that comes from pairs of runs."""
    low, high = (said.value if end is None else end for end in (said.low, said.high))
    return low <= ratio <= high or _is_like(ratio, said.value, _APART)


def _target(found: said.Target, experiment: ExperimentResult) -> Iterator[str]:
    factor = found.level.factor
    limits = [
        one for one in experiment.limits if one.factor == factor and _is_at(one.where, found.where)
    ]
    points = {
        float(point.levels[factor]): point
        for point in experiment.points
        if factor in point.levels and _is_at(point.levels, found.where)
    }
    for level in found.kept_at:
        for limit in limits:
            if level in points and _excess(points[level], limit, experiment) > 0.0:
                yield f"{limit.metric} is called kept at {factor} {level:g}, and its value is not"
    for level in found.beyond:
        if level in points and all(
            _excess(points[level], one, experiment) <= 0.0 for one in limits
        ):
            yield f"{factor} {level:g} is said to break a limit, and its values keep all"
    at, kept = found.level.value, [level for level in found.kept_at if level in points]
    if found.state != "breaks" or found.kept != "below" or not kept or not found.beyond:
        return
    if not max(one for one in kept if one < found.beyond[0]) <= float(at) <= found.beyond[0]:
        yield f"the limit is said to break at {factor} {at}, outside of the levels around it"


def _excess(point: PointResult, limit: LimitCrossing, experiment: ExperimentResult) -> float:
    """Return by how much a value breaks a limit; infinite where it grows without bound."""
    known = next((row[1] for row in _rows(experiment, limit.metric, point.levels)), None)
    if known is None:
        is_endless = point.saturation is not None or any(
            one.missing is not None and one.missing.code == "saturated"
            for quantity in experiment.derived
            if quantity.name == limit.metric
            for one in quantity.values
            if _is_at(one.levels, point.levels)
        )
        return math.inf if is_endless else 0.0
    if limit.at_most is not None:
        return known - limit.at_most
    return (limit.at_least or 0.0) - known


def _saturated(found: said.Saturated, experiment: ExperimentResult) -> Iterator[str]:
    if found.level is None:
        return
    name = found.level.factor
    for point in experiment.points:
        is_here = point.levels.get(name) == found.level.value and _is_at(point.levels, found.where)
        if is_here and point.saturation is None:
            yield f"{name} {found.level.value} is called saturated, and its point is not"


def _limit(found: said.Limit, experiment: ExperimentResult) -> Iterator[str]:
    """Yield that another station is clearly busier than the part that is said to limit."""
    if found.part.kind != "station" or found.part.utilization is None:
        return
    own = f"station.{found.part.name}.utilization"
    points = [point for point in experiment.points if _is_at(point.levels, found.where)]
    judged = [p for p in points if p.bottleneck and p.bottleneck.name == found.part.name]
    for point in judged[-1:]:
        busy = {
            name: one.value
            for name, one in point.estimates.items()
            if name.startswith("station.") and name.endswith(".utilization")
        }
        if own in busy and busy[own] < _AS_BUSY * max(busy.values()):
            most = max(busy, key=lambda name: busy[name])
            yield f"{found.part.name} is said to limit, and {most} is higher"


def _comparison(found: said.Comparison, experiment: ExperimentResult) -> Iterator[str]:
    rows = _rows(experiment, found.metric, found.where)
    names = found.first.keys() | found.second.keys()

    def rest(levels: Mapping[str, Value]) -> frozenset[tuple[str, Value]]:
        return frozenset((name, level) for name, level in levels.items() if name not in names)

    others = {rest(levels): value for levels, value, _ in rows if _is_at(levels, found.second)}
    ratios = [
        value / other
        for levels, value, _ in rows
        if _is_at(levels, found.first) and (other := others.get(rest(levels)))
    ]
    turned = [1.0 / ratio if found.better == "low" and ratio else ratio for ratio in ratios]
    low = found.ratio.value if found.ratio.low is None else found.ratio.low
    if turned and found.beyond is None:
        if max(turned) < 1.0:
            yield f"{found.first} is called better than {found.second}, and is not by its values"
        is_there = any(_is_within(one, found.ratio) for one in turned)
        if not found.is_least and not is_there:
            yield f"the ratio {found.ratio.value:g} is that of no two rows"
        if min(turned) < low * (1.0 - _APART) and found.better_count == len(turned):
            yield f"not at least {low:g} times: a row has {min(turned):g}"


def _effects(found: said.Effects, experiment: ExperimentResult) -> Iterator[str]:
    rows = _rows(experiment, found.metric, found.where)
    firsts, seconds = (
        _by_place([row for row in rows if _is_at(row[0], setting)], found)
        for setting in (found.first, found.second)
    )
    for effect in found.effects:
        place = frozenset(effect.where.items())
        own, other = firsts.get(place, []), seconds.get(place, [])
        ratio = effect.ratio.value
        if not found.first:
            if own and not any(_is_like(one, ratio) for one in own):
                yield f"the ratio {ratio:g} at {effect.where} is that of no row"
        elif not (_is_in(effect.first, own) and _is_in(effect.second, other)):
            yield f"the values at {effect.where} are those of no two rows"
        elif not _may_be(ratio, effect.first, effect.second):
            yield f"the ratio {ratio:g} at {effect.where} is not that of its values"
        says = {"better": found.better == "high", "worse": found.better == "low"}
        if effect.verdict in says and says[effect.verdict] != (ratio > 1.0):
            yield f"{effect.where} is called {effect.verdict}, and its ratio is {ratio:g}"


def _by_place(
    rows: Sequence[Row], found: said.Effects
) -> dict[frozenset[tuple[str, Value]], list[float]]:
    """Return values by the levels that tell the effects apart."""
    names = {name for effect in found.effects for name in effect.where}
    places: dict[frozenset[tuple[str, Value]], list[float]] = {}
    for levels, value, _ in rows:
        place = frozenset((name, level) for name, level in levels.items() if name in names)
        places.setdefault(place, []).append(value)
    return places


def _is_in(said: said.Bounded | None, values: Sequence[float]) -> bool:
    return said is not None and any(_is_like(said.value, one) for one in values)


def _may_be(ratio: float, above: said.Bounded | None, below: said.Bounded | None) -> bool:
    """Return whether a ratio lies between those of the ends of two intervals."""
    if above is None or below is None or not below.value:
        return True
    low, high = (above.value if end is None else end for end in (above.low, above.high))
    least, most = (below.value if end is None else end for end in (below.low, below.high))
    ends = low / most if most else 0.0, high / least if least > 0.0 else math.inf
    return ends[0] * (1.0 - _APART) <= ratio <= ends[1] * (1.0 + _APART)


def _enough(found: said.Enough, experiment: ExperimentResult) -> Iterator[str]:
    factor = found.best.factor
    rows = [
        (float(levels[factor]), value, better)
        for levels, value, better in _rows(experiment, found.metric, found.where)
        if factor in levels
    ]
    if not rows:
        return
    is_high = rows[0][2] == "high"
    best = (max if is_high else min)(value for _, value, _ in rows)
    shares = {level: value / best if is_high else best / value for level, value, _ in rows}
    least = min(level for level, share in shares.items() if share >= found.goal - _NEAR)
    if not _is_like(least, float(found.least.level.value)):
        yield f"{factor} {found.least.level.value} is called enough, and the rows say {least:g}"
    if found.less and shares.get(float(found.less.level.value), 0.0) >= found.goal:
        yield f"{factor} {found.less.level.value} is called too few, and reaches the goal"


def _scale(found: said.Scale, experiment: ExperimentResult) -> Iterator[str]:
    factor = found.end.factor
    pairs = [
        (math.log(float(levels[factor])), math.log(value))
        for levels, value, _ in _rows(experiment, found.metric, found.where)
        if factor in levels and float(levels[factor]) > 0.0 < value
    ]
    mean_x = math.fsum(x for x, _ in pairs) / max(len(pairs), 1)
    mean_y = math.fsum(y for _, y in pairs) / max(len(pairs), 1)
    squares = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    power = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs) / squares if squares else 0.0
    if not _is_like(power, found.power.value, _NEAR):
        yield f"the power is not {found.power.value:g}: the rows give {power:g}"


def _safe(found: said.Safe, experiment: ExperimentResult) -> Iterator[str]:
    for count in found.counts:
        largest = max(
            (p.estimates[count.metric].maximum for p in experiment.points
             if count.metric in p.estimates and _is_at(p.levels, found.where)),
            default=0.0,
        )  # fmt: skip
        if bool(count.value) != (largest > 0.0):
            yield f"{count.metric} is not {count.value:g}: a run has {largest:g}"


def _single(found: said.SinglePoint, experiment: ExperimentResult) -> Iterator[str]:
    for value in found.values:
        rows = [v for _, v, _ in _rows(experiment, value.metric, found.where)]
        if not any(_is_like(value.value, one) for one in rows):
            yield f"{value.metric} {value.value:g} at {found.where} is that of no row"


def _losses(found: said.Losses, experiment: ExperimentResult) -> Iterator[str]:
    outcome = found.outcome
    done = [
        value
        for metric in ("goodput", "throughput")
        for _, value, _ in _rows(experiment, metric, found.where)
    ]
    if not any(_is_like(outcome.goodput, one) for one in done):
        yield f"{outcome.goodput:g} per s are said to be done at {found.where}: that of no row"
    if outcome.goodput > outcome.offered * (1.0 + _APART):
        yield f"more is done than offered: {outcome.goodput:g} of {outcome.offered:g} per s"
    losing = sum(bool(point.outcomes) for point in experiment.points)
    if losing != found.points:
        yield f"{found.points} points are said to lose work, not {losing}"


def _trade_off(found: said.TradeOff, experiment: ExperimentResult) -> Iterator[str]:
    for goal in found.goals:
        rows = _rows(experiment, goal.metric, found.where)
        own = [value for levels, value, _ in rows if _is_at(levels, goal.settings[0])]
        best = (max if goal.better == "high" else min)((v for _, v, _ in rows), default=0.0)
        if own and not any(_is_like(one, best) for one in own):
            yield f"{goal.settings[0]} is called best for {goal.metric}, and a row is better"


def _changes(found: said.Changes, _: ExperimentResult) -> Iterator[str]:
    for change in filter(None, [found.best, found.further, *found.also]):
        if change.gain is not None and change.before and change.after:
            ratio = change.after / change.before
            gain = 1.0 / ratio if change.better == "low" else ratio
            if not _is_like(gain, change.gain.value, _APART):
                yield f"not a gain of {change.gain.value:g}: the values give {gain:g}"
        if change.meets and found.bound is not None:
            is_kept = change.after <= found.bound if found.is_upper else change.after >= found.bound
            if not is_kept:
                yield f"a change does not keep {found.bound:g}: it gives {change.after:g}"


def _claims(found: said.Reproduction, result: StudyResult) -> Sequence[str]:
    holds = sum(claim.verdict == "holds" for claim in result.claims)
    return [] if holds == found.holds else [f"{found.holds} findings are said to hold, not {holds}"]


_CHECKS: dict[type[said.Statement], Callable[[Any, ExperimentResult], Iterator[str]]] = {
    said.Target: _target,
    said.Saturated: _saturated,
    said.Limit: _limit,
    said.Comparison: _comparison,
    said.Effects: _effects,
    said.Enough: _enough,
    said.Scale: _scale,
    said.Safe: _safe,
    said.SinglePoint: _single,
    said.Losses: _losses,
    said.TradeOff: _trade_off,
    said.Changes: _changes,
}
