"""The level of another factor from which a compared level is better than the base.

Invariant: what is said follows from the ratios of a comparison alone, so it never contradicts the
table of them.
"""

import math
from collections.abc import Iterator, Sequence

from headroom.analysis.results import (
    ComparisonVerdict,
    Crossover,
    CrossoverPoint,
    CrossoverRange,
    CrossoverState,
    LevelComparison,
    LevelsCompared,
)
from headroom.analysis.statistics.crossover import (
    FEWEST_LEVELS,
    Crossings,
    RatioAt,
    Side,
    crossings_of,
)
from headroom.experiment.protocol.system import Direction, Value
from headroom.experiment.study.plan import FactorSpec

_VERDICTS: dict[Direction, dict[Side, ComparisonVerdict]] = {
    "high": {1: "better", -1: "worse", 0: "undecided"},
    "low": {1: "worse", -1: "better", 0: "undecided"},
    "none": {1: "larger", -1: "smaller", 0: "undecided"},
}


def crossovers_of(compared: LevelsCompared, factors: Sequence[FactorSpec]) -> list[Crossover]:
    """Return the crossovers for each level, metric and other numeric factor of a comparison.

    Parameters
    ----------
    compared
        The comparison.
    factors
        The factors of the experiment.
    """
    moving = next((one for one in factors if one.name == compared.factor), None)
    fixed = {compared.factor, *(moving.zipped_with if moving else ())}
    return [
        _crossover(curve, factor.name, compared)
        for factor in factors
        if factor.is_numeric and not factor.zipped_with and factor.name not in fixed
        for curve in _curves(compared.rows, factor.name)
        if sum(map(_is_known, curve)) >= FEWEST_LEVELS
    ]


def _curves(rows: Sequence[LevelComparison], factor: str) -> Iterator[list[LevelComparison]]:
    """Yield the rows that differ in the level of `factor` alone."""
    curves: dict[tuple[object, ...], list[LevelComparison]] = {}
    for row in rows:
        held = tuple((name, level) for name, level in row.where.items() if name != factor)
        curves.setdefault((row.level, row.metric, held), []).append(row)
    yield from curves.values()


def _is_known(row: LevelComparison) -> bool:
    """Return whether something is known about a level, a ratio or a verdict."""
    return row.ratio is not None or row.verdict != "undecided"


def _crossover(rows: Sequence[LevelComparison], factor: str, compared: LevelsCompared) -> Crossover:
    first = rows[0]
    known = [_ratio_at(row, float(row.where[factor])) for row in rows]
    crossings = crossings_of(known, confidence=compared.confidence)
    words = _VERDICTS[first.better]
    where: dict[str, Value] = {n: v for n, v in first.where.items() if n != factor}
    return Crossover(
        level=first.level,
        metric=first.metric,
        unit=first.unit,
        better=first.better,
        factor=factor,
        where=where,
        state=_state(crossings),
        points=[
            CrossoverPoint(
                level=crossing.level,
                low=crossing.low,
                high=crossing.high,
                beyond=words[crossing.side],
            )
            for crossing in crossings.crossings
        ],
        ranges=[
            CrossoverRange(low=stretch.low, high=stretch.high, verdict=words[stretch.side])
            for stretch in crossings.stretches
        ],
    )


def _state(found: Crossings) -> CrossoverState:
    if found.crossings:
        return "crosses"
    return "none" if all(stretch.side for stretch in found.stretches) else "undecided"


def _ratio_at(row: LevelComparison, level: float) -> RatioAt:
    """Return the ratio of a row; infinite or zero where one of both grows without bound."""
    if row.ratio is not None:
        return RatioAt(level=level, ratio=row.ratio, low=row.low, high=row.high)
    sides = {word: side for side, word in _VERDICTS[row.better].items()}
    side = sides.get(row.verdict, 0)
    if side == 0:
        return RatioAt(level=level, ratio=1.0, low=None, high=None)
    return RatioAt(level=level, ratio=math.inf if side > 0 else 0.0, low=None, high=None)
