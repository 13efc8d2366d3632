"""Compare the levels of a factor with a base level: better, worse, the same, or undecided.

A level is *better* or *worse* if the whole interval of its ratio to the base lies outside the
study's zone of *the same*. It is *the same* if the whole interval lies inside that zone, and
*undecided* otherwise. The zone reaches from 1 / (1 + s) to 1 + s, so exchanging level and base
reverses the verdict. The m metrics of one comparison get the confidence 1 - 0.05 / m each
(Bonferroni), so that their intervals hold together with 95%.

Interleaved measured runs are paired by their blocks. Without interleaving, a drift of the machine
would look like a difference, and the report says so. The methods are those of
`headroom.analysis.statistics.versus`, as for claims.

Invariant: more runs never turn a better into a worse without an undecided in between.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headroom.analysis.evidence import (
    ComparisonCode,
    ComparisonEvidence,
    NoComparison,
    RunOrder,
)
from headroom.analysis.results import (
    ComparisonVerdict,
    LevelComparison,
    LevelsCompared,
    PointResult,
)
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval, Sample
from headroom.analysis.statistics.pairing import RunOfPoint, block_pairs, is_interleaved
from headroom.analysis.statistics.signed_ranks import signed_rank_interval, signed_rank_p
from headroom.analysis.statistics.two_samples import delta_in_words, dominance, shift_between
from headroom.analysis.statistics.versus import (
    NO_RATIO,
    Judgement,
    Place,
    Side,
    judge,
    pairs_of,
    place_of,
)
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Column, Direction, Metric, Value
from headroom.experiment.study.study import Compare


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPoint:
    """A point as comparisons see it."""

    result: PointResult
    samples: Mapping[str, Sample]
    runs: Sequence[RunOfPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The comparison to make, and its column.

    Parameters
    ----------
    compare
        The table of the study file.
    metrics
        Metrics to compare, declared.
    column
        Whether runs were measured.
    moving
        The factor and those that move together with it.
    """

    compare: Compare
    metrics: Sequence[Metric]
    column: Column
    moving: frozenset[str]

    @property
    def confidence(self) -> float:
        """Confidence of each interval, so that those of all metrics hold together."""
        return 1.0 - (1.0 - CONFIDENCE) / max(len(self.metrics), 1)


def compare_levels(points: Sequence[ComparedPoint], question: Question) -> LevelsCompared:
    """Return every level of a factor against its base, in every metric.

    Parameters
    ----------
    points
        All points of the experiment, in the order of the study file.
    question
        What to compare.
    """
    compare = question.compare
    bases = {
        _held(point.result, question): point
        for point in points
        if point.result.levels.get(compare.factor) == compare.base
    }
    rows: list[LevelComparison] = []
    intact = blocks = 0
    for point in points:
        base = bases.get(_held(point.result, question))
        if base is None or base is point:
            continue
        intact += len(block_pairs(base.runs, point.runs))
        blocks += min(len(base.runs), len(point.runs))
        rows += [_row(base, point, metric, question) for metric in question.metrics]
    return LevelsCompared(
        factor=compare.factor,
        base=compare.base,
        same_within=compare.same_within,
        confidence=question.confidence,
        order=_order(question.column, intact, blocks),
        why_empty=None if bases else NoComparison(code="base_not_run"),
        rows=rows,
    )


def _held(point: PointResult, question: Question) -> tuple[tuple[str, Value], ...]:
    """Return the levels of all factors that do not move with the compared one."""
    return tuple(
        (name, level) for name, level in point.levels.items() if name not in question.moving
    )


def _order(column: Column, intact: int, blocks: int) -> RunOrder:
    """Return how the runs were ordered."""
    if column is not Column.MEASURE:
        return RunOrder(code="simulated")
    if not blocks:
        return RunOrder(code="no_runs")
    code: Literal["interleaved", "apart"] = (
        "interleaved" if is_interleaved(intact, blocks) else "apart"
    )
    return RunOrder(code=code, intact=intact, blocks=blocks)


def _row(
    base: ComparedPoint, point: ComparedPoint, metric: Metric, question: Question
) -> LevelComparison:
    above, below = point.samples.get(metric.name), base.samples.get(metric.name)
    moving = question.compare.factor
    held = {n: v for n, v in point.result.levels.items() if n not in question.moving}
    if above is None or below is None:
        lacking = point if above is None else base
        evidence = ComparisonEvidence(
            code="missing",
            levels=[lacking.result.levels[moving]],
            absent=lacking.result.absent.get(metric.name),
        )
        return LevelComparison(
            level=point.result.levels[moving], where=held, metric=metric.name, unit=metric.unit,
            better=metric.better, verdict="undecided", evidence=evidence,
        )  # fmt: skip
    if above.is_unbounded or below.is_unbounded:
        return _unbounded_row(base, point, metric, question)
    sides = [
        Side(sample=sample, metric=metric.name, column=question.column, runs=one.runs)
        for sample, one in ((above, point), (below, base))
    ]
    lowest, highest = zone_of(question.compare.same_within)
    found = judge(*sides, low=lowest, high=highest, confidence=question.confidence)
    pairs = pairs_of(sides)
    shift = _shift(sides, pairs, question.confidence)
    delta, p_value = dominance(above.values, below.values)
    verdict = _verdict(found.place, metric.better)
    ratio = found.ratio
    return LevelComparison(
        level=point.result.levels[moving],
        where=held,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        count=above.count,
        base_count=below.count,
        pairs=0 if pairs is None else pairs.shape[1],
        value=above.value,
        base_value=below.value,
        ratio=ratio.value if ratio.value == ratio.value else None,
        low=ratio.low,
        high=ratio.high,
        method=ratio.method,
        shift=shift.value,
        shift_low=shift.low,
        shift_high=shift.high,
        cliffs_delta=delta,
        effect=delta_in_words(delta),
        p_value=p_value if pairs is None else _p_of_pairs(pairs),
        verdict=verdict,
        evidence=_evidence(found, verdict, both_zero=_are_zero(sides)),
    )


def _unbounded_row(
    base: ComparedPoint, point: ComparedPoint, metric: Metric, question: Question
) -> LevelComparison:
    """Return the row of a metric that grows without bound at a level, at the base, or at both."""
    above, below = point.samples[metric.name], base.samples[metric.name]
    moving = question.compare.factor
    full = [one for one in (point, base) if one.samples[metric.name].is_unbounded]
    place: Place = "above" if above.is_unbounded else "below"
    return LevelComparison(
        level=point.result.levels[moving],
        where={n: v for n, v in point.result.levels.items() if n not in question.moving},
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        count=above.count,
        base_count=below.count,
        value=None if above.is_unbounded else above.value,
        base_value=None if below.is_unbounded else below.value,
        verdict="undecided" if len(full) > 1 else _verdict(place, metric.better),
        evidence=ComparisonEvidence(
            code="unbounded", levels=[one.result.levels[moving] for one in full]
        ),
    )


def _shift(sides: Sequence[Side], pairs: FloatArray | None, confidence: float) -> Interval:
    """Return level less base: within blocks, else of all runs of one with all of the other."""
    if pairs is not None:
        return signed_rank_interval(pairs[0] - pairs[1], confidence=confidence)
    level, base = (side.sample.values for side in sides)
    return shift_between(level, base, confidence=confidence)


def _p_of_pairs(pairs: FloatArray) -> float:
    """Return the p-value of equal systems, by the test that the interval of the ratio inverts."""
    is_ratio = float(pairs.min()) > 0.0
    return signed_rank_p(np.log(pairs[0] / pairs[1]) if is_ratio else pairs[0] - pairs[1])


def _are_zero(sides: Sequence[Side]) -> bool:
    """Return whether a metric was zero in every run of both: no errors, no lost writes."""
    return not any(side.sample.values.any() for side in sides)


def zone_of(same_within: float) -> tuple[float, float]:
    """Return the ratios that count as the same.

    Examples
    --------
    >>> zone_of(0.25)
    (0.8, 1.25)
    """
    return 1.0 / (1.0 + same_within), 1.0 + same_within


def verdict_of(found: Interval, same_within: float, better: Direction) -> ComparisonVerdict:
    """Return the verdict of one ratio by its interval.

    Examples
    --------
    >>> found = Interval(value=2.0, low=1.8, high=2.3, method="order statistics")
    >>> verdict_of(found, 0.05, "high"), verdict_of(found, 0.05, "low"), verdict_of(found, 1, "low")
    ('better', 'worse', 'undecided')
    >>> near = Interval(value=1.0, low=0.98, high=1.01, method="order statistics")
    >>> verdict_of(near, 0.05, "none"), verdict_of(near, 0.001, "none")
    ('same', 'undecided')
    """
    lowest, highest = zone_of(same_within)
    return _verdict(place_of(found, low=lowest, high=highest), better)


def _verdict(place: Place, better: Direction) -> ComparisonVerdict:
    return {
        "inside": "same",
        "above": _SIDES[better][0],
        "below": _SIDES[better][1],
        "unclear": "undecided",
    }[place]


_SIDES: Mapping[Direction, tuple[ComparisonVerdict, ComparisonVerdict]] = {
    "high": ("better", "worse"),
    "low": ("worse", "better"),
    "none": ("larger", "smaller"),
}


def _evidence(
    found: Judgement, verdict: ComparisonVerdict, *, both_zero: bool
) -> ComparisonEvidence:
    """Return the basis of a verdict."""
    by_differences = found.reason == NO_RATIO
    if both_zero:
        return ComparisonEvidence(code="both_zero")
    if verdict != "undecided":
        code: ComparisonCode = "within" if verdict == "same" else "beyond"
        return ComparisonEvidence(code=code, by_differences=by_differences)
    if found.reason and not by_differences:
        return ComparisonEvidence(code="few_runs", reason=found.reason)
    doubt: ComparisonCode = "open" if by_differences else _doubt(found.ratio)
    return ComparisonEvidence(code=doubt, by_differences=by_differences)


def _doubt(ratio: Interval) -> ComparisonCode:
    low, high = ratio.low or 0.0, ratio.high or math.inf
    if low > 1.0:
        return "larger_open"
    return "smaller_open" if high < 1.0 else "open"
