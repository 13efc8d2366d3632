"""The comparison that a study asks for, as one statement.

Invariant: a level is called better only where every row says so or the exceptions are counted; the
ratio of several rows is the one that claims least.
"""

from collections import Counter

from headroom.analysis.answer.numbers import NEAR_ONE, gain
from headroom.analysis.answer_evidence import Bounded, Comparison, Equal, Level, Undecided
from headroom.analysis.results import ExperimentResult, LevelComparison, LevelsCompared

_MOST_RUNS = 1000
"""Further runs beyond which their number is no advice."""
_SIDES = 2
"""Ranges of a curve that crosses once."""
_LARGER = {"better", "larger"}
_SMALLER = {"worse", "smaller"}


def compared_of(experiment: ExperimentResult) -> Comparison | Equal | Undecided | None:
    """Return the outcome for the first metric of a comparison; None if nothing was compared."""
    compared = experiment.compared
    if compared is None or not compared.rows:
        return None
    first = compared.rows[0]
    rows = [row for row in compared.rows if row.metric == first.metric and row.level == first.level]
    verdicts = Counter(row.verdict for row in rows)
    larger = sum(verdicts[verdict] for verdict in ("better", "larger"))
    smaller = sum(verdicts[verdict] for verdict in ("worse", "smaller"))
    if larger or smaller:
        crossing = _crossing(experiment, compared, rows)
        return crossing or _comparison(compared, rows, larger, smaller)
    if verdicts["undecided"]:
        return _undecided(compared, next(row for row in rows if row.verdict == "undecided"))
    farthest = max(rows, key=lambda row: abs((row.ratio or 1.0) - 1.0))
    return Equal(
        first={compared.factor: farthest.level},
        second={compared.factor: compared.base},
        metric=farthest.metric,
        ratio=_ratio(farthest),
        same_within=compared.same_within,
        count=len(rows),
        where=farthest.where if len(rows) == 1 else {},
    )


def _crossing(
    experiment: ExperimentResult, compared: LevelsCompared, rows: list[LevelComparison]
) -> Comparison | None:
    """Return from which level of another factor on one side is better; None if it is not so."""
    level, metric = rows[0].level, rows[0].metric
    own = [one for one in compared.crossovers if (one.level, one.metric) == (level, metric)]
    if len(own) != 1 or len(own[0].points) != 1 or len(own[0].ranges) != _SIDES:
        return None
    (found,), (point,) = own, own[0].points
    if point.level is None or {one.verdict for one in found.ranges} & {"undecided", "same"}:
        return None
    is_level = point.beyond in _LARGER
    wins = [row for row in rows if row.verdict in (_LARGER if is_level else _SMALLER)]
    told = [row for row in wins if row.ratio is not None]
    if not told:
        return None
    names = {compared.factor: level}, {compared.factor: compared.base}
    first, second = names if is_level else names[::-1]
    unit = next((one.unit for one in experiment.factors if one.name == found.factor), "1")
    return Comparison(
        first=first,
        second=second,
        metric=found.metric,
        better=found.better,
        ratio=_times(told[-1], is_level=is_level),
        beyond=Level(
            factor=found.factor, unit=unit, value=point.level, low=point.low, high=point.high
        ),
        where=found.where,
    )


def _ratio(row: LevelComparison) -> Bounded:
    return Bounded(value=row.ratio or 1.0, low=row.low, high=row.high)


def _comparison(
    compared: LevelsCompared, rows: list[LevelComparison], larger: int, smaller: int
) -> Comparison | Undecided:
    """Return that the level that is better more often is better, by its smallest ratio."""
    is_level = larger >= smaller
    wins = [row for row in rows if row.verdict in (_LARGER if is_level else _SMALLER)]
    told = [row for row in wins if row.ratio is not None and row.low is not None]
    if not told:  # A level is saturated, or a value is not above zero: no ratio says how much.
        return _undecided(compared, wins[0])
    least = min(told, key=lambda row: _times(row, is_level=is_level).low or 0.0)
    names = {compared.factor: least.level}, {compared.factor: compared.base}
    first, second = names if is_level else names[::-1]
    undecided = sum(row.verdict == "undecided" for row in rows)
    return Comparison(
        first=first,
        second=second,
        metric=least.metric,
        better=least.better,
        ratio=_times(least, is_level=is_level),
        is_least=len(wins) > 1,
        better_count=len(wins),
        worse_count=min(larger, smaller),
        same_count=len(rows) - larger - smaller - undecided,
        undecided_count=undecided,
        where=least.where if len(rows) == 1 else {},
    )


def _times(row: LevelComparison, *, is_level: bool) -> Bounded:
    """Return how many times better the better side is; or larger, if neither is better."""
    ratio = _ratio(row)
    if row.better == "none":
        return ratio if is_level else gain(ratio, "low")
    turned = gain(ratio, row.better)
    return turned if is_level else gain(turned, "low")


def _undecided(compared: LevelsCompared, row: LevelComparison) -> Undecided:
    return Undecided(
        code="comparison" if row.ratio is not None and row.low is not None else "few_runs",
        first={compared.factor: row.level},
        second={compared.factor: compared.base},
        metric=row.metric,
        better=row.better,
        ratio=None if row.ratio is None else gain(_ratio(row), row.better),
        count=min(row.count, row.base_count),
        more=_more_runs(row, compared.same_within),
        where=row.where,
    )


def _more_runs(row: LevelComparison, same_within: float) -> int | None:
    """Return about how many more runs would narrow the interval down to one side of the zone.

    The width of an interval falls with the square root of the number of runs, if the ratio stays.
    """
    if row.ratio is None or row.low is None or row.high is None:
        return None
    count = min(row.count, row.base_count)
    zone = same_within or NEAR_ONE
    edges = (1.0 + zone, 1.0 / (1.0 + zone))
    distance = min(abs(row.ratio - edge) for edge in edges)
    reach = max(row.high - row.ratio, row.ratio - row.low)
    if not distance or reach <= distance:
        return None
    needed = count * (reach / distance) ** 2 - count
    return round(needed) if 1.0 <= needed <= _MOST_RUNS else None
