"""Limits of predicted points: the break includes the errors of the prediction.

A crossing of a limit is found from the scatter of the runs. Fitted parameters are wrong at all
points in the same direction. The earliest break is the level at which the upper ends of all
prediction intervals together break the limit, the latest that of the lower ends.

Invariant: an interval only becomes wider and a verdict only less sure.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from headroom.analysis.results import Estimate, LimitCrossing
from headroom.analysis.verdicts.headroom_left import levels_by_side


def counting_predictions(
    found: LimitCrossing, predicted: Mapping[float, Estimate]
) -> LimitCrossing:
    """Return a crossing with the errors of its predictions.

    Parameters
    ----------
    found
        Where the limit breaks by the scatter of runs alone.
    predicted
        Estimate of the limited metric by level; `low` and `high` are prediction intervals, None
        where an end is open.
    """
    limit = found.at_most if found.at_most is not None else found.at_least
    if limit is None or not predicted:
        return found
    sign = 1.0 if found.at_most is not None else -1.0
    levels = sorted(predicted)
    ends = [_excess(predicted[level], limit, sign) for level in levels]
    best, worst = [low for low, _ in ends], [high for _, high in ends]
    evidence = msgspec.structs.replace(found.evidence, **levels_by_side(levels, ends))
    found = msgspec.structs.replace(found, evidence=evidence)
    if found.kept == "above":
        turned = [-level for level in reversed(levels)]
        placed = _turned(_placed(_turned(found), turned, best[::-1], worst[::-1]))
    else:
        placed = _placed(found, levels, best, worst)
    return _judged(placed, levels, best, worst)


def _turned(found: LimitCrossing) -> LimitCrossing:
    """Return a crossing as seen from the other end of its levels, which are negative there."""

    def turned(level: float | None) -> float | None:
        return None if level is None else -level

    return msgspec.structs.replace(
        found,
        level=turned(found.level),
        level_low=turned(found.level_high),
        level_high=turned(found.level_low),
        holds_at=turned(found.holds_at),
        breaks_at=turned(found.breaks_at),
        evidence=msgspec.structs.replace(found.evidence, at=turned(found.evidence.at)),
    )


def _excess(one: Estimate, limit: float, sign: float) -> tuple[float, float]:
    """Return the least and the largest excess over the limit; above zero it is broken."""
    low = -math.inf if one.low is None else one.low
    high = math.inf if one.high is None else one.high
    least, largest = sorted((sign * (low - limit), sign * (high - limit)))
    return least, largest


def _placed(
    found: LimitCrossing, levels: Sequence[float], best: Sequence[float], worst: Sequence[float]
) -> LimitCrossing:
    """Return the crossing at as many levels as the prediction allows."""
    if found.state == "holds" and max(worst) > 0.0:
        return _unclear(found, next(one for one, x in zip(levels, worst, strict=True) if x > 0.0))
    if found.state == "broken" and best[0] <= 0.0:
        return _unclear(found, levels[0])
    if found.kept == "between" and not found.evidence.kept_at:
        return _unclear(found, levels[0])
    if found.state != "breaks" or found.kept == "between":
        return found
    earliest, latest = _crossed(levels, worst), _crossed(levels, best)
    low = min(one for one in (found.level_low, found.level, earliest) if one is not None)
    last = latest if latest is not None else levels[-1]
    high = max(one for one in (found.level_high, found.level, last) if one is not None)
    is_open = latest is None and found.level is not None
    holds_at = [one for one, x in zip(levels, worst, strict=True) if x <= 0.0 and one <= low]
    breaks_at = [one for one, x in zip(levels, best, strict=True) if x > 0.0]
    return msgspec.structs.replace(
        found,
        level_low=low,
        level_high=high,
        headroom_low=low / found.current if found.headroom_low and found.current else None,
        headroom_high=high / found.current if found.headroom_high and found.current else None,
        holds_at=holds_at[-1] if holds_at else None,
        breaks_at=breaks_at[0] if breaks_at else None,
        evidence=msgspec.structs.replace(found.evidence, is_cut=found.evidence.is_cut or is_open),
    )


def _unclear(found: LimitCrossing, level: float) -> LimitCrossing:
    evidence = msgspec.structs.replace(found.evidence, unclear="prediction", at=level)
    return msgspec.structs.replace(found, state="unclear", evidence=evidence)


def _crossed(levels: Sequence[float], excess: Sequence[float]) -> float | None:
    """Return where a curve is first above zero, by straight lines; None if it never is.

    Examples
    --------
    >>> _crossed([1.0, 2.0], [-1.0, 1.0]), _crossed([1.0, 2.0], [1.0, 2.0])
    (1.5, 1.0)
    """
    if excess[0] > 0.0:
        return levels[0]
    for (left, right), (before, after) in zip(
        itertools.pairwise(levels), itertools.pairwise(excess), strict=True
    ):
        if after > 0.0:
            is_known = math.isfinite(before) and math.isfinite(after)
            return left + (right - left) * (-before / (after - before) if is_known else 0.0)
    return None


def _judged(
    found: LimitCrossing, levels: Sequence[float], best: Sequence[float], worst: Sequence[float]
) -> LimitCrossing:
    """Return the crossing with a verdict that the prediction interval supports."""
    if found.verdict not in {"holds", "differs"} or found.current is None:
        return found
    excess = _at(found.current, levels, worst if found.verdict == "holds" else best)
    if (excess <= 0.0) is (found.verdict == "holds"):
        return found
    evidence = msgspec.structs.replace(found.evidence, undecided="prediction")
    return msgspec.structs.replace(found, verdict="undecided", evidence=evidence)


def _at(level: float, levels: Sequence[float], excess: Sequence[float]) -> float:
    """Return a curve at a level, by straight lines; beyond an open end it is open too."""
    for place, here in enumerate(levels):
        if here == level:
            return excess[place]
        if here > level and place:
            share = (level - levels[place - 1]) / (here - levels[place - 1])
            return (1.0 - share) * excess[place - 1] + share * excess[place]
    return excess[-1] if level > levels[-1] else excess[0]
